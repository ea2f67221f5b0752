package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/plan"
)

// small returns a run with a value in every field.
func small() *Run {
	start := time.Date(2026, 11, 26, 14, 0, 0, 0, time.UTC)
	card := []plan.Card{{Rail: 0, Device: "mlx5_0", Gbps: 400}, {Rail: 3, Device: "mlx5_3", Gbps: 400}}
	a, b := plan.End{Node: 0, Rail: 3}, plan.End{Node: 1, Rail: 3}
	l := Latency{Count: 1000, P50: 1.8, P99: 2.5, P999: 4, Max: 9}
	return &Run{
		Schema: Schema, Started: start, Ended: start.Add(time.Minute),
		Scale:      &Scale{Label: "EMULATED", Rate: 100, Time: 0.01},
		Cluster:    plan.Cluster{Nodes: []plan.Node{{Name: "a", Rails: card, Leaf: "l1"}, {Name: "<b>", Rails: card}}},
		LeavesFrom: "lldp", Options: plan.Options{Seed: 7, Budget: time.Minute},
		Stages: []Stage{{Name: plan.StagePairs, Kind: plan.KindBandwidth, Planned: 1, Done: 1, Length: time.Second}},
		Nodes: []Node{
			{
				State: NodeReady, Facts: map[string]string{FactKernel: "6.1"},
				Cards:    []Card{{}, {Failure: &Failure{Step: StepOpen, Code: "port-down", Text: "port is down"}}},
				Findings: []Finding{{Check: "pcie-link", Object: "mlx5_0", Outcome: "warn", Summary: "slow"}},
			},
			{State: NodeLost, Cause: "no answer", LostRound: 1, Cards: []Card{{}, {}}},
		},
		Samples: []Sample{
			{From: a, To: b, Gbps: 388.25, Detail: &Detail{
				Latency: &l, Flows: []float32{1.5, 2}, Counters: []Counter{{AtTo, CounterECN, 3}},
			}},
			{From: b, To: a, Round: 65535, Attempt: 1, Load: true, Detail: &Detail{
				Failure: &Failure{Step: StepData, Code: "timeout", Text: "no completion"},
			}},
		},
		Collectives: []Collective{{
			Algorithm: "ring", Rail: 3, Nodes: 2, AlgBW: 40, BusBW: 40, Slowest: []Slowest{{a, 2}},
		}},
		Barriers: []Barrier{{Rail: 3, Latency: l}},
	}
}

func document(t testing.TB, r *Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestReadWrite reads what Write wrote, and what json.Marshal writes.
func TestReadWrite(t *testing.T) {
	empty := &Run{Schema: Schema}
	for _, want := range []*Run{small(), empty} {
		plain, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range []string{document(t, want), string(plain)} {
			got, err := Read(strings.NewReader(doc))
			if err != nil {
				t.Fatalf("Read: %v\n%s", err, doc)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Read(Write(run)) (-want +got):\n%s", diff)
			}
		}
	}
}

// TestReadErrors changes a good document and expects an error that names the place.
func TestReadErrors(t *testing.T) {
	good := document(t, small())
	sample := strings.Index(good, `{"s":0,"i":0`)
	for _, c := range []struct{ old, replacement, want string }{
		{Schema, "rdmakit.cluster-run/v2", `not a run of schema rdmakit.cluster-run/v1: "rdmakit.cluster-run/v2"`},
		{"{\n", "[\n", "[ where { is expected"},
		{good[len(good)-3:], "", "the document ends after byte"},
		{"]\n}\n", "]\n} {}", "more data after the document"},
		{`"samples": [`, `"samples": 4, "x": [`, "samples: after byte"},
		{`"samples": [`, `"nodes": [], "samples": [`, "nodes: duplicate field at byte"},
		{`"i":65535`, `"i":65536`, "samples: element 1: after byte"},
		{`"f":{"n":0,"r":3}`, `"f":{"n":2,"r":3}`, "sample 0: node 2 of 2"},
		{`"t":{"n":1,"r":3}`, `"t":{"n":-1,"r":3}`, "sample 0: node -1 of 2"},
		{`"t":{"n":1,"r":3}`, `"t":{"n":1,"r":1}`, "sample 0: node <b> has no card of rail 1"},
		{good[sample : sample+6], `{"s":1`, "sample 0: stage 1 of 1"},
		{`"g":388.25`, `"g":-1`, "sample 0: a rate of -1 Gb/s"},
		{`"g":388.25`, `"g":1e39`, "samples: element 0: after byte"},
		{`"end":{"n":0`, `"end":{"n":9`, "collective 0: node 9 of 2"},
		{`"state":"lost"`, `"state":"lost","lostStage":1`, "node <b>: lost in round 1 of stage 1 of 1"},
		{`"state":"ready"`, `"state":"asleep"`, `node a: no state "asleep"`},
		{`"cards":[{},{}]`, `"cards":[{}]`, "node <b>: 1 cards reported of 2"},
		{`"rate":100`, `"rate":0`, "a scale of 0 for rates"},
	} {
		doc := strings.Replace(good, c.old, c.replacement, 1)
		if c.old == `"state":"lost"` || c.old == `"cards":[{},{}]` {
			doc = strings.Replace(good, `\u003cb\u003e`, "<b>", 1)
			doc = strings.Replace(doc, c.old, c.replacement, 1)
		}
		if doc == good {
			t.Fatalf("%s is not in the document", c.old)
		}
		if _, err := Read(strings.NewReader(doc)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Read with %s instead of %s: error %v, want %q", c.replacement, c.old, err, c.want)
		}
	}
	if _, err := Read(strings.NewReader(`{"schema":"x"}`)); !errors.Is(err, ErrSchema) {
		t.Errorf("Read of another schema: %v, want ErrSchema", err)
	}
	if _, err := Read(strings.NewReader("")); err == nil {
		t.Error("Read of an empty document succeeds")
	}
}

// TestReadBounds reads an element without an end: it must be rejected before it is in memory.
func TestReadBounds(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`{"schema":"`+Schema+`","cluster":{"nodes":[{"name":"`), repeat('x'))
	counted := &countingReader{r: endless}
	if _, err := Read(counted); !errors.Is(err, errLong) {
		t.Errorf("Read of an endless name: %v, want %v", err, errLong)
	}
	if counted.n > maxElement+1024 {
		t.Errorf("%d bytes were read", counted.n)
	}
	many := `{"schema":"` + Schema + `","barriers":[` + strings.Repeat("{},", maxList) + "{}]}"
	_, err := Read(strings.NewReader(many))
	if err == nil || !strings.Contains(err.Error(), "more than 131072 elements") {
		t.Errorf("Read of %d barriers: %v", maxList+1, err)
	}
}

type repeat byte

func (r repeat) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r)
	}
	return len(b), nil
}

type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}

// TestWriteErrors writes what JSON can't hold, and to a full disk.
func TestWriteErrors(t *testing.T) {
	bad := small()
	bad.Samples[1].Gbps = float32(math.NaN())
	if err := bad.Write(io.Discard); err == nil || !strings.Contains(err.Error(), "samples, element 1") {
		t.Errorf("Write with NaN: %v, want the element", err)
	}
	full := errors.New("no space left on device")
	if err := small().Write(errWriter{full}); !errors.Is(err, full) {
		t.Errorf("Write to a full disk: %v", err)
	}
}

type errWriter struct{ err error }

func (w errWriter) Write([]byte) (int, error) { return 0, w.err }

// FuzzRead reads any document: what is accepted has valid indices, and is the same after writing it
// and reading it again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(document(f, small())))
	f.Add([]byte(`{"schema":"` + Schema + `","samples":[{"s":0}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		run, err := Read(bytes.NewReader(doc))
		if err != nil {
			return
		}
		for _, s := range run.Samples {
			_ = run.Stages[s.Stage]
			_, _ = run.Nodes[s.From.Node], run.Cluster.Nodes[s.To.Node]
		}
		first := document(t, run)
		again, err := Read(strings.NewReader(first))
		if err != nil {
			t.Fatalf("Read(Write(run)): %v", err)
		}
		if second := document(t, again); second != first {
			t.Errorf("Write after Read differs (-first +second):\n%s", cmp.Diff(first, second))
		}
	})
}
