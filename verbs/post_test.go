package verbs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// TestLiteralsStayOnTheStack checks that posting requests in the form that the documentation shows
// allocates nothing.
func TestLiteralsStayOnTheStack(t *testing.T) {
	qp := &QueuePair{impl: &discardQP{}}
	mr := &MemoryRegion{impl: &regionStub{}}
	ah := &AddressHandle{impl: &handle{}}
	post := map[string]func(){
		"send": func() {
			_, _ = qp.PostSend(SendRequest{
				ID: 1, Op: SendOpWrite, Flags: SendSignaled, Segments: []Segment{mr.Segment(0, 8), mr.Segment(8, 8)},
			})
		},
		"datagram": func() {
			_, _ = qp.PostSend(SendRequest{ID: 1, Op: SendOpSend, Data: []byte{1, 2, 3}, To: ah.To(1, 2)})
		},
		"inline": func() {
			_, _ = qp.PostSend(SendRequest{ID: 1, Op: SendOpSend, Data: []byte{1, 2, 3}})
		},
		"receive": func() {
			_, _ = qp.PostReceive(ReceiveRequest{ID: 1, Segments: []Segment{mr.Segment(0, 8)}})
		},
	}
	for name, f := range post {
		t.Run(name, func(t *testing.T) {
			if got := testing.AllocsPerRun(100, f); got != 0 {
				t.Errorf("%v allocations, want 0", got)
			}
		})
	}
}

// TestPostedSegments checks that each request keeps its own segments.
func TestPostedSegments(t *testing.T) {
	impl := &discardQP{}
	qp := &QueuePair{impl: impl}
	mr := &MemoryRegion{impl: &regionStub{}}
	for range 2 { // the second call reuses the memory of the first
		impl.lengths = nil
		if _, err := qp.PostSend(
			SendRequest{Segments: []Segment{mr.Segment(0, 1), mr.Segment(0, 2)}}, SendRequest{},
			SendRequest{Segments: []Segment{mr.Segment(0, 3)}},
		); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]int{{1, 2}, nil, {3}}, impl.lengths); diff != "" {
			t.Errorf("lengths of segments differ (-want +got):\n%s", diff)
		}
	}
}

// discardQP is a queue pair that executes nothing.
type discardQP struct {
	provider.QueuePair
	lengths [][]int // of segments, if there are several requests
}

func (q *discardQP) PostSend(wrs []SendRequest) (int, error) {
	for i := range wrs {
		if len(wrs) == 1 {
			break
		}
		var lengths []int
		for _, s := range wrs[i].Segments {
			lengths = append(lengths, s.Length)
		}
		q.lengths = append(q.lengths, lengths)
	}
	return len(wrs), nil
}

func (q *discardQP) PostReceive(wrs []ReceiveRequest) (int, error) { return len(wrs), nil }

type regionStub struct{ provider.MemoryRegion }
