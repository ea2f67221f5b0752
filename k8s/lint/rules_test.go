package lint

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// load reads a file of testdata, and its nodes from the same folder if there are any.
func load(t testing.TB, dir, name string) Input {
	t.Helper()
	set, err := manifest.Read([]string{filepath.Join("testdata", dir, name)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Manifests: set}
	nodes := filepath.Join("testdata", dir, "nodes.yaml")
	if _, err := os.Stat(nodes); err == nil {
		if in.Cluster, err = (source.Files{Names: []string{nodes}}).Cluster(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

// findingsOf returns the findings of a rule or group.
func findingsOf(r Report, id string) []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return !f.in([]string{id}) })
}

// loadWrong reads the wrong manifest of a rule. For a rule of a group that is the right manifest of
// the group with the rule's example of a mistake in it.
func loadWrong(t testing.TB, r Rule) Input {
	t.Helper()
	if r.Group == "" {
		return load(t, r.ID, "wrong.yaml")
	}
	data, err := os.ReadFile(filepath.Join("testdata", r.Group, "right.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	in := load(t, r.Group, "right.yaml")
	wrong := filepath.Join(t.TempDir(), "wrong.yaml") // the regions of findings are compared with it
	if err := os.WriteFile(wrong, bytes.ReplaceAll(data, []byte(r.Right), []byte(r.Wrong)), 0o600); err != nil {
		t.Fatal(err)
	}
	if in.Manifests, err = manifest.Read([]string{wrong}, nil); err != nil {
		t.Fatal(err)
	}
	return in
}

// TestChecks checks that each check is that of a rule or group, and that each rule has one.
func TestChecks(t *testing.T) {
	known, grouped := IDs(), map[string]bool{}
	for id := range checks() {
		if !slices.Contains(known, id) {
			t.Errorf("the check %s has no rule or group", id)
		}
	}
	for _, r := range Rules() {
		if r.check == nil && !grouped[r.Group] {
			t.Errorf("rule %s has no check", r.ID)
		}
		grouped[r.Group] = r.Group != "" && (grouped[r.Group] || r.check != nil)
	}
	if _, err := readRules([]byte("a: b\n---\n- {id: x, remdy: y}\n")); err == nil {
		t.Error("a misspelt field is accepted, want an error")
	}
}

// TestRules checks every rule: its fields, a wrong manifest that it reports, a right manifest
// without errors of any rule, and a near miss that it doesn't report.
func TestRules(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z]+[a-z0-9]*(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, r := range Rules() {
		t.Run(r.ID, func(t *testing.T) {
			if !kebab.MatchString(r.ID) || seen[r.ID] {
				t.Errorf("ID %q is not kebab-case, or used twice", r.ID)
			}
			seen[r.ID], seen[r.Group] = true, true
			for name, v := range map[string]string{
				"title": r.Title, "explanation": r.Explanation, "remedy": r.Remedy, "wrong": r.Wrong, "right": r.Right,
				"sources": strings.Join(r.Sources, ""),
			} {
				if v == "" {
					t.Errorf("no %s", name)
				}
			}
			dir := cmp.Or(r.Group, r.ID)
			wrong := findingsOf(Run(loadWrong(t, r)), r.ID)
			if len(wrong) == 0 {
				t.Error("silent on wrong.yaml")
			}
			for _, f := range wrong {
				if f.Summary == "" || f.Remedy == "" || f.Line == 0 || f.File == "" {
					t.Errorf("finding %+v without a summary, a remedy or a place", f)
				}
				t.Logf("%s %s %s=%s: %s; %s; %s; %v", f.Severity, f.Place(), f.Path, f.Value, f.Summary, f.Remedy,
					f.Fix, f.Evidence)
			}
			for _, f := range Run(load(t, dir, "right.yaml")).Findings {
				if f.Rule == r.ID || f.Severity == SeverityError {
					t.Errorf("finding in right.yaml at %s: %s: %s", f.Place(), f.Rule, f.Summary)
				}
			}
			for _, f := range findingsOf(Run(load(t, dir, "near-miss.yaml")), r.ID) {
				t.Errorf("finding in near-miss.yaml at %s: %s", f.Place(), f.Summary)
			}
			if r.Group == "" {
				contains(t, dir, "wrong.yaml", r.Wrong)
			}
			contains(t, dir, "right.yaml", r.Right)
			if r.Nodes {
				if _, err := os.Stat(filepath.Join("testdata", dir, "nodes.yaml")); err != nil {
					t.Error("the rule needs nodes and testdata has none")
				}
			}
		})
	}
	dirs, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if d.IsDir() && !seen[d.Name()] && d.Name() != "fuzz" && d.Name() != "reports" && d.Name() != "users" &&
			d.Name() != "seeded" && d.Name() != "mistakes" {
			t.Errorf("testdata/%s belongs to no rule", d.Name())
		}
	}
}

// contains reports whether the tested manifest contains an example of the documentation.
func contains(t *testing.T, id, file, example string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", id, file))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), example) {
		t.Errorf("%s does not have the example %q", file, example)
	}
}

// TestKinds checks that a rule reports only objects of its kinds.
func TestKinds(t *testing.T) {
	for _, r := range Rules() {
		in := loadWrong(t, r)
		for _, f := range findingsOf(Run(in), r.ID) {
			kind, _, _ := strings.Cut(f.Object, " ")
			workload := slices.Contains(r.Kinds, k8s.KindPod) && !slices.Contains(k8s.SchemaKinds(), kind)
			if len(r.Kinds) > 0 && !slices.Contains(r.Kinds, kind) && !workload {
				t.Errorf("%s reports a %s and claims %v", r.ID, kind, r.Kinds)
			}
			if rank(f.Severity) < rank(r.Severity) {
				t.Errorf("%s reports a finding of severity %s, worse than its %s", r.ID, f.Severity, r.Severity)
			}
		}
	}
}

func rank(s Severity) int {
	return slices.Index([]Severity{SeverityError, SeverityWarn, SeverityNote}, s)
}
