package checks_test

import (
	"net/netip"
	"syscall"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// conf sets a setting of IPv4 for all devices and for the rails of 49_bond.
func conf(name, common, rail0, rail1 string) change {
	dir := "proc/sys/net/ipv4/conf/"
	return all(set(dir+"all/"+name, common), set(dir+"ens1np0/"+name, rail0), set(dir+"ens2np0/"+name, rail1))
}

// oneSubnet gives the second rail of 49_bond an address in the subnet of the first.
func oneSubnet() change { return live("10.101.0.10/", "10.100.0.11/") }

// ownRules are the rules of a new kernel, and further ones.
func ownRules(more ...facts.Rule) []facts.Rule {
	return append([]facts.Rule{
		{Priority: 0, Table: facts.TableLocal, Action: "lookup"},
		{Priority: 32766, Table: facts.TableMain, Action: "lookup"},
		{Priority: 32767, Table: facts.TableDefault, Action: "lookup"},
	}, more...)
}

func fromRule(priority uint32, from string, table uint32) facts.Rule {
	return facts.Rule{Priority: priority, From: netip.MustParsePrefix(from + "/32"), Table: table, Action: "lookup"}
}

func routeTo(to, netdev, gateway string, table uint32) facts.Route {
	r := facts.Route{To: netip.MustParsePrefix(to), Netdev: netdev, Table: table, Type: "unicast"}
	if gateway != "" {
		r.Gateway = netip.MustParseAddr(gateway)
	}
	return r
}

// policyRouting is how the rails of 49_bond reach each other's peers.
func policyRouting() facts.Routing {
	return facts.Routing{
		Rules: ownRules(fromRule(100, "10.100.0.10", 100), fromRule(101, "10.101.0.10", 101)),
		Routes: []facts.Route{
			routeTo("10.100.0.0/16", "ens1np0", "", facts.TableMain), routeTo("10.101.0.0/16", "ens2np0", "",
				facts.TableMain),
			routeTo("10.100.0.0/16", "ens1np0", "", 100), routeTo("0.0.0.0/0", "ens1np0", "10.100.255.254", 100),
			routeTo("10.101.0.0/16", "ens2np0", "", 101), routeTo("0.0.0.0/0", "ens2np0", "10.101.255.254", 101),
			routeTo("0.0.0.0/0", "bond0", "10.0.0.1", facts.TableMain),
		},
	}
}

// probed records what a probe of 10.100.0.20 found.
func probed(p facts.Probe) change {
	p.Peer, p.Source = netip.MustParseAddr("10.100.0.20"), netip.MustParseAddr("10.100.0.10")
	return recorded(facts.Facts{Probe: known([]facts.Probe{p})})
}

// askedRoCE records what became of RoCE packets of mlx5_0 to 10.100.0.20.
func askedRoCE(pathMTU int, r facts.ProbeRoCE) change {
	r.Device = "mlx5_0"
	return probed(facts.Probe{Netdev: "ens1np0", Tried: 9000, PathMTU: pathMTU, RoCE: &r})
}

// roceRule drops UDP packets whose port is in, or not in, those of RoCE.
func roceRule(op string) []facts.FilterRule {
	udp := facts.FilterRange{Low: "11", High: "11"}
	port := facts.FilterRange{Low: "12b7", High: "12b7"}
	return []facts.FilterRule{
		{Family: "inet", Table: "filter", Chain: "in", Hook: "input", Policy: true, Verdict: "accept"},
		{Family: "inet", Table: "filter", Chain: "in", Verdict: "drop", Conditions: []facts.FilterCondition{
			{Key: "l4proto", Op: "in", Ranges: []facts.FilterRange{udp}},
			{Key: "dport", Op: op, Ranges: []facts.FilterRange{port}},
		}},
	}
}

// addressingCases are those of addresses and routes.
func addressingCases() []numberCase {
	environment := func(vars map[string]string) change { return recorded(facts.Facts{Environment: known(vars)}) }
	routing := func(r facts.Routing) change { return recorded(facts.Facts{Routes: known(r)}) }
	resolves := func(to string) change {
		return recorded(facts.Facts{Resolver: known(facts.Resolver{
			Name: "gpu-01", Addresses: []netip.Addr{netip.MustParseAddr(to)},
		})})
	}
	noRoute := policyRouting()
	noRoute.Routes = []facts.Route{noRoute.Routes[1], noRoute.Routes[4], noRoute.Routes[5]}
	thresh := "proc/sys/net/ipv4/neigh/default/gc_thresh3"
	empty := "0000:0000:0000:0000:0000:0000:0000:0000"
	return []numberCase{
		{
			61, "gid-routable", "02_rocev2_8hca", nil, nil,
			all(port("mlx5_0", "gids/2", empty), port("mlx5_0", "gids/3", empty)),
			fail("sys/class/infiniband/mlx5_0/ports/1/gids", syscall.EIO),
			doctor.OutcomeFail, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			62, "gid-index", "02_rocev2_8hca", nil, environment(map[string]string{"UCX_IB_GID_INDEX": "auto"}),
			environment(map[string]string{"NCCL_IB_GID_INDEX": "1"}),
			recorded(facts.Facts{Environment: failed[map[string]string]()}),
			doctor.OutcomeFail, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			63, "mtu", "49_bond", nil, set("sys/class/net/ens1np0/mtu", "9000"), set("sys/class/net/ens1np0/mtu",
				"1500"),
			fail("sys/class/net/ens1np0/mtu", syscall.EIO), doctor.OutcomeWarn, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			64, "mtu", "49_bond", nil, set("sys/class/net/ens1np0/mtu", "4192"), set("sys/class/net/ens1np0/mtu",
				"4191"),
			fail("sys/class/net/ens1np0/mtu", syscall.EIO), doctor.OutcomeWarn, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			64, "verbs-mtu", "01_ib_8hca", nil, verbsMTUs(8, 4096, 4096), verbsMTUs(8, 4096, 2048),
			recorded(facts.Facts{Verbs: failed[[]facts.VerbsPort]()}),
			doctor.OutcomeWarn, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			65, "path-mtu", "49_bond", nil, probed(facts.Probe{Netdev: "ens1np0", Tried: 9000, PathMTU: 9000}),
			probed(facts.Probe{Netdev: "ens1np0", Tried: 9000, PathMTU: 1500}),
			probed(facts.Probe{Netdev: "ens1np0", Tried: 9000}),
			doctor.OutcomeFail, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			69, "duplicate-address", "49_bond", nil,
			probed(facts.Probe{Netdev: "ens1np0", Asked: true, Owners: []string{"02:00:00:00:00:09"}}),
			probed(facts.Probe{Netdev: "ens1np0", Asked: true, Owners: []string{
				"02:00:00:00:00:09",
				"02:00:00:00:00:0a",
			}}),
			probed(facts.Probe{Netdev: "ens1np0", ARPError: "network is down"}),
			doctor.OutcomeFail, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			66, "rail-subnet", "49_bond", all(oneSubnet(), conf("arp_announce", "2", "0", "0")),
			conf("arp_ignore", "0", "1", "1"), conf("arp_ignore", "0", "1", "0"),
			all(conf("arp_ignore", "0", "1", "1"), fail("proc/sys/net/ipv4/conf/all/arp_ignore", syscall.EIO)),
			doctor.OutcomeWarn, "node", doctor.OutcomeUnknown,
		},
		{
			67, "rp-filter", "49_bond", oneSubnet(), conf("rp_filter", "1", "2", "2"), conf("rp_filter", "1", "2", "0"),
			all(conf("rp_filter", "0", "0", "0"), fail("proc/sys/net/ipv4/conf/ens2np0/rp_filter", syscall.EIO)),
			doctor.OutcomeWarn, "ens2np0", doctor.OutcomeUnknown,
		},
		{
			68, "rail-route", "49_bond", nil, routing(policyRouting()), routing(noRoute),
			recorded(facts.Facts{Routes: failed[facts.Routing]()}),
			doctor.OutcomeFail, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			70, "neighbour-table", "49_bond", nil, set(thresh, "101"), set(thresh, "100"), fail(thresh, syscall.EIO),
			doctor.OutcomeWarn, "node", doctor.OutcomeUnknown,
		},
		{
			71, "packet-filter", "51_rxe_siw", nil, recorded(facts.Facts{Filter: known(roceRule("not in"))}),
			recorded(facts.Facts{Filter: known(roceRule("in"))}),
			recorded(facts.Facts{Filter: failed[[]facts.FilterRule]()}),
			doctor.OutcomeFail, "rxe0:1", doctor.OutcomeUnknown,
		},
		{
			71, "roce-peer", "49_bond", nil, askedRoCE(9000, facts.ProbeRoCE{Answered: true}),
			askedRoCE(9000, facts.ProbeRoCE{
				RejectedBy: netip.MustParseAddr("10.100.0.1"), ICMPType: 3, ICMPCode: 13,
			}),
			askedRoCE(9000, facts.ProbeRoCE{}), doctor.OutcomeFail, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			72, "host-name", "49_bond", nil, resolves("10.0.0.10"), resolves("127.0.1.1"),
			recorded(facts.Facts{Resolver: failed[facts.Resolver]()}),
			doctor.OutcomeWarn, "node", doctor.OutcomeUnknown,
		},
		{
			72, "socket-interface", "49_bond", nil, environment(map[string]string{"NCCL_SOCKET_IFNAME": "=bond0"}),
			environment(map[string]string{"NCCL_SOCKET_IFNAME": "=bond"}),
			recorded(facts.Facts{Environment: failed[map[string]string]()}),
			doctor.OutcomeFail, "node", doctor.OutcomeUnknown,
		},
		{
			73, "pkey", "01_ib_8hca", nil, nil, port("mlx5_0", "pkeys/0", "0x7fff"),
			fail("sys/class/infiniband/mlx5_0/ports/1/pkeys", syscall.EIO),
			doctor.OutcomeFail, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			74, "subnet-manager", "01_ib_8hca", nil, nil, port("mlx5_0", "sm_lid", "0x0"),
			fail("sys/class/infiniband/mlx5_0/ports/1/sm_lid", syscall.EIO),
			doctor.OutcomeFail, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			75, "rdma-bond", "49_bond", all(remove("sys/class/infiniband/mlx5_0"),
				remove("sys/class/infiniband/mlx5_1"),
				remove("proc/net/route")), nil, set("sys/class/net/bond0/bonding/mode", "balance-rr 0"),
			fail("sys/class/net/bond0/bonding/mode", syscall.EIO),
			doctor.OutcomeWarn, "mlx5_bond_0:1", doctor.OutcomeUnknown,
		},
	}
}
