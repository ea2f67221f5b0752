package fabric

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Addressing chooses what the address of a general management packet (GMP: any but those of subnet
// management) needs besides LID and queue pair: the P_Key index, the service level, and the global
// route header. The zero value chooses what libibmad does: index 0, service level 0 and no header.
// Fields of an [Address] that the caller has set are kept.
//
// An Addressing belongs to a transport (see [AddressingOf]) and is used by the same goroutine.
type Addressing struct {
	// PKeys is the partition table of the local port; nil: unknown.
	PKeys []ib.PKey
	// PKeyIndex, if not nil, is used for all GMPs.
	PKeyIndex *uint16
	// LocalGID is the first GID of the local port. Its prefix is that of the subnet.
	LocalGID ib.GID
	// GRH puts a global route header into all GMPs whose destination's GID is known. It is set when
	// the kernel has refused a GMP without the header and accepted it with one: it reports such a
	// port (RDMA_CORE_CAP_IB_GRH_REQUIRED) to users of verbs only.
	GRH bool

	routes map[ib.LID]route
	trial  bool // the first datagram with a header is being sent
}

// route is what is known about the way to a LID.
type route struct {
	sl, hops, class uint8
	flow            uint32
	gid             ib.GID
	hasPath         bool // the fields above are valid: subnet administration has a path
	index           uint16
	hasIndex        bool      // index is that of a partition that both ports are in
	disjoint        bool      // the ports have no partition in common
	table           []ib.PKey // of the port there; nil: it was not read
}

// AddressingOf returns the addressing of a transport with the method Addressing() *Addressing; nil
// if it has none.
func AddressingOf(t Transport) *Addressing {
	if a, ok := t.(interface{ Addressing() *Addressing }); ok {
		return a.Addressing()
	}
	return nil
}

// partition is the partition number in a P_Key, which has full membership in its highest bit.
func partition(k ib.PKey) ib.PKey { return k &^ fullMember }

const fullMember ib.PKey = 0x8000

// ChoosePKey returns the index in the local port's table of the key for packets to a port with the
// remote table; nil: unknown. The default partition comes first, then keys with full membership,
// then the order of the table. Two limited members can't communicate (specification section
// 10.9.3), and partition 0 is not valid. false: there is no such key.
func ChoosePKey(local, remote []ib.PKey) (index uint16, ok bool) {
	best := -1
	for i, k := range local {
		if partition(k) == 0 || remote != nil && !admits(remote, k) {
			continue
		}
		if rank := rankOf(k); rank > best {
			index, best, ok = uint16(i), rank, true
		}
	}
	return index, ok
}

// rankOf orders keys for ChoosePKey.
func rankOf(k ib.PKey) (rank int) {
	if partition(k) == partition(ib.PKeyDefault) {
		rank = 2
	}
	if k.Full() {
		rank++
	}
	return rank
}

// admits reports whether a port with the table accepts packets with the key (specification section
// 10.9.3).
func admits(table []ib.PKey, k ib.PKey) bool {
	for _, own := range table {
		if partition(own) == partition(k) && (own.Full() || k.Full()) {
			return true
		}
	}
	return false
}

// LearnPaths adds paths from the local port, as subnet administration records them: the service
// level, the partition, and what a global route header needs.
func (a *Addressing) LearnPaths(paths []mad.PathRecord) {
	for i := range paths {
		p := &paths[i]
		r := a.routes[p.DLID]
		r.hasPath, r.sl, r.hops, r.class, r.flow, r.gid = true, p.SL, p.HopLimit, p.TClass, p.FlowLabel, p.DGID
		if index, ok := ChoosePKey(a.PKeys, []ib.PKey{p.PKey | fullMember}); ok {
			r.index, r.hasIndex, r.disjoint = index, true, false
		}
		a.set(p.DLID, r)
	}
}

// HasPath reports whether the path to a LID is known.
func (a *Addressing) HasPath(lid ib.LID) bool { return a.routes[lid].hasPath }

// Paths returns how many paths are known.
func (a *Addressing) Paths() (n int) {
	for _, r := range a.routes {
		if r.hasPath {
			n++
		}
	}
	return n
}

// LearnPKeys adds the partition table of the port at a LID, and reports whether that changes the
// index for it.
func (a *Addressing) LearnPKeys(lid ib.LID, table []ib.PKey) (changed bool) {
	r := a.routes[lid]
	before := a.indexFor(&r)
	index, ok := ChoosePKey(a.PKeys, table)
	r.table, r.disjoint = slices.Clone(table), !ok && len(a.PKeys) > 0
	if ok {
		r.index, r.hasIndex = index, true
	}
	a.set(lid, r)
	return ok && a.indexFor(&r) != before
}

func (a *Addressing) set(lid ib.LID, r route) {
	if a.routes == nil {
		a.routes = map[ib.LID]route{}
	}
	a.routes[lid] = r
}

// Forget drops what is known about destinations: a subnet manager may have changed it.
func (a *Addressing) Forget() { maps.DeleteFunc(a.routes, func(ib.LID, route) bool { return true }) }

// indexFor returns the P_Key index for a destination.
func (a *Addressing) indexFor(r *route) uint16 {
	switch {
	case a.PKeyIndex != nil:
		return *a.PKeyIndex
	case r.hasIndex:
		return r.index
	}
	index, _ := ChoosePKey(a.PKeys, nil)
	return index
}

// wellKnownSA is the GUID under which every subnet's administration can be addressed (kernel:
// IB_SA_WELL_KNOWN_GUID).
const wellKnownSA = 1<<57 | 2

// Apply completes the address of a packet of a class. It changes nothing in SMPs, whose queue pair
// is 0. The service level to subnet administration is the caller's, from PortInfo.
func (a *Addressing) Apply(to *Address, class mad.Class) {
	if a == nil || to.QPN == 0 {
		return
	}
	r := a.routes[to.LID]
	if to.PKeyIndex == 0 {
		to.PKeyIndex = a.indexFor(&r)
	}
	if r.hasPath && to.SL == 0 && class != mad.ClassSA {
		to.SL = r.sl
	}
	switch {
	case to.HasGRH:
		return
	case class == mad.ClassSA && to.GID.IsZero():
		to.GID = gidOf(a.prefix(), wellKnownSA)
	case r.hasPath && !r.gid.IsZero():
		to.GID, to.HopLimit, to.TrafficClass, to.FlowLabel = r.gid, r.hops, r.class, r.flow
		to.HasGRH = r.hops > 1 || r.gid.SubnetPrefix() != a.prefix() // a path through a router
	}
	to.HasGRH = to.HasGRH || a.GRH && !to.GID.IsZero()
}

// gidOf returns the GID of a prefix and a port GUID.
func gidOf(prefix ib.SubnetPrefix, guid uint64) (g ib.GID) {
	binary.BigEndian.PutUint64(g[:8], uint64(prefix))
	binary.BigEndian.PutUint64(g[8:], guid)
	return g
}

// prefix returns the subnet's prefix.
func (a *Addressing) prefix() ib.SubnetPrefix {
	if p := a.LocalGID.SubnetPrefix(); p != 0 {
		return p
	}
	return ib.SubnetPrefixDefault
}

// AddGRH reports whether a datagram that the transport has refused may be sent again with the
// global route header that it has added to the address. The kernel refuses an address without one
// at a port that requires it with EINVAL (rdma_check_ah_attr).
func (a *Addressing) AddGRH(to *Address, err error) bool {
	if a == nil || to.QPN == 0 || to.HasGRH || to.GID.IsZero() || !errors.Is(err, syscall.EINVAL) {
		return false
	}
	to.HasGRH, a.trial = true, true
	return true
}

// Accepted notes that the transport took a datagram: if that had the header that AddGRH has added,
// the port requires it.
func (a *Addressing) Accepted(to *Address) {
	if a != nil && a.trial {
		a.GRH, a.trial = a.GRH || to.HasGRH, false
	}
}

// Sent is how a request was addressed: what may be the reason that nobody answered.
type Sent struct {
	LID       ib.LID
	PKeyIndex uint16
	// PKey is the key at the index; 0: the local port's table is not known, or has none there.
	PKey ib.PKey
	SL   uint8
	// HasPath reports whether SL is that of a path which subnet administration has recorded.
	HasPath bool
	GRH     bool
	// TableRead reports whether the other port's partition table was read: the port is alive.
	TableRead bool
	// Outside reports whether that table accepts no packets with PKey, and Disjoint whether it has
	// no partition in common with the local port.
	Outside, Disjoint bool
}

// Sent describes the address of a packet that was sent. It must not be called with nil.
func (a *Addressing) Sent(to *Address) Sent {
	s := Sent{LID: to.LID, PKeyIndex: to.PKeyIndex, SL: to.SL, GRH: to.HasGRH}
	s.GRH = s.GRH || a.GRH && !to.GID.IsZero() // the header that AddGRH has added
	if int(to.PKeyIndex) < len(a.PKeys) {
		s.PKey = a.PKeys[to.PKeyIndex]
	}
	s.HasPath = a.routes[to.LID].hasPath
	a.compare(&s)
	return s
}

// compare fills in what the partition table of the other port, if it was read, says.
func (a *Addressing) compare(s *Sent) {
	r := a.routes[s.LID]
	s.TableRead, s.Disjoint = r.table != nil, r.disjoint
	s.Outside = s.TableRead && s.PKey != 0 && !admits(r.table, s.PKey)
}

// Complete adds to the error of a request without an answer what LearnPKeys has found since.
func (a *Addressing) Complete(err error) {
	if e, ok := errors.AsType[unanswered](err); ok && a != nil && e.howSent() != nil {
		a.compare(e.howSent())
	}
}

// String returns "P_Key 0x7fff (limited member), SL 0, no GRH".
func (s Sent) String() string {
	key := fmt.Sprintf("P_Key index %d", s.PKeyIndex)
	switch {
	case s.PKey.Full():
		key = fmt.Sprintf("P_Key %s (full member)", s.PKey)
	case s.PKey != 0:
		key = fmt.Sprintf("P_Key %s (limited member)", s.PKey)
	}
	grh := "no GRH"
	if s.GRH {
		grh = "GRH"
	}
	return fmt.Sprintf("%s, SL %d, %s", key, s.SL, grh)
}

// unanswered is an error that matches [ErrNoAnswer] and has the address of the request.
type unanswered interface {
	error
	howSent() *Sent
}

// SentOf returns how the request was addressed whose error matches [ErrNoAnswer]; false for SMPs
// and other errors.
func SentOf(err error) (Sent, bool) {
	if e, ok := errors.AsType[unanswered](err); ok && e.howSent() != nil {
		return *e.howSent(), true
	}
	return Sent{}, false
}

// SentError adds how a request was addressed to the error of a request that nobody answered.
type SentError struct {
	Err  error // matches [ErrNoAnswer]
	Sent Sent
}

// Error returns "no answer to 3 tries in 3s, sent with P_Key 0xffff (full member), SL 0, no GRH".
func (e *SentError) Error() string { return e.Err.Error() + ", sent with " + e.Sent.String() }

// Unwrap returns the cause.
func (e *SentError) Unwrap() error { return e.Err }

func (e *SentError) howSent() *Sent { return &e.Sent }

func (e *NoAnswerError) howSent() *Sent { return e.Sent }
