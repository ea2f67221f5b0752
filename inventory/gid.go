package inventory

import (
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// FirstGIDOnly reports whether the recording of a RoCE port has one entry of the GID table: tools
// such as ibstatus print the default GID alone, and no RoCE card has a table of one entry.
func (p *Port) FirstGIDOnly() bool {
	return p.LinkLayer == LinkLayerEthernet && p.Transport.HasGIDs() && p.GIDTableSize == 1
}

// RoutableGID returns the entry of the GID table that traffic between subnets should
// use: RoCE v2 before v1, IPv4 before IPv6, the lowest index first, never link-local. On
// InfiniBand, iWARP and EFA it is the first entry.
func (p *Port) RoutableGID() (GIDEntry, bool) {
	if p.LinkLayer == LinkLayerInfiniBand || !p.Transport.HasGIDs() {
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

// PortGUID returns the GUID of an InfiniBand port, from entry 0 of its GID table (IBTA volume 1,
// section 4.1.1); nil if it isn't known, and for other link layers.
func (p *Port) PortGUID() *ib.GUID {
	if p.LinkLayer != LinkLayerInfiniBand {
		return nil
	}
	for _, e := range p.GIDs {
		if guid := e.GID.PortGUID(); e.Index == 0 && !guid.IsZero() {
			return &guid
		}
	}
	return nil
}

// gidScore ranks a RoCE entry; 0 means that it can't be routed.
func gidScore(g GIDEntry) int {
	if g.GID.IsLinkLocal() || g.GID.HasZeroInterfaceID() {
		return 0
	}
	score := 1
	if a, ok := g.GID.IPv4(); ok && a.IsLinkLocalUnicast() {
		return score // 169.254/16: a link-local address, not a configured one
	}
	if g.Type == GIDTypeRoCEv2 {
		score += 2
	}
	if _, ok := g.GID.IPv4(); ok {
		score++
	}
	return score
}

// GIDGaps returns the indices of the empty entries of the GID table as ranges, "0-1,4-15"; "" if
// there are none.
func (p *Port) GIDGaps() string {
	var out []string
	next := 0
	add := func(end int) { // the entries from next to end-1 are empty
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
