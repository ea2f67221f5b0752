package capture

import (
	"fmt"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// judgeNAKs looks at what the responder of a flow refused.
func (a *analysis) judgeNAKs(f *flow) {
	r := &f.Responses
	syndromes := make([]ib.Syndrome, 0, len(r.NAKs))
	for s := range r.NAKs {
		syndromes = append(syndromes, s)
	}
	slices.Sort(syndromes)
	for _, s := range syndromes {
		e, name := r.NAKs[s], NameNAKOther
		switch s {
		case ib.SyndromeNAKSequence:
			continue // see judgeLoss
		case ib.SyndromeNAKInvalidRequest:
			name = NameNAKInvalid
		case ib.SyndromeNAKRemoteAccess:
			name = NameNAKAccess
		case ib.SyndromeNAKRemoteError:
			name = NameNAKOperation
		}
		summary := fmt.Sprintf("%s refused PSN %s of %s: %s", f.Source, e.First.PSN, f.Destination, s)
		a.find(name, f, e.Count, summary, e.evidence(fmt.Sprintf("NAK 0x%02x", uint8(s))))
	}
	if e := r.RNRs; e.Count > 0 {
		a.find(NameRNR, f, e.Count, fmt.Sprintf("%s was not ready: %s, %s", f.Source, counted(e.Count, "RNR NAK"),
			timers(r.RNRTimers)), e.evidence("RNR NAK"))
	}
}

// timers returns the waits that RNR NAKs asked for.
func timers(codes map[uint8]int) string {
	list := make([]uint8, 0, len(codes))
	for c := range codes {
		list = append(list, c)
	}
	slices.Sort(list)
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = fmt.Sprintf("wait %v (timer %d)", ib.RNRDelay(c), c)
	}
	return join(parts)
}

// answerable reports whether the answers to a flow without a partner may be in the capture.
func (f *flow) answerable() bool {
	return slices.ContainsFunc(f.back.flows, func(g *flow) bool { return g.partner == nil && g.isConnection() })
}

// judgeAnswers looks for requests without any answer.
func (a *analysis) judgeAnswers(f *flow) {
	r := &f.Requests
	if r.Packets == 0 || !isRC(f) {
		return
	}
	repeats := r.Repeated.evidence("sent again")
	every := ""
	if r.RepeatInterval > 0 {
		every = fmt.Sprintf(", the last time after %v", round(r.RepeatInterval))
	}
	answered := f.hasAcked || f.partner != nil && f.partner.Responses.Packets > 0
	last := []Evidence{{r.First, "first request"}}
	switch {
	case f.back.packets == 0 && r.Repeated.Count > 0:
		a.find(NameOneWay, f, r.Packets, fmt.Sprintf("%s, %d of them sent again%s, and nothing from %s",
			counted(r.Packets, "request packet"), r.Repeated.Count, every, f.Destination), last, repeats)
	case f.back.packets == 0:
		a.find(NameOneDirection, f, r.Packets, fmt.Sprintf("%s, none of them sent again, and nothing from %s",
			counted(r.Packets, "request packet"), f.Destination), last)
	case !answered && r.Repeated.Count > 0 && !f.answerable():
		a.find(NameOneWay, f, r.Packets, fmt.Sprintf("%s, %d of them sent again%s, and no response from %s to this "+
			"queue pair", counted(r.Packets, "request packet"), r.Repeated.Count, every, f.Destination), last, repeats)
	case answered && r.Unanswered.Count > 1:
		a.find(NameNoAnswer, f, r.Unanswered.Count, fmt.Sprintf("sent again %s since the last response%s",
			times(r.Unanswered.Count), every), r.Unanswered.evidence("sent again"), f.lastResponse())
	}
	if r.OutstandingReads > 0 && r.Repeated.Last.Opcode == ib.OpcodeRCReadRequest {
		a.find(NameReadUnanswered, f, r.OutstandingReads, fmt.Sprintf("%s of %d without a complete response",
			counted(r.OutstandingReads, "READ"), r.Reads), repeats, f.lastResponse())
	}
	if e := r.AnsweredRepeats; e.Count > 0 {
		a.find(NameAnswersLost, f, e.Count, fmt.Sprintf("%s sent again after the answer", counted(e.Count, "packet")),
			e.evidence("sent again after the answer"))
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (f *flow) lastResponse() []Evidence {
	if f.partner == nil || f.partner.Responses.Packets == 0 {
		return nil
	}
	return []Evidence{{f.partner.Responses.Last, "last response"}}
}

func isRC(f *flow) bool {
	return slices.ContainsFunc(f.Tail, func(m Mark) bool { return m.Opcode.IsRC() }) || f.Requests.First.Opcode.IsRC()
}

// judgeLoss looks at missing, repeated and reordered packets of both parts of a flow.
func (a *analysis) judgeLoss(f *flow) {
	r := &f.Requests
	missing := max(0, r.Missing.Count-r.Reordered.Count)
	var parts []string
	var evidence []Evidence
	if missing > 0 {
		parts = append(parts, fmt.Sprintf("%s before the capture, %d of them sent again",
			counted(missing, "request packet"), r.Lost))
		evidence = append(evidence, r.Missing.evidence("numbers before this one are missing")...)
	}
	count := missing
	if g := f.partner; g != nil {
		naks := g.Responses.NAKs[ib.SyndromeNAKSequence]
		if n := g.Responses.LostBehind.Count; n > 0 {
			parts = append(parts, fmt.Sprintf("%s behind the capture, or late there", counted(n, "request packet")))
			evidence = append(evidence, g.Responses.LostBehind.evidence("NAK 0x60 for a packet that was captured")...)
			count += n
		}
		if naks.Count > 0 && (count > 0 || naks.Count-g.Responses.LateNAKs.Count > r.Reordered.Count) {
			parts = append(parts, counted(naks.Count, "NAK")+" 0x60")
			evidence = append(evidence, naks.evidence("NAK 0x60")...)
			count = max(count, naks.Count)
		}
	} else if naks := f.Responses.NAKs[ib.SyndromeNAKSequence]; naks.Count > 0 { // by the other end of this flow
		parts = append(parts, fmt.Sprintf("%s reports it: %s 0x60", f.Source, counted(naks.Count, "NAK")))
		evidence = append(evidence, naks.evidence("NAK 0x60")...)
		count += naks.Count
	}
	if e := f.Responses.Missing; e.Count > 0 {
		parts = append(parts, fmt.Sprintf("%s of READ responses before the capture", counted(e.Count, "packet")))
		evidence = append(evidence, e.evidence("numbers before this one are missing")...)
		count += e.Count
	}
	if count > 0 {
		a.find(NameLoss, f, count, join(parts), evidence)
	}
	if e := r.Repeated; e.Count > 0 {
		a.find(NameRetransmission, f, e.Count, fmt.Sprintf("%s sent again, %s without a NAK that was seen",
			counted(e.Count, "packet"), times(r.Timeouts.Count)), e.evidence("sent again"))
	}
	if e := r.Reordered; e.Count > 0 {
		a.find(NameReordering, f, e.Count, counted(e.Count, "packet")+" behind later ones", e.evidence("late"))
	}
	if e := r.Duplicates; e.Count > 0 {
		a.find(NameDuplicates, f, e.Count, counted(e.Count, "packet")+" twice", e.evidence("second copy"))
	}
}

// judgeMTU compares payloads of both directions, and of what was answered and what was not.
func (a *analysis) judgeMTU(f *flow) {
	r := &f.Requests
	if r.Unanswered.Count > 1 && f.hasAcked && r.OldestUnanswered > r.LargestAnswered {
		summary := fmt.Sprintf("a packet with %d bytes of payload has no answer; the largest one with an answer has %d",
			r.OldestUnanswered, r.LargestAnswered)
		a.find(NameMTU, f, r.Unanswered.Count, summary, r.Unanswered.evidence("sent again"))
	}
	g := f.partner
	if g == nil || g.index < f.index {
		return
	}
	forth, back := f.pmtu(), g.pmtu()
	if forth == 0 || back == 0 || forth == back {
		return
	}
	a.find(NameMTU, f, 1, fmt.Sprintf("packets of %s have %d bytes of payload, those of %s %d", f.Source, forth,
		g.Source, back), []Evidence{{f.Last, "one direction"}, {g.Last, "the other one"}})
}

// pmtu returns the path MTU that the sender of a flow uses, 0 if it isn't known.
func (f *flow) pmtu() int { return max(f.Requests.PMTU, f.Responses.PMTU) }

func (a *analysis) judgeICRC(f *flow) {
	if e := f.ICRCWrong; e.Count > 0 {
		summary := fmt.Sprintf("%d of %s", e.Count, counted(e.Count+f.ICRCRight, "packet"))
		if f.ICRCRight == 0 {
			summary += ": all of them, which also a capture on the sending host shows if its card computes the CRC"
		}
		a.find(NameICRC, f, e.Count, summary, e.evidence("wrong ICRC"))
	}
	if e := f.ICRCZero; e.Count > 0 {
		a.find(NameICRCUnfilled, f, e.Count, counted(e.Count, "packet"), e.evidence("ICRC 0"))
	}
}

func (a *analysis) judgeCongestion(f *flow) {
	if e := f.CNPs; e.Count > 0 {
		rate := ""
		if d := e.Last.Time.Sub(e.First.Time); d > 0 {
			rate = fmt.Sprintf(", %.0f per second", float64(e.Count-1)/d.Seconds())
		}
		a.find(NameCongestion, f, e.Count, fmt.Sprintf("%s from %s%s", counted(e.Count, "CNP"), f.Source, rate),
			e.evidence("CNP"))
	}
	if e := f.Marked; e.Count > 0 {
		summary := fmt.Sprintf("%s of %d marked (ECN CE)", counted(e.Count, "packet"), f.Packets)
		a.find(NameCongestion, f, e.Count, summary, e.evidence("marked"))
		if g := f.partner; g != nil && g.CNPs.Count == 0 && f.Requests.Packets > 0 {
			a.find(NameNoCNP, f, e.Count, fmt.Sprintf("%s marked, no CNP from %s", counted(e.Count, "packet"),
				f.Destination), e.evidence("marked"))
		}
	}
}

// judgeHeaders looks at the classes and hop limits.
func (a *analysis) judgeHeaders(f *flow) {
	if f.HopLimits.Min == 1 {
		a.find(NameHopLimit, f, f.Packets, "packets with a hop limit of 1", []Evidence{{f.First, "first packet"}})
	}
	if e := f.Unknown; e.Count > 0 {
		a.find(NameUnknownOpcode, f, e.Count, fmt.Sprintf("%s, such as opcode 0x%02x", counted(e.Count, "packet"),
			uint8(e.First.Opcode)), e.evidence("unknown opcode"))
	}
	g := f.partner
	if g == nil || g.index < f.index {
		return
	}
	forth, back := mostly(f.DSCPs), mostly(g.DSCPs)
	if forth >= 0 && back >= 0 && forth != back {
		summary := fmt.Sprintf("packets of %s have DSCP %d, those of %s %d", f.Source, forth, g.Source, back)
		a.find(NameDSCP, f, 1, summary, []Evidence{{f.First, "one direction"}, {g.First, "the other one"}})
	}
}

// mostly returns the most frequent code point, -1 if there is none.
func mostly(counts map[uint8]int) int {
	best := -1
	for c := range uint8(64) {
		if n := counts[c]; n > 0 && (best < 0 || n > counts[uint8(best)]) {
			best = int(c)
		}
	}
	return best
}

// judgeStrangers looks for the answers to requests that seem to have none, from other addresses.
func (a *analysis) judgeStrangers(all []*flow) {
	const limit = 4096 // comparisons of each with each
	var silent, strangers []*flow
	for _, f := range all {
		switch {
		case f.Requests.Packets > 0 && f.back.packets == 0 && isRC(f):
			silent = append(silent, f)
		case f.Responses.Packets > 0 && f.partner == nil && isRC(f):
			strangers = append(strangers, f)
		}
	}
	if len(silent)*len(strangers) > limit {
		a.NotJudged = append(a.NotJudged, "whether answers come from other addresses: too many flows")
		return
	}
	for _, f := range silent {
		for _, g := range strangers {
			if g.Destination == f.Source && f.sentRecently(g.Responses.Last.PSN) && near(f, g) {
				summary := fmt.Sprintf("requests to %s are answered by %s", f.Destination, g.Source)
				a.find(NameGIDMismatch, f, g.Responses.Packets, summary,
					[]Evidence{{f.Requests.First, "first request"}, {g.Responses.First, "first response"}})
			}
		}
	}
}

// near reports whether two flows overlap in time, or nearly.
func near(f, g *flow) bool {
	return g.Last.Time.Sub(f.First.Time) > -time.Second && f.Last.Time.Sub(g.First.Time) > -time.Second
}
