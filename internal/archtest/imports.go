package archtest

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

const purego = "github.com/ebitengine/purego"

// checkEdges finds unsafe, purego, cgo, linkname and raw system calls outside of the edges.
func checkEdges(t *Tree) (found []Violation) {
	unsafeFiles := map[string][]string{} // by the folder that may hold one such file
	for _, file := range t.Files {
		if file.Test || isEdge(file.Dir) {
			continue
		}
		for _, v := range t.unsafeUses(file) {
			if root, ok := unsafeException(file.Dir); ok && v.What == usesUnsafe {
				unsafeFiles[root] = append(unsafeFiles[root], file.Path)
				continue
			}
			found = append(found, v)
		}
	}
	for root, paths := range unsafeFiles {
		slices.Sort(paths)
		if paths = slices.Compact(paths); len(paths) > 1 {
			found = append(found,
				wrong(root, "%d files import unsafe, only one may: %s", len(paths), strings.Join(paths, ", ")))
		}
	}
	return found
}

// unsafeException returns the folder that dir belongs to if one file of it may import unsafe: the
// memory layout of libibverbs, and atomic access to registered memory in the two engines.
func unsafeException(dir string) (root string, ok bool) {
	root = providerRoot(dir)
	ok = slices.Contains([]string{"verbs/provider/ibverbs", "verbs/provider/roce", "verbs/provider/iwarp"}, root)
	return root, ok
}

const usesUnsafe = "imports unsafe"

// unsafeUses lists the code of a file that is allowed only in an edge.
func (t *Tree) unsafeUses(file *File) (found []Violation) {
	for _, spec := range file.AST.Imports {
		switch p := strings.Trim(spec.Path.Value, "`\""); {
		case p == "unsafe":
			found = append(found, t.wrongAt(spec.Pos(), usesUnsafe))
		case p == "C", p == purego, strings.HasPrefix(p, purego+"/"):
			found = append(found, t.wrongAt(spec.Pos(), "imports %s", p))
		}
	}
	syscalls := importedAs(file.AST, "syscall", "golang.org/x/sys/unix")
	ast.Inspect(file.AST, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && syscalls[x.Name] && isRawCall(sel.Sel.Name) {
			found = append(found, t.wrongAt(n.Pos(), "calls %s.%s", x.Name, sel.Sel.Name))
		}
		return true
	})
	return found
}

// isRawCall distinguishes raw system calls and ioctls from the constants and harmless functions of
// the same packages (errno values, rlimits).
func isRawCall(name string) bool {
	for _, prefix := range []string{"Syscall", "RawSyscall", "Ioctl", "Mmap", "MmapPtr"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// importedAs returns the local names under which a file imports one of paths.
func importedAs(file *ast.File, paths ...string) map[string]bool {
	names := map[string]bool{}
	for _, spec := range file.Imports {
		p := strings.Trim(spec.Path.Value, "`\"")
		if !slices.Contains(paths, p) {
			continue
		}
		if spec.Name != nil {
			names[spec.Name.Name] = true
		} else {
			names[path.Base(p)] = true
		}
	}
	return names
}

// libraries are the packages that other programs import.
func libraries() []string {
	return []string{"verbs", "wire", "inventory", "fabric", "cm", "launch", "doctor"}
}

// libraryModules are the modules that a library package may depend on, besides the standard
// library.
func libraryModules() []string {
	return []string{
		"golang.org/x/sys", "golang.org/x/net", "golang.org/x/sync",
		purego, "github.com/mdlayher/netlink", "github.com/mdlayher/socket",
	}
}

// checkClosure checks all direct and indirect imports of each library package.
func checkClosure(t *Tree) (found []Violation) {
	for _, dir := range t.dirs() {
		root := t.Module + "/" + dir
		if !under(dir, libraries()...) || t.Graph[root] == nil {
			continue // not a library, or a folder with only tests
		}
		for module, chain := range t.foreignModules(root) {
			found = append(found, wrong(dir, "pulls in %s: %s", module, chain))
		}
	}
	return found
}

// foreignModules returns the modules that an import path depends on and that are not allowed, each
// with a shortest chain of imports.
func (t *Tree) foreignModules(root string) map[string]string {
	found := map[string]string{}
	cameFrom := map[string]string{root: ""}
	for queue := []string{root}; len(queue) > 0; queue = queue[1:] {
		p := t.Graph[queue[0]]
		if p == nil || p.Standard {
			continue
		}
		if p.Module != t.Module && !slices.Contains(libraryModules(), p.Module) {
			if found[p.Module] == "" {
				found[p.Module] = chain(cameFrom, queue[0])
			}
			continue
		}
		for _, next := range p.Imports {
			if _, seen := cameFrom[next]; !seen {
				cameFrom[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return found
}

// chain formats the imports from the root to importPath.
func chain(cameFrom map[string]string, importPath string) string {
	var steps []string
	for p := importPath; p != ""; p = cameFrom[p] {
		steps = append(steps, p)
	}
	slices.Reverse(steps)
	return strings.Join(steps, " → ")
}

// checkKubernetes checks requirements, the import graph, and the imports of tests and of other
// targets. Tests may use the types of the API to validate output; the program and its importers may
// not depend on them.
func checkKubernetes(t *Tree) (found []Violation) {
	for _, module := range t.Requires {
		if isKubernetes(module) && !isKubernetesAPI(module) {
			found = append(found, wrong("go.mod", "requires %s", module))
		}
	}
	for _, importPath := range slices.Sorted(maps.Keys(t.Graph)) {
		if isKubernetes(importPath) {
			found = append(found, wrong("go.mod", "the module reaches %s", importPath))
		}
	}
	for _, file := range t.Files {
		for _, spec := range file.AST.Imports {
			p := strings.Trim(spec.Path.Value, "`\"")
			if isKubernetes(p) && !(file.Test && (isKubernetesAPI(p) && !under(p, apiextensions) || isSchemaCode(p))) {
				found = append(found, t.wrongAt(spec.Pos(), "imports %s", p))
			}
		}
	}
	return found
}

// isKubernetes does not include sigs.k8s.io/yaml, which is small and depends on none of the rest.
func isKubernetes(p string) bool {
	return under(p, "k8s.io", "sigs.k8s.io/controller-runtime", "sigs.k8s.io/structured-merge-diff",
		"sigs.k8s.io/apiserver-network-proxy")
}

// isKubernetesAPI covers the types and their validation, with the modules they require.
func isKubernetesAPI(p string) bool {
	return under(p, "k8s.io/api", apiextensions, "k8s.io/apimachinery", "k8s.io/klog", "k8s.io/kube-openapi",
		"k8s.io/utils", "sigs.k8s.io/structured-merge-diff")
}

// apiextensions is the module of custom resources: an API server, of which tests may use the part
// that isSchemaCode covers.
const apiextensions = "k8s.io/apiextensions-apiserver"

// isSchemaCode covers the types of CRDs and the validation of objects by their schemas, which
// depend neither on client-go nor on a server.
func isSchemaCode(p string) bool {
	return under(p, apiextensions+"/pkg/apis/apiextensions", apiextensions+"/pkg/apiserver/schema")
}
