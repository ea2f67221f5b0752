package roce

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// record calls see with every decoded packet of the network. Call SetTap(nil) before reading
// what see has stored.
func record(n *packetnet.Network, see func(from string, p *ib.Packet)) {
	n.SetTap(func(d packetnet.Datagram) {
		var p ib.Packet
		if _, err := p.Decode(d.Data[:len(d.Data)-rocev2.ICRCLen]); err == nil {
			see(d.From.Addr().String(), &p)
		}
	})
}

// writeOf returns a WRITE of length bytes.
func writeOf(a, b *side, length int) provider.SendRequest {
	return provider.SendRequest{
		Op: provider.SendOpWrite, Flags: provider.SendSignaled, RKey: b.mr.RKey(), RemoteAddr: b.mr.Addr(),
		Segments: []provider.Segment{{Region: a.mr, Length: length}},
	}
}

func postOne(t *testing.T, s *side, wr provider.SendRequest) {
	t.Helper()
	if _, err := s.qp.PostSend([]provider.SendRequest{wr}); err != nil {
		t.Fatal(err)
	}
}

// TestRequestBits checks that an acknowledgement is requested every 32 packets and at the end of a
// message, an event at the end of a message, and that acknowledgements carry the MSN.
func TestRequestBits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, n := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<16, 16)
		var asked, solicited []int
		var msns []uint32
		record(n, func(from string, p *ib.Packet) {
			at := p.BTH.PSN.Sub(0xfffff0)
			if p.BTH.AckReq {
				asked = append(asked, at)
			}
			if p.BTH.Solicited {
				solicited = append(solicited, at)
			}
			if p.BTH.Opcode == ib.OpcodeRCAcknowledge {
				msns = append(msns, p.AETH.MSN)
			}
		})
		wr := writeOf(a, b, 40*1024)
		wr.Flags |= provider.SendSolicited
		for range 2 {
			postOne(t, a, wr)
			wait(t, a, 1)
		}
		n.SetTap(nil)
		if got := fmt.Sprint(asked, solicited); got != "[31 39 71 79] [39 79]" {
			t.Errorf("packets that request an acknowledgement, and an event = %s, want [31 39 71 79] [39 79]", got)
		}
		if last := len(msns) - 1; last < 1 || msns[0] > 1 || msns[last] != 2 {
			t.Errorf("MSNs = %v, want 0 or 1 at first and 2 at last", msns)
		}
		for range windowMax { // each acknowledgement widens it
			postOne(t, a, writeOf(a, b, 8))
			wait(t, a, 1)
		}
		qp := inner(t, a.qp)
		qp.mu.Lock()
		defer qp.mu.Unlock()
		if got := qp.req.window; got != windowMax {
			t.Errorf("window = %d, want %d", got, windowMax)
		}
	})
}

// TestOneNAKPerGap checks that only the first packet after a gap causes a NAK, and that the
// requester retransmits without waiting for the timeout.
func TestOneNAKPerGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, n := lossy(t, packetnet.Faults{Delay: 10 * time.Microsecond}, 1<<12, 16)
		var naks []ib.PSN
		record(n, func(from string, p *ib.Packet) {
			if p.BTH.Opcode == ib.OpcodeRCAcknowledge && p.AETH.Syndrome == ib.SyndromeNAKSequence {
				naks = append(naks, p.BTH.PSN)
			}
		})
		n.Cut(a.e.addr, b.e.addr, true)
		begin := time.Now()
		postOne(t, a, writeOf(a, b, 8))
		n.Cut(a.e.addr, b.e.addr, false)
		for range 5 {
			postOne(t, a, writeOf(a, b, 8))
			time.Sleep(time.Microsecond)
		}
		wait(t, a, 6)
		n.SetTap(nil)
		if took := time.Since(begin); fmt.Sprint(naks) != "[0xfffff0]" || took > time.Millisecond {
			t.Errorf("NAKs for %v, done in %v, want one for 0xfffff0 and no timeout", naks, took)
		}
	})
}

// TestRNRRetries checks that the RNR retry count of the queue pair is the limit of RNR NAKs.
func TestRNRRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, _ := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 16)
		inner(t, a.qp).attr.RNRRetry = 2
		postOne(t, a, provider.SendRequest{Op: provider.SendOpSend})
		if wc := wait(t, a, 1)[0]; wc.Status != provider.WCRNRRetryExceeded || a.e.Stats().RNRNAKs != 3 {
			t.Errorf("completion = %v after %d RNR NAKs, want %v after 3",
				wc.Status, a.e.Stats().RNRNAKs, provider.WCRNRRetryExceeded)
		}
	})
}

// TestReadResponses checks that a READ response acknowledges all requests before the READ, and
// that one with a wrong length ends the connection.
func TestReadResponses(t *testing.T) {
	v := newVictim(t) // a WRITE with PSNs 200 to 207 and a READ with 208 to 215 are outstanding
	response := func(op ib.Opcode, psn ib.PSN, length int) []byte {
		p := ib.Packet{
			BTH: ib.BTH{Opcode: op, PKey: ib.PKeyDefault, PSN: psn}, AETH: ib.AETH{Syndrome: ib.SyndromeACK},
			Payload: make([]byte, length),
		}
		return p.Append(nil)
	}
	var wcs [8]provider.WorkCompletion
	v.take(response(ib.OpcodeRCReadResponseFirst, 208, 1024))
	if n, err := v.cq.Poll(wcs[:]); n != 1 || err != nil || wcs[0].Op != provider.WCWrite || wcs[0].Err() != nil {
		t.Fatalf("completions = %+v, %v, want the WRITE's", wcs[:n], err)
	}
	v.take(response(ib.OpcodeRCReadResponseMiddle, 209, 1020))
	if n, err := v.cq.Poll(wcs[:]); n == 0 || err != nil || wcs[0].Status != provider.WCBadResponse {
		t.Fatalf("completions = %+v, %v, want %v first", wcs[:n], err, provider.WCBadResponse)
	}
}
