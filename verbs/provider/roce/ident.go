package roce

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
}

// maxJump is how far the counter of a sender may advance between two packets. The limit restores
// four of the sixteen bits of error detection that recovering the field costs.
const maxJump = 1 << 12

// verifyICRC reports whether the ICRC of a datagram is valid. k is its index within the batch
// that it arrived in.
//
// A packet that is out of place is dropped once, since it will be repeated; a datagram won't be,
// and with lenient it is accepted: 16 bits of error detection remain.
func (p *peer) verifyICRC(datagram []byte, k int, port uint16, lenient bool) bool {
	f, id := &p.flow, &p.ident
	f.SourcePort = port
	if !f.IsIPv4() {
		return f.Check(datagram) == 0
	}
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
	if !id.valid(found, k) {
		if !lenient {
			return false
		}
		id.counting = true
		id.accept(found)
	}
	return true
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
