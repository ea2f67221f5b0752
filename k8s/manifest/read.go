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

// StdinName is the name of standard input in places.
const StdinName = "stdin"

// Limits of the number of files in folders, and of those that kustomizations read: overlays of
// overlays multiply them.
const (
	maxFiles     = 100_000
	maxKustomize = 10_000
)

// Errors of folders.
var (
	// ErrChart means that a folder is a Helm chart.
	ErrChart = errors.New("a Helm chart, whose templates must be rendered first")
	// ErrEmpty means that a folder has no files to read.
	ErrEmpty = errors.New("no manifests in this folder")
)

// Reader reads manifests from files. The zero value has no standard input and excludes nothing.
type Reader struct {
	Stdin io.Reader // standard input, for the name "-"; may be nil
	// Exclude are patterns (package path) for file names, or for paths below a folder, to exclude
	// from folders.
	Exclude []string
	// SkipForeign skips files in folders that can't be read and don't look like manifests.
	SkipForeign bool
	// Reading, if it is not nil, is called with each file before it is read.
	Reading func(file string)
}

// Read parses files, folders and everything below them, and "-" for Stdin. In a folder it reads
// the files that end in .yaml, .yml or .json, in the order of their names, except hidden files. Of
// a kustomization it reads the resources and applies namespace, prefix and suffix, but no patches
// and generators; Notes list what is not applied. Helm charts and files that can't be opened are
// errors; the sets contain the rest.
//
// Kustomizations that contain the same objects, or read the same base, are alternatives. Each set
// contains one of them, and everything that has no alternatives. There is at least one set.
func (r Reader) Read(names []string) ([]*Set, error) {
	in := &reading{Reader: r, named: map[string]bool{}, parsed: map[string]*Set{}}
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

// Read returns the first set of [Reader.Read]. A note lists the files of the other sets.
func Read(names []string, stdin io.Reader) (*Set, error) {
	sets, err := Reader{Stdin: stdin}.Read(names)
	set := sets[0]
	for _, other := range sets[1:] {
		others := slices.DeleteFunc(slices.Clone(other.Files),
			func(file string) bool { return slices.Contains(set.Files, file) })
		set.Notes = append(set.Notes,
			"skipped, because they have the same objects as another kustomization: "+strings.Join(others, ", "))
	}
	return set, err
}

// reading is the state of Read.
type reading struct {
	Reader
	items []item
	named map[string]bool // files and folders that kustomizations name, by key
	files int             // number of files read for kustomizations
	// parsed are the files that kustomizations name, by key.
	parsed map[string]*Set
	notes  []string
	errs   []error
}

// item is a file, or a folder with a kustomization.
type item struct {
	path          string
	kustomization bool
	listed        bool   // found in a folder
	unit          string // what is applied as one with a file that was found
	set           *Set
}

func (r *reading) fail(err error) { r.errs = append(r.errs, err) }

// key returns a comparable form of a path.
func key(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return filepath.Clean(name)
}

// list adds the files that a name stands for.
func (r *reading) list(name string) {
	info, _ := os.Stat(name) // opening the file returns the error
	if name == "-" || info == nil || !info.IsDir() {
		r.items = append(r.items, item{path: name})
		return
	}
	before, failed := len(r.items), len(r.errs)
	root := filepath.Clean(name) + string(filepath.Separator) // follows a link
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
			it := item{path: file, listed: true, unit: file}
			if filepath.Dir(file) == filepath.Clean(name) {
				it.unit = name
			}
			r.items = append(r.items, it)
		}
		return nil
	})
	if err == nil && len(r.items) == before && len(r.errs) == failed {
		err = fmt.Errorf("read %s: %w: no file that ends in .yaml, .yml or .json and is not excluded", name, ErrEmpty)
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

// folder handles charts and kustomizations before the files in a folder.
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

// isChart reports whether a folder is a Helm chart whose files contain templates.
func isChart(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "Chart.yaml")); err != nil {
		return false
	}
	found := false
	_ = filepath.WalkDir(filepath.Join(dir, "templates"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return nil //nolint:nilerr // a folder that can't be read has no readable template
		}
		if data, err := ReadFile(file, nil); err == nil && bytes.Contains(data, []byte("{{")) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// IsManifestName reports whether a file name has the extension of a manifest.
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

// ReadFile reads a file, or stdin for "-". It reads at most one byte more than [MaxFile], which
// [Parse] rejects.
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
