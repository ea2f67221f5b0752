package consensus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/sim/host"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// brief writes the differences of a report, notes too, a line each.
func brief(r Report) []string {
	out := []string{}
	for _, d := range r.Differences {
		tie := ""
		if d.Tie {
			tie = " tie"
		}
		var groups []string
		for _, g := range d.Groups {
			groups = append(groups, strings.Join(g.Nodes, "+")+" "+g.Value)
		}
		out = append(out,
			fmt.Sprintf("%s %s %s%s: %s", d.Severity, d.Check, Ranges(d.Rails), tie, strings.Join(groups, " | ")))
	}
	return out
}

func TestCompare(t *testing.T) {
	on := func(node int, f func(s *inventory.Snapshot)) func(int, *inventory.Snapshot) {
		return func(i int, s *inventory.Snapshot) {
			if i == node {
				f(s)
			}
		}
	}
	planted := func(node int, p ...host.Plant) func(int) host.Spec {
		return func(i int) host.Spec {
			s := roceSpec(i)
			if i == node {
				s.Plant = p
			}
			return s
		}
	}
	tests := []struct {
		name   string
		nodes  int
		spec   func(int) host.Spec
		change func(int, *inventory.Snapshot)
		opts   Options
		want   []string
	}{
		{"equal nodes", 3, roceSpec, nil, Options{}, []string{}},
		{"slow rail", 4, planted(2, host.Plant{Kind: host.SlowLink, Rail: 1}), nil, Options{}, []string{
			"slows rate 1: gpu-00+gpu-01+gpu-03 400 Gb/s | gpu-02 200 Gb/s",
		}},
		{"two nodes are a tie", 2, planted(1, host.Plant{Kind: host.SlowLink, Rail: 1}), nil, Options{}, []string{
			"slows rate 1 tie: gpu-00 400 Gb/s | gpu-01 200 Gb/s",
		}},
		{"MTU on two rails is one difference", 3, planted(0, host.Plant{Kind: host.SmallMTU, Rail: 1},
			host.Plant{Kind: host.SmallMTU, Rail: 3}), nil, Options{}, []string{
			"breaks mtu 1,3: gpu-01+gpu-02 4096 | gpu-00 1024",
		}},
		{
			"MTU slows UCX", 3, planted(0, host.Plant{Kind: host.SmallMTU, Rail: 1}), nil,
			Options{Libraries: []launch.Library{launch.LibraryUCX}},
			[]string{
				"slows mtu 1: gpu-01+gpu-02 4096 | gpu-00 1024",
			},
		},
		{
			"MTU breaks Mooncake", 3, planted(0, host.Plant{Kind: host.SmallMTU, Rail: 1}), nil,
			Options{Libraries: []launch.Library{launch.LibraryMooncake}},
			[]string{
				"breaks mtu 1: gpu-01+gpu-02 4096 | gpu-00 1024",
			},
		},
		{"dead rail", 3, planted(1, host.Plant{Kind: host.NoLink, Rail: 2}), nil, Options{}, []string{
			"breaks hca-set : gpu-00+gpu-02 4 HCAs (rails 0-3) | gpu-01 3 HCAs (rails 0-1,3)",
		}},
		{
			"card gone: its neighbours keep their numbers",
			3, roceSpec, on(1, func(s *inventory.Snapshot) { dropDevice(s, "mlx5_1") }),
			Options{},
			[]string{
				"breaks hca-set : gpu-00+gpu-02 4 HCAs (rails 0-3) | gpu-01 3 HCAs (rails 0,2-3)",
			},
		},
		{
			"rail excluded everywhere", 3, planted(1, host.Plant{Kind: host.NoLink, Rail: 2}), nil,
			Options{Exclude: []string{"mlx5_2"}},
			[]string{},
		},
		{
			"swapped cables", 3, roceSpec, on(2, func(s *inventory.Snapshot) { swap(s, "mlx5_1", "mlx5_2") }),
			Options{},
			[]string{
				"breaks rail-swapped 1-2: gpu-00+gpu-01 each rail in its network | gpu-02 rail 1 in 10.102.0.0/16, " +
					"the network of rail 2; rail 2 in 10.101.0.0/16, the network of rail 1",
			},
		},
		{
			"swapped cables of two nodes", 2, roceSpec,
			on(1, func(s *inventory.Snapshot) { swap(s, "mlx5_1", "mlx5_2") }),
			Options{},
			[]string{
				"breaks rail-swapped 1-2 tie: gpu-00 each rail in its network | gpu-01 rail 1 in 10.102.0.0/16, the " +
					"network of rail 2; rail 2 in 10.101.0.0/16, the network of rail 1",
			},
		},
		{
			"other subnet", 3, roceSpec,
			on(0, func(s *inventory.Snapshot) { readdress(s, "mlx5_3", "172.16.0.5/24") }),
			Options{},
			[]string{
				"breaks subnet 3: gpu-01+gpu-02 10.103.0.0/16 | gpu-00 172.16.0.0/24",
			},
		},
		{
			"wrong prefix length", 3, roceSpec,
			on(0, func(s *inventory.Snapshot) { readdress(s, "mlx5_3", "10.103.0.10/24") }),
			Options{},
			[]string{
				"breaks subnet 3: gpu-01+gpu-02 10.103.0.0/16 | gpu-00 10.103.0.0/24",
			},
		},
		{
			"routed", 3, roceSpec, on(0, func(s *inventory.Snapshot) { readdress(s, "mlx5_3", "172.16.0.5/24") }),
			Options{Routed: true},
			[]string{
				"note subnet 3: gpu-01+gpu-02 10.103.0.0/16 | gpu-00 172.16.0.0/24",
			},
		},
		{"rails in one subnet", 2, roceSpec, func(i int, s *inventory.Snapshot) {
			for r := range 4 {
				readdress(s, fmt.Sprintf("mlx5_%d", r), fmt.Sprintf("10.7.%d.%d/16", r, i+1))
			}
		}, Options{}, []string{"note shared-subnet 0-3: gpu-00+gpu-01 10.7.0.0/16"}},
		{"no address", 3, planted(2, host.Plant{Kind: host.NoAddress, Rail: 0}), nil, Options{}, []string{
			"breaks hca-set : gpu-00+gpu-01 4 HCAs (rails 0-3) | gpu-02 3 HCAs (rails 1-3)",
		}},
		{
			"index differs", 3, roceSpec, on(1, func(s *inventory.Snapshot) { shiftGIDs(s, "mlx5_0", 2) }),
			Options{},
			[]string{
				"note gid-index 0: gpu-00+gpu-02 3 | gpu-01 5",
			},
		},
		{"device names", 3, func(i int) host.Spec {
			s := roceSpec(i)
			if i == 2 {
				s.Card = host.ConnectX7()
				s.Card.Prefix = "rocep"
			}
			return s
		}, nil, Options{}, []string{
			"note device-name 0-3: gpu-00+gpu-01 mlx5_0:1, mlx5_1:1, mlx5_2:1, mlx5_3:1 | gpu-02 rocep0:1, " +
				"rocep1:1, rocep2:1, rocep3:1",
		}},
		{"IPv6 on one node", 3, func(i int) host.Spec {
			s := roceSpec(i)
			s.IPv6 = i == 1
			return s
		}, nil, Options{Routed: true}, []string{
			"breaks gid-kind 0-3: gpu-00+gpu-02 RoCE v2 over IPv4 | gpu-01 RoCE v2 over IPv6",
			"note subnet 0-3: gpu-00+gpu-02 10.100.0.0/16, 10.101.0.0/16, 10.102.0.0/16, 10.103.0.0/16 | gpu-01 " +
				"2001:db8:0:100::/64, 2001:db8:0:101::/64, 2001:db8:0:102::/64, 2001:db8:0:103::/64",
		}},
		{"node without RDMA", 3, func(i int) host.Spec {
			if i == 1 {
				return host.Spec{Node: 1, NICs: []host.NIC{host.Management()}}
			}
			return roceSpec(i)
		}, nil, Options{}, []string{"breaks no-rdma : gpu-00+gpu-02 RDMA through verbs | gpu-01 no RDMA"}},
		{"bootstrap device", 2, func(i int) host.Spec {
			s := roceSpec(i)
			if i == 1 {
				s.NICs[0].Netdev = "enp%d"
			}
			return s
		}, nil, Options{}, []string{"note socket  tie: gpu-00 eno1np0 | gpu-01 enp1"}},

		{"InfiniBand", 3, ibSpec, nil, Options{}, []string{"note not-compared : gpu-00+gpu-01+gpu-02 unknown"}},
		{"InfiniBand prefix", 3, func(i int) host.Spec {
			s := ibSpec(i)
			if i == 0 {
				s.Prefix = "fe80:0000:0000:0007"
			}
			return s
		}, nil, Options{}, []string{
			"breaks fabric 0-3: gpu-01+gpu-02 fe80:0000:0000:0000 SM 1 | gpu-00 fe80:0000:0000:0007 SM 1",
			"note not-compared : gpu-00+gpu-01+gpu-02 unknown",
		}},
		{
			"InfiniBand subnet manager", 3, ibSpec,
			on(1, func(s *inventory.Snapshot) { port(s, "mlx5_2").Fabric.SMLID = 9 }),
			Options{},
			[]string{
				"breaks fabric 2: gpu-00+gpu-02 fe80:0000:0000:0000 SM 1 | gpu-01 fe80:0000:0000:0000 SM 9",
				"note not-compared : gpu-00+gpu-01+gpu-02 unknown",
			},
		},
		{"partition", 3, ibSpec, on(1, func(s *inventory.Snapshot) {
			port(s, "mlx5_2").PKeys = []inventory.PKey{{Index: 0, PKey: 0x8002}}
		}), Options{}, []string{
			"breaks pkey 2: gpu-00+gpu-02 0xffff | gpu-01 0x8002",
			"note not-compared : gpu-00+gpu-01+gpu-02 unknown",
		}},
		{"limited members", 3, ibSpec, func(i int, s *inventory.Snapshot) {
			if i > 0 {
				port(s, "mlx5_0").PKeys = []inventory.PKey{{Index: 0, PKey: 0x7fff}}
			}
		}, Options{}, []string{
			"breaks pkey-limited 0: gpu-01+gpu-02 limited member",
			"note not-compared : gpu-00+gpu-01+gpu-02 unknown",
		}},
		{
			"equal LIDs", 2, ibSpec, func(_ int, s *inventory.Snapshot) { port(s, "mlx5_0").LID = new(ib.LID(77)) },
			Options{},
			[]string{
				"breaks duplicate-lid : gpu-00+gpu-01 LID 77 on rail 0",
				"note not-compared : gpu-00+gpu-01 unknown",
			},
		},
		{"two link layers", 3, func(i int) host.Spec {
			if i == 2 {
				return ibSpec(i)
			}
			return roceSpec(i)
		}, nil, Options{}, []string{
			"breaks link-layer 0-3: gpu-00+gpu-01 Ethernet | gpu-02 InfiniBand",
			"note not-compared : gpu-02 unknown",
		}},
		{"two link layers are not swapped rails", 2, func(i int) host.Spec {
			s := ibSpec(i)
			if i == 0 {
				s = roceSpec(i)
			}
			s.Rails, s.GPUs = 1+i, 1+i
			return s
		}, nil, Options{}, []string{
			"breaks hca-set  tie: gpu-00 1 HCA (rail 0) | gpu-01 2 HCAs (rails 0-1)",
			"breaks link-layer 0 tie: gpu-00 Ethernet | gpu-01 InfiniBand",
			"note not-compared : gpu-01 unknown",
		}},

		{"host name twice", 3, func(i int) host.Spec {
			s := roceSpec(i)
			s.Name = []string{"a", "b", "b"}[i]
			return s
		}, nil, Options{}, []string{"breaks duplicate-host : b (node1.json)+b (node2.json) b"}},
		{
			"address twice", 3, roceSpec,
			on(2, func(s *inventory.Snapshot) { readdress(s, "mlx5_0", "10.100.0.10/16") }),
			Options{},
			[]string{
				"breaks duplicate-gid : gpu-00+gpu-02 10.100.0.10",
			},
		},
		{
			"MAC twice", 2, roceSpec,
			func(_ int, s *inventory.Snapshot) { s.Netdev("ens1np0").Address = "02:00:00:00:00:01" },
			Options{},
			[]string{
				"breaks duplicate-mac : gpu-00+gpu-01 02:00:00:00:00:01",
			},
		},
		{
			"GUID twice", 2, roceSpec,
			func(_ int, s *inventory.Snapshot) { s.Device("mlx5_0").NodeGUID = &ib.GUID{2, 7} },
			Options{},
			[]string{
				"breaks duplicate-guid : gpu-00+gpu-01 0207:0000:0000:0000",
			},
		},
		{"the same node twice", 2, func(int) host.Spec { return roceSpec(0) }, nil, Options{}, []string{
			"note same-node : gpu-00 (node0.json)+gpu-00 (node1.json) b83f:d203:00a5:1000, b83f:d203:00a5:1001, " +
				"b83f:d203:00a5:1002, b83f:d203:00a5:1003",
		}},
		{
			"a cloned recording", 2, func(int) host.Spec { return roceSpec(0) },
			func(i int, s *inventory.Snapshot) { s.Host.Name = "clone-" + strconv.Itoa(i) },
			Options{},
			[]string{
				"note same-node : clone-0+clone-1 b83f:d203:00a5:1000, b83f:d203:00a5:1001, b83f:d203:00a5:1002, " +
					"b83f:d203:00a5:1003",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Compare(digest(t, tt.opts, cluster(t, tt.nodes, tt.spec, tt.change)...), tt.opts)
			if diff := cmp.Diff(tt.want, brief(r)); diff != "" {
				t.Errorf("Compare found, -want +got:\n%s", diff)
			}
			faults := slices.ContainsFunc(tt.want, func(s string) bool { return !strings.HasPrefix(s, "note") })
			if (r.Verdict == VerdictDiffer) != faults {
				t.Errorf("verdict %s with differences %q", r.Verdict, brief(r))
			}
		})
	}
}

// TestUnreadIsNoDifference checks that a node of which a file could not be read is not said to have
// fewer rails: only the file is named. A port that is down for certain is still a difference.
func TestUnreadIsNoDifference(t *testing.T) {
	const ports = "/sys/class/infiniband/mlx5_1/ports"
	const state = ports + "/1/state"
	unread := func(paths ...string) func(int, *inventory.Snapshot) {
		return func(i int, s *inventory.Snapshot) {
			if i != 1 {
				return
			}
			for _, p := range paths {
				s.Problems = append(s.Problems, inventory.Problem{Path: p, Error: "input/output error"})
			}
			s.Device("mlx5_1").Ports[0].State = inventory.PortStateNoChange
			if paths[0] != state {
				s.Device("mlx5_1").Ports[0].State = inventory.PortStateDown
			}
		}
	}
	const down = "breaks hca-set : gpu-00+gpu-02 4 HCAs (rails 0-3) | gpu-01 3 HCAs (rails 0,2-3)"
	const incomplete = "note incomplete : gpu-01 incomplete"
	for name, tt := range map[string]struct {
		edit func(int, *inventory.Snapshot)
		want []string
	}{
		"state":                    {unread(state), []string{incomplete}},
		"folder of ports":          {unread("/sys/class/infiniband/mlx5_3/ports"), []string{incomplete}},
		"all devices":              {unread("/sys/class/infiniband"), []string{incomplete}},
		"another file of the port": {unread(ports + "/1/rate"), []string{down, incomplete}},
		"a GID of another port":    {unread("/sys/class/infiniband/mlx5_2/ports/1/gids/9"), []string{down, incomplete}},
		"all states": {func(i int, s *inventory.Snapshot) {
			for k := range s.Devices {
				if i == 1 {
					p := &s.Devices[k].Ports[0]
					p.State = inventory.PortStateNoChange
					s.Problems = append(s.Problems, inventory.Problem{Path: p.Path + "/state", Error: "error"})
				}
			}
		}, []string{incomplete}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Compare(digest(t, Options{}, cluster(t, 3, roceSpec, tt.edit)...), Options{})
			if diff := cmp.Diff(tt.want, brief(r)); diff != "" {
				t.Errorf("differences, -want +got:\n%s", diff)
			}
		})
	}
}

// TestEvidence holds that a difference names the file of the node and what is in it.
func TestEvidence(t *testing.T) {
	snaps := cluster(t, 3, func(i int) host.Spec {
		s := roceSpec(i)
		if i == 1 {
			s.Plant = []host.Plant{{Kind: host.SmallMTU, Rail: 1}, {Kind: host.NoLink, Rail: 2}}
		}
		return s
	}, nil)
	r := Compare(digest(t, Options{}, snaps...), Options{})
	want := map[string]Evidence{
		"hca-set": {
			Node: "gpu-01", Path: "/sys/class/infiniband/mlx5_2/ports/1/state",
			Value: "mlx5_2:1: state is 1: DOWN, not ACTIVE",
		},
		"mtu": {Node: "gpu-01", Path: "/sys/class/net/ens2np0/mtu", Value: "1500"},
	}
	got := map[string]Evidence{}
	for _, d := range r.Differences {
		if ev := d.Groups[len(d.Groups)-1].Evidence; len(ev) > 0 {
			got[d.Check] = ev[0]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evidence of the outlier, -want +got:\n%s", diff)
	}
}

// TestPairing compares where the numbers of rails come from.
func TestPairing(t *testing.T) {
	unnumbered := func(_ int, s *inventory.Snapshot) {
		for i := range s.Devices {
			s.Devices[i].Ports[0].Rail, s.Devices[i].Ports[0].Role = nil, inventory.RoleUnknown
		}
	}
	reversed := func(i int, s *inventory.Snapshot) {
		if unnumbered(i, s); i == 1 {
			slices.Reverse(s.Devices)
		}
	}
	tests := []struct {
		name   string
		spec   func(int) host.Spec
		change func(int, *inventory.Snapshot)
		want   string
	}{
		{"numbers", roceSpec, nil, PairedByNumber},
		{"subnets", roceSpec, reversed, PairedBySubnet},
		{"order", ibSpec, unnumbered, PairedByOrder},
	}
	for _, tt := range tests {
		r := Compare(digest(t, Options{}, cluster(t, 2, tt.spec, tt.change)...), Options{})
		if r.Pairing.Method != tt.want || r.Verdict != VerdictAgree {
			t.Errorf("%s: paired by %s, %s, want %s and agreement: %q",
				tt.name, r.Pairing.Method, r.Verdict, tt.want, brief(r))
		}
	}
}
