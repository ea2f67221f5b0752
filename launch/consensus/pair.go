package consensus

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// pair gives every rail a number that means the same on all nodes.
func pair(members []*member) Pairing {
	switch {
	case numbered(members):
		p := Pairing{
			Method: PairedByNumber,
			Reason: "the rail numbers of the inventory: order of the nearest GPUs, then of the PCI addresses",
		}
		for _, m := range members {
			for i := range m.rails {
				m.rails[i].number = *m.rails[i].own
			}
		}
		p.Realigned = realign(members)
		return p
	case located(members):
		pairBySubnet(members)
		return Pairing{
			Method: PairedBySubnet,
			Reason: "not all selected ports have a rail number, and each is in a network of its own",
		}
	}
	for _, m := range members {
		for i := range m.rails {
			m.rails[i].number = i
		}
	}
	return Pairing{Method: PairedByOrder, Reason: "not all selected ports have a rail number, and their networks " +
		"don't tell them apart: the order of the devices counts"}
}

// numbered reports that each selected port has a rail number of its own.
func numbered(members []*member) bool {
	for _, m := range members {
		seen := map[int]bool{}
		for i := range m.rails {
			own := m.rails[i].own
			if own == nil || *own < 0 || *own > maxElements || seen[*own] {
				return false
			}
			seen[*own] = true
		}
	}
	return true
}

// located reports that networks tell the rails apart: on every node they differ, and
// together there are as many as the largest node has rails.
func located(members []*member) bool {
	all := map[string]bool{}
	most := 0
	for _, m := range members {
		seen := map[string]bool{}
		for i := range m.rails {
			l := m.rails[i].location()
			if l == "" || seen[l] {
				return false
			}
			seen[l], all[l] = true, true
		}
		most = max(most, len(m.rails))
	}
	return len(all) == most
}

func pairBySubnet(members []*member) {
	var names []string
	for _, m := range members {
		for i := range m.rails {
			names = append(names, m.rails[i].location())
		}
	}
	slices.SortFunc(names, sysfs.NaturalCompare)
	names = slices.Compact(names)
	for _, m := range members {
		for i := range m.rails {
			m.rails[i].number = slices.Index(names, m.rails[i].location())
		}
		slices.SortFunc(m.rails, func(a, b rail) int { return a.number - b.number })
	}
}

// realign moves the numbers of nodes that have fewer compute ports than most: when a
// card is gone, the inventory counts the rest without a gap, and every rail behind it
// would be compared with its neighbour. The networks tell which one is missing.
func realign(members []*member) []string {
	total := usualPorts(members)
	networks := referenceNetworks(members, total)
	if networks == nil {
		return nil
	}
	var out []string
	for _, m := range members {
		if m.ports >= total {
			continue
		}
		moved := false
		numbers := make([]int, len(m.rails))
		used := map[int]bool{}
		for i := range m.rails {
			n, ok := networks[m.rails[i].location()]
			if !ok || used[n] {
				moved = false
				break
			}
			numbers[i], used[n] = n, true
			moved = moved || n != m.rails[i].number
		}
		if !moved {
			continue
		}
		for i := range m.rails {
			m.rails[i].number = numbers[i]
		}
		out = append(out, fmt.Sprintf("%s has %d of %d compute ports: its rails are numbered by their networks",
			m.name, m.ports, total))
	}
	return out
}

// usualPorts returns how many compute ports most nodes have, the larger number in a tie.
func usualPorts(members []*member) int {
	count := map[int]int{}
	best := 0
	for _, m := range members {
		count[m.ports]++
	}
	for ports, n := range count {
		if n > count[best] || n == count[best] && ports > best {
			best = ports
		}
	}
	return best
}

// referenceNetworks maps the network of each rail to its number, as most nodes with
// all ports have it; nil where networks don't tell the rails apart.
func referenceNetworks(members []*member, total int) map[string]int {
	votes := map[int]map[string]int{}
	for _, m := range members {
		if m.ports != total {
			continue
		}
		for i := range m.rails {
			r := &m.rails[i]
			if votes[r.number] == nil {
				votes[r.number] = map[string]int{}
			}
			votes[r.number][r.location()]++
		}
	}
	out := map[string]int{}
	for number, locations := range votes {
		best := mostFrequent(locations)
		if _, taken := out[best]; taken || best == "" {
			return nil
		}
		out[best] = number
	}
	return out
}

// mostFrequent returns the key with the highest count, the first in order of several.
func mostFrequent(count map[string]int) string {
	best, most := "", 0
	for key, n := range count {
		if n > most || n == most && sysfs.NaturalCompare(key, best) < 0 {
			best, most = key, n
		}
	}
	return best
}
