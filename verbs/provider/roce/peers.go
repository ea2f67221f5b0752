package roce

import (
	"hash/maphash"
	"net/netip"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// peer is an address that packets come from. All queue pairs connected to it share it: an idle one
// would not see how far packets for the other ones have advanced the sender's counter.
type peer struct {
	addr  netip.Addr
	flow  rocev2.Flow // of the packet that is being checked
	ident identification
	users int // connected queue pairs; guarded by the engine's mu
}

// init prepares the peer for packets to local.
func (p *peer) init(addr netip.Addr, local ib.GID) {
	*p = peer{addr: addr, flow: rocev2.Flow{
		Source: ib.GIDFromAddr(addr), Destination: local, DestinationPort: rocev2.Port, DontFragment: true,
	}}
}

// maxUnknown limits the addresses that no queue pair is connected to and that an engine remembers.
const maxUnknown = 256

// peers are the addresses that packets come from. The fields of a peer but users belong to the
// goroutine that is receiving, as does unknown.
type peers struct {
	local ib.GID
	known map[netip.Addr]*peer // of connected queue pairs; guarded by the engine's mu
	// unknown is a hash table of fixed size for the other addresses, each of which replaces the
	// one in its place: a flood of addresses costs no memory, and what is lost is learned again
	// from the next packet.
	unknown []peer
	seed    maphash.Seed
}

func (s *peers) init(local ib.GID) {
	s.local, s.known, s.seed = local, map[netip.Addr]*peer{}, maphash.MakeSeed()
}

// peerAt returns the peer at an address that the queue pair of a packet isn't connected to.
func (e *Engine) peerAt(addr netip.Addr) *peer {
	e.mu.RLock()
	p := e.peers.known[addr]
	e.mu.RUnlock()
	if p == nil {
		p = e.peers.unknownPeer(addr)
	}
	return p
}

// unknownPeer returns the peer at an address that no queue pair is connected to.
func (s *peers) unknownPeer(addr netip.Addr) *peer {
	if s.unknown == nil {
		s.unknown = make([]peer, maxUnknown)
	}
	p := &s.unknown[maphash.Comparable(s.seed, addr)%maxUnknown]
	if p.addr != addr {
		p.init(addr, s.local)
	}
	return p
}

// acquirePeer returns the peer at an address and counts one more queue pair that is connected to
// it.
func (e *Engine) acquirePeer(addr netip.Addr) *peer {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.peers.known[addr]
	if p == nil {
		p = &peer{}
		p.init(addr, e.gid)
		e.peers.known[addr] = p
	}
	p.users++
	return p
}

// releasePeer drops a queue pair's use of p, which may be nil. The engine's mu is held.
func (e *Engine) releasePeer(p *peer) {
	if p == nil {
		return
	}
	if p.users--; p.users == 0 {
		delete(e.peers.known, p.addr)
	}
}
