package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// large makes policies, each with a card of its own by name, by address and by vendor in turns, and
// nodes with eight cards.
func large(policies, nodes int) Input {
	var b strings.Builder
	for i := range policies {
		selector := fmt.Sprintf("pfNames: [ens%d#0-3]", i%8)
		switch i % 3 {
		case 1:
			selector = fmt.Sprintf(`rootDevices: ["0000:%02x:00.0"]`, i%8)
		case 2:
			selector = `vendor: "15b3"`
		}
		fmt.Fprintf(&b, `---
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: p%d, namespace: sriov-network-operator}
spec: {resourceName: r%d, nodeSelector: {kubernetes.io/hostname: n%d}, priority: %d, numVfs: 8, isRdma: true, linkType: IB, nicSelector: {%s}}
`, i, i, i%nodes, i%100, selector)
	}
	in := Input{Manifests: manifest.Parse("f", []byte(b.String()))}
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		n := source.Node{
			Name: name, CardsKnown: true, Labels: map[string]string{"kubernetes.io/hostname": name},
			SyncStatus: "Succeeded",
		}
		for j := range 8 {
			n.PFs = append(n.PFs, source.PF{
				Address: fmt.Sprintf("0000:%02x:00.0", j), Vendor: k8s.VendorMellanox, DeviceID: "1021",
				Driver: "mlx5_core", Netdev: fmt.Sprintf("ens%d", j), LinkType: source.LinkIB, TotalVFs: 8, NumVFs: 8,
				VFsKnown: true,
			})
		}
		in.Cluster.Nodes = append(in.Cluster.Nodes, n)
	}
	return in
}

// dense makes policies that all select all cards of all nodes, with a VF each.
func dense(policies, nodes int) Input {
	in := large(0, nodes)
	var b strings.Builder
	for i := range policies {
		var names []string
		for j := range 8 {
			names = append(names, fmt.Sprintf("ens%d#%d-%d", j, i, i))
		}
		fmt.Fprintf(&b, `---
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: p%d, namespace: sriov-network-operator}
spec: {resourceName: r%d, nodeSelector: {}, numVfs: %d, isRdma: true, linkType: IB, nicSelector: {pfNames: [%s]}}
`, i, i, policies, strings.Join(names, ", "))
	}
	in.Manifests = manifest.Parse("f", []byte(b.String()))
	return in
}

func manyPolicies(nodes int) map[string]Input {
	unknown := large(3000, 100)
	unknown.Cluster.Nodes = nil
	return map[string]Input{
		"3000 policies, 100 nodes": large(3000, 100), "3000 policies, no node": unknown,
		fmt.Sprintf("40 policies, %d nodes", nodes): dense(40, nodes),
	}
}

// podsAndNetworks makes networks without policies, and pods that are on one each.
func podsAndNetworks(pods, networks int) Input {
	var b strings.Builder
	for i := range networks {
		fmt.Fprintf(&b, `---
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovIBNetwork
metadata: {name: net%d, namespace: sriov-network-operator}
spec: {resourceName: r%d, networkNamespace: default, ipam: '{"type": "whereabouts", "range": "10.%d.%d.0/24"}'}
`, i, i, i/256, i%256)
	}
	for i := range pods {
		fmt.Fprintf(&b, `---
apiVersion: v1
kind: Pod
metadata: {name: p%d, namespace: default, annotations: {k8s.v1.cni.cncf.io/networks: net%d}}
spec: {containers: [{name: c, image: i, resources: {requests: {openshift.io/r%d: 1}, limits: {openshift.io/r%d: 1}}}]}
`, i, i%networks, i%networks, i%networks)
	}
	return Input{Manifests: manifest.Parse("f", []byte(b.String()))}
}

// TestManyPods checks that time doesn't grow with pods times networks: these once took seconds.
func TestManyPods(t *testing.T) {
	rules := FindRules("ipam-capacity")
	p := &pass{model: newModel(podsAndNetworks(10_000, 3000)), rule: &rules[0], findings: &[]located{}}
	start := time.Now()
	if rules[0].check(p); len(*p.findings) > 0 {
		t.Errorf("%d findings of 4 interfaces on each of 254 addresses, want none", len(*p.findings))
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("the addresses of 10,000 pods on 3000 networks took %s", took)
	}
}

func BenchmarkRun(b *testing.B) {
	for name, in := range manyPolicies(4000) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Run(in)
			}
		})
	}
}

// TestManyPolicies checks that time doesn't grow with pairs of policies: it took 60 s when all
// pairs were compared.
func TestManyPolicies(t *testing.T) {
	for name, in := range manyPolicies(500) {
		start := time.Now()
		r := Run(in)
		took := time.Since(start)
		t.Logf("%s: %d findings in %s", name, len(r.Findings), took)
		if took > 15*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
}

// TestManyMTUs checks that time doesn't grow with pods times policies of one resource.
func TestManyMTUs(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetwork\nmetadata: {name: a, namespace: ml}\n" +
		"spec: {resourceName: a}\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "---\napiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\n"+
			"metadata: {name: p%d, namespace: sriov-network-operator}\n"+
			"spec: {resourceName: a, linkType: eth, mtu: 9000, numVfs: 8, nodeSelector: {x: y}}\n"+
			"---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%[1]d, namespace: ml, annotations: "+
			"{k8s.v1.cni.cncf.io/networks: a}}\nspec: {containers: [{name: a}]}\n", i)
	}
	rules := Rules()
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == "mtu-large" })
	p := &pass{
		model: newModel(Input{Manifests: manifest.Parse("f", []byte(b.String()))}), rule: &rules[i], rules: rules,
		findings: &[]located{},
	}
	start := time.Now()
	if rules[i].check(p); len(*p.findings) > 0 {
		t.Errorf("%d findings of equal MTUs", len(*p.findings))
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("the MTUs of 5,000 policies and pods took %s", took)
	}
}
