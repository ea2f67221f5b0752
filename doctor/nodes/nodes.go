// Package nodes judges several nodes: each by the checks of a node, and all of them by comparison.
//
//	report, err := nodes.Run(ctx, checks.All(), []nodes.Node{{Source: "a.tar.gz", Snapshot: &a}, …}, opts)
//
// The comparison is that of package consensus, which has the rails, rates, MTUs and addresses. This
// package adds what a snapshot or the facts of a node tell beside them ([Comparisons]): versions,
// settings of flow control, cables.
package nodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// Schema is the version of the JSON form of a [Report]. A field may be added within a version; one
// that is removed or changes its meaning makes a new one.
const Schema = "rdmakit.doctor-nodes/v1"

// Node is the input of one node.
type Node struct {
	Source   string // where it comes from, for messages
	Snapshot *inventory.Snapshot
	Facts    *facts.Facts // nil for none
	// Recording is what the node was read from, for its report; nil for a running node.
	Recording *doctor.Recording
}

// Options are the options of a run.
type Options struct {
	Node       doctor.Options    // of the checks of each node
	Comparison consensus.Options // Values is set by Run
}

// Report is the result of [Run].
type Report struct {
	Schema string `json:"schema"` // name and version of this form
	// Verdict is the worst outcome of all nodes and of the comparison: a difference that breaks
	// jobs is a failure, one that slows them a warning.
	Verdict doctor.Outcome `json:"verdict"`
	// Nodes has the report of each node, in the order of the input.
	Nodes []NodeReport `json:"nodes"`
	// Comparison has the differences between the nodes.
	Comparison consensus.Report `json:"comparison"`
	// NotCompared is what no two nodes have, so that it could not be compared: IDs of
	// [Comparisons].
	NotCompared []string `json:"notCompared,omitempty"`
	// Unmatched holds the suppressions whose object no node has: their names are misspelt, or the
	// objects are of nodes that are not among these.
	Unmatched []doctor.Suppression `json:"unmatchedSuppressions,omitempty"`
	// Without lists the nodes for which something is not known that others have, so that they were
	// not compared in it.
	Without []Without `json:"without,omitempty"`
}

// Without is a comparison in which some nodes have no part.
type Without struct {
	Comparison string   `json:"comparison"` // ID of a [Comparison]
	Nodes      []string `json:"nodes"`      // their sources
}

// NodeReport is the report of a node, with its source.
type NodeReport struct {
	Source string        `json:"source"` // where the node comes from
	Report doctor.Report `json:"report"` // of its own checks
}

// ErrTooFew is the error of [Run] for fewer than two nodes.
var ErrTooFew = errors.New("a comparison needs at least two nodes")

// Run runs the checks on each node and compares the nodes. Errors are those of [doctor.Run], of
// [consensus.Options.Check], and [ErrTooFew].
func Run(ctx context.Context, checks []doctor.Check, list []Node, opts Options) (Report, error) {
	if len(list) < 2 {
		return Report{}, ErrTooFew
	}
	opts.Comparison.Values = consensusChecks()
	opts.Node.SharedSuppressions = true
	if err := opts.Comparison.Check(); err != nil {
		return Report{}, fmt.Errorf("compare nodes: %w", err)
	}
	r := Report{Schema: Schema, Verdict: doctor.OutcomeNotApplicable}
	digests := make([]*consensus.Node, 0, len(list))
	have := map[string][]string{} // sources of the nodes that have values, by comparison
	rates := ratesOf(list)
	for i, n := range list {
		opts.Node.Recording = n.Recording
		own, err := doctor.Run(ctx, checks, doctor.Input{Snapshot: n.Snapshot, Facts: n.Facts}, opts.Node)
		if err != nil {
			return Report{}, fmt.Errorf("check %s: %w", n.Source, err)
		}
		r.Nodes = append(r.Nodes, NodeReport{n.Source, own})
		r.Verdict = r.Verdict.Worse(own.Verdict)
		digest, err := consensus.NewNode(n.Source, *n.Snapshot, opts.Comparison)
		if err != nil {
			return Report{}, err
		}
		values := valuesOf(n)
		maps.Copy(values, rates[i])
		for id, values := range values {
			digest.Add(values...)
			have[id] = append(have[id], n.Source)
		}
		digests = append(digests, digest)
	}
	r.Comparison = consensus.Compare(digests, opts.Comparison)
	for _, c := range Comparisons() {
		switch missing := without(list, have[c.ID]); {
		case len(have[c.ID]) < 2:
			r.NotCompared = append(r.NotCompared, c.ID)
		case len(missing) > 0:
			r.Without = append(r.Without, Without{c.ID, missing})
		}
	}
	for _, s := range opts.Node.Suppressions {
		if !slices.ContainsFunc(r.Nodes, func(n NodeReport) bool { return n.Report.HasObjectOf(s) }) {
			r.Unmatched = append(r.Unmatched, s)
		}
	}
	r.Verdict = r.Verdict.Worse(outcome(r.Comparison))
	return r, nil
}

// without returns the sources of the nodes with RDMA devices that are not in the list.
func without(list []Node, have []string) []string {
	var missing []string
	for _, n := range list {
		if len(n.Snapshot.Devices) > 0 && !slices.Contains(have, n.Source) {
			missing = append(missing, n.Source)
		}
	}
	return missing
}

// outcome returns a comparison's verdict in the terms of doctor.
func outcome(r consensus.Report) doctor.Outcome {
	if r.Verdict == consensus.VerdictNone {
		return doctor.OutcomeNotApplicable
	}
	worst := doctor.OutcomePass
	for _, d := range r.Differences {
		switch d.Severity {
		case consensus.SeverityBreaks:
			return doctor.OutcomeFail
		case consensus.SeveritySlows:
			worst = doctor.OutcomeWarn
		}
	}
	return worst
}

// valuesOf returns the values of a node by the ID of their comparison; those that are not known are
// left out.
func valuesOf(n Node) map[string][]consensus.Value {
	if n.Facts == nil {
		n.Facts = facts.New(nil)
	}
	out := map[string][]consensus.Value{}
	for _, c := range Comparisons() {
		if c.values == nil {
			continue
		}
		for _, v := range c.values(n) {
			if v.Value != "" {
				v.Check = c.ID
				out[c.ID] = append(out[c.ID], v)
			}
		}
	}
	return out
}

// ratesOf returns the values of the comparisons of rates, of each node.
func ratesOf(list []Node) []map[string][]consensus.Value {
	out := make([]map[string][]consensus.Value, len(list))
	for i := range out {
		out[i] = map[string][]consensus.Value{}
	}
	for _, c := range Comparisons() {
		if c.rates == nil {
			continue
		}
		for i, values := range c.compareRates(list) {
			for _, v := range values {
				v.Check = c.ID
				out[i][c.ID] = append(out[i][c.ID], v)
			}
		}
	}
	return out
}

func consensusChecks() []consensus.Check {
	var list []consensus.Check
	for _, c := range Comparisons() {
		list = append(list, c.Check)
	}
	return list
}

// Numbers returns the numbers of the catalogue that the comparison covers, sorted: those of
// [Comparisons], and those of package consensus.
func Numbers() []int {
	return slices.Sorted(maps.Keys(ByNumber()))
}

// ByNumber returns the IDs of the comparisons that cover each number of the catalogue: those of
// package consensus first.
func ByNumber() map[int][]string {
	all := map[int][]string{
		3: {"hca-set"}, 6: {"rate"}, 7: {"link-layer"}, 11: {"duplicate-guid", "duplicate-system-guid"},
		16: {"device-name"}, 62: {"gid-index"}, 63: {"mtu"}, 72: {"socket"}, 73: {"pkey", "pkey-limited"},
		74: {"fabric", "duplicate-lid"},
	}
	for _, c := range Comparisons() {
		for _, n := range c.Numbers {
			all[n] = append(all[n], c.ID)
		}
	}
	return all
}
