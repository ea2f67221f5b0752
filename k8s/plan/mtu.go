package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/source"
)

// plainMTU is the default MTU of VFs on Ethernet.
const plainMTU = 1500

// chooseMTUs sets the MTU of each Ethernet rail to that of its ports, because VFs don't inherit it
// from their PF. On InfiniBand the fabric determines the MTU. The MTU stays unchanged if it is the
// default, or if the ports or their VFs have different ones.
func (m *maker) chooseMTUs() {
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
				fmt.Sprintf("the ports of %s have MTU %s: the policies set none, so VFs have %d; --mtu sets one",
					r.name, strings.Join(parts, ", and "), plainMTU))
		case len(order) > 1, mtu <= plainMTU:
		case slices.ContainsFunc(r.members, func(c *choice) bool { return c.otherVFs(mtu) }):
			m.mtuNotes = append(m.mtuNotes, fmt.Sprintf(
				"the ports of %s have MTU %d, but existing VFs have another or an unknown MTU: the policies set none, "+
					"because the change would drain nodes; --mtu sets one", r.name, mtu))
		default:
			r.mtu, r.mtuFound = mtu, true
		}
	}
}

// otherVFs reports whether a PF has VFs with another or an unknown MTU. Then a policy with this MTU
// may drain the node.
func (c *choice) otherVFs(mtu int) bool {
	return len(c.pf.VFMTUs) < c.pf.NumVFs ||
		slices.ContainsFunc(c.pf.VFMTUs, func(have int) bool { return have != mtu })
}
