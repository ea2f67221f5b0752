//go:build linux

package lab

import (
	"slices"
	"testing"
	"time"
)

// roceFrame is a frame of IPv4 to a UDP port, with a number.
func roceFrame(port int, number byte) []byte {
	b := make([]byte, virtioHeader+etherHeader+20+8+1)
	b[virtioHeader+12] = 0x08
	ip := b[virtioHeader+etherHeader:]
	ip[0], ip[9] = 0x45, 17
	ip[22], ip[23] = byte(port>>8), byte(port)
	ip[28] = number
	return b
}

// TestDelayQueue checks when frames leave a queue, and in which order.
func TestDelayQueue(t *testing.T) {
	const ms = time.Millisecond
	begin := time.Unix(0, 0)
	for _, tt := range []struct {
		name  string
		f     Forwarding
		ports []int          // of frames that arrive a millisecond after each other
		want  map[int][]byte // numbers of those that leave by the millisecond
	}{
		{"at once", Forwarding{}, []int{4791, 4791}, map[int][]byte{0: {0}, 1: {1}}},
		{"delay", Forwarding{Delay: 5 * ms}, []int{4791, 22, 4791}, map[int][]byte{1: {1}, 5: {0}, 7: {2}}},
		{"all late", Forwarding{Reorder: 1, Late: 3 * ms}, []int{4791, 4791}, map[int][]byte{3: {0}, 4: {1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := newDelayQueue(tt.f, 1)
			got := map[int][]byte{}
			for at := range 20 {
				now := begin.Add(time.Duration(at) * ms)
				if at < len(tt.ports) {
					q.add(roceFrame(tt.ports[at], byte(at)), now)
				}
				for data, _ := q.due(now); data != nil; data, _ = q.due(now) {
					got[at] = append(got[at], data[len(data)-1])
				}
			}
			for at := range 20 {
				if !slices.Equal(got[at], tt.want[at]) {
					t.Errorf("at %d ms: %v left, want %v", at, got[at], tt.want[at])
				}
			}
		})
	}
}

// TestDelayQueueOrder checks that jitter keeps the order, and that reordering lets a share be
// overtaken.
func TestDelayQueueOrder(t *testing.T) {
	const ms = time.Millisecond
	order := func(f Forwarding) []byte {
		q := newDelayQueue(f, 7)
		begin := time.Unix(0, 0)
		for i := range 200 {
			q.add(roceFrame(rocePort, byte(i)), begin.Add(time.Duration(i)*ms/10))
		}
		var out []byte
		for data, _ := q.due(begin.Add(time.Hour)); data != nil; data, _ = q.due(begin.Add(time.Hour)) {
			out = append(out, data[len(data)-1])
		}
		return out
	}
	if got := order(Forwarding{Jitter: 10 * ms}); len(got) != 200 || !slices.IsSorted(got) {
		t.Errorf("with jitter, packets left as %v", got)
	}
	got := order(Forwarding{Reorder: 0.1, Late: 3 * ms})
	overtaken := 0
	for i := range got {
		if slices.Max(got[:i+1]) > got[i] {
			overtaken++
		}
	}
	if len(got) != 200 || overtaken < 8 || overtaken > 40 {
		t.Errorf("%d of %d packets were overtaken, want about 20", overtaken, len(got))
	}
}

// TestIsRoCE checks which frames are RoCE's.
func TestIsRoCE(t *testing.T) {
	good := roceFrame(rocePort, 0)
	if !isRoCE(good) {
		t.Error("a RoCE frame is none")
	}
	for _, edit := range []func(b []byte) []byte{
		func(b []byte) []byte { return b[:len(b)-2] },
		func(b []byte) []byte { b[virtioHeader+12] = 0x86; return b },
		func(b []byte) []byte { b[virtioHeader+13] = 6; return b },
		func(b []byte) []byte { b[virtioHeader+etherHeader+9] = 6; return b },
		func(b []byte) []byte { b[virtioHeader+etherHeader] = 0x4f; return b },
		func([]byte) []byte { return roceFrame(22, 0) },
	} {
		if b := edit(slices.Clone(good)); isRoCE(b) {
			t.Errorf("% x is RoCE", b)
		}
	}
}
