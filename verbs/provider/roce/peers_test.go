package roce

import (
	"net/netip"
	"testing"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// from passes a packet to the queue pair as one from an address, with this IPv4 identification, and
// damaged after its ICRC was computed if damage isn't 0.
func (v *victim) from(addr netip.Addr, id uint16, data []byte, damage byte) {
	qpn := v.qp.QPN()
	data[5], data[6], data[7] = byte(qpn>>16), byte(qpn>>8), byte(qpn)
	flow := rocev2.Flow{
		Source: ib.GIDFromAddr(addr), Destination: v.e.gid, SourcePort: 0xc000, DestinationPort: rocev2.Port,
		DontFragment: true, ID: id,
	}
	data = flow.AppendICRC(data)
	data[len(data)-rocev2.ICRCLen-1] ^= damage
	v.e.handler([]udpio.Inbound{{Data: data, Segment: len(data), From: netip.AddrPortFrom(addr, 0xc000)}})
}

// TestStrangers checks that a sound packet from an address that the queue pair isn't connected
// to is counted as such and changes nothing, whichever kind of sender it comes from, and that a
// damaged one is counted as damaged.
func TestStrangers(t *testing.T) {
	v := newVictim(t)
	other := netip.MustParseAddr("10.0.0.9")
	for i, sent := range []struct {
		addr string
		id   uint16
	}{{"10.0.0.8", 0}, {"10.0.0.8", 0}, {"10.0.0.9", 40000}, {"10.0.0.9", 40001}, {"10.0.0.9", 40003}} {
		v.from(netip.MustParseAddr(sent.addr), sent.id, sendOnly(100), 0)
		if got := v.e.Stats(); got.Foreign != uint64(i+1) || got.BadICRC != 0 {
			t.Errorf("after packet %d: %d foreign, %d damaged", i, got.Foreign, got.BadICRC)
		}
	}
	before := v.e.Stats()
	v.from(other, 40004, sendOnly(100), 0x40)
	if got := v.e.Stats(); got.BadICRC != before.BadICRC+1 || got.Foreign != before.Foreign {
		t.Errorf("damaged packet: %+v", got)
	}
	if got := inner(t, v.qp).resp.expected; got != 100 {
		t.Errorf("expected PSN = %v, want 100", got)
	}
}

// TestManyStrangers checks that packets from very many addresses leave no memory behind, and don't
// disturb the connection.
func TestManyStrangers(t *testing.T) {
	v := newVictim(t)
	const strangers = 20000
	var before uint64
	for i := range strangers {
		addr := netip.AddrFrom4([4]byte{172, byte(16 + i>>16), byte(i >> 8), byte(i)})
		v.from(addr, uint16(i), sendOnly(100), 0)
		if i == maxUnknown {
			before = reachable()
		}
	}
	if grown := int64(reachable()) - int64(before); grown > 64<<10 {
		t.Errorf("%d bytes remain of packets from %d addresses", grown, strangers)
	}
	if got := v.e.Stats().Foreign; got != strangers {
		t.Errorf("%d packets counted as foreign, want %d", got, strangers)
	}
	v.take(sendOnly(100))
	if got := inner(t, v.qp).resp.expected; got != 101 {
		t.Errorf("expected PSN after a packet of the peer = %v, want 101", got)
	}
}

// TestPeerOfReconnected checks that the peers that queue pairs are connected to are remembered once
// each, and no longer than that.
func TestPeerOfReconnected(t *testing.T) {
	v := newVictim(t)
	second, err := v.pd.CreateQP(provider.QPConfig{SendCQ: v.cq, RecvCQ: v.cq})
	if err != nil {
		t.Fatal(err)
	}
	known := func(want ...string) {
		t.Helper()
		got := v.e.peers.known
		for _, addr := range want {
			if got[netip.MustParseAddr(addr)] == nil {
				t.Errorf("peer %s is not known", addr)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d peers are known, want %v", len(got), want)
		}
	}
	attr := inner(t, v.qp).attr
	walk(t, second, attr, provider.QPStateRTS)
	known("10.0.0.2")
	attr.Path.DGID = ib.GIDFromAddr(netip.MustParseAddr("10.0.0.3"))
	walk(t, second, attr, provider.QPStateRTS)
	known("10.0.0.2", "10.0.0.3")
	_ = second.Close()
	known("10.0.0.2")
}
