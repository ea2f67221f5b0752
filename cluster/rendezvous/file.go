package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

// Defaults of a [File].
const (
	filePatience = time.Minute
	fileValidity = 10 * time.Minute
)

// Between two looks for the file: NFS keeps attributes for some seconds anyway.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
)

// fileName is the name of the file in its folder.
const fileName = "invitation"

// File is the way with a file that only its owner can read, in a folder that all nodes share. A
// worker believes it only if nobody else could have written it: both belong to this user and have
// no permissions for others, and neither is a symbolic link. It ignores files of other jobs and
// expired files, which a killed leader leaves behind.
type File struct {
	// Patience is how long Find waits for the file, 0 for a minute.
	Patience time.Duration
	// Validity is how long the file is valid, 0 for 10 minutes. Publish may be called again.
	Validity time.Duration

	folder  string
	job     string
	owner   int    // the effective user of this process
	written []byte // by Publish
}

// UntrustedError is the error for a file or folder that others may have written or read.
type UntrustedError struct{ Name, Reason string }

// Error returns the name and the reason.
func (e *UntrustedError) Error() string { return e.Name + " is not trusted: " + e.Reason }

// jobFolder returns the folder of a job below the user's cache: $XDG_CACHE_HOME, or .cache in
// $HOME.
func jobFolder(job string, getenv func(string) string) (string, error) {
	if job == "" {
		return "", errors.New("the launcher has no identification of the job")
	}
	cache := getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(cache) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("neither XDG_CACHE_HOME nor HOME is an absolute path")
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "rdmakit", "job-"+url.PathEscape(job)), nil
}

// NewFile returns the way for a task. It fails if the folder exists and isn't private. Publish
// makes the folder, so that workers leave nothing on nodes with a home of their own.
func NewFile(t Task, getenv func(string) string) (*File, error) {
	folder, err := jobFolder(t.Job, getenv)
	if err != nil {
		return nil, err
	}
	f := &File{folder: folder, job: t.Job, owner: os.Geteuid()}
	root, err := f.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	return f, root.Close()
}

// open opens the folder, and makes it first if create is set.
func (f *File) open(create bool) (*os.Root, error) {
	if create {
		err := os.MkdirAll(filepath.Dir(f.folder), 0o700)
		if err == nil {
			err = os.Mkdir(f.folder, 0o700)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	info, err := os.Lstat(f.folder) // not what a link refers to
	if err == nil {
		err = f.check(f.folder, info, fs.ModeDir)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(f.folder)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = &UntrustedError{f.folder, "it was replaced while it was opened"}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// check returns an error unless a file has the type typ and only its owner, this user, has access.
func (f *File) check(name string, info fs.FileInfo, typ fs.FileMode) error {
	kinds := map[fs.FileMode]string{0: "a file", fs.ModeDir: "a folder", fs.ModeSymlink: "a symbolic link"}
	if got := info.Mode().Type(); got != typ {
		kind, ok := kinds[got]
		if !ok {
			kind = "a special file"
		}
		return &UntrustedError{name, fmt.Sprintf("it is %s, not %s", kind, kinds[typ])}
	}
	if user, ok := owner(info); !ok || user != f.owner {
		return &UntrustedError{name, fmt.Sprintf("it belongs to user %d, not %d", user, f.owner)}
	}
	if p := info.Mode().Perm(); p&0o077 != 0 {
		return &UntrustedError{name, fmt.Sprintf("its mode is %04o, with permissions for others", p)}
	}
	return nil
}

// Folder returns the folder of the file.
func (f *File) Folder() string { return f.folder }

// Publish writes the file, in place of one that an earlier leader has left.
func (f *File) Publish(_ context.Context, i protocol.Invitation) error {
	if err := f.publish(i); err != nil {
		return fmt.Errorf("write the invitation to %s: %w", f.folder, err)
	}
	return nil
}

func (f *File) publish(i protocol.Invitation) error {
	text, err := f.encode(i, time.Now())
	if err != nil {
		return err
	}
	root, err := f.open(true)
	if err != nil {
		return err
	}
	temporary := fmt.Sprintf(".%s.%d.%d", fileName, os.Getpid(), time.Now().UnixNano())
	err = write(root, temporary, text)
	if err == nil {
		err = root.Rename(temporary, fileName)
	}
	if err != nil {
		_ = root.Remove(temporary)
	} else {
		f.written = text
	}
	return errors.Join(err, root.Close())
}

// write writes a new file that only this user can read.
func write(root *os.Root, name string, text []byte) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Close removes the file if it still is the one of Publish, and the folder if nothing else is in
// it.
func (f *File) Close() error {
	if f.written == nil {
		return nil
	}
	text := f.written
	f.written = nil
	root, err := f.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		var got []byte
		if got, err = root.ReadFile(fileName); err == nil && string(got) == string(text) {
			err = root.Remove(fileName)
		}
		err = errors.Join(err, root.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the invitation from %s: %w", f.folder, err)
	}
	_ = os.Remove(f.folder) // unless a file of another leader is in it
	return nil
}

// Pass does nothing.
func (f *File) Pass(context.Context) error { return nil }

// Trust returns nil.
func (f *File) Trust() Trust { return nil }

// String names the way.
func (f *File) String() string { return "a file in " + f.folder }
