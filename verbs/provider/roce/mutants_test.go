package roce

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// The tests of this file hold what integration/mutants could change without another test failing.

// TestWindowGrowth checks that each acknowledgement widens the window by one packet.
func TestWindowGrowth(t *testing.T) {
	s := newSender(t)
	s.write(t, 200)
	before := inner(t, s.qp).req.window
	for i := range 3 {
		s.answer(200+ib.PSN(i), ib.SyndromeACK)
	}
	if got := inner(t, s.qp).req.window; got != before+3 {
		t.Errorf("window after three acknowledgements = %d, want %d", got, before+3)
	}
}

// TestSendOverrunEndsConnection checks that a completion of a send request that doesn't fit into
// its queue ends the connection, as that of a receive request does.
func TestSendOverrunEndsConnection(t *testing.T) {
	v := newVictim(t)
	cq, err := v.e.CreateCQ(provider.CQConfig{Depth: 1, Wait: provider.WaitEvent})
	if err != nil {
		t.Fatal(err)
	}
	old := v.qp
	v.qp, err = v.pd.CreateQP(provider.QPConfig{SendCQ: cq, RecvCQ: v.cq, Capacity: provider.QPCapacity{MaxSendWR: 8}})
	if err != nil {
		t.Fatal(err)
	}
	v.also = append([]interface{ Close() error }{old, v.qp, cq}, v.also...)
	v.connect(t) // posts a WRITE and a READ of 8 packets each, and a SEND
	s := &sender{victim: v}
	s.answer(207, ib.SyndromeACK)
	if state := v.qp.State(); state != provider.QPStateRTS {
		t.Fatalf("state = %v after one completion, want RTS", state)
	}
	for i := range 8 {
		op := ib.OpcodeRCReadResponseMiddle
		switch i {
		case 0:
			op = ib.OpcodeRCReadResponseFirst
		case 7:
			op = ib.OpcodeRCReadResponseLast
		}
		p := ib.Packet{
			BTH:  ib.BTH{Opcode: op, PKey: ib.PKeyDefault, PSN: 208 + ib.PSN(i)},
			AETH: ib.AETH{Syndrome: ib.SyndromeACK}, Payload: make([]byte, 1024),
		}
		v.take(p.Append(nil))
	}
	if state := v.qp.State(); state != provider.QPStateError {
		t.Errorf("state = %v after two completions in a queue for one, want ERR", state)
	}
}

// TestUnreachableDestination checks that Modify rejects a peer of the other IP version, and one
// without an address.
func TestUnreachableDestination(t *testing.T) {
	for _, peer := range []string{"2001:db8::1", "0.0.0.0"} {
		v := newVictim(t)
		if err := v.qp.Modify(provider.QPAttributes{State: provider.QPStateReset}); err != nil {
			t.Fatal(err)
		}
		attr := provider.QPAttributes{
			Mask: ^provider.QPMask(0), Path: provider.Path{DGID: ib.GIDFromAddr(netip.MustParseAddr(peer))},
			PathMTU: ib.MTU1024, DestQPN: 77, State: provider.QPStateInit,
		}
		if err := modify(v.qp, attr); err != nil {
			t.Fatal(err)
		}
		attr.State = provider.QPStateRTR
		if err := modify(v.qp, attr); err == nil {
			t.Errorf("Modify to a destination %s of %v = nil", peer, v.e.addr)
		}
	}
}

// TestOwnerOfThePort checks that sockets on other ports, or other addresses, are not taken for the
// owner of the engine's port.
func TestOwnerOfThePort(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, sysfs.ProcNetUDP)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	const table = "header\n" +
		" 1: 010200C0:12B8 00000000:0000 07 0:0 0:0 0 0 0 77 2 0 0\n" + // 192.0.2.1, port 4792
		" 2: 020200C0:12B7 00000000:0000 07 0:0 0:0 0 0 0 78 2 0 0\n" // 192.0.2.2, port 4791
	if err := os.WriteFile(name, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := sysfs.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	const unknown, foreign = "another engine, or the kernel's rdma_rxe", "a process of another user or container"
	for addr, want := range map[string]string{"192.0.2.1": unknown, "192.0.2.2": foreign, "192.0.2.3": unknown} {
		if got := portOwner(root, netip.MustParseAddr(addr)); got != want {
			t.Errorf("owner on %s = %q, want %q", addr, got, want)
		}
	}
}

// TestPacketsJoined checks that packets of equal length, and a shorter one at the end, are passed
// to the connection as one entry.
func TestPacketsJoined(t *testing.T) {
	s := newSender(t)
	if _, err := s.qp.PostSend([]provider.SendRequest{{
		Op: provider.SendOpSend, Segments: []provider.Segment{{Region: s.mr, Length: 5*1024 + 8}},
	}}); err != nil {
		t.Fatal(err)
	}
	if got := s.conn.entries; len(got) != 1 || len(s.requests(t)) != 6 {
		t.Errorf("six packets of one message were sent as %d entries, want one", len(got))
	}
}

// TestBusy checks that an object in use can't be closed, even if it has only one user, and that it
// can be closed afterwards.
func TestBusy(t *testing.T) {
	conn := &sink{done: make(chan struct{})}
	e, err := New(Config{Name: "roce@test", Conn: conn, Addr: netip.MustParseAddr("10.0.0.1")})
	if err != nil {
		t.Fatal(err)
	}
	pd, err := e.AllocatePD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := e.CreateCQ(provider.CQConfig{Depth: 1})
	if err != nil {
		t.Fatal(err)
	}
	other, err := e.CreateCQ(provider.CQConfig{Depth: 1})
	if err != nil {
		t.Fatal(err)
	}
	qp, err := pd.CreateQP(provider.QPConfig{SendCQ: cq, RecvCQ: other})
	if err != nil {
		t.Fatal(err)
	}
	for _, busy := range []interface{ Close() error }{cq, other, pd, e} {
		if err := busy.Close(); !errors.Is(err, provider.ErrBusy) {
			t.Errorf("Close of %T with one user = %v, want ErrBusy", busy, err)
		}
	}
	for _, c := range []interface{ Close() error }{qp, cq, other, pd, e} {
		for range 2 {
			if err := c.Close(); err != nil {
				t.Errorf("Close of %T = %v", c, err)
			}
		}
	}
}

// TestModifyLimits checks that Modify accepts the largest value of each attribute in the transition
// that sets it, and rejects the next one.
func TestModifyLimits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		state provider.QPState
		most  int
		set   func(attr *provider.QPAttributes, value int)
	}{
		{"timeout code", provider.QPStateRTS, 31, func(a *provider.QPAttributes, v int) { a.Timeout = uint8(v) }},
		{"retry count", provider.QPStateRTS, 7, func(a *provider.QPAttributes, v int) { a.RetryCount = uint8(v) }},
		{"RNR retry count", provider.QPStateRTS, 7, func(a *provider.QPAttributes, v int) { a.RNRRetry = uint8(v) }},
		{
			"outstanding reads and atomics", provider.QPStateRTS, maxReads,
			func(a *provider.QPAttributes, v int) { a.MaxReadAtomic = v },
		},
		{"RNR timer code", provider.QPStateRTR, 31, func(a *provider.QPAttributes, v int) { a.MinRNRTimer = uint8(v) }},
		{
			"outstanding reads and atomics of the peer", provider.QPStateRTR, maxReads,
			func(a *provider.QPAttributes, v int) { a.MaxDestReadAtomic = v },
		},
		{"path MTU", provider.QPStateRTR, 4096, func(a *provider.QPAttributes, v int) { a.PathMTU = ib.MTU(v) }},
		{"GID index", provider.QPStateRTR, 0, func(a *provider.QPAttributes, v int) { a.Path.SGIDIndex = v }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVictim(t)
			attr := provider.QPAttributes{
				Mask: ^provider.QPMask(0), Path: provider.Path{DGID: v.peer}, PathMTU: ib.MTU1024, DestQPN: 77,
			}
			for _, state := range []provider.QPState{
				provider.QPStateReset, provider.QPStateInit, provider.QPStateRTR, provider.QPStateRTS,
			} {
				attr.State = state
				if state == tt.state {
					tt.set(&attr, tt.most+1)
					if err := modify(v.qp, attr); err == nil || !strings.Contains(err.Error(), tt.name) {
						t.Errorf("Modify with %s %d = %v, want an error about it", tt.name, tt.most+1, err)
					}
					tt.set(&attr, tt.most)
				}
				if err := modify(v.qp, attr); err != nil {
					t.Fatalf("Modify to %v = %v", state, err)
				}
			}
		})
	}
}

// TestPacketLengths checks that all packets of a message but the last are as long as the path MTU,
// and that the last one is neither longer nor, after others, empty.
func TestPacketLengths(t *testing.T) {
	const first, middle, last = ib.OpcodeRCSendFirst, ib.OpcodeRCSendMiddle, ib.OpcodeRCSendLast
	type packet struct {
		op     ib.Opcode
		length int
	}
	for _, tt := range []struct {
		name    string
		packets []packet
		ok      bool
	}{
		{"only, empty", []packet{{ib.OpcodeRCSendOnly, 0}}, true},
		{"only, an MTU", []packet{{ib.OpcodeRCSendOnly, 1024}}, true},
		{"only, too long", []packet{{ib.OpcodeRCSendOnly, 1028}}, false},
		{"first, too short", []packet{{first, 1020}, {last, 4}}, false},
		{"first, too long", []packet{{first, 1028}, {last, 4}}, false},
		{"middle, too short", []packet{{first, 1024}, {middle, 1020}, {last, 4}}, false},
		{"three", []packet{{first, 1024}, {middle, 1024}, {last, 1024}}, true},
		{"last, too long", []packet{{first, 1024}, {last, 1028}}, false},
		{"last, empty", []packet{{first, 1024}, {last, 0}}, false},
		{"last, short", []packet{{first, 1024}, {last, 4}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVictim(t)
			v.conn.record = true
			for i, one := range tt.packets {
				p := ib.Packet{
					BTH: ib.BTH{
						Opcode: one.op, PKey: ib.PKeyDefault, PSN: 100 + ib.PSN(i), AckReq: i == len(tt.packets)-1,
					},
					Payload: make([]byte, one.length),
				}
				v.take(p.Append(nil))
			}
			want := ib.SyndromeNAKInvalidRequest
			if tt.ok {
				want = ib.SyndromeACK
			}
			got := v.conn.responses(t)
			if len(got) != 1 || got[0].AETH.Syndrome != want {
				t.Errorf("responses = %+v, want one: %v", got, want)
			}
		})
	}
}
