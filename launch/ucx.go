package launch

import "github.com/rdmakit/rdmakit/inventory"

// ucxChoice returns what UCX does with a port if no variable is set (UCX_IB_GID_INDEX=auto); nil if
// it is not known.
func ucxChoice(p *inventory.Port) *AutoChoice {
	if p.Transport == inventory.TransportIWARP || p.Transport == inventory.TransportEFA {
		return nil
	}
	if used, why := ncclUses(p); !used { // the conditions are the same
		return &AutoChoice{Index: -1, Note: why}
	}
	index, ok := ucxGID(p)
	if !ok {
		return &AutoChoice{Index: -1, Note: "the GID table is empty"}
	}
	return &AutoChoice{Used: true, Index: index, Note: indexFault(p, index)}
}

// ucxGID returns the lowest index of the best rank. A global IPv6 address ranks before a link-local
// one, as in UCX since the end of 2025; earlier versions used the lower index of the two.
func ucxGID(p *inventory.Port) (index int, ok bool) {
	if p.LinkLayer == inventory.LinkLayerInfiniBand {
		return flidIndex(tableOf(p)), true
	}
	best := 0
	for _, e := range p.GIDs {
		if r := ucxRank(e); r > best {
			best, index = r, e.Index
		}
	}
	return index, best > 0
}

// ucxRank orders entries: version 2 before 1; IPv4, then global IPv6, then link-local.
func ucxRank(e inventory.GIDEntry) int {
	version := gidVersion(e)
	if version == 0 || e.GID.IsZero() {
		return 0
	}
	rank := 3 * (version - 1)
	switch {
	case e.GID.Addr().Is4():
		return rank + 3
	case e.GID.IsLinkLocal():
		return rank + 1
	}
	return rank + 2
}
