package bundle

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
)

// complete records the kind of entries of which only the name is known: names that were listed but
// not read, and targets of links that were not followed.
func (r *recorder) complete(ctx context.Context) {
	for again := true; again && ctx.Err() == nil; {
		again = false
		for _, name := range slices.Sorted(maps.Keys(r.seen)) {
			s := r.seen[name]
			before := len(r.seen)
			switch s.kind {
			case kindUnknown:
				_, _ = r.touch(name, false, false) // noted
				if s.kind == kindUnknown {         // the recording is full, or the link can't be read
					s.kind = kindFile
				}
				again = true
			case kindLink:
				_, _ = r.touch(name, true, false)
			case kindFile, kindDir, kindGone:
			}
			again = again || len(r.seen) > before
		}
	}
}

// tree returns the tree of the recorded entries.
func (r *recorder) tree() (*nodetree.Tree, error) {
	t := nodetree.New()
	for _, name := range slices.Sorted(maps.Keys(r.seen)) {
		s := r.seen[name]
		if name == "." || r.hidden(name) {
			continue
		}
		if err := r.put(t, name, s); err != nil {
			return nil, fmt.Errorf("record /%s: %w", name, err)
		}
	}
	return t, nil
}

// hidden reports whether a name is below an entry that is no longer a directory.
func (r *recorder) hidden(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if s := r.seen[dir]; s == nil || s.kind != kindDir || r.locked(dir) != 0 {
			return true
		}
	}
	return false
}

// locked returns the error of a directory that can't be entered, so that nothing in it could be
// recorded.
func (r *recorder) locked(dir string) syscall.Errno {
	var errno syscall.Errno
	for base := range r.below[dir] {
		s := r.seen[path.Join(dir, base)]
		if s.denied == 0 {
			return 0
		}
		errno = s.denied
	}
	return errno
}

func (r *recorder) put(t *nodetree.Tree, name string, s *seen) error {
	switch s.kind {
	case kindLink:
		return t.Link(name, s.link)
	case kindDir:
		if err := t.Mkdir(name); err != nil {
			return err
		}
		return r.putDirError(t, name, s)
	case kindGone:
		return t.SetError(name, syscall.ENOENT)
	case kindFile, kindUnknown:
	}
	if err := t.Set(name, string(s.data)); err != nil {
		return err
	}
	switch {
	case s.errno != 0:
		return t.SetError(name, s.errno)
	case !s.read:
		return t.SetError(name, syscall.ENODATA)
	}
	return nil
}

func (r *recorder) putDirError(t *nodetree.Tree, name string, s *seen) error {
	errno := cmp.Or(r.locked(name), s.errno)
	if r.locked(name) == 0 && len(r.below[name]) > 0 && errno != 0 {
		errno = syscall.ENODATA // it can be entered but not listed
	}
	if errno == 0 && !s.listed {
		errno = syscall.ENODATA
	}
	if errno == 0 {
		return nil
	}
	return t.SetError(name, errno)
}

// unreadable lists files that exist but could not be read, by path.
func (r *recorder) unreadable() []inventory.Problem {
	out := []inventory.Problem{}
	for _, name := range slices.Sorted(maps.Keys(r.seen)) {
		s := r.seen[name]
		if errno := r.locked(name); errno != 0 && !r.hidden(name) {
			out = append(out, inventory.Problem{Path: "/" + name, Error: errno.Error()})
			continue
		}
		if s.errno == 0 || noValue(s.errno) || r.refused["/"+name] != "" || r.hidden(name) {
			continue
		}
		out = append(out, inventory.Problem{Path: "/" + name, Error: s.errno.Error()})
	}
	return out
}

// noValue reports whether an error means that a kernel file has no value or has disappeared, and
// not that the value could not be read.
func noValue(errno syscall.Errno) bool {
	name, _ := sysfs.ErrnoName(errno)
	return slices.Contains([]string{"EINVAL", "EOPNOTSUPP", "ENOTSUPP", "ENOENT", "ENODEV", "ENODATA", "ENXIO"}, name)
}

// problems lists paths with a text each, by path.
func problems(list map[string]string) []inventory.Problem {
	out := []inventory.Problem{}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		out = append(out, inventory.Problem{Path: name, Error: list[name]})
	}
	return out
}

var _ interface {
	fs.ReadFileFS
	fs.ReadDirFS
	fs.StatFS
	fs.ReadLinkFS
	fs.SubFS
} = view{}
