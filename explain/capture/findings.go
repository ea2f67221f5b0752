package capture

import (
	"fmt"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Finding is something that a capture shows.
type Finding struct {
	Description
	// Flow is the index in Report.Flows of the flow that it is about, or -1; Other is that of the
	// other direction, or -1.
	Flow, Other int
	Where       string // the flow, or the addresses
	Count       int
	Summary     string // one sentence with the figures
	Evidence    []Evidence
	// Follows is the index in Report.Findings of the finding about the same connection that this
	// one follows from, -1 if it stands by itself, as that one does.
	Follows int
}

// Evidence is a packet that shows a finding.
type Evidence struct {
	Mark
	What string
}

// String returns the packet's number, its time after the start of the day, and what it shows.
func (e Evidence) String() string {
	at := ""
	if !e.Time.IsZero() {
		at = e.Time.Format(" 15:04:05.000000")
	}
	return fmt.Sprintf("packet %d%s: %s", e.Packet, at, e.What)
}

// evidence returns the first and the last place of an event.
func (e *Event) evidence(what string) []Evidence {
	if e.Count == 0 {
		return nil
	}
	out := []Evidence{{e.First, what}}
	if e.Last.Packet != e.First.Packet {
		out = append(out, Evidence{e.Last, what + ", the last one"})
	}
	return out
}

// find adds a finding about a flow.
func (a *analysis) find(n Name, f *flow, count int, summary string, evidence ...[]Evidence) {
	a.place(Finding{Flow: f.index, Other: f.Partner, Where: f.Label(), Count: count}, n, summary, evidence)
}

// findAt adds a finding that isn't about a flow.
func (a *analysis) findAt(n Name, where string, count int, summary string, evidence ...[]Evidence) {
	a.place(Finding{Flow: -1, Other: -1, Where: where, Count: count}, n, summary, evidence)
}

func (a *analysis) place(f Finding, n Name, summary string, evidence [][]Evidence) {
	f.Description, f.Summary, f.Follows = description(n), summary, -1
	for _, e := range evidence {
		f.Evidence = append(f.Evidence, e...)
	}
	a.Findings = append(a.Findings, f)
}

// judge finds what the flows and tables show. all are the flows of the report, in their order.
func (a *analysis) judge(all []*flow) {
	total := 0
	for _, n := range a.Transports {
		total += n
	}
	if total+a.Cut.Count+a.Malformed.Count == 0 {
		a.findAt(NameNoRoCE, "", a.Packets, fmt.Sprintf("%s, none of RDMA", counted(a.Packets, "packet")))
	}
	for _, f := range all {
		a.judgeNAKs(f)
		a.judgeAnswers(f)
		a.judgeLoss(f)
		a.judgeMTU(f)
		a.judgeICRC(f)
		a.judgeCongestion(f)
		a.judgeHeaders(f)
	}
	a.judgeStrangers(all)
	a.judgeConnections()
	a.judgePath()
	a.relate(all)
	a.limits(all)
}

// counted returns a number with a noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// round shortens a duration to three digits.
func round(d time.Duration) time.Duration {
	for unit := time.Second; unit > time.Nanosecond; unit /= 10 {
		if d >= unit*100 {
			return d.Round(unit)
		}
	}
	return d
}

// judgePath looks at what is not a transport packet.
func (a *analysis) judgePath() {
	for _, n := range a.Neighbors {
		if n.Unanswered.Count < 2 || !a.concerns(n) {
			continue
		}
		a.findAt(NameARPUnanswered, n.Target.String(), n.Unanswered.Count,
			fmt.Sprintf("%s asked %d times for the link address of %s, without an answer", n.Sender, n.Unanswered.Count,
				n.Target), n.Unanswered.evidence("request for the link address"))
	}
	for _, e := range a.Errors {
		where := e.Source.String() + " → " + e.Destination.String()
		a.findAt(e.Name, where, e.Count, pathSummary(&e), e.evidence("ICMP error"))
	}
	if e := a.Fragments; e.Count > 0 {
		a.findAt(NameFragments, "", e.Count, fmt.Sprintf("%s of RoCE packets", counted(e.Count, "first fragment")),
			e.evidence("first fragment"))
	}
	if e := a.Malformed; e.Count > 0 {
		a.findAt(NameMalformed, "", e.Count, fmt.Sprintf("%s, the first: %s", counted(e.Count, "packet"), a.Why),
			e.evidence("malformed"))
	}
}

func pathSummary(e *PathError) string {
	what := fmt.Sprintf("%s from %s", counted(e.Count, "ICMP error"), e.From)
	switch {
	case e.Name == NameICMPFragNeeded && e.MTU > 0:
		return fmt.Sprintf("%s: the next link takes %d bytes", what, e.MTU)
	case e.Name == NameICMPFragNeeded:
		return what + ": too big, without the size that fits"
	}
	return fmt.Sprintf("%s, code %d", what, e.Code)
}

// concerns reports whether a request for a link address is about RDMA: of one of the ends, or there
// is none in the capture at all.
func (a *analysis) concerns(n Neighbor) bool {
	for _, f := range a.Flows {
		for _, end := range []Address{f.Source, f.Destination} {
			if addr := end.GID.Addr(); addr == n.Target || addr == n.Sender {
				return true
			}
		}
	}
	return len(a.Flows) == 0
}

// judgeConnections looks at the messages of the communication manager.
func (a *analysis) judgeConnections() {
	for i := range a.Connections {
		c := &a.Connections[i]
		where := fmt.Sprintf("%s QP %s → %s", c.Client, c.ClientQP, c.Server)
		switch {
		case c.unanswered():
			summary := counted(c.Requests.Count, "REQ") + " without an answer"
			if c.Requests.Count == 0 {
				summary = "the client gives up; its requests were before the capture"
			}
			a.findAt(NameCMUnanswered, where, max(1, c.Requests.Count), summary, c.Requests.evidence("REQ"),
				c.Rejected.evidence("the client gives up"))
		case c.Rejected.Count > 0:
			a.findAt(NameCMRejected, where, c.Rejected.Count, "the connection was rejected: "+c.refusal(),
				c.Requests.evidence("REQ"), c.Rejected.evidence("rejected"))
		}
		if a.byIP(c) && c.ClientQP != 0 && (c.ClientGID != c.Client.GID || c.ServerGID != c.Server.GID) {
			a.findAt(NameGIDMismatch, where, c.Requests.Count,
				fmt.Sprintf("the REQ is for a path from %s to %s", c.ClientGID.Addr(), c.ServerGID.Addr()),
				c.Requests.evidence("REQ"))
		}
	}
}

// byIP reports whether the addresses of a connection are the GIDs of RoCE v2.
func (a *analysis) byIP(c *Connection) bool {
	return c.Client.LID == 0 && !c.Client.GID.IsZero() && a.Transports[TransportRoCEv2] > 0 &&
		a.Transports[TransportRoCEv1]+a.Transports[TransportInfiniBand] == 0
}

// limits says what the capture can't show.
func (a *analysis) limits(all []*flow) {
	note := func(format string, args ...any) { a.NotJudged = append(a.NotJudged, fmt.Sprintf(format, args...)) }
	if a.CaptureDropped > 0 {
		note("the capturing system lost %d packets: missing numbers can be its own", a.CaptureDropped)
	}
	if a.Snapped > 0 {
		note("ICRC of %s that the snap length cut", counted(a.Snapped, "packet"))
	}
	if a.Cut.Count > 0 {
		note("%s of RDMA without their headers: the snap length is too small", counted(a.Cut.Count, "packet"))
	}
	if a.DroppedFlows > 0 {
		note("%s with %s beyond the limit of flows", counted(a.DroppedFlows, "flow"),
			counted(a.DroppedPackets, "packet"))
	}
	if n := a.cm.dropped; n > 0 {
		note("%s beyond the limit", counted(n, "connection"))
	}
	for name, n := range a.Links {
		note("%s of %s, which is not supported", counted(n, "packet"), name)
	}
	ambiguous, begun := 0, 0
	for _, f := range all {
		if f.PairedBy == PairAmbiguous {
			ambiguous++
		}
		if f.hadBegun() {
			begun++
		}
	}
	if ambiguous > 0 {
		note("which directions belong together, of %s", counted(ambiguous, "flow"))
	}
	if begun > 0 {
		note("what was before the capture: %s had begun", counted(begun, "flow"))
	}
}

// hadBegun reports whether the capture begins in the middle of a flow's message.
func (f *flow) hadBegun() bool {
	o := f.Requests.First.Opcode
	return f.Requests.Packets > 0 && o.Layout()&ib.LayoutFirst == 0 && (o.IsRC() || o.IsUC())
}

func join(parts []string) string { return strings.Join(parts, "; ") }
