package manifest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeFiles writes files below a new folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const patchedJob = `apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      containers: [{name: main, image: a}]
`

// TestPatches has kustomizations whose patches are written in each way that kustomize reads, and
// the paths that they change. The expectations are from the reference of kustomize.
func TestPatches(t *testing.T) {
	containers := []any{"spec", "template", "spec", "containers", 0, "resources"}
	replicas := []any{"spec", "parallelism"}
	for name, tt := range map[string]struct {
		kustomization   string
		files           map[string]string
		changes, leaves []any // a path that is changed, and one that is not
		nothing         bool  // the object is not changed
	}{
		"strategic merge": {
			kustomization: "patches:\n- path: p.yaml\n",
			files: map[string]string{"p.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\n" +
				"spec: {template: {spec: {containers: [{name: main, resources: {limits: {a/b: 1}}}]}}}\n"},
			changes: containers, leaves: replicas,
		},
		"strategic merge in the kustomization": {
			kustomization: "patchesStrategicMerge:\n- |-\n  kind: Job\n  metadata: {name: train}\n" +
				"  spec: {parallelism: 2}\n",
			changes: replicas, leaves: containers,
		},
		"another object": {
			kustomization: "patches:\n- patch: |-\n    kind: Job\n    metadata: {name: other}\n" +
				"    spec: {parallelism: 2}\n",
			nothing: true,
		},
		"operations": {
			kustomization: "patches:\n- target: {kind: Job, name: tr.*}\n  patch: |-\n" +
				"    - {op: add, path: /spec/template/spec/containers/0/resources, value: {}}\n",
			changes: containers, leaves: replicas,
		},
		"operations on another kind": {
			kustomization: "patches:\n- target: {kind: Deployment}\n  patch: |-\n" +
				"    - {op: add, path: /spec/parallelism, value: 2}\n",
			nothing: true,
		},
		"a slash in a key": {
			kustomization: "patchesJson6902:\n- target: {kind: Job, name: train}\n  patch: |-\n" +
				"    - {op: add, path: /metadata/annotations/a~1b, value: c}\n",
			changes: []any{"metadata", "annotations", "a/b"}, leaves: replicas,
		},
		"an image only": {
			kustomization: "patches:\n- target: {kind: Job}\n  patch: '[{op: replace, path: " +
				"/spec/template/spec/image, value: b}]'\n",
			nothing: true,
		},
		"a replacement": {
			kustomization: "replacements:\n- {source: {kind: ConfigMap}, targets: []}\n",
			changes:       replicas,
		},
		"a mapping is deleted": {
			kustomization: "patches:\n- patch: |-\n    kind: Job\n    metadata: {name: train}\n" +
				"    spec: {template: {$patch: delete}}\n",
			changes: containers, leaves: replicas,
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{
				"base/kustomization.yaml": "resources: [job.yaml]\n", "base/job.yaml": patchedJob,
				"kustomization.yaml": "resources: [base]\nnamePrefix: my-\n" + tt.kustomization,
			}
			maps.Copy(files, tt.files)
			set, err := Read([]string{writeFiles(t, files)}, nil)
			if err != nil || len(set.Objects) != 1 {
				t.Fatal(set.Objects, err)
			}
			o := set.Objects[0]
			if o.Name != "my-train" {
				t.Errorf("name %s", o.Name)
			}
			if got := o.PatchedAt() != ""; got == tt.nothing {
				t.Errorf("patched: %t", got)
			}
			if tt.changes != nil && o.PatchedAt(tt.changes...) == "" {
				t.Errorf("%v isn't changed", tt.changes)
			}
			if tt.leaves != nil && o.PatchedAt(tt.leaves...) != "" {
				t.Errorf("%v is changed", tt.leaves)
			}
		})
	}
}

// TestComponentPatches checks that the patches of a component are for the objects of the
// kustomization that names it.
func TestComponentPatches(t *testing.T) {
	set, err := Read([]string{writeFiles(t, map[string]string{
		"kustomization.yaml": "resources: [job.yaml]\ncomponents: [part]\n", "job.yaml": patchedJob,
		"part/kustomization.yaml": "kind: Component\npatches:\n- target: {kind: Job}\n" +
			"  patch: '[{op: add, path: /spec/parallelism, value: 2}]'\n",
	})}, nil)
	if err != nil || len(set.Objects) != 1 || set.Objects[0].PatchedAt("spec", "parallelism") == "" {
		t.Error(set.Objects, err)
	}
}

// TestMissingPatch checks that a patch whose file is absent is an error, and hides nothing.
func TestMissingPatch(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"kustomization.yaml": "resources: [job.yaml]\npatches:\n- path: absent.yaml\n", "job.yaml": patchedJob,
	})
	set, err := Read([]string{dir}, nil)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "patch") {
		t.Errorf("error = %v, want one about the patch", err)
	}
	if len(set.Objects) != 1 || set.Objects[0].PatchedAt() != "" {
		t.Errorf("objects = %v, want one that isn't patched", set.Objects)
	}
}
