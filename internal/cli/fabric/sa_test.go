package fabric

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/rmpp"
	"github.com/rdmakit/rdmakit/fabric/sa"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestSAKinds queries each kind in a simulated subnet, in answers of several segments, and compares
// some rows with what the subnet is known to have.
func TestSAKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(2, 10, 1)
		s.MasterLID = s.Node("host0").LIDs[1]
		s.Node("host0").Manager = &mad.SMInfo{State: mad.SMStateMaster, Priority: 3, ActCount: 9}
		s.Members = []mad.MCMemberRecord{
			{MLID: 0xc000, MTU: 4, Rate: 16, PKey: 0x8001, JoinState: 5, PortGID: ib.GID{0xfe, 0x80, 15: 1}},
			{MLID: 0xc001},
		}
		s.Services = []mad.ServiceRecord{{ServiceID: 1, ServiceLease: 60}, {ServiceID: 2, ServiceLease: 1<<32 - 1}}
		copy(s.Services[0].ServiceName[:], "a\x1b[31mb")
		client := sa.Client{Transport: s.Transport("host1")}
		for name, want := range map[string]struct {
			lids []ib.LID
			rows int
			row  int
			text string
		}{
			"nodes": {nil, 23, 1, "host0 2 adapter 1 0x0010000000000201 0x0010000000000200"},
			"ports": {[]ib.LID{1}, 12, 1, "1 1 ACTIVE 4X NDR 4096 2"},
			"links": {nil, 2 * 22, 0, "1 1 2 1"},
			"paths": {[]ib.LID{2, 5}, 1, 0, "2 5 0 4096 400 0xffff fe80:0000:0000:0000:0010:0000:0000:0501"},
			"multicast": {
				nil, 2, 0, "0xc000 0000:0000:0000:0000:0000:0000:0000:0000 0x8001 2048 100 " +
					"fe80:0000:0000:0000:0000:0000:0000:0001 full, send-only",
			},
			"services":   {nil, 2, 0, "0x0000000000000001 a [31mb 0000:0000:0000:0000:0000:0000:0000:0000 0x0000 60 s"},
			"managers":   {nil, 1, 0, "2 master 3 9 0x0000000000000000"},
			"forwarding": {[]ib.LID{1}, 23, 1, "1 2 1"},
			"lanes":      {[]ib.LID{2}, 1, 0, "2 0 0 0 1 2 3 0 1 2 3 0 1 2 3 0 1 2 3"},
		} {
			kind, ok := findSAKind(name)
			if !ok {
				t.Fatalf("no kind %s", name)
			}
			table, err := client.Table(t.Context(), kind.query(want.lids))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var r saReport
			if err := kind.read(&r, table); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			blocks := kind.blocks(&r, table.Len())
			rows := blocks[0].(output.Table).Rows //nolint:errcheck,forcetypeassert // it has records
			if len(rows) != want.rows {
				t.Errorf("%s: %d rows, want %d", name, len(rows), want.rows)
				continue
			}
			got := ""
			for i, c := range rows[want.row] {
				if i > 0 {
					got += " "
				}
				got += c.Text
			}
			if got != want.text || len(rows[0]) != len(kind.columns) {
				t.Errorf("%s: row %d = %q, want %q; %d columns", name, want.row, got, want.text, len(kind.columns))
			}
		}
		if len(saKinds()) != 9 {
			t.Errorf("%d kinds, 9 are tested", len(saKinds()))
		}
		kind, _ := findSAKind("nodes")
		links, err := client.Table(t.Context(), sa.Query{Attribute: mad.AttributeLinkRecord})
		if err != nil {
			t.Fatal(err)
		}
		if err := kind.read(&saReport{}, links); !errors.Is(err, mad.ErrShort) {
			t.Errorf("links as nodes: %v", err)
		}
	})
}

func TestSAErrors(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	got := saError(ended, context.Canceled)
	if !errors.Is(got, context.Canceled) || cli.ExitCode(got) == cli.ExitUnreachable {
		t.Errorf("after the end of the context: %v", got)
	}
	for _, test := range []struct {
		err   error
		code  int
		hints int
	}{
		{fmt.Errorf("x: %w", sa.ErrNoManager), cli.ExitNotFound, 1},
		{fmt.Errorf("x: %w", sa.ErrNotActive), cli.ExitNotFound, 1},
		{fmt.Errorf("x: %w", fabric.ErrNoSubnetManagement), cli.ExitNotFound, 1},
		{&sa.StatusError{Status: mad.StatusSANoRecords}, cli.ExitNotFound, 0},
		{&sa.StatusError{Status: mad.StatusSARequestDenied}, cli.ExitFault, 1},
		{&sa.StatusError{Status: mad.StatusSAInsufficientComponent}, cli.ExitFault, 0},
		{fmt.Errorf("x: %w", mad.ErrShort), cli.ExitFault, 0},
		{fmt.Errorf("x: %w", fabric.ErrNoAnswer), cli.ExitUnreachable, 1},
		{&rmpp.Error{Type: mad.RMPPAbort, Status: mad.RMPPStatusRetries, Peer: true}, cli.ExitUnreachable, 1},
		{&sa.StalledError{Segments: 3}, cli.ExitUnreachable, 1},
		{fs.ErrPermission, cli.ExitPermission, 0},
	} {
		got := saError(t.Context(), test.err)
		hints := 0
		if h, ok := errors.AsType[interface {
			error
			Hints() []string
		}](got); ok {
			hints = len(h.Hints())
		}
		if !errors.Is(got, test.err) || cli.ExitCode(got) != test.code || hints != test.hints {
			t.Errorf("%v: %v, exit code %d, want %d; %d hints", test.err, got, cli.ExitCode(got), test.code, hints)
		}
	}
}
