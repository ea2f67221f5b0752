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

// owners are the names of the policies that already select a PF.
type owners struct {
	sure map[*source.PF][]string
	// maybe are those on nodes with unknown labels.
	maybe map[*source.PF][]string
}

// owners returns the policies of the cluster and those in the states of nodes. The operator reads
// policies only from its own namespace.
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

// groupSuffix is the suffix of a policy's name if a rail has several policies.
var groupSuffix = regexp.MustCompile(`-[a-z]\d*$`)

// leaveOwned sets the rails, without the cards that other policies select, because two policies for
// the same VFs override each other. A policy with the name of one of the rails belongs to an
// earlier run of the plan, and doesn't exclude its cards. The rails depend on the remaining cards,
// so the check repeats until no card is removed.
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
				Reason: "policy " + by.sure[c.pf][i] + " selects it",
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

// noteOwners adds notes about policies of an earlier plan whose cards are now in policies with
// other names, because groups of nodes have changed, and about policies that may select cards of
// the plan.
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
		m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("policies of an earlier plan select cards that now have other "+
			"policies, and two policies for the same VFs override each other; delete the old ones: "+
			"kubectl -n %s delete sriovnetworknodepolicies %s", m.plan.OperatorNamespace, strings.Join(list, " ")))
	}
	if list := others(by.maybe); len(list) > 0 {
		m.plan.Notes = append(m.plan.Notes, fmt.Sprintf(
			"the nodes' labels are unknown (kubectl get nodes -o yaml shows them), so %s may select cards of the "+
				"plan: two policies for the same VFs override each other", strings.Join(list, ", ")))
	}
}
