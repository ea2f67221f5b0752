// Package nodetree keeps the files of a node in memory: the files of /sys, /proc, /dev and the
// library directories that a scanner reads, with symbolic links and with the errors that the kernel
// returns for some files. Test nodes, recorded bundles and the emulated nodes of the demo are such
// trees.
//
//	t, err := nodetree.Parse("node", []byte(`
//	[sys/class/infiniband/mlx5_0/ports/1]
//	state = 4: ACTIVE
//	gids/0..255 = 0000:0000:0000:0000:0000:0000:0000:0000
//	gid_attrs/types/0..255 ! EINVAL
//	`))
//	snapshot, err := inventory.Scan(ctx, inventory.Sources{Root: t.FS()})
//
// # Text form
//
// Lines are independent of their order, except that a header applies to the
// lines after it. Blank lines and lines that start with # are ignored; the
// comment at the very top is kept as the tree's About.
//
//	[dir]            header: the names below are relative to dir; [.] is the root
//	name = value     a file that holds value and a newline
//	name = "value"   a file that holds exactly the Go string
//	name =           a file whose lines follow, each after a | and a space,
//	| line           bare (or as a Go string, where it ends in a space)
//	name ! EINVAL a file that returns this error
//	name -> target   a symbolic link
//	name/            an empty directory
//	name/ ! EACCES   a directory that can't be listed
//
// A name whose last component ends in A..B means one file for each number from A to B. Names and
// targets with spaces or with a special meaning are written as Go strings.
//
// # Injected errors
//
// EACCES, EPERM, ENOENT, ENXIO and ELOOP are returned by open, all others (including ENODEV) by the
// first read, like the kernel does for sysfs attributes. A name with ENOENT is listed but does not
// exist for other operations: it disappeared while its directory was read. ENODATA marks an entry
// of which only the name was recorded.
//
// # Concurrency
//
// Any number of goroutines may read a tree, through all of its file systems, while others change
// it. An open file reads its content again at offset 0, like sysfs, and returns ENODEV after it was
// removed.
//
// # Limits
//
// The loaders ([Parse], [FromFS], [FromTarGz], [Open]) reject, with [ErrTooLarge], trees with more
// than 200,000 entries or 64 MiB of contents, names and link targets, files larger than 4 MiB,
// archives larger than 8 MiB or 128 MiB unpacked, and trees that take long to load: many deep
// paths, or links that lead through many others. Paths have at most 4096 bytes and their components
// 255. There are no modes, owners or times: directories are 0555 and files 0444, and all changes
// use the methods of [Tree].
package nodetree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// ErrEscape is the cause of the error for a path or link that leads above the
// root of the tree.
var ErrEscape = errors.New("path leads out of the tree")

// Tree is a tree of files. The zero value is not usable; [New] makes an empty one.
type Tree struct {
	mu    sync.RWMutex // guards everything below, and all nodes
	root  *node
	about string
	made  int // number of nodes created; the loaders limit it
	named int // bytes of their names and link targets; limited too
}

// node is a directory (children not nil), a link (link not empty) or a file.
type node struct {
	parent   *node // nil for the root
	name     string
	children map[string]*node
	link     string
	data     []byte // never changed in place: readers use it without the lock
	errno    syscall.Errno
	removed  bool
}

func (n *node) isDir() bool  { return n.children != nil }
func (n *node) isLink() bool { return n.link != "" }

// New returns an empty tree.
func New() *Tree {
	return &Tree{root: &node{name: ".", children: map[string]*node{}}}
}

// About returns the comment at the top of the text form, without the # signs.
func (t *Tree) About() string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.about
}

// SetAbout replaces the comment at the top of the text form.
func (t *Tree) SetAbout(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.about = strings.TrimSpace(text)
}

// Set sets the content of a file, and creates the file and its parent directories if necessary. It
// follows links and removes an injected error.
func (t *Tree) Set(name, content string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, err := t.file(name, true)
	if err != nil {
		return &fs.PathError{Op: "set", Path: name, Err: err}
	}
	n.data, n.errno = []byte(content), 0
	return nil
}

// SetError injects an error into a file, which is created if necessary, or an existing directory.
// The zero errno removes it.
func (t *Tree) SetError(name string, errno syscall.Errno) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, err := t.walk(t.root, name, true)
	if err != nil || !n.isDir() {
		n, err = t.file(name, true)
	}
	if err != nil {
		return &fs.PathError{Op: "set error", Path: name, Err: err}
	}
	if !n.isDir() && errno != 0 {
		n.data = nil
	}
	n.errno = errno
	return nil
}

// Link creates a symbolic link, or replaces an existing one. The target need not exist.
func (t *Tree) Link(name, target string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.addLink(name, target, true); err != nil {
		return &fs.PathError{Op: "link", Path: name, Err: err}
	}
	return nil
}

// Mkdir creates a directory and its parents; an existing directory is not an error.
func (t *Tree) Mkdir(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := t.dir(name, true); err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: err}
	}
	return nil
}

// Remove removes a file, a link (not its target) or a directory with its content. It returns
// [fs.ErrNotExist] if the name doesn't exist.
func (t *Tree) Remove(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, err := t.walk(t.root, name, false)
	if err == nil && n.parent == nil {
		err = syscall.EBUSY
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	delete(n.parent.children, n.name)
	n.markRemoved()
	return nil
}

func (n *node) markRemoved() {
	n.removed = true
	for _, c := range n.children {
		c.markRemoved()
	}
}

// Clone returns a copy that shares nothing with the tree.
func (t *Tree) Clone() *Tree {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return &Tree{root: t.root.clone(nil), about: t.about}
}

func (n *node) clone(parent *node) *node {
	c := &node{parent: parent, name: n.name, link: n.link, data: n.data, errno: n.errno}
	if n.isDir() {
		c.children = make(map[string]*node, len(n.children))
		for name, child := range n.children {
			c.children[name] = child.clone(c)
		}
	}
	return c
}

// Equal reports whether two trees have the same files, links, directories and errors. It ignores
// their About texts.
func (t *Tree) Equal(o *Tree) bool {
	if t == nil || o == nil || t == o {
		return t == o
	}
	o = o.Clone() // never hold two locks
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.root.equal(o.root)
}

func (n *node) equal(o *node) bool {
	if n.isDir() != o.isDir() || n.link != o.link || n.errno != o.errno ||
		len(n.children) != len(o.children) || !bytes.Equal(n.data, o.data) {
		return false
	}
	for name, c := range n.children {
		d, ok := o.children[name]
		if !ok || !c.equal(d) {
			return false
		}
	}
	return true
}

// dir returns a directory and creates it if necessary. Links in the path are followed with follow,
// else rejected. The caller holds mu.
func (t *Tree) dir(name string, follow bool) (*node, error) {
	if err := checkPath(name); err != nil {
		return nil, err
	}
	return t.checkedDir(name, follow)
}

// checkedDir is dir for a name that checkPath accepts.
func (t *Tree) checkedDir(name string, follow bool) (*node, error) {
	cur := t.root
	if name == "." {
		return cur, nil
	}
	for elem := range strings.SplitSeq(name, "/") {
		next, ok := cur.children[elem]
		switch {
		case !ok:
			next = t.add(cur, &node{name: elem, children: map[string]*node{}})
		case next.isLink() && follow:
			var err error
			if next, err = t.walk(cur, elem, true); err != nil {
				return nil, err
			}
		}
		if !next.isDir() {
			return nil, syscall.ENOTDIR
		}
		cur = next
	}
	return cur, nil
}

// errTwice is the error for a second entry with the same name.
var errTwice = fmt.Errorf("%w: the name occurs twice", syscall.EEXIST)

// file returns a file and creates it if necessary. Without follow it is an error if the name
// exists. The caller holds mu.
func (t *Tree) file(name string, follow bool) (*node, error) {
	parent, base, err := t.parent(name, follow)
	if err != nil {
		return nil, err
	}
	n, ok := parent.children[base]
	switch {
	case !ok:
		n = t.add(parent, &node{name: base})
	case !follow:
		return nil, errTwice
	case n.isLink():
		if n, err = t.walk(parent, base, true); err != nil {
			return nil, err
		}
	}
	if n.isDir() {
		return nil, syscall.EISDIR
	}
	return n, nil
}

// addLink creates a link; with follow it may replace one. The caller holds mu.
func (t *Tree) addLink(name, target string, follow bool) error {
	if target == "" || len(target) > maxPath || strings.ContainsRune(target, 0) {
		return fmt.Errorf("link target %.80q: %w", target, syscall.EINVAL)
	}
	parent, base, err := t.parent(name, follow)
	if err != nil {
		return err
	}
	if n, ok := parent.children[base]; ok && (!follow || !n.isLink()) {
		return errTwice
	}
	t.add(parent, &node{name: base, link: strings.Clone(target)})
	return nil
}

// add adds a node to a directory. It copies names and targets, because they are often part of a
// longer string that could not be freed otherwise.
func (t *Tree) add(parent, n *node) *node {
	n.parent, n.name = parent, strings.Clone(n.name)
	parent.children[n.name] = n
	t.made++
	t.named += len(n.name) + len(n.link)
	return n
}

// parent returns the directory of a name, which it creates if necessary, and the last component.
func (t *Tree) parent(name string, follow bool) (*node, string, error) {
	if err := checkPath(name); err != nil {
		return nil, "", err
	}
	if name == "." {
		return nil, "", syscall.EISDIR
	}
	above, base := ".", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		above, base = name[:i], name[i+1:]
	}
	parent, err := t.checkedDir(above, follow)
	return parent, base, err
}

// checkPath is called for each entry of an archive, of which there are tens of thousands.
func checkPath(name string) error {
	switch {
	case len(name) > maxPath:
		return fmt.Errorf("%w: a path of %d bytes", fs.ErrInvalid, len(name))
	case !fs.ValidPath(name) || strings.IndexByte(name, 0) >= 0:
		if strings.HasPrefix(name, "/") || slices.Contains(strings.Split(name, "/"), "..") {
			return fmt.Errorf("%w: leads out of the tree", fs.ErrInvalid)
		}
		return fmt.Errorf("%w: not the path of a file", fs.ErrInvalid)
	case len(name) <= maxName:
		return nil
	}
	for elem := range strings.SplitSeq(name, "/") {
		if len(elem) > maxName {
			return fmt.Errorf("%w: a name of %d bytes", fs.ErrInvalid, len(elem))
		}
	}
	return nil
}

// sorted returns the children sorted by name, as io/fs requires.
func (n *node) sorted() []*node {
	list := make([]*node, 0, len(n.children))
	for _, c := range n.children {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	return list
}
