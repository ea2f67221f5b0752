package consensus

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// pair numbers the rails, so that a number means the same rail on all nodes.
func pair(members []*member) Pairing {
	switch {
	case numbered(members):
		p := Pairing{
			Method: PairedByNumber,
			Reason: "rail numbers of the inventory: order of the nearest GPUs, then of the PCI addresses",
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
			Reason: "not all selected ports have a rail number, but each is in a separate network",
		}
	}
	for _, m := range members {
		for i := range m.rails {
			m.rails[i].number = i
		}
	}
	return Pairing{Method: PairedByOrder, Reason: "not all selected ports have a rail number, and their networks " +
		"don't identify them: order of the devices"}
}

// numbered reports whether each selected port of a node has a different rail number.
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

// located reports whether networks identify the rails: on every node they differ, and their total
// number is the number of rails of the largest node.
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

// realign renumbers the rails of nodes that have fewer compute ports than most. If a card is
// missing, the inventory numbers the others without a gap, and every later rail would be compared
// with its neighbour. The networks show which rail is missing.
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

// usualPorts returns the number of compute ports that most nodes have, the larger number in a tie.
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

// referenceNetworks maps the network of each rail to its number on most nodes that have all ports;
// nil if networks don't identify the rails.
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

// mostFrequent returns the key with the highest count, the first in order if there are several.
func mostFrequent(count map[string]int) string {
	best, most := "", 0
	for key, n := range count {
		if n > most || n == most && sysfs.NaturalCompare(key, best) < 0 {
			best, most = key, n
		}
	}
	return best
}
