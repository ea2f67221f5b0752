package nodetree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// FromFS copies a file system whose root is the root of the node. Files and directories that can't
// be read become injected errors; a file errno.json at the root adds more and is not copied. A file
// system with links must implement [fs.ReadLinkFS], like [os.DirFS] and [os.Root]. Devices, sockets
// and pipes become empty files.
func FromFS(fsys fs.FS) (*Tree, error) {
	c := &copier{from: fsys, tree: New()}
	if err := c.dir("."); err != nil {
		return nil, fmt.Errorf("copy node tree: %w", err)
	}
	if err := c.tree.takeErrnos(&c.budget, false); err != nil {
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
	entries, err := readDir(c.from, name, maxEntries-c.tree.made)
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

// readDir is like fs.ReadDir, but returns an error above a number of entries.
func readDir(fsys fs.FS, name string, limit int) ([]fs.DirEntry, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	dir, ok := file.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	var list []fs.DirEntry
	for {
		some, err := dir.ReadDir(1024)
		list = append(list, some...)
		if len(list) > limit {
			return nil, fmt.Errorf("%s: %w: more than %d entries", name, ErrTooLarge, maxEntries)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func (c *copier) entry(name string, mode fs.FileMode) error {
	if err := c.budget.path(name); err != nil {
		return err
	}
	switch mode.Type() {
	case fs.ModeDir:
		return c.dir(name)
	case fs.ModeSymlink:
		target, err := fs.ReadLink(c.from, name)
		if err != nil {
			return err
		}
		if err := c.tree.addLink(name, target, false); err != nil {
			return wrapName(name, err)
		}
		return c.budget.check(c.tree, 0)
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

// content reads a file, or injects the error that reading it returns.
func (c *copier) content(n *node, name string) error {
	file, err := c.from.Open(name)
	if err == nil {
		n.data, err = io.ReadAll(io.LimitReader(file, maxFile+1))
		n.data = bytes.Clone(n.data) // ReadAll allocates at least 512 bytes
		_ = file.Close()             // only read
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

// WriteDir writes the tree to a directory, which it creates or which must be empty, and the
// injected errors to errno.json in it. It rejects links that are absolute or lead out of the root,
// and returns [ErrTooLarge] for links that lead through too many others to check.
func (t *Tree) WriteDir(dir string) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if err := t.checkLinks(&budget{}); err != nil {
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
