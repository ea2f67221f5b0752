package capture

import "github.com/rdmakit/rdmakit/wire/ib"

// flows are the flows that are being read, as many as the limit allows: the one that was silent for
// the longest time is dropped for a new one.
type flows struct {
	limit          int
	byKey          map[FlowKey]*flow
	between        map[addressPair]*between
	oldest, newest *flow
	last           *flow // of the last packet: most packets follow one of the same flow
	peers          map[FlowKey]FlowKey
	dropped        int
	droppedPackets int
}

func newFlows(limit int) *flows {
	return &flows{
		limit: limit, byKey: map[FlowKey]*flow{}, between: map[addressPair]*between{}, peers: map[FlowKey]FlowKey{},
	}
}

// add counts a transport packet.
func (s *flows) add(p *packet) *flow {
	key := FlowKey{p.source, p.dest, p.BTH.DestQP}
	f := s.last
	if f == nil || f.FlowKey != key {
		if f = s.byKey[key]; f == nil {
			f = s.create(key, p)
		}
		s.use(f)
		s.last = f
	}
	f.to.packets++
	f.to.last = markOf(p)
	f.add(p)
	if p.BTH.Opcode.Layout()&ib.LayoutResponse != 0 {
		s.answer(f, p)
	}
	return f
}

// skip notes a packet whose headers are cut off behind the BTH: its number is not missing, and it
// may be an answer.
func (s *flows) skip(p *packet) {
	f := s.byKey[FlowKey{p.source, p.dest, p.BTH.DestQP}]
	if f == nil {
		return
	}
	f.to.packets++
	f.seq, f.read = sequence{}, readState{unsure: true}
	if g := f.partner; g != nil {
		g.Requests.Unanswered = Event{}
	}
}

// answer connects a response with the requests that it answers.
func (s *flows) answer(f *flow, p *packet) {
	if f.partner == nil {
		f.vote(p)
	}
	g := f.partner
	if g == nil {
		return
	}
	if p.BTH.Opcode.Layout()&ib.LayoutAETH != 0 && p.AETH.Syndrome == ib.SyndromeNAKSequence && g.seq.started {
		switch where, _ := g.seq.place(p.BTH.PSN); {
		case g.wasLate(p.BTH.PSN), where == positionBehind && p.BTH.PSN == g.seq.expected.psn:
			f.Responses.LateNAKs.add(p) // it came behind a later one, or was discarded because of such a one
		case where == positionBehind:
			f.Responses.LostBehind.add(p)
		default:
			f.Responses.LostBefore.add(p)
		}
	}
	g.answered(p)
}

func (s *flows) create(key FlowKey, p *packet) *flow {
	if len(s.byKey) >= s.limit {
		s.drop(s.oldest)
	}
	f := &flow{Flow: Flow{FlowKey: key, Transport: p.transport, Partner: -1}}
	s.byKey[key] = f
	f.to = s.direction(key.Source, key.Destination)
	f.back = s.direction(key.Destination, key.Source)
	f.to.flows = append(f.to.flows, f)
	if peer, ok := s.peers[key]; ok {
		if g := s.byKey[peer]; g != nil {
			pair(f, g, PairedByCM)
		}
	}
	return f
}

func (s *flows) direction(source, dest Address) *between {
	key := addressPair{source, dest}
	b := s.between[key]
	if b == nil {
		b = &between{key: key}
		s.between[key] = b
	}
	return b
}

// use makes a flow the newest one.
func (s *flows) use(f *flow) {
	if s.newest == f {
		return
	}
	s.unlink(f)
	f.older, f.newer = s.newest, nil
	if s.newest != nil {
		s.newest.newer = f
	}
	s.newest = f
	if s.oldest == nil {
		s.oldest = f
	}
}

func (s *flows) unlink(f *flow) {
	if f.older != nil {
		f.older.newer = f.newer
	} else if s.oldest == f {
		s.oldest = f.newer
	}
	if f.newer != nil {
		f.newer.older = f.older
	} else if s.newest == f {
		s.newest = f.older
	}
	f.older, f.newer = nil, nil
}

func (s *flows) drop(f *flow) {
	s.dropped++
	s.droppedPackets += f.Packets
	s.unlink(f)
	delete(s.byKey, f.FlowKey)
	for i, g := range f.to.flows {
		if g == f {
			f.to.flows = append(f.to.flows[:i], f.to.flows[i+1:]...)
			break
		}
	}
	if len(f.to.flows) == 0 && len(f.back.flows) == 0 {
		delete(s.between, f.to.key)
		delete(s.between, f.back.key)
	}
	if f.partner != nil {
		f.partner.partner = nil
	}
	if s.last == f {
		s.last = nil
	}
}

// connect notes that two flows are the directions of a connection that begins now, by CM messages.
func (s *flows) connect(a, b FlowKey) {
	s.peers[a], s.peers[b] = b, a
	f, g := s.byKey[a], s.byKey[b]
	for _, old := range []*flow{f, g} {
		if old != nil {
			old.seq, old.hasAcked, old.nak, old.hole = sequence{}, false, nakState{}, holeState{}
		}
	}
	if f != nil && g != nil {
		pair(f, g, PairedByCM)
	}
}

func pair(f, g *flow, by Pairing) {
	for _, old := range []*flow{f.partner, g.partner} {
		if old != nil && old != f && old != g {
			old.partner, old.PairedBy = nil, pairUndecided
		}
	}
	f.partner, g.partner = g, f
	f.PairedBy, g.PairedBy = by, by
	f.ambiguous, g.ambiguous = false, false
}

// vote looks for the flow whose requests a response answers: the only one in the other direction,
// of those without a partner, that has recently sent the response's number.
func (f *flow) vote(p *packet) {
	if f.votes >= maxVotes {
		return
	}
	f.votes++
	candidates := f.back.flows
	if len(candidates) > voteCandidates {
		f.ambiguous = true
		return
	}
	var match *flow
	f.ambiguous = false
	for _, g := range candidates {
		if g.partner != nil || !g.sentRecently(p.BTH.PSN) {
			continue
		}
		if match != nil {
			f.ambiguous = true
			return
		}
		match = g
	}
	if match != nil {
		pair(f, match, PairedByPSN)
	}
}

// sentRecently reports whether the requests of a flow include a number.
func (f *flow) sentRecently(psn ib.PSN) bool {
	if !f.seq.started || f.Requests.Messages+f.Requests.Packets == 0 {
		return false
	}
	d := f.seq.next.Sub(psn)
	first := f.Requests.First.PSN
	return d > 0 && d <= maxPSNJump && (f.Requests.Restarts.Count > 0 || !psn.Before(first))
}

// isConnection reports whether a flow is part of a connection: not datagrams, and not only CNPs.
func (f *flow) isConnection() bool {
	if f.DestQP <= 1 {
		return false
	}
	for o, n := range f.opcodes {
		if op := ib.Opcode(o); n > 0 && op.Known() && (op.IsRC() || op.IsUC()) {
			return true
		}
	}
	return false
}

// decide pairs what is left when all packets are read.
func (s *flows) decide() {
	for f := s.oldest; f != nil; f = f.newer {
		switch {
		case f.partner != nil:
		case !f.isConnection():
			f.PairedBy = PairNotJudged
		case f.ambiguous:
			f.PairedBy = PairAmbiguous
		default:
			s.decideLast(f)
		}
	}
}

func (s *flows) decideLast(f *flow) {
	same, other := connections(f.to.flows), connections(f.back.flows)
	switch {
	case len(other) == 0:
		f.PairedBy = PairNone
	case len(same) == 1 && len(other) == 1 && other[0].partner == nil && f.votes == 0 && other[0].votes == 0:
		pair(f, other[0], PairedByOnly)
	default:
		f.PairedBy = PairAmbiguous
	}
}

func connections(all []*flow) []*flow {
	var out []*flow
	for _, f := range all {
		if f.isConnection() {
			out = append(out, f)
		}
	}
	return out
}
