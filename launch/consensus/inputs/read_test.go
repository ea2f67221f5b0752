package inputs_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/launch/consensus"
	"github.com/rdmakit/rdmakit/launch/consensus/inputs"
)

// nodeFolder writes one node in the forms that a file and a folder have.
func nodeFolder(t *testing.T) (dir string, text []byte) {
	t.Helper()
	tree, err := testtrees.Load("04_iwarp")
	if err != nil {
		t.Fatal(err)
	}
	dir, text = t.TempDir(), tree.Text()
	var packed bytes.Buffer
	if err := tree.WriteTarGz(&packed, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := tree.WriteDir(filepath.Join(dir, "root")); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"a.tree": text, "b.tar.gz": packed.Bytes(), "c.json": []byte(`{"schema":"rdmakit.launch/v1"}`), ".hidden": nil,
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "void"), 0o750); err != nil {
		t.Fatal(err)
	}
	return dir, text
}

// TestFilesNodes reads a folder, standard input and names that lead nowhere; what is no node stands
// in the order of the names.
func TestFilesNodes(t *testing.T) {
	dir, text := nodeFolder(t)
	var over []string
	files := inputs.Files{
		Names:   []string{"-", filepath.Join(dir, "absent"), dir, filepath.Join(dir, "void"), "-"},
		Stdin:   bytes.NewReader(text),
		Ignored: func(path string) { over = append(over, path) },
	}
	nodes, bad, err := files.Nodes(t.Context(), consensus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, n := range consensus.Compare(nodes, consensus.Options{}).Nodes {
		sources = append(sources, n.Source)
	}
	want := []string{ // Compare sorts
		filepath.Join(dir, "a.tree"), filepath.Join(dir, "b.tar.gz"), filepath.Join(dir, "root"), inputs.StdinSource,
	}
	if diff := cmp.Diff(want, sources); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	var wrong []string
	for _, b := range bad {
		wrong = append(wrong, b.Source+": "+b.Error)
	}
	for i, want := range []string{
		"absent: no such file or directory", "c.json: a launch plan", "void: the directory has no files",
		"stdin: - given twice",
	} {
		if i >= len(wrong) || !strings.Contains(wrong[i], want) {
			t.Errorf("no node = %q, want %q at %d", wrong, want, i)
		}
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "void")}, over); diff != "" {
		t.Errorf("passed over (-want +got):\n%s", diff)
	}
}

func TestFilesNodesEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("over")
	cancel(cause)
	if _, _, err := (inputs.Files{Names: []string{"a"}}).Nodes(ctx, consensus.Options{}); !errors.Is(err, cause) {
		t.Errorf("Nodes after the end of its context = %v, want %v", err, cause)
	}
}

func TestFilesNodesWithoutStdin(t *testing.T) {
	_, bad, err := (inputs.Files{Names: []string{"-"}}).Nodes(t.Context(), consensus.Options{})
	if err != nil || len(bad) != 1 || bad[0].Source != inputs.StdinSource {
		t.Errorf("Nodes of - without a reader = %+v, %v, want standard input to be unreadable", bad, err)
	}
}
