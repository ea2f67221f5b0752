// Package sources opens nodes for scans: this machine, a bundle, and the folder that is the root of
// a node.
//
//	n, err := sources.OpenBundle("node17.tar.gz")
//	defer n.Close()
//	snapshot, err := inventory.Scan(ctx, n.Sources)
package sources

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/inventory"
)

// Causes of errors for what is no source of this kind.
var (
	ErrFolder = errors.New("it is a folder")                                               // of OpenBundle
	ErrNoRoot = errors.New("it has neither sys nor proc, so it is not the root of a node") // of all
)

// Node is an opened source of scans. Several goroutines may read it.
type Node struct {
	inventory.Sources
	// Local tells that it is the machine that the program runs on: only there does the
	// environment of the process belong to the node.
	Local bool
	// Bundle is the recording that the node is read from, nil for the machine and folders.
	Bundle *bundle.Bundle
	close  func() error
}

// Close releases what the node holds open.
func (n *Node) Close() {
	if n.close != nil {
		_ = n.close() // only read
	}
}

// Local opens this machine; the error matches errors.ErrUnsupported on a system that is not Linux.
func Local() (*Node, error) {
	local, err := inventory.Local()
	if err != nil {
		return nil, err
	}
	return &Node{Sources: local.Sources, Local: true, close: local.Close}, nil
}

// OpenBundle opens a recording: an archive, or a tree as text. Errors are those of [bundle.Open]
// and match [ErrFolder] or [ErrNoRoot] besides.
func OpenBundle(name string) (*Node, error) {
	info, _ := os.Stat(name) // what fails here is told better by who opens it
	switch {
	case info == nil:
	case info.IsDir():
		return nil, fmt.Errorf("open bundle %s: %w", name, ErrFolder)
	case info.Mode().IsRegular() && info.Size() == 0:
		return nil, fmt.Errorf("open bundle %s: it is empty", name)
	}
	b, err := bundle.Open(name)
	if err != nil {
		return nil, err
	}
	return FromBundle(b, "bundle "+name)
}

// ReadBundle is [OpenBundle] for what is open already, such as standard input; name is for errors.
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

// FromBundle makes a node of a bundle; label is for messages. The error matches [ErrNoRoot].
func FromBundle(b *bundle.Bundle, label string) (*Node, error) {
	n := &Node{Sources: b.Sources(), Bundle: b}
	if err := checkRoot(n.Root, label); err != nil {
		return nil, err
	}
	return n, nil
}

// OpenFolder opens the folder that is the root of a node, or of one that was recorded. Errors match
// [ErrNoRoot].
func OpenFolder(dir string) (*Node, error) {
	root, err := sysfs.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return FromFS(root, root.Close, "root "+dir)
}

// FromFS makes a node of a tree that was recorded or made elsewhere, with its recorded answers of
// netlink where it has them. closeRoot, if it is not nil, is called by Close, and if there is an
// error; label is for messages. Errors match [ErrNoRoot].
func FromFS(root fs.FS, closeRoot func() error, label string) (*Node, error) {
	n := &Node{Sources: inventory.Sources{Root: root}, close: closeRoot}
	if err := checkRoot(root, label); err != nil {
		n.Close()
		return nil, err
	}
	data, err := fs.ReadFile(root, bundle.LiveFile)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	live := &inventory.Live{}
	if err == nil {
		err = json.Unmarshal(data, live)
	}
	if err != nil {
		n.Close()
		return nil, fmt.Errorf("read %s of %s: %w", bundle.LiveFile, label, err)
	}
	n.Sources.Live = live
	return n, nil
}

// IsRoot reports that a folder is the root of a node and no folder of files.
func IsRoot(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "sys"))
	return err == nil && info.IsDir()
}

// checkRoot refuses a folder that is not the root of a node: it would look like
// a node without RDMA.
func checkRoot(root fs.FS, label string) error {
	for _, dir := range []string{"sys", "proc"} {
		if info, err := fs.Stat(root, dir); err == nil && info.IsDir() {
			return nil
		}
	}
	return fmt.Errorf("open %s: %w", label, ErrNoRoot)
}
