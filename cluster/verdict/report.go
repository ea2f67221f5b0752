package verdict

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/plan"
)

// Schema is the version of the JSON form of a [Report].
const Schema = "rdmakit.cluster-verdicts/v1"

// Report is what a run shows about its cluster.
type Report struct {
	Schema string `json:"schema"`
	// Label is that of the run's scale: EMULATED or SOFTWARE, "" for hardware.
	Label string `json:"label,omitempty"`
	// Verdicts are sorted by what they cost a job and how certain they are, the worst first.
	Verdicts []Verdict `json:"verdicts"`
	// NotJudged is what the run doesn't show. A cluster without verdicts is healthy only so far.
	NotJudged []Gap  `json:"notJudged"`
	Rails     []Rail `json:"rails"`
	Impact    Impact `json:"impact"` // of all verdicts together
}

// Gap is something that could not be judged.
type Gap struct {
	What string `json:"what"` // such as "loss" or "gpu-007"
	Why  string `json:"why"`
}

// Rail has the figures of a rail: rates of pairs in Gb/s, idle latencies in µs. All are 0 if
// nothing was measured.
type Rail struct {
	Rail    int     `json:"rail"`
	Cards   int     `json:"cards"`
	Samples int     `json:"samples"`
	Failed  int     `json:"failed"`
	Min     float64 `json:"minGbps"`
	Median  float64 `json:"medianGbps"`
	Max     float64 `json:"maxGbps"`
	P50     float64 `json:"p50Micros"` // median over the samples
	P99     float64 `json:"p99Micros"` // median over the samples
	// BusBW is the best that an all-reduce over the nodes of the rail has reached, in GB/s.
	BusBW float64 `json:"busbw,omitempty"`
}

// Verdict names a fault.
type Verdict struct {
	Cause Cause `json:"cause"`
	Where Where `json:"where"`
	// Severity is the share of the capacity of its place that is lost, 0 to 1. Words describes it
	// with figures.
	Severity float64 `json:"severity"`
	Words    string  `json:"words"`
	// Confidence is how likely the verdict is true, 0 to 1: of many verdicts with 0.9, nine in ten.
	Confidence float64    `json:"confidence"`
	Evidence   []Evidence `json:"evidence"`
	Impact     Impact     `json:"impact"`
	Next       string     `json:"next"`    // the next physical step
	TakeOut    []string   `json:"takeOut"` // commands and settings that keep jobs away from the place

	p     float64 // of the test that accused, 0 for what was not a test
	sends bool    // of an uplink: only what the leaf sends suffers
}

// Scope is the kind of a place.
type Scope string

// The scopes.
const (
	ScopeCard   Scope = "card"   // the card, its cable, or its port of the leaf switch
	ScopeNode   Scope = "node"   // all cards of a node, or the node itself
	ScopeLeaf   Scope = "leaf"   // the uplinks of a leaf switch
	ScopeFabric Scope = "fabric" // all leaves
)

// Where is the place of a fault. Fields that don't apply are empty.
type Where struct {
	Scope     Scope      `json:"scope"`
	Nodes     []string   `json:"nodes,omitempty"`
	Ends      []plan.End `json:"ends,omitempty"`
	Devices   []string   `json:"devices,omitempty"`   // by Ends: mlx5_0:1
	Direction Direction  `json:"direction,omitempty"` // seen from the card
	// Or are the other places that the measurements don't exclude: the far end of a pair that has
	// met nobody else.
	Or     []plan.End `json:"or,omitempty"`
	Leaf   string     `json:"leaf,omitempty"`
	Rails  []int      `json:"rails,omitempty"`  // of a leaf: those that suffer; of a node: those without a card
	Uplink string     `json:"uplink,omitempty"` // about 1 of 8
	Name   string     `json:"name"`             // the place for people
}

// Direction is a direction of traffic.
type Direction string

// The directions.
const (
	Sends    Direction = "send"
	Receives Direction = "receive"
)

// String returns the place for people.
func (w Where) String() string { return w.Name }

// Evidence is a reason for a verdict.
type Evidence struct {
	Text string `json:"text"`
	// Samples are indices of result.Run.Samples, the most telling first, at most eight.
	Samples []int `json:"samples,omitempty"`
}

// Impact is what a fault does to a job: the bus bandwidth, in GB/s for each rail, that an
// all-reduce is expected to reach with it and without it. The model is that of a ring: every link
// carries the same bytes, so it is as slow as its slowest link (nccl-tests, PERFORMANCE.md). Both
// are 0 if unknown; With is 0 for what stops a job.
type Impact struct {
	With    float64 `json:"with"`
	Without float64 `json:"without"`
	Model   string  `json:"model"`
}

const ringModel = "a ring is as slow as its slowest link"

// describe fills in names.
func (v *view) describe(w *Where) {
	w.Devices = nil
	for _, e := range w.Ends {
		if c := v.find(e); c >= 0 {
			w.Devices = append(w.Devices, v.cards[c].device)
		}
	}
	if len(w.Nodes) == 0 {
		for _, e := range w.Ends {
			if name := v.nodeName(e.Node); len(w.Nodes) == 0 || w.Nodes[len(w.Nodes)-1] != name {
				w.Nodes = append(w.Nodes, name)
			}
		}
	}
	w.Name = v.placeName(w)
}

// listed is how many places a name spells out.
const listed = 6

func (v *view) placeName(w *Where) string {
	switch w.Scope {
	case ScopeFabric:
		return "the fabric"
	case ScopeLeaf:
		name := "leaf " + w.Leaf
		if len(w.Rails) > 0 && len(w.Rails) < len(v.rails) {
			name += " rail " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(w.Rails)), ", "), "[]")
		}
		if w.Uplink != "" {
			name += ", " + w.Uplink
		}
		return name
	case ScopeNode:
		if len(w.Nodes) > listed {
			return fmt.Sprintf("%s and %d other nodes", w.Nodes[0], len(w.Nodes)-1)
		}
		return strings.Join(w.Nodes, ", ")
	}
	if len(w.Ends) > listed {
		return fmt.Sprintf("%s and %d other cards", v.run.Name(w.Ends[0]), len(w.Ends)-1)
	}
	var parts []string
	for i, e := range w.Ends {
		if i > 0 && e.Node == w.Ends[i-1].Node {
			if c := v.find(e); c >= 0 {
				parts = append(parts, v.cards[c].device)
				continue
			}
		}
		parts = append(parts, v.run.Name(e))
	}
	name := strings.Join(parts, ", ")
	if w.Direction != "" {
		name += " (what it " + string(w.Direction) + "s)"
	}
	if len(w.Or) == 0 {
		return name
	}
	parts = []string{name}
	for _, e := range w.Or {
		parts = append(parts, v.run.Name(e))
	}
	return strings.Join(append(parts, "the cable between"), " or ")
}

// gap notes what could not be judged, once.
func (v *view) gap(what, format string, args ...any) {
	g := Gap{What: what, Why: fmt.Sprintf(format, args...)}
	if !v.gapSeen[g] {
		v.gapSeen[g] = true
		v.gaps = append(v.gaps, g)
	}
}

// cite adds the index of a sample to references, of which eight are kept.
func cite(refs []int, i int) []int {
	if len(refs) < 8 {
		refs = append(refs, i)
	}
	return refs
}
