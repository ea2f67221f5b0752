package launch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// ruleCase is a node on which a rule shows.
type ruleCase struct {
	name  string
	rules []string // that must appear in the Plan
	node  inventory.Snapshot
	opts  Options
	env   map[string]string // all variables of the Plan
	// ports is the decision on each port, "selected" or "DECISION RULE".
	ports   map[string]string
	outcome Outcome
	warn    []string // text that must appear in a warning
}

var everything = Libraries()

func ruleCases() []ruleCase {
	two := node(roce("mlx5_0", "r0", "10.0.0.1"), roce("mlx5_1", "r1", "10.0.1.1"))
	selected := func(names ...string) map[string]string {
		out := map[string]string{}
		for _, n := range names {
			out[n] = "selected"
		}
		return out
	}
	lists := func(devices ...string) map[string]string {
		var ports []string
		for _, d := range devices {
			ports = append(ports, d+":1")
		}
		all := strings.Join(ports, ",")
		return map[string]string{
			"NCCL_IB_HCA": "=" + all, "NVSHMEM_HCA_LIST": all, "UCX_NET_DEVICES": all,
			"MC_MS_FILTERS": strings.Join(devices, ","),
		}
	}
	with := func(env map[string]string, more ...string) map[string]string {
		out := maps.Clone(env)
		for _, pair := range more {
			name, value, _ := strings.Cut(pair, "=")
			out[name] = value
		}
		return out
	}
	v := func(change func(d *inventory.Device, p *inventory.Port)) inventory.Device {
		return edit(roce("mlx5_9", "r9", "10.0.9.1"), change)
	}
	return []ruleCase{
		{
			name: "RoCE v2 at one index", node: two, rules: []string{
				"nccl-ib-hca-exact", "nvshmem-hca-list", "ucx-net-devices", "mooncake-filters", "sglang-ib-device",
				"port-selected", "socket-unknown",
			},
			env: lists("mlx5_0", "mlx5_1"), ports: selected("mlx5_0:1", "mlx5_1:1"), outcome: OutcomeRDMA,
			warn: []string{"UCX_NET_DEVICES has no TCP device"},
		},
		{
			name: "InfiniBand", node: withDefault(node(device("mlx5_0", ibPort()), device("mlx5_1", ibPort())), "eno1"),
			rules: []string{"socket-default-route", "socket-ifname"}, outcome: OutcomeRDMA,
			ports: selected("mlx5_0:1", "mlx5_1:1"),
			env: with(lists("mlx5_0", "mlx5_1"), "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,eno1",
				"NCCL_SOCKET_IFNAME==eno1", "GLOO_SOCKET_IFNAME=eno1"),
		},
		{
			name: "differing indices",
			node: node(roce("mlx5_0", "r0", "10.0.0.1"),
				device("mlx5_1", rocePort("r1", "-", "-", "v1 fe80::1", "v2 fe80::1", "v1 10.0.7.1", "v2 10.0.7.1"))),
			rules: []string{"roce-differing-indices"}, outcome: OutcomeRDMA, ports: selected("mlx5_0:1", "mlx5_1:1"),
			env: with(lists("mlx5_0", "mlx5_1"), "NCCL_IB_ADDR_FAMILY=AF_INET", "NCCL_IB_ADDR_RANGE=10.0.0.0/21",
				"NVSHMEM_IB_ADDR_FAMILY=AF_INET", "NVSHMEM_IB_ADDR_RANGE=10.0.0.0/21"),
			warn: []string{"mlx5_0:1 has 3, mlx5_1:1 has 5"},
		},
		{
			name: "IPv6 only",
			node: node(device("mlx5_0", rocePort("r0", usual("2001:db8:0:1::1")...)),
				device("mlx5_1", rocePort("r1", usual("2001:db8:0:2::1")...))),
			rules: []string{"roce-ipv6-only"}, outcome: OutcomeRDMA, ports: selected("mlx5_0:1", "mlx5_1:1"),
			env: with(lists("mlx5_0", "mlx5_1"), "NCCL_IB_ADDR_FAMILY=AF_INET6", "NVSHMEM_IB_ADDR_FAMILY=AF_INET6"),
		},
		{
			name: "IPv6 only at differing indices",
			node: node(device("mlx5_0", rocePort("r0", usual("2001:db8:0:1::1")...)),
				device("mlx5_1", rocePort("r1", "v1 fe80::1", "v2 2001:db8:0:2::1"))),
			env: with(lists("mlx5_0", "mlx5_1"), "NCCL_IB_ADDR_FAMILY=AF_INET6", "NVSHMEM_IB_ADDR_FAMILY=AF_INET6",
				"NCCL_IB_ADDR_RANGE=2001:db8::/62", "NVSHMEM_IB_ADDR_RANGE=2001:db8::/62"),
			rules: []string{"roce-ipv6-only", "roce-differing-indices"}, outcome: OutcomeRDMA,
			ports: selected("mlx5_0:1", "mlx5_1:1"),
		},
		{
			name: "RoCE v1 only", node: node(device("mlx4_0", rocePort("r0", "v1 fe80::1", "v1 10.0.0.1"))),
			rules: []string{"roce-v1-only", "nvshmem-hca-prefix"}, outcome: OutcomeRDMA, ports: selected("mlx4_0:1"),
			warn: []string{"layer-2"},
			env: with(lists("mlx4_0"), "NCCL_IB_ROCE_VERSION_NUM=1", "NVSHMEM_IB_ROCE_VERSION_NUM=1",
				"NVSHMEM_HCA_PREFIX=mlx4_0"),
		},
		{
			name: "some RoCE v1 only",
			node: node(roce("mlx5_0", "r0", "10.0.0.1"), device("mlx4_0", rocePort("r1", "v1 fe80::1", "v1 10.0.1.1")),
				device("mlx4_1", rocePort("r2", "v1 10.0.2.1"))),
			rules: []string{"port-roce-version"}, outcome: OutcomeRDMA, env: lists("mlx5_0"),
			ports: map[string]string{
				"mlx5_0:1": "selected", "mlx4_0:1": "candidate port-roce-version",
				"mlx4_1:1": "candidate port-roce-version",
			},
		},
		{
			name:  "no family in common",
			node:  node(roce("mlx5_0", "r0", "10.0.0.1"), device("mlx5_1", rocePort("r1", usual("2001:db8::1")...))),
			rules: []string{"port-roce-family"}, outcome: OutcomeRDMA, env: lists("mlx5_0"),
			ports: map[string]string{"mlx5_0:1": "selected", "mlx5_1:1": "candidate port-roce-family"},
		},
		{
			name:  "link-local only",
			node:  node(roce("mlx5_0", "r0", "10.0.0.1"), device("mlx5_1", rocePort("r1", "v1 fe80::1", "v2 fe80::1"))),
			rules: []string{"port-no-gid"}, outcome: OutcomeRDMA, env: lists("mlx5_0"),
			ports: map[string]string{"mlx5_0:1": "selected", "mlx5_1:1": "rejected port-no-gid"},
		},
		{
			name: "states", node: node(roce("mlx5_0", "r0", "10.0.0.1"),
				v(func(_ *inventory.Device, p *inventory.Port) { p.State = inventory.PortStateActiveDefer })),
			rules: []string{"port-state"}, outcome: OutcomeRDMA, env: lists("mlx5_0"),
			ports: map[string]string{"mlx5_0:1": "selected", "mlx5_9:1": "rejected port-state"},
		},
		{
			name: "iWARP", outcome: OutcomeNone, env: map[string]string{},
			rules: []string{"port-iwarp", "nothing-usable"},
			node: node(v(func(d *inventory.Device, p *inventory.Port) {
				d.NodeType, p.Transport = inventory.NodeTypeRNIC, inventory.TransportIWARP
			})),
			ports: map[string]string{"mlx5_9:1": "rejected port-iwarp"}, warn: []string{"iWARP"},
		},
		{
			name: "no character device", outcome: OutcomeNone, env: map[string]string{},
			rules: []string{"port-no-verbs", "nothing-usable"},
			node: func() inventory.Snapshot {
				s := node(roce("mlx5_0", "r0", "10.0.0.1"))
				s.Host.DevVisible = true
				return s
			}(),
			ports: map[string]string{"mlx5_0:1": "rejected port-no-verbs"},
			warn:  []string{"/dev/infiniband does not exist"},
		},
		{
			name: "eRDMA", outcome: OutcomeRDMA, rules: []string{"port-selected"}, env: lists("mlx5_9"),
			node: node(v(func(d *inventory.Device, p *inventory.Port) {
				d.NodeType, p.Transport = inventory.NodeTypeRNIC, inventory.TransportERDMA
			})),
			ports: map[string]string{"mlx5_9:1": "selected"},
		},
		{
			name: "usNIC", outcome: OutcomeNone, env: map[string]string{}, rules: []string{"port-transport"},
			node:  node(v(func(_ *inventory.Device, p *inventory.Port) { p.Transport = inventory.TransportUSNIC })),
			ports: map[string]string{"mlx5_9:1": "rejected port-transport"},
		},
		{
			name: "EFA", outcome: OutcomeLibfabric, rules: []string{"efa-libfabric"}, warn: []string{"aws-ofi-nccl"},
			node: node(v(func(d *inventory.Device, p *inventory.Port) {
				d.NodeType, p.Transport, p.LinkLayer = inventory.NodeTypeUnspecified, inventory.TransportEFA, ""
			})),
			env:   map[string]string{"NVSHMEM_REMOTE_TRANSPORT": "libfabric", "NVSHMEM_LIBFABRIC_PROVIDER": "efa"},
			ports: selected("mlx5_9:1"),
		},
		{
			name: "none", node: withDefault(node(), "eth0"), outcome: OutcomeNone, rules: []string{"nothing-usable"},
			env:  map[string]string{"NCCL_SOCKET_IFNAME": "=eth0", "GLOO_SOCKET_IFNAME": "eth0"},
			warn: []string{"no RDMA device"},
		},
		{
			name: "none, TCP asked for", node: withDefault(node(), "eth0"), opts: Options{TCPFallback: true},
			outcome: OutcomeNone, rules: []string{"tcp-fallback"},
			env: map[string]string{"NCCL_SOCKET_IFNAME": "=eth0", "GLOO_SOCKET_IFNAME": "eth0", "NCCL_IB_DISABLE": "1"},
		},
		{
			name: "TCP asked for and not needed", node: two, opts: Options{TCPFallback: true}, outcome: OutcomeRDMA,
			env: lists("mlx5_0", "mlx5_1"), ports: selected("mlx5_0:1", "mlx5_1:1"),
		},
		{
			name: "VF in a pod with gaps", node: withDefault(node(device("mlx5_12",
				rocePort("net1", "-", "-", "? fe80::1", "v2 fe80::1", "v1 10.0.0.1", "v2 10.0.0.1"))), "eth0"),
			env: with(lists("mlx5_12"), "UCX_NET_DEVICES=mlx5_12:1,eth0",
				"NCCL_SOCKET_IFNAME==eth0", "GLOO_SOCKET_IFNAME=eth0"),
			ports: selected("mlx5_12:1"), outcome: OutcomeRDMA,
		},
		{
			name: "bond", node: bondNode(), rules: []string{"port-bond-slave"}, outcome: OutcomeRDMA,
			env:   lists("mlx5_bond_0"),
			ports: map[string]string{"mlx5_bond_0:1": "selected", "mlx5_3:1": "rejected port-bond-slave"},
		},
		{
			name: "several ports, one InfiniBand", rules: []string{"port-mixed-fabric", "mooncake-ib-port"},
			outcome: OutcomeRDMA,
			node: node(addPort(addPort(device("mlx5_0", ibPort()), rocePort("r0", usual("10.0.0.1")...)),
				rocePort("r1", usual("10.0.1.1")...))),
			env: map[string]string{
				"NCCL_IB_HCA": "=mlx5_0:2,mlx5_0:3", "NVSHMEM_HCA_LIST": "mlx5_0:2,mlx5_0:3",
				"UCX_NET_DEVICES": "mlx5_0:2,mlx5_0:3", "MC_MS_FILTERS": "mlx5_0",
			},
			ports: map[string]string{
				"mlx5_0:1": "candidate port-mixed-fabric", "mlx5_0:2": "selected", "mlx5_0:3": "selected",
			},
			warn: []string{"one port number"},
		},
		{
			name: "only port 2", rules: []string{"mooncake-ib-port"}, outcome: OutcomeRDMA,
			node: node(addPort(device(
				"mlx5_0", inventory.Port{State: inventory.PortStateDown, LinkLayer: inventory.LinkLayerEthernet},
			), rocePort("r0", usual("10.0.0.1")...))),
			env: map[string]string{
				"NCCL_IB_HCA": "=mlx5_0:2", "NVSHMEM_HCA_LIST": "mlx5_0:2", "UCX_NET_DEVICES": "mlx5_0:2",
				"MC_MS_FILTERS": "mlx5_0", "MC_IB_PORT": "2",
			},
			ports: map[string]string{"mlx5_0:1": "rejected port-state", "mlx5_0:2": "selected"},
		},
		{
			name: "storage beside compute", rules: []string{"port-role"}, outcome: OutcomeRDMA, env: lists("mlx5_0"),
			node: node(roce("mlx5_0", "r0", "10.0.0.1"), v(func(_ *inventory.Device, p *inventory.Port) {
				p.Role, p.RoleReason = inventory.RoleStorage, "slower"
			})),
			ports: map[string]string{"mlx5_0:1": "selected", "mlx5_9:1": "candidate port-role"},
		},
		{
			name: "storage included", opts: Options{Include: []string{"r9", "mlx5_0:1"}}, outcome: OutcomeRDMA,
			env: lists("mlx5_0", "mlx5_9"),
			node: node(roce("mlx5_0", "r0", "10.0.0.1"), roce("mlx5_1", "r1", "10.0.1.1"),
				v(func(_ *inventory.Device, p *inventory.Port) { p.Role = inventory.RoleStorage })),
			ports: map[string]string{
				"mlx5_0:1": "selected", "mlx5_1:1": "candidate port-not-included", "mlx5_9:1": "selected",
			}, rules: []string{"port-not-included"},
		},
		{
			name: "excluded", node: two, opts: Options{Exclude: []string{"/_1$/"}}, outcome: OutcomeRDMA,
			env: lists("mlx5_0"), rules: []string{"port-excluded"},
			ports: map[string]string{"mlx5_0:1": "selected", "mlx5_1:1": "candidate port-excluded"},
		},
		{
			name: "included and dead", opts: Options{Include: []string{"mlx5_9"}}, outcome: OutcomeNone,
			env: map[string]string{}, rules: []string{"include-unusable"},
			node: node(roce("mlx5_0", "r0", "10.0.0.1"),
				v(func(_ *inventory.Device, p *inventory.Port) { p.State = inventory.PortStateDown })),
			ports: map[string]string{"mlx5_0:1": "candidate port-not-included", "mlx5_9:1": "rejected port-state"},
		},
		{
			name: "hostile name", outcome: OutcomeRDMA, env: lists("mlx5_0"), rules: []string{"port-name"},
			node: node(roce("mlx5_0", "r0", "10.0.0.1"), roce("mlx5_1,mlx5_2", "r1", "10.0.1.1"),
				roce("^=x\n", "r2", "10.0.2.1")),
			ports: map[string]string{
				"mlx5_0:1": "selected", "mlx5_1,mlx5_2:1": "rejected port-name", "^=x\n:1": "rejected port-name",
			},
		},
		{
			name: "Data Direct", outcome: OutcomeRDMA, env: lists("mlx5_0"), rules: []string{"port-data-direct"},
			node:  node(roce("mlx5_0", "r0", "10.0.0.1"), roce("mlx5_0_dma", "r1", "10.0.1.1")),
			ports: map[string]string{"mlx5_0:1": "selected", "mlx5_0_dma:1": "rejected port-data-direct"},
		},
		{
			name: "planes of one card",
			node: node(planes("mlx5_0", "r0", "10.0.0.1"), planes("mlx5_1", "r1", "10.0.1.1")),
			env:  lists("mlx5_0", "mlx5_1"), ports: selected("mlx5_0:1", "mlx5_1:1"), outcome: OutcomeRDMA,
		},
		{
			name: "names without mlx5", outcome: OutcomeRDMA, rules: []string{"nvshmem-hca-prefix"},
			node:  node(roce("rocep24s0", "r0", "10.0.0.1"), roce("rocep33s0", "r1", "10.0.1.1")),
			env:   with(lists("rocep24s0", "rocep33s0"), "NVSHMEM_HCA_PREFIX=rocep"),
			ports: selected("rocep24s0:1", "rocep33s0:1"),
		},
		{
			name: "names without anything in common", outcome: OutcomeRDMA, rules: []string{"nvshmem-hca-prefix"},
			warn: []string{"no text in common"},
			node: node(roce("abc", "r0", "10.0.0.1"), roce("xyz", "r1", "10.0.1.1")), env: lists("abc", "xyz"),
			ports: selected("abc:1", "xyz:1"),
		},
		{
			name: "pinned", node: two, opts: Options{PinGID: true}, outcome: OutcomeRDMA, rules: []string{"gid-pin"},
			ports: selected("mlx5_0:1", "mlx5_1:1"),
			env: with(lists("mlx5_0", "mlx5_1"), "NCCL_IB_GID_INDEX=3", "NVSHMEM_IB_GID_INDEX=3", "UCX_IB_GID_INDEX=3",
				"MC_GID_INDEX=3"),
		},
		{
			name: "peer", node: withDefault(withNetdev(
				two, inventory.Netdev{Name: "mgmt0", Addresses: []netip.Prefix{netip.MustParsePrefix("172.16.0.5/16")}},
			), "eno1"),
			opts: Options{Peer: netip.MustParseAddr("172.16.3.4")}, outcome: OutcomeRDMA,
			rules: []string{"socket-peer-route"}, ports: selected("mlx5_0:1", "mlx5_1:1"),
			env: with(lists("mlx5_0", "mlx5_1"), "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,mgmt0",
				"NCCL_SOCKET_IFNAME==mgmt0", "GLOO_SOCKET_IFNAME=mgmt0"),
		},
		{
			name: "peer on a rail", node: two, outcome: OutcomeRDMA, rules: []string{"socket-on-rail", "peer-reach"},
			ports: selected("mlx5_0:1", "mlx5_1:1"),
			opts:  Options{Peer: netip.MustParseAddr("10.0.1.9"), Routes: railRoutes},
			env: with(lists("mlx5_0", "mlx5_1"), "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,r1",
				"NCCL_SOCKET_IFNAME==r1", "GLOO_SOCKET_IFNAME=r1"),
			warn: []string{"is reachable from mlx5_1:1 but not from mlx5_0:1"},
		},
		{
			name: "only one device left", outcome: OutcomeRDMA, rules: []string{"socket-only-candidate"},
			ports: selected("mlx5_0:1", "mlx5_1:1"),
			node: withNetdev(
				withNetdev(withNetdev(two, inventory.Netdev{Name: "docker0"}),
					inventory.Netdev{Name: "ib9", Type: inventory.ARPHRDInfiniBand}), inventory.Netdev{Name: "eno1"}),
			env: with(lists("mlx5_0", "mlx5_1"), "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,eno1",
				"NCCL_SOCKET_IFNAME==eno1", "GLOO_SOCKET_IFNAME=eno1"),
		},
		{
			name: "33 ports", node: node(many(33)...), outcome: OutcomeRDMA, rules: []string{"nccl-hca-limit"},
			warn: []string{"33 ports are selected"}, env: nil, ports: nil,
		},
		{
			name: "169.254", node: node(roce("mlx5_0", "r0", "169.254.1.1")), outcome: OutcomeRDMA,
			rules: []string{"ipv4-link-local"},
			env:   lists("mlx5_0"), ports: selected("mlx5_0:1"),
		},
		{
			name: "software", node: node(edit(roce("rxe0", "eth0", "10.0.0.1"),
				func(d *inventory.Device, _ *inventory.Port) { d.Software = "rxe" })), outcome: OutcomeRDMA,
			rules: []string{"software-device"}, env: with(lists("rxe0"), "NVSHMEM_HCA_PREFIX=rxe0"),
			ports: selected("rxe0:1"),
		},
		{
			name:  "NCCL prefers another entry",
			node:  node(device("mlx5_0", rocePort("r0", "v1 fe80::1", "v2 169.254.7.7", "v2 10.0.0.1"))),
			rules: []string{"nccl-other-gid", "ucx-other-gid"}, outcome: OutcomeRDMA, env: lists("mlx5_0"),
			ports: selected("mlx5_0:1"),
		},
		{
			name: "user values", node: two, outcome: OutcomeRDMA,
			rules: []string{"user-gid-index", "user-ib-disable", "user-ib-hca"},
			ports: selected("mlx5_0:1", "mlx5_1:1"),
			opts: Options{Environment: map[string]string{
				"NCCL_IB_HCA": "mlx5_1", "NCCL_IB_GID_INDEX": "5", "NCCL_IB_DISABLE": "1", "UCX_NET_DEVICES": "",
			}},
			env: with(lists("mlx5_0", "mlx5_1"), "NCCL_IB_HCA=mlx5_1"), warn: []string{"leaves out mlx5_0:1"},
		},
		{
			name: "settings of the user that a derived one would silence", node: two, outcome: OutcomeRDMA,
			rules: []string{"user-rival"}, ports: selected("mlx5_0:1", "mlx5_1:1"),
			opts: Options{PinGID: true, Environment: map[string]string{
				"NVSHMEM_HCA_PE_MAPPING": "mlx5_0:1:2", "UCX_IB_ROCE_SUBNETS": "10.0.0.0/8",
			}},
			env: map[string]string{
				"NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1", "UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:1",
				"MC_MS_FILTERS":     "mlx5_0,mlx5_1",
				"NCCL_IB_GID_INDEX": "3", "NVSHMEM_IB_GID_INDEX": "3", "MC_GID_INDEX": "3",
			},
			warn: []string{"NVSHMEM_HCA_LIST is not set", "UCX_IB_GID_INDEX is not set"},
		},
		{
			name: "closed uverbs", outcome: OutcomeRDMA, rules: []string{"uverbs-closed"}, env: lists("mlx5_9"),
			ports: selected("mlx5_9:1"), warn: []string{"mlx5_9: /dev/infiniband/uverbs4: permission denied"},
			node: node(v(func(d *inventory.Device, _ *inventory.Port) {
				d.Chars = []inventory.CharDevice{
					{Name: "uverbs4", Path: "/dev/infiniband/uverbs4", OpenError: "permission denied"},
				}
			})),
		},
		{
			name: "container without devices", outcome: OutcomeRDMA, rules: []string{"uverbs-closed"},
			env: lists("mlx5_0", "mlx5_1"), ports: selected("mlx5_0:1", "mlx5_1:1"),
			node: inventory.Snapshot{Devices: two.Devices, Host: inventory.Host{Container: &inventory.Container{}}},
			warn: []string{"no /dev/infiniband"},
		},
		{
			name: "unreadable", outcome: OutcomeNone, rules: []string{"port-state", "port-no-gid", "incomplete-scan"},
			env: map[string]string{},
			node: inventory.Snapshot{
				Devices: []inventory.Device{
					edit(two.Devices[0], func(_ *inventory.Device, p *inventory.Port) { p.State = 0 }),
					device("mlx5_1", rocePort("r1")),
				},
				Problems: []inventory.Problem{
					{Path: "/sys/class/infiniband/mlx5_0/ports/1/state", Error: "permission denied"},
					{Path: "/sys/class/infiniband/mlx5_1/ports/1/gids", Error: "input/output error"},
				},
			},
			ports: map[string]string{"mlx5_0:1": "rejected port-state", "mlx5_1:1": "rejected port-no-gid"},
			warn: []string{
				"none of 2 ports can be used; for mlx5_0:1: the state could not be read: permission denied",
			},
		},
		{
			name: "incomplete", node: problem(two, "/sys/class/infiniband/mlx5_2/ports/1/state"), outcome: OutcomeRDMA,
			rules: []string{"incomplete-scan"},
			env:   lists("mlx5_0", "mlx5_1"), ports: selected("mlx5_0:1", "mlx5_1:1"),
		},
	}
}

// planes is a card of which each plane is a device: all share the system image GUID.
func planes(name, netdev, addr string) inventory.Device {
	d := roce(name, netdev, addr)
	d.SystemGUID = &ib.GUID{0xb8, 0x3f, 0xd2, 0x03, 0x00, 0xa5, 0x10, 0x00}
	return d
}

// bondNode has a bond of two slaves, and a card whose address is on a slave of it.
func bondNode() inventory.Snapshot {
	s := node(device("mlx5_bond_0", rocePort("bond0", "v1 fe80::1", "v2 fe80::1 s0", "v1 10.0.0.1", "v2 10.0.0.1")),
		device("mlx5_3", rocePort("s1", "v2 fe80::1", "v2 10.0.0.1 s1")))
	s = withNetdev(s, inventory.Netdev{
		Name: "bond0", Bond: &inventory.Bond{Mode: "802.3ad", Slaves: []string{"s0", "s1"}}, RDMADevice: "mlx5_bond_0",
	})
	s = withNetdev(s, inventory.Netdev{Name: "s0", Master: "bond0"})
	return withNetdev(s, inventory.Netdev{Name: "s1", Master: "bond0", RDMADevice: "mlx5_3"})
}

func many(n int) []inventory.Device {
	var out []inventory.Device
	for i := range n {
		out = append(out, roce(fmt.Sprintf("mlx5_%d", i), fmt.Sprintf("r%d", i), fmt.Sprintf("10.0.%d.1", i)))
	}
	return out
}

func problem(s inventory.Snapshot, file string) inventory.Snapshot {
	s.Problems = []inventory.Problem{
		{Path: file, Error: "permission denied"},
		{Path: "/sys/class/infiniband/mlx5_0/fw_ver", Error: "permission denied"},
	}
	return s
}

// railRoutes sends 10.0.N.0/24 over rN, from any other rail's address too.
func railRoutes(dst, _ netip.Addr) (Route, error) {
	return Route{Netdev: fmt.Sprintf("r%d", dst.As4()[2])}, nil
}

func TestRules(t *testing.T) {
	shown := map[string]bool{}
	for _, tt := range ruleCases() {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.Libraries = everything
			plan, err := Derive(tt.node, tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Outcome != tt.outcome {
				t.Errorf("outcome = %s, want %s", plan.Outcome, tt.outcome)
			}
			if diff := cmp.Diff(tt.env, plan.Environment()); tt.env != nil && diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.ports, decisions(plan)); tt.ports != nil && diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
			used := rulesOf(plan)
			for _, id := range tt.rules {
				if !slices.Contains(used, id) {
					t.Errorf("rule %s is not in the plan, which has %v", id, used)
				}
			}
			var text []string
			for _, w := range plan.Warnings {
				text = append(text, w.Text)
			}
			for _, want := range tt.warn {
				if !strings.Contains(strings.Join(text, "\n"), want) {
					t.Errorf("warnings = %q, want one with %q", text, want)
				}
			}
			for _, id := range used {
				shown[id] = true
			}
		})
	}
	for _, r := range Rules() {
		if !shown[r.ID] {
			t.Errorf("no case shows rule %s", r.ID)
		}
	}
}

func decisions(plan Plan) map[string]string {
	var out map[string]string
	for _, p := range plan.Ports {
		if out == nil {
			out = map[string]string{}
		}
		out[p.Name()] = string(p.Decision)
		if p.Decision != DecisionSelected {
			out[p.Name()] += " " + p.Rule
		}
	}
	return out
}

// rulesOf returns every rule that a Plan mentions.
func rulesOf(plan Plan) []string {
	var out []string
	for _, p := range plan.Ports {
		out = append(out, p.Rule)
	}
	for _, v := range plan.Variables {
		out = append(out, v.Rule)
	}
	for _, v := range plan.Unset {
		out = append(out, v.Rule)
	}
	for _, v := range plan.Arguments {
		out = append(out, v.Rule)
	}
	for _, v := range plan.Conflicts {
		out = append(out, v.Rule)
	}
	for _, v := range plan.Warnings {
		out = append(out, v.Rule)
	}
	if plan.Socket != nil {
		out = append(out, plan.Socket.Rule)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestRuleTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.ID] {
			t.Errorf("rule %s is there twice", r.ID)
		}
		seen[r.ID] = true
		if r.When == "" || r.Then == "" || r.Why == "" || r.Kind == "" {
			t.Errorf("rule %s is not described: %+v", r.ID, r)
		}
	}
}

// TestDeriveErrors checks that options which can't be followed are refused with what exists.
func TestDeriveErrors(t *testing.T) {
	two := node(roce("mlx5_0", "r0", "10.0.0.1"), device("mlx5_1", rocePort("r1", "v1 fe80::1", "v2 10.0.1.1")))
	two.Devices[0].PCI = &inventory.PCI{Address: "0000:18:00.0"}
	tests := []struct {
		node inventory.Snapshot
		opts Options
		want []string
	}{
		{two, Options{Include: []string{"mlx5_7"}}, []string{
			`include: "mlx5_7" matches no port`, "mlx5_0:1 (0000:18:00.0, r0)", "mlx5_1:1 (r1)",
		}},
		{two, Options{Exclude: []string{"mlx5_0", "eth*"}}, []string{`exclude: "eth*" matches no port`}},
		{two, Options{Include: []string{"[x"}}, []string{"include", "unclosed ["}},
		{two, Options{Include: []string{"/(/"}}, []string{"include", "missing closing )"}},
		{two, Options{Include: []string{""}}, []string{"include: empty selector"}},
		{two, Options{PinGID: true}, []string{"pin-gid: no index suits all ports: mlx5_0:1 has 3, mlx5_1:1 has 1"}},
		{node(device("mlx5_0", ibPort())), Options{PinGID: true}, []string{"pin-gid: mlx5_0:1 on InfiniBand"}},
		{two, Options{Peer: netip.MustParseAddr("0.0.0.0")}, []string{"peer: 0.0.0.0"}},
		{two, Options{Peer: netip.MustParseAddr("ff02::1")}, []string{"peer: ff02::1"}},
	}
	for _, tt := range tests {
		_, err := Derive(tt.node, tt.opts)
		if !errors.Is(err, ErrOptions) {
			t.Errorf("Derive(%+v) = %v, want ErrOptions", tt.opts, err)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("Derive(%+v) = %v, want %q in it", tt.opts, err, want)
			}
		}
	}
	if _, err := Derive(node(), Options{Include: []string{"mlx5_0"}, PinGID: true}); err != nil {
		t.Errorf("Derive of a node without ports = %v, want no error", err)
	}
}

func TestOverride(t *testing.T) {
	two := node(roce("mlx5_0", "r0", "10.0.0.1"), roce("mlx5_1", "r1", "10.0.1.1"))
	user := map[string]string{
		"NCCL_IB_HCA": "mlx5_9", "UCX_IB_GID_INDEX": "1", "NVSHMEM_HCA_LIST": "mlx5_0:1,mlx5_1:1",
		"UCX_NET_DEVICES": "",
	}
	kept, err := Derive(two, Options{Environment: user})
	if err != nil {
		t.Fatal(err)
	}
	want := []Conflict{
		{
			Name: "NCCL_IB_HCA", User: "mlx5_9", Derived: "=mlx5_0:1,mlx5_1:1", Kept: SourceUser,
			Rule: "nccl-ib-hca-exact", Reason: "2 selected ports",
		},
		{
			Name: "UCX_IB_GID_INDEX", User: "1", Kept: SourceUser, Rule: "user-gid-index",
			Reason: "mlx5_0:1 has no routable GID at index 1 (use 3); mlx5_1:1 has no routable " +
				"GID at index 1 (use 3)",
		},
	}
	if diff := cmp.Diff(want, kept.Conflicts); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	if got := kept.Environment()["NCCL_IB_HCA"]; got != "mlx5_9" {
		t.Errorf("NCCL_IB_HCA = %q, want the user's", got)
	}
	over, err := Derive(two, Options{Environment: user, Override: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := over.Environment()["NCCL_IB_HCA"]; got != "=mlx5_0:1,mlx5_1:1" {
		t.Errorf("NCCL_IB_HCA with Override = %q, want the derived one", got)
	}
	if len(over.Unset) != 1 || over.Unset[0].Name != "UCX_IB_GID_INDEX" || over.Conflicts[0].Kept != SourceDerived {
		t.Errorf("Unset = %+v, conflicts %+v, want UCX_IB_GID_INDEX to go", over.Unset, over.Conflicts)
	}
	for _, v := range over.Variables {
		if wantSource := map[bool]Source{true: SourceUser, false: SourceDerived}[v.Name ==
			"NVSHMEM_HCA_LIST"]; v.Source != wantSource {
			t.Errorf("source of %s = %s, want %s", v.Name, v.Source, wantSource)
		}
	}
}

func TestLibraries(t *testing.T) {
	two := withDefault(node(roce("mlx5_0", "r0", "10.0.0.1")), "eth0")
	tests := map[string]string{
		"nccl": "NCCL_IB_HCA NCCL_SOCKET_IFNAME", "rccl": "NCCL_IB_HCA NCCL_SOCKET_IFNAME", "UCX": "UCX_NET_DEVICES",
		"nixl": "UCX_NET_DEVICES",
		"gloo": "GLOO_SOCKET_IFNAME", "nvshmem": "NVSHMEM_HCA_LIST", "mooncake": "MC_MS_FILTERS", "sglang": "",
		"gloo,nccl": "NCCL_IB_HCA NCCL_SOCKET_IFNAME GLOO_SOCKET_IFNAME",
		"all":       "NCCL_IB_HCA NCCL_SOCKET_IFNAME NVSHMEM_HCA_LIST UCX_NET_DEVICES GLOO_SOCKET_IFNAME MC_MS_FILTERS",
	}
	for names, want := range tests {
		list, err := ParseLibraries(strings.Split(names, ","))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := Derive(two, Options{Libraries: list})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range plan.Variables {
			got = append(got, v.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("variables for %s = %v, want %s", names, got, want)
		}
	}
	if _, err := ParseLibraries([]string{"mpi"}); err == nil || !strings.Contains(err.Error(), "nccl, nvshmem") {
		t.Errorf("ParseLibraries(mpi) = %v, want an error that lists the libraries", err)
	}
}

// TestTrees derives on every recorded node and holds the result against the facts.
func TestTrees(t *testing.T) {
	want := map[string]string{ // NCCL_IB_HCA, then what is special
		"01_ib_8hca":               "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1",
		"02_rocev2_8hca":           "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1",
		"04_iwarp":                 "",
		"06_none":                  "",
		"07_sriov_vf_pod":          "=mlx5_9:1,mlx5_4:1,mlx5_12:1,mlx5_15:1 range 10.0.0.0/20",
		"09_multiport":             "=mlx5_0:2,mlx5_1:1,mlx5_1:2,mlx4_0:2",
		"10_mixed_ib_storage_roce": "=mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1",
		"13_ipv6_only_roce":        "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1 family AF_INET6",
		"14_lexical_gid_order":     "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1",
		"20_states":                "=mlx5_0:1",
		"30_timing_8x256":          "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1",
		"31_timing_worst_8x256":    "",
		"40_pf_vfs":                "=mlx5_0:1,mlx5_1:1", // the VFs have no addresses
		"43_no_module":             "",
		"44_container_no_dev":      "",
		"45_partial_errors":        "=mlx5_0:1",
		"47_gpu_switches":          "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1",
		"48_efa":                   "",
		"49_bond":                  "=mlx5_0:1,mlx5_1:1",
		"50_roce_v1_only":          "=mlx4_0:1,mlx4_1:1",
		"51_rxe_siw":               "=rxe0:1",
		"54_link_local_only":       "",
		"59_exclusive_netns":       "=mlx5_2:1",
	}
	for _, name := range testtrees.Names() {
		tree, err := testtrees.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		// problems are part of the snapshot
		snapshot, _ := inventory.Scan(context.Background(), inventory.Sources{Root: tree.FS()})
		plan, err := Derive(snapshot, Options{Libraries: everything})
		if err != nil {
			t.Errorf("Derive(%s): %v", name, err)
			continue
		}
		checkPlan(t, name, snapshot, Options{}, plan)
		env := plan.Environment()
		got := env["NCCL_IB_HCA"]
		if r := env["NCCL_IB_ADDR_RANGE"]; r != "" {
			got += " range " + r
		}
		if f := env["NCCL_IB_ADDR_FAMILY"]; f == "AF_INET6" {
			got += " family " + f
		}
		if want, known := want[name]; known && got != want {
			t.Errorf("%s: NCCL_IB_HCA = %q, want %q", name, got, want)
		}
		if (plan.Outcome == OutcomeRDMA) != (env["NCCL_IB_HCA"] != "") {
			t.Errorf("%s: outcome %s with NCCL_IB_HCA=%q", name, plan.Outcome, env["NCCL_IB_HCA"])
		}
	}
}

func BenchmarkDerive(b *testing.B) {
	tree, err := testtrees.Load("30_timing_8x256")
	if err != nil {
		b.Fatal(err)
	}
	snapshot, err := inventory.Scan(b.Context(), inventory.Sources{Root: tree.FS()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Derive(snapshot, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
