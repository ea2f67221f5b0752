package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant is a change of one place of a file. The zero change is the file itself.
type mutant struct {
	pkg           testedPackage
	file          string // relative to the module
	line          int
	function      string // "Type.Method" for a method; "" outside of functions
	operator      string // what was done, or the name of a named mutant
	before, after string // the first line that changes, and the same afterwards
	source        []byte // the changed file

	outcome outcome
	by      string // the test that killed it, or the compiler's message
}

func (m *mutant) place() string  { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.operator) }
func (m *mutant) String() string { return fmt.Sprintf("%s: %s -> %s", m.place(), m.before, m.after) }

// candidates returns all mutants of the packages' files that this system builds.
func (p project) candidates() (list []mutant, err error) {
	for _, pkg := range p.packages {
		entries, err := os.ReadDir(filepath.Join(p.root, pkg.dir))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			if ok, err := build.Default.MatchFile(filepath.Join(p.root, pkg.dir), e.Name()); err != nil || !ok {
				continue
			}
			src, err := os.ReadFile(filepath.Join(p.root, pkg.dir, e.Name()))
			if err != nil {
				return nil, err
			}
			found, err := generate(path.Join(pkg.dir, e.Name()), src)
			if err != nil {
				return nil, err
			}
			for i := range found {
				found[i].pkg = pkg
			}
			list = append(list, found...)
		}
	}
	return list, nil
}

// generator collects the mutants of a file.
type generator struct {
	fset     *token.FileSet
	file     string
	src      []byte
	function string
	list     []mutant
}

// generate returns all mutants of a file, sorted by line. Error texts and String methods stay as
// they are, since nothing depends on them.
func generate(file string, src []byte) ([]mutant, error) {
	g := &generator{fset: token.NewFileSet(), file: file, src: src}
	tree, err := parser.ParseFile(g.fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		g.function = ""
		if f, ok := d.(*ast.FuncDecl); ok {
			if f.Name.Name == "String" || f.Name.Name == "Error" {
				continue
			}
			g.function = functionName(f)
		}
		ast.Inspect(d, g.visit)
	}
	slices.SortStableFunc(g.list, func(a, b mutant) int { return cmp.Compare(a.line, b.line) })
	return g.list, nil
}

func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	name, _ := t.(*ast.Ident)
	return name.Name + "." + f.Name.Name
}

// swapped are the binary operators and what replaces them.
var swapped = map[token.Token]struct{ to, name string }{
	token.LSS: {"<=", "move a boundary"}, token.LEQ: {"<", "move a boundary"},
	token.GTR: {">=", "move a boundary"}, token.GEQ: {">", "move a boundary"},
	token.EQL: {"!=", "invert a comparison"}, token.NEQ: {"==", "invert a comparison"},
	token.LAND: {"||", "swap and/or"}, token.LOR: {"&&", "swap and/or"}, token.ADD: {"-", "subtract instead of add"},
}

func (g *generator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.CallExpr:
		return !isText(n) && !g.isSized(n)
	case *ast.IfStmt:
		g.negate(n.Cond)
	case *ast.ForStmt:
		g.negate(n.Cond)
	case *ast.BinaryExpr:
		if s, ok := swapped[n.Op]; ok {
			g.add(s.name, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), s.to)
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseUint(n.Value, 0, 64); n.Kind == token.INT && err == nil {
			g.add("increment a constant", n.Pos(), n.End(), strconv.FormatUint(v+1, 10))
		}
	case *ast.ReturnStmt:
		for _, r := range n.Results {
			if id, ok := r.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
				g.add("flip a result", id.Pos(), id.End(), strconv.FormatBool(id.Name == "false"))
			}
		}
	case *ast.BlockStmt:
		g.deletions(n.List)
	case *ast.CaseClause:
		g.deletions(n.Body)
	case *ast.CommClause:
		g.deletions(n.Body)
	}
	return true
}

// isText reports whether a call only makes or prints text.
func isText(c *ast.CallExpr) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && (x.Name == "fmt" || x.Name == "errors" && s.Sel.Name == "New" || x.Name == "log" || x.Name == "slog")
}

// isSized reports whether a call is a make with a capacity, which changes only what is allocated.
func (g *generator) isSized(c *ast.CallExpr) bool {
	f, ok := c.Fun.(*ast.Ident)
	return ok && f.Name == "make" && len(c.Args) == 3
}

// negate adds the negation of a condition, unless it is a comparison, which is inverted anyway.
func (g *generator) negate(cond ast.Expr) {
	if b, ok := cond.(*ast.BinaryExpr); cond == nil || ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	text := g.src[g.offset(cond.Pos()):g.offset(cond.End())]
	g.add("negate a condition", cond.Pos(), cond.End(), "!("+string(text)+")")
}

// deletions adds the deletions of calls, and of assignments to fields.
func (g *generator) deletions(list []ast.Stmt) {
	for _, s := range list {
		var changed []ast.Expr
		switch s := s.(type) {
		case *ast.ExprStmt:
			if c, ok := s.X.(*ast.CallExpr); ok && !isText(c) {
				g.add("delete a call", s.Pos(), s.End(), "")
			}
		case *ast.AssignStmt:
			changed = s.Lhs
		case *ast.IncDecStmt:
			changed = []ast.Expr{s.X}
		}
		if slices.ContainsFunc(changed, func(x ast.Expr) bool { _, ok := x.(*ast.SelectorExpr); return ok }) {
			g.add("delete an assignment", s.Pos(), s.End(), "")
		}
	}
}

func (g *generator) offset(p token.Pos) int { return g.fset.Position(p).Offset }

func (g *generator) add(operator string, from, to token.Pos, text string) {
	m := change(g.src, g.offset(from), g.offset(to), text)
	m.file, m.line, m.function, m.operator = g.file, g.fset.Position(from).Line, g.function, operator
	g.list = append(g.list, m)
}

// change returns the mutant that replaces a part of a file.
func change(src []byte, from, to int, text string) mutant {
	m := mutant{source: slices.Concat(src[:from], []byte(text), src[to:])}
	lineOf := func(b []byte) string {
		line := b[strings.LastIndexByte(string(b[:from]), '\n')+1:]
		first, _, _ := strings.Cut(string(line), "\n")
		return strings.TrimSpace(first)
	}
	m.before, m.after = lineOf(src), cmp.Or(lineOf(m.source), "(deleted)")
	return m
}

// sample selects n mutants, at most one per line, spread over the files by the number of their
// candidates.
func sample(all []mutant, n int, seed uint64) (out []mutant) {
	random := rand.New(rand.NewPCG(seed, 0))
	all = slices.Clone(all)
	random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	slices.SortStableFunc(all, func(a, b mutant) int { return cmp.Compare(a.file, b.file) })
	taken := map[string]bool{}
	for at := 0; at < len(all); {
		end := at
		for end < len(all) && all[end].file == all[at].file {
			end++
		}
		// Rounded sums, so that the shares add up to n.
		share := (2*n*end+len(all))/(2*len(all)) - (2*n*at+len(all))/(2*len(all))
		for ; at < end && share > 0; at++ {
			if line := fmt.Sprint(all[at].file, all[at].line); !taken[line] {
				taken[line] = true
				out = append(out, all[at])
				share--
			}
		}
		at = end
	}
	slices.SortFunc(out, func(a, b mutant) int { return cmp.Or(cmp.Compare(a.file, b.file), a.line-b.line) })
	return out
}
