package archtest

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
)

// checkGlobals finds statements that assign a package-level variable of any package, or a part of
// one: x = …, x.f = …, x[i]++, and the same in a range clause. Method calls that change their
// receiver are not detected.
func checkGlobals(t *Tree) (found []Violation) {
	for _, dir := range t.dirs() {
		for _, files := range t.packagesIn(dir) {
			found = append(found, t.assignedGlobals(dir, files)...)
		}
	}
	return found
}

// packagesIn returns the non-test files of a folder, by package name.
func (t *Tree) packagesIn(dir string) map[string][]*ast.File {
	packages := map[string][]*ast.File{}
	for _, file := range t.Files {
		if file.Dir == dir && !file.Test {
			name := file.AST.Name.Name
			packages[name] = append(packages[name], file.AST)
		}
	}
	return packages
}

func (t *Tree) assignedGlobals(dir string, files []*ast.File) (found []Violation) {
	uses := t.resolve(dir, files)
	report := func(target ast.Expr) {
		id := rootIdent(target)
		if id == nil {
			return
		}
		switch used := uses[id].(type) {
		case *types.Var:
			if used.Pkg() != nil && used.Parent() == used.Pkg().Scope() {
				found = append(found, t.wrongAt(id.Pos(), "assigns the package variable %s", id.Name))
			}
		case *types.PkgName:
			found = append(found, t.wrongAt(id.Pos(), "assigns a variable of package %s", used.Imported().Path()))
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch s := n.(type) {
			case *ast.AssignStmt:
				for _, target := range s.Lhs {
					report(target)
				}
			case *ast.IncDecStmt:
				report(s.X)
			case *ast.RangeStmt:
				if s.Tok == token.ASSIGN {
					report(s.Key)
					report(s.Value)
				}
			}
			return true
		})
	}
	return found
}

// resolve finds the declaration of each identifier. Imports are not loaded and the files of all
// targets are combined, so there are many type errors; but the scopes are correct, and nothing else
// is needed.
func (t *Tree) resolve(dir string, files []*ast.File) map[*ast.Ident]types.Object {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{
		Importer:    noImports{},
		Error:       func(error) {},
		FakeImportC: true,
	}
	_, _ = conf.Check(dir, t.fset, files, &info)
	return info.Uses
}

// noImports makes go/types invent an empty package for each import.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.ErrUnsupported }

// rootIdent returns the variable at the left end of x.f, x[i], *x and (x).
func rootIdent(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
