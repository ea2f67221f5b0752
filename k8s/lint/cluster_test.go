package lint

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

const railPod = `apiVersion: v1
kind: Pod
metadata:
  name: NAME
  namespace: ai
  annotations: {k8s.v1.cni.cncf.io/networks: '[{"name": "rail0", "ips": ["192.168.0.7/24"]}]'}
spec: {containers: [{name: a, image: b}]}
`

// TestAddressOfRunningPod checks a manifest with the address of a pod that runs in the cluster: the
// manifest is the one to repair.
func TestAddressOfRunningPod(t *testing.T) {
	mine := manifest.Parse("mine.yaml", []byte(strings.Replace(railPod, "NAME", "mine", 1)))
	in := Input{Manifests: mine, Options: Options{Only: []string{"pod-address"}}}
	in.Cluster.Objects = manifest.Parse("c.yaml", []byte(strings.Replace(railPod, "NAME", "its", 1))).Objects
	got := Run(in).Findings
	if len(got) != 1 || !strings.Contains(got[0].Summary, "its requests the same") || got[0].File != "mine.yaml" {
		t.Errorf("findings %+v, want one in mine.yaml", got)
	}
}

// TestResolveNamespace: multus looks in the pod's namespace, so a network there precedes one whose
// manifest has no namespace.
func TestResolveNamespace(t *testing.T) {
	anywhere := attachable{namespace: "", resource: "anywhere"}
	here := attachable{namespace: "ai", resource: "here"}
	m := &model{byName: map[string][]attachable{"rail0": {anywhere, {namespace: "web"}, here}}}
	p := &pod{Object: &manifest.Object{Namespace: "ai"}}
	if got, ok := m.resolve(p, attachment{Name: "rail0"}); !ok || got.resource != "here" {
		t.Errorf("rail0 of namespace ai resolves to %q, want the network of the namespace", got.resource)
	}
	p.Namespace = "db"
	if got, ok := m.resolve(p, attachment{Name: "rail0"}); !ok || got.resource != "anywhere" {
		t.Errorf("rail0 of namespace db resolves to %q, want the network without namespace", got.resource)
	}
}

// TestExcludedPositions counts each excluded position of a node's subnet once.
func TestExcludedPositions(t *testing.T) {
	gateway := 2
	pool := &nvPool{poolType: "cidrpool", positions: []k8s.IndexRange{
		{StartIndex: 5, EndIndex: 9},
		{StartIndex: 0, EndIndex: 3},
		{StartIndex: 8, EndIndex: 10},
		{StartIndex: 4, EndIndex: 2},
	}}
	pool.cidr.GatewayIndex = &gateway
	if got := pool.excluded(); got != 10 { // 0 to 3 with the gateway, 5 to 10
		t.Errorf("%d positions are excluded, want 10", got)
	}
	gateway = 20
	if got := pool.excluded(); got != 11 {
		t.Errorf("%d positions are excluded with a gateway apart, want 11", got)
	}
}

// TestReadRules reads rules with mistakes.
func TestReadRules(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"unknown source": {"a: b\n---\n- {id: x, sources: [hostlocal]}\n", `rule x: no source has the key "hostlocal"`},
		"kinds of a later rule": {
			"a: b\n---\n- {id: x, group: g, kinds: [Pod]}\n- {id: y, group: g, kinds: [Node]}\n",
			"rule y: kinds, nodes and sources belong to the first rule of group g",
		},
	} {
		if _, err := readRules([]byte(tt.text)); err == nil || err.Error() != tt.want {
			t.Errorf("%s: error %v, want %s", name, err, tt.want)
		}
	}
}

// TestUnattachedWithOtherNetwork: a network without a resource doesn't hide that none of a
// requested resource is attached.
func TestUnattachedWithOtherNetwork(t *testing.T) {
	const web = `
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: web, namespace: ml}
spec: {config: '{"cniVersion": "0.3.1", "type": "macvlan", "master": "eth0"}'}
`
	text := fill(someNetwork, "IPAM", `{"type": "whereabouts", "range": "192.168.0.0/24"}`) +
		strings.ReplaceAll(fill(someNetwork, "IPAM", "{}"), "rail0", "rail1") +
		fill(somePod, "NETWORKS", "rail1, web", "POD", "") + web
	if got := check(t, "pod-resource-unattached", text, ""); len(got) != 1 {
		t.Errorf("%d findings, want one: no network of rail0 is attached", len(got))
	}
}

// TestUnknownNetworkTwice reports a network once that a pod attaches twice.
func TestUnknownNetworkTwice(t *testing.T) {
	text := fill(someNetwork, "IPAM", "{}") + fill(somePod, "NETWORKS", "gpu-a, gpu-b, gpu-a", "POD", "")
	if got := check(t, "pod-network-missing", text, ""); len(got) != 2 {
		t.Errorf("%d findings, want one of gpu-a and one of gpu-b", len(got))
	}
}
