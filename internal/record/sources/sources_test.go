package sources_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
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

// TestVerbsOfRecording reads the MTUs of ports from the recording of libibverbs.
func TestVerbsOfRecording(t *testing.T) {
	const port = `{"schema":1,"library":{"name":"x"},"devices":[{"name":"mlx5_0","devName":"uverbs0",
		"guid":"0000:0000:0000:0001","nodeType":1,"transport":0,"numCompVectors":1,"attributes":{},
		"ports":[{"number":1,"attributes":{"state":4,"maxMTU":5,"activeMTU":3}}]}]}`
	for _, c := range []struct {
		name, verbs string
		want        []facts.VerbsPort
		err         string
	}{
		{"recorded", port, []facts.VerbsPort{{Object: "mlx5_0:1", MaxMTU: 4096, ActiveMTU: 1024}}, ""},
		{"damaged", `{"schema":`, nil, "read verbs.json: "},
		{"of another version", `{"schema":99}`, nil, "read verbs.json: "},
	} {
		tree := nodetree.New()
		if err := errors.Join(tree.Mkdir("sys"), tree.Set("verbs.json", c.verbs)); err != nil {
			t.Fatal(err)
		}
		n, err := sources.FromFS(tree.FS(), nil, "test")
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		b, err := sources.FromBundle(&bundle.Bundle{Tree: tree}, "test")
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, f := range []*facts.Facts{n.Facts(), b.Facts()} {
			switch err := f.State(facts.KindVerbs); {
			case c.err == "" && (err != nil || !slices.Equal(f.Verbs.Value, c.want)):
				t.Errorf("%s: %v, %+v; want %+v", c.name, err, f.Verbs, c.want)
			case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)):
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
		}
	}
	n, err := sources.FromFS(fstest.MapFS{"sys/x": {}}, nil, "test")
	if err != nil || !errors.Is(n.Facts().State(facts.KindVerbs), facts.ErrNotGathered) {
		t.Errorf("without a recording: %v, %v; want not gathered", err, n.Facts().State(facts.KindVerbs))
	}
}
