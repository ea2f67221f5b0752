package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// TestPatchedIsNotJudged checks that what a patch may fill in is counted and not reported, and that
// the rest of the object is.
func TestPatchedIsNotJudged(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kustomization.yaml": "resources: [net.yaml]\npatches:\n- target: {kind: SriovNetwork}\n" +
			"  patch: '[{op: add, path: /spec/resourceName, value: rail0}]'\n",
		"net.yaml": "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetwork\n" +
			"metadata: {name: rail0, namespace: sriov-network-operator}\n" +
			"spec: {resourceName: 'nvidia.com/rail0', linkState: sometimes}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := manifest.Read([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := Run(Input{Manifests: set})
	rules := map[string]bool{}
	for _, f := range r.Findings {
		rules[f.Rule] = true
	}
	if rules["resource-name"] || !rules["field-value"] {
		t.Errorf("findings %v", r.Findings)
	}
	if !slices.ContainsFunc(r.Patched, func(text string) bool {
		return strings.Contains(text, "net.yaml:4:22: SriovNetwork sriov-network-operator/rail0 (patched by ")
	}) {
		t.Errorf("patched %v", r.Patched)
	}
}

// TestNotJudged checks the count of objects that no rule looks at.
func TestNotJudged(t *testing.T) {
	set := manifest.Parse("x.yaml", []byte(`
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: {name: a}
---
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
metadata: {name: wants}
spec: {template: {containers: [{name: main, resources: {limits: {rdma/roce_gdr: 1}}}]}}
---
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
metadata: {name: wants-nothing}
spec: {template: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
`))
	want := []KindCount{{"LLMInferenceService", 1}, {"UserDefinedNetwork", 1}}
	if r := Run(Input{Manifests: set}); !slices.Equal(r.NotJudged, want) {
		t.Errorf("not judged %v", r.NotJudged)
	}
}

// TestNodesInManifests checks that a node among the manifests is not the cluster.
func TestNodesInManifests(t *testing.T) {
	set := manifest.Parse("x.yaml", []byte("apiVersion: v1\nkind: Node\nmetadata: {name: gpu-00}\n"))
	if r := Run(Input{Manifests: set}); len(r.Nodes) > 0 {
		t.Errorf("nodes %v", r.Nodes)
	}
}

// TestMergeKinds checks that alternatives, which have the same objects, don't count them twice.
func TestMergeKinds(t *testing.T) {
	a := Report{NotJudged: []KindCount{{"A", 2}, {"B", 1}}}
	b := Report{NotJudged: []KindCount{{"A", 3}, {"C", 1}}}
	want := []KindCount{{"A", 3}, {"B", 1}, {"C", 1}}
	if got := Merge(a, b).NotJudged; !slices.Equal(got, want) {
		t.Errorf("not judged %v, want %v", got, want)
	}
}

// TestTogether checks which objects are known to be for one cluster: those that were named are,
// with everything.
func TestTogether(t *testing.T) {
	named, a, b := &manifest.Object{}, &manifest.Object{Unit: "a"}, &manifest.Object{Unit: "b"}
	p := &pass{model: &model{checked: map[*manifest.Object]bool{named: true, a: true, b: true}}}
	for _, tt := range []struct {
		x, y *manifest.Object
		want bool
	}{{a, b, false}, {a, a, true}, {named, a, true}, {a, named, true}, {a, &manifest.Object{Unit: "cluster"}, true}} {
		if got := p.together(tt.x, tt.y); got != tt.want {
			t.Errorf("%q and %q together: %t", tt.x.Unit, tt.y.Unit, got)
		}
	}
}

// TestCapacityOfContainers checks that the requests of a pod's containers are added up.
func TestCapacityOfContainers(t *testing.T) {
	in := load(t, "pod-capacity", "right.yaml")
	data, err := os.ReadFile("testdata/pod-capacity/right.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for gpus, want := range map[string]int{"0": 0, "1": 1} { // beside the 8 of the first, which is all
		text := string(data) + "  - name: second\n    image: registry.example/second\n    resources: {requests: " +
			"{nvidia.com/gpu: " + gpus + "}, limits: {nvidia.com/gpu: " + gpus + "}}\n"
		in.Manifests = manifest.Parse("x.yaml", []byte(text))
		if got := findingsOf(Run(in), "pod-capacity"); len(got) != want {
			t.Errorf("%s more GPUs: %d findings, want %d", gpus, len(got), want)
		}
	}
}
