package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// StdinName is how standard input is called in places.
const StdinName = "stdin"

// maxFiles bounds what all folders may hold, and how many files kustomizations may read.
const maxFiles = 10_000

// Errors of folders, for callers that branch.
var (
	// ErrChart is the cause for a folder that is a chart of Helm.
	ErrChart = errors.New("a Helm chart, whose templates are no YAML yet")
	// ErrEmpty is the cause for a folder in which nothing is to be read.
	ErrEmpty = errors.New("no manifests in this folder")
)

// Reader reads manifests from files. The zero value has no standard input and leaves out nothing.
type Reader struct {
	Stdin io.Reader // what the name "-" means; nil: there is none
	// Exclude are patterns of package path for names, or for paths below a folder, that are left
	// out of folders.
	Exclude []string
	// Reading, if it is not nil, is called with each file before it is read.
	Reading func(file string)
}

// Read parses files, folders with all that is below them, and "-" for Stdin. Of a folder it takes
// the files that end in .yaml, .yml or .json, in the order of their names, and no hidden ones. A
// kustomization in it is followed: its resources are read with its namespace, prefix and suffix,
// and not what it patches or generates with; Notes say what isn't applied. Charts of Helm, and what
// can't be opened, are errors; the sets hold the rest.
//
// Kustomizations that hold the same objects, or read the same base, are alternatives: each set
// holds one of them and all that is no alternative. There is at least one set.
func (r Reader) Read(names []string) ([]*Set, error) {
	in := &reading{Reader: r, named: map[string]bool{}}
	for _, pattern := range r.Exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return []*Set{{}}, fmt.Errorf("pattern %q: %w", pattern, err)
		}
	}
	for _, name := range names {
		in.list(name)
	}
	sets := in.sets()
	return sets, errors.Join(in.errs...)
}

// Read is that of [Reader] for the first of the sets; a note names what only others hold.
func Read(names []string, stdin io.Reader) (*Set, error) {
	sets, err := Reader{Stdin: stdin}.Read(names)
	set := sets[0]
	for _, other := range sets[1:] {
		others := slices.DeleteFunc(slices.Clone(other.Files),
			func(file string) bool { return slices.Contains(set.Files, file) })
		set.Notes = append(set.Notes,
			"left out, for it has objects of another kustomization: "+strings.Join(others, ", "))
	}
	return set, err
}

// reading is Read at work.
type reading struct {
	Reader
	items []item
	named map[string]bool // what kustomizations name, by key
	files int             // read for kustomizations
	notes []string
	errs  []error
}

// item is a file, or a folder with a kustomization.
type item struct {
	path          string
	kustomization bool
	listed        bool // found in a folder
	set           *Set
}

func (r *reading) fail(err error) { r.errs = append(r.errs, err) }

// key makes paths comparable.
func key(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return filepath.Clean(name)
}

// list finds the files that a name stands for.
func (r *reading) list(name string) {
	info, _ := os.Stat(name) // who opens it tells what is wrong
	if name == "-" || info == nil || !info.IsDir() {
		r.items = append(r.items, item{path: name})
		return
	}
	before, failed := len(r.items), len(r.errs)
	root := filepath.Clean(name) + string(filepath.Separator) // so that it may be a link
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file != root && (strings.HasPrefix(d.Name(), ".") || r.excluded(root, file)):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			return r.folder(filepath.Clean(file))
		case !IsManifestName(file) || isKustomizationName(d.Name()):
		case len(r.items) >= maxFiles:
			return fmt.Errorf("read %s: more than %d files", name, maxFiles)
		default:
			r.items = append(r.items, item{path: file, listed: true})
		}
		return nil
	})
	if err == nil && len(r.items) == before && len(r.errs) == failed {
		err = fmt.Errorf("read %s: %w: no file that is to be read ends in .yaml, .yml or .json", name, ErrEmpty)
	}
	if err != nil {
		r.fail(err)
	}
}

func (r *reading) excluded(dir, file string) bool {
	rel, err := filepath.Rel(dir, file)
	if err != nil {
		return false
	}
	rel = filepath.ToSlash(rel)
	return slices.ContainsFunc(r.Exclude, func(pattern string) bool {
		pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
		byName, _ := path.Match(pattern, path.Base(rel))
		byPath, _ := path.Match(pattern, rel)
		return byName || byPath
	})
}

// folder looks what a folder is, before what is in it.
func (r *reading) folder(dir string) error {
	chart := dir
	if filepath.Base(dir) == "templates" {
		chart = filepath.Dir(dir)
	}
	if isChart(chart) {
		r.fail(fmt.Errorf("read %s: %w: helm template %s | rdmactl k8s lint -", dir, ErrChart, chart))
		return fs.SkipDir
	}
	if kustomizationFile(dir) != "" {
		r.items = append(r.items, item{path: dir, kustomization: true})
	}
	return nil
}

// isChart reports a folder of Helm whose templates are some.
func isChart(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "Chart.yaml")); err != nil {
		return false
	}
	found := false
	_ = filepath.WalkDir(filepath.Join(dir, "templates"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return nil //nolint:nilerr // a folder that can't be read holds no template that could be
		}
		if data, err := ReadFile(file, nil); err == nil && bytes.Contains(data, []byte("{{")) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// IsManifestName reports a name that ends as manifests do.
func IsManifestName(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

func (r *reading) readFile(name string, stdin io.Reader) (*Set, error) {
	if r.Reading != nil {
		r.Reading(name)
	}
	data, err := ReadFile(name, stdin)
	if err != nil {
		return nil, err
	}
	if name == "-" {
		name = StdinName
	}
	return Parse(name, data), nil
}

// ReadFile reads a file, or stdin for "-": of one larger than [MaxFile] one byte more than that, so
// that [Parse] refuses it.
func ReadFile(name string, stdin io.Reader) ([]byte, error) {
	label, in := name, stdin
	if name == "-" {
		label = StdinName
	} else {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	if in == nil {
		return nil, fmt.Errorf("read %s: %w", label, fs.ErrNotExist)
	}
	data, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", label, err)
	}
	return data, nil
}
