package commands

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenCommands are the commands whose output on every tree is recorded.
func goldenCommands() [][]string {
	return [][]string{
		{"detect"},
		{"detect", "-o", "wide"},
		{"show"}, // of every device
		{"status"},
		{"doctor"},
		{"doctor", "-o", "wide"},
		{"env"},
		{"env", "--explain"},
	}
}

// TestGolden compares the output of commands on every tree with recorded output: standard output,
// standard error and the exit code.
func TestGolden(t *testing.T) {
	for _, tree := range testtrees.Names() {
		for _, args := range goldenCommands() {
			name := strings.Join(args, "")
			t.Run(tree+"/"+name, func(t *testing.T) {
				t.Parallel()
				var got string
				if args[0] == "show" {
					got = showAll(t, tree)
				} else {
					got = runOn(t, tree, args...)
				}
				compareGolden(t, filepath.Join("testdata", "golden", tree, name+".txt"), got)
			})
		}
	}
}

func compareGolden(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(golden), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v (go test ./internal/cli -run Golden -update records it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("output differs (-want +got):\n%s", diff)
	}
}

// runOn runs a command on a tree and returns its output and exit code.
func runOn(t *testing.T, tree string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	app := cli.NewApp(All())
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), &stdout, &stderr
	app.IsTerminal = func(any) bool { return false }
	app.Environ = []string{"HOME=" + t.TempDir(), "RDMAKIT_PCI_IDS=" + filepath.Join("testdata", "pci.ids")}
	full := append(slices.Clone(args), "--from", filepath.Join("..", "..", "testkit", "testtrees", tree+".tree"))
	code := app.Run(t.Context(), full)
	return fmt.Sprintf("$ rdmactl %s\n%s--- stderr\n%s--- exit %d\n",
		strings.Join(args, " "), stdout.String(), stderr.String(), code)
}

func showAll(t *testing.T, name string) string {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: tree.FS()})
	var out strings.Builder
	for i, d := range snap.Devices {
		if i > 0 && i < len(snap.Devices)-1 && len(snap.Devices) >= 8 {
			continue // the rails of a large node look alike
		}
		out.WriteString(runOn(t, name, "show", d.Name))
	}
	return out.String()
}
