package sysfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// ErrnoFile is the name of a file at the root of a recorded tree. It lists the files whose
// reading returned an error: {"path": "EINVAL", …}. These files are empty in the tree,
// since a plain folder can't represent the errors.
const ErrnoFile = "errno.json"

// maxAttribute is the maximum number of bytes that are read from one file: far more than
// in files such as /proc/modules, but no hostile file can fill the memory.
const maxAttribute = 16 << 20

var errTooLong = errors.New("file is longer than 16 MiB")

// Root is a folder that represents the root of a node. It implements [fs.FS] and the
// interfaces of io/fs that a scan uses. Nothing outside the folder can be read, even
// through symbolic links ([os.Root]).
type Root struct {
	root *os.Root
	fs   fs.FS
	dir  *os.File // the folder itself, for readPlain
	base string   // canonical name relative to the root, "." for the root
	// errnos maps canonical names to recorded errors, shared by all sub-roots.
	errnos map[string]syscall.Errno
}

// OpenRoot opens dir. If dir has an errno.json, reading the files listed there returns the
// recorded errors. Close it after use.
func OpenRoot(dir string) (*Root, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open root %s: %w", dir, cause(err))
	}
	root, err := newRoot(r, ".", nil)
	if err == nil {
		root.errnos, err = readErrnos(root.fs)
	}
	if err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("open root %s: %w", dir, err)
	}
	return root, nil
}

func newRoot(r *os.Root, base string, errnos map[string]syscall.Errno) (*Root, error) {
	dir, err := r.Open(".")
	if err != nil {
		return nil, err
	}
	return &Root{root: r, fs: r.FS(), dir: dir, base: base, errnos: errnos}, nil
}

// Close releases the folder. It is idempotent; sub-roots stay open.
func (r *Root) Close() error { return errors.Join(r.closeDir(), r.root.Close()) }

func (r *Root) closeDir() error {
	if err := r.dir.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Sub returns the folder dir as a separate root, so that opening a file in it doesn't walk
// the whole path each time. The caller closes it (it is an [io.Closer]).
func (r *Root) Sub(dir string) (fs.FS, error) {
	if dir == "." {
		dir = ""
	}
	s, err := r.root.OpenRoot(path.Join(".", dir))
	if err != nil {
		return nil, err
	}
	base := path.Join(r.base, dir)
	if len(r.errnos) > 0 {
		// Recorded errors are listed by resolved names, so links must be followed.
		resolved, err := Resolve(r, path.Join(".", dir))
		if err != nil {
			_ = s.Close()
			return nil, err
		}
		base = path.Join(r.base, resolved)
	}
	sub, err := newRoot(s, base, r.errnos)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return sub, nil
}

// Open implements [fs.FS]. It ignores recorded errors; [Root.ReadFile] returns them.
func (r *Root) Open(name string) (fs.File, error) { return r.fs.Open(name) }

// ReadFile implements [fs.ReadFileFS].
func (r *Root) ReadFile(name string) ([]byte, error) {
	if errno, ok := r.recorded(name); ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errno}
	}
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if !strings.Contains(name, "/") {
		if b, ok, err := readPlain(r.dir, name, strings.HasPrefix(r.base, "sys/")); ok {
			return b, err
		}
	}
	return readBounded(r.root, name)
}

// readBounded reads a file of at most maxAttribute bytes.
func readBounded(root *os.Root, name string) (b []byte, err error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err = io.ReadAll(io.LimitReader(f, maxAttribute+1))
	if err == nil && len(b) > maxAttribute {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errTooLong}
	}
	return b, err
}

// ReadDir implements [fs.ReadDirFS].
func (r *Root) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.fs, name) }

// ReadNames returns the names in a folder, unsorted. [fs.ReadDir] would call lstat for each
// of them, which takes longer than reading the entries of a GID table.
func (r *Root) ReadNames(name string) ([]string, error) {
	f, err := r.root.Open(name)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

// Stat implements [fs.StatFS].
func (r *Root) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.fs, name) }

// ReadLink implements [fs.ReadLinkFS].
func (r *Root) ReadLink(name string) (string, error) { return r.root.Readlink(name) }

// Lstat implements [fs.ReadLinkFS].
func (r *Root) Lstat(name string) (fs.FileInfo, error) { return r.root.Lstat(name) }

// recorded returns the recorded error of a file.
func (r *Root) recorded(name string) (syscall.Errno, bool) {
	if len(r.errnos) == 0 {
		return 0, false
	}
	if errno, ok := r.errnos[path.Join(r.base, name)]; ok {
		return errno, true
	}
	if !strings.Contains(name, "/") {
		return 0, false // the base is already canonical
	}
	dir, err := Resolve(r, path.Dir(name))
	if err != nil {
		return 0, false
	}
	errno, ok := r.errnos[path.Join(r.base, dir, path.Base(name))]
	return errno, ok
}

func readErrnos(fsys fs.FS) (map[string]syscall.Errno, error) {
	b, err := fs.ReadFile(fsys, ErrnoFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names map[string]string
	if err := json.Unmarshal(b, &names); err != nil {
		return nil, fmt.Errorf("parse %s: %w", ErrnoFile, err)
	}
	out := make(map[string]syscall.Errno, len(names))
	for file, name := range names {
		errno, ok := ErrnoByName(name)
		if !ok {
			return nil, fmt.Errorf("parse %s: %s: unknown error name %q", ErrnoFile, file, name)
		}
		out[path.Clean(file)] = errno
	}
	return out, nil
}

// Resolve returns name with all symbolic links resolved, relative to the root of fsys. A
// link out of the root, a loop, or a broken link is an error.
func Resolve(fsys fs.FS, name string) (string, error) {
	if r, ok := fsys.(*Root); ok && fs.ValidPath(name) {
		if resolved, ok := r.resolveDir(name); ok {
			return resolved, nil
		}
	}
	return follow(fsys, name)
}

// follow resolves a name element by element.
func follow(fsys fs.FS, name string) (string, error) {
	const maxLinks = 40 // as the kernel's MAXSYMLINKS
	done, rest, links := "", path.Clean(name), 0
	for rest != "" && rest != "." {
		first, after, _ := strings.Cut(rest, "/")
		rest = after
		next := path.Join(done, first)
		if next == ".." || strings.HasPrefix(next, "../") {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: errors.New("link leaves the root")}
		}
		info, err := fs.Lstat(fsys, next)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: syscall.ELOOP}
		}
		target, err := fs.ReadLink(fsys, next)
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: errors.New("link is absolute")}
		}
		// ".." in a link is relative to the folder of the link, whose path is resolved.
		done, rest = "", path.Join(path.Join(done, target), rest)
	}
	if done == "" {
		done = "."
	}
	return done, nil
}
