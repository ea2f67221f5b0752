package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// The limits of the house style, in lines.
const (
	maxFileLines = 800
	maxFuncLines = 100
	maxMainLines = 30
)

// checkSysPaths finds string literals that are paths in sysfs, including relative paths, as used
// with an os.Root. Sentences that mention such a path, for example in a remedy, are allowed.
func checkSysPaths(t *Tree) (found []Violation) {
	sysPath := regexp.MustCompile(`^(/sys(/\S*)?|sys/(block|bus|class|dev|devices|firmware|fs|kernel|module)(/\S*)?)$`)
	for _, file := range t.Files {
		if file.Test || isEdge(file.Dir) ||
			under(file.Dir, "internal/record/nodetree", "internal/sim", "internal/testkit", "integration") {
			continue
		}
		ast.Inspect(file.AST, func(n ast.Node) bool {
			if _, ok := n.(*ast.ImportSpec); ok {
				return false
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if s, err := strconv.Unquote(lit.Value); err == nil && sysPath.MatchString(s) {
				found = append(found, t.wrongAt(lit.Pos(), "the path %s: use internal/edge/sysfs", lit.Value))
			}
			return true
		})
	}
	return found
}

// checkMain requires that a command is one short main.go.
func checkMain(t *Tree) (found []Violation) {
	for _, file := range t.Files {
		if !under(file.Dir, "cmd") || file.Test {
			continue
		}
		if path.Base(file.Path) != "main.go" {
			found = append(found, wrong(file.Path, "a command has only the file main.go"))
		}
		if file.Lines > maxMainLines {
			found = append(found, wrong(file.Path, "%d lines, %d at most", file.Lines, maxMainLines))
		}
	}
	return found
}

func checkFileLength(t *Tree) (found []Violation) {
	for _, file := range t.Files {
		if !file.Test && !file.Generated && file.Lines > maxFileLines {
			found = append(found, wrong(file.Path, "%d lines, %d at most", file.Lines, maxFileLines))
		}
	}
	return found
}

// checkFunctionLength counts from the line of "func" to that of the closing brace. Function
// literals are checked separately too, so that a table can't hide a long one.
func checkFunctionLength(t *Tree) (found []Violation) {
	for _, file := range t.Files {
		if file.Test || file.Generated {
			continue
		}
		ast.Inspect(file.AST, func(n ast.Node) bool {
			name, body := function(n)
			if body == nil {
				return true
			}
			lines := t.fset.Position(n.End()).Line - t.fset.Position(n.Pos()).Line + 1
			if lines > maxFuncLines && !isTable(body) {
				found = append(found, t.wrongAt(n.Pos(), "%s has %d lines, %d at most", name, lines, maxFuncLines))
			}
			return true
		})
	}
	return found
}

// function returns the name and body of a function declaration or literal.
func function(n ast.Node) (string, *ast.BlockStmt) {
	switch f := n.(type) {
	case *ast.FuncDecl:
		return f.Name.Name, f.Body
	case *ast.FuncLit:
		return "a function literal", f.Body
	}
	return "", nil
}

// isTable reports whether a body does nothing but return one composite literal, alone or beside
// plain values such as nil.
func isTable(body *ast.BlockStmt) bool {
	if len(body.List) != 1 {
		return false
	}
	ret, ok := body.List[0].(*ast.ReturnStmt)
	if !ok {
		return false
	}
	tables := 0
	for _, result := range ret.Results {
		if address, ok := result.(*ast.UnaryExpr); ok {
			result = address.X
		}
		switch result.(type) {
		case *ast.CompositeLit:
			tables++
		case *ast.Ident, *ast.BasicLit:
		default:
			return false
		}
	}
	return tables == 1
}

// checkInit checks tests too: a test's init runs before every other test of the package.
func checkInit(t *Tree) (found []Violation) {
	for _, file := range t.Files {
		for _, decl := range file.AST.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				found = append(found, t.wrongAt(f.Pos(), "func init"))
			}
		}
	}
	return found
}

// checkPackageDoc requires a package comment in the conventional form in one file of each folder.
func checkPackageDoc(t *Tree) (found []Violation) {
	documented := map[string]bool{}
	name := map[string]string{}
	for _, file := range t.Files {
		if !file.Test || name[file.Dir] == "" {
			name[file.Dir] = file.AST.Name.Name
		}
		if isPackageDoc(file.AST) {
			documented[file.Dir] = true
		}
	}
	for _, dir := range t.dirs() {
		if !documented[dir] {
			found = append(found, wrong(dir,
				"package %s has no comment that begins with \"Package NAME …\" (or \"Command NAME …\")", name[dir]))
		}
	}
	return found
}

func isPackageDoc(file *ast.File) bool {
	words := strings.Fields(file.Doc.Text())
	if len(words) < 4 { // "Package verbs verbs." has no content
		return false
	}
	if file.Name.Name == "main" {
		return words[0] == "Command"
	}
	return words[0] == "Package" && strings.TrimRight(words[1], ",.:") == strings.TrimSuffix(file.Name.Name, "_test")
}
