package plan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// TestMTUs uses the MTU of a rail's ports if all ports have the same.
func TestMTUs(t *testing.T) {
	node := func(name, link string, mtu int, vfs ...int) source.Node {
		return source.Node{Name: name, PFs: []source.PF{{
			Address: "0000:18:00.0", Vendor: "15b3", DeviceID: "1021", Netdev: "ens1", LinkType: link, MTU: mtu,
			TotalVFs: 8, VFsKnown: true, NumVFs: len(vfs), VFMTUs: vfs,
		}}}
	}
	noVFMTU := node("b", "ETH", 9000, 9000)
	noVFMTU.PFs[0].VFMTUs = nil
	tests := []struct {
		name  string
		nodes []source.Node
		opts  Options
		want  int
		note  string
	}{
		{"all agree", []source.Node{node("a", "ETH", 9000), node("b", "ETH", 9000, 9000, 9000)}, Options{}, 9000, ""},
		{"the plain one", []source.Node{node("a", "ETH", 1500)}, Options{}, 0, ""},
		{"InfiniBand", []source.Node{node("a", "IB", 4092)}, Options{}, 0, ""},
		{
			"they differ",
			[]source.Node{node("a", "ETH", 9000), node("b", "ETH", 1500)},
			Options{},
			0,
			"MTU 9000 on a, and 1500 on b",
		},
		{"one isn't known", []source.Node{node("a", "ETH", 9000), node("b", "ETH", 0)}, Options{}, 0, ""},
		{
			"VFs have another",
			[]source.Node{node("a", "ETH", 9000), node("b", "ETH", 9000, 9000, 1500)},
			Options{},
			0, "existing VFs have another",
		},
		{
			"unknown MTU of VFs",
			[]source.Node{node("a", "ETH", 9000), noVFMTU},
			Options{},
			0,
			"existing VFs have another",
		},
		{"asked for", []source.Node{node("a", "ETH", 9000), node("b", "ETH", 1500)}, Options{MTU: 4000}, 4000, ""},
	}
	for _, tt := range tests {
		p, err := Make(source.Cluster{Nodes: tt.nodes}, tt.opts)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, o := range manifest.Parse("plan", p.YAML()).Objects {
			if n, ok := o.Find("spec", "mtu").Plain().(int); ok {
				got = n
			}
		}
		notes := strings.Join(p.Notes, "\n")
		if got != tt.want || tt.note == "" && strings.Contains(notes, "MTU") || !strings.Contains(notes, tt.note) {
			t.Errorf("%s: mtu %d, notes %q; want %d and %q", tt.name, got, notes, tt.want, tt.note)
		}
	}
}

// TestInherit makes one network of nodes with snapshots and nodes with a
// SriovNetworkNodeState alone.
func TestInherit(t *testing.T) {
	a, b := &source.Fabric{SubnetPrefix: "fec0:0000:0000:00a1", SMLID: 1}, &source.Fabric{
		SubnetPrefix: "fec0:0000:0000:00b2", SMLID: 42,
	}
	card := func(address string, f *source.Fabric, rail *int, role string) source.PF {
		return source.PF{
			Address: address, Vendor: "15b3", DeviceID: "1021", Netdev: "ib" + address[5:7], LinkType: "IB",
			TotalVFs: 8, Fabric: f, Rail: rail, Role: role,
		}
	}
	whole := func(name string, first, second *source.Fabric) source.Node {
		return source.Node{Name: name, PFs: []source.PF{
			card("0000:18:00.0", first, new(0), "compute"), card("0000:3b:00.0", second, new(1), "compute"),
			card("0000:5e:00.0", second, nil, "storage"),
		}}
	}
	bare := source.Node{Name: "z", PFs: []source.PF{
		card("0000:18:00.0", nil, nil, ""), card("0000:3b:00.0", nil, nil, ""), card("0000:5e:00.0", nil, nil, ""),
	}}
	elsewhere := source.Node{Name: "z", PFs: []source.PF{card("0000:99:00.0", nil, nil, "")}}
	tests := []struct {
		name  string
		nodes []source.Node
		want  []string
		note  bool
	}{
		{
			"one with a snapshot",
			[]source.Node{whole("a", a, b), bare},
			[]string{"rail0 fec0:0000:0000:00a1@1 a z", "rail1 fec0:0000:0000:00b2@42 a z"},
			true,
		},
		{
			"two that agree",
			[]source.Node{whole("a", a, b), whole("b", a, b), bare},
			[]string{"rail0 fec0:0000:0000:00a1@1 a b z", "rail1 fec0:0000:0000:00b2@42 a b z"},
			true,
		},
		{"two that don't", []source.Node{whole("a", a, b), whole("b", b, a), bare}, nil, false},
		{"cards elsewhere", []source.Node{whole("a", a, b), elsewhere}, nil, false},
		{
			"snapshots of all",
			[]source.Node{whole("a", a, b)},
			[]string{"rail0 fec0:0000:0000:00a1@1 a", "rail1 fec0:0000:0000:00b2@42 a"},
			false,
		},
	}
	for _, tt := range tests {
		before := tt.nodes[len(tt.nodes)-1].PFs[0].Fabric
		p, err := Make(source.Cluster{Nodes: tt.nodes}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range p.Rails {
			text := r.Name + " " + r.Fabric
			for _, m := range r.Members {
				text += " " + m.Node
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(tt.want, got); tt.want != nil && diff != "" {
			t.Errorf("%s: rails differ (-want +got):\n%s", tt.name, diff)
		}
		if tt.want == nil && slices.ContainsFunc(p.Rails, func(r Rail) bool {
			return r.Fabric != "" && slices.ContainsFunc(r.Members, func(m Member) bool { return m.Node == "z" })
		}) {
			t.Errorf("%s: rails %v, want none with a fabric for z", tt.name, got)
		}
		if has := strings.Contains(strings.Join(p.Notes, "\n"), "assumed to be those of a"); has != tt.note {
			t.Errorf("%s: notes %q, want one about it: %t", tt.name, p.Notes, tt.note)
		}
		if tt.nodes[len(tt.nodes)-1].PFs[0].Fabric != before {
			t.Errorf("%s: Make changed its input", tt.name)
		}
	}
}

// TestPolicyNames gives policies the letter of the group whose label they select, also on rails
// that a group doesn't have.
func TestPolicyNames(t *testing.T) {
	p, err := Make(clusterTest{files: []string{"ib-uneven.yaml"}}.cluster(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Files {
		_, tail, found := strings.Cut(f.Text, LabelKey+": ")
		value, _, _ := strings.Cut(tail, "\n")
		if strings.HasPrefix(f.Name, "30-policy-") && (!found || !strings.HasSuffix(f.Name, "-"+value+".yaml")) {
			t.Errorf("policy in %s selects nodes with label %q", f.Name, value)
		}
	}
}

// TestUnavailable checks the note about a pool that never drains.
func TestUnavailable(t *testing.T) {
	cluster := clusterTest{files: []string{"ib-labelled.yaml"}}.cluster(t) // three with cards
	for value, want := range map[string]bool{"25%": true, "0": true, "33%": true, "34%": false, "1": false, "": false} {
		p, err := Make(cluster, Options{MaxUnavailable: value})
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(strings.Join(p.Notes, "\n"), "drains no node of the pool"); has != want {
			t.Errorf("%q unavailable of %d nodes: notes %q, want a warning %t",
				value, len(cluster.Nodes), p.Notes, want)
		}
	}
}

// TestStale removes what an earlier plan wrote, and nothing else.
func TestStale(t *testing.T) {
	cluster := clusterTest{files: []string{"ib-labelled.yaml"}}.cluster(t)
	first, err := Make(cluster, Options{CheckPods: 2, TestPods: 1})
	if err != nil {
		t.Fatal(err)
	}
	node := first.Groups[0].Nodes[0]
	second, err := Make(cluster, Options{Select: Selection{Nodes: []string{node}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := first.Write(dir); err != nil {
		t.Fatal(err)
	}
	if removed, err := first.RemoveStale(dir); err != nil || len(removed) > 0 {
		t.Fatalf("RemoveStale = %v, %v, want nothing", removed, err)
	}
	foreign := []string{"mine.yaml", "notes.txt", "guids/mine", "guids/changed"}
	guids, err := os.ReadFile(filepath.Join(dir, "guids", node))
	if err != nil {
		t.Fatal(err)
	}
	// a range that somebody has changed
	for i, text := range []string{
		"# my own\nkind: Pod\nmetadata: {name: a}\n", fileMark + "\n", "[]",
		strings.Replace(string(guids), `7f"`, `3f"`, 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, foreign[i]), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "mine.yaml"), filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Write(dir); err != nil {
		t.Fatal(err)
	}
	removed, err := second.RemoveStale(dir)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range first.Files {
		if !slices.ContainsFunc(second.Files, func(s File) bool { return s.Name == f.Name }) {
			want = append(want, filepath.Join(dir, f.Name))
		}
	}
	slices.Sort(want)
	slices.Sort(removed)
	if diff := cmp.Diff(want, removed); diff != "" || len(want) < 4 {
		t.Errorf("removed differs (-want +got):\n%s", diff)
	}
	for _, name := range append(foreign, "link.yaml") {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Errorf("a file of others is gone: %v", err)
		}
	}
	for _, f := range second.Files {
		if _, err := os.Stat(filepath.Join(dir, f.Name)); err != nil {
			t.Errorf("a file of the plan is gone: %v", err)
		}
	}
}

// TestStaleFolder removes the folder of GUIDs with its last file.
func TestStaleFolder(t *testing.T) {
	cluster := clusterTest{files: []string{"ib-labelled.yaml"}}.cluster(t)
	dir := t.TempDir()
	for _, omit := range [][]string{nil, {kindGUIDs}} {
		p, err := Make(cluster, Options{Omit: omit})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := p.RemoveStale(dir); err != nil {
			t.Fatal(err)
		}
		_, err = os.Stat(filepath.Join(dir, guidsDir))
		if there := err == nil; there != (omit == nil) {
			t.Errorf("without %v folder %s exists: %t", omit, guidsDir, there)
		}
	}
}
