// Package links gives a program further names: symbolic or hard links to it in a folder, as busybox
// installs its applets.
//
//	l, err := links.New(exe, "/usr/local/bin")
//	planned, err := l.Plan("ibstat", "ibstatus") // all are looked at before one is made
//	err = l.Make(planned)
package links

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoFolder is the cause of the error of New for what is no folder.
var ErrNoFolder = errors.New("not a folder")

// Action is what becomes of a link.
type Action string

// The actions.
const (
	Made     Action = "made"
	Replaced Action = "replaced"
	Kept     Action = "kept"
)

// Link is a further name of the program.
type Link struct {
	Name   string // the last element of Path
	Path   string // absolute
	Target string // what a symbolic link holds; "" for a hard link
	Action Action
}

// Linker makes links to a program. Hard asks for hard links. Force lets them replace files, and
// links that lead elsewhere.
type Linker struct {
	Hard, Force bool

	exe, dir string // absolute
	beside   bool   // dir is the folder of exe
}

// New returns a Linker for the program exe, an absolute path, and a folder, which must exist. A
// symbolic link holds the bare name of the program where the folder is the program's own, and exe
// elsewhere. The error matches [ErrNoFolder], or is that of looking.
func New(exe, dir string) (*Linker, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is %w", dir, ErrNoFolder)
	}
	l := &Linker{exe: exe}
	if l.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	home, err := os.Stat(filepath.Dir(exe))
	l.beside = err == nil && os.SameFile(info, home)
	return l, nil
}

// Plan tells for each name what is to become of its link, and makes nothing. The error joins those
// of all names that something else has.
func (l *Linker) Plan(names ...string) ([]Link, error) {
	var list []Link
	var errs []error
	for _, name := range names {
		link := Link{Name: name, Path: filepath.Join(l.dir, name)}
		if !l.Hard {
			link.Target = l.target()
		}
		var err error
		link.Action, err = l.plan(link.Path)
		errs = append(errs, err)
		list = append(list, link)
	}
	return list, errors.Join(errs...)
}

// Make makes what Plan has planned, up to the first error.
func (l *Linker) Make(list []Link) error {
	for _, link := range list {
		if link.Action == Kept {
			continue
		}
		if err := l.make(link.Path); err != nil {
			return err
		}
	}
	return nil
}

// target is what a symbolic link holds.
func (l *Linker) target() string {
	if l.beside {
		return filepath.Base(l.exe)
	}
	return l.exe
}

// plan tells what is to become of a link; an error means that something else is in its place.
func (l *Linker) plan(link string) (action Action, err error) {
	info, err := os.Lstat(link)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Made, nil
	case err != nil:
		return "", fmt.Errorf("look at %s: %w", link, err)
	case info.IsDir():
		return "", fmt.Errorf("make %s: a folder has that name", link)
	}
	symbolic := info.Mode()&fs.ModeSymlink != 0
	if l.leadsHere(link) {
		if l.beside && filepath.Base(link) == filepath.Base(l.exe) {
			return Kept, nil // the program itself has that name: a link in its place would lead to itself
		}
		if symbolic == l.Hard { // the other kind was asked for
			return Replaced, nil
		}
		return Kept, nil
	}
	if l.Force {
		return Replaced, nil
	}
	target, _ := os.Readlink(link)
	switch {
	case symbolic && strings.HasPrefix(filepath.Base(target), "rdmactl"):
		return Replaced, nil // one that an rdmactl has made, of another place or time
	case symbolic:
		return "", fmt.Errorf("make %s: it is a link to %s", link, target)
	}
	return "", fmt.Errorf("make %s: a file of another kind has that name", link)
}

// leadsHere tells that link is this program, by whatever kind of link.
func (l *Linker) leadsHere(link string) bool {
	there, err := os.Stat(link)
	if err != nil {
		return false
	}
	here, err := os.Stat(l.exe)
	return err == nil && os.SameFile(here, there)
}

// make makes a link in one step, so that nobody meets a gap where one was before.
func (l *Linker) make(link string) error {
	temporary := fmt.Sprintf("%s.rdmactl-%d", link, os.Getpid())
	var err error
	if l.Hard {
		err = os.Link(l.exe, temporary)
	} else {
		err = os.Symlink(l.target(), temporary)
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", link, err)
	}
	if err := os.Rename(temporary, link); err != nil {
		_ = os.Remove(temporary)
		return fmt.Errorf("make %s: %w", link, err)
	}
	return nil
}
