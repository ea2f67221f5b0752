package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestGenerate checks all mutants of a file: each line of it has those that its comment lists.
func TestGenerate(t *testing.T) {
	const src = `package p
import "fmt"
const limit = 0x10 // 17
func (q *T) f(b []byte) (bool, error) {
	if len(b) < 4 || q.closed { // !( <= 5 &&
		return false, fmt.Errorf("%d: %d", 1+2, 3) // true
	}
	for q.n != 0 { // == 1
		q.n-- // deleted
		n := q.n + 2 // - 3
		n++
	}
	switch {
	case q.n >= 9: // > 10
		q.g() // deleted
	}
	select {
	case <-q.done:
		q.done = nil // deleted
	}
	defer q.mu.Unlock()
	fmt.Println(1)
	return true, nil // false
}
func (q *T) String() string { return q.name + "1" }
func make1() { x := make([]int, 0, 5) }
`
	list, err := generate("p.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	got := map[int][]string{}
	for _, m := range list {
		if bytes.Equal(m.source, []byte(src)) || m.before == m.after {
			t.Errorf("%v changes nothing", &m)
		}
		got[m.line] = append(got[m.line], m.after)
	}
	want := map[int][]string{
		3: {`const limit = 17 // 17`},
		5: {
			`if !(len(b) < 4 || q.closed) { // !( <= 5 &&`, `if len(b) < 4 && q.closed { // !( <= 5 &&`,
			`if len(b) <= 4 || q.closed { // !( <= 5 &&`, `if len(b) < 5 || q.closed { // !( <= 5 &&`,
		},
		6:  {`return true, fmt.Errorf("%d: %d", 1+2, 3) // true`},
		8:  {`for q.n == 0 { // == 1`, `for q.n != 1 { // == 1`},
		9:  {`// deleted`},
		10: {`n := q.n - 2 // - 3`, `n := q.n + 3 // - 3`},
		14: {`case q.n > 9: // > 10`, `case q.n >= 10: // > 10`},
		15: {`// deleted`},
		19: {`// deleted`},
		23: {`return false, nil // false`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mutants by line (-want +got):\n%s", diff)
	}
	if got := list[1].function; got != "T.f" {
		t.Errorf("function = %q, want T.f", got)
	}
}

// TestSample checks that a sample has the size, the spread and the order that are promised.
func TestSample(t *testing.T) {
	var all []mutant
	for file, lines := range map[string]int{"a.go": 60, "b.go": 30, "c.go": 10} {
		for line := range lines {
			for op := range 3 {
				all = append(all, mutant{file: file, line: line + 1, operator: fmt.Sprint(op)})
			}
		}
	}
	slices.SortFunc(all, func(a, b mutant) int { return strings.Compare(a.file, b.file) })
	count, places := map[string]int{}, map[string]bool{}
	out := sample(all, 20, 1)
	for _, m := range out {
		count[m.file]++
		places[fmt.Sprint(m.file, m.line)] = true
	}
	if diff := cmp.Diff(map[string]int{"a.go": 12, "b.go": 6, "c.go": 2}, count); diff != "" || len(places) != 20 {
		t.Errorf("%d lines, by file (-want +got):\n%s", len(places), diff)
	}
	same := func(a, b mutant) bool { return a.place() == b.place() }
	if !slices.EqualFunc(out, sample(all, 20, 1), same) || slices.EqualFunc(out, sample(all, 20, 2), same) {
		t.Error("a seed doesn't decide what is selected")
	}
}

// small is a module with a package whose tests hold it, and one whose test can't fail.
const small = `
-- go.mod --
module example.com/m

go 1.26
-- held/p.go --
package p

func Less(a, b int) bool { return a < b }
-- held/p_test.go --
package p

import "testing"

func TestLess(t *testing.T) {
	if !Less(1, 2) || Less(2, 2) {
		t.Fail()
	}
}
-- loose/p.go --
package p

func Less(a, b int) bool { return a < b }

func Sum(a string) string { return a + "." }
-- loose/p_test.go --
package p

import "testing"

func TestLess(t *testing.T) { Less(1, 2) }
`

// TestRun checks that a run passes if the tests hold the code, and fails if they can't fail, if
// they fail without a mutant, or if a table is wrong.
func TestRun(t *testing.T) {
	const survivor = "loose/p.go:3: move a boundary: " +
		"func Less(a, b int) bool { return a < b } -> func Less(a, b int) bool { return a <= b }"
	explain := func(file string) string {
		return "-- explained.yaml --\n- {file: " + file + ", function: Less, reason: a test,\n" +
			"   before: 'func Less(a, b int) bool { return a < b }',\n" +
			"   after: 'func Less(a, b int) bool { return a <= b }'}\n"
	}
	never := "-- held/a_test.go --\npackage p\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { %s }\n"
	for _, tt := range []struct {
		name, dir, files, out, err string
	}{
		{"held", "held", "", "held     1        1       0", ""},
		{"a test that can't fail", "loose", "", "survived  " + survivor, "0.0 % of the mutants were killed"},
		{"not built", "loose", "", "loose    2        0       1         0          1", "0.0 % of the"},
		{"explained", "loose", explain("loose/p.go"), "explained " + survivor + ": a test\n", "0.0 % of the"},
		{"explained, in the table", "loose", explain("loose/p.go"), "loose    2        0       0         1 ", "0.0 %"},
		{"stale", "held", explain("held/p.go"), "killed by TestLess", "1 explanations of explained.yaml are stale"},
		{"explained code is gone", "held", explain("loose/p.go"), "", "stale or without a reason: loose/p.go Less"},
		{"failing", "held", fmt.Sprintf(never, "t.Fail()"), "", "tests of held fail without a mutant: killed TestA"},
		{
			"named", "loose", "-- named.yaml --\n- {file: loose/p.go, old: 'a < b', new: 'b > a', breaks: nothing}\n",
			"survived  loose/p.go:3: nothing: ", "0.0 % of the mutants",
		},
		{
			"named text is gone", "held", "-- named.yaml --\n- {file: held/p.go, old: a > b, breaks: nothing}\n",
			"", "nothing: the text occurs 0 times in held/p.go",
		},
		{
			"named text is there twice", "held", "-- named.yaml --\n- {file: held/p.go, old: b, breaks: nothing}\n",
			"", "nothing: the text occurs 3 times in held/p.go",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := project{root: t.TempDir(), packages: []testedPackage{{dir: tt.dir, tests: []string{tt.dir}}}}
			for _, f := range txtar.Parse([]byte(small + tt.files)).Files {
				name := filepath.Join(p.root, f.Name)
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			err := run(t.Context(), p, nil, &out)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error = %v, want %q", err, tt.err)
			}
			if !strings.Contains(out.String(), tt.out) {
				t.Errorf("output has no %q:\n%s", tt.out, &out)
			}
		})
	}
}

// TestNamed checks that the tables of this module agree with its code.
func TestNamed(t *testing.T) {
	p := module()
	p.root = filepath.Join("..", "..")
	all, err := p.candidates()
	if err != nil {
		t.Fatal(err)
	}
	named, _, err := p.readTables(all)
	if err != nil || len(named) == 0 {
		t.Errorf("%d named mutants, %v", len(named), err)
	}
}

// TestWithTests checks that the conformance suite alone is run for the mutants of each package.
func TestWithTests(t *testing.T) {
	all := module()
	p, err := all.withTests("conformance")
	if err != nil || p.pattern != "^TestConformance$" || p.slow != nil {
		t.Errorf("withTests(conformance) = %+v, %v", p, err)
	}
	for i, pkg := range p.packages {
		if !slices.Equal(pkg.tests, []string{"verbs/provider/roce"}) || pkg.dir != all.packages[i].dir {
			t.Errorf("tests of %s: %v", pkg.dir, pkg.tests)
		}
	}
	if len(all.packages[1].tests) != 2 {
		t.Errorf("withTests changed its receiver: %+v", all.packages)
	}
	if _, err := all.withTests("some"); err == nil {
		t.Error("withTests(some): no error")
	}
}
