package kserve

import (
	"io"
	"io/fs"
	"path"
)

// folder reads many small files of one directory, which is opened only once, because resolving the
// path from the root for each file would take longer than reading it.
type folder struct{ fsys fs.FS }

// openFolder opens a directory; one that can't be opened has no files.
func openFolder(root fs.FS, name string) folder {
	sub, err := fs.Sub(root, name)
	if err != nil {
		return folder{}
	}
	return folder{sub}
}

// read returns the content of a file, false if it is not a file or can't be read.
func (f folder) read(name string) (string, bool) {
	if f.fsys == nil {
		return "", false
	}
	b, err := fs.ReadFile(f.fsys, name)
	return string(b), err == nil
}

// isFile reports whether name is a regular file, as `[ -f NAME ]` does.
func (f folder) isFile(name string) bool {
	info, err := fs.Stat(f.fsys, name)
	return err == nil && info.Mode().IsRegular()
}

func (f folder) close() {
	if c, ok := f.fsys.(io.Closer); ok {
		_ = c.Close()
	}
}

// folders keeps the directory of the last read open for the next.
type folders struct {
	root fs.FS
	dir  string
	open folder
}

func (f *folders) read(name string) (string, bool) {
	if dir := path.Dir(name); dir != f.dir {
		f.close()
		f.dir, f.open = dir, openFolder(f.root, dir)
	}
	return f.open.read(path.Base(name))
}

func (f *folders) close() { f.open.close() }

// listNames returns the names in a directory, in any order. If the file system supports it, it does
// not stat each file, as fs.ReadDir does on os.Root.
func listNames(root fs.FS, dir string) []string {
	f, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	if d, ok := f.(interface {
		Readdirnames(n int) ([]string, error)
	}); ok {
		names, err := d.Readdirnames(-1)
		if err != nil {
			return nil
		}
		return names
	}
	entries, err := fs.ReadDir(root, dir)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
