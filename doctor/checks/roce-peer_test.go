package checks_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// TestRoCEPeer checks what is said of a peer that doesn't answer. Codes are those of RFC 792 and
// RFC 1812, section 5.2.7.1.
func TestRoCEPeer(t *testing.T) {
	peer, router := netip.MustParseAddr("10.100.0.20"), netip.MustParseAddr("10.100.0.1")
	icmp := func(by netip.Addr, kind, code uint8) facts.ProbeRoCE {
		return facts.ProbeRoCE{RejectedBy: by, ICMPType: kind, ICMPCode: code}
	}
	for _, c := range []struct {
		name    string
		pathMTU int
		roce    facts.ProbeRoCE
		want    doctor.Outcome
		says    string
	}{
		{"answered", 0, facts.ProbeRoCE{Answered: true}, doctor.OutcomePass, "answered on 1 way"},
		{"closed", 9000, icmp(peer, 3, 3), doctor.OutcomeWarn, "nothing there receives RoCE (UDP port 4791)"},
		{"closed, not asked", 9000, facts.ProbeRoCE{
			AskError: "no library", RejectedBy: peer, ICMPType: 3, ICMPCode: 3,
		}, doctor.OutcomeWarn, "or a filter rejects it"},
		{"a router's port", 9000, icmp(router, 3, 3), doctor.OutcomeFail, "10.100.0.1 rejects RoCE packets"},
		{"network prohibited", 0, icmp(peer, 3, 9), doctor.OutcomeFail, "network prohibited (ICMP type 3, code 9)"},
		{"host prohibited", 0, icmp(peer, 3, 10), doctor.OutcomeFail, "10.100.0.20 rejects RoCE packets"},
		{"prohibited", 0, icmp(router, 3, 13), doctor.OutcomeFail, "communication prohibited"},
		{"protocol", 0, icmp(peer, 3, 2), doctor.OutcomeFail, "protocol unreachable"},
		{"no route", 0, icmp(router, 3, 0), doctor.OutcomeUnknown, "can't be reached"},
		{"no neighbour", 0, icmp(router, 3, 1), doctor.OutcomeUnknown, "can't be reached"},
		{"no class of service", 0, icmp(router, 3, 12), doctor.OutcomeUnknown, "can't be reached"},
		{"loop", 0, icmp(router, 11, 0), doctor.OutcomeUnknown, "can't be reached"},
		{"loop, reassembly", 0, icmp(router, 11, 13), doctor.OutcomeUnknown, "can't be reached"},
		{"filtered here", 9000, facts.ProbeRoCE{Filtered: true}, doctor.OutcomeUnknown, "drops datagrams of programs"},
		{"not sent", 9000, facts.ProbeRoCE{Error: "no buffer"}, doctor.OutcomeUnknown, "no buffer"},
		{"silent", 9000, facts.ProbeRoCE{}, doctor.OutcomeUnknown, "no RoCE packet: a filter drops UDP port 4791, or"},
		{
			"silent, not asked", 9000,
			facts.ProbeRoCE{AskError: "no library"},
			doctor.OutcomeUnknown,
			"whether 10.100.0.20 answers RoCE packets of ens1np0 is unknown (no library)",
		},
		{"all silent", 0, facts.ProbeRoCE{}, doctor.OutcomeUnknown, "neither RoCE packets nor echo requests"},
		{
			"all silent, not asked", 0,
			facts.ProbeRoCE{AskError: "no library"},
			doctor.OutcomeUnknown,
			"neither RoCE packets (no library) nor echo requests",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := diagnose(t, load(t, "49_bond", askedRoCE(c.pathMTU, c.roce)), "roce-peer")
			if r.Verdict != c.want || !strings.Contains(allText(r.Findings), c.says) {
				t.Errorf("verdict %s, want %s that says %q: %s", r.Verdict, c.want, c.says, allText(r.Findings))
			}
		})
	}
	notAsked := diagnose(t, load(t, "49_bond", probed(facts.Probe{Netdev: "ens1np0", Tried: 9000})), "roce-peer")
	if notAsked.Verdict != doctor.OutcomeNotApplicable {
		t.Errorf("without a RoCE v2 port: %s", notAsked.Verdict)
	}
}

// TestRoCEPeerOfSoftware checks that the packet filter of this node counts for a software device,
// whose packets pass it, and that one peer that answers doesn't hide another.
func TestRoCEPeerOfSoftware(t *testing.T) {
	probe := func(peer string, r facts.ProbeRoCE) facts.Probe {
		r.Device = "rxe0"
		return facts.Probe{Peer: netip.MustParseAddr(peer), Netdev: "eth0", Tried: 1500, PathMTU: 1500, RoCE: &r}
	}
	probes := []facts.Probe{
		probe("10.0.0.8", facts.ProbeRoCE{Answered: true}), probe("10.0.0.9", facts.ProbeRoCE{Filtered: true}),
	}
	r := diagnose(t, load(t, "51_rxe_siw", recorded(facts.Facts{Probe: known(probes)})), "roce-peer")
	const want = "the packet filter of this node drops RoCE packets to 10.0.0.9"
	if r.Verdict != doctor.OutcomeFail || !strings.Contains(allText(r.Findings), want) {
		t.Errorf("verdict %s: %s, want %q", r.Verdict, allText(r.Findings), want)
	}
	if got := brief(r); len(got) != 1 {
		t.Errorf("findings %q, want only the failure", got)
	}
}
