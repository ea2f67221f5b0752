package checks

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

// rocePort is the UDP port of RoCE v2.
const rocePort = 4791

// controlPort stands for the ports that jobs listen on: PyTorch's default for MASTER_PORT.
const controlPort = 29500

func packetFilter() doctor.Check {
	return doctor.Check{
		ID: "packet-filter", Title: "packet filter that drops RoCE or the connections of jobs",
		Severity: doctor.OutcomeFail, Group: doctor.GroupAddressing, Numbers: []int{71}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindFilter}, Unless: noFilteredPort, Reads: []string{"/" + sysfs.ProcIPTablesNames},
		Explanation: prose.Join(`
			A card handles RoCE packets (UDP port 4791) itself, so that the node's packet filter
			doesn't see them; those of the software devices rxe and siw do pass it. The filter does
			see the TCP connections by which ranks meet and exchange addresses. If it drops them,
			the job hangs at the start or ends with "connection timed out". The rules of nf_tables are
			evaluated from ingress to input and from output to egress, for the first packet of a connection,
			without a mark; programs of XDP and tc are not looked at.`),
		Remedy: "Accept UDP port 4791 for rxe, and TCP from the other nodes on the networks that jobs use.",
		Sources: []string{
			"net/netfilter/nf_tables_core.c (nft_do_chain)",
			"drivers/infiniband/sw/rxe/rxe_net.c (a UDP tunnel socket)",
		},
		Run: runPacketFilter,
	}
}

// noFilteredPort returns why no packet of a port for jobs passes the packet filter of the node.
func noFilteredPort(in *doctor.Input) string {
	for p := range ownPorts(in.Snapshot) {
		if n := p.netdev(in.Snapshot); n != nil && p.active() && p.carriesJobs(in.Snapshot) {
			if _, _, ok := ipv4Pair(in.Snapshot, n); ok {
				return ""
			}
		}
	}
	return "no active port for jobs has an IPv4 address whose prefix length is known"
}

func runPacketFilter(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	var findings []doctor.Finding
	if text, err := in.Facts.Files.Text(sysfs.ProcIPTablesNames); err == nil && text != "" {
		return []doctor.Finding{doctor.Unknown(doctor.ObjectNode,
			"the node has rules of iptables (legacy) in %q, which this check doesn't read", printable(text))}
	}
	passed := 0
	judged := map[string]bool{}
	for p := range ownPorts(s) {
		n := p.netdev(s)
		if n == nil || !p.active() || !p.carriesJobs(s) || judged[n.Name] {
			continue
		}
		local, peer, ok := ipv4Pair(s, n)
		if !ok {
			continue
		}
		judged[n.Name] = true
		if p.dev.Software == "rxe" {
			for _, hooks := range [][]string{{"ingress", "prerouting", "input"}, {"output", "postrouting", "egress"}} {
				packet := packetOf(n, local, peer, 17, rocePort, hooks[0] == "output")
				if f, ok := filtered(in, p.object(), "RoCE (UDP port 4791)", doctor.OutcomeFail, packet, hooks); ok {
					findings = append(findings, f)
				} else {
					passed++
				}
			}
		}
		packet := packetOf(n, local, peer, 6, controlPort, false)
		what := fmt.Sprintf("TCP connections of peers such as %v to %s", peer, n.Name)
		if f, ok := filtered(in, n.Name, what, doctor.OutcomeInfo, packet,
			[]string{"ingress", "prerouting", "input"}); ok {
			findings = append(findings, f)
		} else {
			passed++
		}
	}
	if passed > 0 && worst(findings).Compare(doctor.OutcomeInfo) <= 0 {
		text := fmt.Sprintf("the packet filter accepts %s of RoCE's and jobs' packets", english.Count(passed, "way"))
		pass := doctor.Passed(doctor.ObjectNode, text, doctor.Evidence{
			Path: "nf_tables", Value: english.Count(len(in.Facts.Filter.Value), "rule and policy"),
		})
		return append([]doctor.Finding{pass}, findings...)
	}
	return findings
}

// ipv4Pair returns an address of a network device and that of a peer in its subnet.
func ipv4Pair(s *inventory.Snapshot, n *inventory.Netdev) (local, peer netip.Addr, ok bool) {
	for _, a := range n.Addresses {
		if a.Addr().Is4() && a.Bits() < 32 {
			peer, ok = neighbourIn(s, a)
			return a.Addr(), peer, ok
		}
	}
	return local, peer, false
}

// packetOf returns the first packet of a flow, from a peer or to it.
func packetOf(n *inventory.Netdev, local, peer netip.Addr, protocol byte, port uint16, output bool) facts.Packet {
	name := make([]byte, 16) // IFNAMSIZ
	copy(name, n.Name)
	number := func(v int) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(v)) } //nolint:gosec // small
	p := facts.Packet{
		"iifname": name, "oifname": make([]byte, 16), "iif": number(n.Index), "oif": number(0), "nfproto": {2},
		"l4proto": {protocol}, "protocol": {protocol}, "saddr": peer.AsSlice(), "daddr": local.AsSlice(),
		"dport": binary.BigEndian.AppendUint16(nil, port), "ct state": number(8) /* new */, "ct mark": number(0),
		"mark": number(0), "ethertype": {8, 0}, "pkttype": {0}, /* PACKET_HOST */
	}
	if n.Index == 0 { // not known
		delete(p, "iif")
	}
	if protocol == 6 {
		p["tcp flags"] = []byte{2} // SYN
	}
	if output {
		p["iifname"], p["oifname"] = p["oifname"], name
		p["iif"], p["oif"] = p["oif"], p["iif"]
		p["saddr"], p["daddr"] = p["daddr"], p["saddr"]
	}
	return p
}

// filtered returns the finding for a packet that is dropped, or that may be; false if it passes.
func filtered(in *doctor.Input, object, what string, outcome doctor.Outcome, p facts.Packet,
	hooks []string,
) (doctor.Finding, bool) {
	fate := facts.Filtered(in.Facts.Filter.Value, p, hooks...)
	if fate.Accept && !fate.Drop {
		return doctor.Finding{}, false
	}
	way := "input"
	if slices.Contains(hooks, "output") {
		way = "output"
	}
	f := doctor.Finding{
		Outcome: outcome, Object: object,
		Summary:  fmt.Sprintf("the packet filter drops %s (%s)", what, way),
		Evidence: []doctor.Evidence{{Path: "nf_tables:" + way, Value: printable(fate.By)}},
		Actions: []doctor.Action{
			doctor.Shell("nft list ruleset"), doctor.Note("accept these packets before the rule: %s",
				printable(fate.By)),
		},
	}
	if fate.Accept {
		f.Outcome = doctor.OutcomeUnknown
		f.Summary = fmt.Sprintf("whether the packet filter drops %s depends on more than is known here: %s", what,
			printable(fate.By))
	}
	return f, true
}
