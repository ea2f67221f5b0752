package sources_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// TestOpen opens a node in both of its forms.
func TestOpen(t *testing.T) {
	tree, err := testtrees.Load("04_iwarp")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, root := filepath.Join(dir, "node.tree"), filepath.Join(dir, "root")
	if err := errors.Join(os.WriteFile(file, tree.Text(), 0o600), tree.WriteDir(root)); err != nil {
		t.Fatal(err)
	}
	forms := map[string]func(string) (*sources.Node, error){file: sources.OpenBundle, root: sources.OpenFolder}
	for name, open := range forms {
		n, err := open(name)
		if err != nil {
			t.Errorf("open %s: %v", name, err)
			continue
		}
		snap, err := inventory.Scan(t.Context(), n.Sources)
		if err != nil || len(snap.Devices) == 0 || n.Local || (n.Bundle != nil) != (name == file) {
			t.Errorf("%s: %d devices, %v, local %v, bundle %v", name, len(snap.Devices), err, n.Local, n.Bundle != nil)
		}
		n.Close()
	}
	for name, want := range map[string]bool{root: true, dir: false, file: false} {
		if got := sources.IsRoot(name); got != want {
			t.Errorf("IsRoot(%s) = %v, want %v", name, got, want)
		}
	}
}

func TestOpenWrong(t *testing.T) {
	dir := t.TempDir()
	closed := false
	_, noRoot := sources.FromFS(fstest.MapFS{}, func() error { closed = true; return nil }, "nothing")
	if !closed {
		t.Error("FromFS leaves open what it refuses")
	}
	_, folder := sources.OpenBundle(dir)
	_, none := sources.OpenBundle(filepath.Join(dir, "absent"))
	for _, tt := range []struct{ err, want error }{
		{noRoot, sources.ErrNoRoot}, {folder, sources.ErrFolder}, {none, fs.ErrNotExist},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("error %v, want %v", tt.err, tt.want)
		}
	}
	half := fstest.MapFS{"sys": {Mode: fs.ModeDir}, "live.json": {Data: []byte("{")}}
	if _, err := sources.FromFS(half, nil, "half"); err == nil {
		t.Error("FromFS takes a broken live.json")
	}
}
