package plan

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// owners are the policies that have PFs already, by name.
type owners struct {
	sure map[*source.PF][]string
	// maybe are those of nodes whose labels nothing tells.
	maybe map[*source.PF][]string
}

// owners looks at the policies of the cluster, and at those that the states of nodes name. The
// operator reads policies of its own namespace only.
func (m *maker) owners() owners {
	out := owners{map[*source.PF][]string{}, map[*source.PF][]string{}}
	own := func(of map[*source.PF][]string, pf *source.PF, policy string) {
		if pf != nil && policy != "" && !slices.Contains(of[pf], policy) {
			of[pf] = append(of[pf], policy)
			slices.Sort(of[pf])
		}
	}
	for _, o := range m.cluster.Objects {
		if o.Kind != k8s.KindPolicy || o.Namespace != "" && o.Namespace != m.plan.OperatorNamespace {
			continue
		}
		var p k8s.SriovNetworkNodePolicy
		o.Decode(&p)
		for _, s := range source.Select(p.Spec, m.cluster.Nodes) {
			switch {
			case s.Last < 0: // without VFs
			case s.Maybe:
				own(out.maybe, s.PF, o.Name)
			default:
				own(out.sure, s.PF, o.Name)
			}
		}
	}
	for i := range m.cluster.Nodes {
		n := &m.cluster.Nodes[i]
		if n.State == nil || n.State.Spec == nil {
			continue
		}
		for _, i := range n.State.Spec.Interfaces {
			for _, g := range i.VfGroups {
				own(out.sure, cardAt(n, strings.ToLower(i.PciAddress)), g.PolicyName)
			}
		}
	}
	return out
}

// groupSuffix ends the name of a policy where a rail has several.
var groupSuffix = regexp.MustCompile(`-[a-z]\d*$`)

// leaveOwned makes the rails without the cards that policies of others have: two policies for the
// same VFs undo each other. A policy named as those of one of the rails is the plan's own, from an
// earlier run, so that a plan made again is the same. Which rails there are depends on the cards
// that are left, so it looks again until none goes.
func (m *maker) leaveOwned(chosen []*choice, by owners) ([]*choice, error) {
	var owned []Passed
	m.rails = makeRails(chosen)
	for {
		names := map[string]bool{}
		for _, r := range m.rails {
			names[r.name] = true
		}
		others := func(policy string) bool { return !names[policy] && !names[groupSuffix.ReplaceAllString(policy, "")] }
		var kept []*choice
		for _, c := range chosen {
			i := slices.IndexFunc(by.sure[c.pf], others)
			if i < 0 {
				kept = append(kept, c)
				continue
			}
			owned = append(owned, Passed{
				Node: c.node.Name, Address: c.pf.Address, Netdev: c.pf.Netdev,
				Reason: "policy " + by.sure[c.pf][i] + " has it",
			})
		}
		if len(kept) == len(chosen) {
			break
		}
		chosen, m.rails = kept, makeRails(kept)
	}
	m.plan.Passed = append(m.plan.Passed, owned...)
	slices.SortStableFunc(m.plan.Passed,
		func(a, b Passed) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Address, b.Address)) })
	if len(chosen) == 0 {
		return nil, nothing(m.cluster.Nodes, nil, owned)
	}
	return chosen, nil
}

// noteOwners names the policies of an earlier plan whose cards are in policies of other names now,
// where groups of nodes have changed, and those that may have cards of the plan.
func (m *maker) noteOwners(by owners) {
	written := map[string]bool{}
	for _, d := range m.docs {
		written[d.name] = written[d.name] || d.kind == k8s.KindPolicy
	}
	others := func(of map[*source.PF][]string) []string {
		found := map[string]bool{}
		for _, r := range m.rails {
			for _, c := range r.members {
				for _, policy := range of[c.pf] {
					found[policy] = true
				}
			}
		}
		maps.DeleteFunc(found, func(policy string, _ bool) bool { return written[policy] })
		return slices.Sorted(maps.Keys(found))
	}
	if list := others(by.sure); len(list) > 0 {
		m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("policies of an earlier plan mean cards for which this one "+
			"writes others, and two for the same VFs undo each other: kubectl -n %s delete sriovnetworknodepolicies %s",
			m.plan.OperatorNamespace, strings.Join(list, " ")))
	}
	if list := others(by.maybe); len(list) > 0 {
		m.plan.Notes = append(m.plan.Notes, fmt.Sprintf(
			"labels of nodes are not known (kubectl get nodes -o yaml tells them), so cards of the plan may be those "+
				"of %s: two policies for the same VFs undo each other", strings.Join(list, ", ")))
	}
}
