package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/cli/clitest"
)

// TestEnvDocs runs the commands in docs/env.md and compares their output, both streams combined.
func TestEnvDocs(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
	page := filepath.Join("docs", "env.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	var fresh strings.Builder
	for i, part := range strings.Split(string(text), "```") {
		if i > 0 {
			fresh.WriteString("```")
		}
		command, shown, ok := strings.Cut(strings.TrimPrefix(part, "console\n"), "\n")
		if command, ok2 := strings.CutPrefix(command, "$ "); ok && ok2 && i%2 == 1 {
			runs++
			got := runDocCommand(t, command)
			if strings.Contains(shown, elision) &&
				matches(strings.Split(shown, "\n"), strings.Split(strings.TrimSuffix(got, "\n"), "\n")) {
				got = shown
			}
			if diff := cmp.Diff(shown, got); diff != "" && !*update {
				t.Errorf("$ %s (-docs +run; go test -run EnvDocs -update rewrites it):\n%s", command, diff)
			}
			part = "console\n$ " + command + "\n" + got
		}
		fresh.WriteString(part)
	}
	if runs < 4 {
		t.Errorf("docs/env.md shows %d runs, want 4 or more", runs)
	}
	if *update {
		if err := os.WriteFile(page, []byte(fresh.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// runDocCommand runs "NAME=VALUE rdmactl ARGS" in the folder of the repository.
func runDocCommand(t *testing.T, command string) string {
	t.Helper()
	before, args, ok := strings.Cut(command, "rdmactl ")
	if !ok {
		t.Fatalf("$ %s does not run rdmactl", command)
	}
	var out bytes.Buffer
	app := clitest.NewApp(All())
	app.Stdout, app.Stderr, app.Environ = &out, &out, append(strings.Fields(before), "HOME="+t.TempDir())
	app.Run(t.Context(), strings.Fields(strings.ReplaceAll(args, "'", "")))
	return out.String()
}
