package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// mistake is a mistake that is put into sound manifests.
type mistake struct {
	set, object, what string
	rules             []string
	old, new          []string // lines
	at                string   // the object of the finding
	missed            string   // why no finding is expected
}

// readMistakes reads the mistakes of testdata/mistakes, whose first lines describe the format.
func readMistakes(t *testing.T) []mistake {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "mistakes", "mistakes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []mistake
	for line := range strings.SplitSeq(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		rest := strings.TrimPrefix(line[1:], " ")
		if line[0] == '=' {
			parts := strings.Split(rest, " | ")
			set, object, _ := strings.Cut(parts[0], " ")
			out = append(out, mistake{
				set: set, object: object, at: object, what: parts[1], rules: strings.Fields(parts[2]),
			})
			continue
		}
		switch s := &out[len(out)-1]; line[0] {
		case '-':
			s.old = append(s.old, rest)
		case '+':
			s.new = append(s.new, rest)
		case '@':
			s.at = rest
		case '!':
			s.missed = rest
		}
	}
	return out
}

// change returns a set of manifests with the mistake in it.
func (s mistake) change(t *testing.T, text string) string {
	t.Helper()
	kind, name, _ := strings.Cut(s.object, "/")
	docs := strings.Split(text, "---\n")
	for i, doc := range docs {
		if !strings.Contains(doc, "kind: "+kind+"\n") || !strings.Contains(doc, "\n  name: "+name+"\n") {
			continue
		}
		old := strings.Join(s.old, "\n")
		if !strings.Contains(doc, old) {
			t.Fatalf("%s: %s has no %q", s.what, s.object, old)
		}
		docs[i] = strings.Replace(doc, old, strings.Join(s.new, "\n"), 1)
		return strings.Join(docs, "---\n")
	}
	t.Fatalf("%s: no %s", s.what, s.object)
	return ""
}

// found reports whether one of the expected rules warns about the expected object.
func (s mistake) found(in Input) bool {
	kind, name, _ := strings.Cut(s.at, "/")
	return slices.ContainsFunc(Run(in).Findings, func(f Finding) bool {
		object := strings.HasPrefix(f.Object, kind+" ") && strings.HasSuffix("/"+f.Object, name) || f.Object == ""
		return f.Severity != SeverityNote && f.in(s.rules) && object && f.File == s.set+".yaml" && f.Line > 0
	})
}

// TestMistakes checks that rules find mistakes in sound manifests, and that they are silent without
// one.
func TestMistakes(t *testing.T) {
	sets, nodes := map[string]string{}, map[string]source.Cluster{}
	for _, set := range []string{"eth", "ib", "nv"} {
		data, err := os.ReadFile(filepath.Join("testdata", "mistakes", set+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		sets[set] = string(data)
		file := filepath.Join("testdata", "mistakes", set+"-nodes.yaml")
		if nodes[set], err = (source.Files{Names: []string{file}}).Cluster(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, cluster := range []source.Cluster{nodes[set], {}} {
			for _, f := range Run(Input{Manifests: manifest.Parse(set, data), Cluster: cluster}).Findings {
				if f.Severity != SeverityNote {
					t.Errorf("finding in the sound %s: %s: %s", f.Place(), f.Rule, f.Summary)
				}
			}
		}
	}
	all := readMistakes(t)
	found, without, missed := 0, 0, 0
	for _, s := range all {
		text := []byte(s.change(t, sets[s.set]))
		in := Input{Manifests: manifest.Parse(s.set+".yaml", text), Cluster: nodes[s.set]}
		switch ok := s.found(in); {
		case ok && s.missed != "":
			t.Errorf("%s %s: %s: found, though it says why not: %s", s.set, s.object, s.what, s.missed)
		case ok:
			found++
		case s.missed == "":
			t.Errorf("%s %s: %s: not found by %v", s.set, s.object, s.what, s.rules)
			for _, f := range Run(in).Findings {
				t.Logf("  %s %s %s: %s", f.Severity, f.Rule, f.Object, f.Summary)
			}
		default:
			missed++
		}
		in.Cluster = source.Cluster{}
		if s.found(in) {
			without++
		} else if s.missed == "" {
			t.Logf("needs nodes: %s %s: %s", s.set, s.object, s.what)
		}
	}
	t.Logf("found %d of %d with nodes, %d without nodes; %d listed as missed", found, len(all), without, missed)
	if len(all) < 110 {
		t.Errorf("%d mistakes, want 110 or more", len(all))
	}
}
