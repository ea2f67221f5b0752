package testtrees

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTrees checks that every file can be parsed, is in canonical form and describes the node.
func TestTrees(t *testing.T) {
	names := Names()
	if len(names) == 0 {
		t.Fatal("no trees")
	}
	for _, name := range names {
		tree, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		text, err := trees.ReadFile(name + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if canonical := tree.Text(); !bytes.Equal(canonical, text) {
			t.Errorf("%s is not in canonical form (-canonical +file):\n%s",
				name, cmp.Diff(string(canonical), string(text)))
		}
		if len(tree.About()) < 10 || strings.Contains(tree.About(), "TODO") {
			t.Errorf("%s: comment %q doesn't describe the tree", name, tree.About())
		}
	}
}

func TestLoadUnknown(t *testing.T) {
	if _, err := Load("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load(none) = %v, want fs.ErrNotExist", err)
	}
}

func TestLoadReturnsOwnTree(t *testing.T) {
	a, err := Load("06_none")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Set("x", "1\n"); err != nil {
		t.Fatal(err)
	}
	b, err := Load("06_none")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(b.FS(), "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat(x) in the second tree = %v, want fs.ErrNotExist", err)
	}
}

func TestKServe(t *testing.T) {
	runs, err := KServe()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := runs["02_rocev2_8hca"].Exported["NCCL_IB_GID_INDEX"], "3"; got != want {
		t.Errorf("NCCL_IB_GID_INDEX = %q, want %q", got, want)
	}
	for name := range runs {
		if !slices.Contains(Names(), name) {
			t.Errorf("kserve.json has %s, which is not a tree", name)
		}
	}
}
