package archtest

import (
	"go/ast"
	"go/token"
)

// checkDocumented requires a doc comment for every exported constant, variable, type, function and
// method of the public packages. A comment at the end of the line is sufficient, and so is the
// comment of a group of constants that form one enumeration.
func checkDocumented(t *Tree) (found []Violation) {
	for _, file := range t.Files {
		if file.Test || file.AST.Name.Name == "main" || under(file.Dir, "internal", "cmd", "integration", "examples") {
			continue
		}
		report := func(id *ast.Ident, name string) {
			if id.IsExported() {
				found = append(found, t.wrongAt(id.Pos(), "%s has no doc comment", name))
			}
		}
		for _, decl := range file.AST.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				r := receiver(d)
				if d.Doc.Text() == "" && (r == "" || ast.IsExported(r)) {
					report(d.Name, memberOf(r, d.Name.Name))
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					for _, id := range undocumented(d, spec) {
						report(id, id.Name)
					}
				}
			}
		}
	}
	return found
}

// undocumented returns the names of a specification that has no comment.
func undocumented(d *ast.GenDecl, spec ast.Spec) []*ast.Ident {
	group := ""
	if !d.Lparen.IsValid() || isEnumeration(d) {
		group = d.Doc.Text()
	}
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if group+s.Doc.Text()+s.Comment.Text() == "" {
			return []*ast.Ident{s.Name}
		}
	case *ast.ValueSpec:
		if group+s.Doc.Text()+s.Comment.Text() == "" {
			return s.Names
		}
	}
	return nil
}

// isEnumeration reports whether the exported constants of a group are the values of one type: each
// names the type, repeats the line above, or combines earlier constants.
func isEnumeration(d *ast.GenDecl) bool {
	if d.Tok != token.CONST {
		return false
	}
	enum := ""
	seen := map[string]bool{}
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.ValueSpec)
		if !ok || !s.Names[0].IsExported() {
			continue
		}
		typed := ""
		if id, ok := s.Type.(*ast.Ident); ok {
			typed = id.Name
		}
		switch {
		case enum == "" && len(seen) == 0 && typed != "":
			enum = typed
		case len(seen) == 0:
			return false
		case len(s.Values) > 0 && typed != enum && !combines(s.Values[0], seen):
			return false
		}
		seen[s.Names[0].Name] = true
	}
	return enum != ""
}

// combines reports whether an expression is X | Y with earlier constants.
func combines(e ast.Expr, seen map[string]bool) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		return false
	}
	x, ok := b.X.(*ast.Ident)
	return ok && seen[x.Name]
}
