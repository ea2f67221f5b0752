package process

import (
	"fmt"
	"os"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// file names a file of a process.
func file(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// Environ returns what a process was started with, NAME=value with a zero byte behind each: later
// changes of its own are not seen. Another user's process answers fs.ErrPermission, one that isn't
// there fs.ErrNotExist.
func Environ(pid int) ([]byte, error) { return os.ReadFile(file(pid, "environ")) }

// Namespaces tells in which namespaces a process differs from this one; false too where that can't
// be read.
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

// OpenRoot opens the files that a process sees; dir names their folder on this machine. The caller
// closes the root.
func OpenRoot(pid int) (root *sysfs.Root, dir string, err error) {
	dir = file(pid, "root")
	root, err = sysfs.OpenRoot(dir)
	return root, dir, err
}
