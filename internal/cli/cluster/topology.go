package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/leaf"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
)

// readTopologies reads the files of --topology, and those in its folders.
func readTopologies(names []string) (*leaf.Sources, error) {
	s := new(leaf.Sources)
	for _, name := range names {
		files, err := filesIn(name)
		if err != nil {
			return nil, cli.InputError(fmt.Errorf("read topology: %w", err))
		}
		if len(files) == 0 {
			return nil, cli.Exitf(cli.ExitUsage, "read topology: %s: the folder has no file", name)
		}
		for _, file := range files {
			if err := readTopology(s, file); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// filesIn returns the files of a folder, in their order and without hidden ones, or the file
// itself.
func filesIn(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, err
	}
	entries, err := os.ReadDir(name)
	var files []string
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, filepath.Join(name, e.Name()))
		}
	}
	return files, err
}

func readTopology(s *leaf.Sources, name string) error {
	file, err := os.Open(name) //nolint:gosec // the user's file
	if err != nil {
		return cli.InputError(fmt.Errorf("read topology: %w", err))
	}
	defer file.Close()
	err = s.Read(name, file)
	if errors.Is(err, leaf.ErrKind) {
		return cli.WithHints(cli.Exitf(cli.ExitUsage, "%w", err),
			"rdmactl fabric topology --save FILE saves a sweep; lldpctl -f json > NODE.json the neighbours of a node")
	}
	if err != nil {
		return cli.InputError(err)
	}
	return nil
}

// setLeaves sets the leaves of the fleet and prints where they come from. It returns the value of
// result.Run.LeavesFrom.
func setLeaves(app *cli.App, fleet *leader.Fleet, s *leaf.Sources, nodes []result.Node) (string, error) {
	c := fleet.Cluster()
	l, err := s.Find(c, nodes)
	if err != nil {
		return "", cli.Exitf(cli.ExitUsage, "%w", err)
	}
	fleet.SetLeaves(l.Nodes, func(node, card int) map[string]string { return leaf.Facts(l.Ports[node][card]) })
	if l.From == "" && s.Empty() {
		return "", nil // no source has leaves, and the user named none
	}
	app.Out.Note("%s", leavesText(l))
	if app.Verbose() {
		for _, m := range slices.Concat(l.Missing, l.Odd, l.Mixed) {
			app.Out.Note("leaves: %s", m)
		}
		for _, name := range l.Unused {
			app.Out.Note("leaves: %s: no node of the cluster has that name", name)
		}
	}
	return l.From, nil
}

// inferLeaves returns a function that infers leaves from latency and prints the result.
func inferLeaves(app *cli.App) func(*result.Run) []string {
	return func(run *result.Run) []string {
		g := verdict.InferLeaves(run)
		if g.Leaves == nil {
			if !run.Software() { // which has no leaves
				app.Out.Note("leaves: unknown: %s (lldpd on the nodes knows them, or --topology FILE)", g.Why)
			}
			return nil
		}
		l := leaf.Leaves{From: result.LeavesFromLatency, Nodes: g.Leaves}
		app.Out.Note("%s: half a round trip between them is %.2g µs longer than within, with a noise of %.2g µs",
			leavesText(&l), g.Hop, g.Noise)
		return g.Leaves
	}
}

// leavesText describes the known leaves in a line.
func leavesText(l *leaf.Leaves) string {
	leaves, least, most := l.Count()
	list := english.Count(leaves, "leaf")
	switch {
	case leaves == 1:
		list += " with " + english.Count(most, "node")
	case leaves > 1 && least == most:
		list += " with " + english.Count(most, "node") + " each"
	case leaves > 1:
		list += fmt.Sprintf(" with %d to %s", least, english.Count(most, "node"))
	}
	text := "leaves: " + list
	if l.From != "" {
		text += " from " + l.From
	}
	var but []string
	for _, part := range []struct {
		n    int
		what string
	}{{len(l.Missing), "of which no switch is known"}, {len(l.Odd), "on other switches"}} {
		if part.n > 0 {
			but = append(but, english.Count(part.n, "card")+" "+part.what)
		}
	}
	if len(l.Mixed) > 0 {
		but = append(but, english.Count(len(l.Mixed), "node")+" without a leaf")
	}
	if len(l.Unused) > 0 {
		but = append(but, english.Count(len(l.Unused), "file")+" of other nodes")
	}
	if len(but) == 0 {
		return text
	}
	return text + "; " + strings.Join(but, ", ") + " (-v lists them)"
}
