package archtest

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
)

// checkGlobals looks for statements that assign a package-level variable, or a part of one:
// x = …, x.f = …, x[i]++, and the same through a range clause; of another package too. Method
// calls that change their receiver are not seen.
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

// resolve finds out which declaration each identifier means. Imports are not loaded and files of
// all targets are taken together, so there are type errors by the dozen; scopes come out right
// all the same, and nothing else is asked.
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
