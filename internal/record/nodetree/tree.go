// Package nodetree holds the files of a node in memory: what a scanner reads
// of /sys, /proc, /dev and the library folders, with symbolic links and with
// the errors that the kernel answers to some reads. Tests, recorded bundles and
// the emulated nodes of the demo are such trees.
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
//	name ! EINVAL    a file that answers this error
//	name -> target   a symbolic link
//	name/            an empty directory
//	name/ ! EACCES   a directory that can't be listed
//
// A name whose last component ends in A..B stands for each number from A to B.
// Names and targets with blanks or with a special meaning are written as Go
// strings.
//
// # Injected errors
//
// EACCES, EPERM, ENOENT, ENXIO and ELOOP are answered to open, all others (also
// ENODEV) to the first read, as the kernel does for sysfs attributes. A name with
// ENOENT is listed, and not there for anything else: what went away while its
// folder was read. ENODATA marks what a recording knows by name only.
//
// # Concurrency
//
// Any number of goroutines may read a tree, through all of its file systems,
// while others change it. An open file re-reads its content at offset 0, as
// sysfs does, and answers ENODEV when it was removed.
//
// # Limits
//
// The loaders ([Parse], [FromFS], [FromTarGz], [Open]) refuse, with [ErrTooLarge], trees
// above 200,000 entries or 64 MiB of contents, names and link targets, files
// above 4 MiB, archives above 8 MiB or 128 MiB unpacked, and what takes long to
// load: deep paths many times over, or links that lead through many others.
// Paths have at most 4096 bytes and their components 255. There are no modes, owners or times:
// directories are 0555 and files 0444, and all writing goes through the [Tree].
package nodetree

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
)

// ErrEscape is the cause of the error for a path or link that leads above the
// root of the tree.
var ErrEscape = errors.New("path leads out of the tree")

// Tree is a tree of files. The zero value is not usable; [New] makes an empty one.
type Tree struct {
	mu    sync.RWMutex // guards everything below, and all nodes
	root  *node
	about string
	made  int // nodes made so far; the loaders bound it
	named int // bytes of their names and link targets, likewise
}

// node is a directory (children not nil), a link (link not empty) or a file.
type node struct {
	parent   *node // nil for the root
	name     string
	children map[string]*node
	link     string
	data     []byte // never changed in place: readers keep it without the lock
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

// Set gives a file this exact content, and creates the file and the directories
// above it where they are missing. It follows links, as writing to the node
// would, and lifts an injected error.
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

// SetError makes a file, created where it is missing, or an existing directory
// answer an error. The zero errno lifts it.
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

// Link makes a symbolic link, and replaces one of that name. The target is not
// checked: it may dangle.
func (t *Tree) Link(name, target string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.addLink(name, target, true); err != nil {
		return &fs.PathError{Op: "link", Path: name, Err: err}
	}
	return nil
}

// Mkdir makes a directory and those above it; an existing one is no error.
func (t *Tree) Mkdir(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := t.dir(name, true); err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: err}
	}
	return nil
}

// Remove takes away a file, a link (not what it leads to) or a directory with
// all that is in it. It answers [fs.ErrNotExist] when there is none.
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

// Equal tells whether two trees hold the same files, links, directories and
// errors. Their About texts don't count.
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

// dir returns a directory and makes it where it is missing. Links on the way
// are followed or refused. The caller holds mu.
func (t *Tree) dir(name string, follow bool) (*node, error) {
	if err := checkPath(name); err != nil {
		return nil, err
	}
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

// errTwice is the answer to a second entry of a name.
var errTwice = fmt.Errorf("%w: the name occurs twice", syscall.EEXIST)

// file returns a file and makes it where it is missing. Without follow it is an
// error when anything has the name already. The caller holds mu.
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

// addLink makes a link; with follow it may replace one. The caller holds mu.
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

// add puts a node into a directory. Names and targets are often part of a longer
// string, a path or the header of an archive, that a copy lets go.
func (t *Tree) add(parent, n *node) *node {
	n.parent, n.name = parent, strings.Clone(n.name)
	parent.children[n.name] = n
	t.made++
	t.named += len(n.name) + len(n.link)
	return n
}

// parent returns the directory of a name, made where it is missing, and the last component.
func (t *Tree) parent(name string, follow bool) (*node, string, error) {
	if err := checkPath(name); err != nil {
		return nil, "", err
	}
	if name == "." {
		return nil, "", syscall.EISDIR
	}
	parent, err := t.dir(path.Dir(name), follow)
	return parent, path.Base(name), err
}

func checkPath(name string) error {
	switch {
	case len(name) > maxPath:
		return fmt.Errorf("%w: a path of %d bytes", fs.ErrInvalid, len(name))
	case strings.HasPrefix(name, "/"), slices.Contains(strings.Split(name, "/"), ".."):
		return fmt.Errorf("%w: leads out of the tree", fs.ErrInvalid)
	case !fs.ValidPath(name), strings.ContainsRune(name, 0):
		return fmt.Errorf("%w: no path of a file", fs.ErrInvalid)
	}
	for elem := range strings.SplitSeq(name, "/") {
		if len(elem) > maxName {
			return fmt.Errorf("%w: a name of %d bytes", fs.ErrInvalid, len(elem))
		}
	}
	return nil
}

// sorted returns the children in the plain order of their names, which io/fs wants.
func (n *node) sorted() []*node {
	list := make([]*node, 0, len(n.children))
	for _, c := range n.children {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	return list
}
