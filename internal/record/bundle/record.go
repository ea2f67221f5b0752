package bundle

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// kind is the type of an entry of the node.
type kind uint8

const (
	kindUnknown kind = iota // listed, but not examined
	kindFile
	kindDir
	kindLink
	kindGone // listed, but gone when it was examined
)

// seen is the recorded data of one name.
type seen struct {
	kind   kind
	link   string
	data   []byte
	read   bool          // data is the content
	listed bool          // all names below are known
	errno  syscall.Errno // of the last read or listing
	denied syscall.Errno // from lstat: the parent directory can't be entered
}

// recorder records all accesses through its file systems under names without symbolic links, so
// that a file has one entry, whatever path was used.
type recorder struct {
	top    fs.FS
	limits Limits
	noted  func() // see Options; may be nil

	mu      sync.Mutex // guards the fields below
	seen    map[string]*seen
	below   map[string]map[string]bool // names known in each directory
	bytes   int64
	full    bool              // Limits.Entries is reached
	refused map[string]string // path to cause
	altered map[string]string
}

func newRecorder(top fs.FS, limits Limits) *recorder {
	r := &recorder{
		top: top, limits: limits, seen: map[string]*seen{}, below: map[string]map[string]bool{},
		refused: map[string]string{}, altered: map[string]string{},
	}
	r.seen["."] = &seen{kind: kindDir}
	return r
}

// FS returns the root of the node as a file system that records accesses.
func (r *recorder) FS() fs.FS { return view{rec: r, fsys: r.top, base: "."} }

// entry returns the recorded data of a name, nil if the limit of entries is reached.
func (r *recorder) entry(name string) *seen {
	if s, ok := r.seen[name]; ok {
		return s
	}
	if len(r.seen) >= r.limits.Entries {
		if !r.full { // one line for all, to limit the manifest
			r.full = true
			r.refused["/"+name] = "the recording has too many entries: this one and all further ones are missing"
		}
		return nil
	}
	s := &seen{}
	r.seen[name] = s
	if r.noted != nil {
		r.noted()
	}
	dir := path.Dir(name)
	if r.below[dir] == nil {
		r.below[dir] = map[string]bool{}
	}
	r.below[dir][path.Base(name)] = true
	return s
}

// look records the kind of a name that has no links above it.
func (r *recorder) look(name string, again bool) (*seen, error) {
	return r.lookIn(r.top, name, name, again)
}

// lookIn is like look for a name in an open directory, which takes a tenth of the system calls.
func (r *recorder) lookIn(dir fs.FS, local, name string, again bool) (*seen, error) {
	if s, ok := r.seen[name]; ok && s.kind != kindUnknown && !again {
		if s.kind == kindGone {
			return nil, fs.ErrNotExist
		}
		return s, nil
	}
	info, err := fs.Lstat(dir, local)
	if err != nil {
		return nil, r.lookFailed(name, err)
	}
	s := r.entry(name)
	if s == nil {
		return nil, errFull
	}
	switch {
	case info.IsDir():
		s.kind = kindDir
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := fs.ReadLink(dir, local)
		if err != nil {
			return nil, r.lookFailed(name, err)
		}
		s.kind, s.link = kindLink, target
	default:
		s.kind = kindFile
	}
	return s, nil
}

// lookFailed records the error of look.
func (r *recorder) lookFailed(name string, err error) error {
	if absent(err) {
		if s, ok := r.seen[name]; ok { // it existed before
			*s = seen{kind: kindGone}
		}
		return err
	}
	if s := r.entry(name); s != nil {
		*s = seen{kind: kindFile, errno: errnoOf(err), denied: errnoOf(err)}
	}
	return err
}

var (
	errFull    = errors.New("the recording is full")
	errOutside = errors.New("link leaves the root")
)

// resolve follows and records symbolic links and returns the name without links. With again, it
// examines the last element again, because it may have disappeared.
func (r *recorder) resolve(name string, follow, again bool) (string, error) {
	const maxLinks = 40 // as the kernel's MAXSYMLINKS
	done, rest, links := ".", path.Clean(name), 0
	for rest != "" && rest != "." {
		first, after, _ := strings.Cut(rest, "/")
		rest = after
		if first == ".." {
			if done == "." {
				return "", errOutside
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, first)
		s, err := r.look(next, again && rest == "")
		if err != nil {
			return next, err
		}
		if s.kind != kindLink || rest == "" && !follow {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		target, err := r.target(next, s)
		if err != nil {
			return "", err
		}
		rest = path.Join(target, rest)
		if strings.HasPrefix(target, "/") {
			done, rest = ".", strings.TrimPrefix(rest, "/")
		}
	}
	return done, nil
}

// outsideDir is the target directory of links out of the root. A bundle must not contain such
// links, so they are replaced by dangling ones.
const outsideDir = "outside-the-root"

// target returns the target of a link, replaced if a bundle can't contain it.
func (r *recorder) target(name string, s *seen) (string, error) {
	if !path.IsAbs(s.link) && !leadsAbove(path.Join(path.Dir(name), s.link)) {
		return s.link, nil
	}
	if strings.HasPrefix(s.link, outsideDir+"/") {
		return "", errOutside
	}
	was := s.link
	inside := strings.TrimPrefix(path.Clean("/"+s.link), "/")
	if _, err := fs.Stat(r.top, name); err == nil && path.IsAbs(s.link) {
		s.link = strings.Repeat("../", strings.Count(name, "/")) + inside
	} else {
		s.link = outsideDir + "/" + path.Base(s.link)
	}
	r.altered["/"+name] = "link to " + was + " is now to " + s.link
	if strings.HasPrefix(s.link, outsideDir+"/") {
		return "", errOutside
	}
	return s.link, nil
}

func leadsAbove(clean string) bool { return clean == ".." || strings.HasPrefix(clean, "../") }

// content records the result of reading a file.
func (r *recorder) content(name string, data []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, lookErr := r.resolve(name, true, err != nil)
	if lookErr != nil {
		return
	}
	s := r.seen[at]
	if s == nil || s.kind != kindFile {
		return // directories always return EISDIR
	}
	switch {
	case err != nil && absent(err):
		s.data, s.read, s.errno = nil, true, syscall.ENOENT
	case err != nil:
		s.data, s.read, s.errno = nil, true, errnoOf(err)
	case int64(len(data)) > r.limits.FileBytes:
		s.data, s.read, s.errno = nil, true, syscall.EFBIG
		r.refused["/"+at] = "longer than the limit for a file"
	case r.bytes+int64(len(data)-len(s.data)) > r.limits.TotalBytes:
		s.data, s.read, s.errno = nil, true, syscall.EFBIG
		r.refused["/"+at] = "the recording has too many bytes"
	default:
		r.bytes += int64(len(data) - len(s.data))
		s.data, s.read, s.errno, s.denied = data, true, 0, 0
	}
}

// has reports whether the content of a file, or the error of reading it, is recorded already.
func (r *recorder) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, err := r.resolve(name, true, false)
	s := r.seen[at]
	return err == nil && s != nil && s.kind == kindFile && s.read
}

// names records the result of listing a directory.
func (r *recorder) names(name string, names []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, lookErr := r.resolve(name, true, err != nil)
	if lookErr != nil {
		return
	}
	s := r.seen[at]
	if s == nil || s.kind != kindDir {
		return
	}
	if err != nil {
		s.errno = errnoOf(err)
		return
	}
	s.listed, s.errno = true, 0
	for _, n := range names {
		r.entry(path.Join(at, n))
	}
}

// touch records that a name was examined.
func (r *recorder) touch(name string, follow, again bool) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resolve(name, follow, again)
}

// folder records that a directory could not be opened.
func (r *recorder) folder(name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, lookErr := r.resolve(name, true, true); lookErr == nil && !absent(err) {
		if s := r.seen[at]; s != nil && s.kind == kindDir {
			s.errno = errnoOf(err)
		}
	}
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// errnoOf returns the error number that a bundle stores for a failed read.
func errnoOf(err error) syscall.Errno {
	errno, ok := errors.AsType[syscall.Errno](err)
	if _, known := sysfs.ErrnoName(errno); ok && known {
		return errno
	}
	if errors.Is(err, fs.ErrPermission) {
		return syscall.EACCES
	}
	return syscall.EIO
}

// view is a directory of the node as a file system that records accesses. The results are those of
// the node's file system.
type view struct {
	rec  *recorder
	fsys fs.FS
	base string // without links
}

// full returns the name relative to the root of the node, and examines it if it is in this
// directory. With again, the recorded data may be outdated.
func (v view) full(name string, again bool) string {
	full := path.Join(v.base, name)
	if v.base == "." || name == "." || strings.Contains(name, "/") {
		return full
	}
	v.rec.mu.Lock()
	defer v.rec.mu.Unlock()
	if s := v.rec.seen[v.base]; s != nil && s.kind == kindDir {
		_, _ = v.rec.lookIn(v.fsys, name, full, again) // errors are recorded
	}
	return full
}

// Open implements fs.FS. It reads or lists the entry immediately to record it.
func (v view) Open(name string) (fs.File, error) {
	f, err := v.fsys.Open(name)
	if err != nil {
		if info, e := fs.Stat(v.fsys, name); e == nil && info.IsDir() {
			v.rec.folder(v.full(name, true), err)
		} else {
			v.rec.content(v.full(name, true), nil, err)
		}
		return nil, err
	}
	if info, e := f.Stat(); e == nil && info.IsDir() {
		_, _ = v.ReadNames(name) // noted
	} else if e == nil && info.Mode().IsRegular() {
		_, _ = v.ReadFile(name)
	}
	return f, nil
}

// ReadFile implements fs.ReadFileFS.
func (v view) ReadFile(name string) ([]byte, error) {
	b, err := fs.ReadFile(v.fsys, name)
	v.rec.content(v.full(name, err != nil), b, err)
	return b, err
}

// ReadDir implements fs.ReadDirFS.
func (v view) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(v.fsys, name)
	names := make([]string, 0, len(list))
	for _, e := range list {
		names = append(names, e.Name())
	}
	v.rec.names(v.full(name, err != nil), names, err)
	return list, err
}

// ReadNames returns the names in a directory, like sysfs.Root.
func (v view) ReadNames(name string) ([]string, error) {
	if r, ok := v.fsys.(interface {
		ReadNames(string) ([]string, error)
	}); ok {
		names, err := r.ReadNames(name)
		v.rec.names(v.full(name, err != nil), names, err)
		return names, err
	}
	list, err := v.ReadDir(name)
	names := make([]string, 0, len(list))
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names, err
}

// Stat implements fs.StatFS.
func (v view) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(v.fsys, name)
	_, _ = v.rec.touch(v.full(name, err != nil), true, err != nil) // return the node's result
	return info, err
}

// Lstat implements fs.ReadLinkFS.
func (v view) Lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(v.fsys, name)
	_, _ = v.rec.touch(v.full(name, err != nil), false, err != nil)
	return info, err
}

// ReadLink implements fs.ReadLinkFS.
func (v view) ReadLink(name string) (string, error) {
	target, err := fs.ReadLink(v.fsys, name)
	_, _ = v.rec.touch(v.full(name, err != nil), false, err != nil)
	return target, err
}

// Sub implements fs.SubFS.
func (v view) Sub(dir string) (fs.FS, error) {
	at, lookErr := v.rec.touch(v.full(dir, false), true, false)
	sub, err := fs.Sub(v.fsys, dir)
	if err != nil {
		v.rec.folder(v.full(dir, true), err)
		return nil, err
	}
	if lookErr != nil { // the node opened a name that the recorder can't resolve; keep the name that was used
		at = path.Join(v.base, dir)
	}
	return view{rec: v.rec, fsys: sub, base: at}, nil
}

// Close closes a directory that Sub returned.
func (v view) Close() error {
	if c, ok := v.fsys.(io.Closer); ok && v.base != "." {
		return c.Close()
	}
	return nil
}
