package roce

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestQueueKeepsEngineOpen checks that an engine with a completion queue only can't be closed.
func TestQueueKeepsEngineOpen(t *testing.T) {
	conn := &sink{done: make(chan struct{})}
	e, err := New(Config{Name: "roce@test", Conn: conn, Addr: netip.MustParseAddr("10.0.0.1"), Clock: &clock.Manual{}})
	if err != nil {
		t.Fatal(err)
	}
	cq, err := e.CreateCQ(provider.CQConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); !errors.Is(err, provider.ErrBusy) {
		t.Errorf("Close with a completion queue = %v, want ErrBusy", err)
	}
	_ = cq.Close()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestLongResponseGoesOn checks that a READ response of more packets than one call sends is sent
// to its end without another packet of the peer and without a timer.
func TestLongResponseGoesOn(t *testing.T) {
	s := newSender(t)
	const packets = 3*respondPackets + 1
	p := ib.Packet{
		BTH:  ib.BTH{Opcode: ib.OpcodeRCReadRequest, PSN: 100, PKey: ib.PKeyDefault},
		RETH: ib.RETH{VirtualAddress: s.mr.Addr(), RKey: s.mr.RKey(), DMALength: packets * 1024},
	}
	s.takeOnly(p.Append(nil))
	qp := inner(t, s.qp)
	sent := func() int {
		qp.mu.Lock()
		defer qp.mu.Unlock()
		return len(s.conn.packets)
	}
	for end := time.Now().Add(10 * time.Second); sent() < packets && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if got := sent(); got != packets {
		t.Errorf("%d packets of the response were sent, want %d", got, packets)
	}
}

// TestHybridSpins checks that a hybrid wait polls for its time before it sleeps. On a clock that
// stands still the number of polls ends it.
func TestHybridSpins(t *testing.T) {
	v := newVictim(t)
	polls := 0
	never := waiterFunc(func() bool { polls++; return false })
	if ready, err := v.e.spin(t.Context(), "nothing", false, never); ready || err != nil {
		t.Fatalf("spin = %t, %v", ready, err)
	}
	if polls != hybridPolls+1 {
		t.Errorf("%d polls, want %d", polls, hybridPolls+1)
	}
}

type waiterFunc func() bool

func (f waiterFunc) ready() bool { return f() }

// TestLargestFlowLabel checks the largest flow label, of 20 bits, and the first that has more.
func TestLargestFlowLabel(t *testing.T) {
	s := newSender(t)
	qp := inner(t, s.qp)
	attr := qp.attr
	walk(t, s.qp, attr, provider.QPStateInit)
	attr.State, attr.Path.FlowLabel = provider.QPStateRTR, 1<<20
	if err := modify(s.qp, attr); err == nil {
		t.Error("a flow label of 21 bits is accepted")
	}
	attr.Path.FlowLabel = 1<<20 - 1
	if err := modify(s.qp, attr); err != nil {
		t.Error(err)
	}
}
