package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// infiniBand makes a node with two InfiniBand cards, whose names many other nodes have too.
func infiniBand(change func(*source.Node)) source.Cluster {
	n := source.Node{Name: "gpu-00", CardsKnown: true, PFs: []source.PF{
		{
			Address: "0000:18:00.0", Vendor: "15b3", DeviceID: "1021", Netdev: "ib0", LinkType: source.LinkIB,
			TotalVFs: 8,
		},
		{
			Address: "0000:3b:00.0", Vendor: "15b3", DeviceID: "1021", Netdev: "ib1", LinkType: source.LinkIB,
			TotalVFs: 8,
		},
	}}
	if change != nil {
		change(&n)
	}
	return source.Cluster{Nodes: []source.Node{n}}
}

// firstGUIDs are the first GUIDs of VFs by the address of their card.
func firstGUIDs(t *testing.T, cluster source.Cluster, opts Options) (guids map[string]string, noted bool) {
	t.Helper()
	p, err := Make(cluster, opts)
	if err != nil {
		t.Fatal(err)
	}
	checkGUIDs(t, p)
	guids = map[string]string{}
	for _, f := range p.Files {
		var list []guidRange
		if !strings.HasPrefix(f.Name, guidsDir+"/") {
			continue
		}
		if err := json.Unmarshal([]byte(f.Text), &list); err != nil {
			t.Fatal(err)
		}
		for _, g := range list {
			guids[strings.TrimPrefix(f.Name, guidsDir+"/")+" "+g.PciAddress] = g.GUIDsRange.Start
		}
	}
	return guids, slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "--guid-seed") })
}

// TestGUIDsOfClusters plans for two clusters whose names are the same: the GUIDs of the VFs differ
// if the GUIDs of the cards are known, or if the seeds differ.
func TestGUIDsOfClusters(t *testing.T) {
	snapshot := func(guid string) func(*source.Node) {
		return func(n *source.Node) {
			n.HardwareIDs = []string{
				"0000:18:00.0 " + guid + ":1000", "0000:3b:00.0 " + guid + ":1001", "0000:5c:00.0 b8:3f:d2:a5:10:20",
			}
		}
	}
	state := func(guid string) func(*source.Node) {
		return func(n *source.Node) {
			n.State = &k8s.SriovNetworkNodeState{Status: k8s.NodeStateStatus{Interfaces: []k8s.Interface{
				{PciAddress: "0000:18:00.0", Mac: "00:00:10:49:fe:80:00:00:00:00:00:00:" + guid + ":10:00"},
				{PciAddress: "0000:3B:00.0", Mac: "00:00:10:4a:fe:80:00:00:00:00:00:00:" + guid + ":10:01"},
			}}}
		}
	}
	names, noted := firstGUIDs(t, infiniBand(nil), Options{})
	if !noted || len(names) != 2 {
		t.Errorf("GUIDs of unknown cards %v, note %t, want two with a note", names, noted)
	}
	seeded, noted := firstGUIDs(t, infiniBand(nil), Options{GUIDSeed: "east"})
	a, notedA := firstGUIDs(t, infiniBand(snapshot("b83f:d203:00a5")), Options{})
	b, _ := firstGUIDs(t, infiniBand(snapshot("b83f:d203:00a6")), Options{})
	if noted || notedA {
		t.Errorf("a note of GUIDs with a seed %t, with known cards %t, want none", noted, notedA)
	}
	all := []map[string]string{names, seeded, a, b}
	seen := map[string]bool{}
	for _, guids := range all {
		for _, g := range guids {
			if seen[g] {
				t.Errorf("GUID %s is in two clusters: %v", g, all)
			}
			seen[g] = true
		}
	}
	if got, _ := firstGUIDs(t, infiniBand(state("b8:3f:d2:03:00:a5")), Options{}); cmp.Diff(a, got) != "" {
		t.Errorf("GUIDs by the state %v, want those by the snapshot, %v", got, a)
	}
	// A plan for one card has the same GUIDs for it, and GUIDs for the other card too: the daemon
	// rejects VFs without a GUID.
	if got, _ := firstGUIDs(t, infiniBand(snapshot("b83f:d203:00a5")),
		Options{VFs: 4, Select: Selection{Names: []string{"ib1"}}}); cmp.Diff(a, got) != "" {
		t.Errorf("GUIDs for one card %v, want those for both, %v", got, a)
	}
}

// TestGUIDsOfNodes gives a node no entries for cards that only others have.
func TestGUIDsOfNodes(t *testing.T) {
	cluster := infiniBand(nil)
	other := infiniBand(nil).Nodes[0]
	other.Name, other.PFs = "gpu-01", []source.PF{other.PFs[0]}
	other.PFs[0].Address = "0000:5c:00.0"
	cluster.Nodes = append(cluster.Nodes, other)
	got, _ := firstGUIDs(t, cluster, Options{})
	for _, name := range []string{"gpu-00 0000:18:00.0", "gpu-00 0000:3b:00.0", "gpu-01 0000:5c:00.0"} {
		if got[name] == "" {
			t.Errorf("no GUIDs for %s", name)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("GUIDs for cards that the nodes don't have: %v", got)
	}
}
