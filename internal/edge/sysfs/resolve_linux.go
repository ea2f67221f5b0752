package sysfs

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// resolveDir returns the resolved path of a folder, from the kernel's name of its open
// descriptor; ok is false if that doesn't work, for example without /proc. This saves
// checking every element of the path: three quarters of the system calls.
func (r *Root) resolveDir(name string) (resolved string, ok bool) {
	top, err := descriptorPath(r.dir)
	if err != nil {
		return "", false
	}
	f, err := r.root.Open(name)
	if err != nil {
		return "", false
	}
	defer f.Close() //nolint:errcheck // opened only for its name
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return "", false
	}
	where, err := descriptorPath(f)
	if err != nil || strings.HasSuffix(where, " (deleted)") {
		return "", false
	}
	rest, ok := strings.CutPrefix(where, strings.TrimSuffix(top, "/")+"/")
	return path.Join(".", rest), ok
}

func descriptorPath(f *os.File) (string, error) {
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd()))) //nolint:gosec // a descriptor is a small number
}
