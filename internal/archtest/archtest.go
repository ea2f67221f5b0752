// Package archtest enforces the project's layout: which packages may import which, the dependencies
// of library packages, where unsafe code and /sys paths are allowed, and the limits of files,
// functions and lines.
//
//	tree, err := archtest.Load(ctx, root)
//	for _, rule := range archtest.Rules() {
//		for _, v := range rule.Check(tree) {
//			t.Errorf("%s: %s\n\tbecause %s", v, rule.ID, rule.Reason)
//		}
//	}
//
// It checks every Go file of the module, whatever its build constraints, so that a violation in a
// _darwin.go file fails on Linux too. Nested modules and testdata folders are not checked. To add a
// rule, add one value to Rules and one archive testdata/ID.txtar that violates it; a test requires
// both.
//
// A Tree is immutable after Load; rules are pure functions of it.
package archtest

import (
	"cmp"
	"fmt"
	"slices"
)

// A Rule is one rule about the tree.
type Rule struct {
	// ID names the rule and the violation in testdata/ID.txtar.
	ID string
	// Reason is the reason for the rule; it is printed with each violation.
	Reason string

	check func(*Tree) []Violation
}

// A Violation is one place that violates a rule.
type Violation struct {
	// Path of the file or package folder, relative to the module's root.
	Path string
	// Line in that file; 0 for the whole file or folder.
	Line int
	// What is the description of the violation.
	What string
}

// String formats v in the format of compilers, which editors can parse.
func (v Violation) String() string {
	if v.Line == 0 {
		return fmt.Sprintf("%s: %s", v.Path, v.What)
	}
	return fmt.Sprintf("%s:%d: %s", v.Path, v.Line, v.What)
}

// Check returns all places in tree that violate the rule, sorted and without duplicates.
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
				"that are reviewed for it",
			check: checkEdges,
		},
		{
			ID: "simulators",
			Reason: "a command must never use a simulator silently; only demo and fabric simulate use one, and their " +
				"output says so",
			check: checkSimulators,
		},
		{
			ID: "closure",
			Reason: "a program that imports a library package must stay small: every additional dependency is " +
				"a cost to its users",
			check: checkClosure,
		},
		{
			ID: "kubernetes",
			Reason: "client-go multiplies the binary's size and dependencies; it belongs in " +
				"the nested operator module",
			check: checkKubernetes,
		},
		{
			ID:     "syspaths",
			Reason: "code that reads /sys directly can neither be tested on a recorded tree nor read another root",
			check:  checkSysPaths,
		},
		{
			ID:     "main",
			Reason: "code in main can't be tested, code in internal/cli can",
			check:  checkMain,
		},
		{
			ID:     "file-length",
			Reason: "a file of a thousand lines is hard to read; split it by responsibility",
			check:  checkFileLength,
		},
		{
			ID:     "function-length",
			Reason: "a function should fit on a screen; only a table may be longer",
			check:  checkFunctionLength,
		},
		{
			ID:     "columns",
			Reason: "text beyond the window is not read, and reviews show two files side by side",
			check:  checkColumns,
		},
		{
			ID:     "loopback",
			Reason: "the tests of packages run side by side, and an engine takes UDP port 4791 of its address",
			check:  checkLoopback,
		},
		{
			ID:     "init",
			Reason: "registration in init makes a program depend on the packages that it links; use explicit lists",
			check:  checkInit,
		},
		{
			ID:     "globals",
			Reason: "an assigned package variable is shared between tests and goroutines; inject the value instead",
			check:  checkGlobals,
		},
		{
			ID:     "package-doc",
			Reason: "readers start with the package documentation, without the source",
			check:  checkPackageDoc,
		},
		{
			ID:     "documented",
			Reason: "users of a library rely on its documentation, so every export needs a doc comment",
			check:  checkDocumented,
		},
		{
			ID:     "doc-links",
			Reason: "a broken doc link is printed with its brackets, and nobody notices that the name no longer exists",
			check:  checkDocLinks,
		},
	}
}

// wrong returns a violation about a whole file or folder.
func wrong(path, format string, args ...any) Violation {
	return Violation{Path: path, What: fmt.Sprintf(format, args...)}
}
