package capture

import (
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Mark is a place in a capture.
type Mark struct {
	Packet int       // number, from 1, as Wireshark counts
	Time   time.Time // zero if the format has none
	PSN    ib.PSN
	Opcode ib.Opcode
	// Syndrome is that of the packet, if its opcode has one.
	Syndrome ib.Syndrome
}

// Event counts something, with its first and its last place.
type Event struct {
	Count       int
	First, Last Mark
}

func markOf(p *packet) Mark {
	m := Mark{Packet: p.number, PSN: p.BTH.PSN, Opcode: p.BTH.Opcode}
	if !p.noTime {
		m.Time = time.Unix(0, p.at).UTC()
	}
	if p.BTH.Opcode.Layout()&ib.LayoutAETH != 0 {
		m.Syndrome = p.AETH.Syndrome
	}
	return m
}

func (e *Event) add(p *packet) { e.addMark(markOf(p)) }

func (e *Event) addMark(m Mark) { e.addRun(m, m, 1) }

// addRun adds n packets from first to last.
func (e *Event) addRun(first, last Mark, n int) {
	if e.Count == 0 {
		e.First = first
	}
	e.Count += n
	e.Last = last
}

// FlowKey names a flow: packets of one direction to one queue pair.
type FlowKey struct {
	Source, Destination Address
	DestQP              ib.QPN
}

// Range is the smallest and the largest value of a field.
type Range struct{ Min, Max int }

func (r *Range) add(v int, first bool) {
	if first {
		r.Min, r.Max = v, v
		return
	}
	r.Min, r.Max = min(r.Min, v), max(r.Max, v)
}

// Flow is what one queue pair sent to another, requests and responses.
type Flow struct {
	FlowKey
	Transport Transport
	Packets   int
	Bytes     int64 // of whole frames
	Payload   int64 // of transport packets, without padding
	First     Mark
	Last      Mark
	Opcodes   map[ib.Opcode]int

	// Partner is the index in Report.Flows of the other direction, or -1; PairedBy says how it was
	// found, and why not.
	Partner  int
	PairedBy Pairing

	Requests  Requests
	Responses Responses

	DSCPs       map[uint8]int // packets by code point, without CNPs
	HopLimits   Range         // TTL of IPv4
	Priorities  []uint8       // PCPs of VLAN tags
	Untagged    int
	SourcePorts int // UDP source ports; 17 means more than 16
	Marked      Event
	CNPs        Event
	ICRCRight   int
	ICRCWrong   Event
	ICRCZero    Event // zeros in place of a CRC: not filled in where the packet was captured
	ICRCUnknown int   // not judged
	MaxGap      time.Duration
	MaxGapAt    Mark // the packet after the longest silence
	Unknown     Event
	// Tail are the last packets, oldest first.
	Tail []Mark
}

// Requests is the requester's part of a flow.
type Requests struct {
	Packets  int // with repeated ones
	Messages int // last packets of messages, each counted once
	Reads    int // READ requests, each counted once
	Atomics  int
	First    Mark
	Last     Mark
	// NextPSN is the number after the highest one.
	NextPSN ib.PSN
	// PMTU is the payload of first and middle packets, 0 if there were none; PMTUs counts how many
	// different ones were seen.
	PMTU, PMTUs int
	// Missing counts numbers that were passed over, and Holes those of them that never came.
	Missing Event
	Holes   int
	Lost    int // passed over, and sent again later
	// Reordered counts packets that came after later ones, without a reason to send them again.
	Reordered  Event
	Duplicates Event // second copies, next to the first one
	Repeated   Event // sent again by the requester
	// Timeouts counts how often the requester went back without a NAK that was seen, and
	// RepeatInterval is the time between the last two.
	Timeouts       Event
	RepeatInterval time.Duration
	// AnsweredRepeats counts packets that were sent again after their answer was seen.
	AnsweredRepeats Event
	// Unanswered counts how often the requester went back since the last response.
	Unanswered Event
	Restarts   Event // jumps to numbers far away: another connection with the same queue pair
	// LargestAnswered is the payload of the largest packet that a response has acknowledged, and
	// OldestUnanswered that of the first one behind the last acknowledged one, -1 if there is none.
	LargestAnswered, OldestUnanswered int
	// OutstandingReads is how many READs were without a complete response at the end.
	OutstandingReads int
}

// Responses is the responder's part of a flow.
type Responses struct {
	Packets     int
	First, Last Mark
	ACKs        int
	NAKs        map[ib.Syndrome]Event // without RNR NAKs
	RNRs        Event
	RNRTimers   map[uint8]int // by timer code
	Reads       int           // complete responses to READs
	ReadPackets int
	Atomics     int
	PMTU, PMTUs int // of first and middle packets
	// Missing counts packets of READ responses that were passed over.
	Missing Event
	// LostBefore and LostBehind count NAKs for a missing request, by whether the capture has it: it
	// was lost before the capture's point or behind it. Both are 0 without a partner. LateNAKs
	// counts those that follow from packets that came behind later ones.
	LostBefore, LostBehind, LateNAKs Event
}

// Pairing is how the two directions of a connection were found to belong together.
type Pairing string

// The ways.
const (
	PairedByCM     Pairing = "CM messages"
	PairedByPSN    Pairing = "sequence numbers"
	PairedByOnly   Pairing = "only flows between the two addresses"
	PairNone       Pairing = "no flow in the other direction"
	PairAmbiguous  Pairing = "unpaired: several flows in the other direction fit"
	PairNotJudged  Pairing = "not a connection"
	pairUndecided  Pairing = ""
	maxPorts               = 16
	maxPSNJump             = 1 << 16 // numbers: a longer jump is another connection
	historyLen             = 32
	tailLen                = 6
	duplicateAge           = int64(time.Millisecond)
	maxOpenGaps            = 64
	maxVotes               = 64
	voteCandidates         = 1024
)

// between is the traffic from one address to another.
type between struct {
	key     addressPair
	flows   []*flow
	packets int
	last    Mark
}

type addressPair struct{ source, dest Address }

// flow is a Flow that is being read.
type flow struct {
	Flow
	opcodes    [256]uint32
	ports      [maxPorts]uint16
	pcps       uint8 // bits by priority
	tail       [tailLen]Mark
	lastAt     int64
	seq        sequence
	to, back   *between // this direction and the other one
	partner    *flow
	votes      int
	ambiguous  bool
	older      *flow // list by use
	newer      *flow
	read       readState
	readMTU    int
	nak        nakState
	hole       holeState // of the responses to this flow's READs
	acked      ib.PSN    // of the partner's responses, by which this flow's requests are acknowledged
	hasAcked   bool
	lastBackAt int64 // when the requester went back
	index      int
}

// readState is where a flow is in the packets of a READ response.
type readState struct {
	active bool
	unsure bool // packets before the next one may be there without their headers
	next   ib.PSN
}

// holeState is the first packet of READ responses that is missing.
type holeState struct {
	valid bool
	psn   ib.PSN
}

// nakState is the last NAK for requests of a flow.
type nakState struct {
	valid bool
	psn   ib.PSN
	at    int64
}

// add counts a packet.
func (f *flow) add(p *packet) {
	m := markOf(p)
	first := f.Packets == 0
	if first {
		f.First = m
	} else if gap := time.Duration(p.at - f.lastAt); gap > f.MaxGap {
		f.MaxGap, f.MaxGapAt = gap, m
	}
	f.lastAt, f.Last = p.at, m
	f.tail[f.Packets%tailLen] = m
	f.Packets++
	f.Bytes += int64(p.length)
	f.Payload += int64(p.payloadLen)
	f.opcodes[p.BTH.Opcode]++
	f.addHeaders(p, first)
	switch {
	case p.unknownOpcode:
		f.Unknown.add(p)
		f.seq = sequence{}
	case p.BTH.Opcode == ib.OpcodeCongestionNotification:
		f.CNPs.add(p)
	case p.BTH.Opcode.Layout()&ib.LayoutResponse != 0:
		f.response(p)
	default:
		f.request(p)
	}
}

func (f *flow) addHeaders(p *packet, first bool) {
	switch p.icrc {
	case icrcRight:
		f.ICRCRight++
	case icrcWrong:
		f.ICRCWrong.add(p)
	case icrcZero:
		f.ICRCZero.add(p)
	case icrcUnknown:
		f.ICRCUnknown++
	}
	if p.tagged {
		f.pcps |= 1 << p.pcp
	} else {
		f.Untagged++
	}
	if p.transport == TransportRoCEv2 {
		f.addPort(p.sourcePort)
	}
	if p.source.GID.IsZero() {
		return // without an IP or global route header
	}
	f.HopLimits.add(int(p.hopLimit), first)
	if p.BTH.Opcode != ib.OpcodeCongestionNotification {
		if f.DSCPs == nil {
			f.DSCPs = map[uint8]int{}
		}
		f.DSCPs[p.dscp()]++
	}
	if p.ecn() == ecnCE {
		f.Marked.add(p)
	}
}

func (f *flow) addPort(port uint16) {
	n := min(f.SourcePorts, maxPorts)
	if slices.Contains(f.ports[:n], port) {
		return
	}
	if n < maxPorts {
		f.ports[n] = port
	}
	f.SourcePorts = n + 1
}

// response counts a packet of the responder.
func (f *flow) response(p *packet) {
	r, l := &f.Responses, p.BTH.Opcode.Layout()
	r.Last = markOf(p)
	if r.Packets == 0 {
		r.First = r.Last
	}
	r.Packets++
	if l&ib.LayoutAETH != 0 {
		f.syndrome(p)
	}
	switch p.BTH.Opcode {
	case ib.OpcodeRCReadResponseFirst, ib.OpcodeRCReadResponseMiddle, ib.OpcodeRCReadResponseLast,
		ib.OpcodeRCReadResponseOnly:
		f.readResponse(p, l)
	case ib.OpcodeRCAtomicAcknowledge:
		r.Atomics++
	}
}

func (f *flow) syndrome(p *packet) {
	r, s := &f.Responses, p.AETH.Syndrome
	switch {
	case s.IsACK():
		if p.BTH.Opcode == ib.OpcodeRCAcknowledge {
			r.ACKs++
		}
	case s.IsRNR():
		r.RNRs.add(p)
		if r.RNRTimers == nil {
			r.RNRTimers = map[uint8]int{}
		}
		r.RNRTimers[s.RNRTimer()]++
	default:
		if r.NAKs == nil {
			r.NAKs = map[ib.Syndrome]Event{}
		}
		e := r.NAKs[s]
		e.add(p)
		r.NAKs[s] = e
	}
}

func (f *flow) readResponse(p *packet, l ib.Layout) {
	r, s := &f.Responses, &f.read
	r.ReadPackets++
	if l&ib.LayoutLast == 0 {
		addMTU(&r.PMTU, &r.PMTUs, p.payloadLen)
	}
	if missing := s.missing(f.partner, p.BTH.PSN, l); missing > 0 && r.ReadPackets > 1 {
		r.Missing.addRun(markOf(p), markOf(p), missing)
		if g := f.partner; g != nil && !g.hole.valid {
			g.hole = holeState{true, p.BTH.PSN.Add(-missing)}
		}
	}
	if g := f.partner; g != nil && g.hole.psn == p.BTH.PSN {
		g.hole.valid = false
	}
	s.unsure = false
	s.active, s.next = l&ib.LayoutLast == 0, p.BTH.PSN.Add(1)
	if l&ib.LayoutLast != 0 {
		r.Reads++
	}
}

// missing returns how many packets of the response are missing before one. The responses to a READ
// that was sent again from a later number need not say so by their opcodes: those of rxe go on in
// the middle of the first response, so the requests decide where a response begins.
func (s *readState) missing(requests *flow, psn ib.PSN, l ib.Layout) int {
	if l&ib.LayoutFirst != 0 || s.unsure {
		return 0
	}
	first := s.next
	if !s.active {
		var known bool
		if requests == nil {
			return 1 // at least the first one
		}
		if first, known = requests.seq.requestOf(psn); !known {
			return 1
		}
	}
	if d := psn.Sub(first); d > 0 && d < maxPSNJump {
		return d
	}
	return 0
}

// addMTU notes the payload of a first or middle packet.
func addMTU(mtu, kinds *int, payload int) {
	if *kinds == 0 || *mtu != payload {
		*kinds++
		*mtu = max(*mtu, payload)
	}
}

// finish fills in what is kept in another form while packets are read.
func (f *flow) finish() {
	f.Opcodes = map[ib.Opcode]int{}
	for o, n := range f.opcodes {
		if n > 0 {
			f.Opcodes[ib.Opcode(o)] = int(n)
		}
	}
	for pcp := range uint8(8) {
		if f.pcps&(1<<pcp) != 0 {
			f.Priorities = append(f.Priorities, pcp)
		}
	}
	n := min(f.Packets, tailLen)
	for i := range n {
		f.Tail = append(f.Tail, f.tail[(f.Packets-n+i)%tailLen])
	}
	f.finishRequests()
}
