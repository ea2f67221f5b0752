package verbs_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/netip"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
	"github.com/rdmakit/rdmakit/wire/ib"
)

type end struct {
	device *verbs.Device
	cq     *verbs.CompletionQueue
	qp     *verbs.QueuePair
	mr     *verbs.MemoryRegion
	remote verbs.Remote
}

func newEnd(t *testing.T, name string, psn ib.PSN) *end {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var e end
	var err error
	e.device, err = verbs.Open(t.Context(), name, builtin.All()...)
	must(err)
	pd, err := e.device.AllocatePD()
	must(err)
	e.cq, err = e.device.CreateCQ(verbs.CQConfig{})
	must(err)
	e.qp, err = pd.CreateQP(verbs.QPConfig{SendCQ: e.cq, RecvCQ: e.cq})
	must(err)
	e.mr, err = pd.RegisterMemory(make([]byte, 1<<16),
		verbs.MemoryOptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite})
	must(err)
	gid, err := e.device.GID(t.Context(), 1, 0)
	must(err)
	e.remote = verbs.Remote{QPN: e.qp.QPN(), PSN: psn, GID: gid}
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{e.qp, e.mr, e.cq, pd, e.device} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return &e
}

// TestQueries checks the attributes that the engine reports for itself, its port and its GID.
func TestQueries(t *testing.T) {
	const name = "roce@127.0.11.9"
	device, err := verbs.Open(t.Context(), name, builtin.All()...)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	a := device.Attributes()
	for what, n := range map[string]int32{
		"MaxQP": a.MaxQP, "MaxQPWR": a.MaxQPWR, "MaxSGE": a.MaxSGE, "MaxCQE": a.MaxCQE, "MaxMR": a.MaxMR,
		"MaxInline":       a.MaxInline,
		"MaxQPReadAtomic": a.MaxQPReadAtomic, "MaxQPInitReadAtomic": a.MaxQPInitReadAtomic,
	} {
		if n <= 0 {
			t.Errorf("Attributes().%s = %d, want what the engine can do", what, n)
		}
	}
	port, err := device.Port(t.Context(), 1)
	want := verbs.PortAttributes{
		State: verbs.PortStateActive, MaxMTU: ib.MTU4096, ActiveMTU: ib.MTU4096, MaxMessageSize: 1 << 31,
		GIDTableLength: 1, LinkLayer: verbs.LinkLayerEthernet,
	}
	if port != want || err != nil {
		t.Errorf("Port(1) = %+v, %v, want %+v", port, err, want)
	}
	gid := ib.GIDFromAddr(netip.MustParseAddr("127.0.11.9"))
	if got, err := device.GID(t.Context(), 1, 0); got != gid || err != nil {
		t.Errorf("GID(1, 0) = %v, %v, want %v", got, err, gid)
	}
	list, err := device.GIDs(t.Context(), 1)
	if err != nil || len(list) != 1 || list[0] != (verbs.GIDEntry{Index: 0, GID: gid, Type: verbs.GIDTypeRoCEv2}) {
		t.Errorf("GIDs(1) = %+v, %v, want %v at index 0", list, err, gid)
	}
	if got, err := device.GID(t.Context(), 1, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("GID(1, 1) = %v, %v, want fs.ErrNotExist", got, err)
	}
	for number := range 3 {
		_, portErr := device.Port(t.Context(), number)
		_, gidErr := device.GIDs(t.Context(), number)
		if (portErr == nil) != (number == 1) || (gidErr == nil) != (number == 1) {
			t.Errorf("port %d: %v, %v, want errors but for port 1", number, portErr, gidErr)
		}
	}
}

func TestWrite(t *testing.T) {
	a, b := newEnd(t, "roce@127.0.11.1", 0xffffff), newEnd(t, "roce@127.0.11.2", 5)
	for _, c := range []struct{ own, peer *end }{{a, b}, {b, a}} {
		if err := c.own.qp.Connect(verbs.ConnectConfig{
			PSN: c.own.remote.PSN, Remote: c.peer.remote, Access: verbs.AccessRemoteWrite,
		}); err != nil {
			t.Fatal(err)
		}
	}
	copy(a.mr.Bytes(), strings.Repeat("over the wire ", 1000))
	n, err := a.qp.PostSend(verbs.SendRequest{
		ID: 1, Op: verbs.SendOpWrite, Flags: verbs.SendSignaled,
		Segments: []verbs.Segment{a.mr.Segment(0, 14000)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
	})
	if n != 1 || err != nil {
		t.Fatalf("PostSend = %d, %v", n, err)
	}
	var wcs [2]verbs.WorkCompletion
	if n, err := a.cq.Wait(t.Context(), wcs[:]); n != 1 || err != nil || wcs[0].Err() != nil || wcs[0].ID != 1 {
		t.Fatalf("Wait = %d, %v, %+v", n, err, wcs[0])
	}
	b.qp.State()
	if !bytes.Equal(a.mr.Bytes(), b.mr.Bytes()) {
		t.Error("the bytes differ")
	}
}

func TestOpenErrors(t *testing.T) {
	tests := []struct{ name, want string }{
		{"mlx5_0", ": not of the form roce@ADDRESS"},
		{"mlx5_0", "mlx5_0: "}, // of package ibverbs: what is missing depends on the machine
		{"roce@203.0.113.77", "no such address of this machine"},
		{"roce@nosuchdev", "no such network device"},
	}
	for _, tt := range tests {
		_, err := verbs.Open(t.Context(), tt.name, builtin.All()...)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%s) = %v, want %q", tt.name, err, tt.want)
		}
	}
	a := newEnd(t, "roce@127.0.11.3", 1)
	_, err := verbs.Open(t.Context(), a.device.Name(), builtin.All()...)
	if err == nil || !strings.Contains(err.Error(), "UDP port 4791 of 127.0.11.3 is taken") {
		t.Errorf("Open of an address in use = %v", err)
	}
}

func TestModifyErrors(t *testing.T) {
	a := newEnd(t, "roce@127.0.11.1", 1)
	tests := []struct {
		attr verbs.QPAttributes
		want string
	}{
		{verbs.QPAttributes{State: verbs.QPStateRTR}, "RESET→RTR: no such transition"},
		{
			verbs.QPAttributes{State: verbs.QPStateInit},
			"RESET→INIT: missing partition key index, port, access flags: invalid argument",
		},
		{
			verbs.QPAttributes{State: verbs.QPStateInit, Mask: 0x17},
			"RESET→INIT: path MTU can't be set here: invalid argument",
		},
	}
	for _, tt := range tests {
		if err := a.qp.Modify(tt.attr); err == nil || !strings.Contains(err.Error(), tt.want) ||
			!errors.Is(err, verbs.ErrTransition) {
			t.Errorf("Modify(%+v) = %v, want %q", tt.attr, err, tt.want)
		}
	}
}
