package impact

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// atOnce returns how many of n nodes may drain at a time, -1 for all. A pool without maxUnavailable
// drains all nodes at once. Percentages are rounded down: 10% of 5 nodes is 0 (api/v1/helper.go,
// MaxUnavailable).
func (p *pool) atOnce(n int) (int, error) {
	if p.unavailable == nil {
		return -1, nil
	}
	text := p.unavailable.Text
	percent, isPercent := strings.CutSuffix(text, "%")
	value, err := strconv.Atoi(percent)
	switch {
	case p.unavailable.Kind != manifest.String && p.unavailable.Kind != manifest.Int:
		return 0, fmt.Errorf("maxUnavailable is %s", p.unavailable.Kind)
	case err != nil:
		return 0, fmt.Errorf("maxUnavailable %q is neither a number nor a percentage", text)
	case p.unavailable.Kind == manifest.String && !isPercent:
		return 0, fmt.Errorf("maxUnavailable %q is a string but not a percentage", text)
	case isPercent && (value < 1 || value > 100):
		return 0, fmt.Errorf("maxUnavailable %q is not between 1%% and 100%%", text)
	case value < 0:
		return 0, fmt.Errorf("maxUnavailable %d is negative", value)
	case isPercent:
		return value * n / 100, nil
	}
	return value, nil
}

// member is a node in its pool.
type member struct {
	node    *Node
	pool    *pool
	problem string
	others  bool // another program than the operator drains it
	drains  bool // it is already draining
}

// round assigns the nodes that drain or reboot to rounds, pool by pool
// (controllers/drain_controller_helper.go). The operator has no fixed order: nodes retry every few
// seconds, and the first one gets a free slot. Here they are in order of their names.
func (m *model) round(r *Report, members []member) {
	for _, p := range append(slices.Clone(m.pools), nil) {
		mine := slices.DeleteFunc(slices.Clone(members), func(x member) bool { return x.pool != p || x.problem != "" })
		if len(mine) == 0 {
			continue
		}
		out := Pool{Nodes: len(mine), AtOnce: 1}
		if p != nil {
			out.Name = p.name
			out.limits(p)
		}
		if m.noDrain {
			out.AtOnce, out.Error = -1, ""
		}
		out.fill(mine)
		if out.Error != "" {
			r.Counts.Blocked += blocked(mine, "pool "+out.Name+": "+out.Error)
		}
		r.Rounds = max(r.Rounds, len(out.Batches))
		r.Pools = append(r.Pools, out)
	}
	for _, x := range members {
		if x.problem != "" && !m.noDrain {
			r.Counts.Blocked += blocked([]member{x}, x.problem)
		}
	}
}

// limits sets the limits of a pool from maxUnavailable.
func (out *Pool) limits(p *pool) {
	if p.unavailable != nil {
		out.MaxUnavailable = p.unavailable.Text
	}
	n, err := p.atOnce(out.Nodes)
	switch {
	case err != nil:
		out.AtOnce, out.Error = 0, err.Error()+": the operator drains no node of the pool"
	case n == 0:
		out.AtOnce, out.Error = 0, fmt.Sprintf("maxUnavailable %s of %s is 0: the operator drains no node of the pool",
			out.MaxUnavailable, english.Count(out.Nodes, "node"))
	default:
		out.AtOnce = n
	}
}

// fill sets the batches of the nodes that drain.
func (out *Pool) fill(members []member) {
	var names []string
	worst := 0
	for _, x := range members {
		if x.drains {
			out.Draining = append(out.Draining, x.node.Name)
		}
		if x.others {
			continue
		}
		if x.node.Worst != ActionNothing {
			worst++
		}
		if x.node.Action != ActionNothing && out.AtOnce != 0 {
			names = append(names, x.node.Name)
			x.node.Round = 1
			if out.AtOnce > 0 {
				x.node.Round = (len(names)-1)/out.AtOnce + 1
			}
		}
	}
	size := max(len(names), 1)
	switch {
	case out.AtOnce > 0:
		size = out.AtOnce
		out.WorstRounds = (worst + size - 1) / size
	case out.AtOnce < 0 && worst > 0:
		out.WorstRounds = 1
	}
	out.Batches = slices.Collect(slices.Chunk(names, size))
}

// blocked adds a failure to nodes that need a drain but never get one. It returns their number.
func blocked(members []member, why string) int {
	n := 0
	for _, x := range members {
		if x.node.Action != ActionNothing && !x.others {
			x.node.Failures = append(x.node.Failures, why)
			n++
		}
	}
	return n
}
