package fabric

import (
	"maps"
	"slices"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Keys are the management keys of a subnet: agents answer requests of a class only with the right
// one. The zero value has 0 for all, which agents without a key accept.
//
// All of these keys are at byte 24 of their datagrams. The sources: for the M_Key, section 14.2.1
// of the specification; for the VS_Key, mstflint (mtcr_ib_ofed.c); for the PM_Key, the layouts of
// ibis, the library of ibdiagnet (packets_layouts.h, MAD_PerformanceManagement), while the
// specification reserves these bytes. The CC_Key of congestion control (libibmad, IB_CC_CCKEY_F, at
// the same place) is missing here, because nothing in this module sends class 0x21.
type Keys struct {
	M  KeyTable // M_Keys: subnet management
	PM KeyTable // PM_Keys: performance management, that is counters
	VS KeyTable // VS_Keys: NVIDIA's vendor class 0x0a, that is registers
	// Neighbors has the other end of cables, by the GUID and number of a port, as OpenSM's file
	// neighbors. Before a node has answered, only its place is known, and this tells who should be
	// there.
	Neighbors map[PortID]PortID
	// LIDs has the port GUIDs of LIDs, as OpenSM's file guid2lid: for requests to a LID alone.
	LIDs map[ib.LID]ib.GUID
}

// KeyTable has the keys of one class.
type KeyTable struct {
	// Default is the key of all ports that aren't in ByGUID.
	Default uint64
	// ByGUID has keys by the GUID of a port or of a node. OpenSM and ibdiagnet list ports: port 0
	// of a switch, each port of an adapter.
	ByGUID map[ib.GUID]uint64
}

// Of returns the key of the first GUID that has one: that of the port should come before that of
// the node. Without any it is the default.
func (t *KeyTable) Of(guids ...ib.GUID) uint64 {
	key, _ := t.find(guids...)
	return key
}

// find is Of that also reports whether one of the GUIDs has a key of its own.
func (t *KeyTable) find(guids ...ib.GUID) (key uint64, listed bool) {
	for _, guid := range guids {
		if key, listed = t.ByGUID[guid]; listed {
			return key, true
		}
	}
	return t.Default, false
}

// distinct returns the different keys: the default, and the others in ascending order. It stops
// after one more than the limit of the others.
func (t *KeyTable) distinct(limit int) []uint64 {
	seen := map[uint64]bool{t.Default: true}
	for _, key := range t.ByGUID {
		if seen[key] = true; len(seen) > limit+1 {
			break
		}
	}
	delete(seen, t.Default)
	return append([]uint64{t.Default}, slices.Sorted(maps.Keys(seen))...)
}

// behind returns the key of the port at the other end of a cable, by OpenSM's neighbors.
func (k *Keys) behind(port ib.GUID, number uint8) (key uint64, listed bool) {
	peer, known := k.Neighbors[PortID{port, number}]
	if !known {
		return 0, false
	}
	return k.M.find(peer.Node)
}

// of returns the key of a table for the destination of a request.
func (k *Keys) of(t *KeyTable, to Target) uint64 {
	guids := []ib.GUID{to.Port, to.Node}
	if to.LID != 0 {
		guids = append(guids, k.LIDs[to.LID])
	}
	return t.Of(guids...)
}
