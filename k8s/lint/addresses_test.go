package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAddresses tests the forms of addresses that the IPAM plugins accept: each case is one rule on
// one network.
func TestAddresses(t *testing.T) {
	two := strings.Replace(
		fill(somePod, "NETWORKS", "rail0", "POD",
			"")+fill(somePod, "NAME", "b", "NETWORKS", "rail0", "POD", ""), "---", "\n---", 1)
	eight := fill(somePolicy, "SPEC", "linkType: ib, nicSelector: {pfNames: [ens1]}")
	tests := []struct {
		name, rule, ipam string
		more             string // other objects
		nodes            string
		want             []string // severity and summary
	}{
		{
			name: "half of IPv4, in ranges", rule: "ipam-mask",
			ipam: `{"type": "host-local", "ranges": [[{"subnet": "192.168.0.0/24"}], [{"subnet": "192.168.0.0/1"}]]}`,
			want: []string{"error /1 covers 128.0.0.0 to 255.255.255.255: the pod sends all traffic for " +
				"them to this network"},
		},
		{
			name: "a host in place of a network", rule: "ipam-mask",
			ipam: `{"type": "host-local", "ranges": [[{"subnet": "192.168.0.7/24"}]]}`,
			want: []string{"error 192.168.0.7/24 is a host address in 192.168.0.0/24, not a network: host-local " +
				"rejects it, and no pod starts"},
		},
		// host-local compares addresses: plugins/ipam/host-local/backend/allocator/range.go
		{
			name: "networks in other forms", rule: "ipam-mask",
			ipam: `{"type": "host-local", "ranges": [[{"subnet": "FD00:1::/64"}], ` +
				`[{"subnet": "3ffe:ffff:0:01ff::/64"}]]}`, // 3ffe::/16 was returned to IANA (RFC 3701)
		},
		{
			name: "public addresses", rule: "ipam-mask", ipam: `{"type": "whereabouts", "range": "2600:1f14::/64"}`,
			want: []string{"note 2600:1f14::/64 has public addresses: a pod on this network can't reach the " +
				"hosts that own them"},
		},
		{name: "whereabouts takes it", rule: "ipam-mask", ipam: `{"type": "whereabouts", "range": "192.168.0.7/24"}`},
		{
			name: "static without a length", rule: "ipam-mask",
			ipam: `{"type": "static", "addresses": [{"address": "192.168.0.7"}]}`,
			want: []string{`error "192.168.0.7" is not an address range: write ADDRESS/LENGTH`},
		},
		{
			name: "static with half of IPv4", rule: "ipam-mask",
			ipam: `{"type": "static", "addresses": [{"address": "192.168.0.7/1"}]}`,
			want: []string{"error /1 covers 128.0.0.0 to 255.255.255.255: the pod sends all traffic for " +
				"them to this network"},
		},
		{
			name: "static and alone", rule: "ipam-mask",
			ipam: `{"type": "static", "addresses": [{"address": "192.168.0.7/32"}, {"address": "fd00::7/128"}]}`,
		},
		{
			name: "the second of ipRanges", rule: "ipam-mask",
			ipam: `{"type": "whereabouts", "ipRanges": [{"range": "192.168.0.0/24"}, {"range": "192.168.1.0/31"}]}`,
			want: []string{"error 192.168.1.0/31 has no address for a pod, only the network and broadcast addresses"},
		},
		{name: "public", rule: "ipam-mask", ipam: `{"type": "whereabouts", "range": "52.1.0.0/24"}`, want: []string{
			"note 52.1.0.0/24 has public addresses: a pod on this network can't reach the hosts that own them",
		}},
		{
			name: "public, IPv6", rule: "ipam-mask", ipam: `{"type": "whereabouts", "range": "2a00:1450::/64"}`,
			want: []string{"note 2a00:1450::/64 has public addresses: a pod on this network can't reach " +
				"the hosts that own them"},
		},
		{name: "shared by carriers", rule: "ipam-mask", ipam: `{"type": "whereabouts", "range": "100.64.0.0/24"}`},
		{name: "unique local", rule: "ipam-mask", ipam: `{"type": "whereabouts", "range": "fd12:3456::/64"}`},

		{
			name: "bounds outside, in ranges", rule: "ipam-range",
			ipam: `{"type": "host-local", "ranges": [[{"subnet": "192.168.0.0/24", "rangeStart": "192.168.1.10"}]]}`,
			want: []string{
				"error rangeStart 192.168.1.10 is not in 192.168.0.0/24: host-local rejects it, and no pod starts",
			},
		},
		{name: "bounds backwards, old form", rule: "ipam-range", ipam: `{"type": "host-local", "subnet": ` +
			`"192.168.0.0/24", "rangeStart": "192.168.0.20", "rangeEnd": "192.168.0.10"}`, want: []string{
			"error rangeStart 192.168.0.20 is after rangeEnd 192.168.0.10: host-local rejects them, and no pod starts",
		}},
		{name: "bounds right, in ranges", rule: "ipam-range", ipam: `{"type": "host-local", "ranges": [[{"subnet": ` +
			`"192.168.0.0/24", "rangeStart": "192.168.0.10", "rangeEnd": "192.168.0.20", "gateway": "192.168.0.1"}]]}`},
		{
			name: "nothing left", rule: "ipam-range",
			ipam: `{"type": "whereabouts", "range": "192.168.0.0/24", "exclude": ` +
				`["192.168.0.0/25", "192.168.0.128/25"]}`,
			want: []string{"error exclude leaves no address of 192.168.0.0/24 for pods"},
		},
		{name: "something left", rule: "ipam-range", ipam: `{"type": "whereabouts", "range": "192.168.0.0/24", ` +
			`"exclude": ["192.168.0.0/25", "192.168.0.128/26"]}`},

		{
			name: "two halves", rule: "ipam-gateway",
			ipam: `{"type": "whereabouts", "range": "192.168.0.0/24", "routes": [{"dst": "0.0.0.0/1"}, ` +
				`{"dst": "128.0.0.0/1"}]}`,
			want: []string{"error the routes together cover 0.0.0.0/0 and send all traffic to the RDMA network"},
		},
		{
			name: "quarters of IPv6", rule: "ipam-gateway",
			ipam: `{"type": "whereabouts", "range": "fd00::/64", "routes": [{"dst": "8000::/1"}, {"dst": ` +
				`"4000::/2"}, {"dst": "::/2"}]}`,
			want: []string{"error the routes together cover ::/0 and send all traffic to the RDMA network"},
		},
		{name: "three quarters", rule: "ipam-gateway", ipam: `{"type": "whereabouts", "range": "192.168.0.0/24", ` +
			`"routes": [{"dst": "0.0.0.0/1"}, {"dst": "192.0.0.0/2"}]}`},
		{
			name: "a route without a length", rule: "ipam-gateway",
			ipam: `{"type": "whereabouts", "range": "192.168.0.0/24", "routes": [{"dst": "192.168.1.0"}]}`,
			want: []string{`error the destination "192.168.1.0" of a route is not ADDRESS/LENGTH: no pod starts`},
		},
		{
			name: "a way by another network", rule: "ipam-gateway",
			ipam: `{"type": "whereabouts", "range": "192.168.0.0/24", "routes": [{"dst": ` +
				`"192.168.1.0/24", "gw": "192.168.1.1"}]}`,
			want: []string{"error gw 192.168.1.1 of the route to 192.168.1.0/24 is not in 192.168.0.0/24: the kernel " +
				"rejects the route, and no pod starts"},
		},
		{name: "a way by its own", rule: "ipam-gateway", ipam: `{"type": "whereabouts", "range": "192.168.0.0/24", ` +
			`"routes": [{"dst": "192.168.1.0/24", "gw": "192.168.0.1"}, {"dst": "fd00::/64", "gw": "fe80::1"}]}`},
		{
			name: "gateway of a range outside", rule: "ipam-gateway",
			ipam: `{"type": "host-local", "ranges": [[{"subnet": "192.168.0.0/24", "gateway": "192.168.1.1"}]], ` +
				`"routes": [{"dst": "192.168.0.0/16"}]}`,
			want: []string{
				"error gateway 192.168.1.1 is not in 192.168.0.0/24: host-local rejects it, and no pod starts",
			},
		},
		{
			name: "gateway of an address outside", rule: "ipam-gateway",
			ipam: `{"type": "static", "addresses": [{"address": "192.168.0.7/24", "gateway": "10.0.0.1"}], "routes": ` +
				`[{"dst": "192.168.0.0/16"}]}`,
			want: []string{"warn gateway 10.0.0.1 is not in 192.168.0.0/24: the pod can't reach it"},
		},
		{name: "gateways right", rule: "ipam-gateway", ipam: `{"type": "static", "addresses": [{"address": ` +
			`"192.168.0.7/24", "gateway": "192.168.0.1"}], "routes": [{"dst": "192.168.0.0/16"}]}`},

		{
			name: "the range of another rail, in ranges", rule: "ipam-overlap",
			ipam: `{"type": "host-local", "ranges": [[{"subnet": "192.168.0.0/24"}]]}`,
			more: strings.NewReplacer(
				"rail0", "rail1", "IPAM", `{"type": "static", "addresses": [{"address": "192.168.0.7/24"}]}`,
			).Replace(someNetwork),
			want: []string{
				"warn 192.168.0.0/24 overlaps with 192.168.0.0/24 of SriovIBNetwork ml/rail0, another network",
			},
		},
		{
			name: "ranges of one network", rule: "ipam-overlap",
			ipam: `{"type": "host-local", "ranges": [[{"subnet": "192.168.0.0/24"}], [{"subnet": "192.168.0.0/25"}]]}`,
			want: []string{"error the ranges 192.168.0.0/24 and 192.168.0.0/25 of the network overlap: host-local " +
				"rejects them, and no pod starts"},
		},
		{name: "parts of one subnet", rule: "ipam-overlap", ipam: `{"type": "host-local", "ranges": ` +
			`[[{"subnet": "192.168.0.0/24", "rangeEnd": "192.168.0.9"}, {"subnet": "192.168.0.0/24", ` +
			`"rangeStart": "192.168.0.20"}]]}`},
		{
			name: "address of a host, in ranges", rule: "ipam-overlap",
			ipam: `{"type": "host-local", "ranges": [[{"subnet": "192.168.0.0/24"}]]}`, nodes: hostNode,
			want: []string{"error a pod may get 192.168.0.11, an address of node gpu-00"},
		},

		{
			name: "a node has more VFs", rule: "ipam-capacity",
			ipam: `{"type": "host-local", "subnet": "192.168.0.0/29"}`, more: eight,
			nodes: card0("linkType: IB, totalvfs: 8"), want: []string{"error 5 addresses for 8 VFs on node gpu-00"},
		},
		{
			name: "a node has as many", rule: "ipam-capacity",
			ipam: `{"type": "host-local", "ranges": [[{"subnet": "192.168.0.0/29"}, {"subnet": "192.168.1.0/29"}]]}`,
			more: eight, nodes: card0("linkType: IB, totalvfs: 8"),
		},
		{
			name: "the smaller of two ranges", rule: "ipam-capacity",
			ipam: `{"type": "whereabouts", "ipRanges": [{"range": "192.168.0.0/24"}, {"range": "192.168.1.0/29"}]}`,
			more: eight, nodes: card0("linkType: IB, totalvfs: 8"),
			want: []string{"error 6 addresses for 8 VFs on 1 node"},
		},
		{
			name: "both families", rule: "ipam-capacity",
			ipam: `{"type": "whereabouts", "ipRanges": [{"range": "192.168.0.0/24"}, {"range": "fd00::/64"}]}`,
			more: eight, nodes: card0("linkType: IB, totalvfs: 8"),
		},
		{
			name: "one address, two pods", rule: "ipam-capacity",
			ipam: `{"type": "static", "addresses": [{"address": "192.168.0.7/24"}]}`, more: two,
			want: []string{"error static assigns the same address to 2 interfaces of the pods in these manifests"},
		},
		{
			name: "one address, one pod", rule: "ipam-capacity",
			ipam: `{"type": "static", "addresses": [{"address": "192.168.0.7/24"}]}`,
			more: fill(somePod, "NETWORKS", "rail0", "POD", ""),
		},
		{
			name: "two addresses of one range", rule: "ipam-capacity",
			ipam: `{"type": "whereabouts", "range": "192.168.0.8-192.168.0.8/24"}`, more: two,
			want: []string{"error 1 address for 2 interfaces of the pods in these manifests"},
		},

		{
			name: "a field of the wrong type", rule: "ipam-fields",
			ipam: `{"type": "whereabouts", "range": "192.168.0.0/24", "exclude": "192.168.0.0/28"}`, want: []string{
				"error exclude is a string but must be a list of strings: whereabouts rejects it, and no pod starts",
			},
		},
		{
			name: "a list in place of a list of lists", rule: "ipam-fields",
			ipam: `{"type": "host-local", "ranges": [{"subnet": "192.168.0.0/24"}]}`, want: []string{"error an entry " +
				"of ranges is an object but must be a list of objects: host-local rejects it, and no pod starts"},
		},
		{
			name: "whereabouts' names in ranges", rule: "ipam-fields",
			ipam: `{"type": "host-local", "ranges": [[{"range": "192.168.0.0/24"}]]}`,
			want: []string{"error host-local has no field range"},
		},
		{
			name: "one address without its list", rule: "ipam-fields",
			ipam: `{"type": "static", "address": "192.168.0.7/24"}`,
			want: []string{"error static has no field address"},
		},
		{
			name: "no range", rule: "ipam-fields", ipam: `{"type": "host-local"}`,
			want: []string{"error host-local has no range"},
		},
		{
			name: "truth in quotes", rule: "ipam-fields",
			ipam: `{"type": "whereabouts", "range": "192.168.0.0/24", "enable_overlapping_ranges": "false"}`,
			want: []string{"error enable_overlapping_ranges is a string: whereabouts rejects it, and no pod starts"},
		},
		{name: "fields right", rule: "ipam-fields", ipam: `{"type": "host-local", "ranges": [[{"subnet": ` +
			`"192.168.0.0/24", "rangeStart": "192.168.0.9"}]], "routes": []}`},
		{
			name: "another plugin's", rule: "ipam-fields",
			ipam: `{"type": "spiderpool", "default_ipv4_ippool": ["rail0"], "exclude": "x"}`,
		},

		{
			name: "one range for all nodes", rule: "ipam-empty",
			ipam: `{"type": "host-local", "ranges": [[{"subnet": "192.168.0.0/24"}]]}`, want: []string{
				"warn host-local assigns addresses from the same range on each node: pods on two nodes " +
					"get the same address",
			},
		},
		{
			name: "one node", rule: "ipam-empty",
			ipam: `{"type": "host-local", "ranges": [[{"subnet": "192.168.0.0/24"}]]}`, more: eight,
			nodes: card0("linkType: IB, totalvfs: 8"),
		},
	}
	for _, tt := range tests {
		t.Run(tt.rule+"/"+tt.name, func(t *testing.T) {
			var got []string
			for _, f := range check(t, tt.rule, fill(someNetwork, "IPAM", tt.ipam)+tt.more, tt.nodes) {
				got = append(got, string(f.Severity)+" "+f.Summary)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings of %s differ (-want +got):\n%s", tt.rule, diff)
			}
		})
	}
}

// TestAddressesByHand does so for a NetworkAttachmentDefinition, and checks the position of one
// range among several.
func TestAddressesByHand(t *testing.T) {
	const local = `{"type": "ib-sriov", "ipam": {"type": "host-local", "ranges": [[{"subnet": "192.168.0.0/24"}]]}}`
	if got := check(t, "ipam-empty", fill(someNAD, "CONFIG", local), ""); len(got) != 1 {
		t.Errorf("ipam-empty reports host-local in a definition %d times, want once", len(got))
	}
	macvlan := strings.Replace(fill(someNAD, "CONFIG", strings.Replace(local, "ib-sriov", "macvlan", 1)),
		"k8s.v1.cni.cncf.io/resourceName: nvidia.com/rail0", "", 1)
	if got := check(t, "ipam-empty", macvlan, ""); len(got) != 0 {
		t.Errorf("ipam-empty reports a definition that isn't for RDMA: %+v", got)
	}
	in := fill(someNetwork, "IPAM",
		`{"type": "whereabouts", "ipRanges": [{"range": "192.168.0.0/24"}, {"range": "192.168.1.0/31"}]}`)
	line := strings.Split(in, "\n")[4]
	want := strings.Index(line, `"range": "192.168.1.0/31"`) + 1
	if got := check(t, "ipam-mask", in, ""); len(got) != 1 || got[0].Line != 5 || got[0].Column != want {
		t.Errorf("findings = %+v, want one at column %d", got, want)
	}
}
