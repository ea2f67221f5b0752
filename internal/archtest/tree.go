package archtest

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Tree is a module as the rules see it: its source files, parsed, and the import graph that the
// go command resolves, standard library and other modules included.
type Tree struct {
	// Module is the module's path.
	Module string
	// Files are all Go files, sorted by path.
	Files []*File
	// Requires are the module paths that go.mod requires, direct or not.
	Requires []string
	// Graph maps each import path that the module reaches, on any of the targets that Load
	// looks at, to its package. Tests are not part of it.
	Graph map[string]*Package

	fset *token.FileSet
}

// File is one Go file of the module.
type File struct {
	// Path and Dir are slash-separated and relative to the module's root; Dir is "." there.
	Path, Dir string
	// Test says that the name ends in _test.go.
	Test bool
	// Generated says that the file carries the standard "Code generated … DO NOT EDIT." line.
	Generated bool
	// Lines counts the file's lines.
	Lines int
	// AST is the parsed file, comments included.
	AST *ast.File
}

// Package is one node of the import graph.
type Package struct {
	// Standard says that the package belongs to the standard library.
	Standard bool
	// Module is the path of the module that holds it; "" in the standard library.
	Module string
	// Imports are import paths, over all targets.
	Imports []string
}

// Load reads the module rooted at dir. It needs the go command for the import graph, and the
// module's requirements in the module cache.
func Load(ctx context.Context, dir string) (*Tree, error) {
	tree := &Tree{fset: token.NewFileSet()}
	if err := tree.readModule(ctx, dir); err != nil {
		return nil, err
	}
	if err := tree.readFiles(dir); err != nil {
		return nil, err
	}
	if err := tree.readGraph(ctx, dir); err != nil {
		return nil, err
	}
	return tree, nil
}

// readFiles parses every Go file under dir that belongs to the module.
func (t *Tree) readFiles(dir string) error {
	return filepath.WalkDir(dir, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, full)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && outside(full, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(rel) != ".go" {
			return nil
		}
		return t.readFile(full, rel)
	})
}

// outside says whether the go command would not count a folder to the module.
func outside(full, name string) bool {
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(full, "go.mod"))
	return err == nil
}

func (t *Tree) readFile(full, rel string) error {
	src, err := os.ReadFile(full)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(t.fset, rel, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse: %w", err) // err begins with path:line
	}
	t.Files = append(t.Files, &File{
		Path:      rel,
		Dir:       path.Dir(rel),
		Test:      strings.HasSuffix(rel, "_test.go"),
		Generated: ast.IsGenerated(file),
		Lines:     t.fset.File(file.FileStart).LineCount(),
		AST:       file,
	})
	return nil
}

// wrongAt builds a violation that is about one place in a file.
func (t *Tree) wrongAt(pos token.Pos, format string, args ...any) Violation {
	p := t.fset.Position(pos)
	return Violation{Path: p.Filename, Line: p.Line, What: fmt.Sprintf(format, args...)}
}

// local returns the folder of an import path inside the module, relative to its root.
func (t *Tree) local(importPath string) (dir string, ok bool) {
	if importPath == t.Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, t.Module+"/")
}

// eachImport calls f for every import of every non-test file, with the unquoted path.
func (t *Tree) eachImport(f func(file *File, spec *ast.ImportSpec, importPath string)) {
	for _, file := range t.Files {
		if file.Test {
			continue
		}
		for _, spec := range file.AST.Imports {
			importPath, err := strconv.Unquote(spec.Path.Value)
			if err != nil { // the parser has accepted it: can't be
				continue
			}
			f(file, spec, importPath)
		}
	}
}

// dirs returns the folders that hold Go files, sorted.
func (t *Tree) dirs() []string {
	var dirs []string
	for _, f := range t.Files {
		dirs = append(dirs, f.Dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// under says whether dir is one of roots or below one.
func under(dir string, roots ...string) bool {
	for _, root := range roots {
		if dir == root || strings.HasPrefix(dir, root+"/") {
			return true
		}
	}
	return false
}
