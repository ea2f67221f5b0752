package checks_test

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// reportCase is a node as a report describes it, with the cause that people found there.
type reportCase struct {
	report     string
	tree       string
	change     change
	id, object string // the check that must name the cause
	want       doctor.Outcome
	text       string // in the finding
}

// plainRouting is that of a new kernel with connected routes only.
func plainRouting(routes ...facts.Route) facts.Routing {
	return facts.Routing{Rules: ownRules(), Routes: append([]facts.Route{
		routeTo("10.100.0.0/16", "ens1np0", "", facts.TableMain),
		routeTo("0.0.0.0/0", "bond0", "10.0.0.1", facts.TableMain),
	}, routes...)}
}

func reportCases() []reportCase {
	rails := plainRouting(routeTo("10.101.0.0/16", "ens2np0", "", facts.TableMain))
	half := policyRouting()
	half.Rules = half.Rules[:4] // the second rail has no rule
	shared := plainRouting(routeTo("10.100.0.0/16", "ens2np0", "", facts.TableMain))
	environment := func(vars map[string]string) change { return recorded(facts.Facts{Environment: known(vars)}) }
	return []reportCase{
		{
			"NVIDIA/nccl 2013, ROCm/rccl 1303: rails in other subnets, no route across", "49_bond",
			recorded(facts.Facts{Routes: known(rails)}), "rail-route", "mlx5_0:1", doctor.OutcomeInfo,
			"NCCL_CROSS_NIC=0",
		},
		{
			"one rail of two lacks its rule", "49_bond", recorded(facts.Facts{Routes: known(half)}),
			"rail-route", "mlx5_1:1", doctor.OutcomeWarn, "which 1 other rail have",
		},
		{
			"NVIDIA/nccl 1269: one subnet, all traffic leaves by one device", "49_bond",
			all(oneSubnet(), recorded(facts.Facts{Routes: known(shared)})),
			"rail-route", "mlx5_1:1", doctor.OutcomeWarn, "leave by ens1np0, not by ens2np0",
		},
		{
			"NVIDIA/nccl 1109: one subnet, one card answers for all", "49_bond",
			all(oneSubnet(), conf("arp_ignore", "0", "0", "0"), conf("arp_announce", "0", "0", "0")),
			"rail-subnet", "node", doctor.OutcomeWarn, "ens1np0, ens2np0 answer ARP",
		},
		{
			"NVIDIA/nccl 1109, seen by a probe", "49_bond",
			all(oneSubnet(), recorded(facts.Facts{Probe: known([]facts.Probe{{
				Peer: netip.MustParseAddr("10.100.0.10"), Netdev: "ens1np0", Own: true, Asked: true,
				Owners: []string{"B8:3F:D2:A5:10:01"},
			}})})),
			"rail-subnet", "node", doctor.OutcomeFail, "ens2np0 answers ARP for 10.100.0.10",
		},
		{
			"NVIDIA/nccl 1524 and 1957: MTU 1500", "49_bond", set("sys/class/net/ens2np0/mtu", "1500"),
			"mtu", "mlx5_1:1", doctor.OutcomeWarn, "active MTU 1024",
		},
		{
			"NVIDIA/nccl 913: a container's device is first", "49_bond",
			all(live(`"index":5,"name":"ens9f1np1"`, `"index":5,"name":"veth12","addresses":["fe80::1/64"]`),
				environment(map[string]string{"NCCL_SOCKET_IFNAME": "veth,ens1"}),
				set("sys/class/net/veth12/flags", "0x1003"), set("sys/class/net/veth12/ifindex", "1"),
				set("sys/class/net/veth12/type", "1"), set("sys/class/net/veth12/operstate", "up")),
			"socket-interface", "node", doctor.OutcomeWarn, "selects veth12",
		},
		{
			"aws-samples/aws-do-eks 51: Gloo takes no list", "49_bond",
			environment(map[string]string{"GLOO_SOCKET_IFNAME": "^lo"}),
			"socket-interface", "node", doctor.OutcomeFail, "Gloo knows neither",
		},
		{
			"NVIDIA/nccl 1323, NVIDIA/nvshmem 82: the partition is at index 1", "01_ib_8hca",
			all(port("mlx5_3", "pkeys/0", "0x7fff"), port("mlx5_3", "pkeys/1", "0x8012")),
			"pkey", "mlx5_3:1", doctor.OutcomeFail, "index 1 has 0x8012 with full membership",
		},
		{
			"Mellanox/network-operator 1366: no subnet manager", "01_ib_8hca",
			all(port("mlx5_1", "state", "2: INIT"), port("mlx5_1", "sm_lid", "0x0"), port("mlx5_1", "lid", "0xffff")),
			"subnet-manager", "mlx5_1:1", doctor.OutcomeFail, "no subnet manager",
		},
		{
			"Mellanox/network-operator 1366: two subnet managers", "01_ib_8hca", port("mlx5_1", "sm_lid", "0x2a"),
			"subnet-manager", "node", doctor.OutcomeWarn, "2 subnet managers",
		},
		{
			"NVIDIA/nccl 1333: the index moved", "02_rocev2_8hca", all(
				environment(map[string]string{"NCCL_IB_GID_INDEX": "3"}),
				port("mlx5_5", "gids/3", "0000:0000:0000:0000:0000:0000:0000:0000")),
			"gid-index", "mlx5_5:1", doctor.OutcomeFail, "NCCL_IB_GID_INDEX=3, but that entry is empty",
		},
	}
}

// TestReports checks that the node of each report is found faulty by the check of its cause.
func TestReports(t *testing.T) {
	for _, c := range slices.Concat(reportCases(), networkReports()) {
		t.Run(c.report, func(t *testing.T) {
			r := diagnose(t, load(t, c.tree, c.change), c.id)
			if !slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
				return f.Outcome == c.want && f.Object == c.object && strings.Contains(text(f), c.text)
			}) {
				t.Errorf("want %s of %s with %q, got %v", c.want, c.object, c.text, summaries(r))
			}
		})
	}
}

// edgeCase is a node at the edge of a rule.
type edgeCase struct {
	name, id, tree string
	change         change
	want           doctor.Outcome // verdict
}

func TestAddressingEdges(t *testing.T) {
	arp := func(ignore, announce string) change {
		return all(oneSubnet(), conf("arp_ignore", "0", ignore, ignore), conf("arp_announce", "0", announce, announce))
	}
	env := func(name, value string) change {
		return recorded(facts.Facts{Environment: known(map[string]string{name: value})})
	}
	neighbours := func(n int) change {
		r := facts.Routing{Rules: ownRules()}
		for i := range n {
			a := netip.AddrFrom4([4]byte{10, 100, byte(i >> 8), byte(i)})
			r.Neighbours = append(r.Neighbours, facts.Neighbour{Address: a, State: "reachable"})
		}
		return all(set("proc/sys/net/ipv4/neigh/default/gc_thresh3", "1024"), recorded(facts.Facts{Routes: known(r)}))
	}
	filter := func(c facts.FilterCondition) change {
		return recorded(facts.Facts{Filter: known([]facts.FilterRule{
			{Family: "inet", Chain: "in", Hook: "input", Policy: true, Verdict: "drop"},
			{Family: "inet", Chain: "in", Verdict: "accept", Conditions: []facts.FilterCondition{c}},
		})})
	}
	probe := func(size int) change { return probed(facts.Probe{Netdev: "ens1np0", Tried: 9000, PathMTU: size}) }
	for _, c := range []edgeCase{
		{"subnets of their own", "rail-subnet", "49_bond", conf("arp_ignore", "0", "0", "0"), doctor.OutcomePass},
		{"settings unknown", "rail-subnet", "49_bond", oneSubnet(), doctor.OutcomeInfo},
		{"arp_announce 1", "rail-subnet", "49_bond", arp("1", "1"), doctor.OutcomeWarn},
		{"arp_announce 2", "rail-subnet", "49_bond", arp("1", "2"), doctor.OutcomePass},
		{
			"arp_filter", "rail-subnet", "49_bond",
			all(arp("0", "2"), conf("arp_filter", "1", "0", "0")), doctor.OutcomePass,
		},
		{"strict, subnets of their own", "rp-filter", "49_bond", conf("rp_filter", "1", "0", "0"), doctor.OutcomeInfo},
		{"loose wins", "rp-filter", "49_bond", all(oneSubnet(), conf("rp_filter", "2", "1", "1")), doctor.OutcomePass},
		{"off", "rp-filter", "49_bond", all(oneSubnet(), conf("rp_filter", "0", "0", "0")), doctor.OutcomePass},
		{
			"strict with policy routing", "rp-filter", "49_bond",
			all(conf("rp_filter", "1", "1", "1"), recorded(facts.Facts{Routes: known(policyRouting())})),
			doctor.OutcomePass,
		},
		{"819 neighbours", "neighbour-table", "49_bond", neighbours(819), doctor.OutcomePass},
		{"820 neighbours", "neighbour-table", "49_bond", neighbours(820), doctor.OutcomeWarn},
		{"index that fits", "gid-index", "02_rocev2_8hca", env("NCCL_IB_GID_INDEX", "3"), doctor.OutcomeInfo},
		{"index -1", "gid-index", "02_rocev2_8hca", env("NCCL_IB_GID_INDEX", "-1"), doctor.OutcomePass},
		{"index on InfiniBand", "gid-index", "01_ib_8hca", env("NCCL_IB_GID_INDEX", "3"), doctor.OutcomeNotApplicable},
		{"limited beyond index 0", "pkey", "01_ib_8hca", port("mlx5_0", "pkeys/1", "0x7fff"), doctor.OutcomePass},
		{"key of a tenant", "pkey", "01_ib_8hca", port("mlx5_0", "pkeys/0", "0x8001"), doctor.OutcomePass},
		{"last LID", "subnet-manager", "01_ib_8hca", port("mlx5_0", "lid", "0xbfff"), doctor.OutcomePass},
		{"LID of multicast", "subnet-manager", "01_ib_8hca", port("mlx5_0", "lid", "0xc000"), doctor.OutcomeFail},
		{"prefixes of their own", "subnet-manager", "58_two_ib_fabrics", nil, doctor.OutcomePass},
		{"almost the whole path", "path-mtu", "49_bond", probe(8999), doctor.OutcomeWarn},
		{
			"own address elsewhere", "duplicate-address", "49_bond",
			probed(facts.Probe{Netdev: "ens1np0", Own: true, Asked: true, Owners: []string{"02:00:00:00:00:09"}}),
			doctor.OutcomeFail,
		},
		{
			"output dropped", "packet-filter", "51_rxe_siw", recorded(facts.Facts{Filter: known([]facts.FilterRule{
				{Family: "inet", Chain: "out", Hook: "postrouting", Policy: true, Verdict: "drop"},
			})}), doctor.OutcomeFail,
		},
		{"path for 4096", "path-mtu", "49_bond", probe(4192), doctor.OutcomeWarn},
		{"path below 4096", "path-mtu", "49_bond", probe(4191), doctor.OutcomeFail},
		{
			"prefix of NCCL", "socket-interface", "49_bond", env("NCCL_SOCKET_IFNAME", "bon"), doctor.OutcomePass,
		},
		{"no prefix of Gloo", "socket-interface", "49_bond", env("GLOO_SOCKET_IFNAME", "bon"), doctor.OutcomeFail},
		{"loopback", "socket-interface", "49_bond", env("NCCL_SOCKET_IFNAME", "lo"), doctor.OutcomeWarn},
		{
			"filter undecided", "packet-filter", "51_rxe_siw", filter(facts.FilterCondition{Key: "(limit)", Op: "=="}),
			doctor.OutcomeUnknown,
		},
		{
			"filter drops the rest", "packet-filter", "51_rxe_siw",
			filter(facts.FilterCondition{
				Key: "l4proto",
				Op:  "in", Ranges: []facts.FilterRange{{Low: "06", High: "06"}},
			}),
			doctor.OutcomeFail,
		},
		{ // index 1 is that of the loopback device
			"filter accepts loopback", "packet-filter", "51_rxe_siw",
			filter(facts.FilterCondition{Key: "iif", Op: "in", Ranges: oneValue("01000000")}), doctor.OutcomeFail,
		},
		{
			"filter accepts a mark", "packet-filter", "51_rxe_siw",
			filter(facts.FilterCondition{Key: "mark", Op: "in", Ranges: oneValue("00800000")}), doctor.OutcomeFail,
		},
		{
			"filter accepts no mark", "packet-filter", "51_rxe_siw",
			filter(facts.FilterCondition{
				Key: "mark", Op: "not in", Mask: "00800000", Ranges: oneValue("00800000"),
			}), doctor.OutcomePass,
		},
		{
			"ingress of the device", "packet-filter", "51_rxe_siw", ingress("eth0"), doctor.OutcomeFail,
		},
		{
			"ingress of another device", "packet-filter", "51_rxe_siw", ingress("eth9"), doctor.OutcomePass,
		},
		{
			"a rule sets the mark", "packet-filter", "51_rxe_siw",
			recorded(facts.Facts{Filter: known([]facts.FilterRule{
				{Family: "inet", Chain: "in", Hook: "input", Policy: true, Verdict: "accept"},
				{Family: "inet", Chain: "in", Sets: []string{"mark"}},
				{Family: "inet", Chain: "in", Verdict: "drop", Conditions: []facts.FilterCondition{
					{Key: "mark", Op: "in", Ranges: oneValue("00800000")},
				}},
			})}), doctor.OutcomeUnknown,
		},
		{
			"iptables", "packet-filter", "51_rxe_siw",
			all(roceFilter(), set("proc/net/ip_tables_names", "filter")), doctor.OutcomeUnknown,
		},
	} {
		t.Run(c.id+" "+c.name, func(t *testing.T) {
			if r := diagnose(t, load(t, c.tree, c.change), c.id); r.Verdict != c.want {
				t.Errorf("verdict %s, want %s: %v", r.Verdict, c.want, summaries(r))
			}
		})
	}
}

func roceFilter() change { return recorded(facts.Facts{Filter: known(roceRule("not in"))}) }

func oneValue(bytes string) []facts.FilterRange {
	return []facts.FilterRange{{Low: bytes, High: bytes}}
}

// ingress is a chain that drops all packets that a device receives.
func ingress(netdev string) change {
	return recorded(facts.Facts{Filter: known([]facts.FilterRule{{
		Family: "netdev", Chain: "in", Hook: "ingress", Policy: true, Verdict: "drop",
		Conditions: []facts.FilterCondition{
			{Key: "iifname", Op: "in", Ranges: oneValue(hex.EncodeToString(append([]byte(netdev), 0)))},
		},
	}})})
}

// TestRailsInOneIPv6Subnet has rails whose addresses are of IPv6 only.
func TestRailsInOneIPv6Subnet(t *testing.T) {
	addresses := func(second string) change {
		return all(live(`"10.100.0.10/16"`, `"2001:db8:1::10/64"`), live(`"10.101.0.10/16"`, `"`+second+`/64"`))
	}
	own := []facts.Rule{
		{Priority: 0, Table: facts.TableLocal, Action: "lookup", IPv6: true},
		{Priority: 32766, Table: facts.TableMain, Action: "lookup", IPv6: true},
	}
	rule := func(from string, table uint32) facts.Rule {
		return facts.Rule{
			Priority: 9, From: netip.MustParsePrefix(from + "/128"), Table: table, Action: "lookup", IPv6: true,
		}
	}
	shared := facts.Routing{Rules: own, Routes: []facts.Route{
		routeTo("2001:db8:1::/64", "ens1np0", "", facts.TableMain),
		routeTo("2001:db8:1::/64", "ens2np0", "", facts.TableMain),
		routeTo("2001:db8:1::/64", "ens1np0", "", 11), routeTo("2001:db8:1::/64", "ens2np0", "", 12),
	}}
	ruled := shared
	ruled.Rules = slices.Concat(own, []facts.Rule{rule("2001:db8:1::10", 11), rule("2001:db8:1::11", 12)})
	for _, c := range []struct {
		name   string
		change change
		want   []string
		says   string
	}{
		{"subnets of their own", addresses("2001:db8:2::11"), []string{"pass node"}, "2 rails in 2 subnets"},
		{"routes unknown", addresses("2001:db8:1::11"), []string{"info node"}, "one IPv6 subnet, 2001:db8:1::/64"},
		{
			"one device for all", all(addresses("2001:db8:1::11"), recorded(facts.Facts{Routes: known(shared)})),
			[]string{"warn node"},
			"packets of 2 rails leave by another device",
		},
		{
			"a rule for each", all(addresses("2001:db8:1::11"), recorded(facts.Facts{Routes: known(ruled)})),
			[]string{"pass node"},
			"none answers for another",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := diagnose(t, load(t, "49_bond", c.change), "rail-subnet")
			wantBrief(t, r, c.want)
			if !strings.Contains(allText(r.Findings), c.says) {
				t.Errorf("no finding says %q: %v", c.says, summaries(r))
			}
		})
	}
}
