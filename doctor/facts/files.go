package facts

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/rdmakit/rdmakit/inventory"
)

// maxFile is the most that is read of a file: those of sysfs are at most one page, but logs and
// tables of procfs are not.
const maxFile = 4 << 20

// Files reads the files of a node, each at most once. Names are relative to the node's root,
// without a leading slash. It is safe for concurrent use.
type Files struct {
	root fs.FS

	mu       sync.Mutex // guards the fields below
	read     map[string]*file
	problems []inventory.Problem
}

type file struct {
	data []byte
	err  error
}

// NewFiles returns a reader of the files below a node's root. A nil root has no files.
func NewFiles(root fs.FS) *Files { return &Files{root: root, read: map[string]*file{}} }

// Bytes returns the content of a file. The error matches [ErrAbsent] if there is no such file or
// the kernel has no value for it (EINVAL, EOPNOTSUPP), and [ErrDenied] if this process may not read
// it.
func (f *Files) Bytes(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if got, ok := f.read[name]; ok {
		return got.data, got.err
	}
	data, err := f.load(name)
	f.read[name] = &file{data, err}
	if err != nil && !errors.Is(err, ErrAbsent) && !errors.Is(err, ErrDenied) {
		f.problems = append(f.problems, inventory.Problem{Path: "/" + name, Error: err.Error()})
	}
	return data, err
}

func (f *Files) load(name string) ([]byte, error) {
	if f.root == nil {
		return nil, Absent("/%s was not recorded", name)
	}
	data, err := fs.ReadFile(f.root, name)
	var cause *fs.PathError
	switch {
	case err == nil && len(data) > maxFile:
		return nil, syscall.EFBIG
	case err == nil:
		return data, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, Absent("/%s does not exist", name)
	case errors.Is(err, syscall.ENODATA):
		return nil, Absent("/%s was not recorded", name)
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EOPNOTSUPP):
		return nil, Absent("the kernel has no value for /%s", name)
	case errors.Is(err, fs.ErrPermission):
		return nil, Denied("/%s: permission denied", name)
	case errors.As(err, &cause):
		return nil, cause.Err
	}
	return nil, err
}

// Text returns the content of a file without surrounding white space. Errors are those of
// [Files.Bytes]; an empty file is a value.
func (f *Files) Text(name string) (string, error) {
	b, err := f.Bytes(name)
	return strings.ToValidUTF8(string(bytes.TrimSpace(b)), "\uFFFD"), err
}

// Problems returns the files that could not be read so far, in the order of reading. Those that
// take more privilege are not among them.
func (f *Files) Problems() []inventory.Problem {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.problems)
}

// Glob returns the names that match a pattern of [path.Match] below the root, sorted; none if a
// folder on the way can't be listed.
func (f *Files) Glob(pattern string) []string {
	if f.root == nil {
		return nil
	}
	names, err := fs.Glob(f.root, pattern)
	if err != nil {
		return nil
	}
	slices.Sort(names)
	return names
}

// List returns the names in a folder, sorted; none if it can't be listed.
func (f *Files) List(dir string) []string {
	if f.root == nil {
		return nil
	}
	entries, err := fs.ReadDir(f.root, dir)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Exists reports whether there is a file or folder of that name.
func (f *Files) Exists(name string) bool {
	if f.root == nil {
		return false
	}
	_, err := fs.Stat(f.root, name)
	return err == nil
}

// Resolve returns a name without symbolic links, and whether it exists and its links stay below the
// root: "sys/class/net/eth0/device" becomes "sys/devices/pci0000:00/0000:00:03.0".
func (f *Files) Resolve(name string) (string, bool) {
	if f.root == nil {
		return "", false
	}
	done, rest := ".", path.Clean(name)
	for range 64 { // more links than the kernel follows
		if rest == "" || rest == "." {
			return done, true
		}
		first, after, _ := strings.Cut(rest, "/")
		if first == ".." {
			done, rest = path.Dir(done), after
			continue
		}
		next := path.Join(done, first)
		info, err := fs.Lstat(f.root, next)
		if err != nil {
			return "", false
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done, rest = next, after
			continue
		}
		target, err := fs.ReadLink(f.root, next)
		if err != nil {
			return "", false
		}
		if path.IsAbs(target) {
			done = "."
		}
		rest = path.Join(strings.TrimPrefix(target, "/"), after)
	}
	return "", false
}
