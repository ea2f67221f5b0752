package applet

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"math/bits"
	"slices"
	"strings"
	"syscall"
)

// sysTree reads attributes the way C programs do: at most so many bytes, up to the last line feed, and errno is what
// failed last.
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

// text reads a file into a buffer of size bytes, as sys_read_string of libibumad does: what is longer is cut, and so
// is what follows the last line feed.
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

// uint reads a number of 32 bits, as sys_read_uint of libibumad does; what is no number is 0.
func (t *sysTree) uint(name string) (uint32, bool) {
	s, ok := t.text(name, 32)
	if !ok {
		return 0, false
	}
	v, overflow := strtoul(s, 0)
	if overflow {
		t.errno = syscall.ERANGE
	}
	return uint32(v), true //nolint:gosec // C cuts it too
}

// words16 reads count groups of 16 bits in hexadecimal, which is how sysfs writes GUIDs and GIDs; false when the file
// can't be read or has fewer.
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
		v, _ := strtoul(groups[i], 16)
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

// isFile tells a regular file, as test -f does.
func (t *sysTree) isFile(name string) bool {
	info, err := fs.Stat(t.root, name)
	return err == nil && info.Mode().IsRegular()
}

// cString returns b up to the first zero byte.
func cString(b []byte) []byte {
	text, _, _ := bytes.Cut(b, []byte{0})
	return text
}

// errnoOf returns the error number in err, EIO where there is none.
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

// strerror names an error in the words of glibc, which differ from Go's by their first letter.
func strerror(errno syscall.Errno) string {
	if errno == 0 {
		return "Success"
	}
	text := errno.Error()
	if number, ok := strings.CutPrefix(text, "errno "); ok {
		return "Unknown error " + number
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// strtoul is strtoul(3) of a C string: white space, sign, prefix, then as many digits as there are.
func strtoul(s string, base int) (v uint64, overflow bool) {
	negative, digits, base := number(s, base)
	v, overflow = magnitude(digits, base)
	if negative && !overflow {
		v = -v
	}
	return v, overflow
}

// strtol is strtol(3), cut to an int as C's assignment does.
func strtol(s string, base int) int32 {
	negative, digits, base := number(s, base)
	v, _ := magnitude(digits, base)
	switch {
	case negative:
		v = -min(v, 1<<63)
	default:
		v = min(v, math.MaxInt64)
	}
	return int32(uint32(v)) //nolint:gosec // C cuts it too
}

// magnitude reads digits up to the first character that is none; overflow gives the largest number.
func magnitude(digits string, base int) (v uint64, overflow bool) {
	for _, c := range []byte(digits) {
		d, ok := digit(c, base)
		if !ok {
			break
		}
		hi, lo := bits.Mul64(v, uint64(base)) //nolint:gosec // 8, 10 or 16
		sum, carry := bits.Add64(lo, d, 0)
		if hi != 0 || carry != 0 {
			return math.MaxUint64, true
		}
		v = sum
	}
	return v, false
}

// number takes white space, sign and prefix off a number.
func number(s string, base int) (negative bool, digits string, base2 int) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative, s = s[0] == '-', s[1:]
	}
	if (base == 0 || base == 16) && len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		if _, ok := digit(s[2], 16); ok {
			return negative, s[2:], 16
		}
	}
	switch {
	case base != 0:
	case strings.HasPrefix(s, "0"):
		base = 8
	default:
		base = 10
	}
	return negative, s, base
}

func digit(c byte, base int) (uint64, bool) {
	var d byte
	switch {
	case c >= '0' && c <= '9':
		d = c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		d = c | 0x20 - 'a' + 10
	default:
		return 0, false
	}
	return uint64(d), int(d) < base
}
