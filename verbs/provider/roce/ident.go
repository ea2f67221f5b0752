package roce

import "net/netip"

// identification tracks the IPv4 identification of a peer's packets. The ICRC covers the
// field, but a UDP socket doesn't report it. There are two kinds of senders: those that send
// 0 or the index of the segment within a batch (engines like this one), and those that use a
// counter (the kernel's rxe, which shares its counter with other senders and advances it with
// time).
type identification struct {
	counting  bool   // the sender of the last packet uses a counter
	known     bool   // last is valid
	last      uint16 // identification of the last accepted packet
	suspect   bool   // candidate is valid: the previous packet was dropped
	candidate uint16 // identification of the previous packet

	peer  netip.Addr
	users int // queue pairs connected to this peer; guarded by the engine's mu
}

// acquireIdentification returns the identification state of a peer and counts one more queue pair
// that uses it. All queue pairs connected to a peer share it: an idle queue pair would not
// see how far packets of the other ones have advanced the counter. All fields but users are
// accessed only by the goroutine that is receiving.
func (e *Engine) acquireIdentification(peer netip.Addr) *identification {
	e.mu.Lock()
	defer e.mu.Unlock()
	id := e.idents[peer]
	if id == nil {
		id = &identification{peer: peer}
		e.idents[peer] = id
	}
	id.users++
	return id
}

// releaseIdentification drops a queue pair's use of id, which may be nil. The engine's mu is held.
func (e *Engine) releaseIdentification(id *identification) {
	if id == nil {
		return
	}
	if id.users--; id.users == 0 {
		delete(e.idents, id.peer)
	}
}

// maxJump is how far the counter of a sender may advance between two packets. The limit restores
// four of the sixteen bits of error detection that recovering the field costs.
const maxJump = 1 << 12

// verifyICRC reports whether the ICRC of a datagram is valid. k is its index within the batch
// that it arrived in.
func (qp *queuePair) verifyICRC(datagram []byte, k int, port uint16) bool {
	f := &qp.in
	f.SourcePort = port
	if !f.IsIPv4() {
		return f.Check(datagram) == 0
	}
	id := qp.ident
	f.ID = uint16(k)
	if id.counting {
		f.ID = id.last + 1
	}
	diff := f.Check(datagram)
	if diff == 0 {
		id.accept(f.ID)
		return true
	}
	found, ok := f.Recover(len(datagram), diff)
	if !ok {
		return false
	}
	return id.valid(found, k)
}

// accept records the identification of an accepted packet.
func (id *identification) accept(value uint16) {
	id.last, id.known, id.suspect = value, true, false
}

// valid reports whether to accept a packet whose ICRC is correct for the identification found
// instead of the expected one, and updates the state.
func (id *identification) valid(found uint16, k int) bool {
	switch {
	case id.counting && id.known && found-id.last < maxJump: // first, since a counter also reaches 0
	case id.counting && id.known && id.last-found <= maxLate:
		id.suspect = false
		return true
	case int(found) == k || found < maxSegmentsOfBatch && !id.counting:
		id.counting = false
	case !id.known, id.suspect && found-id.candidate < maxJump:
		id.counting = true
	case found >= maxSegmentsOfBatch && found-id.last <= maxSegmentsOfBatch: // a counter that started near 0
		id.counting = true
	default:
		// Either the packet is corrupted, or the kind of sender has changed. Drop this packet,
		// which will be retransmitted; the next one decides.
		id.suspect, id.candidate = true, found
		return false
	}
	id.accept(found)
	return true
}

// maxLate is how far behind the last accepted packet the counter of a sender may be: the
// kernel's rxe may number a packet on one CPU while another CPU sends, so that packets
// overtake each other.
const maxLate = 1 << 10

// maxSegmentsOfBatch is the limit of the identifications of a sender without a counter.
const maxSegmentsOfBatch = 64
