package hosts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/launch/consensus"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// RailReport is the validation of rails: the same rail of all hosts of a group should be connected
// to the same leaf. A group is the hosts that share leaves: a unit of a rail-optimised fabric, or
// the hosts of a leaf that serves all rails. Planes of a rail are compared separately. ibdiagnet's
// rail validation compares PCI addresses for that.
type RailReport struct {
	Pairing consensus.Pairing `json:"pairing"` // how the rails were numbered
	// Judged are the ports that were compared with those of other hosts; NotJudged those with a
	// rail for which there are none: no other host with as many rails shares a leaf with its other
	// rails.
	Judged    int       `json:"judged"`
	NotJudged int       `json:"notJudged"`
	Odd       []OddHost `json:"odd"`
	// Shifted are hosts that lack compute ports, "gpu-01 (7 of 8)", and whose PCI addresses don't
	// tell which: their rails aren't numbered.
	Shifted []string `json:"shifted,omitempty"`
}

// OddHost is a host with rails at other leaves than those of most hosts of its group.
type OddHost struct {
	Host  string    `json:"host"`
	Rails []OddRail `json:"rails"`
	// Tie is true if as many hosts have the rails at one leaf as at the other, so that either may
	// be wrong.
	Tie    bool   `json:"tie,omitempty"`
	Detail string `json:"detail"`
}

// OddRail is a rail at another leaf than that of most hosts of its group.
type OddRail struct {
	Rail  int           `json:"rail"`
	Plane int           `json:"plane,omitempty"`
	Port  fabric.PortID `json:"port"`  // of the adapter
	Leaf  string        `json:"leaf"`  // that it is connected to
	Usual string        `json:"usual"` // that of most hosts
	Hosts int           `json:"hosts"` // connected to the usual leaf
	Of    int           `json:"of"`    // hosts of the group, without this one
}

// numberRails numbers the rails as a comparison of the nodes does. Hosts that lack a card are
// numbered by the PCI addresses that most hosts have for each rail.
func (j *joiner) numberRails() {
	j.rails = map[portKey]int{}
	nodes := make([]*consensus.Node, len(j.hosts))
	for i, h := range j.hosts {
		nodes[i] = h.node
	}
	pairing, ports := consensus.Rails(nodes)
	numbers := map[int]map[string]int{}
	for _, p := range ports {
		if numbers[p.Node] == nil {
			numbers[p.Node] = map[string]int{}
		}
		numbers[p.Node][fmt.Sprintf("%s:%d", p.Device, p.Port)] = p.Rail
	}
	for key, p := range j.ports() {
		rail, ok := numbers[key.host][fmt.Sprintf("%s:%d", p.Device, p.Number)]
		switch {
		case ok:
			j.rails[key] = rail
		case p.rail != nil && pairing.Method == consensus.PairedByNumber:
			j.rails[key] = *p.rail // a port without a link isn't selected
		}
	}
	j.report.Rails = RailReport{Pairing: pairing, Odd: []OddHost{}}
	j.renumber()
	for key, p := range j.ports() { // planes have the rail of their device
		if p.Plane > 0 {
			if rail, ok := j.deviceRail(key); ok {
				j.rails[key] = rail
			}
		}
	}
}

func (j *joiner) deviceRail(key portKey) (int, bool) {
	for i := range j.hosts[key.host].Ports {
		other := portKey{key.host, i}
		if o := j.port(other); o.Plane == 0 && o.Device == j.port(key).Device {
			rail, ok := j.rails[other]
			return rail, ok
		}
	}
	return 0, false
}

// railOf returns the rail of a port, nil if it has none.
func (j *joiner) railOf(key portKey) *int {
	if rail, ok := j.rails[key]; ok {
		return new(rail)
	}
	return nil
}

// renumber numbers the rails of hosts that lack a card: the inventory numbers the others without a
// gap, so that every rail behind the missing one would be compared with its neighbour. Hosts with
// half of the usual compute ports or fewer are another kind of machine: they keep their numbers and
// are compared with each other.
func (j *joiner) renumber() {
	count := map[int]int{}
	for _, h := range j.hosts {
		count[h.compute]++
	}
	usual := 0
	for ports, n := range count {
		if n > count[usual] || n == count[usual] && ports > usual {
			usual = ports
		}
	}
	byAddress := j.railsByAddress(usual)
	for h, host := range j.hosts {
		j.kind = append(j.kind, host.compute)
		if host.compute >= usual || 2*host.compute <= usual {
			continue
		}
		j.kind[h] = usual
		numbers, ok := map[portKey]int{}, true
		used := map[int]bool{}
		for key := range j.railPorts(h) {
			rail, known := byAddress[j.port(key).PCIAddress]
			ok = ok && known && !used[rail]
			numbers[key], used[rail] = rail, true
		}
		name := fmt.Sprintf("%s (%d of %d)", host.Name, host.compute, usual)
		if !ok {
			j.report.Rails.Shifted = append(j.report.Rails.Shifted, name)
			for key := range numbers {
				delete(j.rails, key)
			}
			continue
		}
		maps.Copy(j.rails, numbers)
		j.report.Rails.Pairing.Realigned = append(j.report.Rails.Pairing.Realigned,
			name+": numbered by the PCI addresses of the other hosts")
	}
}

// railPorts yields the ports of a host that have a rail.
func (j *joiner) railPorts(host int) func(func(portKey) bool) {
	return func(yield func(portKey) bool) {
		for i := range j.hosts[host].Ports {
			key := portKey{host, i}
			if _, ok := j.rails[key]; ok && !yield(key) {
				return
			}
		}
	}
}

// railsByAddress returns the rail that most hosts with all compute ports have at a PCI address.
// Addresses without a majority are left out.
func (j *joiner) railsByAddress(usual int) map[string]int {
	votes := map[string]map[int]int{}
	for h, host := range j.hosts {
		if host.compute != usual {
			continue
		}
		for key := range j.railPorts(h) {
			address := j.port(key).PCIAddress
			if address == "" {
				continue
			}
			if votes[address] == nil {
				votes[address] = map[int]int{}
			}
			votes[address][j.rails[key]]++
		}
	}
	out := map[string]int{}
	for address, rails := range votes {
		total, best, most := 0, 0, 0
		for rail, n := range rails {
			total += n
			if n > most {
				best, most = rail, n
			}
		}
		if 2*most > total {
			out[address] = best
		}
	}
	return out
}

// slot is a rail, or a plane of one.
type slot struct{ rail, plane int }

// places are the leaves of the hosts' rails.
type places struct {
	leaf  map[int]map[slot]ib.GUID // by host
	port  map[int]map[slot]fabric.PortID
	hosts map[ib.GUID][]int // by leaf, each once
	kind  []int             // of the hosts: only those of one kind are compared
}

// judgeRails compares the leaves of each host's rails with those of the hosts that share leaves
// with its other rails.
func (j *joiner) judgeRails() {
	p := j.places()
	p.kind = j.kind
	for h := range j.hosts {
		slots := slices.SortedFunc(maps.Keys(p.leaf[h]), func(a, b slot) int {
			return cmp.Or(a.rail-b.rail, a.plane-b.plane)
		})
		odd := OddHost{Host: j.hosts[h].Name}
		ties := 0
		for _, s := range slots {
			usual, with, against, of := p.usual(h, s)
			switch {
			case of == 0:
				j.report.Rails.NotJudged++
				continue
			case usual != p.leaf[h][s] && with >= against:
				odd.Rails = append(odd.Rails, OddRail{
					Rail: s.rail, Plane: s.plane, Port: p.port[h][s], Leaf: j.t.Node(p.leaf[h][s]).Name(),
					Usual: j.t.Node(usual).Name(), Hosts: with, Of: of,
				})
				if with == against {
					ties++
				}
			}
			j.report.Rails.Judged++
		}
		if len(odd.Rails) > 0 {
			odd.Tie = ties == len(odd.Rails) || 2*len(odd.Rails) >= len(slots) && !odd.exchanged()
			odd.Detail = odd.text()
			j.report.Rails.Odd = append(j.report.Rails.Odd, odd)
		}
	}
}

// places finds the leaf of each rail. A rail that is connected to no switch, or that isn't in the
// sweep, has none.
func (j *joiner) places() places {
	p := places{
		leaf: map[int]map[slot]ib.GUID{}, port: map[int]map[slot]fabric.PortID{}, hosts: map[ib.GUID][]int{},
	}
	for key := range j.ports() {
		id, ok := j.at[key]
		rail, numbered := j.rails[key]
		swept := j.t.Port(id)
		if !ok || !numbered || !swept.HasPeer() || !j.sameName(j.claims[id]) || j.claims[id][0] != key {
			continue
		}
		leaf := j.t.Node(swept.Peer.Node)
		if leaf == nil || !leaf.IsSwitch() {
			continue
		}
		s := slot{rail, j.port(key).Plane}
		if p.leaf[key.host] == nil {
			p.leaf[key.host], p.port[key.host] = map[slot]ib.GUID{}, map[slot]fabric.PortID{}
		}
		p.leaf[key.host][s], p.port[key.host][s] = leaf.GUID(), id
		if list := p.hosts[leaf.GUID()]; len(list) == 0 || list[len(list)-1] != key.host {
			p.hosts[leaf.GUID()] = append(list, key.host)
		}
	}
	return p
}

// usual returns the leaf that a host's rail should be connected to: that of the hosts with which
// its other rails share leaves, weighted by the number of these. with and against are the hosts
// there and at the leaf of this host, itself included; of are the hosts of the group.
func (p *places) usual(host int, s slot) (leaf ib.GUID, with, against, of int) {
	weight := map[int]int{}
	for other, at := range p.leaf[host] {
		if other == s {
			continue
		}
		for _, h := range p.hosts[at] {
			if h != host && p.kind[h] == p.kind[host] {
				weight[h]++
			}
		}
	}
	own := p.leaf[host][s]
	votes, hosts := map[ib.GUID]int{}, map[ib.GUID]int{}
	for h, w := range weight {
		if at, ok := p.leaf[h][s]; ok {
			votes[at] += w
			hosts[at]++
			of++
		}
	}
	leaf = own
	for at, v := range votes {
		if v > votes[leaf] || v == votes[leaf] && leaf != own && slices.Compare(at[:], leaf[:]) < 0 {
			leaf = at
		}
	}
	return leaf, hosts[leaf], hosts[own] + 1, of
}

// text describes the rails of a host: those that are exchanged together.
func (o *OddHost) text() string {
	var list []string
	done := map[int]bool{}
	for i, a := range o.Rails {
		if done[i] {
			continue
		}
		if swapped := o.partner(a); swapped >= 0 {
			done[swapped] = true
			list = append(list, fmt.Sprintf("rails %d and %d are exchanged: rail %d is at %s, rail %d at %s (%s)",
				a.Rail, o.Rails[swapped].Rail, a.Rail, a.Leaf, o.Rails[swapped].Rail, a.Usual, a.majority()))
			continue
		}
		list = append(list, fmt.Sprintf("%s is at %s, not at %s (%s)", a.name(), a.Leaf, a.Usual, a.majority()))
	}
	text := strings.Join(list, "; ")
	if o.Tie {
		text += "; no majority: either may be wrong"
	}
	return text
}

// partner returns the index of the rail with which a rail is exchanged, -1 if there is none.
func (o *OddHost) partner(a OddRail) int {
	return slices.IndexFunc(o.Rails, func(b OddRail) bool {
		return b.Rail != a.Rail && b.Plane == a.Plane && a.Leaf == b.Usual && b.Leaf == a.Usual
	})
}

// exchanged reports whether each rail is exchanged with another.
func (o *OddHost) exchanged() bool {
	return !slices.ContainsFunc(o.Rails, func(r OddRail) bool { return o.partner(r) < 0 })
}

func (r *OddRail) name() string {
	if r.Plane > 0 {
		return fmt.Sprintf("rail %d plane %d", r.Rail, r.Plane)
	}
	return fmt.Sprintf("rail %d", r.Rail)
}

// majority says how many hosts have the rail at the usual leaf.
func (r *OddRail) majority() string {
	return fmt.Sprintf("%d of %s of the group", r.Hosts, english.Count(r.Of, "other host"))
}
