package bench

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/verbs"
)

// Test is a test of perftest.
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

// names are the names of perftest's programs without "ib_".
var names = [...]string{"write_bw", "read_bw", "send_bw", "write_lat", "read_lat", "send_lat"}

// String returns the name of perftest's program without "ib_": write_bw.
func (t Test) String() string {
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("test %d", uint8(t))
}

// ParseTest parses the form of [Test.String].
func ParseTest(s string) (Test, error) {
	if i := slices.Index(names[:], s); i >= 0 {
		return Test(i), nil
	}
	return 0, fmt.Errorf("parse test %q: not one of %v", s, names)
}

// Tests returns all tests.
func Tests() []Test { return []Test{WriteBW, ReadBW, SendBW, WriteLat, ReadLat, SendLat} }

// IsLatency reports whether the test measures latency; the others measure bandwidth.
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

// OpName returns the name of the operation: "RDMA WRITE".
func (t Test) OpName() string {
	switch t.Op() {
	case verbs.SendOpRead:
		return "RDMA READ"
	case verbs.SendOpSend:
		return "SEND"
	}
	return "RDMA WRITE"
}

// Title returns the title of the test in perftest's heading.
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

// Defaults returns perftest's defaults for the test: size, number of iterations and queue depths;
// Margin, MTU and Timeout stay zero.
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

// exchanges is the number of one-way transfers in a measured interval of a latency test: one for
// READ, which completes with its response; two for SEND and WRITE, which go back and forth.
func (t Test) exchanges() int {
	if t.Op() == verbs.SendOpRead {
		return 1
	}
	return 2
}
