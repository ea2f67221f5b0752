package fabric

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/clitest"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestRouterHints: a node behind a router is not in the sweep, and the error says why.
func TestRouterHints(t *testing.T) {
	s := subnet.FatTree(1, 2, 1)
	find := func() []string {
		topology, err := fabric.Discover(t.Context(), s.Transport("host0"), fabric.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = findEnd(topology, "farhost")
		return cli.Hints(err)
	}
	if hints := find(); len(hints) > 0 {
		t.Errorf("without a router: %q", hints)
	}
	router := s.Add("gateway", mad.NodeTypeRouter, 1)
	s.Disconnect(s.Node("host1"), 1)
	s.Connect(s.Node("leaf0"), 2, router, 1)
	if hints := find(); len(hints) != 1 || !strings.HasPrefix(hints[0], "gateway is a router: ") {
		t.Errorf("with a router: %q", hints)
	}
}

// TestPKeyFlags: an exact key comes before one of the other membership.
func TestPKeyFlags(t *testing.T) {
	tr := subnet.FatTree(1, 2, 1).Transport("host0")
	tr.Address = &fabric.Addressing{PKeys: []ib.PKey{0x7fff, 0, 0x0001, 0x8001}}
	for _, test := range []struct {
		flags addressFlags
		want  int // -1: an error
	}{
		{addressFlags{set: "pkey", key: "0x8001"}, 3},
		{addressFlags{set: "pkey", key: "0x1"}, 2},
		{addressFlags{set: "pkey", key: "0xffff"}, 0},
		{addressFlags{set: "pkey", key: "0x8002"}, -1},
		{addressFlags{set: "pkey-idx", index: 3}, 3},
		{addressFlags{set: "pkey-idx", index: 1}, -1},
		{addressFlags{set: "pkey-idx", index: 4}, -1},
	} {
		tr.Address.PKeyIndex = nil
		err := test.flags.choose(tr)
		if test.want < 0 {
			if err == nil || cli.ExitCode(err) != cli.ExitNotFound {
				t.Errorf("%+v: %v, want an error", test.flags, err)
			}
		} else if err != nil || int(*tr.Address.PKeyIndex) != test.want {
			t.Errorf("%+v: index %v, %v, want %d", test.flags, tr.Address.PKeyIndex, err, test.want)
		}
	}
}

// TestPathsBeforeCounters: the counters of a host that is reached on another service level are read
// on that of its path.
func TestPathsBeforeCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(1, 2, 1)
		s.Node("host1").SL = 3
		tr := s.Transport("host0")
		tr.Address = &fabric.Addressing{PKeys: []ib.PKey{ib.PKeyDefault}}
		app := clitest.NewApp(nil)
		app.Out, app.Log = output.New(output.Options{}), slog.New(slog.DiscardHandler)
		for _, counters := range []bool{false, true} {
			topology, err := discover(t.Context(), app, tr, &fabricFlags{}, fabric.Options{Counters: counters})
			if err != nil || !topology.Complete || tr.Address.HasPath(s.Node("host1").LIDs[1]) != counters {
				t.Errorf("counters %v: %v, unreached %v, %d paths", counters, err, topology.Unreached,
					tr.Address.Paths())
			}
		}
	})
}

// TestPathsBeforeRegisters: registers are read on the service level of the path too.
func TestPathsBeforeRegisters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(1, 2, 1)
		host := s.Node("host1")
		host.SL, host.Registers = 3, &subnet.Registers{}
		tr := s.Transport("host0")
		tr.Address = &fabric.Addressing{PKeys: []ib.PKey{ib.PKeyDefault}}
		app := clitest.NewApp(nil)
		app.Out, app.Log = output.New(output.Options{}), slog.New(slog.DiscardHandler)
		topology, err := fabric.Discover(t.Context(), tr, fabric.Options{})
		if err != nil {
			t.Fatal(err)
		}
		reader := newRegisterReader(app, topology, &fabricFlags{retries: usualRetries}, tr)
		read := 0
		reader.each(t.Context(), []fabric.PortID{{Node: host.GUID, Port: 1}}, func(p registerPort) {
			if read++; p.err != nil {
				t.Errorf("port of host1: %v", p.err)
			}
		})
		if read != 1 {
			t.Errorf("host1 was read %d times", read)
		}
	})
}
