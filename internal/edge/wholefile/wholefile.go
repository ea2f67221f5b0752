// Package wholefile writes files that are there whole or not at all.
//
//	err := wholefile.Write("fabric.json", wholefile.Options{Mode: 0o644, Replace: true}, topology.WriteJSON)
//
// What is written goes to a temporary file beside the target, which takes its name at the end. A
// device or a pipe is written to as it is, for a rename over /dev/null would take that from the
// whole machine, and links are followed. Write may be called by several goroutines at a time; of
// two that replace one file, the last wins.
package wholefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Options says what becomes of the file. The zero value makes a new file that nobody may read.
type Options struct {
	// Mode is that of a file that wasn't there.
	Mode fs.FileMode
	// Replace allows a file of that name to be replaced; without it the error matches fs.ErrExist.
	Replace bool
	// KeepMode leaves a replaced file's mode as it was.
	KeepMode bool
}

// Write has write fill the file of that name. Errors name the file as the caller did.
func Write(name string, o Options, write func(io.Writer) error) error {
	err := put(name, o, write)
	if at, ok := errors.AsType[*fs.PathError](err); ok { // the name of the temporary file says nothing
		err = at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		err = at.Err
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func put(name string, o Options, write func(io.Writer) error) error {
	target := name
	if behind, err := filepath.EvalSymlinks(name); err == nil {
		target = behind
	}
	switch info, err := os.Stat(target); {
	case err == nil && info.IsDir():
		return syscall.EISDIR
	case err == nil && !info.Mode().IsRegular():
		file, err := os.OpenFile(target, os.O_WRONLY, 0) //nolint:gosec // the caller's choice
		if err != nil {
			return err
		}
		return errors.Join(write(file), file.Close())
	case err == nil && !o.Replace:
		return fs.ErrExist
	case err == nil && o.KeepMode:
		o.Mode = info.Mode().Perm()
	}
	temporary, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*")
	if err != nil {
		return err
	}
	err = write(temporary)
	if err == nil {
		err = temporary.Sync()
	}
	err = errors.Join(err, temporary.Chmod(o.Mode), temporary.Close())
	if err == nil {
		err = publish(temporary.Name(), target, o.Replace)
	}
	if removed := os.Remove(temporary.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// publish gives the file its name; where that must be new, by a link, which fails where rename
// would replace.
func publish(temporary, target string, replace bool) error {
	if replace {
		return os.Rename(temporary, target)
	}
	err := os.Link(temporary, target)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// The file system has no hard links: look and rename, which leaves a moment in between.
	if _, statErr := os.Lstat(target); !errors.Is(statErr, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, statErr)
	}
	return os.Rename(temporary, target)
}
