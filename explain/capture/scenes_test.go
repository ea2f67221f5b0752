package capture

import (
	"net/netip"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// only returns a plan that gives the n-th packet of a kind, from 0, a fate.
func only(toB bool, n int, kind func(*ib.Packet) bool, f fate) func(bool, *ib.Packet) fate {
	seen := -1
	return func(to bool, p *ib.Packet) fate {
		if to == toB && kind(p) {
			if seen++; seen == n {
				return f
			}
		}
		return fate{}
	}
}

// from returns a plan that gives all packets of a kind a fate, from the n-th one on.
func from(toB bool, n int, kind func(*ib.Packet) bool, f fate) func(bool, *ib.Packet) fate {
	seen := -1
	return func(to bool, p *ib.Packet) fate {
		if to == toB && kind(p) {
			if seen++; seen >= n {
				return f
			}
		}
		return fate{}
	}
}

func anything(*ib.Packet) bool { return true }

func opcode(o ib.Opcode) func(*ib.Packet) bool {
	return func(p *ib.Packet) bool { return p.BTH.Opcode == o }
}

func large(p *ib.Packet) bool { return len(p.Payload) > 512 }

// writes sends n times 9000 bytes, ten packets of an MTU of 1024, which must succeed.
func writes(n int) func(*testing.T, *tapped, *end, *end) {
	return func(t *testing.T, _ *tapped, a, b *end) {
		t.Helper()
		for range n {
			if s := a.post(a.request(provider.SendOpWrite, 9000, b)); s != provider.WCSuccess {
				t.Error(s)
			}
		}
	}
}

// fails writes small messages, then a large one whose retries must be exceeded.
func fails(small int) func(*testing.T, *tapped, *end, *end) {
	return func(t *testing.T, _ *tapped, a, b *end) {
		t.Helper()
		for range small {
			if s := a.post(a.request(provider.SendOpWrite, 100, b)); s != provider.WCSuccess {
				t.Error(s)
			}
		}
		if s := a.post(a.request(provider.SendOpWrite, 9000, b)); s != provider.WCRetryExceeded {
			t.Errorf("%v, want retry exceeded", s)
		}
	}
}

// everything does one of each operation in both directions.
func everything(t *testing.T, _ *tapped, a, b *end) {
	t.Helper()
	for _, s := range []*end{a, b} {
		peer := b
		if s == b {
			peer = a
		}
		for _, op := range []provider.SendOp{
			provider.SendOpWrite, provider.SendOpRead, provider.SendOpRead, provider.SendOpSend,
			provider.SendOpFetchAdd, provider.SendOpCompareSwap, provider.SendOpWriteImmediate, provider.SendOpRead,
		} {
			length := 5001
			switch op {
			case provider.SendOpFetchAdd, provider.SendOpCompareSwap:
				length = 8
			case provider.SendOpSend, provider.SendOpWriteImmediate:
				peer.receive(8192)
			}
			if status := s.post(s.request(op, length, peer)); status != provider.WCSuccess {
				t.Errorf("%v: %v", op, status)
			}
			if op == provider.SendOpSend || op == provider.SendOpWriteImmediate {
				peer.wait()
			}
		}
	}
}

// deepReads posts many READs at once.
func deepReads(t *testing.T, _ *tapped, a, b *end) {
	t.Helper()
	wr := a.request(provider.SendOpRead, 3000, b)
	wr.Flags = provider.SendSignaled
	for range 12 {
		if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err != nil {
			t.Fatal(err)
		}
	}
	for range 12 {
		if s := a.wait(); s != provider.WCSuccess {
			t.Error(s)
		}
	}
}

// lateReceive sends a message that is received only after some time.
func lateReceive(t *testing.T, _ *tapped, a, b *end) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(5 * time.Millisecond)
		b.receive(4096)
	}()
	if s := a.post(a.request(provider.SendOpSend, 3000, b)); s != provider.WCSuccess {
		t.Error(s)
	}
	<-done
	b.wait()
}

// refused posts a request that must fail.
func refused(op provider.SendOp, length int, status provider.WCStatus, change func(*provider.SendRequest)) func(
	*testing.T, *tapped, *end, *end,
) {
	return func(t *testing.T, _ *tapped, a, b *end) {
		t.Helper()
		writes(1)(t, nil, a, b)
		if op == provider.SendOpSend {
			b.receive(100)
		}
		wr := a.request(op, length, b)
		change(&wr)
		if s := a.post(wr); s != status {
			t.Errorf("%v, want %v", s, status)
		}
	}
}

// bothMTUs writes large messages in both directions, of which none can arrive.
func bothMTUs(t *testing.T, _ *tapped, a, b *end) {
	t.Helper()
	a.post(a.request(provider.SendOpWrite, 9000, b))
	b.post(b.request(provider.SendOpWrite, 9000, a))
}

// notify writes, and sends a CNP for it.
func notify(t *testing.T, w *tapped, a, b *end) {
	t.Helper()
	writes(1)(t, nil, a, b)
	p := ib.Packet{BTH: ib.BTH{
		Opcode: ib.OpcodeCongestionNotification, PKey: 0xffff, BECN: true, DestQP: a.qp.QPN(),
	}, Payload: make([]byte, 16)}
	flow := rocev2.Flow{
		Source: ib.GIDFromAddr(addrB), Destination: ib.GIDFromAddr(addrA), SourcePort: rocev2.Port,
		DestinationPort: rocev2.Port, DontFragment: true,
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for range 3 {
		w.writeIPv4(addrB, addrA, 48<<2, 64, rocev2.Port, flow.AppendICRC(p.Append(nil)))
	}
}

// dial connects to a port where nobody listens.
func dial(t *testing.T, _ *tapped, a, b *end) {
	t.Helper()
	everything(t, nil, a, b)
	qp, err := a.pd.CreateQP(provider.QPConfig{SendCQ: a.cq, RecvCQ: a.cq})
	check(t, err)
	defer qp.Close() //nolint:errcheck // of a test
	if _, err := a.e.Dial(t.Context(), qp, netip.AddrPortFrom(addrB, 7), provider.ConnectOptions{}); err == nil {
		t.Error("connected")
	}
}

// scenes are captures of this project's engine with planted faults. The expectations follow from
// what is planted and from the specification, not from what the package says.
func scenes() []scene {
	write4 := func(p *ib.Packet) bool { return p.BTH.Opcode == ib.OpcodeRCWriteMiddle }
	ack := opcode(ib.OpcodeRCAcknowledge)
	far, gone := fate{drop: true}, fate{drop: true}
	lost := []Name{NameLoss, NameRetransmission}
	return []scene{
		{name: "clean", run: everything},
		{name: "clean reads", run: deepReads},
		{
			name: "request lost before the capture", tap: &tapped{plan: only(true, 10, write4, far)}, run: writes(4),
			want: lost, summary: "1 request packet before the capture, 1 of them sent again; 1 NAK 0x60",
		},
		{
			name: "request lost behind the capture", tap: &tapped{near: true, plan: only(true, 10, write4, far)},
			run: writes(4), want: lost,
			summary: "1 request packet behind the capture, or late there; 1 NAK 0x60",
		},
		{
			name: "burst lost before the capture", run: writes(4), want: lost,
			tap: &tapped{plan: func() func(bool, *ib.Packet) fate {
				n := 0
				return func(toB bool, _ *ib.Packet) fate {
					if toB {
						n++
					}
					return fate{drop: toB && n > 12 && n < 16}
				}
			}()},
		},
		{
			name: "answer lost behind the capture", tap: &tapped{near: true, plan: only(false, 1, ack, gone)},
			run: writes(3), want: []Name{NameAnswersLost, NameRetransmission},
		},
		{
			name: "answer lost before the capture", tap: &tapped{plan: only(false, 1, ack, gone)},
			run: writes(3), want: []Name{NameRetransmission},
		},
		{
			name: "READ response lost before the capture",
			tap:  &tapped{plan: only(false, 3, opcode(ib.OpcodeRCReadResponseMiddle), gone)},
			run:  deepReads, want: lost,
		},
		{
			name: "copies", tap: &tapped{plan: from(true, 3, write4, fate{twice: true})}, run: writes(2),
			want: []Name{NameDuplicates},
		},
		{
			name: "late", tap: &tapped{plan: only(true, 10, write4, fate{hold: true})}, run: writes(4),
			want: []Name{NameReordering, NameRetransmission},
		},
		{
			name: "damaged", tap: &tapped{plan: only(true, 10, write4, fate{flip: true})}, run: writes(4),
			want: []Name{NameICRC, NameLoss, NameRetransmission},
		},
		{
			name: "wrong key", run: refused(provider.SendOpWrite, 100, provider.WCRemoteAccess,
				func(wr *provider.SendRequest) { wr.RKey ^= 0x5500 }), want: []Name{NameNAKAccess},
		},
		{
			name: "out of range", run: refused(provider.SendOpRead, 9000, provider.WCRemoteAccess,
				func(wr *provider.SendRequest) { wr.RemoteAddr += 1 << 16 }), want: []Name{NameNAKAccess},
		},
		{
			name: "receive buffer too small", run: refused(provider.SendOpSend, 3000, provider.WCRemoteInvalid,
				func(*provider.SendRequest) {}), want: []Name{NameNAKInvalid},
		},
		{name: "no receive request", run: lateReceive, want: []Name{NameRNR, NameRetransmission}},
		{
			// The responder's queue pair ends with its NAK, so that its own path MTU isn't seen.
			name: "path MTUs differ", a: link{mtu: ib.MTU4096}, run: bothMTUs, want: []Name{NameNAKInvalid},
		},
		{
			name: "path drops large packets", tap: &tapped{near: true, plan: from(true, 0, large, far)},
			run: fails(3), want: []Name{NameMTU, NameNoAnswer, NameRetransmission},
		},
		{
			name: "requests filtered", tap: &tapped{near: true, plan: from(true, 0, anything, far)},
			run: fails(0), want: []Name{NameOneWay, NameRetransmission},
		},
		{
			name: "answers filtered", tap: &tapped{plan: from(false, 0, anything, gone)},
			run: fails(0), want: []Name{NameOneWay, NameRetransmission},
		},
		{
			name: "peer gone", tap: &tapped{near: true, plan: from(true, 5, anything, far)},
			run: fails(5), want: []Name{NameMTU, NameNoAnswer, NameRetransmission},
		},
		{
			name: "READ responses filtered", run: func(t *testing.T, _ *tapped, a, b *end) {
				t.Helper()
				writes(1)(t, nil, a, b)
				if s := a.post(a.request(provider.SendOpRead, 3000, b)); s != provider.WCRetryExceeded {
					t.Error(s)
				}
			},
			tap: &tapped{plan: func(_ bool, p *ib.Packet) fate {
				o := p.BTH.Opcode
				return fate{drop: o >= ib.OpcodeRCReadResponseFirst && o <= ib.OpcodeRCReadResponseOnly}
			}},
			want: []Name{NameNoAnswer, NameReadUnanswered, NameRetransmission},
		},
		{
			name: "DSCPs differ", a: link{tclass: 26 << 2}, b: link{tclass: 8 << 2}, run: writes(1),
			want: []Name{NameDSCP},
		},
		{
			name: "marked", tap: &tapped{plan: from(true, 0, anything, fate{mark: true})}, a: link{tclass: 2},
			b: link{tclass: 2}, run: writes(1), want: []Name{NameCongestion, NameNoCNP},
		},
		{
			name: "marked, and CNPs", tap: &tapped{plan: from(true, 0, anything, fate{mark: true})}, a: link{tclass: 2},
			b: link{tclass: 2}, run: notify, want: []Name{NameCongestion},
		},
		{name: "hop limit", a: link{hopLimit: 1}, run: writes(1), want: []Name{NameHopLimit}},
		{
			name: "one direction", tap: &tapped{plan: from(false, 0, anything, fate{unseen: true})}, run: writes(3),
			want: []Name{NameOneDirection},
		},
		{name: "snapped", tap: &tapped{snap: 90}, run: everything, notJudged: "snap length"},
		{
			name: "snapped behind the BTH", tap: &tapped{snap: 54}, run: everything,
			notJudged: "without their headers: the snap length is too small",
		},
		{
			name: "answers from another address",
			tap:  &tapped{near: true, plan: from(false, 0, anything, fate{from: "10.0.0.9", drop: true})},
			run:  fails(0), want: []Name{NameGIDMismatch, NameOneWay, NameRetransmission},
		},
		{name: "nobody listens", run: dial, want: []Name{NameCMRejected}},
		{
			name: "no connection manager", run: dial, want: []Name{NameCMUnanswered},
			tap: &tapped{near: true, plan: from(true, 0, func(p *ib.Packet) bool { return p.BTH.DestQP == 1 }, far)},
		},
	}
}
