package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/source"
)

func TestParseFabric(t *testing.T) {
	tests := []struct {
		in, prefix string
		lid        uint16
		ok         bool
	}{
		{"fec0:0000:0000:00a1", "fec0:0000:0000:00a1", 0, true},
		{"fec0::a1", "fec0:0000:0000:00a1", 0, true},
		{"FEC0::A1@0x2a", "fec0:0000:0000:00a1", 42, true},
		{"fe80::", "fe80:0000:0000:0000", 0, true},
		{"fe80::@1", "fe80:0000:0000:0000", 1, true},
		{"::1", "0000:0000:0000:0001", 0, true},
		{"fec0:0:0:a1@65535", "fec0:0000:0000:00a1", 65535, true},
		{"fec0::a1@0", "", 0, false},
		{"fec0::a1@65536", "", 0, false},
		{"fec0::a1@", "", 0, false},
		{"fec0:1:2", "", 0, false},
		{"fec0:1:2:3:4", "", 0, false},
		{"fec0:1:2:3::", "", 0, false},
		{"fec0::1::2", "", 0, false},
		{"fec0::a1ff0", "", 0, false},
		{"10.0.0.0", "", 0, false},
		{"", "", 0, false},
	}
	for _, tt := range tests {
		prefix, lid, err := parseFabric(tt.in)
		if prefix != tt.prefix || lid != tt.lid || (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrOptions) {
			t.Errorf("parseFabric(%q) = %q, %d, %v, want %q, %d, %t", tt.in, prefix, lid, err, tt.prefix, tt.lid, tt.ok)
		}
	}
}

func TestCountVFs(t *testing.T) {
	nvidia := func(total, num int) source.PF { return source.PF{Vendor: "15b3", TotalVFs: total, NumVFs: num} }
	intel := func(total, num int) source.PF { return source.PF{Vendor: "8086", TotalVFs: total, NumVFs: num} }
	tests := []struct {
		name string
		pf   source.PF
		opts Options
		n    int // 0: refused
		cost string
	}{
		{"as the firmware has it", nvidia(16, 0), Options{}, 16, ""},
		{"asked for as the firmware has it", nvidia(16, 0), Options{VFs: 16}, 16, ""},
		{"fewer than the firmware", nvidia(16, 0), Options{VFs: 8}, 8, reboot},
		{"more than the firmware", nvidia(8, 8), Options{VFs: 16}, 16, reboot},
		{"other VFs exist", nvidia(16, 2), Options{}, 16, drain},
		{"the same VFs exist", nvidia(16, 16), Options{}, 16, ""},
		{"off", nvidia(0, 0), Options{}, DefaultVFs, reboot},
		{"off, asked for", nvidia(0, 0), Options{VFs: 4}, 4, reboot},
		{"more than the operator admits", nvidia(200, 0), Options{}, 128, reboot},
		{"another maker", intel(64, 0), Options{}, DefaultVFs, ""},
		{"another maker, VFs exist", intel(64, 12), Options{}, 12, ""},
		{"another maker, other VFs exist", intel(64, 12), Options{VFs: 4}, 4, drain},
		{"another maker, too many", intel(6, 0), Options{VFs: 16}, 6, ""},
		{"another maker, off", intel(0, 0), Options{VFs: 16}, 0, ""},
		{"external", nvidia(16, 6), Options{ExternallyManaged: true}, 6, ""},
		{"external, some", nvidia(16, 6), Options{ExternallyManaged: true, VFs: 2}, 2, ""},
		{"external, as many", nvidia(16, 6), Options{ExternallyManaged: true, VFs: 6}, 6, ""},
		{"external, too many", nvidia(16, 6), Options{ExternallyManaged: true, VFs: 8}, 0, ""},
		{"external, none", nvidia(16, 0), Options{ExternallyManaged: true}, 0, ""},
		{
			"external by its state",
			source.PF{Vendor: "15b3", TotalVFs: 16, NumVFs: 3, ExternallyManaged: true},
			Options{},
			3, "",
		},
	}
	for _, tt := range tests {
		c, refused := countVFs(&tt.pf, tt.opts)
		if c.n != tt.n || c.cost != tt.cost || (refused == "") != (tt.n > 0) || (c.n > 0 && c.why == "") {
			t.Errorf("%s: countVFs = %d, cost %q, refused %q, want %d, cost %q",
				tt.name, c.n, c.cost, refused, tt.n, tt.cost)
		}
	}
}

func TestSelection(t *testing.T) {
	a1, b2 := &source.Fabric{SubnetPrefix: "fec0:0000:0000:00a1", SMLID: 1}, &source.Fabric{
		SubnetPrefix: "fec0:0000:0000:00b2", SMLID: 42,
	}
	nodes := []source.Node{
		{Name: "gpu-00", PFs: []source.PF{
			{
				Address: "0000:18:00.0", Vendor: "15b3", Netdev: "ib0", RDMADevice: "mlx5_0", LinkType: "IB",
				TotalVFs: 8, Role: "compute", Rail: new(0), Fabric: a1,
			},
			{
				Address: "0000:3b:00.0", Vendor: "15b3", Netdev: "ib1", RDMADevice: "mlx5_1", LinkType: "IB",
				TotalVFs: 8, Role: "compute", Rail: new(1), Fabric: b2,
			},
			{
				Address: "0000:5e:00.0", Vendor: "15b3", Netdev: "ens1", AltNames: []string{"stor0"}, LinkType: "ETH",
				TotalVFs: 8, Role: "storage",
			},
			{Address: "0000:86:00.0", Vendor: "15b3", LinkType: "IB", TotalVFs: 8, Role: "compute"},
			{
				Address: "0000:af:00.0", Vendor: "15b3", Netdev: "ib9", LinkType: "IB", TotalVFs: 8, Role: "compute",
				Driver: "vfio-pci",
			},
		}},
		{Name: "state-0", PFs: []source.PF{{Address: "0000:18:00.0", Vendor: "15b3", Netdev: "ens9", TotalVFs: 8}}},
	}
	tests := []struct {
		name string
		s    Selection
		want []string
	}{
		{"compute cards; the link of one is not known", Selection{}, []string{"ib0", "ib1"}},
		{"link type", Selection{LinkType: "IB"}, []string{"ib0", "ib1", "ens9"}},
		{"a role", Selection{Roles: []string{"storage"}}, []string{"ens1"}},
		{"fabric", Selection{Fabrics: []string{"fec0::b2"}}, []string{"ib1"}},
		{"fabric and subnet manager", Selection{Fabrics: []string{"fec0::b2@42", "fec0::a1@2"}}, []string{"ib1"}},
		{"rail", Selection{Rails: []int{0, 7}}, []string{"ib0"}},
		{"address", Selection{Addresses: []string{"0000:[35]*"}}, []string{"ib1", "ens1"}},
		{"name of the RDMA device", Selection{Names: []string{"mlx5_?"}}, []string{"ib0", "ib1"}},
		{"other name", Selection{Names: []string{"stor*"}}, []string{"ens1"}},
		{"node", Selection{Nodes: []string{"gpu-*"}, LinkType: "ETH", Roles: []string{"storage"}}, []string{"ens1"}},
		{"nothing", Selection{Names: []string{"none"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			chosen, passed, err := choose(nodes, Options{Select: tt.s})
			var got []string
			for _, c := range chosen {
				got = append(got, c.pf.Netdev)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("choose differs (-want +got):\n%s", diff)
			}
			if (err != nil) != (tt.want == nil) || err != nil && !errors.Is(err, ErrNothing) {
				t.Errorf("choose = %v, want ErrNothing %t", err, tt.want == nil)
			}
			for _, p := range passed {
				if p.Reason == "" || p.Node == "" || p.Address == "" {
					t.Errorf("left out without a reason: %+v", p)
				}
			}
		})
	}
	if _, _, err := choose(nodes, Options{Select: Selection{Names: []string{"[a"}}}); !errors.Is(err, ErrOptions) {
		t.Errorf("choose with a broken pattern = %v, want ErrOptions", err)
	}
}

// TestNoManager checks the note about a port whose fabric is assumed.
func TestNoManager(t *testing.T) {
	card := func(lid uint16) []source.PF {
		return []source.PF{{
			Address: "0000:18:00.0", Vendor: "15b3", DeviceID: "1021", Netdev: "ib0", LinkType: "IB", TotalVFs: 8,
			Fabric: &source.Fabric{SubnetPrefix: "fe80:0000:0000:0000", SMLID: lid},
		}}
	}
	plan, err := Make(source.Cluster{Nodes: []source.Node{{Name: "a", PFs: card(1)}, {Name: "b", PFs: card(0)}}},
		Options{})
	if err != nil || len(plan.Rails) != 1 || len(plan.Rails[0].Members) != 2 {
		t.Fatalf("Make = %+v, %v, want one rail with both nodes", plan, err)
	}
	if text := strings.Join(plan.Notes,
		"\n"); !strings.Contains(text, "no subnet manager is visible on 0000:18:00.0 of b;") {
		t.Errorf("notes are %s, want one about the port without a subnet manager", text)
	}
}

// TestNoSuchNode distinguishes a pattern that matches no node from nodes without cards.
func TestNoSuchNode(t *testing.T) {
	nodes := []source.Node{ethernet("a", 1), ethernet("b", 0)}
	for pattern, want := range map[string]string{"c*": "no node name matches c*", "b": "no node has a card"} {
		_, _, err := choose(nodes, Options{Select: Selection{Nodes: []string{pattern}}})
		if !errors.Is(err, ErrNothing) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("choose of nodes %s = %v, want %q", pattern, err, want)
		}
	}
}
