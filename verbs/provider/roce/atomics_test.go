package roce

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// counter is an engine without a network, with a region for atomic operations of its peer.
type counter struct {
	*victim
	mr provider.MemoryRegion
}

func newCounter(t *testing.T) *counter {
	t.Helper()
	v := newVictim(t)
	mr, err := v.pd.RegisterMemory(make([]byte, 64), provider.MemoryOptions{
		Access: provider.AccessLocalWrite | provider.AccessRemoteAtomic,
	})
	if err != nil {
		t.Fatal(err)
	}
	v.also = append(v.also, mr)
	v.conn.record = true
	return &counter{v, mr}
}

// atomic returns a request of the peer for the value at an offset.
func (c *counter) atomic(op ib.Opcode, psn ib.PSN, offset int, swapAdd, compare uint64) []byte {
	p := ib.Packet{
		BTH: ib.BTH{Opcode: op, PKey: ib.PKeyDefault, PSN: psn, AckReq: true},
		AtomicETH: ib.AtomicETH{
			VirtualAddress: c.mr.Addr() + uint64(offset), RKey: c.mr.RKey(), SwapAdd: swapAdd, Compare: compare,
		},
	}
	return p.Append(nil)
}

func (c *counter) value(offset int) uint64 { return binary.NativeEndian.Uint64(c.mr.Bytes()[offset:]) }

func (c *counter) set(offset int, value uint64) {
	binary.NativeEndian.PutUint64(c.mr.Bytes()[offset:], value)
}

// answer is a response to an atomic operation, or a NAK.
type answer struct {
	PSN      ib.PSN
	Original uint64
	Syndrome ib.Syndrome
}

// answers returns what was sent since the last call.
func (c *counter) answers(t *testing.T) (out []answer) {
	t.Helper()
	for _, data := range c.conn.packets {
		var p ib.Packet
		if _, err := p.Decode(data[:len(data)-4]); err != nil {
			t.Fatal(err)
		}
		if op := p.BTH.Opcode; op == ib.OpcodeRCAtomicAcknowledge || op == ib.OpcodeRCAcknowledge {
			out = append(out, answer{p.BTH.PSN, p.AtomicAckETH.Original, p.AETH.Syndrome})
		}
	}
	c.conn.packets = nil
	return out
}

// TestAtomicResponder checks what a request for an atomic operation does to the memory, and its
// response.
func TestAtomicResponder(t *testing.T) {
	for _, tt := range []struct {
		name                           string
		op                             ib.Opcode
		before, swapAdd, compare, want uint64
	}{
		{"equal", ib.OpcodeRCCompareSwap, 7, 0x1122334455667788, 7, 0x1122334455667788},
		{"not equal", ib.OpcodeRCCompareSwap, 8, 1, 7, 8},
		{"add", ib.OpcodeRCFetchAdd, 40, 2, 99, 42},
		{"wrap", ib.OpcodeRCFetchAdd, math.MaxUint64, 3, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCounter(t)
			c.set(8, tt.before)
			c.take(c.atomic(tt.op, 100, 8, tt.swapAdd, tt.compare))
			if got := c.value(8); got != tt.want {
				t.Errorf("value = %#x, want %#x", got, tt.want)
			}
			if c.value(0) != 0 || c.value(16) != 0 {
				t.Error("a value beside it has changed")
			}
			if diff := cmp.Diff([]answer{{100, tt.before, ib.SyndromeACK}}, c.answers(t)); diff != "" {
				t.Errorf("responses (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAtomicDuplicate checks that a repeated request gets the first result and isn't executed
// again, and one that is too old gets nothing.
func TestAtomicDuplicate(t *testing.T) {
	c := newCounter(t)
	for i := range 6 { // the peer may have four outstanding
		c.take(c.atomic(ib.OpcodeRCFetchAdd, ib.PSN(100+i), 0, 1, 0))
	}
	c.answers(t)
	for i := range 6 {
		c.take(c.atomic(ib.OpcodeRCFetchAdd, ib.PSN(100+i), 0, 1, 0))
	}
	const ack = ib.SyndromeACK
	want := []answer{{102, 2, ack}, {103, 3, ack}, {104, 4, ack}, {105, 5, ack}}
	if diff := cmp.Diff(want, c.answers(t)); diff != "" {
		t.Errorf("responses to duplicates (-want +got):\n%s", diff)
	}
	if got := c.value(0); got != 6 {
		t.Errorf("value = %d, want 6", got)
	}
	if s := inner(t, c.qp).resp; s.msn != 6 || s.expected != 106 || s.jobCount != 0 || s.replays != 0 {
		t.Errorf("MSN %d, expected PSN %v, %d jobs, %d of them repeated", s.msn, s.expected, s.jobCount, s.replays)
	}
}

// TestAtomicOrder checks that the response to an atomic operation follows that of an earlier READ.
func TestAtomicOrder(t *testing.T) {
	c := newCounter(t)
	c.take(c.readRequest(100, 3000), c.atomic(ib.OpcodeRCFetchAdd, 103, 0, 1, 0))
	var got []ib.Opcode
	for _, data := range c.conn.packets {
		var p ib.Packet
		if _, err := p.Decode(data[:len(data)-4]); err != nil {
			t.Fatal(err)
		}
		if p.BTH.Opcode.Layout()&ib.LayoutResponse != 0 {
			got = append(got, p.BTH.Opcode)
		}
	}
	want := []ib.Opcode{
		ib.OpcodeRCReadResponseFirst, ib.OpcodeRCReadResponseMiddle, ib.OpcodeRCReadResponseLast,
		ib.OpcodeRCAtomicAcknowledge,
	}
	if !slices.Equal(got, want) {
		t.Errorf("responses %v, want %v", got, want)
	}
}

// TestAtomicRefused checks what a peer may not do.
func TestAtomicRefused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(c *counter) []byte
		want   ib.Syndrome
	}{
		{"misaligned", func(c *counter) []byte {
			return c.atomic(ib.OpcodeRCFetchAdd, 100, 4, 1, 0)
		}, ib.SyndromeNAKInvalidRequest},
		{"beyond the end", func(c *counter) []byte {
			return c.atomic(ib.OpcodeRCFetchAdd, 100, 64, 1, 0)
		}, ib.SyndromeNAKRemoteAccess},
		{"before the beginning", func(c *counter) []byte {
			return c.atomic(ib.OpcodeRCCompareSwap, 100, -8, 1, 0)
		}, ib.SyndromeNAKRemoteAccess},
		{"region without access", func(c *counter) []byte {
			c.mr = c.target
			return c.atomic(ib.OpcodeRCFetchAdd, 100, 0, 1, 0)
		}, ib.SyndromeNAKRemoteAccess},
		{"queue pair without access", func(c *counter) []byte {
			inner(t, c.qp).attr.Access &^= provider.AccessRemoteAtomic
			return c.atomic(ib.OpcodeRCFetchAdd, 100, 0, 1, 0)
		}, ib.SyndromeNAKInvalidRequest},
		{"closed region", func(c *counter) []byte {
			p := c.atomic(ib.OpcodeRCFetchAdd, 100, 0, 1, 0)
			_ = c.mr.Close()
			return p
		}, ib.SyndromeNAKRemoteAccess},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCounter(t)
			before := slices.Clone(c.all)
			c.take(tt.change(c))
			if diff := cmp.Diff([]answer{{100, 0, tt.want}}, c.answers(t)); diff != "" {
				t.Errorf("responses (-want +got):\n%s", diff)
			}
			if !slices.Equal(c.all, before) {
				t.Error("memory has changed")
			}
			if got := c.qp.State(); got != provider.QPStateError {
				t.Errorf("state = %v, want ERR", got)
			}
		})
	}
}

// TestAtomicTooMany checks that more outstanding atomic operations than agreed are refused: here
// while the responses wait for those to READs.
func TestAtomicTooMany(t *testing.T) {
	c := newCounter(t)
	r := &inner(t, c.qp).resp
	r.jobCount = r.reads
	if got := inner(t, c.qp).newAtomic(&ib.Packet{}); got != ib.SyndromeNAKInvalidRequest {
		t.Errorf("syndrome of one too many = %v, want an invalid request", got)
	}
	r.jobCount = 0
}

// TestAtomicRequests checks what is refused when it is posted.
func TestAtomicRequests(t *testing.T) {
	v := newVictim(t)
	value := func(length int) []provider.Segment { return []provider.Segment{{Region: v.target, Length: length}} }
	for _, tt := range []struct {
		wr   provider.SendRequest
		want string
	}{
		{provider.SendRequest{Op: provider.SendOpFetchAdd, Segments: value(4)}, "4 bytes of segments"},
		{provider.SendRequest{Op: provider.SendOpCompareSwap, Segments: value(16)}, "16 bytes of segments"},
		{provider.SendRequest{Op: provider.SendOpCompareSwap}, "0 bytes of segments"},
		{provider.SendRequest{Op: provider.SendOpFetchAdd, Data: make([]byte, 8)}, "inline data is not supported"},
		{provider.SendRequest{
			Op: provider.SendOpFetchAdd, Flags: provider.SendInline, Segments: value(8),
		}, "inline data is not supported"},
	} {
		_, err := v.qp.PostSend([]provider.SendRequest{tt.wr})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("PostSend(%v, %+v) = %v, want %q", tt.wr.Op, tt.wr.Segments, err, tt.want)
		}
	}
	inner(t, v.qp).attr.MaxReadAtomic = 0
	_, err := v.qp.PostSend([]provider.SendRequest{{Op: provider.SendOpFetchAdd, Segments: value(8)}})
	if err == nil || !strings.Contains(err.Error(), "MaxReadAtomic is 0") {
		t.Errorf("PostSend without outstanding atomics = %v", err)
	}
}

// TestAtomicsOverLoss checks that each of many additions happens exactly once, and that its result
// is that of no other one, while the network loses, duplicates and reorders packets; compare and
// swap operations between them find the values that they expect.
func TestAtomicsOverLoss(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			f := packetnet.Faults{
				Seed: seed, Loss: 0.03, Duplicate: 0.1, Delay: 20 * time.Microsecond, MaxDrops: maxDrops,
			}
			a, b, _ := lossy(t, f, 1<<12, 32)
			mr, err := b.pd.RegisterMemory(make([]byte, 16), provider.MemoryOptions{
				Access: provider.AccessLocalWrite | provider.AccessRemoteAtomic,
			})
			if err != nil {
				t.Fatal(err)
			}
			b.also = append(b.also, mr)
			const total, batch = 400, 20
			var results []uint64
			for begin := 0; begin < total; begin += batch {
				var wrs []provider.SendRequest
				for i := range batch {
					wr := provider.SendRequest{
						Op: provider.SendOpFetchAdd, RemoteAddr: mr.Addr(), RKey: mr.RKey(), Operand: 3,
						Flags:    provider.SendSignaled,
						Segments: []provider.Segment{{Region: a.mr, Offset: 8 * i, Length: 8}},
					}
					if i%5 == 4 { // counts in the second value
						n := uint64((begin + i) / 5)
						wr.Op, wr.RemoteAddr, wr.Compare, wr.Operand = provider.SendOpCompareSwap, mr.Addr()+8, n, n+1
					}
					wrs = append(wrs, wr)
				}
				if _, err := a.qp.PostSend(wrs); err != nil {
					t.Fatal(err)
				}
				for i, wc := range wait(t, a, batch) {
					if wc.Err() != nil || wc.Bytes != 8 {
						t.Fatalf("completion %d: %+v", i, wc)
					}
					got := binary.NativeEndian.Uint64(a.mr.Bytes()[8*i:])
					if i%5 != 4 {
						results = append(results, got)
					} else if want := uint64((begin + i) / 5); got != want || wc.Op != provider.WCCompareSwap {
						t.Fatalf("compare and swap found %d, want %d", got, want)
					}
				}
			}
			for i, got := range results {
				if got != uint64(3*i) {
					t.Fatalf("result %d = %d, want %d", i, got, 3*i)
				}
			}
			if got := binary.NativeEndian.Uint64(mr.Bytes()); got != uint64(3*len(results)) {
				t.Errorf("sum = %d, want %d", got, 3*len(results))
			}
		})
	}
}
