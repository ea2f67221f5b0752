package capture

import (
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// sent is a request packet of a flow's recent past.
type sent struct {
	psn     ib.PSN
	at      int64
	payload int
	id      uint16 // of the IPv4 header
}

// gap is a range of numbers that were passed over, from first to the one before end.
type gap struct {
	first, end ib.PSN
	at         int64
	id         uint16 // IPv4 identification of the packet that passed them over
}

// sequence follows the packet sequence numbers of a flow's requests.
type sequence struct {
	started bool
	next    ib.PSN // after the highest one
	gaps    []gap  // oldest first
	history [historyLen]sent
	n       int // packets in history, ever
	settled int // how many of them a response has acknowledged

	// doubt is a run of packets that may be sent again, or be copies or late: that depends on the
	// packet after them. next is the number that a requester that went back would send then.
	doubt struct {
		packets int
		filled  bool // into a gap, not repeated
		next    ib.PSN
		first   Mark
		firstAt int64
		last    Mark
	}
	// overtakenBy are the numbers from the last packet that came behind later ones to the highest
	// one then.
	overtaken   bool
	overtakenBy gap
	// late is the last packet that filled a gap after a NAK. If it comes again without another NAK,
	// it was not sent again the first time, but late.
	late struct {
		valid bool
		mark  Mark
		nakAt int64
	}
	answeredRun bool   // the run of repeated packets begins with one whose answer was seen
	running     bool   // the last packet was sent again
	runNext     ib.PSN // its successor

	order    sendOrder
	expected expectation
	refilled [8]refilled
	refills  int

	lastRead struct { // the READ at the end of the sequence, if its number of packets is a guess
		valid bool
		psn   ib.PSN
		reth  ib.RETH
	}
}

// position is where a number is in a sequence.
type position uint8

const (
	positionNext   position = iota
	positionAhead           // numbers were passed over
	positionGap             // one of those
	positionBehind          // seen, or before the first one
	positionFar             // another connection
)

// place finds the position of a number, and how many numbers it passes over.
func (s *sequence) place(psn ib.PSN) (position, int) {
	d := psn.Sub(s.next)
	switch {
	case d == 0:
		return positionNext, 0
	case d >= maxPSNJump || d <= -maxPSNJump*4:
		return positionFar, d
	case d > 0:
		return positionAhead, d
	}
	if s.gapOf(psn) >= 0 {
		return positionGap, 0
	}
	return positionBehind, 0
}

func (s *sequence) gapOf(psn ib.PSN) int {
	for i, g := range s.gaps {
		if !psn.Before(g.first) && psn.Before(g.end) {
			return i
		}
	}
	return -1
}

// open notes that numbers from s.next to before that of a packet were passed over.
func (s *sequence) open(p *packet) {
	if len(s.gaps) < maxOpenGaps {
		s.gaps = append(s.gaps, gap{s.next, p.BTH.PSN, p.at, p.id})
	}
}

// fill removes span numbers from psn on from the gap with index i, and returns the gap.
func (s *sequence) fill(i int, psn ib.PSN, span int) gap {
	g := s.gaps[i]
	end := psn.Add(span)
	if g.end.Before(end) {
		end = g.end
	}
	rest := make([]gap, 0, 2)
	if g.first.Before(psn) {
		rest = append(rest, gap{g.first, psn, g.at, g.id})
	}
	if end.Before(g.end) {
		rest = append(rest, gap{end, g.end, g.at, g.id})
	}
	s.gaps = append(s.gaps[:i:i], append(rest, s.gaps[i+1:]...)...)
	return g
}

// holes returns how many numbers are still missing.
func (s *sequence) holes() int {
	n := 0
	for _, g := range s.gaps {
		n += g.end.Sub(g.first)
	}
	return n
}

// original finds the last packet with a number in the history.
func (s *sequence) original(psn ib.PSN) (age int, at int64, ok bool) {
	for i := s.n - 1; i >= 0 && i >= s.n-historyLen; i-- {
		if h := s.history[i%historyLen]; h.psn == psn {
			return s.n - 1 - i, h.at, true
		}
	}
	return 0, 0, false
}

func (s *sequence) remember(p *packet) {
	s.history[s.n%historyLen] = sent{p.BTH.PSN, p.at, p.payloadLen, p.id}
	s.n++
}

// request counts a packet of the requester.
func (f *flow) request(p *packet) {
	r, l := &f.Requests, p.BTH.Opcode.Layout()
	r.Last = markOf(p)
	if r.Packets == 0 {
		r.First = r.Last
	}
	r.Packets++
	if l&ib.LayoutLast == 0 {
		addMTU(&r.PMTU, &r.PMTUs, p.payloadLen)
	}
	if p.BTH.Opcode.IsUD() {
		r.Messages++ // datagrams to a queue pair are not numbered in sequence
		return
	}
	s := &f.seq
	if !s.started {
		s.started, s.next = true, p.BTH.PSN
	}
	f.resolveRead(p)
	where, distance := s.place(p.BTH.PSN)
	order := s.order.add(p)
	f.resolveDoubt(p, where)
	fresh := true
	switch where {
	case positionFar:
		r.Restarts.add(p)
		*s = sequence{started: true, next: p.BTH.PSN}
		f.hasAcked, f.nak.valid = false, false
	case positionAhead:
		r.Missing.add(p)
		r.Missing.Count += distance - 1
		s.open(p)
		s.next = p.BTH.PSN
	case positionGap:
		f.fillGap(p, order)
	case positionBehind:
		fresh = false
		f.repeat(p, order)
	}
	if fresh {
		f.fresh(p, l, where)
	}
	s.expected.add(p.BTH.PSN, f.span(p))
	s.remember(p)
}

// fresh counts a request packet that wasn't seen before.
func (f *flow) fresh(p *packet, l ib.Layout, where position) {
	r, s := &f.Requests, &f.seq
	s.running = where == positionGap && s.running
	if l&ib.LayoutLast != 0 {
		r.Messages++
	}
	switch p.BTH.Opcode {
	case ib.OpcodeRCReadRequest:
		r.Reads++
	case ib.OpcodeRCCompareSwap, ib.OpcodeRCFetchAdd:
		r.Atomics++
	}
	if where == positionGap {
		return
	}
	s.lastRead.valid = false
	span := 1
	if p.BTH.Opcode == ib.OpcodeRCReadRequest {
		var sure bool
		span, sure = f.readSpan(int(p.RETH.DMALength))
		if !sure {
			s.lastRead.valid, s.lastRead.psn, s.lastRead.reth = true, p.BTH.PSN, p.RETH
		}
	}
	s.next = p.BTH.PSN.Add(span)
}

// readSpan returns how many numbers a READ of a length takes, one for each packet of its response.
// Without a known path MTU it is the least possible number, and not sure.
func (f *flow) readSpan(length int) (span int, sure bool) {
	mtu := f.knownMTU()
	sure = mtu > 0 || length <= int(ib.MTU256)
	if mtu == 0 {
		mtu = int(ib.MTU4096)
	}
	return packets(length, mtu), sure
}

// knownMTU returns the path MTU, or 0 as long as no packet has shown it.
func (f *flow) knownMTU() int {
	mtu := max(f.Requests.PMTU, f.readMTU)
	if mtu == 0 && f.partner != nil {
		mtu = f.partner.Responses.PMTU
	}
	return mtu
}

// resolveRead finds how many numbers the last READ has taken: by the path MTU if a packet has shown
// it since, and otherwise the path MTU by the number of the packet p after it.
func (f *flow) resolveRead(p *packet) {
	s := &f.seq
	if !s.lastRead.valid {
		return
	}
	mtu := f.knownMTU()
	if mtu == 0 {
		mtu = s.mtuByNext(p)
		f.readMTU = mtu
	}
	if mtu > 0 {
		s.lastRead.valid = false
		s.next = s.lastRead.psn.Add(packets(int(s.lastRead.reth.DMALength), mtu))
	} else if !p.BTH.PSN.Before(s.next) {
		s.lastRead.valid = false
	}
}

// mtuByNext returns the path MTU with which the packet p follows the last READ, or asks for the
// rest of it; 0 if there is none, or if the number doesn't tell.
func (s *sequence) mtuByNext(p *packet) int {
	last, distance := &s.lastRead, p.BTH.PSN.Sub(s.lastRead.psn)
	for mtu := ib.MTU256; mtu <= ib.MTU2048; mtu *= 2 {
		if asksRest(p, &last.reth, distance*int(mtu)) {
			return int(mtu)
		}
	}
	for mtu := ib.MTU2048; mtu >= ib.MTU256 && p.BTH.PSN != s.next; mtu /= 2 {
		if distance == packets(int(last.reth.DMALength), int(mtu)) {
			return int(mtu)
		}
	}
	return 0
}

// asksRest reports whether a packet is a READ again, without the first bytes, which have arrived.
func asksRest(p *packet, of *ib.RETH, arrived int) bool {
	rest := ib.RETH{
		VirtualAddress: of.VirtualAddress + uint64(arrived), RKey: of.RKey, DMALength: of.DMALength - uint32(arrived),
	}
	return p.BTH.Opcode == ib.OpcodeRCReadRequest && arrived > 0 && arrived < int(of.DMALength) && p.RETH == rest
}

// packets returns how many packets a message takes.
func packets(length, mtu int) int { return max(1, (length+mtu-1)/mtu) }

// refused reports whether a NAK or RNR NAK for psn or an earlier number was seen after a time.
func (f *flow) refused(psn ib.PSN, after int64) bool {
	return f.nak.valid && f.nak.at >= after && !psn.Before(f.nak.psn)
}

// fillGap counts a packet that was passed over before.
func (f *flow) fillGap(p *packet, order turn) {
	s := &f.seq
	g := s.fill(s.gapOf(p.BTH.PSN), p.BTH.PSN, f.span(p))
	opened := g.at
	switch {
	case order == turnLate:
		f.Requests.Reordered.add(p)
		s.overtaken, s.overtakenBy = true, gap{first: p.BTH.PSN, end: s.next}
	case order == turnNewer:
		s.noteRefilled(p.BTH.PSN, g.id)
		f.Requests.Lost++
		f.again(markOf(p), p.at, p.BTH.PSN.Add(f.span(p)))
	case s.running && s.runNext == p.BTH.PSN, f.refused(p.BTH.PSN, opened), p.at-opened >= duplicateAge:
		if f.refused(p.BTH.PSN, opened) && !s.running {
			s.late.valid, s.late.mark, s.late.nakAt = true, markOf(p), f.nak.at
		}
		f.Requests.Lost++
		f.again(markOf(p), p.at, p.BTH.PSN.Add(f.span(p)))
	default:
		f.suspect(p, true)
	}
}

// wasLate reports whether a NAK for a number comes from a packet that was late: it asks for that
// one, or for one that had overtaken it and that the responder has discarded.
func (f *flow) wasLate(psn ib.PSN) bool {
	s := &f.seq
	return s.overtaken && !psn.Before(s.overtakenBy.first) && psn.Before(s.overtakenBy.end)
}

// repeat counts a packet whose number was seen before.
func (f *flow) repeat(p *packet, order turn) {
	s, psn := &f.seq, p.BTH.PSN
	if order == turnLate {
		f.lateCopy(p)
		return
	}
	if l := &s.late; l.valid && l.mark.PSN == psn && l.nakAt == f.nak.at {
		l.valid = false
		f.Requests.Lost--
		f.Requests.Repeated.Count--
		f.Requests.Reordered.addMark(l.mark)
	}
	age, at, known := s.original(psn)
	switch {
	case !p.BTH.Opcode.IsRC():
		f.Requests.Duplicates.add(p)
	case order == turnNewer, s.running && s.runNext == psn, f.refused(psn, at), !known, p.at-at >= duplicateAge:
		f.again(markOf(p), p.at, p.BTH.PSN.Add(f.span(p)))
	case age == 0:
		f.Requests.Duplicates.add(p)
	default:
		f.suspect(p, false)
	}
}

// suspect begins or continues a run of packets in doubt.
func (f *flow) suspect(p *packet, filled bool) {
	d := &f.seq.doubt
	if d.packets > 0 && d.filled == filled && d.next == p.BTH.PSN {
		d.packets++
	} else {
		d.packets, d.filled, d.first, d.firstAt = 1, filled, markOf(p), p.at
		if filled {
			f.seq.overtaken, f.seq.overtakenBy = true, gap{first: p.BTH.PSN, end: f.seq.next}
		}
	}
	d.last, d.next = markOf(p), p.BTH.PSN.Add(f.span(p))
}

// resolveDoubt decides about the packets in doubt by the one after them: a requester that went back
// goes on with the numbers behind, and has seen them before.
func (f *flow) resolveDoubt(p *packet, where position) {
	d, r := &f.seq.doubt, &f.Requests
	if d.packets == 0 {
		return
	}
	follows := d.next == p.BTH.PSN
	if follows && d.filled && where == positionGap {
		return // fillGap continues the run
	}
	n := d.packets
	d.packets = 0
	switch {
	case follows && where == positionBehind:
		if d.filled {
			r.Lost += n
		}
		f.again(d.first, d.firstAt, d.next)
		r.Repeated.Count += n - 1
		r.Repeated.Last = d.last
	case d.filled:
		r.Reordered.addRun(d.first, d.last, n)
	default:
		r.Duplicates.addRun(d.first, d.last, n)
	}
}

// again counts a packet that the requester sent again; next is the number after it, or after the
// run that it begins.
func (f *flow) again(m Mark, at int64, next ib.PSN) {
	r, s := &f.Requests, &f.seq
	wentBack := !s.running || s.runNext != m.PSN
	if wentBack {
		r.Unanswered.addMark(m)
		_, before, _ := s.original(m.PSN)
		if !f.refused(m.PSN, before) {
			r.Timeouts.addMark(m)
			if f.lastBackAt != 0 {
				r.RepeatInterval = time.Duration(at - f.lastBackAt)
			}
		}
		f.lastBackAt = at
	}
	r.Repeated.addMark(m)
	if wentBack {
		s.answeredRun = f.hasAcked && !f.acked.Before(m.PSN)
	}
	if s.answeredRun && !f.acked.Before(m.PSN) {
		r.AnsweredRepeats.addMark(m)
	}
	s.running, s.runNext = true, next
}

// span returns how many numbers a request takes.
func (f *flow) span(p *packet) int {
	if p.BTH.Opcode != ib.OpcodeRCReadRequest {
		return 1
	}
	n, _ := f.readSpan(int(p.RETH.DMALength))
	return n
}

// answered is called for each response to the flow's requests.
func (f *flow) answered(p *packet) {
	r, s := &f.Requests, &f.seq
	r.Unanswered = Event{}
	psn := p.BTH.PSN
	refused := p.BTH.Opcode.Layout()&ib.LayoutAETH != 0 && !p.AETH.Syndrome.IsACK()
	if refused {
		f.nak = nakState{true, psn, p.at}
		psn = psn.Add(-1) // everything before is acknowledged
	}
	s.expected.answered(psn.Add(1), refused)
	if f.hole.valid && !psn.Before(f.hole.psn) { // what is missing of a READ is not answered
		psn = f.hole.psn.Add(-1)
	}
	if f.hasAcked && !f.acked.Before(psn) {
		return
	}
	f.acked, f.hasAcked = psn, true
	for s.settled = max(s.settled, s.n-historyLen); s.settled < s.n; s.settled++ {
		h := s.history[s.settled%historyLen]
		if psn.Before(h.psn) {
			break
		}
		r.LargestAnswered = max(r.LargestAnswered, h.payload)
	}
}

// finishRequests decides what is left open at the end of a capture.
func (f *flow) finishRequests() {
	r, s := &f.Requests, &f.seq
	if d := &s.doubt; d.packets > 0 {
		e := &r.Duplicates
		if d.filled {
			e = &r.Reordered
		}
		e.addRun(d.first, d.last, d.packets)
		d.packets = 0
	}
	r.NextPSN, r.Holes = s.next, s.holes()
	r.OldestUnanswered = -1
	for i := max(0, s.n-historyLen); i < s.n && r.OldestUnanswered < 0; i++ {
		if h := s.history[i%historyLen]; f.hasAcked && f.acked.Add(1) == h.psn {
			r.OldestUnanswered = h.payload
		}
	}
}
