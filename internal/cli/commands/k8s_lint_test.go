package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rdmakit/rdmakit/internal/cli"
)

// TestPreCommitHooks runs the hooks in .pre-commit-hooks.yaml as pre-commit does: without file
// arguments, on the folder in args.
func TestPreCommitHooks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", ".pre-commit-hooks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Name, Entry, Language string
		Args                      []string
		PassFilenames             *bool `yaml:"pass_filenames"`
	}
	if err := yaml.Unmarshal(text, &hooks); err != nil {
		t.Fatal(err)
	}
	if len(hooks) == 0 {
		t.Fatal("no hook")
	}
	for _, h := range hooks {
		args, ok := strings.CutPrefix(h.Entry, "rdmactl ")
		if !ok || h.ID == "" || h.Name == "" || h.Language == "" || h.PassFilenames == nil || *h.PassFilenames {
			t.Errorf("hook %+v lacks a field, or gets the names of files", h)
		}
		for folder, want := range map[string]int{"missing-field": cli.ExitFault, "reports/absent": cli.ExitUsage} {
			var stdout, stderr bytes.Buffer
			app := cli.NewApp(All())
			app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), &stdout, &stderr
			app.Environ = []string{"HOME=" + t.TempDir()}
			dir := filepath.Join("..", "..", "..", "k8s", "lint", "testdata", filepath.FromSlash(folder))
			if got := app.Run(t.Context(), append(strings.Fields(args), dir)); got != want {
				t.Errorf("%s on %s: exit code %d, want %d: %s%s",
					h.ID, folder, got, want, stdout.String(), stderr.String())
			}
		}
	}
}
