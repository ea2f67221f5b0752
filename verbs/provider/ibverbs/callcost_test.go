//go:build linux && (amd64 || arm64) && !nodl

package ibverbs

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/testkit/race"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

const (
	costBatch   = 16   // calls between two readings of the clock
	costDepth   = 64   // of the queues
	costBatches = 5000 // of each kind of call in a round
)

// costRig has a queue pair of the stand-in library, whose requests complete at once.
type costRig struct {
	tb       testing.TB
	cq       *verbs.CompletionQueue
	qp       *verbs.QueuePair
	sends    []verbs.SendRequest
	receives []verbs.ReceiveRequest
	wcs      []verbs.WorkCompletion
}

// costCall is a kind of call that is measured: calls times call, between before and after.
type costCall struct {
	name                string
	before, call, after func()
	calls               int
}

func newCostRig(tb testing.TB, library string) *costRig {
	tb.Helper()
	check := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	device, err := verbs.Open(tb.Context(), "good0", Provider{Library: library, chars: tb.TempDir()})
	check(err)
	pd, err := device.AllocatePD()
	check(err)
	mr, err := pd.RegisterMemory(make([]byte, 64), verbs.MemoryOptions{Access: verbs.AccessLocalWrite})
	check(err)
	cq, err := device.CreateCQ(verbs.CQConfig{Depth: costDepth})
	check(err)
	qp, err := pd.CreateQP(verbs.QPConfig{
		Type: verbs.QPTypeRC, SendCQ: cq, RecvCQ: cq,
		Capacity: verbs.QPCapacity{MaxSendWR: costDepth, MaxRecvWR: costDepth},
	})
	check(err)
	tb.Cleanup(func() {
		for _, c := range []interface{ Close() error }{qp, cq, mr, pd, device} {
			check(c.Close())
		}
	})
	for _, to := range []verbs.QPState{verbs.QPStateInit, verbs.QPStateRTR, verbs.QPStateRTS} {
		check(qp.Modify(attributesTo(provider.QPTypeRC, to)))
	}
	segments := []verbs.Segment{mr.Segment(0, 64)}
	return &costRig{
		tb: tb, cq: cq, qp: qp,
		sends:    []verbs.SendRequest{{Op: verbs.SendOpWrite, Flags: verbs.SendSignaled, Segments: segments}},
		receives: []verbs.ReceiveRequest{{Segments: segments}},
		wcs:      make([]verbs.WorkCompletion, costBatch),
	}
}

func (r *costRig) postSend() {
	if n, err := r.qp.PostSend(r.sends...); n != 1 || err != nil {
		r.tb.Fatalf("PostSend = %d, %v", n, err)
	}
}

func (r *costRig) postReceive() {
	if n, err := r.qp.PostReceive(r.receives...); n != 1 || err != nil {
		r.tb.Fatalf("PostReceive = %d, %v", n, err)
	}
}

func (r *costRig) poll(room, want int) {
	if n, err := r.cq.Poll(r.wcs[:room]); n != want || err != nil {
		r.tb.Fatalf("Poll = %d, %v, want %d", n, err, want)
	}
}

// calls are those of testdata/callcost.c, under the same names.
func (r *costRig) calls() []costCall {
	none := func() {}
	pollAll := func() { r.poll(costBatch, costBatch) }
	post4 := func() {
		for range costDepth / costBatch {
			r.postSend()
		}
	}
	return []costCall{
		{"post send", none, r.postSend, pollAll, costBatch},
		{"post receive", none, r.postReceive, pollAll, costBatch},
		{"poll, empty", none, func() { r.poll(costBatch, 0) }, none, costBatch},
		{"poll, 1 completion", r.postSend, func() { r.poll(1, 1) }, none, costBatch},
		{"poll, 16 completions", post4, pollAll, none, costDepth / costBatch},
	}
}

// time returns the median time in ns between two readings of the clock.
func (c *costCall) time() float64 {
	start := time.Now()
	times := make([]time.Duration, costBatches)
	for i := range times {
		for range costBatch {
			c.before()
		}
		from := time.Since(start)
		for range c.calls {
			c.call()
		}
		times[i] = time.Since(start) - from
		c.after()
	}
	slices.Sort(times)
	return float64(times[len(times)/2])
}

// costsInC returns what the C program measures, in ns by kind of call.
func costsInC(tb testing.TB, program string) map[string]float64 {
	tb.Helper()
	out, err := exec.CommandContext(tb.Context(), program, strconv.Itoa(costBatches)).CombinedOutput()
	if err != nil {
		tb.Fatalf("%s: %v\n%s", program, err, out)
	}
	costs := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if costs[name], err = strconv.ParseFloat(text, 64); err != nil {
			tb.Fatalf("%s: line %q: %v", program, line, err)
		}
	}
	return costs
}

// BenchmarkCallCosts measures calls of verbs against those of a C program with the same library. An
// iteration is a round of both; the result is the median of all rounds.
func BenchmarkCallCosts(b *testing.B) {
	library := fake(b, "-DDATAPATH")
	program := filepath.Join(b.TempDir(), "callcost")
	compile(b, "-O2", "-o", program, "testdata/callcost.c", library)
	r := newCostRig(b, library)
	clock := costCall{before: func() {}, call: func() {}, after: func() {}, calls: 1}
	inC, inGo := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		for name, ns := range costsInC(b, program) {
			inC[name] = append(inC[name], ns)
		}
		read := clock.time()
		for _, c := range r.calls() {
			inGo[c.name] = append(inGo[c.name], (c.time()-read)/float64(c.calls))
		}
	}
	median := func(v []float64) float64 {
		slices.Sort(v)
		return v[len(v)/2]
	}
	var table strings.Builder
	for _, c := range r.calls() {
		if len(inC[c.name]) != len(inGo[c.name]) {
			b.Fatalf("%s: %d rounds in C, %d in Go", c.name, len(inC[c.name]), len(inGo[c.name]))
		}
		cNS, goNS := median(inC[c.name]), median(inGo[c.name])
		fmt.Fprintf(&table, "\n| %s | %.0f ns | %.0f ns | %+.0f ns |", c.name, cNS, goNS, goNS-cNS)
	}
	b.Logf("medians of %d rounds: call, C, verbs, difference%s", b.N, &table)
}

// TestCallsDontAllocate checks the calls that BenchmarkCallCosts measures.
func TestCallsDontAllocate(t *testing.T) {
	r := newCostRig(t, fake(t, "-DDATAPATH"))
	for _, c := range r.calls() {
		n := testing.AllocsPerRun(100, func() {
			for range costBatch {
				c.before()
			}
			for range c.calls {
				c.call()
			}
			c.after()
		})
		if n != 0 && !race.Enabled {
			t.Errorf("%s: %v allocations in %d calls, want 0", c.name, n, c.calls)
		}
	}
}
