package inventory

import (
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// LocalNode is this machine as a source of scans.
type LocalNode struct {
	Sources
	root *sysfs.Root
}

// Local opens this machine: its file tree, netlink, and its character devices, which
// are opened and closed to check the permissions of the process. On systems other than
// Linux it is not supported; the error then matches [errors.ErrUnsupported]. Close it
// after use.
func Local() (*LocalNode, error) {
	live := localLive()
	if live == nil {
		return nil, fmt.Errorf("open this machine: only Linux has the files and netlink to read: %w",
			errors.ErrUnsupported)
	}
	root, err := sysfs.OpenRoot("/")
	if err != nil {
		return nil, err
	}
	return &LocalNode{Sources: Sources{Root: root, Live: live, Now: time.Now}, root: root}, nil
}

// Close releases the file tree. It is idempotent.
func (n *LocalNode) Close() error { return n.root.Close() }
