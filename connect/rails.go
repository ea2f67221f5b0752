package connect

import (
	"fmt"
	"slices"
)

// pair is a pair of ports to try.
type pair struct {
	port     Port
	listener string // name of the peer's port
}

// pairRails pairs each port with the peer's offered port of the same rail. Ports without a rail are
// paired in their order with those of the peer that have none.
func pairRails(own []Port, peer []PortFacts) (pairs []pair, skipped []string) {
	used := map[string]bool{}
	for _, port := range own {
		partner := ""
		for _, other := range peer {
			if other.Offered && !used[other.Name] && sameRail(port.Rail, other.Rail) {
				partner = other.Name
				break
			}
		}
		if partner == "" {
			skipped = append(skipped, port.Name+": "+withoutPartner(port, peer))
			continue
		}
		used[partner] = true
		pairs = append(pairs, pair{port, partner})
	}
	for _, other := range peer {
		if other.Offered && !used[other.Name] {
			skipped = append(skipped, fmt.Sprintf("%s of the peer: this end has no other port %s", other.Name,
				ofRail(other.Rail)))
		}
	}
	return pairs, skipped
}

func sameRail(a, b *int) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return *a == *b
}

func ofRail(rail *int) string {
	if rail == nil {
		return "without a rail"
	}
	return fmt.Sprintf("of rail %d", *rail)
}

// withoutPartner returns why the peer has no port for one of this end: with its own reason, if it
// has a port of the same rail and doesn't offer it.
func withoutPartner(port Port, peer []PortFacts) string {
	for _, other := range peer {
		if !other.Offered && other.Rail != nil && sameRail(port.Rail, other.Rail) && other.Reason != "" {
			return fmt.Sprintf("the peer doesn't offer its port %s %s: %s", other.Name, ofRail(port.Rail), other.Reason)
		}
	}
	return "the peer offers no port " + ofRail(port.Rail)
}

// offerOne returns the ports of a node whose listener has only one port to try.
func offerOne(facts []PortFacts, port Port) []PortFacts {
	out, known := slices.Clone(facts), false
	for i := range out {
		switch f := &out[i]; {
		case f.Name == port.Name:
			f.Offered, known = true, true
		case f.Offered:
			f.Offered, f.Reason = false, "the listener offers only "+port.Name
		}
	}
	if !known {
		out = append(out, PortFacts{Name: port.Name, Rail: port.Rail, Offered: true})
	}
	return out
}
