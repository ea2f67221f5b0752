package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s"
)

func clusterOf(t *testing.T, names ...string) Cluster {
	t.Helper()
	got, err := Files{Names: names}.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestStateBeforeSnapshot gives one PF the counts of the state, in whatever order the files are
// read: 0 is a count.
func TestStateBeforeSnapshot(t *testing.T) {
	dir := t.TempDir()
	snapshot := tree(t, dir, "61_ib_vfs_host") // 2 of 8 VFs
	state := write(t, dir, "state.yaml", `apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodeState
metadata: {name: gpu-00}
status: {interfaces: [{name: ib0, pciAddress: "0000:13:00.0", totalvfs: 16}]}
`)
	for _, names := range [][]string{{snapshot, state}, {state, snapshot}} {
		pf := clusterOf(t, names...).Nodes[0].PFs[0]
		if pf.NumVFs != 0 || pf.TotalVFs != 16 || len(pf.VFGUIDs)+len(pf.VFDeviceIDs) != 0 {
			t.Errorf("%v: PF = %+v, want 0 of 16 VFs, as the state says, and none of the snapshot's", names, pf)
		}
		if pf.DeviceID != "1021" || pf.Fabric == nil {
			t.Errorf("%v: PF = %+v, want the values of the snapshot, too", names, pf)
		}
	}
}

func TestJoinVFs(t *testing.T) {
	at := func(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
	node := func(taken time.Time, known bool, n int, guids ...string) Node {
		return Node{
			Name: "a", Taken: taken, PFs: []PF{{Address: "x", VFsKnown: known, NumVFs: n, TotalVFs: 8, VFGUIDs: guids}},
		}
	}
	// Models and MTUs go with the GUIDs: only where both count the same.
	full := Node{Name: "a", Taken: at(2024), PFs: []PF{
		{Address: "x", VFsKnown: true, NumVFs: 1, TotalVFs: 8, VFDeviceIDs: []string{"101e"}, VFMTUs: []int{4092}},
	}}
	tests := []struct {
		name  string
		nodes []Node
		want  PF
	}{
		{"the newer snapshot", []Node{node(at(2024), true, 2, "g", "h"), node(at(2025), true, 0)}, PF{
			Address: "x", VFsKnown: true, TotalVFs: 8,
		}},
		{"the same, the other way", []Node{node(at(2025), true, 0), node(at(2024), true, 2, "g", "h")}, PF{
			Address: "x", VFsKnown: true, TotalVFs: 8,
		}},
		{"the one that counted", []Node{node(at(2025), false, 0), node(at(2024), true, 2, "g", "h")}, PF{
			Address: "x", VFsKnown: true, NumVFs: 2, TotalVFs: 8, VFGUIDs: []string{"g", "h"},
		}},
		{"equal counts", []Node{node(at(2025), true, 1), node(at(2024), true, 1, "g")}, PF{
			Address: "x", VFsKnown: true, NumVFs: 1, TotalVFs: 8, VFGUIDs: []string{"g"},
		}},
		{"models and MTUs", []Node{node(at(2025), true, 1), full}, full.PFs[0]},
		{"models and MTUs of other VFs", []Node{node(at(2025), true, 2), full}, PF{
			Address: "x", VFsKnown: true, NumVFs: 2, TotalVFs: 8,
		}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Join(tt.nodes)[0].PFs[0]); diff != "" {
			t.Errorf("%s: PF differs (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestLabels joins the labels of Node objects and of a plan, and checks their origins.
func TestLabels(t *testing.T) {
	dir := t.TempDir()
	object := func(name, labels string) string {
		return "apiVersion: v1\nkind: Node\nmetadata: {name: " + name + ", labels: {" + labels + "}}\n"
	}
	one, two := write(t, dir, "1.yaml",
		object("a", "x: one, y: one")), write(t, dir, "2.yaml", object("a", "y: two, z: two"))
	plan := write(t, dir, "plan.json", `{"schema": "rdmakit.k8splan/v1", "label": [{"key": "rdmakit.io/sriov", `+
		`"value": "a", "nodes": ["a", "b"]}, {"key": "x", "value": "plan", "nodes": ["a"]}]}`)
	nodes := clusterOf(t, one, two, plan).Nodes
	if len(nodes) != 2 {
		t.Fatalf("%d nodes, want a and b", len(nodes))
	}
	want := map[string]string{"x": "one", "y": "one", "z": "two", "rdmakit.io/sriov": "a"}
	if diff := cmp.Diff(want, nodes[0].Labels); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
	origins := map[string]string{"x": one, "y": one, "z": two, "rdmakit.io/sriov": plan}
	if diff := cmp.Diff(origins, nodes[0].LabelOrigins); diff != "" {
		t.Errorf("origins differ (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		selector        map[string]string
		selected, maybe bool
	}{
		{map[string]string{"rdmakit.io/sriov": "a"}, true, false},
		{map[string]string{"rdmakit.io/sriov": "b"}, false, false},
		{map[string]string{"other": "x"}, false, true}, // a plan does not have all labels
	} {
		if selected, maybe := nodes[1].Selected(tt.selector); selected != tt.selected || maybe != tt.maybe {
			t.Errorf("Selected(%v) by a promise = %t, %t, want %t, %t",
				tt.selector, selected, maybe, tt.selected, tt.maybe)
		}
	}
	if _, err := (Files{
		Names: []string{write(t, dir, "broken.json", `{"schema": "rdmakit.k8splan/v1", "label": 7}`)},
	}).Cluster(t.Context()); err == nil {
		t.Error("a broken plan is read without an error")
	}
}

// TestOneName checks that two machines with one name are not merged, and that both files are named.
func TestOneName(t *testing.T) {
	dir := t.TempDir()
	one, other := tree(t, dir, "61_ib_vfs_host"), tree(t, dir, "58_two_ib_fabrics") // both are called gpu-00
	got := clusterOf(t, one, other)
	if len(got.Nodes) != 1 || len(got.Nodes[0].Origins) != 1 || got.Nodes[0].Origins[0] != one {
		t.Errorf("nodes = %+v, want the first machine alone", got.Nodes)
	}
	if len(got.Problems) != 1 || got.Problems[0].At.File != other || !strings.Contains(got.Problems[0].Text, one) ||
		!strings.Contains(got.Problems[0].Text, "gpu-00") {
		t.Errorf("problems = %+v, want one that names both files", got.Problems)
	}
	data, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	again := write(t, dir, "again.tree", string(data))
	if got := clusterOf(t, one, again); len(got.Nodes) != 1 || len(got.Problems) > 0 || len(got.Nodes[0].Origins) != 2 {
		t.Errorf("two snapshots of one machine = %+v, %+v, want one node and no problem", got.Nodes, got.Problems)
	}
}

func TestOneMachine(t *testing.T) {
	node := func(pf string, ids ...string) Node {
		return Node{Name: "n", CardsKnown: true, Origins: []string{"f"}, HardwareIDs: ids, PFs: []PF{{Address: pf}}}
	}
	tests := []struct {
		name string
		a, b Node
		want bool
	}{
		{"the same card", node("x", "x 1"), node("x", "x 1"), true},
		{"one more card", node("x", "x 1"), node("x", "x 1", "y 2"), true},
		{"other cards", node("x", "x 1"), node("x", "x 2"), false},
		{"a card that moved", node("x", "x 1", "y 2"), node("x", "x 1", "z 2"), false},
		{"one without IDs", node("x", "x 1"), node("x"), false},
		{"both without IDs", node("x"), node("x"), true},
		{"both without IDs, at other addresses", node("x"), node("y"), false},
	}
	for _, tt := range tests {
		if got := oneMachine(&tt.a, &tt.b); got != tt.want {
			t.Errorf("%s: oneMachine = %t, want %t", tt.name, got, tt.want)
		}
		kept, problems := apart([]Node{tt.a, tt.b})
		if (len(kept) == 2) != tt.want || (len(problems) == 0) != tt.want {
			t.Errorf("%s: apart keeps %d with %d problems", tt.name, len(kept), len(problems))
		}
	}
}

// TestState keeps the whole state: desired settings, drivers of VFs, annotations.
func TestState(t *testing.T) {
	dir := t.TempDir()
	text := func(name, spec string) string {
		return "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodeState\n" +
			"metadata: {name: " + name + ", annotations: {" + k8s.AnnotationDrainState + ": Draining}}\n" +
			spec + `status: {interfaces: [{pciAddress: "0000:13:00.0", Vfs: [{vfID: 0, pciAddress: "0000:13:00.1", ` +
			`driver: vfio-pci, vdpaType: vhost}]}]}` + "\n"
	}
	write(t, dir, "a.yaml", text("a", ""))
	write(t, dir, "b.txt", text("b", "spec: {}\n"))
	write(t, dir, ".c.yaml", text("c", ""))
	stdin := text("d", "spec: {interfaces: [{pciAddress: \"0000:13:00.0\", vfGroups: [{vfRange: 0-3, policyName: "+
		"p}]}], system: {rdmaMode: exclusive}}\n")
	got, err := Files{Names: []string{dir, "-"}, Stdin: strings.NewReader(stdin)}.Cluster(t.Context())
	if err != nil || len(got.Nodes) != 3 {
		t.Fatalf("Cluster = %+v, %v, want a, b and d", got.Nodes, err)
	}
	var specs []bool
	for _, n := range got.Nodes {
		vf := n.State.Status.Interfaces[0].VFs[0]
		if n.State.Metadata.Annotations[k8s.AnnotationDrainState] != "Draining" || vf.Driver != "vfio-pci" ||
			vf.VdpaType != "vhost" {
			t.Errorf("state of %s = %+v, want annotation, driver and vDPA type", n.Name, n.State)
		}
		specs = append(specs, n.State.Spec != nil)
	}
	if !slices.Equal(specs, []bool{false, true, true}) {
		t.Errorf("nodes with a spec = %v, want b and d", specs)
	}
	if spec := got.Nodes[2].State.Spec; spec.System.RdmaMode != "exclusive" ||
		spec.Interfaces[0].VfGroups[0].PolicyName != "p" {
		t.Errorf("spec of d = %+v, want exclusive mode and policy p", spec)
	}
	if n := clusterOf(t, filepath.Join(dir, "a.yaml")).Nodes[0]; n.State == nil {
		t.Error("a file by its name gives no state")
	}
}
