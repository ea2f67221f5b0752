package nodetree

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/sysfs"
)

// errnoFile is the file of an archive or directory that lists the injected
// errors: an object from paths to names such as "EINVAL". The files are empty
// in the archive.
const errnoFile = "errno.json"

// maxStream bounds what a gzip stream may grow to: the content and a header
// and padding for each entry.
const maxStream = maxTotal + maxEntries*1024

// Open reads a tree from a tar.gz archive or a file in text form, told apart by
// content.
func Open(name string) (*Tree, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open node tree: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(file, maxTotal+1))
	if err != nil {
		return nil, fmt.Errorf("open node tree %s: %w", name, err)
	}
	if len(data) > maxTotal {
		return nil, fmt.Errorf("open node tree %s: %w", name, ErrTooLarge)
	}
	if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return Parse(name, data)
	}
	t, err := FromTarGz(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("open node tree %s: %w", name, err)
	}
	return t, nil
}

// FromFS copies a file system, whose root is the node's. Files and directories
// that can't be read become injected errors; a file errno.json at the top adds
// more and is left out. A file system with links must implement fs.ReadLinkFS,
// as os.DirFS and os.Root do. Devices, sockets and pipes become empty files.
func FromFS(fsys fs.FS) (*Tree, error) {
	c := &copier{from: fsys, tree: New()}
	if err := c.dir("."); err != nil {
		return nil, fmt.Errorf("copy node tree: %w", err)
	}
	if err := c.tree.takeErrnos(); err != nil {
		return nil, fmt.Errorf("copy node tree: %w", err)
	}
	return c.tree, nil
}

type copier struct {
	from   fs.FS
	tree   *Tree
	budget budget
}

func (c *copier) dir(name string) error {
	n, err := c.tree.dir(name, false)
	if err != nil {
		return wrapName(name, err)
	}
	if err := c.budget.check(c.tree, 0); err != nil {
		return err
	}
	entries, err := fs.ReadDir(c.from, name)
	if err != nil {
		errno, ok := injectable(err)
		if !ok || name == "." {
			return err
		}
		n.errno = errno
		return nil
	}
	for _, e := range entries {
		if err := c.entry(path.Join(name, e.Name()), e.Type()); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) entry(name string, mode fs.FileMode) error {
	switch mode.Type() {
	case fs.ModeDir:
		return c.dir(name)
	case fs.ModeSymlink:
		target, err := fs.ReadLink(c.from, name)
		if err != nil {
			return err
		}
		return wrapName(name, c.tree.addLink(name, target, false))
	}
	n, err := c.tree.file(name, false)
	if err != nil {
		return wrapName(name, err)
	}
	if mode.IsRegular() {
		if err := c.content(n, name); err != nil {
			return err
		}
	}
	return c.budget.check(c.tree, len(n.data))
}

// content reads a file, or notes the error that reading it answers.
func (c *copier) content(n *node, name string) error {
	file, err := c.from.Open(name)
	if err == nil {
		n.data, err = io.ReadAll(io.LimitReader(file, maxFile+1))
		_ = file.Close() // only read
	}
	if err != nil {
		errno, ok := injectable(err)
		if !ok {
			return err
		}
		n.data, n.errno = nil, errno
	}
	if len(n.data) > maxFile {
		return fmt.Errorf("%s: %w: more than %d bytes", name, ErrTooLarge, maxFile)
	}
	return nil
}

// FromTarGz reads a tree from a gzip-compressed tar archive. A file errno.json
// at its top becomes injected errors. It refuses what a node tree does not need
// and an attacker could use: absolute names and links, "..", links that leave
// the root, hard links and devices, entries below links, files named twice, and
// archives above the bounds.
func FromTarGz(r io.Reader) (*Tree, error) { return fromTarGz(r, maxStream) }

// fromTarGz refuses archives that unpack to streamLimit bytes or more.
func fromTarGz(r io.Reader, streamLimit int64) (*Tree, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	stream := &io.LimitedReader{R: zr, N: streamLimit}
	u := &unpacker{tree: New()}
	tr := tar.NewReader(stream)
	for {
		hdr, err := tr.Next()
		if errors.Is(err, io.EOF) && stream.N > 0 {
			break
		}
		if stream.N <= 0 {
			err = ErrTooLarge
		}
		if err != nil {
			return nil, fmt.Errorf("read archive: %w", err)
		}
		if err := u.entry(hdr, tr); err != nil {
			return nil, fmt.Errorf("read archive: entry %.200q: %w", hdr.Name, err)
		}
	}
	if err := u.tree.checkLinks(); err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	if err := u.tree.takeErrnos(); err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	return u.tree, nil
}

type unpacker struct {
	tree   *Tree
	budget budget
}

func (u *unpacker) entry(hdr *tar.Header, r io.Reader) error {
	if hdr.Typeflag == tar.TypeXGlobalHeader { // the commit, in archives that git made
		return nil
	}
	name := strings.TrimSuffix(strings.TrimPrefix(hdr.Name, "./"), "/")
	if name == "" && hdr.Typeflag == tar.TypeDir {
		name = "."
	}
	if err := checkPath(name); err != nil {
		return err
	}
	var err error
	size := 0
	switch hdr.Typeflag {
	case tar.TypeDir:
		_, err = u.tree.dir(name, false)
	case tar.TypeSymlink:
		err = u.tree.addLink(name, hdr.Linkname, false)
	case tar.TypeReg:
		size, err = u.file(name, hdr, r)
	default:
		return fmt.Errorf("neither file, directory nor symbolic link (type %q)", hdr.Typeflag)
	}
	if err != nil {
		return err
	}
	return u.budget.check(u.tree, size)
}

func (u *unpacker) file(name string, hdr *tar.Header, r io.Reader) (int, error) {
	if hdr.Size > maxFile {
		return 0, fmt.Errorf("%w: %d bytes in one file", ErrTooLarge, hdr.Size)
	}
	n, err := u.tree.file(name, false)
	if err != nil {
		return 0, err
	}
	n.data, err = io.ReadAll(io.LimitReader(r, maxFile))
	return len(n.data), err
}

// checkLinks refuses links that are absolute or lead out of the root. Links are
// looked at as text, so that a dangling one can't hide its way out, and
// resolved, so that one can't lead out through another.
func (t *Tree) checkLinks() error {
	return t.visit(t.root, ".", func(name string, n *node) error {
		if !n.isLink() {
			return nil
		}
		lexical := path.Join(path.Dir(name), n.link)
		if strings.HasPrefix(n.link, "/") || lexical == ".." || strings.HasPrefix(lexical, "../") {
			return fmt.Errorf("link %s -> %.200s: %w", name, n.link, ErrEscape)
		}
		if _, err := t.walk(t.root, name, true); errors.Is(err, ErrEscape) {
			return fmt.Errorf("link %s -> %.200s: %w", name, n.link, ErrEscape)
		}
		return nil
	})
}

// visit calls a function for a node and all below it, in the order of names.
func (t *Tree) visit(n *node, name string, f func(name string, n *node) error) error {
	if err := f(name, n); err != nil {
		return err
	}
	for _, c := range n.sorted() {
		if err := t.visit(c, path.Join(name, c.name), f); err != nil {
			return err
		}
	}
	return nil
}

// takeErrnos turns errno.json into injected errors.
func (t *Tree) takeErrnos() error {
	n, ok := t.root.children[errnoFile]
	if !ok || n.isDir() || n.isLink() {
		return nil
	}
	var list map[string]string
	if err := json.Unmarshal(n.data, &list); err != nil {
		return fmt.Errorf("%s: %w", errnoFile, err)
	}
	delete(t.root.children, errnoFile)
	for name, value := range list {
		errno, err := parseErrno(value)
		if err != nil {
			return fmt.Errorf("%s: %.200s: %w", errnoFile, name, err)
		}
		if err := checkPath(name); err != nil {
			return fmt.Errorf("%s: %.200q: %w", errnoFile, name, err)
		}
		n, err := t.walk(t.root, name, false)
		if err == nil && n.isLink() {
			err = syscall.ELOOP
		}
		if err != nil {
			return fmt.Errorf("%s: %.200s: %w", errnoFile, name, err)
		}
		n.errno = errno
		if !n.isDir() {
			n.data = nil
		}
	}
	return nil
}

// WriteDir writes the tree to a directory, which it creates or which is empty,
// and the injected errors to errno.json in it. It refuses links that are
// absolute or lead out of the root, because on disk they would.
func (t *Tree) WriteDir(dir string) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if err := t.checkLinks(); err != nil {
		return fmt.Errorf("write node tree %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write node tree: %w", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return fmt.Errorf("write node tree %s: %w", dir, errors.Join(err, errNotEmpty(len(entries))))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("write node tree: %w", err)
	}
	err = t.writeTo(root)
	if err = errors.Join(err, root.Close()); err != nil {
		return fmt.Errorf("write node tree %s: %w", dir, err)
	}
	return nil
}

func errNotEmpty(entries int) error {
	if entries == 0 {
		return nil
	}
	return syscall.EEXIST
}

func (t *Tree) writeTo(root *os.Root) error {
	list := map[string]string{}
	err := t.visit(t.root, ".", func(name string, n *node) error {
		if errno, ok := sysfs.ErrnoName(n.errno); ok {
			list[name] = errno
		}
		local := filepath.FromSlash(name)
		switch {
		case n.parent == nil:
			return nil
		case n.isDir():
			return root.Mkdir(local, 0o755)
		case n.isLink():
			return root.Symlink(filepath.FromSlash(n.link), local)
		}
		return root.WriteFile(local, n.data, 0o644)
	})
	if err != nil || len(list) == 0 {
		return err
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return root.WriteFile(errnoFile, append(text, '\n'), 0o644)
}
