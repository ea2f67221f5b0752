package process

import (
	"fmt"
	"os"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// file returns the path of a file of a process in /proc.
func file(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// Environ returns the environment with which a process was started: NAME=value, each followed by a
// zero byte. Changes that the process made later are not included. The error matches
// fs.ErrPermission for a process of another user, and fs.ErrNotExist if there is no such process.
func Environ(pid int) ([]byte, error) { return os.ReadFile(file(pid, "environ")) }

// Namespaces reports for each namespace whether that of a process differs from that of this
// process; false if that can't be determined.
type Namespaces struct{ Mount, Network bool }

// OtherNamespaces compares the namespaces of a process with those of this one.
func OtherNamespaces(pid int) Namespaces {
	differs := func(kind string) bool {
		own, err := os.Readlink("/proc/self/ns/" + kind)
		other, err2 := os.Readlink(file(pid, "ns/"+kind))
		return err == nil && err2 == nil && own != other
	}
	return Namespaces{Mount: differs("mnt"), Network: differs("net")}
}

// OpenRoot opens the root folder of a process. dir is its path on this machine. The caller closes
// the root.
func OpenRoot(pid int) (root *sysfs.Root, dir string, err error) {
	dir = file(pid, "root")
	root, err = sysfs.OpenRoot(dir)
	return root, dir, err
}
