package rules

import (
	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// NotesID is the rule about what captures don't show, whose findings are notes.
const NotesID = "RDX-211"

// captureRules are about packets.
func captureRules() []Rule {
	return []Rule{
		{
			ID:    "RDX-210",
			Name:  "packets",
			Title: "packets show a fault",
			Explanation: "A capture shows what passed its point: requests without answers, refusals with their " +
				"reason, lost and repeated packets, marks of congestion. docs/explain-rules.md lists the findings.",
			Sources: []string{"InfiniBand Architecture Specification volume 1, chapter 9", "annex A17 (RoCE v2)"},
			Find:    findCapture,
		},
		{
			ID: NotesID, Name: "packets-notes", Title: "what a capture can't show, or is no fault by itself",
			Explanation: "Notes about captures.",
			Sources:     []string{"docs/explain.md"},
			Find:        findCaptureNotes,
		},
	}
}

// captureCause is a cause of a finding of package capture, with its weight.
type captureCause struct {
	slug, title, decide, remedy string
	weight                      int
}

// Decisions and remedies that several causes share.
const (
	probePeer   = "rdmactl doctor --probe PEER on both nodes"
	watchLink   = "rdmactl doctor --interval 10s on both nodes; rdmactl fabric errors --ber"
	oneMTU      = "the same MTU on ports, switches and routers"
	lossless    = "one lossless class end to end: trust mode, PFC, ECN and traffic class on cards and switches"
	sameMemory  = "use the key of the right device and region, with the right to write or read"
	rightGID    = "the routable RoCE v2 GID on both ends"
	showGIDs    = "show_gids on both nodes"
	peerProcess = "the peer's log and process"
)

// cause returns a cause of captures; the weights are those before any evidence.
func cause(slug, title, decide, remedy string, weight int) captureCause {
	return captureCause{slug: slug, title: title, decide: decide, remedy: remedy, weight: weight}
}

func filterCause() captureCause {
	return cause(
		"udp-blocked",
		"a filter or a route lets one direction pass only",
		probePeer,
		"let UDP 4791 pass both ways",
		common,
	)
}

func deadCause() captureCause {
	return cause("dead-peer", "the peer's process or queue pair is gone", peerProcess, "find why it ended", usual)
}

func gidCause(title string) captureCause { return cause("gid-index", title, showGIDs, rightGID, usual) }

func smallCause(title string) captureCause {
	return cause("mtu-too-small", title, "rdmactl doctor --probe PEER (check path-mtu)", oneMTU, usual)
}

func unequalCause() captureCause {
	return cause("mtu-differs", "the two ends have different path MTUs", "active_mtu of both ends", oneMTU, usual)
}

func congestionCause(title string) captureCause {
	return cause("congestion", title, watchLink, lossless, common)
}

func cableCause() captureCause {
	return cause("cable", "a bad cable or transceiver", watchLink, "clean or replace it", usual)
}

func railsCause() captureCause {
	return cause("rails-not-connected", "the two networks are not connected", "ping -I INTERFACE PEER",
		"connect them, or NCCL_CROSS_NIC=0", common)
}

func keyCause(title string) captureCause {
	return cause("stale-rkey", title, "the log of the peer", sameMemory, common)
}

// What several findings mean.
const (
	overflow = "queues overflow: no flow control (PFC), or ECN not set up"
	badKey   = "the key is of another registration, or lacks a right"
	large    = "the path drops large packets"
)

// captureCauses are the causes of the findings of package capture, by name.
func captureCauses() map[string][]captureCause {
	return map[string][]captureCause{
		"one-way":         {filterCause(), gidCause("the packets go to a wrong GID"), deadCause()},
		"no-answer":       {deadCause(), smallCause(large), filterCause()},
		"read-unanswered": {filterCause(), smallCause(large), congestionCause(overflow)},
		"loss":            {congestionCause(overflow), cableCause()},
		"retransmission":  {congestionCause(overflow), cableCause()},
		"answers-lost":    {congestionCause(overflow), filterCause()},
		"nak-invalid":     {unequalCause(), keyCause("an operation or length that the peer doesn't allow")},
		"nak-access":      {keyCause(badKey)},
		"nak-operation":   {deadCause(), keyCause(badKey)},
		"nak-other":       {keyCause(badKey)},
		"rnr": {
			cause(
				"receiver-not-ready",
				"the peer's program posts no receive buffers",
				peerProcess,
				"find what it waits for",
				common,
			),
			cause(
				"rnr-timer",
				"the RNR timer is too long, or the retry count too small",
				"min_rnr_timer of the queue pairs",
				"a timer that fits",
				usual,
			),
		},
		"mtu":                {smallCause(large), unequalCause()},
		"fragments":          {smallCause(large)},
		"icmp-frag-needed":   {smallCause("the MTU of a router or link is too small")},
		"icmp-unreachable":   {railsCause(), filterCause()},
		"icmp-time-exceeded": {gidCause("the packets' hop limit is too small for the route")},
		"arp-unanswered":     {railsCause(), deadCause()},
		"icrc": {
			cause(
				"middlebox",
				"something on the way rewrites packets",
				"captures at both ends",
				"switch it off",
				common,
			),
			cableCause(),
		},
		"ecn-cnp":    {congestionCause(overflow)},
		"ecn-no-cnp": {congestionCause("packets are marked, and the receiver doesn't tell the sender")},
		"dscp-differs": {
			cause(
				"traffic-class",
				"the directions run in different traffic classes",
				"rdmactl env lint",
				"the same class on both ends",
				common,
			),
		},
		"ttl-1":        {gidCause("the hop limit is 1: the packets can't be routed")},
		"gid-mismatch": {gidCause("the GIDs in the packets are not those of the addresses")},
		"cm-rejected": {
			cause("nobody-listens", "the peer refused the connection", peerProcess, "start the server", common),
		},
		"cm-unanswered": {filterCause(), deadCause()},
	}
}

func findCapture(f *facts.Facts) []Finding {
	table := captureCauses()
	var out []Finding
	for _, severity := range [...]string{"fault", "warning"} {
		for e := range f.Store.Of(evidence.CapturePrefix) {
			if e.Fields["severity"] != severity {
				continue
			}
			c := &candidates{}
			for _, x := range table[e.Fields["finding"]] {
				c.add(x.slug, x.title, x.weight).
					supportsIf(len(c.list) == 0, hint, "the packets show: "+e.Fields["finding"], e.Place).
					todo(x.decide, x.remedy)
			}
			if severity == "fault" && len(c.list) > 0 {
				c.list[0].supports(usual, e.Fields["means"], e.Place)
			}
			out = append(out, Finding{What: e.Text, Events: []*evidence.Event{e}, Causes: c.causes()})
		}
	}
	return out
}

func findCaptureNotes(f *facts.Facts) []Finding {
	var out []Finding
	for e := range f.Store.Of(evidence.CapturePrefix) {
		if e.Fields["severity"] == "note" {
			out = append(
				out,
				Finding{Harmless: true, What: e.Place.String() + ": " + e.Text, Events: []*evidence.Event{e}},
			)
		}
	}
	return out
}
