package node

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// TestBundleName makes names from what nodes call themselves, which is not always a word.
func TestBundleName(t *testing.T) {
	taken := time.Date(2026, 1, 15, 10, 45, 12, 0, time.FixedZone("", 3600))
	for host, want := range map[string]string{
		"gpu-00\n":              "gpu-00-20260115T094512Z.tar.gz",
		"node7.example.com\n":   "node7.example.com-20260115T094512Z.tar.gz",
		"../../etc/passwd\n":    "etc-passwd-20260115T094512Z.tar.gz",
		"-rf a\x1b[2J\n":        "rf-a--2J-20260115T094512Z.tar.gz",
		"(none)\n":              "none--20260115T094512Z.tar.gz",
		"":                      "node-20260115T094512Z.tar.gz",
		strings.Repeat("x", 99): strings.Repeat("x", 64) + "-20260115T094512Z.tar.gz",
	} {
		tree := nodetree.New()
		if err := tree.Set("proc/sys/kernel/hostname", host); err != nil {
			t.Fatal(err)
		}
		if got := bundleName(&bundle.Bundle{Tree: tree, Manifest: &bundle.Manifest{Taken: taken}}); got != want {
			t.Errorf("bundleName of %q = %q, want %q", host, got, want)
		}
	}
	got := bundleName(&bundle.Bundle{Tree: nodetree.New(), Manifest: &bundle.Manifest{Written: taken}})
	if want := "node-20260115T094512Z.tar.gz"; got != want {
		t.Errorf("bundleName without a host name = %q, want %q", got, want)
	}
}

// TestBundleFileStays writes a bundle where one is already.
func TestBundleFileStays(t *testing.T) {
	name := filepath.Join(t.TempDir(), "node.tar.gz")
	if err := checkBundleFile(name, false); err != nil {
		t.Errorf("checkBundleFile of no file = %v", err)
	}
	if err := bundle.WriteFile(name, []byte("x"), false); err != nil {
		t.Fatal(err)
	}
	if err := checkBundleFile(name, false); !errors.Is(err, fs.ErrExist) || cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("checkBundleFile of a file = %v, want one that exists, with exit code 2", err)
	}
	if err := checkBundleFile(name, true); err != nil {
		t.Errorf("checkBundleFile with force = %v", err)
	}
}
