package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/clitest"
)

// TestWrongSources runs commands on invalid sources of a node, or with an invalid database of
// names: they must be usage errors that name the source, with only data on standard output.
func TestWrongSources(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty, comment := file("empty.tree", ""), file("comment.tree", "# nothing\n")
	passwd := file("passwd", "# comment\nroot:x:0:0:root:/root:/bin/bash\n")
	tree := filepath.Join("..", "..", "testkit", "testtrees", "04_iwarp.tree")
	tests := []struct {
		name, env string
		args      []string
		want      string // on standard error; "" for success
		not       string
	}{
		{"empty --root", "", []string{"--root", ""}, "rdmactl: detect: --root: empty\n", ""},
		{"empty --root=", "", []string{"--root="}, "rdmactl: detect: --root: empty\n", ""},
		{"empty --from", "", []string{"--from", ""}, "rdmactl: detect: --from: empty\n", ""},
		{"empty --root beside --from", "", []string{"--root", "", "--from", tree}, "--root: empty\n", ""},
		{"empty variable", "RDMAKIT_ROOT=", []string{"--from", tree}, "", ""},
		{
			"folder as bundle", "",
			[]string{"--from", dir},
			"open bundle " + dir + ": it is a directory\nhint: use --root for a folder\n", "",
		},
		{"empty bundle", "", []string{"--from", empty}, "open bundle " + empty + ": empty file\n", "folder"},
		{"bundle with nothing in it", "", []string{"--from", comment}, "neither sys nor proc", "folder"},
		{
			"names from another file", "RDMAKIT_PCI_IDS=" + passwd,
			[]string{"--from", tree},
			"read PCI id database " + passwd + ": line 2 is not", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			app := clitest.NewApp(All())
			app.Stdout, app.Stderr, app.Environ = &stdout, &stderr, []string{"HOME=" + dir, tt.env}
			code, want := app.Run(t.Context(), append([]string{"detect", "-o", "json"}, tt.args...)), cli.ExitUsage
			if tt.want == "" {
				want = cli.ExitOK
			}
			if code != want || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("detect %q = %d, %q, want %d, %q", tt.args, code, &stderr, want, tt.want)
			}
			if tt.not != "" && strings.Contains(stderr.String(), tt.not) {
				t.Errorf("detect %q says %q", tt.args, &stderr)
			}
			if (stdout.Len() > 0) != (want == cli.ExitOK) {
				t.Errorf("detect %q prints %q", tt.args, &stdout)
			}
		})
	}
}
