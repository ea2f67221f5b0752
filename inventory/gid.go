package inventory

import (
	"strconv"
	"strings"
)

// RoutableGID returns the slot of the GID table that traffic between subnets
// should use: RoCE v2 before v1, IPv4 before IPv6, the lowest index first, never
// link-local. On InfiniBand, where subnets are joined by routers, it is the first slot.
func (p *Port) RoutableGID() (GIDEntry, bool) {
	if p.LinkLayer == LinkLayerInfiniBand || p.Transport == TransportIWARP || p.Transport == TransportEFA {
		if len(p.GIDs) == 0 {
			return GIDEntry{}, false
		}
		return p.GIDs[0], true
	}
	best, bestScore := GIDEntry{}, 0
	for _, g := range p.GIDs {
		if score := gidScore(g); score > bestScore {
			best, bestScore = g, score
		}
	}
	return best, bestScore > 0
}

// gidScore ranks a RoCE slot; 0 means that it can't be routed.
func gidScore(g GIDEntry) int {
	if g.GID.IsLinkLocal() || g.GID.HasZeroInterfaceID() {
		return 0
	}
	score := 1
	if a, ok := g.GID.IPv4(); ok && a.IsLinkLocalUnicast() {
		return score // 169.254/16: an address that nobody chose
	}
	if g.Type == GIDTypeRoCEv2 {
		score += 2
	}
	if _, ok := g.GID.IPv4(); ok {
		score++
	}
	return score
}

// GIDGaps returns the empty slots of the GID table as ranges, "0-1,4-15"; "" when there are none.
func (p *Port) GIDGaps() string {
	var out []string
	next := 0
	add := func(end int) { // the slots from next to end-1 are empty
		switch {
		case end-next == 1:
			out = append(out, strconv.Itoa(next))
		case end > next:
			out = append(out, strconv.Itoa(next)+"-"+strconv.Itoa(end-1))
		}
	}
	for _, g := range p.GIDs {
		add(g.Index)
		next = g.Index + 1
	}
	add(p.GIDTableSize)
	return strings.Join(out, ",")
}
