// Package archtest enforces the project's layout: who may import whom, what a library package
// may pull in, where unsafe code and /sys paths may stand, how long files and functions get, and
// how wide lines.
//
//	tree, err := archtest.Load(ctx, root)
//	for _, rule := range archtest.Rules() {
//		for _, v := range rule.Check(tree) {
//			t.Errorf("%s: %s\n\tbecause %s", v, rule.ID, rule.Reason)
//		}
//	}
//
// It looks at every Go file of the module, whatever its build constraints, so a rule broken in a
// _darwin.go file fails on Linux too. Nested modules and testdata folders are not looked at. To
// add a rule, add one value to Rules and one archive testdata/ID.txtar that breaks it; a test
// demands both.
//
// A Tree is immutable after Load; rules are pure functions of it.
package archtest

import (
	"cmp"
	"fmt"
	"slices"
)

// A Rule is one promise about the tree.
type Rule struct {
	// ID names the rule, and its planted violation testdata/ID.txtar.
	ID string
	// Reason says why the rule exists; it is printed with each violation.
	Reason string

	check func(*Tree) []Violation
}

// A Violation is one place that breaks a rule.
type Violation struct {
	// Path of the file or package folder, relative to the module's root.
	Path string
	// Line in that file; 0 where the whole file or folder is meant.
	Line int
	// What is wrong there.
	What string
}

// String formats v the way compilers do, so that editors find the place.
func (v Violation) String() string {
	if v.Line == 0 {
		return fmt.Sprintf("%s: %s", v.Path, v.What)
	}
	return fmt.Sprintf("%s:%d: %s", v.Path, v.Line, v.What)
}

// Check returns all places in tree that break the rule, sorted, none twice.
func (r Rule) Check(tree *Tree) []Violation {
	found := r.check(tree)
	slices.SortFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.What, b.What))
	})
	return slices.Compact(found)
}

// Rules is the list of all rules.
func Rules() []Rule {
	return []Rule{
		{
			ID: "layers",
			Reason: "each part must stay usable without the ones above it (cmd → cli → features → verbs → provider ← " +
				"providers → wire, edges)",
			check: checkLayers,
		},
		{
			ID: "edges",
			Reason: "what the compiler can't check (unsafe, C calls, raw system calls) stays in a few small packages " +
				"that get reviewed for it",
			check: checkEdges,
		},
		{
			ID:     "simulators",
			Reason: "a command that silently measures a simulator would lie; only demo simulates, and says so",
			check:  checkSimulators,
		},
		{
			ID: "closure",
			Reason: "a program that imports a library package must stay small: every module that it drags " +
				"along is a cost to its users",
			check: checkClosure,
		},
		{
			ID: "kubernetes",
			Reason: "client-go multiplies the binary's size and its requirements; it lives in " +
				"the nested operator module",
			check: checkKubernetes,
		},
		{
			ID:     "syspaths",
			Reason: "whoever reads /sys directly can be neither tested on a recorded tree nor pointed at another root",
			check:  checkSysPaths,
		},
		{
			ID:     "main",
			Reason: "what stands in main can't be tested; internal/cli can",
			check:  checkMain,
		},
		{
			ID:     "file-length",
			Reason: "nobody reads a file of a thousand lines; split it by responsibility",
			check:  checkFileLength,
		},
		{
			ID:     "function-length",
			Reason: "a function that fits no screen fits no head; only a table may be long",
			check:  checkFunctionLength,
		},
		{
			ID:     "columns",
			Reason: "what stands right of the window isn't read, and reviews show two files beside each other",
			check:  checkColumns,
		},
		{
			ID:     "init",
			Reason: "registration in init makes what a program does depend on what it links; lists are explicit here",
			check:  checkInit,
		},
		{
			ID:     "globals",
			Reason: "a package variable that code assigns couples tests and goroutines; inject it instead",
			check:  checkGlobals,
		},
		{
			ID:     "package-doc",
			Reason: "the reader starts at the package doc, without the source",
			check:  checkPackageDoc,
		},
		{
			ID:     "documented",
			Reason: "a library is used by its documentation: what is exported and not explained gets guessed",
			check:  checkDocumented,
		},
		{
			ID:     "doc-links",
			Reason: "a link that leads nowhere is printed with its brackets, and nobody notices that the name is gone",
			check:  checkDocLinks,
		},
	}
}

// wrong builds a violation that is about a whole file or folder.
func wrong(path, format string, args ...any) Violation {
	return Violation{Path: path, What: fmt.Sprintf(format, args...)}
}
