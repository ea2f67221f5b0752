package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// A wing is a part of the tree whose packages have a common purpose. Its imports are defined once
// for all of them, so that a new package needs no new rule. docs/architecture.md describes each
// wing.
type wing struct {
	// dir is the wing's folder; its packages may import each other.
	dir string
	// imports are the wings and packages of the module that it may import, including packages below
	// them.
	imports []string
	reason  string
}

// wings returns the wings. Packages outside of all wings are restricted by layers only.
func wings() []wing {
	return []wing{
		{"wire", nil, "wire imports the standard library and wire only"},
		{"internal/edge", []string{"wire"}, "edges are the bottom layer"},
		{"internal/text", nil, "text packages are independent of RDMA"},
		{
			"internal/record",
			[]string{"internal/edge", "inventory", "launch", "verbs/recording", "wire", "doctor/facts"},
			"record packages hold recorded nodes; checks and measurements belong elsewhere",
		},
		{
			"internal/sim",
			[]string{"internal/edge", "internal/record", "fabric", "wire", "verbs", "cluster"},
			"simulators implement the interfaces of the edges and are independent of commands",
		},
		{
			"internal/testkit",
			[]string{"internal/edge", "internal/record", "verbs/provider", "wire"},
			"test code shared by many packages must depend on few of them",
		},
		{
			"internal/compat",
			[]string{
				"internal/edge", "bench", "fabric", "inventory", "verbs", "wire",
			},
			"compatible programs share the models with the commands, but no text",
		},
	}
}

// layer restricts the imports of packages, in any wing.
type layer struct {
	member func(dir string) bool
	// allowed reports whether an import of another package of the module, by folder, is allowed.
	allowed func(from, to string) bool
	rule    string
}

// layers returns the rules for the direction of imports. A folder can be a member of several
// layers, and must satisfy each.
func layers() []layer {
	return []layer{
		{
			only("verbs"),
			func(_, to string) bool { return to == "verbs/provider" || under(to, "wire") },
			"verbs never imports a provider: callers pass the list",
		},
		{
			only("verbs/provider"),
			func(_, to string) bool { return under(to, "wire", "internal/edge") },
			"the interface between verbs and providers imports neither side",
		},
		{
			isProvider,
			func(from, to string) bool {
				return under(to, "verbs/provider", "verbs/recording", "internal/edge", "wire", "cm") &&
					(!isProvider(to) || providerRoot(from) == providerRoot(to))
			},
			"providers import the interface, the communication manager, wire and edges, and never each other",
		},
		{
			only("cm"),
			func(_, to string) bool { return to == "verbs/provider" || under(to, "wire", "internal/edge") },
			"the communication manager works with the queue pairs of any provider",
		},
		{
			within("inventory", "fabric"),
			func(_, to string) bool { return !under(to, "verbs") },
			"inventory and fabric never import verbs: reading a node needs no data path",
		},
		{
			func(dir string) bool { return !under(dir, "internal", "cmd", "integration") },
			func(_, to string) bool { return !under(to, "internal/cli", "internal/compat") },
			"packages never import the command line",
		},
		{
			func(dir string) bool { return !under(dir, "internal/testkit", "integration") },
			func(_, to string) bool { return !under(to, "internal/testkit", "internal/cli/clitest") },
			"only tests may import shared test code",
		},
		{
			only("verbs/recording"),
			func(_, to string) bool { return to == "verbs/provider" || under(to, "wire") },
			"a recording needs the attributes of the interface, and no provider",
		},
		{
			within("internal/record"),
			func(_, to string) bool { return !under(to, "launch/lint", "launch/consensus") },
			"record packages hold recorded nodes; checks and measurements belong elsewhere",
		},
		{
			only("cluster/plan", "cluster/result", "cluster/verdict"),
			func(_, to string) bool { return under(to, "cluster/plan", "cluster/result", "doctor") },
			"plans, records and verdicts are pure: data in, data out",
		},
		{
			within("cluster"),
			func(_, to string) bool { return !under(to, "internal/sim") },
			"verdicts must know nothing of what a simulator plants",
		},
		{
			only("internal/cli"),
			func(_, to string) bool { return !under(to, "internal/cli") || under(to, "internal/cli/config") },
			"internal/cli imports no command: the table is passed in",
		},
		{
			isCommandGroup,
			func(from, to string) bool { return !isCommandGroup(to) || commandGroup(from) == "demo" },
			"groups of commands don't import each other, except demo, which prints the output of others",
		},
		{
			func(string) bool { return true },
			func(from, to string) bool { return !under(to, "integration") || under(from, "integration") },
			"integration contains only tests and their harness",
		},
	}
}

func isEdge(dir string) bool { return under(dir, "internal/edge") }

// isCommandGroup reports whether dir belongs to a group of commands. The other folders serve all
// groups: settings, the table of commands, packages for tests and for the reference.
func isCommandGroup(dir string) bool {
	return strings.HasPrefix(dir, "internal/cli/") && !under(dir, "internal/cli/config", "internal/cli/commands",
		"internal/cli/clitest", "internal/cli/gendocs")
}

// commandGroup returns the name of the group that a folder belongs to.
func commandGroup(dir string) string {
	group, _, _ := strings.Cut(strings.TrimPrefix(dir, "internal/cli/"), "/")
	return group
}

// isProvider reports whether dir belongs to one provider, which the list of providers does not.
func isProvider(dir string) bool {
	return strings.HasPrefix(dir, "verbs/provider/") && !under(dir, "verbs/provider/builtin")
}

// providerRoot returns "verbs/provider/NAME" for a folder of that provider.
func providerRoot(dir string) string {
	parts := strings.SplitN(dir, "/", 4)
	return path.Join(parts[:min(3, len(parts))]...)
}

func within(roots ...string) func(string) bool {
	return func(dir string) bool { return under(dir, roots...) }
}

func only(dirs ...string) func(string) bool {
	return func(dir string) bool { return slices.Contains(dirs, dir) }
}

// isHoused reports whether a folder below internal is in a wing.
func isHoused(dir string) bool {
	if !under(dir, "internal") || under(dir, "internal/cli", "internal/archtest", "internal/version") {
		return true
	}
	return slices.ContainsFunc(wings(), func(w wing) bool { return under(dir, w.dir) })
}

func checkLayers(t *Tree) (found []Violation) {
	for _, dir := range t.dirs() {
		if !isHoused(dir) {
			found = append(found, wrong(dir, "is in no wing of internal"))
		}
	}
	t.eachImport(func(file *File, spec *ast.ImportSpec, importPath string) {
		to, ok := t.local(importPath)
		if !ok {
			if under(file.Dir, "wire") && !isStandard(importPath) {
				found = append(found, t.wrongAt(spec.Pos(), "wire imports %s: standard library only", importPath))
			}
			return
		}
		for _, w := range wings() {
			if under(file.Dir, w.dir) && !under(to, w.dir) && !under(to, w.imports...) {
				found = append(found, t.wrongAt(spec.Pos(), "%s imports %s: %s", file.Dir, to, w.reason))
			}
		}
		for _, l := range layers() {
			if to != file.Dir && l.member(file.Dir) && !l.allowed(file.Dir, to) {
				found = append(found, t.wrongAt(spec.Pos(), "%s imports %s: %s", file.Dir, to, l.rule))
			}
		}
	})
	return found
}

// isStandard decides by the form of the path, as the go command does: a module's first element has
// a dot. So it works for files of any target, which may be missing in the import graph.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// checkSimulators allows simulators only in demo commands, in the command that serves one to other
// programs, in main packages, tests and their harness.
func checkSimulators(t *Tree) (found []Violation) {
	t.eachImport(func(file *File, spec *ast.ImportSpec, importPath string) {
		to, ok := t.local(importPath)
		if !ok || !under(to, "internal/sim") || maySimulate(file) {
			return
		}
		found = append(found, t.wrongAt(spec.Pos(), "%s imports the simulator %s", file.Path, to))
	})
	return found
}

func maySimulate(file *File) bool {
	return file.Path == "internal/cli/fabric/simulate.go" ||
		under(file.Dir, "internal/cli/demo", "internal/sim", "internal/testkit", "integration")
}
