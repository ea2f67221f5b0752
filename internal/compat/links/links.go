// Package links installs symbolic or hard links to a program in a folder, as busybox installs its
// applets.
//
//	l, err := links.New(exe, "/usr/local/bin")
//	planned, err := l.Plan("ibstat", "ibstatus") // checks all links before any is made
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

// ErrNoFolder is the cause of New's error for a path that is not a folder.
var ErrNoFolder = errors.New("not a folder")

// Action is the action for a link.
type Action string

// The actions.
const (
	Made     Action = "made"
	Replaced Action = "replaced"
	Kept     Action = "kept"
)

// Link is a link to the program.
type Link struct {
	Name   string // the last element of Path
	Path   string // absolute
	Target string // target of a symbolic link; "" for a hard link
	Action Action
}

// Linker makes links to a program. Hard selects hard links. Force replaces files, and links that
// point elsewhere.
type Linker struct {
	Hard, Force bool

	exe, dir string // absolute
	beside   bool   // dir is the folder of exe
}

// New returns a Linker for the program exe, an absolute path, and a folder, which must exist. The
// target of a symbolic link is the name of the program if the folder is the program's own, and exe
// otherwise. The error matches [ErrNoFolder] or is that of examining the folder.
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

// Plan returns the action for each link without making any. The error joins the errors of all names
// that are taken by other files.
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

// Make makes the links that Plan returned, up to the first error.
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

// target returns the target of symbolic links.
func (l *Linker) target() string {
	if l.beside {
		return filepath.Base(l.exe)
	}
	return l.exe
}

// plan returns the action for a link; an error means that another file has the name.
func (l *Linker) plan(link string) (action Action, err error) {
	info, err := os.Lstat(link)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Made, nil
	case err != nil:
		return "", fmt.Errorf("examine %s: %w", link, err)
	case info.IsDir():
		return "", fmt.Errorf("make %s: a folder has that name", link)
	}
	symbolic := info.Mode()&fs.ModeSymlink != 0
	if l.leadsHere(link) {
		if l.beside && filepath.Base(link) == filepath.Base(l.exe) {
			return Kept, nil // the program itself has that name: a link would point to itself
		}
		if symbolic == l.Hard { // the other kind of link is requested
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
		return Replaced, nil // a link that another rdmactl has made
	case symbolic:
		return "", fmt.Errorf("make %s: it is a link to %s", link, target)
	}
	return "", fmt.Errorf("make %s: another file has that name", link)
}

// leadsHere reports whether link is a link of any kind to this program.
func (l *Linker) leadsHere(link string) bool {
	there, err := os.Stat(link)
	if err != nil {
		return false
	}
	here, err := os.Stat(l.exe)
	return err == nil && os.SameFile(here, there)
}

// make makes a link atomically, so that an existing link is never missing in between.
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
