package archtest

import (
	"go/ast"
	"go/doc/comment"
	"path"
	"strings"
)

// checkDocLinks requires that each link of a doc comment, a name in brackets, refers to a
// declaration of the package itself or of another package of this module. Links to other modules
// and the standard library are not checked. As in go doc, a package name is valid in all files of a
// package if one of them imports it. If none does, go doc makes no link and prints the brackets,
// which is a violation too.
func checkDocLinks(t *Tree) (found []Violation) {
	declared := map[string]map[string]bool{}
	local := map[string]bool{} // names of the module's packages
	for _, file := range t.Files {
		if file.Test {
			continue
		}
		if declared[file.Dir] == nil {
			declared[file.Dir] = map[string]bool{}
		}
		declare(file.AST, declared[file.Dir])
		local[file.AST.Name.Name] = file.AST.Name.Name != "main"
	}
	imports := t.importNames()
	for _, file := range t.Files {
		if file.Test {
			continue
		}
		names := imports[file.Dir]
		parser := &comment.Parser{
			LookupSym: func(_, _ string) bool { return true }, // checked below
			LookupPackage: func(name string) (string, bool) {
				if name == file.AST.Name.Name {
					return "", true
				}
				if p := names[name]; p != "" {
					return p, true
				}
				return notImported + name, local[name]
			},
		}
		for _, group := range docComments(file.AST) {
			for _, link := range docLinks(parser.Parse(group.Text()).Content) {
				if what := t.checkLink(link, file.Dir, declared); what != "" {
					found = append(found, t.wrongAt(group.Pos(), "%s", what))
				}
			}
		}
	}
	return found
}

// notImported is the prefix for the name of a package of this module that the comment's package
// doesn't import.
const notImported = "not imported: "

// checkLink describes what is wrong with a link of a package; "" if it is valid.
func (t *Tree) checkLink(link *comment.DocLink, dir string, declared map[string]map[string]bool) string {
	name := link.Name
	if link.Recv != "" {
		name = link.Recv + "." + name
	}
	if p, ok := strings.CutPrefix(link.ImportPath, notImported); ok {
		if name == "" {
			return "" // a word in brackets
		}
		return "the link [" + p + "." + name + "]: the package is not imported here"
	}
	if link.ImportPath != "" {
		var ok bool
		if dir, ok = t.local(link.ImportPath); !ok {
			return ""
		}
	}
	switch {
	case declared[dir] == nil:
		return "the link [" + link.ImportPath + "]: no such package"
	case name == "" || declared[dir][name]:
		return ""
	case link.ImportPath != "":
		return "the link [" + path.Base(link.ImportPath) + "." + name + "]: no such name"
	case name == strings.ToUpper(name):
		return "" // [FILE]: part of a usage line
	}
	return "the link [" + name + "]: no such name"
}

// importNames returns, for each folder, the packages that its files import, by their names there;
// "" for a name of two packages.
func (t *Tree) importNames() map[string]map[string]string {
	packageName := map[string]string{}
	for _, file := range t.Files {
		if !file.Test {
			packageName[file.Dir] = file.AST.Name.Name
		}
	}
	names := map[string]map[string]string{}
	t.eachImport(func(file *File, spec *ast.ImportSpec, importPath string) {
		name := path.Base(importPath)
		if dir, ok := t.local(importPath); ok && packageName[dir] != "" {
			name = packageName[dir]
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if names[file.Dir] == nil {
			names[file.Dir] = map[string]string{}
		}
		if old, ok := names[file.Dir][name]; ok && old != importPath {
			importPath = ""
		}
		names[file.Dir][name] = importPath
	})
	return names
}

// docComments returns the comments that go doc shows as text: those of the package and of
// declarations, not comments inside functions.
func docComments(file *ast.File) (groups []*ast.CommentGroup) {
	add := func(g *ast.CommentGroup) {
		if g != nil {
			groups = append(groups, g)
		}
	}
	add(file.Doc)
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			add(d.Doc)
		case *ast.GenDecl:
			add(d.Doc)
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					add(s.Doc)
				}
			}
		}
	}
	return groups
}

// docLinks returns the links in paragraphs, headings and lists.
func docLinks(blocks []comment.Block) (links []*comment.DocLink) {
	texts := func(list []comment.Text) {
		for _, text := range list {
			if link, ok := text.(*comment.DocLink); ok {
				links = append(links, link)
			}
		}
	}
	for _, block := range blocks {
		switch b := block.(type) {
		case *comment.Paragraph:
			texts(b.Text)
		case *comment.Heading:
			texts(b.Text)
		case *comment.List:
			for _, item := range b.Items {
				links = append(links, docLinks(item.Content)...)
			}
		}
	}
	return links
}

// declare adds the package-level names of a file, with fields and methods as Type.Name.
func declare(file *ast.File, names map[string]bool) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			names[memberOf(receiver(d), d.Name.Name)] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				declareSpec(spec, names)
			}
		}
	}
}

func declareSpec(spec ast.Spec, names map[string]bool) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, id := range s.Names {
			names[id.Name] = true
		}
	case *ast.TypeSpec:
		names[s.Name.Name] = true
		for _, field := range members(s.Type) {
			for _, id := range field.Names {
				names[memberOf(s.Name.Name, id.Name)] = true
			}
		}
	}
}

// members returns the fields of a struct, or the methods of an interface.
func members(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}

func memberOf(typeName, name string) string {
	if typeName == "" {
		return name
	}
	return typeName + "." + name
}

// receiver returns the name of a method's type; "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
