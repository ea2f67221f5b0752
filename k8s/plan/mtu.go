package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/source"
)

// plainMTU is what VFs on Ethernet have where nobody sets another.
const plainMTU = 1500

// settleMTUs takes the MTU of each rail from its ports: VFs don't follow their PF by themselves.
// Only Ethernet has one to set, for on InfiniBand it comes from the fabric; ports that differ, or
// whose VFs differ, leave it unchanged, and so does the plain one.
func (m *maker) settleMTUs() {
	for _, r := range m.rails {
		if m.opts.MTU > 0 {
			r.mtu = m.opts.MTU
			continue
		}
		if r.link != source.LinkETH {
			continue
		}
		byMTU := map[int][]string{}
		var order []int
		for _, c := range r.members {
			if byMTU[c.pf.MTU] == nil {
				order = append(order, c.pf.MTU)
			}
			byMTU[c.pf.MTU] = append(byMTU[c.pf.MTU], c.node.Name)
		}
		mtu := order[0]
		switch {
		case len(order) > 1 && !slices.Contains(order, 0):
			var parts []string
			for _, n := range order {
				parts = append(parts, fmt.Sprintf("%d on %s", n, shortList(byMTU[n])))
			}
			m.mtuNotes = append(m.mtuNotes,
				fmt.Sprintf("the ports of %s have MTU %s: none is set, so VFs have %d; --mtu sets one",
					r.name, strings.Join(parts, ", and "), plainMTU))
		case len(order) > 1, mtu <= plainMTU:
		case slices.ContainsFunc(r.members, func(c *choice) bool { return c.otherVFs(mtu) }):
			m.mtuNotes = append(m.mtuNotes, fmt.Sprintf(
				"the ports of %s have MTU %d, and VFs that exist have another, or one that nothing tells: none is "+
					"set, for the change would drain nodes; --mtu sets one", r.name, mtu))
		default:
			r.mtu, r.mtuFound = mtu, true
		}
	}
}

// otherVFs reports that a PF has VFs with another MTU, or with one that nothing tells: then a
// policy with this one may drain the node.
func (c *choice) otherVFs(mtu int) bool {
	return len(c.pf.VFMTUs) < c.pf.NumVFs ||
		slices.ContainsFunc(c.pf.VFMTUs, func(have int) bool { return have != mtu })
}
