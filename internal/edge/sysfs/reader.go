package sysfs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Error is the error of a file that could not be read or parsed.
type Error struct {
	Path string // absolute path on the node
	Err  error  // the cause, without the path
}

// Error implements error: the path, then the cause.
func (e *Error) Error() string { return "read " + e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reader reads attributes of one folder and records errors. Readers from Dir share the
// list of errors. It is not safe for concurrent use.
type Reader struct {
	stop func() error // ends the reading of a whole tree; never nil
	fsys fs.FS
	base string // absolute path of the folder, for messages
	errs *[]*Error
}

// NewReader returns a reader of the root of fsys. When stop returns an error, such as
// [context.Context.Err], all further reads behave as if the files didn't exist.
func NewReader(fsys fs.FS, stop func() error) *Reader {
	return &Reader{stop: stop, fsys: fsys, base: "/", errs: new([]*Error)}
}

// Errors returns the errors recorded until now, in the order of reading.
func (r *Reader) Errors() []*Error { return *r.errs }

// Path returns the absolute path of name on the node.
func (r *Reader) Path(name string) string { return path.Join(r.base, name) }

// FS returns the file system of the folder.
func (r *Reader) FS() fs.FS { return r.fsys }

// Fail records an error of the caller, such as a value that it can't parse.
func (r *Reader) Fail(name string, err error) {
	*r.errs = append(*r.errs, &Error{Path: r.Path(name), Err: err})
}

// Forget drops all recorded errors but the first n.
func (r *Reader) Forget(n int) { *r.errs = (*r.errs)[:n] }

// Dir opens a folder below this one, or returns false if it doesn't exist or is not a folder. Close
// the returned reader after use.
func (r *Reader) Dir(name string) (*Reader, bool) {
	if r.stop() != nil {
		return nil, false
	}
	sub, err := fs.Sub(r.fsys, name)
	if err == nil {
		// fs.Sub on a plain fs.FS doesn't check whether the folder exists.
		_, err = fs.Stat(sub, ".")
	}
	if err != nil {
		if c, ok := sub.(io.Closer); ok {
			_ = c.Close()
		}
		// Classes contain plain files (abi_version) as well as folders of devices.
		if info, e := fs.Stat(r.fsys, name); e != nil || info.IsDir() {
			r.keep(name, err)
		}
		return nil, false
	}
	return &Reader{stop: r.stop, fsys: sub, base: r.Path(name), errs: r.errs}, true
}

// Close releases the folder of a reader that came from Dir.
func (r *Reader) Close() {
	if c, ok := r.fsys.(io.Closer); ok {
		_ = c.Close()
	}
}

// Text returns the content of a file without surrounding white space, or false if it
// doesn't exist, is empty, or the kernel has no value for it.
func (r *Reader) Text(name string) (string, bool) {
	if r.stop() != nil {
		return "", false
	}
	b, err := fs.ReadFile(r.fsys, name)
	if err != nil {
		r.keep(name, err)
		return "", false
	}
	s := clean(b)
	return s, s != ""
}

// clean trims white space and replaces invalid UTF-8, like JSON encoding: node
// descriptions come from the network.
func clean(b []byte) string {
	return strings.ToValidUTF8(string(bytes.TrimSpace(b)), "\uFFFD")
}

// String returns the content of a file, or "" if Text returns false.
func (r *Reader) String(name string) string {
	s, _ := r.Text(name)
	return s
}

// Required is like Text, but for a file that every intact tree has: if it doesn't exist
// or is empty, that is recorded as an error.
func (r *Reader) Required(name string) (string, bool) {
	if r.stop() != nil {
		return "", false
	}
	b, err := fs.ReadFile(r.fsys, name)
	switch {
	case err != nil:
		r.Fail(name, cause(err))
		return "", false
	case clean(b) == "":
		r.Fail(name, errors.New("empty file"))
		return "", false
	}
	return clean(b), true
}

// Uint returns a number of at most bits bits, in decimal or with a 0x prefix. It returns
// nil if the file doesn't exist or has any other content, which is recorded as an error.
func (r *Reader) Uint(name string, bits int) *uint64 {
	s, ok := r.Text(name)
	if !ok {
		return nil
	}
	digits, base := s, 10
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		digits, base = hex, 16
	}
	v, err := strconv.ParseUint(digits, base, bits)
	if err != nil {
		r.Fail(name, fmt.Errorf("%q is not a number of %d bits", s, bits))
		return nil
	}
	return &v
}

// Int returns a signed decimal number, or nil in the same cases as Uint.
func (r *Reader) Int(name string) *int {
	s, ok := r.Text(name)
	if !ok {
		return nil
	}
	v, err := strconv.Atoi(s)
	if err != nil {
		r.Fail(name, fmt.Errorf("%q is not a number", s))
		return nil
	}
	return &v
}

// List returns the names in a folder in natural order (mlx5_2 before mlx5_10), or nil if
// it doesn't exist.
func (r *Reader) List(name string) []string {
	if r.stop() != nil {
		return nil
	}
	names, err := readNames(r.fsys, name)
	if err != nil {
		r.keep(name, err)
	}
	slices.SortFunc(names, NaturalCompare)
	return names
}

// readNames returns the names in a folder, without reading file types if the file system supports
// it.
func readNames(fsys fs.FS, name string) ([]string, error) {
	if r, ok := fsys.(interface {
		ReadNames(string) ([]string, error)
	}); ok {
		return r.ReadNames(name)
	}
	entries, err := fs.ReadDir(fsys, name)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Exists reports whether name exists, following links. A broken link doesn't exist.
func (r *Reader) Exists(name string) bool {
	_, err := fs.Stat(r.fsys, name)
	return err == nil
}

// LinkBase returns the last element of a link's target, for example mlx5_core for driver,
// or "" if there is no such link.
func (r *Reader) LinkBase(name string) string {
	target, err := fs.ReadLink(r.fsys, name)
	if err != nil {
		return ""
	}
	return path.Base(target)
}

// keep records an error unless it means that the file doesn't exist or has no value.
func (r *Reader) keep(name string, err error) {
	if !absent(err) && !noValue(err) {
		r.Fail(name, cause(err))
	}
}

// NaturalCompare compares names, with sequences of digits compared as numbers; names that
// differ only in leading zeros are compared as text.
func NaturalCompare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digits(x), digits(y)
		if dx == 0 || dy == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
		if c := cmp.Or(cmp.Compare(len(nx), len(ny)), strings.Compare(nx, ny)); c != 0 {
			return c
		}
		x, y = x[dx:], y[dy:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
