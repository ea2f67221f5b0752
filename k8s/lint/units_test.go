package lint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// TestDuplicatesWithinUnits compares objects only within what is applied as one: a folder, the
// files that were named, or a kustomization.
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
		{"the same in another folder", []string{dir}, 1},
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
