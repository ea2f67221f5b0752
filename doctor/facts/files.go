package facts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/rdmakit/rdmakit/inventory"
)

// maxFile is the largest file that is read: those of sysfs are at most one page, but logs and
// tables of procfs are not.
const maxFile = 4 << 20

// Files reads the files of a node, each at most once. Names are relative to the node's root,
// without a leading slash. It is safe for concurrent use; a file whose reading blocks delays only
// those who read the same.
type Files struct {
	root fs.FS

	mu       sync.Mutex // guards the fields below; not held while a file is read
	read     map[string]func() ([]byte, error)
	problems []inventory.Problem
}

// NewFiles returns a reader of the files below a node's root. A nil root has no files.
func NewFiles(root fs.FS) *Files {
	return &Files{root: root, read: map[string]func() ([]byte, error){}}
}

// Bytes returns the content of a regular file of at most 4 MiB; any other is an error. The error
// matches [ErrAbsent] if there is no such file or the kernel has no value for it (EINVAL,
// EOPNOTSUPP), and [ErrDenied] if this process may not read it.
func (f *Files) Bytes(name string) ([]byte, error) {
	f.mu.Lock()
	read, ok := f.read[name]
	if !ok {
		read = sync.OnceValues(func() ([]byte, error) { return f.load(name) })
		f.read[name] = read
	}
	f.mu.Unlock()
	return read()
}

// load reads a file and notes a problem.
func (f *Files) load(name string) ([]byte, error) {
	data, err := f.readFile(name)
	if err != nil && !errors.Is(err, ErrAbsent) && !errors.Is(err, ErrDenied) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.problems = append(f.problems, inventory.Problem{Path: "/" + name, Error: err.Error()})
	}
	return data, err
}

func (f *Files) readFile(name string) ([]byte, error) {
	if f.root == nil {
		return nil, Absent("/%s was not recorded", name)
	}
	// Before it is opened, because opening a FIFO waits for a writer. Files of procfs have size 0.
	if info, err := fs.Stat(f.root, name); err == nil {
		switch {
		case !info.Mode().IsRegular() && !info.IsDir():
			return nil, fmt.Errorf("not a regular file (%s)", info.Mode())
		case info.Size() > maxFile:
			return nil, tooLarge()
		}
	}
	data, err := fs.ReadFile(f.root, name)
	var cause *fs.PathError
	switch {
	case err == nil && len(data) > maxFile:
		return nil, tooLarge()
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

// tooLarge is the error of a file of more than maxFile bytes.
func tooLarge() error { return fmt.Errorf("%w: more than %d MiB", syscall.EFBIG, maxFile>>20) }

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

// maxLinks is how many symbolic links the kernel follows (MAXSYMLINKS in linux/namei.h).
const maxLinks = 40

// Resolve returns a name without symbolic links, and whether it exists:
// "sys/class/net/eth0/device" becomes "sys/devices/pci0000:00/0000:00:03.0". As after chroot(2),
// the target of an absolute link begins at the root, and ".." of the root is the root.
func (f *Files) Resolve(name string) (string, bool) {
	if f.root == nil {
		return "", false
	}
	done, rest, links := ".", name, 0
	for rest != "" {
		first, after, _ := strings.Cut(rest, "/")
		switch first {
		case "", ".":
			rest = after
			continue
		case "..":
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
		if links++; err != nil || links > maxLinks {
			return "", false
		}
		if path.IsAbs(target) {
			done = "."
		}
		rest = target + "/" + after
	}
	return done, true
}
