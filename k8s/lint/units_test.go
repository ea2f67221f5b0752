package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// TestDuplicatesWithinUnits compares objects only within what is applied as one: the folder or the
// files that were named, or a kustomization. Files in folders below may be alternatives.
func TestDuplicatesWithinUnits(t *testing.T) {
	const policy = "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\n" +
		"metadata: {name: rail0, namespace: sriov-network-operator}\n"
	dir := t.TempDir()
	for _, name := range []string{"a/one.yaml", "a/two.yaml", "b/one.yaml"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(policy), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, tt := range []struct {
		what  string
		names []string
		want  int
	}{
		{"two files of one folder", []string{at("a")}, 1},
		{"files in folders below", []string{dir}, 0},
		{"one file of each", []string{at("a/one.yaml"), at("b/one.yaml")}, 1},
		{"folders that were named", []string{at("a/one.yaml"), at("b")}, 0},
	} {
		set, err := manifest.Read(tt.names, nil)
		if err != nil {
			t.Fatal(err)
		}
		found := findingsOf(Run(Input{Manifests: set}), "duplicate-object")
		if len(found) != tt.want {
			t.Errorf("%s: %d findings, want %d: %+v", tt.what, len(found), tt.want, found)
		}
	}
}

// TestFoundFiles checks files that were found in folders: those of other programs and pieces that a
// program completes are not judged, and two objects that may be alternatives only get a note. Named
// files are judged.
func TestFoundFiles(t *testing.T) {
	const network = "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetwork\n" +
		"metadata: {name: NAME, namespace: sriov-network-operator}\n" +
		"spec: {resourceName: NAME, ipam: '{\"type\": \"whereabouts\", \"range\": \"10.0.0.0/24\"}'}\n"
	named := func(name string) string { return strings.ReplaceAll(network, "NAME", name) }
	pod := func(image, networks string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {k8s.v1.cni.cncf.io/networks: " + networks +
			"}}\nspec: {containers: [{name: a, image: " + image + ", volumeMounts: [{name: x, mountPath: /x}]}]}\n"
	}
	for _, tt := range []struct {
		name        string
		files       map[string]string
		found, want string // findings if the folder is named, and if the files are
	}{
		{
			name: "of another program", files: map[string]string{"a/x.json": "{\"a\": 1, // comment\n"},
			want: "error yaml-syntax",
		},
		{
			name:  "without apiVersion",
			files: map[string]string{"a/x.yaml": "kind: bench\nmetadata: {name: a}\nspec: {}\n"},
			want:  "error object-kind",
		},
		{
			name:  "ours without apiVersion",
			files: map[string]string{"a/x.yaml": "kind: SriovNetwork\nmetadata: {name: a}\nspec: {resourceName: a}\n"},
			found: "error object-kind", want: "error object-kind",
		},
		{
			name: "without a name",
			files: map[string]string{"a/x.yaml": "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetwork\n" +
				"spec: {resourceName: a, vlan: \"\"}\n"},
			want: "error missing-field, error field-type",
		},
		{
			name:  "an image to fill in",
			files: map[string]string{"a/x.yaml": pod("FILLED BY THE OPERATOR", "rail0@eth0")},
			want:  "error pod-interface, error pod-volume",
		},
		{
			name: "an image", files: map[string]string{"a/x.yaml": pod("registry.example/x", "rail0@eth0")},
			found: "error pod-interface, error pod-volume", want: "error pod-interface, error pod-volume",
		},
		{
			name:  "one subnet in two examples",
			files: map[string]string{"a/x.yaml": named("rail0"), "b/x.yaml": named("rail1")},
			found: "note ipam-overlap", want: "warn ipam-overlap",
		},
		{
			name:  "one subnet in one file",
			files: map[string]string{"a/x.yaml": named("rail0") + "---\n" + named("rail1")},
			found: "warn ipam-overlap", want: "warn ipam-overlap",
		},
		{
			name: "a network of elsewhere",
			files: map[string]string{
				"a/x.yaml": named("rail0"),
				"b/x.yaml": strings.Replace(pod("x", "macvlan-conf"), ", volumeMounts: [{name: x, mountPath: /x}]",
					"", 1),
			},
			found: "note pod-network-missing", want: "warn pod-network-missing",
		},
	} {
		dir := t.TempDir()
		var names []string
		for name, text := range tt.files {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			names = append(names, file)
		}
		slices.Sort(names)
		run := func(names ...string) string {
			sets, err := manifest.Reader{SkipForeign: true}.Read(names)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, f := range Run(Input{Manifests: sets[0]}).Findings {
				if f.Rule != "ipam-missing" && f.Rule != "policy-namespace" && f.Rule != "network-namespace" {
					out = append(out, string(f.Severity)+" "+f.Rule)
				}
			}
			return strings.Join(out, ", ")
		}
		if got := run(dir); got != tt.found {
			t.Errorf("%s: the folder has %q, want %q", tt.name, got, tt.found)
		}
		if got := run(names...); got != tt.want {
			t.Errorf("%s: the files have %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestSecondReader has what a second reader of findings in public repositories called wrong.
func TestSecondReader(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n" +
		"spec: {containers: [{name: a, resources: {requests: {nvidia.com/gpu: }, limits: {nvidia.com/gpu: }}}]}\n"
	if got := findingsOf(Run(Input{Manifests: manifest.Parse("x.yaml", []byte(pod))}), "pod-resource"); len(got) > 0 {
		t.Errorf("a request and a limit without a quantity: %s", got[0].Summary)
	}
	const network = "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetwork\n" +
		"metadata: {name: a, namespace: net}\nspec: {resourceName: rdma-vf}\n"
	for kind, want := range map[string]int{"SriovNetwork": 0, "SriovNetworkNodePolicy": 1} {
		text := strings.Replace(network, "SriovNetwork", kind, 1)
		r := Run(Input{Manifests: manifest.Parse("x.yaml", []byte(text))})
		if got := findingsOf(r, "resource-name"); len(got) != want {
			t.Errorf("a hyphen in a %s: %d findings, want %d", kind, len(got), want)
		}
	}
}
