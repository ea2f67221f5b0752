package bench

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/verbs"
)

// Test is what is measured.
type Test uint8

// The tests. The bandwidth tests measure at the client; send_bw at both ends.
const (
	WriteBW Test = iota
	ReadBW
	SendBW
	WriteLat
	ReadLat
	SendLat
)

// names are perftest's without "ib_".
var names = [...]string{"write_bw", "read_bw", "send_bw", "write_lat", "read_lat", "send_lat"}

// String returns perftest's name without its ib_: write_bw.
func (t Test) String() string {
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("test %d", uint8(t))
}

// ParseTest reads the form of [Test.String].
func ParseTest(s string) (Test, error) {
	if i := slices.Index(names[:], s); i >= 0 {
		return Test(i), nil
	}
	return 0, fmt.Errorf("parse test %q: not one of %v", s, names)
}

// Tests returns all tests.
func Tests() []Test { return []Test{WriteBW, ReadBW, SendBW, WriteLat, ReadLat, SendLat} }

// IsLatency tells a latency test from one of bandwidth.
func (t Test) IsLatency() bool { return t >= WriteLat }

// Op returns the operation.
func (t Test) Op() verbs.SendOp {
	switch t {
	case ReadBW, ReadLat:
		return verbs.SendOpRead
	case SendBW, SendLat:
		return verbs.SendOpSend
	case WriteBW, WriteLat:
	}
	return verbs.SendOpWrite
}

// OpName returns the operation in words: "RDMA WRITE".
func (t Test) OpName() string {
	switch t.Op() {
	case verbs.SendOpRead:
		return "RDMA READ"
	case verbs.SendOpSend:
		return "SEND"
	}
	return "RDMA WRITE"
}

// Title returns what perftest calls the test in its heading.
func (t Test) Title() string {
	kind := "BW"
	if t.IsLatency() {
		kind = "Latency"
	}
	switch t.Op() {
	case verbs.SendOpSend:
		return "Send " + kind
	case verbs.SendOpRead:
		return "RDMA_Read " + kind
	}
	return "RDMA_Write " + kind
}

// Defaults returns what perftest measures with where nothing is said: size, number and
// depths of the test; Margin, MTU and Timeout stay zero.
func (t Test) Defaults() Config {
	c := Config{
		Test: t, Size: 64 << 10, Iterations: 1000, QueuePairs: 1, TxDepth: 128, RxDepth: 512, PostList: 1, Port: 1,
		CQModeration: 100,
	}
	switch {
	case t.IsLatency():
		c.Size, c.TxDepth = 2, 1
	case t == WriteBW:
		c.Iterations = 5000
	}
	return c
}

// exchanges is how many one-way trips a measured interval of a latency test has: a
// READ is done when its answer is there, SEND and WRITE bounce.
func (t Test) exchanges() int {
	if t.Op() == verbs.SendOpRead {
		return 1
	}
	return 2
}
