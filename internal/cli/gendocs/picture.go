package main

import (
	"bytes"
	"context"
	_ "embed" // for what the demo printed
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/commands"
	"github.com/rdmakit/rdmakit/internal/text/termsvg"
)

// pictureColumns is the width of the terminal in the picture.
const pictureColumns = 100

// onTerminal returns what rdmactl prints to a terminal with colours.
func onTerminal(args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	app := cli.NewApp(commands.All())
	app.Stdout, app.Stderr, app.Environ = &stdout, &stderr, nil
	app.IsTerminal = func(stream any) bool { return stream == app.Stdout }
	app.Size = func() (int, int) { return pictureColumns, 0 }
	if code := app.Run(context.Background(), append(args, "--color", "always")); code != 0 {
		return nil, fmt.Errorf("rdmactl %s: exit code %d: %s", strings.Join(args, " "), code, stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// span is the lines from the one that begins with from up to the one that begins with to.
type span struct{ from, to string }

// nodePicture draws what rdmactl demo node prints.
func nodePicture() ([]byte, error) {
	printed, err := onTerminal("demo", "node")
	if err != nil {
		return nil, fmt.Errorf("picture of the demo of a node: %w", err)
	}
	return picture("$ rdmactl demo node", printed,
		span{"Network devices that could carry RDMA", "rdmactl doctor:"}, span{"rdmactl env:", "planted and found"})
}

// recorded is what rdmactl demo printed when it was recorded. The measurements of its emulation
// differ a little between runs, and a page that is generated must not.
//
//go:embed demo.ansi
var recorded []byte

// record writes what rdmactl demo prints now to a file.
func record(file string) error {
	printed, err := onTerminal("demo", "--html", "none")
	if err != nil {
		return fmt.Errorf("record the demo: %w", err)
	}
	return os.WriteFile(file, printed, 0o644) //nolint:gosec // documentation is for everyone
}

// clusterPicture draws what rdmactl demo has printed.
func clusterPicture() ([]byte, error) {
	return picture("$ rdmactl demo", recorded, span{"jitter ", "slow "}, span{"loss ", "rails: bandwidth"},
		span{"the slowest of all pairs", "rail 2: bandwidth"}, span{"rail 0: bandwidth", "planted and found"})
}

// picture draws what was printed, but for spans that are left out in favour of a picture that
// README can show on a screen.
func picture(command string, printed []byte, cuts ...span) ([]byte, error) {
	lines := strings.Split(strings.TrimRight(string(printed), "\n"), "\n")
	for _, cut := range cuts {
		var err error
		if lines, err = leaveOut(lines, cut.from, cut.to); err != nil {
			return nil, fmt.Errorf("picture of %s: %w", command, err)
		}
	}
	return termsvg.Draw(command, lines)
}

// leaveOut puts "…" in the place of the lines from the one that begins with from up to the one
// that begins with to.
func leaveOut(lines []string, from, to string) ([]string, error) {
	find := func(start string) int {
		return slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(ansi.Strip(line), start) })
	}
	first, next := find(from), find(to)
	if first < 0 || next < first {
		return nil, fmt.Errorf("no lines from %q to %q", from, to)
	}
	return slices.Concat(lines[:first], []string{"…", ""}, lines[next:]), nil
}
