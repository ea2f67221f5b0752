package nodetree

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// Entry is a directory, link or file of a tree.
type Entry struct {
	Name  string      // from the root, "." for the root itself
	Mode  fs.FileMode // fs.ModeDir, fs.ModeSymlink or 0 for a file
	Data  []byte      // of a file; not to be changed
	Link  string      // target of a link
	Errno syscall.Errno
}

// Entries iterates over the tree in its state at the beginning of the iteration: directories before
// their content, in the order of names.
func (t *Tree) Entries() iter.Seq[Entry] {
	list := []Entry{}
	t.mu.RLock()
	_ = t.visit(t.root, ".", func(name string, n *node) error { // f never fails
		e := Entry{Name: name, Data: n.data, Link: n.link, Errno: n.errno}
		switch {
		case n.isDir():
			e.Mode = fs.ModeDir
		case n.isLink():
			e.Mode = fs.ModeSymlink
		}
		list = append(list, e)
		return nil
	})
	t.mu.RUnlock()
	return func(yield func(Entry) bool) {
		for _, e := range list {
			if !yield(e) {
				return
			}
		}
	}
}

// WriteTarGz writes the tree as an archive that [FromTarGz] reads: first the files in first, which
// are at the root, then errno.json, then the other files. All times are written, so that equal
// trees give equal archives. It rejects links that FromTarGz rejects.
func (t *Tree) WriteTarGz(w io.Writer, written time.Time, first ...string) error {
	t.mu.RLock()
	err := t.checkLinks(&budget{})
	t.mu.RUnlock()
	if err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	zw, err := gzip.NewWriterLevel(w, gzip.DefaultCompression)
	if err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	tw := tar.NewWriter(zw)
	if err := t.writeEntries(tw, written, first); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	if err := tw.Close(); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	if err := zw.Close(); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	return nil
}

func (t *Tree) writeEntries(tw *tar.Writer, written time.Time, first []string) error {
	top := map[string]Entry{}
	errnos := map[string]string{}
	for e := range t.Entries() {
		if path.Dir(e.Name) == "." {
			top[e.Name] = e
		}
		if name, ok := sysfs.ErrnoName(e.Errno); ok {
			errnos[e.Name] = name
		}
	}
	done := map[string]bool{".": true}
	for _, name := range first {
		if e, ok := top[name]; ok && e.Mode == 0 {
			done[name] = true
			if err := writeEntry(tw, e, written); err != nil {
				return err
			}
		}
	}
	if len(errnos) > 0 {
		text, err := json.MarshalIndent(errnos, "", " ")
		if err != nil {
			return err
		}
		if err := writeEntry(tw, Entry{Name: errnoFile, Data: append(text, '\n')}, written); err != nil {
			return err
		}
	}
	for e := range t.Entries() {
		if done[e.Name] {
			continue
		}
		if err := writeEntry(tw, e, written); err != nil {
			return err
		}
	}
	return nil
}

func writeEntry(tw *tar.Writer, e Entry, written time.Time) error {
	hdr := &tar.Header{Name: e.Name, ModTime: written.Truncate(time.Second)}
	switch e.Mode {
	case fs.ModeDir:
		hdr.Typeflag, hdr.Mode, hdr.Name = tar.TypeDir, 0o755, e.Name+"/"
	case fs.ModeSymlink:
		hdr.Typeflag, hdr.Mode, hdr.Linkname = tar.TypeSymlink, 0o777, e.Link
	default:
		hdr.Typeflag, hdr.Mode, hdr.Size = tar.TypeReg, 0o644, int64(len(e.Data))
	}
	if err := tw.WriteHeader(hdr); err != nil {
		return err
	}
	_, err := tw.Write(e.Data)
	return err
}
