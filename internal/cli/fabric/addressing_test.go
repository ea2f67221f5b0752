package fabric

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
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
