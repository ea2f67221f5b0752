package examples_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/docpage"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

var update = flag.Bool("update", false, "rewrite the code in docs/verbs.md")

const (
	verbsPage    = "../docs/verbs.md"
	verbsCommand = "go test ./examples -run VerbsPage -update"
)

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(verbsPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestVerbsPageCode checks that the code on the page equals declarations in files that compile, and
// that the output on the page is that of Example functions, which the tests of package verbs run.
func TestVerbsPageCode(t *testing.T) {
	text := readPage(t)
	lists := regexp.MustCompile(`(?m)^<!-- (code|output) (\S+) (\S+): `).FindAllStringSubmatch(text, -1)
	if len(lists) < 10 {
		t.Errorf("%d pieces of code on the page: the comments are no longer recognised", len(lists))
	}
	goBlocks, outputs := 0, 0
	for _, l := range lists {
		kind, file, name := l[1], l[2], l[3]
		code, output := declaration(t, filepath.Join("..", file), name)
		want := "```go\n" + code + "```\n"
		if kind == "output" {
			want = "```text\n" + output + "```\n"
			outputs++
		} else {
			goBlocks++
		}
		list := docpage.List{Page: verbsPage, Name: kind + " " + file + " " + name, Command: verbsCommand}
		docpage.Check(t, list, want, *update)
	}
	text = readPage(t)
	if n := strings.Count(text, "```go\n"); n != goBlocks {
		t.Errorf("%d blocks of Go on the page, %d of them from files", n, goBlocks)
	}
	if n := strings.Count(text, "```text\n"); n != outputs {
		t.Errorf("%d blocks of output on the page, %d of them from examples", n, outputs)
	}
}

// declaration returns the source of a declaration in a file: a function, a method as Type.Method,
// or a type. For an Example function it returns the body and the output.
func declaration(t *testing.T, path, name string) (code, output string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	source := func(from, to token.Pos) string {
		return string(text[files.Position(from).Offset:files.Position(to).Offset])
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && funcName(f) == name {
			if !strings.HasPrefix(name, "Example") {
				return source(startOf(f.Doc, f.Pos()), f.End()) + "\n", ""
			}
			body, output, _ := strings.Cut(source(f.Body.Lbrace+2, f.Body.Rbrace), "\t// Output:\n")
			return strings.TrimPrefix(strings.ReplaceAll("\n"+body, "\n\t", "\n"),
				"\n"), strings.ReplaceAll(output, "\t// ", "")
		}
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			if s, ok := g.Specs[0].(*ast.TypeSpec); ok && s.Name.Name == name {
				return source(startOf(g.Doc, g.Pos()), g.End()) + "\n", ""
			}
		}
	}
	t.Fatalf("%s has no declaration of %s", path, name)
	return "", ""
}

func startOf(doc *ast.CommentGroup, otherwise token.Pos) token.Pos {
	if doc != nil {
		return doc.Pos()
	}
	return otherwise
}

// funcName returns the name of a function, or of a method as Type.Method.
func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	kind := f.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	return fmt.Sprintf("%s.%s", kind, f.Name.Name)
}

// TestVerbsPageStatuses checks that the page has a row for each status, with its number and name.
func TestVerbsPageStatuses(t *testing.T) {
	want := map[string]string{}
	for i := range 256 {
		if s := provider.WCStatus(i); s.String() != fmt.Sprintf("status %d", i) {
			want[fmt.Sprint(i)] = s.String()
		}
	}
	got := map[string]string{}
	for _, m := range regexp.MustCompile(
		"(?m)^\\| (\\d+) \\| ([a-z -]+) \\| `WC\\w+` \\| `IBV_WC_\\w+` \\| ",
	).FindAllStringSubmatch(readPage(t), -1) {
		got[m[1]] = m[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the statuses on the page (-package +page):\n%s", diff)
	}
}

// TestVerbsPageTwins checks that the names in the table of C names exist in the packages, and that
// the table has all C twins in the comments of package verbs.
func TestVerbsPageTwins(t *testing.T) {
	names, twins := map[string]bool{}, map[string]bool{}
	for _, dir := range []string{"../verbs", "../verbs/provider"} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if !strings.HasSuffix(path, "_test.go") {
				collect(t, path, names, twins, dir == "../verbs")
			}
		}
	}
	text := readPage(t)
	rows := regexp.MustCompile("(?m)^\\| `(?:struct |enum )?ibv_\\w+`.*? \\| (.*?) \\|").FindAllStringSubmatch(text, -1)
	if len(rows) < 20 {
		t.Errorf("%d rows with C names: the table is no longer recognised", len(rows))
	}
	for _, row := range rows {
		for _, m := range regexp.MustCompile("`([\\w.]+)").FindAllStringSubmatch(row[1], -1) {
			if !names[m[1]] {
				t.Errorf("the table has %s, which package verbs doesn't", m[1])
			}
		}
	}
	for twin := range twins {
		if !strings.Contains(text, "`"+twin+"`") && !strings.Contains(text, "`struct "+twin+"`") &&
			!strings.Contains(text, "`enum "+twin+"`") {
			t.Errorf("the page doesn't have %s, a C twin in package verbs", twin)
		}
	}
}

// fieldsOf returns the names of the fields of a struct, and of the methods of an interface.
func fieldsOf(s *ast.TypeSpec) (out []string) {
	var list *ast.FieldList
	switch kind := s.Type.(type) {
	case *ast.StructType:
		list = kind.Fields
	case *ast.InterfaceType:
		list = kind.Methods
	default:
		return nil
	}
	for _, field := range list.List {
		for _, n := range field.Names {
			out = append(out, n.Name)
		}
	}
	return out
}

// TestVerbsPageFunctions checks that the page has one row for each function that verbs.h of
// libibverbs declares, and that a state follows.
func TestVerbsPageFunctions(t *testing.T) {
	header, err := os.ReadFile("/usr/include/infiniband/verbs.h")
	if err != nil {
		t.Fatalf("%v (make deps installs it)", err)
	}
	code := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAll(header, nil)
	want := map[string]int{}
	for _, m := range regexp.MustCompile(
		`(?m)^(?:(?:static inline |extern )?(?:const )?[a-zA-Z_][\w ]*?[ *]+)?(_?ibv_[a-z0-9_]+)\s*\(`,
	).FindAllSubmatch(code, -1) {
		want[string(m[1])] = 1
	}
	if len(want) < 150 {
		t.Errorf("%d functions found in the header: it is no longer recognised", len(want))
	}
	got := map[string]int{}
	for _, m := range regexp.MustCompile(
		"(?m)^\\| `(_?ibv_[a-z0-9_]+)` \\| .*\\| "+
			"(?:here|devices of the kernel|contract|later|never)(?:$|[:;,] .*| .*)\\|$",
	).FindAllStringSubmatch(readPage(t), -1) {
		if got[m[1]]++; m[1] == "ibv_wr_flush" { // of later versions of the library
			delete(got, m[1])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("functions and their rows (-header +page):\n%s", diff)
	}
}

// collect adds the names that a file declares to names and, if withTwins is set, the C names in its
// comments to twins.
func collect(t *testing.T, path string, names, twins map[string]bool, withTwins bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[funcName(d)] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names[s.Name.Name] = true
					for _, field := range fieldsOf(s) {
						names[s.Name.Name+"."+field] = true
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names[n.Name] = true
					}
				}
			}
		}
	}
	for _, c := range file.Comments {
		if text := c.Text(); withTwins && strings.Contains(text, "C twin") {
			for _, twin := range regexp.MustCompile(`\bibv_\w+`).FindAllString(text, -1) {
				twins[twin] = true
			}
		}
	}
}

// TestVerbsPageCommands runs the commands on the page, but on other addresses, because tests of
// other packages run at the same time. Numbers and the order of lines may differ.
func TestVerbsPageCommands(t *testing.T) {
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./pingpong", "./kvread")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	const here, shown = "127.0.43.", "127.0.0."
	blocks := regexp.MustCompile(
		"(?s)```console\n\\$ go run \\./examples/(\\w+)(.*?)\n(.*?)```\n",
	).FindAllStringSubmatch(readPage(t), -1)
	if len(blocks) < 3 {
		t.Errorf("%d commands on the page: the blocks are no longer recognised", len(blocks))
	}
	for _, b := range blocks {
		args := []string{"-client", "roce@" + here + "1", "-server", "roce@" + here + "2"}
		args = append(args, strings.Fields(strings.ReplaceAll(b[2], shown, here))...)
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, b[1]), args...)
		out, err := cmd.CombinedOutput()
		got := strings.ReplaceAll(string(out), here, shown)
		if err != nil {
			got += err.Error() + "\n" // as "go run" does
		}
		if diff := cmp.Diff(normal(b[3]), normal(got)); diff != "" {
			t.Errorf("%s%s prints (-page +now):\n%s\nin full:\n%s", b[1], b[2], diff, got)
		}
	}
}

// normal returns the sorted lines of a text, without what differs between runs.
func normal(text string) []string {
	text = regexp.MustCompile(`0x[0-9a-f]+`).ReplaceAllString(text, "0x#")
	text = regexp.MustCompile(`\b[0-9]+(\.[0-9]+)?( ?(µs|ms|s)\b)?`).ReplaceAllString(text, "#")
	text = regexp.MustCompile(`(?m)^(client|server)  (roce\S+, qp)`).ReplaceAllString(text, "end $2")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return lines
}
