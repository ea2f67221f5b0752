package plan

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// inPool is a node with a label and Ethernet cards, each with vfs VFs by its firmware.
func inPool(name string, cards int, pool string, vfs int) source.Node {
	n := ethernet(name, cards)
	n.Labels = map[string]string{"pool": pool}
	for i := range n.PFs {
		n.PFs[i].TotalVFs = vfs
	}
	return n
}

// TestFitPods makes no more pods than there are VFs for: the Job first, then pods to try things in.
func TestFitPods(t *testing.T) {
	tests := []struct {
		name             string
		nodes            []source.Node
		vfs, check, test int
		wantTest         int
		wantCheck        string // completions of the Job, "" for none
		note             string
	}{
		{"enough", []source.Node{ethernet("a", 2), ethernet("b", 2)}, 8, 2, 2, 2, "2", ""},
		{"just enough", []source.Node{ethernet("a", 2), ethernet("b", 2)}, 2, 2, 2, 2, "2", ""},
		{"one VF each", []source.Node{ethernet("a", 2), ethernet("b", 2)}, 1, 2, 2, 0, "2", "fewer test pods"},
		{
			"three nodes",
			[]source.Node{ethernet("a", 2), ethernet("b", 2), ethernet("c", 2)},
			1, 2, 2, 1, "2",
			"fewer test pods",
		},
		{"one node, one VF", []source.Node{ethernet("a", 1)}, 1, 2, 2, 1, "", "no Job checks"},
		{"many pods", []source.Node{ethernet("a", 1)}, 4, 6, 0, 0, "4", "fewer pods than requested"},
		{"no check", []source.Node{ethernet("a", 1)}, 2, 0, 2, 2, "", ""},
		// Test pods of a could land on b, whose VFs its own Job needs.
		{
			"nodes with more rails",
			[]source.Node{ethernet("a", 1), ethernet("a2", 1), ethernet("a3", 1), ethernet("b", 2), ethernet("b2", 2)},
			1, 2, 2, 0, "2 2", "fewer test pods",
		},
		// They can't if labels exclude b.
		{"labels of their own", []source.Node{inPool("a", 1, "x", 1), inPool("a2", 1, "x", 1), inPool("a3", 1, "x",
			1), inPool("b", 2, "y", 2), inPool("b2", 2, "y", 2)}, 0, 2, 2, 3, "2 2", "fewer test pods"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Make(source.Cluster{Nodes: tt.nodes},
				Options{VFs: tt.vfs, CheckPods: tt.check, TestPods: tt.test})
			if err != nil {
				t.Fatal(err)
			}
			var tests int
			var checks []string
			for _, f := range p.Files {
				if strings.HasPrefix(f.Object, k8s.KindPod+" ") {
					tests++
				}
				if strings.HasPrefix(f.Object, kindJob+" ") {
					_, tail, _ := strings.Cut(f.Text, "completions: ")
					n, _, _ := strings.Cut(tail, "\n")
					checks = append(checks, n)
				}
			}
			if got := strings.Join(checks, " "); tests != tt.wantTest || got != tt.wantCheck {
				t.Errorf("%d test pods, Jobs of %q, want %d and %q", tests, got, tt.wantTest, tt.wantCheck)
			}
			has := slices.ContainsFunc(p.Notes, func(n string) bool {
				return strings.Contains(n, "test pods") || strings.Contains(n, "checks the rails")
			})
			if has != (tt.note != "") || !strings.Contains(strings.Join(p.Notes, "\n"), tt.note) {
				t.Errorf("notes %q, want %q", p.Notes, tt.note)
			}
		})
	}
}

// TestPodSetNames gives pods the letter of the group of nodes which has their rails.
func TestPodSetNames(t *testing.T) {
	ib := ethernet("b", 1)
	ib.PFs[0].LinkType = source.LinkIB // whose rail comes first
	p, err := Make(source.Cluster{Nodes: []source.Node{ethernet("a", 1), ib}}, Options{VFs: 8, CheckPods: 2})
	if err != nil {
		t.Fatal(err)
	}
	rails := map[string]string{}
	for _, r := range p.Rails {
		for _, m := range r.Members {
			rails[m.Node] = r.Name
		}
	}
	for _, g := range p.Groups {
		i := slices.IndexFunc(p.Files, func(f File) bool { return f.Object == kindJob+" rdma/rdma-check-"+g.Name })
		if i < 0 || !strings.Contains(p.Files[i].Text, "networks: rdma/"+rails[g.Nodes[0]]+"\n") {
			t.Errorf("no Job rdma-check-%s with rail %s of its nodes %v", g.Name, rails[g.Nodes[0]], g.Nodes)
		}
	}
	if len(p.Groups) != 2 {
		t.Errorf("%d groups, want 2", len(p.Groups))
	}
}

// TestVendors checks the note about rails with cards of different vendors.
func TestVendors(t *testing.T) {
	other := ethernet("b", 1)
	other.PFs[0].Vendor, other.PFs[0].DeviceID = "8086", "1592"
	for _, tt := range []struct {
		nodes []source.Node
		want  bool
	}{
		{[]source.Node{ethernet("a", 1), ethernet("b", 1)}, false},
		{[]source.Node{ethernet("a", 1), other}, true},
	} {
		p, err := Make(source.Cluster{Nodes: tt.nodes}, Options{VFs: 8})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Contains(strings.Join(p.Notes, "\n"), "has cards of different vendors, 15b3 on a, and 8086 on b")
		if got != tt.want {
			t.Errorf("notes %q, want one of different vendors %t", p.Notes, tt.want)
		}
	}
}

// TestPools checks the note about pools of addresses that are not private.
func TestPools(t *testing.T) {
	for pool, want := range map[string]bool{
		"10.1.0.0/16": false, "fd00:1::/64": false, "8.8.0.0/16": true, "172.0.0.0/8": true, "100.64.0.0/10": true,
		"2001:db8::/64": true,
	} {
		p, err := Make(source.Cluster{Nodes: []source.Node{ethernet("a", 1)}},
			Options{Pools: []netip.Prefix{netip.MustParsePrefix(pool)}})
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(strings.Join(p.Notes, "\n"), pool+" is not a private range"); has != want {
			t.Errorf("pool %s: notes %q, want a remark %t", pool, p.Notes, want)
		}
	}
}
