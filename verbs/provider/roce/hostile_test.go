package roce

import (
	"bytes"
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// sink is a connection without a network: tests pass packets to the engine directly.
type sink struct {
	done    chan struct{}
	sent    int
	once    sync.Once
	buffer  int          // what ReceiveBuffer returns
	resumed atomic.Int32 // calls of Resume
	record  bool
	packets [][]byte         // what was sent, if record is set
	entries []udpio.Outbound // the same, without Data
}

func (s *sink) Read(udpio.Handler) error         { <-s.done; return errSinkClosed }
func (s *sink) Poll(udpio.Handler) (bool, error) { return false, nil }
func (s *sink) Resume()                          { s.resumed.Add(1) }
func (s *sink) ReceiveBuffer() int               { return s.buffer }
func (s *sink) Offload() (gso, gro bool)         { return true, true }
func (s *sink) Close() error                     { s.once.Do(func() { close(s.done) }); return nil }

func (s *sink) WaitWritable() error { return nil }

func (s *sink) Write(list []udpio.Outbound) ([]udpio.Outbound, error) {
	for i := range list {
		s.sent += len(list[i].Data)
		if !s.record {
			continue
		}
		e := list[i]
		e.Data = nil
		s.entries = append(s.entries, e)
		segment := cmp.Or(list[i].Segment, len(list[i].Data))
		for packet := range slices.Chunk(list[i].Data, segment) {
			s.packets = append(s.packets, slices.Clone(packet))
		}
	}
	return nil, nil
}

// victim is an engine with a connected queue pair, posted requests, and a region in the middle of
// a larger buffer whose other bytes are checked.
type victim struct {
	*side
	clock *clock.Manual
	conn  *sink
	peer  ib.GID
	all   []byte // the whole buffer that contains the region
}

const (
	victimSize = 8192
	guard      = 4096
	canary     = 0xc5
)

func newVictim(t testing.TB) *victim {
	t.Helper()
	v := &victim{conn: &sink{done: make(chan struct{})}, peer: ib.GIDFromAddr(netip.MustParseAddr("10.0.0.2"))}
	ip := netip.MustParseAddr("10.0.0.1")
	// On a clock that stands still no timer sends anything beside the test.
	v.clock = &clock.Manual{}
	e, err := New(Config{Name: "roce@10.0.0.1", Conn: v.conn, Addr: ip, MTU: ib.MTU4096, Clock: v.clock})
	if err != nil {
		t.Fatal(err)
	}
	v.side = with(t, e, 16, 64, provider.WaitEvent)
	v.all = bytes.Repeat([]byte{canary}, victimSize+2*guard)
	all := provider.AccessLocalWrite | provider.AccessRemoteRead | provider.AccessRemoteWrite
	mr, err := v.pd.RegisterMemory(v.all[guard:guard+victimSize:guard+victimSize], provider.MemoryOptions{Access: all})
	if err != nil {
		t.Fatal(err)
	}
	v.target = mr
	v.also = append(v.also, mr)
	v.connect(t)
	return v
}

// connect reconnects the queue pair: a packet may have ended the connection.
func (v *victim) connect(t testing.TB) {
	t.Helper()
	attr := provider.QPAttributes{
		Mask: ^provider.QPMask(0), Access: 0xff, Path: provider.Path{DGID: v.peer}, PathMTU: ib.MTU1024, DestQPN: 77,
		ReceivePSN: 100, SendPSN: 200, MaxDestReadAtomic: 4, MaxReadAtomic: 4, MinRNRTimer: 12, Timeout: 0,
		RetryCount: 7, RNRRetry: 7,
	}
	walk(t, v.qp, attr, provider.QPStateRTS)
	drain(v.cq)
	whole := []provider.Segment{{Region: v.target, Length: victimSize}}
	for range 4 {
		if _, err := v.qp.PostReceive([]provider.ReceiveRequest{{Segments: whole}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, op := range []provider.SendOp{provider.SendOpWrite, provider.SendOpRead, provider.SendOpSend} {
		if _, err := v.qp.PostSend(
			[]provider.SendRequest{{Op: op, Segments: whole, Flags: provider.SendSignaled}}); err != nil {
			t.Fatal(err)
		}
	}
}

func drain(cq provider.CompletionQueue) {
	var wcs [16]provider.WorkCompletion
	for {
		if n, err := cq.Poll(wcs[:]); n == 0 || err != nil {
			return
		}
	}
}

// take passes packets to the engine as one batch, each with a valid ICRC and from the peer's
// address.
func (v *victim) take(packets ...[]byte) {
	v.takeOnly(packets...)
	v.e.delayedAcks.send()
}

// takeOnly passes packets to the engine as the receiver does.
func (v *victim) takeOnly(packets ...[]byte) { v.pass(v.e.handler, packets) }

// takePolled passes packets to the engine as a waiting goroutine of the program does.
func (v *victim) takePolled(packets ...[]byte) { v.pass(v.e.pollHandler, packets) }

func (v *victim) pass(handler udpio.Handler, packets [][]byte) {
	flow := rocev2.Flow{
		Source: v.peer, Destination: v.e.gid, SourcePort: 0xc000, DestinationPort: rocev2.Port, DontFragment: true,
	}
	var list []udpio.Inbound
	for _, data := range packets {
		for len(data)%4 != 0 {
			data = append(data, 0)
		}
		if len(data) >= ib.BTHLen {
			qpn := v.qp.QPN()
			data[5], data[6], data[7] = byte(qpn>>16), byte(qpn>>8), byte(qpn)
			data = flow.AppendICRC(data)
		}
		list = append(list,
			udpio.Inbound{Data: data, Segment: len(data), From: netip.AddrPortFrom(v.peer.Addr(), 0xc000)})
	}
	handler(list)
}

// check checks the invariants that must hold whatever a peer sends.
func (v *victim) check(t *testing.T) {
	t.Helper()
	v.qp.State()
	if !bytes.Equal(v.all[:guard], bytes.Repeat([]byte{canary}, guard)) ||
		!bytes.Equal(v.all[guard+victimSize:], bytes.Repeat([]byte{canary}, guard)) {
		t.Fatal("bytes outside of the region were written")
	}
	qp := inner(t, v.qp)
	qp.mu.Lock()
	defer qp.mu.Unlock()
	r := &qp.resp
	if r.jobCount > len(r.jobs) || len(r.jobs) > 8 || r.replays < 0 || r.replays > 4 || r.replays > r.jobCount ||
		qp.receives.tail-qp.receives.head > uint64(len(qp.receives.ring)) || qp.req.readLen > maxReads {
		t.Fatalf("bounds: %d of %d jobs, %d receive requests, %d reads",
			r.jobCount, len(r.jobs), qp.receives.tail-qp.receives.head, qp.req.readLen)
	}
}

// FuzzHostilePeer passes packets of an attacker who knows queue pair, address, keys and PSNs to
// the engine, which must neither panic nor write outside the region. The input is a list of
// packets, each preceded by its length in four-byte words.
func FuzzHostilePeer(f *testing.F) {
	for _, seed := range hostileSeeds() {
		f.Add(seed)
	}
	v := newVictim(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		v.connect(t)
		for count := 0; len(in) > 0 && count < 64; count++ {
			n := min(1+4*int(in[0]), len(in))
			v.take(v.patch(bytes.Clone(in[1:n])))
			in = in[n:]
		}
		v.check(t)
	})
}

// patch fills in values that a fuzzer can't guess: an address 0 to 0xffff in a RETH is replaced
// with that offset in the region, and key 1 with the region's key.
func (v *victim) patch(packet []byte) []byte {
	if len(packet) < ib.BTHLen+ib.RETHLen || ib.Opcode(packet[0]).Layout()&ib.LayoutRETH == 0 {
		return packet
	}
	var h ib.RETH
	if _, err := h.Decode(packet[ib.BTHLen:]); err != nil {
		return packet
	}
	if h.VirtualAddress < 1<<16 {
		h.VirtualAddress += v.target.Addr() - 0x100
	}
	if h.RKey == 1 {
		h.RKey = v.target.RKey()
	}
	h.Append(packet[:ib.BTHLen])
	return packet
}

// hostileSeeds returns a packet for each of the 256 opcodes, and sequences that start a message
// and continue with packets that don't belong to it.
func hostileSeeds() (seeds [][]byte) {
	packet := func(op ib.Opcode, psn ib.PSN, length uint32, payload int) []byte {
		p := ib.Packet{
			BTH:  ib.BTH{Opcode: op, PKey: ib.PKeyDefault, PSN: psn, AckReq: true, PadCount: ib.PadFor(payload)},
			RETH: ib.RETH{VirtualAddress: 0x100, RKey: 1, DMALength: length}, AETH: ib.AETH{Syndrome: ib.SyndromeACK},
			Payload: make([]byte, payload),
		}
		b := p.Append(nil)
		return append([]byte{byte(len(b) / 4)}, b...)
	}
	join := func(list ...[]byte) { seeds = append(seeds, bytes.Join(list, nil)) }
	for op := range 256 {
		for _, psn := range []ib.PSN{100, 99, 101, 200, 208} {
			join(packet(ib.Opcode(op), psn, 8192, 0), packet(ib.Opcode(op), psn+1, 8, 8))
		}
	}
	for second := range ib.Opcode(0x18) {
		for first := range ib.Opcode(0x18) {
			join(packet(first, 100, 1500, 1000), packet(second, 101, 1500, 500), packet(second, 102, 1<<31, 12))
		}
	}
	return seeds
}

// TestHostilePeerMemory checks that the memory use of the engine doesn't grow when all seeds are
// repeated twenty times.
func TestHostilePeerMemory(t *testing.T) {
	v := newVictim(t)
	seeds := hostileSeeds()
	one := func() {
		for _, in := range seeds {
			v.connect(t)
			for len(in) > 0 {
				n := min(1+4*int(in[0]), len(in))
				v.take(v.patch(bytes.Clone(in[1:n])))
				in = in[n:]
			}
		}
	}
	one()
	before := reachable()
	for range 20 {
		one()
	}
	v.check(t)
	if grown := int64(reachable()) - int64(before); grown > 256<<10 {
		t.Errorf("the heap grew by %d bytes in %d sequences", grown, 20*len(seeds))
	}
}

// TestReadFlood checks that duplicates of a READ request don't grow the queue of responses: those
// that don't fit are dropped.
func TestReadFlood(t *testing.T) {
	v := newVictim(t)
	for i := range 100 {
		p := ib.Packet{
			BTH: ib.BTH{
				Opcode: ib.OpcodeRCReadRequest, PKey: ib.PKeyDefault, PSN: ib.PSN(100 + 8*(i/50)), AckReq: true,
			},
			RETH: ib.RETH{VirtualAddress: v.target.Addr(), RKey: v.target.RKey(), DMALength: victimSize},
		}
		burst := make([][]byte, 100) // no response is sent before its end
		for k := range burst {
			burst[k] = p.Append(nil)
		}
		v.take(burst...)
		v.check(t)
	}
	deadline := time.Now().Add(10 * time.Second)
	for qp := inner(t, v.qp); ; time.Sleep(time.Millisecond) {
		qp.mu.Lock()
		left := qp.resp.jobCount
		qp.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d responses are left", left)
		}
	}
	if got := v.qp.State(); got != provider.QPStateRTS {
		t.Errorf("state = %v, want RTS", got)
	}
}

// Packets that are not from the peer, or not for a known queue pair, change nothing.
func TestForeignPackets(t *testing.T) {
	v := newVictim(t)
	p := ib.Packet{
		BTH:     ib.BTH{Opcode: ib.OpcodeRCWriteOnly, PKey: ib.PKeyDefault, PSN: 100, AckReq: true, DestQP: v.qp.QPN()},
		RETH:    ib.RETH{VirtualAddress: v.target.Addr(), RKey: v.target.RKey(), DMALength: 8},
		Payload: make([]byte, 8),
	}
	hand := func(from string, change func([]byte)) {
		addr := netip.MustParseAddr(from)
		flow := rocev2.Flow{
			Source: ib.GIDFromAddr(addr), Destination: v.e.gid, SourcePort: 5, DestinationPort: rocev2.Port,
			DontFragment: true,
		}
		data := p.Append(nil)
		change(data)
		data = flow.AppendICRC(data)
		v.e.handler([]udpio.Inbound{{Data: data, Segment: len(data), From: netip.AddrPortFrom(addr, 5)}})
	}
	before := bytes.Clone(v.all)
	hand("10.0.0.3", func([]byte) {})
	hand("10.0.0.2", func(b []byte) { b[7]++ })            // another queue pair
	hand("10.0.0.2", func(b []byte) { b[2], b[3] = 1, 2 }) // another partition
	hand("10.0.0.2", func(b []byte) { b[0] = 0x2a })       // an unreliable connection
	hand("10.0.0.2", func(b []byte) { b[1] |= 1 })         // another version
	if !bytes.Equal(before, v.all) {
		t.Error("memory was written")
	}
	s := v.e.Stats()
	if got := fmt.Sprint(s.Foreign, s.UnknownQP, s.Malformed); got != "1 1 3" {
		t.Errorf("foreign, unknown, malformed = %s, want 1 1 3", got)
	}
	hand("10.0.0.2", func([]byte) {})
	if bytes.Equal(before, v.all) {
		t.Error("the peer's own packet was not accepted")
	}
}
