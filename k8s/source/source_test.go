package source

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/k8s"
)

// tree writes a test node as a node tree in text.
func tree(t testing.TB, dir, name string) string {
	t.Helper()
	tr, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, dir, name+".tree", string(tr.Text()))
}

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const state = `apiVersion: v1
kind: List
items:
- apiVersion: sriovnetwork.openshift.io/v1
  kind: SriovNetworkNodeState
  metadata: {name: gpu-00, namespace: sriov-network-operator}
  status:
    syncStatus: Succeeded
    system: {rdmaMode: exclusive}
    interfaces:
    - name: ens1
      altNames: [enp59s0]
      pciAddress: "0000:3B:00.0"
      vendor: "15b3"
      deviceID: "1021"
      driver: mlx5_core
      linkType: ib
      mtu: 4092
      numVfs: 1
      totalvfs: 8
      Vfs:
      - {vfID: 0, pciAddress: "0000:3b:00.1", deviceID: 101e, guid: "0000:0000:0000:0000"}
- apiVersion: v1
  kind: Node
  metadata: {name: gpu-00, labels: {a: b}}
  spec: {podCIDR: 10.244.0.0/24, podCIDRs: [10.244.0.0/24, "fd00:10:244::/64"]}
  status: {allocatable: {cpu: 8, nvidia.com/rail0: "8"}}
- apiVersion: v1
  kind: Namespace
  metadata: {name: ml}
`

func TestManifests(t *testing.T) {
	file := write(t, t.TempDir(), "cluster.yaml", state)
	got, err := Files{Names: []string{file}}.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Node{{
		Name: "gpu-00", Labels: map[string]string{"a": "b"}, LabelOrigins: map[string]string{"a": file},
		PodCIDRs:   []netip.Prefix{netip.MustParsePrefix("10.244.0.0/24"), netip.MustParsePrefix("fd00:10:244::/64")},
		CardsKnown: true, RDMAMode: "exclusive", SyncStatus: "Succeeded",
		Allocatable: map[string]k8s.Quantity{"cpu": "8", "nvidia.com/rail0": "8"}, Origins: []string{file},
		PFs: []PF{{
			Address: "0000:3b:00.0", Vendor: "15b3", DeviceID: "1021", Netdev: "ens1", AltNames: []string{"enp59s0"},
			LinkType: LinkIB, MTU: 4092, Driver: "mlx5_core", NumVFs: 1, VFsKnown: true, TotalVFs: 8,
			VFDeviceIDs: []string{"101e"}, VFGUIDs: []string{"0000:0000:0000:0000"}, VFMTUs: []int{0},
		}},
	}}
	if diff := cmp.Diff(want, got.Nodes, cmpopts.IgnoreFields(Node{}, "State"),
		cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("nodes differ (-want +got):\n%s", diff)
	}
	if len(got.Objects) != 1 || got.Objects[0].Kind != k8s.KindNamespace {
		t.Errorf("objects = %v, want the namespace", got.Objects)
	}
}

func TestSnapshots(t *testing.T) {
	dir := t.TempDir()
	one := tree(t, dir, "58_two_ib_fabrics")
	got, err := Files{Names: []string{one}}.Cluster(t.Context())
	if err != nil || len(got.Nodes) != 1 {
		t.Fatalf("Cluster = %+v, %v, want one node", got, err)
	}
	fabrics := map[string]int{}
	for i, pf := range got.Nodes[0].PFs {
		if pf.LinkType == LinkIB && pf.Fabric != nil {
			fabrics[pf.Fabric.SubnetPrefix]++
		}
		if pf.LinkType == LinkIB &&
			(pf.Vendor != "15b3" || pf.DeviceID == "" || pf.Netdev == "" || pf.RDMADevice == "" || pf.Rail == nil) {
			t.Errorf("PF %d = %+v lacks something", i, pf)
		}
	}
	if diff := cmp.Diff(map[string]int{"fec0:0000:0000:00a1": 4, "fec0:0000:0000:00b2": 4}, fabrics); diff != "" {
		t.Errorf("fabrics differ (-want +got):\n%s", diff)
	}
	// The node with VFs: they are not PFs, and the PF counts them.
	got, err = Files{Names: []string{tree(t, dir, "61_ib_vfs_host")}}.Cluster(t.Context())
	if err != nil || len(got.Nodes) != 1 || got.Nodes[0].Name != "gpu-00" {
		t.Fatalf("Cluster = %+v, %v, want gpu-00", got, err)
	}
	pf := got.Nodes[0].PFs[0]
	if pf.Address != "0000:13:00.0" || pf.TotalVFs != 8 || pf.NumVFs != 2 || len(pf.VFGUIDs) != 2 ||
		cmp.Diff([]string{"101e"}, pf.VFDeviceIDs) != "" {
		t.Errorf("PF = %+v, want 0000:13:00.0 with 2 of 8 VFs of 101e and their GUIDs", pf)
	}
	if n, ok := pf.FirmwareVFs(); n != 8 || !ok {
		t.Errorf("FirmwareVFs = %d, %t, want 8, true", n, ok)
	}
}

// TestForms reads one node from an archive, from the folder of its root and from a folder of files.
func TestForms(t *testing.T) {
	dir := t.TempDir()
	tr, err := testtrees.Load("61_ib_vfs_host")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root")
	if err := tr.WriteDir(root); err != nil {
		t.Fatal(err)
	}
	var packed strings.Builder
	if err := tr.WriteTarGz(&packed, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "node.tar.gz", packed.String())
	write(t, dir, ".hidden", "x")
	for _, names := range [][]string{{root}, {filepath.Join(dir, "node.tar.gz")}, {dir}} {
		got, err := Files{Names: names}.Cluster(t.Context())
		if err != nil || len(got.Nodes) != 1 || len(got.Nodes[0].PFs) == 0 {
			t.Errorf("Cluster(%v) = %d nodes, %v, want one with cards", names, len(got.Nodes), err)
		}
	}
	got, err := Files{Names: []string{"-"}, Stdin: strings.NewReader(packed.String())}.Cluster(t.Context())
	if err != nil || len(got.Nodes) != 1 {
		t.Errorf("Cluster(-) = %d nodes, %v, want one", len(got.Nodes), err)
	}
}

// TestJoined reads a node from a snapshot, its state and its object: one node.
func TestJoined(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, "61_ib_vfs_host")
	write(t, dir, "cluster.yaml", state)
	got, err := Files{Names: []string{dir}}.Cluster(t.Context())
	if err != nil || len(got.Nodes) != 1 {
		t.Fatalf("Cluster = %d nodes, %v, want one", len(got.Nodes), err)
	}
	n := got.Nodes[0]
	if n.Labels["a"] != "b" || n.SyncStatus != "Succeeded" || len(n.Origins) != 2 {
		t.Errorf("node = %+v, want labels, status and two origins", n)
	}
}

// TestYAMLSnapshot reads a snapshot in YAML as the one in JSON.
func TestYAMLSnapshot(t *testing.T) {
	dir := t.TempDir()
	tr, err := testtrees.Load("61_ib_vfs_host")
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.FromTree(tr)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := inventory.Scan(t.Context(), b.Sources())
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(map[string]any{"schema": "rdmakit.detect/v1", "node": snap})
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.JSONToYAML(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	text := "schema: rdmakit.detect/v1\n" + strings.Replace(string(asYAML), "\nschema: rdmakit.detect/v1\n", "\n", 1)
	file := write(t, dir, "a", text)
	got, err := Files{Names: []string{file}}.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Node{FromSnapshot(snap, file)}, got.Nodes, cmpopts.EquateComparable(netip.Prefix{}),
		cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("nodes differ (-want +got):\n%s", diff)
	}
	two := write(t, dir, "b", text+"---\n"+strings.Replace(text, "name: gpu-00", "name: gpu-01", 1))
	if got, err := (Files{Names: []string{two}}).Cluster(t.Context()); err != nil || len(got.Nodes) != 2 {
		t.Errorf("Cluster of two documents = %d nodes, %v, want 2", len(got.Nodes), err)
	}
	broken := write(t, dir, "c", text+"- x\n")
	where := regexp.MustCompile(regexp.QuoteMeta(broken) + `: yaml: line \d{3,}`)
	if _, err := (Files{Names: []string{broken}}).Cluster(t.Context()); err == nil || !where.MatchString(err.Error()) {
		t.Errorf("Cluster of broken YAML = %v, want where it is broken", err)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "good.yaml", state)
	empty := write(t, dir, "empty.yaml", "# nothing\n")
	broken := write(t, dir, "broken.json", `{"schema": "rdmakit.inventory/v1", `)
	got, err := Files{Names: []string{good, empty, broken, filepath.Join(dir, "absent")}}.Cluster(t.Context())
	if len(got.Nodes) != 1 || !errors.Is(err, ErrNoNode) || !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), broken) {
		t.Errorf("Cluster = %d nodes, %v, want one, and what is wrong with three files", len(got.Nodes), err)
	}
	if _, err := (Files{Names: []string{t.TempDir()}}).Cluster(t.Context()); !errors.Is(err, ErrNoNode) {
		t.Errorf("Cluster of an empty folder = %v, want ErrNoNode", err)
	}
}

// TestBroken checks that an unreadable file is reported once, in any position.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	good, broken := write(t, dir, "good.yaml", state), write(t, dir, "broken.yaml", "a: [\nb\n")
	for _, names := range [][]string{{good, broken}, {broken, good}} {
		got, err := Files{Names: names}.Cluster(t.Context())
		if len(got.Nodes) != 1 || len(got.Problems) > 0 || err == nil || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("Cluster(%q) = %d nodes, problems %v, %v, want one node and one error",
				names, len(got.Nodes), got.Problems, err)
		}
	}
}

func TestSelected(t *testing.T) {
	labelled := Node{Name: "a", Labels: map[string]string{"x": "1"}}
	unknown := Node{Name: "a"}
	tests := []struct {
		node            Node
		selector        map[string]string
		selected, maybe bool
	}{
		{labelled, nil, true, false},
		{labelled, map[string]string{"x": "1"}, true, false},
		{labelled, map[string]string{"x": "2"}, false, false},
		{labelled, map[string]string{"y": "1"}, false, false},
		{unknown, nil, true, false},
		{unknown, map[string]string{"x": "1"}, false, true},
		{unknown, map[string]string{"kubernetes.io/hostname": "a"}, true, false},
		{unknown, map[string]string{"kubernetes.io/hostname": "b", "x": "1"}, false, false},
	}
	for _, tt := range tests {
		if selected, maybe := tt.node.Selected(tt.selector); selected != tt.selected || maybe != tt.maybe {
			t.Errorf("Selected(%v) of labels %v = %t, %t, want %t, %t",
				tt.selector, tt.node.Labels, selected, maybe, tt.selected, tt.maybe)
		}
	}
}
