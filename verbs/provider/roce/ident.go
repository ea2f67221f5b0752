package roce

import "net/netip"

// identification follows the IPv4 identification of a peer's packets. The ICRC
// covers the field, but a UDP socket doesn't show it. There are two kinds of
// senders: those whose socket sends 0, or the place of the segment within a batch
// (engines like this one), and those that count (the kernel's rxe, which shares
// its counter with others and lets it jump with time).
type identification struct {
	counts    bool   // the last packet was of a sender that counts
	known     bool   // last is from a packet that was accepted
	last      uint16 // identification of the last accepted packet
	suspect   bool   // candidate is from the packet before, which was refused
	candidate uint16

	peer  netip.Addr
	users int // queue pairs; guarded by the engine's mu
}

// identify returns what is known of a peer's identifications, for one more queue
// pair. All of them share it: a queue pair that hears nothing for a while would not
// know how far the others' packets have taken the counter. Everything but users
// belongs to whoever receives.
func (e *Engine) identify(peer netip.Addr) *identification {
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

// forget is called when a queue pair leaves a peer, with the engine's mu held.
func (e *Engine) forget(id *identification) {
	if id == nil {
		return
	}
	if id.users--; id.users == 0 {
		delete(e.idents, id.peer)
	}
}

// maxJump is how far a counting sender's identification may move on between two
// packets. It wins back four bits of the sixteen that recovering the field costs.
const maxJump = 1 << 12

// sound reports whether the ICRC of a datagram is right. k is its place in the
// batch that it arrived in.
func (qp *queuePair) sound(datagram []byte, k int, port uint16) bool {
	f := &qp.in
	f.SourcePort = port
	if !f.IsIPv4() {
		return f.Check(datagram) == 0
	}
	id := qp.ident
	f.ID = uint16(k)
	if id.counts {
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
	return id.judge(found, k)
}

func (id *identification) accept(value uint16) {
	id.last, id.known, id.suspect = value, true, false
}

// judge decides on a packet whose check is right under another identification than
// the expected one.
func (id *identification) judge(found uint16, k int) bool {
	switch {
	case id.counts && id.known && found-id.last < maxJump: // first: a counter passes 0 as well
	case id.counts && id.known && id.last-found <= maxLate:
		id.suspect = false
		return true
	case int(found) == k || found < maxSegmentsOfBatch && !id.counts:
		id.counts = false
	case !id.known, id.suspect && found-id.candidate < maxJump:
		id.counts = true
	case found >= maxSegmentsOfBatch && found-id.last <= maxSegmentsOfBatch: // a counter that began low
		id.counts = true
	default:
		// It may be damaged, or the sender may be another kind than it was: the next
		// one, which will be sent again if this one is missed, decides.
		id.suspect, id.candidate = true, found
		return false
	}
	id.accept(found)
	return true
}

// maxLate is how far behind the last one a counting sender's identification may be:
// the kernel's rxe numbers packets on one processor while another sends, so that they
// overtake each other.
const maxLate = 1 << 10

// maxSegmentsOfBatch bounds the identifications of a sender that doesn't count.
const maxSegmentsOfBatch = 64
