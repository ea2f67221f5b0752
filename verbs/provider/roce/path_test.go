package roce

import (
	"net/netip"
	"testing"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// TestTrafficClassOfPath checks that all packets of a queue pair have the traffic class and hop
// limit of its path: requests, responses and acknowledgements.
func TestTrafficClassOfPath(t *testing.T) {
	const lossless = 26 << 2 // the DSCP that sites use for RoCE
	v := newVictim(t)
	attr := inner(t, v.qp).attr
	attr.Path.TrafficClass, attr.Path.HopLimit = lossless, 5
	walk(t, v.qp, attr, provider.QPStateRTS)
	v.conn.record = true
	segment := []provider.Segment{{Region: v.target, Length: 4096}}
	if _, err := v.qp.PostReceive([]provider.ReceiveRequest{{Segments: segment}}); err != nil {
		t.Fatal(err)
	}
	if _, err := v.qp.PostSend([]provider.SendRequest{{Op: provider.SendOpWrite, Segments: segment}}); err != nil {
		t.Fatal(err)
	}
	v.take(sendOnly(100), v.readRequest(101, 2048))
	if len(v.conn.entries) < 3 {
		t.Fatalf("%d entries sent, want a request, a response and an acknowledgement", len(v.conn.entries))
	}
	for i, e := range v.conn.entries {
		if e.TrafficClass != lossless || e.HopLimit != 5 {
			t.Errorf("entry %d has traffic class %d and hop limit %d, want %d and 5",
				i, e.TrafficClass, e.HopLimit, lossless)
		}
	}
}

// TestECNMarks checks that packets that met congestion are counted, and no others.
func TestECNMarks(t *testing.T) {
	v := newVictim(t)
	flow := rocev2.Flow{
		Source: v.peer, Destination: v.e.gid, SourcePort: 0xc000, DestinationPort: rocev2.Port, DontFragment: true,
	}
	for i, class := range []uint8{0, 1, 2, 3, 26<<2 | 2, 26<<2 | 3} {
		p := ib.Packet{BTH: ib.BTH{
			Opcode: ib.OpcodeRCSendOnly, PKey: ib.PKeyDefault, PSN: ib.PSN(100 + i), DestQP: v.qp.QPN(),
		}}
		data := flow.AppendICRC(p.Append(nil))
		v.e.handler([]udpio.Inbound{{
			Data: data, Segment: len(data), From: netip.AddrPortFrom(v.peer.Addr(), 0xc000), TrafficClass: class,
		}})
	}
	if s := v.e.Stats(); s.ECNMarks != 2 || s.BadICRC != 0 {
		t.Errorf("%d marks and %d invalid ICRCs, want 2 and 0", s.ECNMarks, s.BadICRC)
	}
}
