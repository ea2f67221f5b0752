package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// ethernet makes a node with Ethernet cards at 0000:01:00.0 and up.
func ethernet(name string, cards int) source.Node {
	n := source.Node{
		Name: name, CardsKnown: true, Labels: map[string]string{labelHost: name, "pool": "gpu"},
		SyncStatus: "Succeeded",
	}
	for i := range cards {
		n.PFs = append(n.PFs, source.PF{
			Address: fmt.Sprintf("0000:%02x:00.0", i+1), Vendor: "15b3", DeviceID: "101d",
			Netdev: fmt.Sprintf("ens%d", i+1), LinkType: source.LinkETH, TotalVFs: 8, VFsKnown: true,
		})
	}
	return n
}

// policyText is a policy for one card of all nodes of the pool.
func policyText(name, namespace string, card, vfs int) string {
	return fmt.Sprintf(`apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: %s, namespace: %s}
spec: {resourceName: x, numVfs: %d, nodeSelector: {pool: gpu}, nicSelector: {rootDevices: ["0000:%02x:00.0"]}}
---
`, name, namespace, vfs, card)
}

// TestOwners skips cards that policies of others select, and keeps those of the plan's own
// policies.
func TestOwners(t *testing.T) {
	const ns = DefaultOperatorNamespace
	tests := []struct {
		name     string
		policies string
		state    string   // the policy that the node's state names for card 1
		want     []string // rails with their cards, then those that are left out
		note     string   // of the other policies; one that begins with "labels" is about nodes without labels
	}{
		{"nobody", "", "", []string{"rail0 1", "rail1 2", "rail2 3"}, ""},
		{
			"a policy of others", policyText("storage", ns, 1, 4), "",
			[]string{"rail0 2", "rail1 3", "1: policy storage selects it"},
			"",
		},
		{"as the state says", "", "storage", []string{"rail0 2", "rail1 3", "1: policy storage selects it"}, ""},
		{
			"its own beside another",
			policyText("rail0", ns, 2, 8) + policyText("rail1", ns, 3, 8) + policyText("storage", ns, 1, 4), "",
			[]string{"rail0 2", "rail1 3", "1: policy storage selects it"},
			"",
		},
		{
			"a policy of a rail that isn't", policyText("rail7", ns, 2, 8), "",
			[]string{"rail0 1", "rail1 3", "2: policy rail7 selects it"},
			"",
		},
		{
			"of a group that was", policyText("rail1-b", ns, 2, 8), "",
			[]string{"rail0 1", "rail1 2", "rail2 3"},
			"delete sriovnetworknodepolicies rail1-b",
		},
		{"in another namespace, where nothing reads it", policyText("storage", "default", 1, 4) + policyText("rail2",
			ns, 3, 8), "", []string{"rail0 1", "rail1 2", "rail2 3"}, ""},
		{
			"of nodes without labels", policyText("storage", ns, 1, 4), "",
			[]string{"rail0 1", "rail1 2", "rail2 3"},
			"labels are unknown",
		},
		{"without VFs", policyText("storage", ns, 1, 0), "", []string{"rail0 1", "rail1 2", "rail2 3"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := ethernet("gpu-00", 3)
			if tt.note == "labels are unknown" {
				n.Labels = nil
			}
			if tt.state != "" {
				n.State = &k8s.SriovNetworkNodeState{
					Metadata: k8s.ObjectMeta{Name: n.Name, Namespace: ns},
					Spec: &k8s.NodeStateSpec{Interfaces: []k8s.InterfaceSpec{
						{PciAddress: "0000:01:00.0", VfGroups: []k8s.VFGroup{{PolicyName: tt.state}}},
					}},
				}
			}
			p, err := Make(
				source.Cluster{
					Nodes: []source.Node{n}, Objects: manifest.Parse("in.yaml", []byte(tt.policies)).Objects,
				}, Options{OperatorNamespace: ns})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range p.Rails {
				got = append(got, r.Name+" "+strings.TrimPrefix(r.Members[0].Netdev, "ens"))
			}
			for _, x := range p.Passed {
				got = append(got, strings.TrimPrefix(x.Netdev, "ens")+": "+x.Reason)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("rails and cards that are left out differ (-want +got):\n%s", diff)
			}
			has := strings.Contains(strings.Join(p.Notes, "\n"), "override each other")
			if has != (tt.note != "") || tt.note != "" && !strings.Contains(strings.Join(p.Notes, "\n"), tt.note) {
				t.Errorf("notes %q, want %q", p.Notes, tt.note)
			}
		})
	}
}

// TestAllOwned has no usable card because policies of others select all of them.
func TestAllOwned(t *testing.T) {
	text := policyText("a", DefaultOperatorNamespace, 1, 8) + policyText("b", DefaultOperatorNamespace, 2, 8)
	p, err := Make(
		source.Cluster{
			Nodes: []source.Node{ethernet("gpu-00", 2)}, Objects: manifest.Parse("in.yaml", []byte(text)).Objects,
		}, Options{})
	if !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "policy a selects it") || len(p.Passed) != 2 {
		t.Errorf("Make = %d cards left out, %v, want 2, ErrNothing because policy a selects one", len(p.Passed), err)
	}
}

// TestAgain plans for a cluster to which a plan was applied: the second plan is the same, except
// for the objects that plans leave to the cluster.
func TestAgain(t *testing.T) {
	for _, tt := range clusterTests() {
		cluster := tt.cluster(t)
		opts := tt.opts
		opts.Omit = append(slices.Clone(opts.Omit), k8s.KindNamespace, k8s.KindOperatorConfig, k8s.KindNFD)
		first, err := Make(cluster, opts)
		if err != nil {
			t.Fatal(err)
		}
		cluster.Objects = slices.Concat(cluster.Objects, manifest.Parse("plan.yaml", first.YAML()).Objects)
		again, err := Make(labelled(cluster, first.Label), opts)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		dir := t.TempDir()
		if _, err := first.Write(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := again.Diff(dir); err != nil || len(got) > 0 {
			t.Errorf("%s: the plan made again differs in %+v, %v", tt.name, got, err)
		}
	}
}
