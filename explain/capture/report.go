package capture

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"
)

// Options limit what [Read] keeps. The zero value has useful limits.
type Options struct {
	// MaxFlows is how many flows are kept, 16384 if 0; each takes about 4 KiB. Those that were
	// silent for the longest time are dropped and counted.
	MaxFlows int
}

const defaultMaxFlows = 1 << 14

// Report is what a capture contains.
type Report struct {
	Format     string // pcap or pcapng
	Packets    int
	Bytes      int64 // of whole frames, including what a snap length cut off
	First      time.Time
	Last       time.Time
	Transports map[Transport]int // transport packets
	Other      int               // packets that are neither RDMA nor about it
	Snapped    int               // transport packets of which a part is missing
	Malformed  Event
	Why        string // what is wrong with the first malformed packet
	Cut        Event  // RDMA packets without their headers, because of the snap length
	Fragments  Event
	Links      map[string]int // packets of unsupported link types, by name
	// CaptureDropped is how many packets the capturing system lost, as far as it says so.
	CaptureDropped uint64

	Flows       []Flow // in order of their first packets
	Connections []Connection
	Neighbors   []Neighbor // addresses whose link address was requested
	Errors      []PathError
	// DroppedFlows and DroppedPackets are those beyond Options.MaxFlows.
	DroppedFlows, DroppedPackets int

	Findings []Finding
	// NotJudged says what the capture can't show.
	NotJudged []string
}

// Neighbor is an IP address whose link address was requested by ARP or neighbor discovery.
type Neighbor struct {
	Target, Sender netip.Addr // Sender is the last one that asked
	Requests       Event
	Unanswered     Event // since the last sign of the target
}

// PathError are ICMP errors of one kind about RoCE v2 packets from one address to another.
type PathError struct {
	Source, Destination Address
	From                netip.Addr
	Name                Name // NameICMPFragNeeded, NameICMPUnreachable or NameICMPTimeExceeded
	MTU                 int  // of the next hop, 0 if it isn't known
	Code                uint8
	Event
}

// Read reads a capture to its end. If the file is damaged or ends too early, the report of what was
// read is returned together with an error that names the packet; an error that matches [ErrFormat]
// has no report.
func Read(r io.Reader, o Options) (*Report, error) {
	src, err := open(r)
	if err != nil {
		return nil, err
	}
	limit := o.MaxFlows
	if limit <= 0 {
		limit = defaultMaxFlows
	}
	a := &analysis{
		Report:  Report{Format: src.format, Transports: map[Transport]int{}, Links: map[string]int{}},
		flows:   newFlows(max(2, limit)),
		cm:      newManager(),
		known:   map[netip.Addr]*Neighbor{},
		trouble: map[troubleKey]*PathError{},
	}
	err = src.walk(a.add)
	for _, n := range src.dropped {
		a.CaptureDropped += n
	}
	a.finish()
	return &a.Report, err
}

// maxNeighbors limits tables by address.
const maxNeighbors = 4096

type troubleKey struct {
	pair   addressPair
	reason icmpReason
	code   uint8
	from   netip.Addr
}

// analysis is a Report that is being made.
type analysis struct {
	Report
	flows   *flows
	cm      *manager
	known   map[netip.Addr]*Neighbor
	trouble map[troubleKey]*PathError
}

// add counts a packet.
func (a *analysis) add(p *packet) {
	a.Packets++
	a.Bytes += int64(p.length)
	if !p.noTime {
		at := time.Unix(0, p.at).UTC()
		if a.First.IsZero() {
			a.First = at
		}
		a.Last = at
	}
	switch p.kind {
	case kindTransport:
		a.Transports[p.transport]++
		if !p.whole {
			a.Snapped++
		}
		a.flows.add(p)
		a.cm.read(p, a.flows)
	case kindNeighbor:
		a.addNeighbor(p)
		return
	case kindError:
		a.addError(p)
	case kindFragment:
		a.Fragments.add(p)
	case kindMalformed:
		if a.Malformed.Count == 0 {
			a.Why = p.why
		}
		a.Malformed.add(p)
	case kindCut:
		a.Cut.add(p)
		if p.hasBTH {
			a.flows.skip(p)
		}
	case kindLink:
		if len(a.Links) < maxNeighbors {
			a.Links[p.why]++
		}
	case kindOther:
		a.Other++
	}
	if len(a.known) > 0 && p.source != (Address{}) {
		a.alive(p.source.GID.Addr())
	}
}

// alive notes a sign of an address.
func (a *analysis) alive(addr netip.Addr) {
	if n := a.known[addr]; n != nil {
		n.Unanswered = Event{}
	}
}

func (a *analysis) addNeighbor(p *packet) {
	m := &p.neighbor
	a.alive(m.sender)
	if !m.request {
		a.alive(m.target)
		return
	}
	if !m.sender.IsValid() || m.sender.IsUnspecified() {
		return // a probe of an own address
	}
	n := a.known[m.target]
	if n == nil {
		if len(a.known) >= maxNeighbors {
			return
		}
		n = &Neighbor{Target: m.target}
		a.known[m.target] = n
	}
	n.Sender = m.sender
	n.Requests.add(p)
	n.Unanswered.add(p)
}

func (a *analysis) addError(p *packet) {
	e := &p.trouble
	key := troubleKey{addressPair{e.source, e.dest}, e.reason, e.code, e.from}
	known := a.trouble[key]
	if known == nil {
		if len(a.trouble) >= maxNeighbors {
			return
		}
		name := NameICMPUnreachable
		switch e.reason {
		case icmpTooBig:
			name = NameICMPFragNeeded
		case icmpTimeExceeded:
			name = NameICMPTimeExceeded
		case icmpUnreachable:
		}
		known = &PathError{Source: e.source, Destination: e.dest, From: e.from, Name: name, Code: e.code}
		a.trouble[key] = known
	}
	known.MTU = e.mtu
	known.add(p)
}

// finish turns what was collected into the lists of the report, and judges it.
func (a *analysis) finish() {
	a.flows.decide()
	all := make([]*flow, 0, len(a.flows.byKey))
	for f := a.flows.oldest; f != nil; f = f.newer {
		all = append(all, f)
	}
	slices.SortFunc(all, func(f, g *flow) int { return f.First.Packet - g.First.Packet })
	for i, f := range all {
		f.index = i
	}
	for _, f := range all {
		if f.partner != nil {
			f.Partner = f.partner.index
			f.Requests.OutstandingReads = max(0, f.Requests.Reads-f.partner.Responses.Reads)
		}
		f.finish()
		a.Flows = append(a.Flows, f.Flow)
	}
	a.DroppedFlows, a.DroppedPackets = a.flows.dropped, a.flows.droppedPackets
	for _, c := range a.cm.order {
		a.Connections = append(a.Connections, *c)
	}
	for _, n := range a.known {
		a.Neighbors = append(a.Neighbors, *n)
	}
	slices.SortFunc(a.Neighbors, func(m, n Neighbor) int {
		return m.Requests.First.Packet - n.Requests.First.Packet
	})
	for _, e := range a.trouble {
		a.Errors = append(a.Errors, *e)
	}
	slices.SortFunc(a.Errors, func(d, e PathError) int { return d.First.Packet - e.First.Packet })
	a.judge(all)
}

// StoppedFirst returns which of the two directions of a connection has the earlier last packet: the
// index i of a flow or that of its partner. Without a partner it is -1.
func (r *Report) StoppedFirst(i int) int {
	j := r.Flows[i].Partner
	switch {
	case j < 0:
		return -1
	case r.Flows[i].Last.Packet < r.Flows[j].Last.Packet:
		return i
	}
	return j
}

// Label returns a flow as text, such as "192.0.2.1 → 192.0.2.2 QP 0x000012".
func (k FlowKey) Label() string {
	return fmt.Sprintf("%s → %s QP %s", k.Source, k.Destination, k.DestQP)
}
