package checks_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/doctor/nodes"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// numberCase shows one number of the catalogue on three nodes that differ only in what the check
// says it reads: one is well, one has the fault, and of one it can't be known.
type numberCase struct {
	number int
	id     string // of the check
	tree   string
	base   change // of all three nodes, may be nil
	// pass, find and unknown change only files that match Check.Reads, or the facts of Check.Facts
	// and Check.Uses.
	pass, find, unknown change
	want                doctor.Outcome // of find
	object              string         // of find
	// without is the outcome of unknown: OutcomeUnknown, OutcomePrivilege or OutcomeNotApplicable.
	without doctor.Outcome
}

// numberCases returns the cases of all numbers.
func numberCases() []numberCase {
	return slices.Concat(inventoryCases(), driverCases(), linkCases(), transportCases(), qosCases(), pauseCases(),
		globalPauseCases(), addressingCases(), hostCases(), pcieCases())
}

func TestNumbers(t *testing.T) {
	for _, c := range numberCases() {
		t.Run(fmt.Sprintf("%02d %s", c.number, c.id), func(t *testing.T) {
			if !slices.Contains(check(t, c.id).Numbers, c.number) {
				t.Fatalf("check %s does not claim number %d", c.id, c.number)
			}
			pass, find, unknown := load(t, c.tree, c.base, c.pass), load(t, c.tree, c.base, c.find),
				load(t, c.tree, c.base, c.unknown)
			differOnlyInSource(t, check(t, c.id), pass, find)
			differOnlyInSource(t, check(t, c.id), pass, unknown)
			if r := diagnose(t, pass, c.id); r.Verdict != doctor.OutcomePass {
				t.Errorf("pass: verdict %s: %v", r.Verdict, summaries(r))
			}
			r := diagnose(t, find, c.id)
			if !slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
				return f.Outcome == c.want && f.Object == c.object && len(f.Evidence) > 0 &&
					(c.want == doctor.OutcomeInfo || len(f.Remedy) > 0)
			}) {
				t.Errorf("find: want %s of %s with evidence and remedy, got %v", c.want, c.object, summaries(r))
			}
			r = diagnose(t, unknown, c.id)
			if !slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool { return f.Outcome == c.without }) ||
				r.Verdict == doctor.OutcomePass && c.without != doctor.OutcomePrivilege {
				t.Errorf("unknown: want %s and no pass, got %v", c.without, summaries(r))
			}
		})
	}
}

// TestEveryNumberHasACase compares the claims of the checks with the cases and with the catalogue.
func TestEveryNumberHasACase(t *testing.T) {
	cases := numberCases()
	covered := 0
	for _, e := range checks.Catalogue() {
		var ids []string
		for _, c := range checks.All() {
			if slices.Contains(c.Numbers, e.Number) {
				ids = append(ids, c.ID)
			}
		}
		has := slices.ContainsFunc(cases, func(c numberCase) bool { return c.number == e.Number })
		if slices.Contains(nodes.Numbers(), e.Number) { // shown in the tests of that package
			ids, has = append(ids, "of the comparison of nodes"), true
		}
		switch {
		case len(ids) > 0 && e.Uncovered != "":
			t.Errorf("number %d is covered by %v and has a reason why it is not: %s", e.Number, ids, e.Uncovered)
		case len(ids) > 0 && !has:
			t.Errorf("number %d is claimed by %v, but no case shows it", e.Number, ids)
		case len(ids) == 0 && e.Uncovered == "":
			t.Errorf("number %d has neither a check nor a reason", e.Number)
		case len(ids) > 0:
			covered++
		}
	}
	t.Logf("%d of %d numbers of the catalogue are covered", covered, len(checks.Catalogue()))
	if covered < leastCovered {
		t.Errorf("%d numbers are covered, want at least %d", covered, leastCovered)
	}
}

// leastCovered is how many numbers of the catalogue are covered; it only grows.
const leastCovered = 88

// asksKernel are the checks of what the scanner asks the kernel, which live.json holds.
var asksKernel = []string{"netns-mode"}

// differOnlyInSource fails if two trees differ in more than what the check reads.
func differOnlyInSource(t *testing.T, c doctor.Check, a, b *nodetree.Tree) {
	t.Helper()
	read := slices.Concat(readBy(c, a), readBy(c, b))
	for _, name := range differences(t, a, b) {
		switch {
		case name == "/facts.json":
			factsDiffer(t, c, a, b)
			continue
		case name == "/live.json" && slices.Contains(asksKernel, c.ID):
			continue
		}
		if !slices.Contains(read, name) {
			t.Errorf("the nodes differ in %s, which check %s does not read", name, c.ID)
		}
	}
}

// readBy returns the files that match the patterns of a check, by their names and without links.
func readBy(c doctor.Check, tree *nodetree.Tree) []string {
	var names []string
	files := facts.NewFiles(tree.FS())
	for _, pattern := range c.Reads {
		for _, name := range files.Glob(strings.TrimPrefix(pattern, "/")) {
			names = append(names, "/"+name)
			if dir, ok := files.Resolve(path.Dir(name)); ok {
				names = append(names, "/"+path.Join(dir, path.Base(name))) // of a link: the link
			}
			if target, ok := files.Resolve(name); ok {
				names = append(names, "/"+target)
			}
		}
	}
	return names
}

// differences returns the absolute names of files that differ.
func differences(t *testing.T, a, b *nodetree.Tree) []string {
	t.Helper()
	contents := func(tree *nodetree.Tree) map[string]string {
		files := map[string]string{}
		err := fs.WalkDir(tree.FS(), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() { // an unreadable folder is compared by its parent's entries
				data, readErr := fs.ReadFile(tree.FS(), name)
				files["/"+name] = fmt.Sprint(string(data), readErr)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	x, y := contents(a), contents(b)
	var names []string
	for name := range x {
		if v, ok := y[name]; !ok || v != x[name] {
			names = append(names, name)
		}
	}
	for name := range y {
		if _, ok := x[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// factsDiffer fails if the recorded facts differ in kinds that the check doesn't use.
func factsDiffer(t *testing.T, c doctor.Check, a, b *nodetree.Tree) {
	t.Helper()
	x, y := reflect.ValueOf(*factsOf(t, a)), reflect.ValueOf(*factsOf(t, b))
	for i := range x.NumField() {
		field := x.Type().Field(i)
		if field.Name == "Files" || reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			continue
		}
		used := slices.ContainsFunc(slices.Concat(c.Facts, c.Uses), func(k facts.Kind) bool {
			return strings.EqualFold(strings.ReplaceAll(string(k), "-", ""), field.Name)
		})
		if !used {
			t.Errorf("the nodes differ in %s, which check %s does not use", field.Name, c.ID)
		}
	}
}

// recorded sets facts.json to facts.
func recorded(f facts.Facts) change {
	return func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := tree.Set("facts.json", string(data)); err != nil {
			t.Fatal(err)
		}
	}
}

// known returns a datum with a value.
func known[T any](v T) *facts.Datum[T] { return &facts.Datum[T]{Value: v} }

// failed returns a datum that could not be read.
func failed[T any]() *facts.Datum[T] { return &facts.Datum[T]{Error: "connection refused"} }

func outcomesOf(r doctor.Report) []doctor.Outcome {
	var out []doctor.Outcome
	for _, f := range r.Findings {
		out = append(out, f.Outcome)
	}
	return out
}

func summaries(r doctor.Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%s %s: %s", f.Outcome, f.Object, f.Summary))
	}
	return out
}
