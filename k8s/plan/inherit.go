package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/source"
)

// heir is a node that inherits fabrics, rails and roles from another.
type heir struct{ node, from string }

// inherit sets unknown fabrics, rails and roles of a node's cards, which a SriovNetworkNodeState
// doesn't contain, to those of nodes with the same cards at the same addresses, if all of these
// agree. Without it, one network would become two: one for the nodes with snapshots and one for the
// nodes without.
func inherit(nodes []source.Node) ([]source.Node, []heir) {
	out := slices.Clone(nodes)
	var heirs []heir
	kinds := placedKinds(nodes)
	for i := range out {
		n := &out[i]
		if len(n.PFs) == 0 || placed(n) {
			continue
		}
		var donors []*source.Node
		for _, d := range kinds {
			if sameCards(n, d) {
				donors = append(donors, d)
			}
		}
		if len(donors) == 0 ||
			slices.ContainsFunc(donors[1:], func(d *source.Node) bool { return !samePlaces(n, donors[0], d) }) {
			continue
		}
		n.PFs = slices.Clone(n.PFs)
		for j := range n.PFs {
			pf, from := &n.PFs[j], cardAt(donors[0], n.PFs[j].Address)
			pf.Fabric, pf.Rail, pf.Role = from.Fabric, from.Rail, from.Role
		}
		heirs = append(heirs, heir{n.Name, donors[0].Name})
	}
	return out, heirs
}

// placedKinds returns the nodes whose cards have a known fabric, rail or role. Of nodes that are
// equal in this it returns only the first, because there may be thousands of nodes of few kinds.
func placedKinds(nodes []source.Node) []*source.Node {
	var out []*source.Node
	seen := map[string]bool{}
	for i := range nodes {
		n := &nodes[i]
		if !placed(n) {
			continue
		}
		var kind strings.Builder
		for _, p := range n.PFs {
			fmt.Fprintf(&kind, "%s %s %s %s %s", p.Address, p.Vendor, p.DeviceID, p.LinkType, p.Role)
			if p.Rail != nil {
				fmt.Fprintf(&kind, " rail %d", *p.Rail)
			}
			if p.Fabric != nil {
				fmt.Fprintf(&kind, " fabric %s", fabricText(p.Fabric))
			}
			kind.WriteByte('\n')
		}
		if !seen[kind.String()] {
			seen[kind.String()], out = true, append(out, n)
		}
	}
	return out
}

// placed reports whether a fabric, rail or role of the node's cards is known.
func placed(n *source.Node) bool {
	return slices.ContainsFunc(n.PFs,
		func(p source.PF) bool { return p.Fabric != nil || p.Rail != nil || p.Role != "" })
}

// sameCards reports whether d has all cards of n at the same addresses.
func sameCards(n, d *source.Node) bool {
	return !slices.ContainsFunc(n.PFs, func(p source.PF) bool {
		q := cardAt(d, p.Address)
		return q == nil || q.Vendor != p.Vendor || q.DeviceID != p.DeviceID ||
			cmp.Or(p.LinkType, q.LinkType) != q.LinkType
	})
}

// samePlaces reports whether the cards of n have the same role, rail and fabric on a and b.
func samePlaces(n, a, b *source.Node) bool {
	return !slices.ContainsFunc(n.PFs, func(p source.PF) bool {
		q, r := cardAt(a, p.Address), cardAt(b, p.Address)
		return q.Role != r.Role || !equalTo(q.Rail, r.Rail) || !equalTo(q.Fabric, r.Fabric)
	})
}

func equalTo[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

func cardAt(n *source.Node, address string) *source.PF {
	i := slices.IndexFunc(n.PFs, func(p source.PF) bool { return p.Address == address })
	if i < 0 {
		return nil
	}
	return &n.PFs[i]
}

// noteHeirs adds notes about inherited fabrics, rails and roles.
func (m *maker) noteHeirs(planned []*source.Node, note func(string, ...any)) {
	byDonor := map[string][]string{}
	var donors []string
	taking := map[string]bool{}
	for _, n := range planned {
		taking[n.Name] = true
	}
	for _, h := range m.heirs {
		if !taking[h.node] {
			continue
		}
		if byDonor[h.from] == nil {
			donors = append(donors, h.from)
		}
		byDonor[h.from] = append(byDonor[h.from], h.node)
	}
	for _, from := range donors {
		note(
			"fabrics, rails and roles of the cards of %s are unknown; assumed to be those of %s, which has the same "+
				"cards at the same addresses; to be sure, add snapshots of the nodes", shortList(byDonor[from]), from)
	}
}
