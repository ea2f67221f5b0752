package umad

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
)

// tree loads a node by name.
func tree(t *testing.T, name string) *nodetree.Tree {
	t.Helper()
	if node, err := realnodes.Load(name); err == nil {
		return node.Tree
	}
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestPairs checks which ports SMPs and GMPs go through, against the heads of the node trees: the
// listing of rdmamap's pull request 17 has umad0 at mlx5_0 and umad1 to umad4 at smi1.
func TestPairs(t *testing.T) {
	for _, test := range []struct {
		node, device string
		number       int
		smi, gsi     string // of the chosen port
		reason       string // why there are no SMPs
	}{
		{"xdr_cx8_smi_live", "", 0, "smi1 port 1", "mlx5_0 port 1", ""},
		{"xdr_cx8_smi_live", "mlx5_0", 1, "smi1 port 1", "mlx5_0 port 1", ""},
		{"xdr_cx8_smi_live", "smi1", 3, "smi1 port 3", "mlx5_0 port 1", ""},
		{"xdr_cx8_smi_nodev", "", 0, "smi1 port 1", "mlx5_0 port 1", ""},
		{"gb300_xdr_smi_nodev", "ibP16p3s0", 0, "smi3 port 1", "ibP16p3s0 port 1", ""},
		{"gb300_xdr_smi_nodev", "smi4", 2, "smi4 port 2", "ibP18p3s0 port 1", ""},
		{"52_xdr", "mlx5_1", 0, "smi1 port 1", "mlx5_1 port 1", ""},
		{"52_xdr", "smi0", 0, "smi0 port 1", "mlx5_0 port 1", ""},
		{"gb300_cx8_xdr", "", 0, "ibP2p3s0 port 1", "ibP2p3s0 port 1", ""}, // one plane: no smi devices
		{"gb300_cx8_xdr", "roceP22p1s0f0", 0, "roceP22p1s0f0 port 1", "roceP22p1s0f0 port 1", "it is Ethernet"},
	} {
		ports, err := Ports(t.Context(), tree(t, test.node).FS())
		if err != nil {
			t.Fatalf("%s: %v", test.node, err)
		}
		p, err := Choose(ports, test.device, test.number)
		if err != nil {
			t.Fatalf("%s: %v", test.node, err)
		}
		pair := PairOf(ports, p)
		if diff := cmp.Diff([]string{test.smi, test.gsi, test.reason},
			[]string{short(pair.SMI), short(pair.GSI), pair.SMI.WhyNoQP0()}); diff != "" {
			t.Errorf("%s -C %s -P %d (-want +got):\n%s", test.node, test.device, test.number, diff)
		}
		if pair.IsMultiPlane() != (test.smi != test.gsi) {
			t.Errorf("%s -C %s: multi-plane %t", test.node, test.device, pair.IsMultiPlane())
		}
	}
}

func short(p Port) string { return p.String()[:len(p.String())-len(" ("+p.Path+")")] }

// TestPairByCapability has a kernel without has_smi: IsSMDisabled in cap_mask tells the device
// without queue pair 0, as libibumad does it.
func TestPairByCapability(t *testing.T) {
	n := tree(t, "xdr_cx8_smi_live")
	const ports = "sys/class/infiniband/"
	for _, port := range []string{"mlx5_0/ports/1", "smi1/ports/1", "smi1/ports/2", "smi1/ports/3", "smi1/ports/4"} {
		if err := n.Remove(ports + port + "/has_smi"); err != nil {
			t.Fatal(err)
		}
	}
	pair := func() Pair {
		list, err := Ports(t.Context(), n.FS())
		if err != nil {
			t.Fatal(err)
		}
		return PairOf(list, list[0])
	}
	if got := pair(); !got.IsMultiPlane() || got.GSI.WhyNoQP0() != "IsSMDisabled" {
		t.Errorf("pair = %v and %v (%q), want smi1 and mlx5_0", got.SMI, got.GSI, got.GSI.WhyNoQP0())
	}
}

// TestPairRules has cards that differ from those of the trees in one point.
func TestPairRules(t *testing.T) {
	no, yes := false, true
	main := Port{Device: "mlx5_0", Number: 1, LinkLayer: "InfiniBand", Function: "0000:0b:00.0", HasSMI: &no}
	smi := Port{Device: "smi1", Number: 1, LinkLayer: "InfiniBand", Function: "0000:0b:00.0", HasSMI: &yes}
	change := func(p Port, f func(*Port)) Port { f(&p); return p }
	for _, test := range []struct {
		name  string
		ports []Port
		want  string // device of SMPs of the first port
	}{
		{"two devices of one function", []Port{main, smi}, "smi1"},
		{"another function", []Port{main, change(smi, func(p *Port) { p.Function = "0000:0c:00.0" })}, "mlx5_0"},
		{"no function", []Port{
			change(main, func(p *Port) { p.Function = "" }), change(smi, func(p *Port) { p.Function = "" }),
		}, "mlx5_0"},
		{"an Ethernet port with queue pair 0", []Port{
			main, change(smi, func(p *Port) { p.LinkLayer = "Ethernet" }),
		}, "mlx5_0"},
		{"two ports of one device", []Port{
			main, change(smi, func(p *Port) { p.Device, p.Number = "mlx5_0", 2 }),
		}, "mlx5_0"},
		{"both have queue pair 0", []Port{change(main, func(p *Port) { p.HasSMI = &yes }), smi}, "mlx5_0"},
		{"the kernel names the parent", []Port{
			change(main, func(p *Port) { p.HasSMI = nil }),
			change(smi, func(p *Port) { p.HasSMI, p.Parent, p.Function = nil, "mlx5_0", "" }),
		}, "smi1"},
		{"the kernel names another parent", []Port{
			main, change(smi, func(p *Port) { p.Parent = "mlx5_7" }),
		}, "mlx5_0"},
		{"the active plane", []Port{
			main, smi, change(smi, func(p *Port) { p.Number, p.Active, p.Device = 2, true, "smi2" }),
		}, "smi2"},
	} {
		if got := PairOf(test.ports, test.ports[0]); got.SMI.Device != test.want || got.GSI.Device != "mlx5_0" {
			t.Errorf("%s: SMPs through %s, GMPs through %s, want %s and mlx5_0",
				test.name, got.SMI.Device, got.GSI.Device, test.want)
		}
	}
	ports := []Port{main, smi}
	SetParents(ports, map[string]string{"smi1": "mlx5_0"})
	if ports[0].Parent != "" || ports[1].Parent != "mlx5_0" {
		t.Errorf("parents = %q, %q", ports[0].Parent, ports[1].Parent)
	}
}

// TestChooseWithSMI checks that a port without subnet management is chosen last among InfiniBand
// ports, such as the virtual function in the cloud, and that an Ethernet port is not preferred.
func TestChooseWithSMI(t *testing.T) {
	vf := Port{Device: "mlx5_0", Number: 1, LinkLayer: "InfiniBand", Active: true, SMDisabled: true}
	roce := Port{Device: "mlx5_1", Number: 1, LinkLayer: "Ethernet", Active: true}
	pf := Port{Device: "mlx5_2", Number: 1, LinkLayer: "InfiniBand", Active: true}
	for _, test := range []struct {
		ports []Port
		want  string
	}{
		{[]Port{vf, roce, pf}, "mlx5_2"}, {[]Port{vf, roce}, "mlx5_0"}, {[]Port{roce, pf}, "mlx5_2"},
	} {
		if got, err := Choose(test.ports, "", 0); err != nil || got.Device != test.want {
			t.Errorf("Choose(%v) = %v, %v, want %s", test.ports, got.Device, err, test.want)
		}
	}
}
