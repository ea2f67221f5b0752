package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// layer says what one part of the tree may import of the rest of the module.
type layer struct {
	name   string
	member func(dir string) bool
	// allowed judges an import of another package of the module, by folder.
	allowed func(from, to string) bool
	rule    string
}

// layers is the direction of imports. A folder can be a member of several layers, and must then
// satisfy each.
func layers() []layer {
	return []layer{
		{
			"wire", within("wire"),
			func(_, to string) bool { return under(to, "wire") },
			"wire imports the standard library and wire only",
		},
		{
			"verbs", only("verbs"),
			func(_, to string) bool { return !isProvider(to) && !under(to, features()...) },
			"verbs never imports a provider: callers pass the list",
		},
		{
			"provider contract", only("verbs/provider"),
			func(_, to string) bool { return under(to, "wire") || under(to, "internal") },
			"the contract between verbs and providers imports neither side",
		},
		{
			"provider", isProvider,
			func(from, to string) bool {
				return !under(to, features()...) && to != "verbs" && (!isProvider(to) || providerRoot(from) == providerRoot(to))
			},
			"providers import the contract, wire and edges, and never each other",
		},
		{
			"models", within("inventory", "fabric"),
			func(_, to string) bool { return !under(to, "verbs") },
			"inventory and fabric never import verbs: reading a node needs no data path",
		},
		{
			"edges", isEdge,
			func(_, to string) bool {
				return isEdge(to) || under(to, "wire", "internal") && !under(to, "internal/cli")
			},
			"edges are the bottom layer",
		},
		{
			"libraries", func(dir string) bool { return !under(dir, "internal", "cmd", "integration") },
			func(_, to string) bool { return !under(to, "internal/cli", "internal/compat/applet") },
			"packages never import the command line",
		},
		{
			"everything", func(string) bool { return true },
			func(from, to string) bool { return !under(to, "integration") || under(from, "integration") },
			"integration holds tests and their harness",
		},
	}
}

// features are the packages that build on verbs and the models.
func features() []string {
	return []string{"doctor", "bench", "cluster", "launch", "agent", "k8s", "accelerate"}
}

func edges() []string {
	return []string{
		"internal/abi", "internal/edge/dl", "internal/edge/umad", "internal/edge/sysfs", "internal/edge/rdmanl", "internal/edge/udpio", "internal/edge/anonmem",
	}
}

func isEdge(dir string) bool { return under(dir, edges()...) }

// isProvider says whether dir belongs to one provider. The list of providers and the conformance
// suite stand beside them and know several.
func isProvider(dir string) bool {
	return strings.HasPrefix(dir, "verbs/provider/") &&
		!under(dir, "verbs/provider/builtin", "verbs/provider/providertest")
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

func checkLayers(t *Tree) (found []Violation) {
	t.eachImport(func(file *File, spec *ast.ImportSpec, importPath string) {
		to, ok := t.local(importPath)
		if !ok {
			if under(file.Dir, "wire") && !isStandard(importPath) {
				found = append(found, t.wrongAt(spec.Pos(), "wire imports %s: standard library only", importPath))
			}
			return
		}
		for _, l := range layers() {
			if to != file.Dir && l.member(file.Dir) && !l.allowed(file.Dir, to) {
				found = append(found, t.wrongAt(spec.Pos(), "%s imports %s: %s", file.Dir, to, l.rule))
			}
		}
	})
	return found
}

// isStandard goes by the form of the path, as the go command does: a module's first element has
// a dot. It holds for files of any target, which the import graph need not.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// checkSimulators lets only demo commands, main packages, tests and their harness use a simulator.
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
	demo := file.Dir == "internal/cli" && strings.HasPrefix(path.Base(file.Path), "demo")
	return demo || under(file.Dir, "internal/sim", "cmd", "integration")
}
