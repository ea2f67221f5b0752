package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	somePolicy = "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata:\n  name: NAME\n" +
		"  namespace: base\nspec: {}\n"
	somePod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: NAME\n"
)

func named(manifest, name string) string { return strings.ReplaceAll(manifest, "NAME", name) }

// folder writes files into a new folder and changes to it.
func folder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// held formats sets as lists of "FILE: OBJECT".
func held(sets []*Set) [][]string {
	var out [][]string
	for _, set := range sets {
		var objects []string
		for _, o := range set.Objects {
			objects = append(objects, o.File+": "+o.String())
		}
		out = append(out, objects)
	}
	return out
}

func TestReadFolders(t *testing.T) {
	overlay := func(more string) string {
		return "namespace: over\nnamePrefix: x-\nnameSuffix: -y\nresources: [../base]\n" + more
	}
	base := map[string]string{
		"base/kustomization.yaml": "resources:\n- policy.yaml\n- other.yaml\n",
		"base/policy.yaml":        named(somePolicy, "a"),
		"base/other.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n---\n" + named(somePod,
			"p") + "---\napiVersion: v1\nkind: Node\nmetadata: {name: gpu}\n",
	}
	with := func(more map[string]string) map[string]string {
		files := maps.Clone(base)
		maps.Copy(files, more)
		return files
	}
	inBase := []string{
		"base/policy.yaml: SriovNetworkNodePolicy base/a", "base/other.yaml: Namespace n", "base/other.yaml: Pod p",
		"base/other.yaml: Node gpu",
	}
	inOverlay := []string{
		"base/policy.yaml: SriovNetworkNodePolicy over/x-a-y", "base/other.yaml: Namespace over",
		"base/other.yaml: Pod over/x-p-y", "base/other.yaml: Node x-gpu-y",
	}
	for _, tt := range []struct {
		name    string
		files   map[string]string
		args    string
		exclude []string
		want    [][]string
		note    string
		err     string
	}{
		{name: "base", files: base, args: "base", want: [][]string{inBase}},
		{name: "a link", files: base, args: "link", want: [][]string{{
			"link/policy.yaml: SriovNetworkNodePolicy base/a",
			"link/other.yaml: Namespace n", "link/other.yaml: Pod p",
			"link/other.yaml: Node gpu",
		}}},
		{
			name: "an overlay reads its base and no patch", args: "dev", want: [][]string{inOverlay},
			note: "dev/kustomization.yaml: patches, configMapGenerator not applied",
			files: with(map[string]string{
				"dev/kustomization.yaml": overlay(
					"patches:\n- path: p.yaml\nconfigMapGenerator:\n- name: c\n  files: [k=deep/c.yaml]\n"),
				"dev/p.yaml": named(somePolicy, "a"), "dev/deep/c.yaml": "kind: C\n",
			}),
		},
		{
			name: "the parent: overlays one by one", args: ".", want: [][]string{inOverlay, inOverlay},
			files: with(map[string]string{"dev/kustomization.yml": overlay(""), "prod/Kustomization": overlay("")}),
		},
		{
			name: "overlays with names of their own", args: ".",
			want: [][]string{{"b/a.yaml: Pod x-a"}, {"b/a.yaml: Pod y-a"}},
			files: map[string]string{
				"b/kustomization.yaml": "resources: [a.yaml]", "b/a.yaml": named(somePod, "a"),
				"x/kustomization.yaml": "resources: [../b]\nnamePrefix: x-",
				"y/kustomization.yaml": "resources: [../b]\nnamePrefix: y-",
			},
		},
		{name: "both by name", args: "base dev", want: [][]string{inOverlay}, files: with(map[string]string{
			"dev/kustomization.yaml": overlay(""),
		})},
		{
			name: "objects that belong together are in one set", args: ".",
			files: map[string]string{
				"a/kustomization.yaml": "resources: [a.yaml]", "a/a.yaml": named(somePod, "a"),
				"b/kustomization.yaml": "resources: [b.yaml]", "b/b.yaml": named(somePod, "b"),
				"c/kustomization.yaml": "resources: [c.yaml]", "c/c.yaml": named(somePod, "a"),
				"plain.yaml": named(somePod, "p"),
			},
			want: [][]string{
				{"a/a.yaml: Pod a", "b/b.yaml: Pod b", "plain.yaml: Pod p"},
				{"b/b.yaml: Pod b", "c/c.yaml: Pod a", "plain.yaml: Pod p"},
			},
		},
		{
			name: "a file that is not named", args: ".",
			note: "skipped, because kustomization.yaml doesn't name them: b.yaml",
			files: map[string]string{
				"kustomization.yaml": "resources: [a.yaml]", "a.yaml": named(somePod, "a"),
				"b.yaml": named(somePod, "b"), "sub/c.yaml": named(somePod, "c"),
			},
			want: [][]string{{"a.yaml: Pod a", "sub/c.yaml: Pod c"}},
		},
		{
			name: "from afar", args: ".", note: "kustomization.yaml:2:3: https://example.org/a?ref=v1 is not fetched",
			files: map[string]string{"kustomization.yaml": "resources:\n- https://example.org/a?ref=v1\n"},
			want:  [][]string{nil},
		},
		{
			name: "absent resource", args: ".", files: map[string]string{"kustomization.yaml": "resources: [a.yaml]\n"},
			want: [][]string{nil}, err: "kustomization.yaml:1:13: stat a.yaml: no such file",
		},
		{
			name: "a folder that is none", args: ".",
			files: map[string]string{"kustomization.yaml": "resources: [a]\n", "a/b.txt": ""}, want: [][]string{nil},
			err: "no kustomization.yaml in it",
		},
		{name: "itself", args: "a", files: map[string]string{
			"a/kustomization.yaml": "resources: [../b]", "b/kustomization.yaml": "resources: [../a]",
		}, want: [][]string{nil}, err: "names itself"},
		{
			name: "chart", args: ".",
			err: "read chart: a Helm chart, whose templates must be rendered first: " +
				"helm template chart | rdmactl k8s lint -",
			files: map[string]string{
				"chart/Chart.yaml": "name: c", "chart/values.yaml": "a: 1", "chart/templates/a.yaml": "a: {{ .b }}",
				"chart/templates/b.yaml": "{{ x }}", "p.yaml": named(somePod, "p"),
			},
			want: [][]string{{"p.yaml: Pod p"}},
		},
		{
			name: "templates of a chart", args: "chart/templates", err: "read chart/templates: a Helm chart, whose " +
				"templates must be rendered first: helm template chart | rdmactl k8s lint -",
			files: map[string]string{"chart/Chart.yaml": "name: c", "chart/templates/a.yaml": "a: {{ .b }}"},
			want:  [][]string{nil},
		},
		{
			name: "chart without templates", args: ".",
			files: map[string]string{"Chart.yaml": "name: c", "templates/a.yaml": named(somePod, "p")},
			want:  [][]string{{"templates/a.yaml: Pod p"}},
		},
		{
			name: "excluded", args: "k", exclude: []string{"values*.yaml", "./b/c.yaml", "vendor/"},
			files: map[string]string{
				"k/a.yaml": named(somePod, "a"), "k/values-1.yaml": "{", "k/b/c.yaml": "{",
				"k/c.yaml": named(somePod, "c"), "k/d/vendor/e.yaml": "{",
			},
			want: [][]string{{"k/a.yaml: Pod a", "k/c.yaml: Pod c"}},
		},
		{
			name: "a file by name", args: "k/a.yaml", exclude: []string{"a.yaml"},
			files: map[string]string{"k/a.yaml": named(somePod, "a")}, want: [][]string{{"k/a.yaml: Pod a"}},
		},
		{
			name: "empty", args: "k", files: map[string]string{"k/a.txt": ""}, want: [][]string{nil},
			err: "read k: no manifests in this folder",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder(t, tt.files)
			if strings.Contains(tt.args, "link") {
				if err := os.Symlink("base", "link"); err != nil {
					t.Fatal(err)
				}
			}
			sets, err := Reader{Exclude: tt.exclude}.Read(strings.Fields(tt.args))
			if diff := cmp.Diff(tt.want, held(sets)); diff != "" {
				t.Errorf("Read(%s) differs (-want +got):\n%s", tt.args, diff)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) ||
				strings.Contains(err.Error(), "\n")) {
				t.Errorf("Read(%s) = %v, want error %q", tt.args, err, tt.err)
			}
			if notes := strings.Join(sets[0].Notes, "\n"); (notes == "") != (tt.note == "") ||
				!strings.Contains(notes, tt.note) {
				t.Errorf("Read(%s) has notes %q, want %q", tt.args, notes, tt.note)
			}
			for _, set := range sets {
				if len(set.Problems) > 0 {
					t.Errorf("Read(%s) has problems %+v, want none", tt.args, set.Problems)
				}
			}
		})
	}
}

// TestReadPlaces checks that a value set by a kustomization has its position there.
func TestReadPlaces(t *testing.T) {
	folder(t, map[string]string{
		"kustomization.yaml": "resources: [a.yaml]\nnamespace: over\n", "a.yaml": named(somePolicy, "a"),
	})
	set, err := Read([]string{"."}, nil)
	if err != nil || len(set.Objects) != 1 {
		t.Fatalf("Read = %d objects, %v, want one", len(set.Objects), err)
	}
	if got := set.Objects[0].At("metadata", "namespace").String(); got != "kustomization.yaml:2:12" {
		t.Errorf("the namespace is from %s, want kustomization.yaml:2:12", got)
	}
	if diff := cmp.Diff([]string{"kustomization.yaml", "a.yaml"}, set.Files); diff != "" {
		t.Errorf("files differ (-want +got):\n%s", diff)
	}
}

// TestReadOne checks the note about files that only other sets contain.
func TestReadOne(t *testing.T) {
	folder(t, map[string]string{
		"a/kustomization.yaml": "resources: [a.yaml]", "a/a.yaml": named(somePod, "a"),
		"b/kustomization.yaml": "resources: [b.yaml]", "b/b.yaml": named(somePod, "a"),
	})
	set, err := Read([]string{"."}, nil)
	if err != nil || len(set.Objects) != 1 || !slices.Equal(set.Notes,
		[]string{"skipped, because they have the same objects as another kustomization: " +
			"b/kustomization.yaml, b/b.yaml"}) {
		t.Errorf("Read = %d objects, notes %q, %v; want one, and a note about b", len(set.Objects), set.Notes, err)
	}
}

func TestReadErrors(t *testing.T) {
	folder(t, map[string]string{"chart/Chart.yaml": "", "chart/templates/_x.tpl": "{{ }}", "empty/x.txt": ""})
	for arg, want := range map[string]error{
		"chart": ErrChart, "empty": ErrEmpty, "absent": fs.ErrNotExist, "-": fs.ErrNotExist,
	} {
		if _, err := Read([]string{arg}, nil); !errors.Is(err, want) {
			t.Errorf("Read(%s) = %v, want %v", arg, err, want)
		}
	}
	if _, err := (Reader{Exclude: []string{"[a"}}).Read([]string{"chart"}); !errors.Is(err, path.ErrBadPattern) {
		t.Errorf("Read with a bad pattern = %v, want %v", err, path.ErrBadPattern)
	}
}

// TestReadMany checks the limit for overlays of overlays.
func TestReadMany(t *testing.T) {
	files := map[string]string{"0/kustomization.yaml": "resources: [a.yaml]", "0/a.yaml": named(somePod, "a")}
	for i := 1; i < 20; i++ {
		files[fmt.Sprintf("%d/kustomization.yaml", i)] = fmt.Sprintf("resources: [../%d, ../%d]", i-1, i-1)
	}
	folder(t, files)
	if _, err := Read([]string{"19"}, nil); err == nil ||
		!strings.Contains(err.Error(), "kustomizations name more than 10000 files") {
		t.Errorf("Read = %v, want an error about too many files", err)
	}
}
