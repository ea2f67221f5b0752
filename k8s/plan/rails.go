package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/source"
)

// rail is a network that is being built, with at most one PF of each node.
type rail struct {
	net    string // link type, and the fabric of InfiniBand
	number int
	name   string
	link   string
	fabric *source.Fabric
	mtu    int // of its VFs, 0 for unchanged
	// mtuFound reports whether mtu is the MTU of the ports.
	mtuFound bool
	members  []*choice // by node
	out      Rail
}

// resource returns the resource name of the rail. Releases of the operator up to v1.6.0 allow only
// letters, digits and _.
func (r *rail) resource() string { return strings.ReplaceAll(r.name, "-", "_") }

// vfs returns the number of VFs on all nodes.
func (r *rail) vfs() int {
	sum := 0
	for _, c := range r.members {
		sum += c.vfs.n
	}
	return sum
}

// net returns the network of a PF. PFs on different networks never share a rail.
func (c *choice) net() string {
	if c.link == source.LinkIB && c.fabric != nil {
		return c.link + " " + fabricText(c.fabric)
	}
	return c.link
}

// makeRails groups PFs into rails. It uses the rail numbers of the inventory if they are known and
// each stands for one network. Otherwise it numbers the PFs of each network by address.
func makeRails(chosen []*choice) []*rail {
	byNode := map[string][]*choice{}
	var nodes []string
	for _, c := range chosen {
		if byNode[c.node.Name] == nil {
			nodes = append(nodes, c.node.Name)
		}
		byNode[c.node.Name] = append(byNode[c.node.Name], c)
	}
	// Nodes with more cards come first, because nodes with fewer cards get the same numbers.
	slices.SortStableFunc(nodes, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(byNode[b]), len(byNode[a])), cmp.Compare(a, b))
	})
	numbers := align(nodes, byNode, inventoryNumbers)
	nets := netsOf(chosen)
	prefixes := map[string]string{}
	if !valid(chosen, numbers) {
		numbers = align(nodes, byNode, countedNumbers)
		if len(nets) > 1 {
			prefixes = netPrefixes(nets)
		}
	}
	return collect(chosen, numbers, prefixes)
}

// inventoryNumbers returns the rail numbers in the snapshot of a node, -1 for unknown ones.
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

// countedNumbers numbers the PFs of a node within each network, in the order of known rails, or of
// addresses if a rail is unknown.
func countedNumbers(pfs []*choice) []int {
	order := make([]int, len(pfs))
	for i := range order {
		order[i] = i
	}
	known := inventoryNumbers(pfs)
	slices.SortStableFunc(order, func(a, b int) int {
		if known[a] < 0 || known[b] < 0 { // unknown rails have no order
			return cmp.Compare(pfs[a].pf.Address, pfs[b].pf.Address)
		}
		return cmp.Compare(known[a], known[b])
	})
	if slices.Contains(known, -1) { // the mixed comparison above is not an order
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

// align numbers the PFs of each node. If a node has only some of the cards of another node, at the
// same addresses, its cards get the same numbers as there. So a missing card doesn't change the
// rails of the cards after it.
func align(nodes []string, byNode map[string][]*choice, number func([]*choice) []int) map[*choice]int {
	numbers := map[*choice]int{}
	var kinds [][]*choice // PFs of the first node of each kind: there may be thousands of nodes of few kinds
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

// places returns a text that is equal for nodes with PFs at the same addresses on the same
// networks.
func places(pfs []*choice) string {
	var b strings.Builder
	for _, c := range pfs {
		b.WriteString(c.pf.Address + " " + c.net() + "\n")
	}
	return b.String()
}

// larger returns the PFs of a node that has all these PFs and more, nil if there is none.
func larger(nodes [][]*choice, pfs []*choice) []*choice {
	for _, whole := range nodes {
		missing := func(c *choice) bool { return !slices.ContainsFunc(whole, c.alike) }
		if len(whole) > len(pfs) && !slices.ContainsFunc(pfs, missing) {
			return whole
		}
	}
	return nil
}

// alike reports whether two PFs have the same address and are on the same network.
func (c *choice) alike(o *choice) bool { return c.pf.Address == o.pf.Address && c.net() == o.net() }

// valid reports whether each number stands for one network and occurs at most once on each node.
func valid(chosen []*choice, numbers map[*choice]int) bool {
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

// netsOf returns the networks, InfiniBand first.
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

// netPrefixes returns prefixes for the names of networks: ib0- and ib1- if there are several
// fabrics, otherwise ib-; and eth-.
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

// collect returns the rails, sorted by network and number.
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
