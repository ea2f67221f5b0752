package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// target is a fuzz target. Its folder is relative to the module's and begins with "./".
type target struct {
	folder, path, name string
}

// listed is the output of go list for a package.
type listed struct {
	Dir, ImportPath                    string
	TestGoFiles, XTestGoFiles          []string
	Imports, TestImports, XTestImports []string
	Deps                               []string // all dependencies
	Module                             struct{ Dir string }
}

// module holds the packages of a module by import path, and its fuzz targets, sorted by package and
// name.
type module struct {
	dir      string
	packages map[string]*listed
	targets  []target
}

// readModule reads the module that contains dir. It compiles nothing: the declarations in the test
// files are enough, and go list selects the files for this system.
func readModule(ctx context.Context, dir string) (*module, error) {
	const fields = "Dir,ImportPath,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Deps,Module"
	cmd := exec.CommandContext(ctx, "go", "list", "-json="+fields, "./...")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	m := &module{packages: map[string]*listed{}}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read go list: %w", err)
		}
		m.dir, m.packages[p.ImportPath] = p.Module.Dir, p
		if err := m.addTargets(p); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(m.targets, func(a, b target) int {
		return strings.Compare(a.path+"\x00"+a.name, b.path+"\x00"+b.name)
	})
	return m, nil
}

func (m *module) addTargets(p *listed) error {
	for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		names, err := fuzzTargets(filepath.Join(p.Dir, file))
		if err != nil {
			return err
		}
		for _, name := range names {
			m.targets = append(m.targets, target{folder: "./" + m.folder(p), path: p.ImportPath, name: name})
		}
	}
	return nil
}

// folder returns a package's folder below the module's, with slashes.
func (m *module) folder(p *listed) string {
	rel, err := filepath.Rel(m.dir, p.Dir)
	if err != nil {
		return p.Dir
	}
	return filepath.ToSlash(rel)
}

// fuzzTargets returns the fuzz targets that a test file declares.
func fuzzTargets(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(text, []byte("func Fuzz")) {
		return nil, err
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

// packagesOf returns the sorted import paths of the packages that files belong to: the file's
// folder, or the nearest folder above it that is a package (for testdata and embedded files). Files
// outside of packages, such as documents, are left out.
func (m *module) packagesOf(files []string) []string {
	byFolder := map[string]string{}
	for _, p := range m.packages {
		byFolder[m.folder(p)] = p.ImportPath
	}
	var out []string
	for _, f := range files {
		for dir := path.Dir(f); dir != "."; dir = path.Dir(dir) {
			if p, ok := byFolder[dir]; ok {
				out = append(out, p)
				break
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
