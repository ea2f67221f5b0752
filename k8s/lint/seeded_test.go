package lint

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// seed is one mistake in a sound manifest.
type seed struct {
	What   string   `yaml:"what"`
	File   string   `yaml:"file"`
	Old    string   `yaml:"old"`
	New    string   `yaml:"new"`
	Rules  []string `yaml:"rules"`  // those that may report it, or their groups
	Nodes  bool     `yaml:"nodes"`  // it can't be known without nodes
	Missed string   `yaml:"missed"` // why no rule reports it
}

// TestSeeded puts one mistake at a time into sound manifests, and counts those that are found in
// the right file by a rule that is about them. The mistakes were written down before the rules were
// asked; docs/k8s-lint-precision.md has the figures.
func TestSeeded(t *testing.T) {
	const dir = "testdata/seeded"
	data, err := os.ReadFile(filepath.Join(dir, "seeds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var seeds []seed
	if err := yaml.Unmarshal(data, &seeds); err != nil {
		t.Fatal(err)
	}
	cluster, err := (source.Files{Names: []string{filepath.Join(dir, "nodes.yaml")}}).Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	files, err := filepath.Glob(dir + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "seeds.yaml" || name == "nodes.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for _, in := range []source.Cluster{{}, cluster} {
		for _, f := range Run(Input{Manifests: setOf(texts, "", ""), Cluster: in}).Findings {
			if f.Severity != SeverityNote {
				t.Errorf("sound manifests, %d nodes: %s: %s: %s", len(in.Nodes), f.Place(), f.Rule, f.Summary)
			}
		}
	}
	found, without := 0, 0
	for _, s := range seeds {
		before, after, ok := strings.Cut(texts[s.File], s.Old)
		if !ok || s.Old == s.New || len(s.Rules) == 0 {
			t.Errorf("%s: the text is not in %s, or the seed is incomplete", s.What, s.File)
			continue
		}
		set := func() *manifest.Set { return setOf(texts, s.File, before+s.New+after) }
		with := s.foundIn(Run(Input{Manifests: set(), Cluster: cluster}))
		alone := s.foundIn(Run(Input{Manifests: set()}))
		if with {
			found++
		}
		if alone {
			without++
		}
		if with == (s.Missed != "") {
			var got []string
			for _, f := range Run(Input{Manifests: set(), Cluster: cluster}).Findings {
				got = append(got, string(f.Severity)+" "+f.Rule+" "+f.Place())
			}
			t.Errorf("%s: found: %t, want %t; findings %q", s.What, with, s.Missed == "", got)
		}
		if s.Missed == "" && alone == s.Nodes {
			t.Errorf("%s: found without nodes: %t", s.What, alone)
		}
	}
	t.Logf("%d of %d mistakes are found with nodes, %d without", found, len(seeds), without)
	if found*100 < len(seeds)*95 {
		t.Errorf("%d of %d mistakes are found, want at least 95 %%", found, len(seeds))
	}
}

// setOf parses manifests, one of them with another text.
func setOf(texts map[string]string, name, text string) *manifest.Set {
	out := &manifest.Set{}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		if file == name {
			out.Add(manifest.Parse(file, []byte(text)))
		} else {
			out.Add(manifest.Parse(file, []byte(texts[file])))
		}
	}
	return out
}

// foundIn reports whether one of the rules reports the mistake in its file, or for mistakes that
// break a reference in the file that has the other end of it.
func (s seed) foundIn(r Report) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Severity != SeverityNote && f.in(s.Rules)
	})
}
