// Package wholefile writes files atomically: a file is either complete or not created.
//
//	err := wholefile.Write("fabric.json", wholefile.Options{Mode: 0o644, Replace: true}, topology.WriteJSON)
//
// The data is written to a temporary file in the same folder, which is renamed to the target at the
// end. A device or a pipe is written directly, since a rename would replace it (/dev/null, for
// example). Symbolic links are followed. Write may be called concurrently; if two calls replace the
// same file, the last one wins.
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

// Options configure the file. The zero value creates a new file without any permissions.
type Options struct {
	// Mode is the mode of a new file.
	Mode fs.FileMode
	// Replace permits replacing an existing file; without it the error matches fs.ErrExist.
	Replace bool
	// KeepMode keeps the mode of a replaced file.
	KeepMode bool
}

// FolderError is the error if the folder of a file doesn't exist. It matches fs.ErrNotExist.
type FolderError struct{ Folder string }

// Error implements error.
func (e *FolderError) Error() string { return "the folder " + e.Folder + " doesn't exist" }

// Is makes it match fs.ErrNotExist.
func (e *FolderError) Is(target error) bool { return target == fs.ErrNotExist }

// Hints returns how to create the folder.
func (e *FolderError) Hints() []string { return []string{"mkdir -p " + e.Folder + " creates it"} }

// CheckFolder returns a [FolderError] if the folder of the file with the given name doesn't exist.
func CheckFolder(name string) error {
	folder := filepath.Dir(name)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: %w", name, &FolderError{folder})
	}
	return nil
}

// Write creates the file with the given name and calls write to fill it. Errors contain the name,
// and match [FolderError] if the folder doesn't exist.
func Write(name string, o Options, write func(io.Writer) error) error {
	if err := CheckFolder(name); err != nil {
		return err
	}
	err := writeFile(name, o, write)
	if at, ok := errors.AsType[*fs.PathError](err); ok { // omit the name of the temporary file
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

func writeFile(name string, o Options, write func(io.Writer) error) error {
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

// publish renames the temporary file to target. Without replace it uses a hard link, which fails if
// the target exists.
func publish(temporary, target string, replace bool) error {
	if replace {
		return os.Rename(temporary, target)
	}
	err := os.Link(temporary, target)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// The file system has no hard links: check and rename, which isn't atomic.
	if _, statErr := os.Lstat(target); !errors.Is(statErr, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, statErr)
	}
	return os.Rename(temporary, target)
}
