package nodetree

import (
	"io"
	"io/fs"
	"path"
	"syscall"
	"time"
)

// fileSystem is the view of a tree from one of its directories.
type fileSystem struct {
	tree *Tree
	dir  string // path from the root of the tree
}

// The interfaces that inventory and io/fs use.
var (
	_ fs.ReadFileFS = fileSystem{}
	_ fs.ReadDirFS  = fileSystem{}
	_ fs.StatFS     = fileSystem{}
	_ fs.ReadLinkFS = fileSystem{}
	_ fs.SubFS      = fileSystem{}
)

// FS returns the tree as a file system, which reflects later changes of the tree. It implements
// [fs.ReadFileFS], [fs.ReadDirFS], [fs.StatFS], [fs.ReadLinkFS] and [fs.SubFS]. Links are resolved
// inside the root of the tree, also below Sub: a link above the root is an error that wraps
// [ErrEscape], a loop returns ELOOP, a dangling link matches [fs.ErrNotExist]. All errors are
// *fs.PathError.
func (t *Tree) FS() fs.FS { return fileSystem{tree: t, dir: "."} }

// find resolves a name of the view. The caller holds the tree's lock.
func (f fileSystem) find(op, name string, follow bool) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	full := name
	if f.dir != "." {
		full = path.Join(f.dir, name)
	}
	n, err := f.tree.walk(f.tree.root, full, follow)
	if err == nil && n.errno == syscall.ENOENT {
		err = syscall.ENOENT // listed, but gone when it was examined
	}
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return n, nil
}

// open is like find, for operations that open the entry.
func (f fileSystem) open(name string) (*node, error) {
	n, err := f.find("open", name, true)
	if err == nil && n.errno != 0 && failsAtOpen(n.errno) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: n.errno}
	}
	return n, err
}

// Open implements fs.FS.
func (f fileSystem) Open(name string) (fs.File, error) {
	f.tree.mu.RLock()
	defer f.tree.mu.RUnlock()
	n, err := f.open(name)
	if err != nil {
		return nil, err
	}
	if n.isDir() {
		return &openDir{fsys: f, name: name, node: n}, nil
	}
	return &openFile{tree: f.tree, name: name, node: n}, nil
}

// ReadFile implements fs.ReadFileFS.
func (f fileSystem) ReadFile(name string) ([]byte, error) {
	f.tree.mu.RLock()
	n, err := f.open(name)
	if err != nil {
		f.tree.mu.RUnlock()
		return nil, err
	}
	data, err := n.read(name)
	f.tree.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	return append(make([]byte, 0, len(data)), data...), nil
}

// ReadDir implements fs.ReadDirFS.
func (f fileSystem) ReadDir(name string) ([]fs.DirEntry, error) {
	f.tree.mu.RLock()
	defer f.tree.mu.RUnlock()
	n, err := f.open(name)
	if err != nil {
		return nil, err
	}
	return n.list(name)
}

// Stat implements fs.StatFS.
func (f fileSystem) Stat(name string) (fs.FileInfo, error) {
	f.tree.mu.RLock()
	defer f.tree.mu.RUnlock()
	n, err := f.find("stat", name, true)
	if err != nil {
		return nil, err
	}
	return n.info(path.Base(name)), nil
}

// Lstat implements fs.ReadLinkFS.
func (f fileSystem) Lstat(name string) (fs.FileInfo, error) {
	f.tree.mu.RLock()
	defer f.tree.mu.RUnlock()
	n, err := f.find("lstat", name, false)
	if err != nil {
		return nil, err
	}
	return n.info(path.Base(name)), nil
}

// ReadLink implements fs.ReadLinkFS.
func (f fileSystem) ReadLink(name string) (string, error) {
	f.tree.mu.RLock()
	defer f.tree.mu.RUnlock()
	n, err := f.find("readlink", name, false)
	if err != nil {
		return "", err
	}
	if !n.isLink() {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: syscall.EINVAL}
	}
	return n.link, nil
}

// Sub implements fs.SubFS. The directory must exist, and links below it still
// resolve inside the whole tree.
func (f fileSystem) Sub(dir string) (fs.FS, error) {
	f.tree.mu.RLock()
	defer f.tree.mu.RUnlock()
	n, err := f.find("sub", dir, true)
	if err != nil {
		return nil, err
	}
	if !n.isDir() {
		return nil, &fs.PathError{Op: "sub", Path: dir, Err: syscall.ENOTDIR}
	}
	return fileSystem{tree: f.tree, dir: path.Join(f.dir, dir)}, nil
}

// read returns the content of a file. The caller holds the tree's lock.
func (n *node) read(name string) ([]byte, error) {
	var cause error
	switch {
	case n.isDir():
		cause = syscall.EISDIR
	case n.removed:
		cause = syscall.ENODEV
	case n.errno != 0:
		cause = n.errno
	default:
		return n.data, nil
	}
	return nil, &fs.PathError{Op: "read", Path: name, Err: cause}
}

// list returns the entries of a directory. The caller holds the tree's lock.
func (n *node) list(name string) ([]fs.DirEntry, error) {
	if !n.isDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	if n.errno != 0 {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: n.errno}
	}
	entries := make([]fs.DirEntry, 0, len(n.children))
	for _, c := range n.sorted() {
		entries = append(entries, fs.FileInfoToDirEntry(c.info(c.name)))
	}
	return entries, nil
}

// info describes a node with the name by which it was opened.
func (n *node) info(name string) fs.FileInfo {
	switch {
	case n.isDir():
		return fileInfo{name: name, mode: fs.ModeDir | 0o555}
	case n.isLink():
		return fileInfo{name: name, mode: fs.ModeSymlink | 0o777, size: int64(len(n.link))}
	}
	return fileInfo{name: name, mode: 0o444, size: int64(len(n.data))}
}

type fileInfo struct {
	name string
	mode fs.FileMode
	size int64
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }

// openFile is an open file. Like any fs.File it is for one goroutine.
type openFile struct {
	tree   *Tree
	name   string
	node   *node
	data   []byte // content since the last read at offset 0
	offset int64
	closed bool
}

func (f *openFile) Stat() (fs.FileInfo, error) {
	if f.closed {
		return nil, &fs.PathError{Op: "stat", Path: f.name, Err: fs.ErrClosed}
	}
	f.tree.mu.RLock()
	defer f.tree.mu.RUnlock()
	return f.node.info(path.Base(f.name)), nil
}

func (f *openFile) Read(b []byte) (int, error) {
	if f.closed {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: fs.ErrClosed}
	}
	if f.offset == 0 {
		f.tree.mu.RLock()
		data, err := f.node.read(f.name)
		f.tree.mu.RUnlock()
		if err != nil {
			return 0, err
		}
		f.data = data
	}
	if f.offset >= int64(len(f.data)) {
		if len(b) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(b, f.data[f.offset:])
	f.offset += int64(n)
	return n, nil
}

// Seek implements io.Seeker; after a seek to 0 the next Read sees new content.
func (f *openFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += int64(len(f.data))
	}
	if f.closed || offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
		return 0, &fs.PathError{Op: "seek", Path: f.name, Err: fs.ErrInvalid}
	}
	f.offset = offset
	return offset, nil
}

func (f *openFile) Close() error {
	f.closed = true
	return nil
}

// openDir is an open directory. It lists the content of the directory at the time of the first
// ReadDir.
type openDir struct {
	fsys    fileSystem
	name    string
	node    *node
	entries []fs.DirEntry
	read    bool
	closed  bool
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.node.info(path.Base(d.name)), nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: syscall.EISDIR}
}

func (d *openDir) Close() error {
	d.closed = true
	return nil
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if d.closed {
		return nil, &fs.PathError{Op: "readdir", Path: d.name, Err: fs.ErrClosed}
	}
	if !d.read {
		d.fsys.tree.mu.RLock()
		entries, err := d.node.list(d.name)
		d.fsys.tree.mu.RUnlock()
		if err != nil {
			return nil, err
		}
		d.entries, d.read = entries, true
	}
	if n > 0 && len(d.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.entries) {
		n = len(d.entries)
	}
	out := d.entries[:n:n]
	d.entries = d.entries[n:]
	return out, nil
}
