// Package sources opens nodes for scans: this machine, a bundle, or the root directory of a node.
//
//	n, err := sources.OpenBundle("node17.tar.gz")
//	defer n.Close()
//	snapshot, err := inventory.Scan(ctx, n.Sources)
package sources

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/record/verbsports"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

// Causes of errors for names that are not a source of the kind.
var (
	ErrFolder = errors.New("it is a directory")                                            // of OpenBundle
	ErrNoRoot = errors.New("it has neither sys nor proc, so it is not the root of a node") // of all
)

// Node is an opened source of scans. Several goroutines may read it.
type Node struct {
	inventory.Sources
	// Local reports that the node is the machine that the program runs on: only then does the
	// environment of the process belong to the node.
	Local bool
	// Bundle is the recording that the node is read from, nil for the machine and directories.
	Bundle *bundle.Bundle
	facts  *facts.Facts
	close  func() error
}

// Facts returns what is known of the node beside its inventory: its files, and what was recorded of
// the kernel's answers. Each call returns the same value.
func (n *Node) Facts() *facts.Facts {
	if n.facts == nil {
		n.facts = facts.New(n.Root)
	}
	return n.facts
}

// Close closes the files of the node.
func (n *Node) Close() {
	if n.close != nil {
		_ = n.close() // only read
	}
}

// Local opens this machine; the error matches errors.ErrUnsupported on systems other than Linux.
func Local() (*Node, error) {
	local, err := inventory.Local()
	if err != nil {
		return nil, err
	}
	n := &Node{Sources: local.Sources, Local: true, close: local.Close}
	n.facts = facts.New(n.Root)
	return n, nil
}

// OpenBundle opens a recording: an archive, or a tree as text. Errors are those of [bundle.Open],
// or match [ErrFolder] or [ErrNoRoot].
func OpenBundle(name string) (*Node, error) {
	info, _ := os.Stat(name) // opening the file gives a better error
	switch {
	case info == nil:
	case info.IsDir():
		return nil, fmt.Errorf("open bundle %s: %w", name, ErrFolder)
	case info.Mode().IsRegular() && info.Size() == 0:
		return nil, fmt.Errorf("open bundle %s: empty file", name)
	}
	b, err := bundle.Open(name)
	if err != nil {
		return nil, err
	}
	return FromBundle(b, "bundle "+name)
}

// ReadBundle is [OpenBundle] for an open reader, such as standard input; name is for errors.
func ReadBundle(name string, r io.Reader) (*Node, error) {
	in := bufio.NewReader(r)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("open bundle %s: it is empty", name)
	}
	b, err := bundle.Read(name, in)
	if err != nil {
		return nil, err
	}
	return FromBundle(b, "bundle "+name)
}

// FromBundle returns a node for a bundle; label is for messages. The error matches [ErrNoRoot].
func FromBundle(b *bundle.Bundle, label string) (*Node, error) {
	n := &Node{Sources: b.Sources(), Bundle: b}
	n.facts, _ = b.Facts() // checked when it was opened
	addVerbs(n.facts, n.Root)
	if err := checkRoot(n.Root, label); err != nil {
		return nil, err
	}
	return n, nil
}

// OpenFolder opens the root directory of a node or of a recorded node. Errors match [ErrNoRoot].
func OpenFolder(dir string) (*Node, error) {
	root, err := sysfs.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return FromFS(root, root.Close, "root "+dir)
}

// FromFS returns a node for a file tree, with its recorded netlink data if it has any. closeRoot,
// if not nil, is called by Close and if there is an error; label is for messages. Errors match
// [ErrNoRoot].
func FromFS(root fs.FS, closeRoot func() error, label string) (*Node, error) {
	n := &Node{Sources: inventory.Sources{Root: root}, close: closeRoot}
	if err := checkRoot(root, label); err != nil {
		n.Close()
		return nil, err
	}
	live := &inventory.Live{}
	found, err := bundle.Document(root, bundle.LiveFile, live)
	if found {
		n.Sources.Live = live
	}
	n.facts = facts.New(root)
	_, factsErr := bundle.Document(root, bundle.FactsFile, n.facts)
	if err = errors.Join(err, factsErr); err != nil {
		n.Close()
		return nil, fmt.Errorf("open %s: %w", label, err)
	}
	addVerbs(n.facts, root)
	return n, nil
}

// addVerbs adds to the facts what the recording of libibverbs has of ports, if there is one. One
// that can't be read gives a datum that says so: everything else is still of use.
func addVerbs(f *facts.Facts, root fs.FS) {
	data, err := fs.ReadFile(root, bundle.VerbsFile)
	if f.Verbs != nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	f.Verbs = facts.Read(time.Now, func() ([]facts.VerbsPort, error) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", bundle.VerbsFile, err)
		}
		rec, err := recording.Decode(data)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", bundle.VerbsFile, err)
		}
		return verbsports.Of(&rec)
	})
	f.Verbs.Taken, f.Verbs.Took = time.Time{}, 0 // the file has no time
}

// IsRoot reports whether a directory is the root of a node.
func IsRoot(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "sys"))
	return err == nil && info.IsDir()
}

// checkRoot rejects a directory that is not the root of a node, because it would look like a node
// without RDMA.
func checkRoot(root fs.FS, label string) error {
	for _, dir := range []string{"sys", "proc"} {
		if info, err := fs.Stat(root, dir); err == nil && info.IsDir() {
			return nil
		}
	}
	return fmt.Errorf("open %s: %w", label, ErrNoRoot)
}
