package fabric

import (
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// maxGuesses is how many M_Keys are tried, besides the default, with a node about which nothing is
// known. OpenSM and ibdiagnet try none: they take the key of the port that the file neighbors has
// at this place, or else the default (osm_req.c, req_determine_mkey; mkey_mngr.h,
// getMkeyFromDRPath). But without that file, a few keys for the whole subnet are common, and a node
// that isn't found hides all that is behind it. There must not be many: an agent counts each wrong
// key (PortInfo.M_KeyViolations), reports it with trap 256, and starts the lease period of its
// M_Key, which ends the protection unless the subnet manager reacts (specification section 14.2.4).
const maxGuesses = 4

// keySet has a bit for each index of sweep.guesses, and the highest for the expected key.
type keySet uint8

const expectedKey keySet = 1 << 7

// keyOf returns the key for a task. If it finds a node, it is the first key that has not been
// tried, with its bit; a bit of 0: all have been tried.
func (s *sweep) keyOf(t task) (key uint64, bit keySet) {
	keys := &s.options.Keys
	switch {
	case t.kind == kindNode:
		return s.nextKey(t)
	case t.kind == kindMaster:
		return s.masterKey(t), 0
	case t.kind.byLID():
		n := t.owner.node
		return keys.PM.Of(n.Ports[t.arg].GUID, n.GUID()), 0
	}
	n := s.states[t.owner.node.GUID()]
	if key, own := n.keys[uint8(t.arg)]; own && t.hasPort() {
		return key, 0
	}
	return n.key, 0
}

// nextKey returns the M_Key to try with an unknown node.
func (s *sweep) nextKey(t task) (key uint64, bit keySet) {
	expected, known := s.expected(t)
	if known && t.tried&expectedKey == 0 {
		return expected, expectedKey
	}
	for i := range s.guesses {
		switch { // the first one goes first, the others follow in their order
		case i == 0:
			i = s.first
		case i <= s.first:
			i--
		}
		if bit := keySet(1) << i; t.tried&bit == 0 && !(known && s.guesses[i] == expected) {
			return s.guesses[i], bit
		}
	}
	return 0, 0
}

// expected returns the M_Key of the port that should be at the end of a task's route.
func (s *sweep) expected(t task) (key uint64, known bool) {
	keys := &s.options.Keys
	if t.owner == nil {
		return keys.M.find(localGUID(s.engine.transport))
	}
	if key, known = keys.behind(t.owner.node.Ports[t.arg].GUID, uint8(t.arg)); known {
		return key, true
	}
	if s.options.Previous == nil {
		return 0, false
	}
	was := s.options.Previous.Port(PortID{t.owner.node.GUID(), uint8(t.arg)})
	if was == nil || !was.HasPeer() {
		return 0, false
	}
	return keys.M.find(s.options.Previous.Port(was.Peer).GUID, was.Peer.Node)
}

// masterKey returns the M_Key of the port with the LID of a task.
func (s *sweep) masterKey(t task) uint64 {
	keys := &s.options.Keys
	lid := ib.LID(t.arg)
	to := Target{LID: lid}
	if id := s.topology.managerPort(lid, ib.GUID{}); id != (PortID{}) {
		to.Node, to.Port = id.Node, s.topology.Port(id).GUID
	}
	return keys.of(&keys.M, to)
}

// needsPort reports whether the M_Key for a LID can be known only once its port has been found.
func (s *sweep) needsPort(lid ib.LID) bool {
	keys := &s.options.Keys
	return len(keys.M.ByGUID) > 0 && keys.LIDs[lid].IsZero() && s.topology.managerPort(lid, ib.GUID{}) == (PortID{})
}

// learnKey notes the M_Key with which a node answered at one of its ports. It is right for reading,
// whatever the files have. If another key had failed before, it is the first guess from now on:
// nodes without a key accept any.
func (s *sweep) learnKey(q *request, n *nodeState, local uint8) {
	if q.key != n.key && !n.node.IsSwitch() {
		if n.keys == nil {
			n.keys = map[uint8]uint64{}
		}
		n.keys[local] = q.key
	}
	for i := range s.guesses {
		if q.tried != 0 && q.bit == keySet(1)<<i {
			s.first = i
		}
	}
}

// causes returns what a request without an answer could mean.
func (s *sweep) causes(q *request, err error) []string {
	if !isSilence(err) {
		return nil
	}
	silence := SilenceOf(err, mad.ClassSubnetDirected, Address{}, q.key)
	switch {
	case q.kind == kindNode:
		silence.Own = q.owner == nil
		silence.Keys = s.triedKeys(q)
	case q.kind == kindMaster:
		silence.Class = mad.ClassSubnet
	case q.kind.byLID():
		silence.Class, silence.Answered = mad.ClassPerformance, true
	default:
		silence.Answered = true
	}
	return silence.Causes()
}

// triedKeys returns the M_Keys that a request for a node was sent with.
func (s *sweep) triedKeys(q *request) (keys []uint64) {
	if q.tried&expectedKey != 0 {
		key, _ := s.expected(q.task)
		keys = append(keys, key)
	}
	for i, key := range s.guesses {
		if q.tried&(1<<i) != 0 {
			keys = append(keys, key)
		}
	}
	return keys
}
