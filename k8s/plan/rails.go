package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/source"
)

// rail is a network under way: at most one PF of each node.
type rail struct {
	net    string // link type, and of InfiniBand the fabric
	number int
	name   string
	link   string
	fabric *source.Fabric
	mtu    int // of its VFs, 0: unchanged
	// mtuFound tells that the MTU is that of the ports.
	mtuFound bool
	members  []*choice // by node
	out      Rail
}

// resource is the name of the rail as a resource: releases of the operator up to v1.6.0 take
// letters, digits and _ only.
func (r *rail) resource() string { return strings.ReplaceAll(r.name, "-", "_") }

// vfs counts the VFs of all nodes.
func (r *rail) vfs() int {
	sum := 0
	for _, c := range r.members {
		sum += c.vfs.n
	}
	return sum
}

// net tells which network a PF is on: PFs of different ones never share a rail.
func (c *choice) net() string {
	if c.link == source.LinkIB && c.fabric != nil {
		return c.link + " " + fabricText(c.fabric)
	}
	return c.link
}

// makeRails sorts PFs into rails. The numbers are those of the inventory where it knows them and
// they mean one network each; otherwise PFs are counted within their network by address.
func makeRails(chosen []*choice) []*rail {
	byNode := map[string][]*choice{}
	var nodes []string
	for _, c := range chosen {
		if byNode[c.node.Name] == nil {
			nodes = append(nodes, c.node.Name)
		}
		byNode[c.node.Name] = append(byNode[c.node.Name], c)
	}
	// Nodes with more cards come first: those that lack one are numbered as they are.
	slices.SortStableFunc(nodes, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(byNode[b]), len(byNode[a])), cmp.Compare(a, b))
	})
	numbers := align(nodes, byNode, inventoryNumbers)
	nets := netsOf(chosen)
	prefixes := map[string]string{}
	if !sound(chosen, numbers) {
		numbers = align(nodes, byNode, countedNumbers)
		if len(nets) > 1 {
			prefixes = netPrefixes(nets)
		}
	}
	return collect(chosen, numbers, prefixes)
}

// inventoryNumbers are the rails of a node as its snapshot has them; -1 for a PF that has none.
func inventoryNumbers(pfs []*choice) []int {
	out := make([]int, len(pfs))
	for i, c := range pfs {
		out[i] = -1
		if c.pf.Rail != nil {
			out[i] = *c.pf.Rail
		}
	}
	return out
}

// countedNumbers counts the PFs of a node within each network, in the order of known rails, then
// of addresses.
func countedNumbers(pfs []*choice) []int {
	order := make([]int, len(pfs))
	for i := range order {
		order[i] = i
	}
	known := inventoryNumbers(pfs)
	slices.SortStableFunc(order, func(a, b int) int {
		if known[a] < 0 || known[b] < 0 { // one that isn't known tells nothing
			return cmp.Compare(pfs[a].pf.Address, pfs[b].pf.Address)
		}
		return cmp.Compare(known[a], known[b])
	})
	if slices.Contains(known, -1) { // a mixed order would not be one
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pfs[a].pf.Address, pfs[b].pf.Address) })
	}
	out := make([]int, len(pfs))
	next := map[string]int{}
	for _, i := range order {
		out[i] = next[pfs[i].net()]
		next[pfs[i].net()]++
	}
	return out
}

// align numbers the PFs of each node. A node whose cards are a part of those of another, at the
// same addresses, takes the other's numbers: where a card is missing the ones behind it stay on
// their rails.
func align(nodes []string, byNode map[string][]*choice, number func([]*choice) []int) map[*choice]int {
	numbers := map[*choice]int{}
	var kinds [][]*choice // of nodes that are equal in this the first: there are thousands of nodes, and few kinds
	seen := map[string]bool{}
	for _, name := range nodes {
		pfs := byNode[name]
		whole := larger(kinds, pfs)
		if kind := places(pfs); !seen[kind] {
			seen[kind], kinds = true, append(kinds, pfs)
		}
		if whole != nil {
			for _, c := range pfs {
				numbers[c] = numbers[whole[slices.IndexFunc(whole, c.alike)]]
			}
			continue
		}
		for j, n := range number(pfs) {
			numbers[pfs[j]] = n
		}
	}
	return numbers
}

// places is equal for nodes with PFs at the same addresses on the same networks.
func places(pfs []*choice) string {
	var b strings.Builder
	for _, c := range pfs {
		b.WriteString(c.pf.Address + " " + c.net() + "\n")
	}
	return b.String()
}

// larger finds a node that has all these PFs and more.
func larger(nodes [][]*choice, pfs []*choice) []*choice {
	for _, whole := range nodes {
		lacks := func(c *choice) bool { return !slices.ContainsFunc(whole, c.alike) }
		if len(whole) > len(pfs) && !slices.ContainsFunc(pfs, lacks) {
			return whole
		}
	}
	return nil
}

// alike reports a PF at the same place of another node, on the same network.
func (c *choice) alike(o *choice) bool { return c.pf.Address == o.pf.Address && c.net() == o.net() }

// sound reports that each number stands for one network, and is on a node but once.
func sound(chosen []*choice, numbers map[*choice]int) bool {
	nets := map[int]string{}
	type place struct {
		node   string
		number int
	}
	seen := map[place]bool{}
	for _, c := range chosen {
		n, at := numbers[c], place{c.node.Name, numbers[c]}
		if n < 0 || seen[at] || nets[n] != "" && nets[n] != c.net() {
			return false
		}
		nets[n], seen[at] = c.net(), true
	}
	return true
}

// netsOf lists the networks, InfiniBand first.
func netsOf(chosen []*choice) []string {
	seen := map[string]bool{}
	for _, c := range chosen {
		seen[c.net()] = true
	}
	nets := slices.Collect(maps.Keys(seen))
	slices.SortFunc(nets, func(a, b string) int {
		return cmp.Or(
			cmp.Compare(boolInt(!strings.HasPrefix(a, source.LinkIB)), boolInt(!strings.HasPrefix(b, source.LinkIB))),
			cmp.Compare(a, b))
	})
	return nets
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// netPrefixes names networks: ib0- and ib1- where there are several fabrics, else ib- and eth-.
func netPrefixes(nets []string) map[string]string {
	fabrics := 0
	for _, n := range nets {
		fabrics += boolInt(strings.HasPrefix(n, source.LinkIB))
	}
	out, i := map[string]string{}, 0
	for _, n := range nets {
		switch {
		case !strings.HasPrefix(n, source.LinkIB):
			out[n] = "eth-"
		case fabrics == 1:
			out[n] = "ib-"
		default:
			out[n] = fmt.Sprintf("ib%d-", i)
			i++
		}
	}
	return out
}

// collect makes the rails, by network and number.
func collect(chosen []*choice, numbers map[*choice]int, prefixes map[string]string) []*rail {
	type place struct {
		net    string
		number int
	}
	var rails []*rail
	byPlace := map[place]*rail{}
	for _, c := range chosen {
		at := place{c.net(), numbers[c]}
		r := byPlace[at]
		if r == nil {
			r = &rail{
				net: at.net, number: at.number, name: fmt.Sprintf("%srail%d", prefixes[at.net], at.number),
				link: c.link, fabric: c.fabric,
			}
			byPlace[at], rails = r, append(rails, r)
		}
		c.rail = r
		r.members = append(r.members, c)
	}
	order := map[string]int{}
	for i, n := range netsOf(chosen) {
		order[n] = i
	}
	slices.SortFunc(rails, func(a, b *rail) int {
		if len(prefixes) == 0 {
			return cmp.Compare(a.number, b.number)
		}
		return cmp.Or(cmp.Compare(order[a.net], order[b.net]), cmp.Compare(a.number, b.number))
	})
	return rails
}
