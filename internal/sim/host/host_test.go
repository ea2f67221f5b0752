package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/sim/host"
	"github.com/rdmakit/rdmakit/inventory"
)

func build(t testing.TB, spec host.Spec) *nodetree.Tree {
	t.Helper()
	tree, err := host.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// readLive decodes live.json strictly, to check that it agrees with inventory.Live.
func readLive(t testing.TB, tree *nodetree.Tree) *inventory.Live {
	t.Helper()
	data, err := fs.ReadFile(tree.FS(), host.LiveFile)
	if err != nil {
		t.Fatal(err)
	}
	var live inventory.Live
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&live); err != nil {
		t.Fatal(err)
	}
	return &live
}

func scan(t testing.TB, tree *nodetree.Tree) inventory.Snapshot {
	t.Helper()
	s, err := inventory.Scan(context.Background(), inventory.Sources{Root: tree.FS(), Live: readLive(t, tree)})
	if err != nil {
		t.Errorf("Scan: %v", err)
	}
	return s
}

func TestDemoScan(t *testing.T) {
	s := scan(t, build(t, host.Demo()))
	if got, want := fmt.Sprint(len(s.Devices), len(s.GPUs), len(s.Cards), len(s.Netdevs)), "8 8 8 10"; got != want {
		t.Errorf("devices, GPUs, cards, network devices = %s, want %s", got, want)
	}
	for i, d := range s.Devices {
		p := d.Ports[0]
		want := fmt.Sprintf("mlx5_%d compute rail %d, RoCE v2 at 400 Gb/s, GPU %d PIX, ens%dnp0", i, i, i, i+1)
		got := fmt.Sprintf("%s %s rail %d, %s at %g Gb/s, GPU %d %s, %s",
			d.Name, p.Role, *p.Rail, p.Transport, p.Rate.GbPerSecond, p.GPUs[0].GPU, p.GPUs[0].Distance, p.Netdev)
		if got != want {
			t.Errorf("device = %s, want %s", got, want)
		}
		if d.PCI == nil || d.PCI.Driver != "mlx5_core" || d.PCI.Link.Width != 16 || len(d.Chars) != 2 ||
			!*d.Chars[0].Opened {
			t.Errorf("%s: PCI %+v, character devices %+v", d.Name, d.PCI, d.Chars)
		}
	}
	h := s.Host
	if h.Name != "gpu-00" || h.NetnsMode != inventory.NetnsModeShared || !h.Memlock.Soft.Unlimited || h.RDMACM == nil ||
		h.Userspace.Libibverbs == "" || !slices.Contains(h.Userspace.Providers, "mlx5") || h.Container != nil {
		t.Errorf("host = %+v", h)
	}
	want := []inventory.DefaultRoute{{Family: "ipv4", Netdev: "eno1np0", Gateway: "10.0.0.1", Metric: 100}}
	if diff := cmp.Diff(want, h.DefaultRoutes); diff != "" {
		t.Errorf("default routes (-want +got):\n%s", diff)
	}
	eno := s.Netdev("eno1np0")
	if got, want := fmt.Sprint(eno.Addresses), fmt.Sprint([]netip.Prefix{
		netip.MustParsePrefix("10.0.0.10/16"), netip.MustParsePrefix("fe80::ba3f:d2ff:fea5:1020/64"),
	}); got != want {
		t.Errorf("addresses = %s, want %s", got, want)
	}
}

// found returns the findings of doctor except those of severity info, as "check object".
func found(t *testing.T, s *inventory.Snapshot) []string {
	t.Helper()
	report, err := doctor.Run(context.Background(), checks.All(), doctor.Input{Snapshot: s}, doctor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range report.Findings {
		if f.Outcome.Compare(doctor.OutcomeInfo) > 0 {
			out = append(out, f.CheckID+" "+f.Object)
		}
	}
	slices.Sort(out)
	return out
}

// TestFaults injects each fault and checks that doctor reports it and nothing else.
func TestFaults(t *testing.T) {
	roce := host.Spec{Rails: 4, GPUs: 4, NICs: []host.NIC{host.Management()}}
	ib := host.Spec{Rails: 4, GPUs: 4, NICs: []host.NIC{host.Management()}, LinkLayer: host.InfiniBand}
	with := func(s host.Spec, p ...host.Plant) host.Spec { s.Plant = p; return s }
	v6, deep := roce, roce
	v6.IPv6 = true
	deep.PerSwitch, deep.Switches = 2, 2
	specs := map[string]host.Spec{
		"demo": host.Demo(), "RoCE": roce, "InfiniBand": ib, "IPv6": v6, "switches": deep, "nothing": {},
	}
	for _, k := range []host.Kind{
		host.SmallMTU, host.NoAddress, host.NoLink, host.SlowLink, host.OldFirmware, host.NoCharNode, host.Memlock,
	} {
		specs["RoCE "+string(k)] = with(roce, host.Plant{Kind: k, Rail: 1})
	}
	for _, k := range []host.Kind{
		host.NoLink, host.NoSM, host.SlowLink, host.OldFirmware, host.NoCharNode, host.Memlock,
	} {
		specs["InfiniBand "+string(k)] = with(ib, host.Plant{Kind: k, Rail: 3})
	}
	for name, spec := range specs {
		t.Run(name, func(t *testing.T) {
			s := scan(t, build(t, spec))
			var want []string
			for _, f := range spec.Faults() {
				want = append(want, f.Check+" "+f.Object)
				if name == "InfiniBand "+string(host.NoSM) { // the port's state, and its manager's address
					want = append(want, "subnet-manager "+f.Object)
				}
				if f.Text == "" || f.Device != "" && s.Device(f.Device) == nil {
					t.Errorf("fault %+v has no device of the node", f)
				}
			}
			for rail := range spec.Rails {
				if spec.IPv6 { // NCCL must be told
					want = append(want, fmt.Sprintf("gid-routable mlx5_%d:1", rail))
				}
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, found(t, &s)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCluster checks that the nodes of a cluster have no duplicate addresses.
func TestCluster(t *testing.T) {
	seen := map[string]string{}
	note := func(what, value, where string) {
		key := what + " " + value
		if first, ok := seen[key]; ok {
			t.Errorf("%s is at %s and at %s", key, first, where)
		}
		seen[key] = where
	}
	for _, node := range []int{0, 1, 2, 255, 256, 8191} {
		for _, layer := range []host.LinkLayer{host.Ethernet, host.InfiniBand} {
			if layer == host.InfiniBand && node > 1000 {
				continue // there are not enough LIDs
			}
			spec := host.Spec{Node: node, Rails: 4, VFs: 2, NICs: []host.NIC{host.Management()}, LinkLayer: layer}
			s := scan(t, build(t, spec))
			note("name "+string(layer), s.Host.Name, s.Host.Name)
			for _, d := range s.Devices {
				where := s.Host.Name + " " + d.Name
				note("GUID "+string(layer), d.NodeGUID.String(), where)
				if layer == host.InfiniBand && d.VF == nil {
					note("LID", fmt.Sprint(*d.Ports[0].LID), where)
				}
			}
			for _, n := range s.Netdevs {
				for _, a := range n.Addresses {
					if !a.Addr().IsLoopback() {
						note("address "+string(layer), a.String(), s.Host.Name+" "+n.Name)
					}
				}
			}
		}
	}
}

func TestVirtualFunctions(t *testing.T) {
	s := scan(t, build(t, host.Spec{Rails: 2, VFs: 9, TotalVFs: 16}))
	if len(s.Devices) != 20 {
		t.Fatalf("%d devices, want 20", len(s.Devices))
	}
	pf := s.Device("mlx5_1")
	if pf.SRIOV.TotalVFs != 16 || len(pf.SRIOV.VFs) != 9 {
		t.Fatalf("SRIOV of mlx5_1 = %+v", pf.SRIOV)
	}
	last := pf.SRIOV.VFs[8]
	vf := s.Device(last.Device)
	if vf == nil || vf.VF.ParentDevice != "mlx5_1" || *vf.VF.Index != 8 || !strings.HasSuffix(last.Address, ":01.1") ||
		last.MAC == "" {
		t.Errorf("VF 8 of mlx5_1 = %+v, device %+v", last, vf)
	}
}

func TestSwitches(t *testing.T) {
	s := scan(t, build(t, host.Spec{Rails: 4, GPUs: 4, PerSwitch: 2, Switches: 2}))
	var got []string
	for _, g := range s.Devices[0].Ports[0].GPUs {
		got = append(got, fmt.Sprint(g.GPU, " ", g.Distance))
	}
	if want := []string{"0 PXB", "1 PXB", "2 SYS", "3 SYS"}; !cmp.Equal(got, want) {
		t.Errorf("distances of mlx5_0 = %v, want %v", got, want)
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		spec host.Spec
		want string
	}{
		{host.Spec{Rails: 33}, "Rails is 33"},
		{host.Spec{Node: -1}, "Node is -1"},
		{host.Spec{Rails: 2, VFs: 17}, "VFs is 17"},
		{host.Spec{Rails: 2, Rate: 123}, "123 Gb/s is not a link rate"},
		{host.Spec{Rails: 2, Netdev: "eth"}, "exactly one %d"},
		{host.Spec{Rails: 2, Prefix: "fe80"}, "four groups"},
		{host.Spec{Rails: 2, Plant: []host.Plant{{Kind: host.NoLink, Rail: 2}}}, "there is no rail 2"},
		{host.Spec{Rails: 2, Plant: []host.Plant{{Kind: host.NoSM}}}, "requires InfiniBand"},
		{host.Spec{Rails: 2, Plant: []host.Plant{{Kind: "x"}}}, `unknown fault "x"`},
		{host.Spec{Rails: 2, LinkLayer: host.InfiniBand, Plant: []host.Plant{{Kind: host.SmallMTU}}}, "requires Ether"},
		{host.Spec{Node: 8000, Rails: 8, LinkLayer: host.InfiniBand}, "no LIDs left"},
		{host.Spec{NICs: []host.NIC{{Card: host.SFN25(), Netdev: "x"}}}, "exactly one %d"},
	}
	for _, tt := range tests {
		if _, err := host.New(tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New(%+v) = %v, want %q", tt.spec, err, tt.want)
		}
	}
}

func TestAbout(t *testing.T) {
	tests := []struct {
		spec host.Spec
		want string
	}{
		{host.Demo(), "node gpu-00: 8 x ConnectX-7 at 400 Gb/s (RoCE), 8 x H100, X2522 at 25 Gb/s"},
		{
			host.Spec{Node: 7, Rails: 2, Card: host.ConnectX8(), LinkLayer: host.InfiniBand},
			"node gpu-07: 2 x ConnectX-8 at 800 Gb/s (InfiniBand)",
		},
		{host.Spec{Name: "empty"}, "node empty: no cards and no GPUs"},
	}
	for _, tt := range tests {
		if got := tt.spec.About(); got != tt.want {
			t.Errorf("About = %q, want %q", got, tt.want)
		}
	}
}

// TestSame checks that equal Specs give equal trees.
func TestSame(t *testing.T) {
	a, b := build(t, host.Demo()), build(t, host.Demo())
	if !bytes.Equal(a.Text(), b.Text()) {
		t.Error("two nodes of one Spec differ")
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := host.New(host.Demo()); err != nil {
			b.Fatal(err)
		}
	}
}
