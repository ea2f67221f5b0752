package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/shell"

	"github.com/rdmakit/rdmakit/internal/cli"
)

// elision marks lines that are left out of a documented output.
const elision = "…"

// savedFabrics holds the saved sweeps that docs/fabric.md uses.
const savedFabrics = "internal/cli/commands/testdata/fabric/"

// TestDocumentedOutput runs the commands in README.md and docs/*.md and compares their output. It
// runs the commands that work on any machine: rdmactl on test trees (internal/testkit/testtrees/…),
// on saved topologies, on the manifests of examples/kubernetes, and the demo. Other blocks, such as
// those of the kernel guest, can't be checked here.
func TestDocumentedOutput(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := consoleBlocks(string(text))
		if *update {
			rewrite(t, page, string(text), blocks)
			continue
		}
		for _, block := range blocks {
			if !runnable(block.command) {
				continue
			}
			checked++
			t.Run(filepath.Base(page)+"/"+block.command, func(t *testing.T) {
				if got := runDocumented(t, root, block.command); len(block.output) > 0 && !matches(block.output, got) {
					t.Errorf("%s shows for %q:\n%s\nbut it prints:\n%s",
						page, block.command, strings.Join(block.output, "\n"), strings.Join(got, "\n"))
				}
			})
		}
	}
	if checked < 5 && !*update {
		t.Errorf("%d documented commands checked: the blocks are no longer recognised", checked)
	}
}

// rewrite updates the blocks of a page, except those with an elision.
func rewrite(t *testing.T, page, text string, blocks []docCommand) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for _, b := range slices.Backward(blocks) {
		if !runnable(b.command) || len(b.output) == 0 || slices.Contains(b.output, elision) {
			continue
		}
		got := runDocumented(t, filepath.Join("..", "..", ".."), b.command)
		if b.output[len(b.output)-1] == "" { // another command follows after an empty line
			got = append(got, "")
		}
		lines = slices.Replace(lines, b.line+1, b.line+1+len(b.output), got...)
	}
	//nolint:gosec // a page for everyone
	if err := os.WriteFile(page, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// docCommand is a command in a ```console block with the output that follows it.
type docCommand struct {
	command string
	line    int // of the command on the page, from 0
	output  []string
}

// consoleBlocks finds the commands ("$ …") in the console blocks of a page.
func consoleBlocks(text string) []docCommand {
	var out []docCommand
	inside := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case strings.HasPrefix(line, "$ "):
			out = append(out, docCommand{command: strings.TrimPrefix(line, "$ "), line: i})
		case len(out) > 0:
			last := &out[len(out)-1]
			last.output = append(last.output, line)
		}
	}
	return out
}

func runnable(command string) bool {
	command = strings.TrimPrefix(command, "go run ./cmd/")
	return strings.HasPrefix(command, "rdmactl ") && !strings.ContainsAny(command, "|;&<>") &&
		(strings.Contains(command, " internal/testkit/testtrees/") || strings.Contains(command, " "+savedFabrics) ||
			strings.Contains(command, " examples/kubernetes/") || command == "rdmactl demo node")
}

// runDocumented runs a command as in the root of the repository and returns the lines of standard
// output, followed by those of standard error.
func runDocumented(t *testing.T, root, command string) []string {
	t.Helper()
	args, err := shell.Fields(strings.TrimPrefix(strings.TrimPrefix(command, "go run ./cmd/"), "rdmactl "), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		if strings.HasPrefix(arg, "internal/testkit/testtrees/") || strings.HasPrefix(arg, savedFabrics) ||
			strings.HasPrefix(arg, "examples/") {
			args[i] = filepath.Join(root, arg)
		}
	}
	var stdout, stderr bytes.Buffer
	app := cli.NewApp(All())
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), &stdout, &stderr
	app.IsTerminal = func(any) bool { return false }
	app.Environ = []string{"HOME=" + t.TempDir(), "RDMAKIT_PCI_IDS=" + filepath.Join("testdata", "pci.ids")}
	app.Run(t.Context(), args)
	text := strings.ReplaceAll(stdout.String()+stderr.String(), root+string(filepath.Separator), "")
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

// matches compares lines; an elision in want stands for any number of them.
func matches(want, got []string) bool {
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	for i, line := range want {
		if strings.TrimSpace(line) == elision {
			for skip := range len(got) + 1 {
				if matches(want[i+1:], got[skip:]) {
					return true
				}
			}
			return false
		}
		if len(got) == 0 || strings.TrimRight(line, " ") != strings.TrimRight(got[0], " ") {
			return false
		}
		got = got[1:]
	}
	return len(got) == 0
}
