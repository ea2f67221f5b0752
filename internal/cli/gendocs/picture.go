package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/commands"
	"github.com/rdmakit/rdmakit/internal/text/termsvg"
)

// pictureColumns is the width of the terminal in the picture.
const pictureColumns = 100

// demoPicture draws what rdmactl demo node prints to a terminal, but for the sections that are left
// out in favour of one that README can show on a screen.
func demoPicture() ([]byte, error) {
	var stdout, stderr bytes.Buffer
	app := cli.NewApp(commands.All())
	app.Stdout, app.Stderr, app.Environ = &stdout, &stderr, nil
	app.IsTerminal = func(stream any) bool { return stream == app.Stdout }
	app.Size = func() (int, int) { return pictureColumns, 0 }
	if code := app.Run(context.Background(), []string{"demo", "node", "--color", "always"}); code != 0 {
		return nil, fmt.Errorf("picture of the demo: exit code %d: %s", code, stderr.Bytes())
	}
	lines := strings.Split(strings.TrimRight(stdout.String(), "\n"), "\n")
	for _, cut := range []struct{ from, to string }{
		{"Network devices that could carry RDMA", "rdmactl doctor:"},
		{"rdmactl env:", "planted and found"},
	} {
		var err error
		if lines, err = leaveOut(lines, cut.from, cut.to); err != nil {
			return nil, fmt.Errorf("picture of the demo: %w", err)
		}
	}
	return termsvg.Draw("$ rdmactl demo node", lines)
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
