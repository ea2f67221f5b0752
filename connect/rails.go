package connect

import "fmt"

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
			skipped = append(skipped, fmt.Sprintf("%s: the peer offers no port %s", port.Name, ofRail(port.Rail)))
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
