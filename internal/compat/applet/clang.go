package applet

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
)

// sysTree reads attributes as C programs do: at most a given number of bytes, up to the last line
// feed. errno is the last error.
type sysTree struct {
	root  fs.FS
	errno syscall.Errno
}

// raw returns the content of a file; false sets errno.
func (t *sysTree) raw(name string) ([]byte, bool) {
	b, err := fs.ReadFile(t.root, name)
	if err != nil {
		t.errno = errnoOf(err)
		return nil, false
	}
	return b, true
}

// text reads a file into a buffer of size bytes, as sys_read_string of libibumad does: longer text
// is truncated, and so is text after the last line feed.
func (t *sysTree) text(name string, size int) (string, bool) {
	b, ok := t.raw(name)
	if !ok {
		return "", false
	}
	if len(b) >= size {
		b = b[:size-1]
	}
	b = cString(b)
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	return string(b), true
}

// uint reads a number of 32 bits, as sys_read_uint of libibumad does; anything but a number reads
// as 0.
func (t *sysTree) uint(name string) (uint32, bool) {
	s, ok := t.text(name, 32)
	if !ok {
		return 0, false
	}
	v, overflow := clib.Strtoul(s, 0)
	if overflow {
		t.errno = syscall.ERANGE
	}
	return uint32(v), true //nolint:gosec // C cuts it too
}

// words16 reads count groups of 16 bits in hexadecimal, which is how sysfs writes GUIDs and GIDs;
// false when the file can't be read or has fewer.
func (t *sysTree) words16(name string, count, size int) ([]uint16, bool) {
	s, ok := t.text(name, size)
	if !ok {
		return nil, false
	}
	groups := strings.Split(strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n", r) {
			return ':'
		}
		return r
	}, s), ":")
	return parseGroups(groups, count)
}

func parseGroups(groups []string, count int) ([]uint16, bool) {
	if len(groups) < count {
		return nil, false
	}
	out := make([]uint16, count)
	for i := range out {
		v, _ := clib.Strtoul(groups[i], 16)
		out[i] = uint16(v) //nolint:gosec // C cuts it too
	}
	return out, true
}

// guid reads a GUID, as sys_read_guid of libibumad does.
func (t *sysTree) guid(name string) (uint64, bool) {
	w, ok := t.words16(name, 4, 32)
	if !ok {
		return 0, false
	}
	return joinWords(w), true
}

func joinWords(w []uint16) uint64 {
	var v uint64
	for _, g := range w {
		v = v<<16 | uint64(g)
	}
	return v
}

// names lists a folder in the order of the C locale, as ls and the shell do; false sets errno.
func (t *sysTree) names(dir string) ([]string, bool) {
	entries, err := fs.ReadDir(t.root, dir)
	if err != nil {
		t.errno = errnoOf(err)
		return nil, false
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, true
}

// isDir follows links.
func (t *sysTree) isDir(name string) bool {
	info, err := fs.Stat(t.root, name)
	return err == nil && info.IsDir()
}

// isFile reports whether the file is a regular file, as test -f does.
func (t *sysTree) isFile(name string) bool {
	info, err := fs.Stat(t.root, name)
	return err == nil && info.Mode().IsRegular()
}

// cString returns b up to the first zero byte.
func cString(b []byte) []byte {
	text, _, _ := bytes.Cut(b, []byte{0})
	return text
}

// errnoOf returns the error number in err, EIO if it has none.
func errnoOf(err error) syscall.Errno {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return syscall.ENOENT
	case errors.Is(err, fs.ErrPermission):
		return syscall.EACCES
	case errors.Is(err, fs.ErrInvalid):
		return syscall.EINVAL
	}
	return syscall.EIO
}
