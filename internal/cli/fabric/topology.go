package fabric

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Formats of topology beside the usual four.
const (
	formatTree output.Format = "tree"
	formatDot  output.Format = "dot"
)

func newFabricTopologyCommand(app *cli.App, flags *fabricFlags) *cobra.Command {
	var o fabric.Options
	cmd := &cobra.Command{
		Use:   "topology",
		Short: "Show the whole fabric as a tree, table, graph or JSON document",
		Long: `Show the switches by tier, the highest tier first, with their neighbours. Tier 1 is the leaves: the
switches that hosts are connected to. A switch with far fewer hosts than its neighbours is not
counted as a leaf, because a few management servers may be connected to a spine.

-o table lists the nodes, -o dot prints a graph for Graphviz, -o json and -o yaml print the document
that --save writes and --from reads.

` + exitCodesListed + fabricExitCodes,
		Example: `  rdmactl fabric topology
  rdmactl fabric topology -o dot | dot -Tsvg > fabric.svg
  rdmactl fabric topology --routes --counters --save fabric.json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{string(keyPM), keyPM.fileFlag()} {
				if cmd.Flags().Changed(name) && !o.Counters {
					return cli.UsageError(cmd, fmt.Errorf("--%s can only be used with --counters", name))
				}
			}
			s, err := readSubnet(app, cmd, flags, o)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := printTopology(app, s); err != nil {
				return err
			}
			return s.end()
		},
	}
	cli.SetFormats(cmd, append([]output.Format{formatTree}, append(output.Formats(), formatDot)...)...)
	cmd.Flags().BoolVar(&o.Routes, "routes", false, "also read the forwarding tables, which trace --from needs")
	cmd.Flags().BoolVar(&o.Counters, "counters", false,
		"also read the counters of the ports, which errors --from needs")
	flags.addKey(cmd, keyPM)
	cmd.Flags().BoolVar(&o.Multicast, "multicast", false, "also read the multicast forwarding tables")
	cmd.Flags().BoolVar(&o.SubnetManagers, "managers", true, "also query the subnet managers, which sm --from needs")
	return cmd
}

func printTopology(app *cli.App, s *fabricView) error {
	format := app.Out.Format()
	if app.Config.Origin("output") == config.OriginDefault {
		format = formatTree // this command's default differs from that of the setting, table
	}
	if s.joined != nil && (format == formatDot || app.Out.Structured()) {
		app.Out.Note("%s", hostCounts(s.joined, false)) // the document is that of --save, which has no hosts
	}
	switch format {
	case formatDot:
		return printWritten(app, s.WriteDot)
	case formatTree:
		return app.Out.Text(append(treeBlocks(s.Topology), s.gaps(app.Out.Wide())...)...)
	}
	return app.Out.Print(s.Document(), append([]output.Block{nodeTable(s.Topology)}, s.gaps(app.Out.Wide())...)...)
}

// nodeTable lists all nodes.
func nodeTable(t *fabric.Topology) output.Table {
	table := output.Table{Columns: append([]output.Column{
		{Name: "name"},
		{Name: "type", Priority: 4},
		{Name: "tier", Align: output.AlignRight, Priority: 2},
		{Name: "lid"},
		{Name: "ports up", Priority: 1},
	}, identityColumns()...)}
	table.Columns = append(table.Columns, output.Column{Name: "path", Wide: true})
	tiers := t.Tiers()
	nodes := t.NodesByName()
	slices.SortStableFunc(nodes, func(a, b *fabric.Node) int { return tiers[b.GUID()] - tiers[a.GUID()] })
	for _, n := range nodes {
		r := newNodeReport(n)
		row := append([]output.Cell{
			output.Plain(cmp.Or(t.HostName(n), r.Name)), output.Plain(r.Type),
			output.Plain(fmt.Sprint(tiers[n.GUID()])), output.Plain(n.LIDs()), r.ports(),
		}, r.identity()...)
		table.Rows = append(table.Rows, append(row, output.Plain(n.Path.String())))
	}
	return table
}

// treeBlocks shows each tier with its switches, the highest first.
func treeBlocks(t *fabric.Topology) []output.Block {
	tiers := t.Tiers()
	nodes := t.NodesByName()
	byTier := map[int][]*fabric.Node{}
	switches, hosts, aggregation := 0, 0, ""
	for _, n := range nodes {
		switch {
		case n.IsSwitch():
			byTier[tiers[n.GUID()]] = append(byTier[tiers[n.GUID()]], n)
			switches++
		case n.IsHost():
			hosts++
		}
	}
	if k := len(nodes) - switches - hosts; k > 0 {
		aggregation = ", " + english.Count(k, "aggregation node")
	}
	head := fmt.Sprintf("%s, %s%s, %s", switchCount(switches), english.Count(hosts, "host"), aggregation,
		english.Count(len(t.Links()), "link"))
	blocks := []output.Block{output.Line(output.Bold(head))}
	for _, tier := range slices.Backward(slices.Sorted(maps.Keys(byTier))) {
		text := output.Text{Title: fmt.Sprintf("Tier %d: %s", tier, switchCount(len(byTier[tier])))}
		for _, n := range byTier[tier] {
			text.Lines = append(text.Lines, treeOf(t, n, tiers)...)
		}
		blocks = append(blocks, text)
	}
	if len(byTier) == 0 {
		text := output.Text{}
		for _, n := range nodes {
			text.Lines = append(text.Lines, treeOf(t, n, tiers)...)
		}
		blocks = append(blocks, text)
	}
	return blocks
}

func switchCount(n int) string {
	if n == 1 {
		return "1 switch"
	}
	return fmt.Sprintf("%d switches", n)
}

// treeOf returns a line for the node and one for each of its neighbours.
func treeOf(t *fabric.Topology, n *fabric.Node, tiers map[ib.GUID]int) [][]output.Cell {
	r := newNodeReport(n)
	about := fmt.Sprintf("  %d/%d ports up", r.PortsUp, r.PortsTotal)
	if r.Active < r.PortsUp {
		about += fmt.Sprintf(", %d active", r.Active)
	}
	if lids := n.LIDs(); lids != "" {
		about = "  LID " + lids + "," + about[1:]
	}
	lines := [][]output.Cell{{output.Plain("  "), output.Bold(nodeName(t, n)), output.Dim(about)}}
	bundles := t.Bundles(n, tiers)
	for i, b := range bundles {
		branch := "  ├─ "
		if i == len(bundles)-1 {
			branch = "  └─ "
		}
		var here, there []string
		for _, id := range b.Ports {
			here, there = append(here, fmt.Sprint(id.Port)), append(there, fmt.Sprint(t.Port(id).Peer.Port))
		}
		peer := fmt.Sprintf("%s[%s]", nodeName(t, b.Peer), strings.Join(there, ","))
		if len(there) == 1 {
			peer = endOf(t, t.Port(b.Ports[0]).Peer).String()
		}
		line := []output.Cell{
			output.Dim(branch + direction(tiers, n, b.Peer)),
			output.Plain(fmt.Sprintf("[%s] %s", strings.Join(here, ","), peer)),
		}
		lines = append(lines, append(line, bundleRate(t, b)...))
	}
	return lines
}

// direction returns "up", "down", "host" or "aggr" (an aggregation node) for a neighbour, padded to
// equal length.
func direction(tiers map[ib.GUID]int, n, peer *fabric.Node) string {
	switch d := tiers[peer.GUID()] - tiers[n.GUID()]; {
	case d > 0:
		return "up   "
	case peer.IsAggregation():
		return "aggr "
	case !peer.IsSwitch():
		return "host "
	case d < 0:
		return "down "
	}
	return "peer "
}

// bundleRate returns the rate of parallel cables and a note on their faults.
func bundleRate(t *fabric.Topology, b fabric.Bundle) []output.Cell {
	var rates []string
	down := 0
	for _, id := range b.Ports {
		p := t.Port(id)
		rates = append(rates, linkText(p))
		if t.IsDowntrained(fabric.Link{A: id, B: p.Peer}) {
			down++
		}
	}
	slices.Sort(rates)
	rates = slices.Compact(rates)
	text := strings.Join(rates, ", ")
	if len(b.Ports) > 1 && len(rates) == 1 {
		text = fmt.Sprintf("%d × %s", len(b.Ports), text)
	}
	cells := []output.Cell{output.Dim("  " + text)}
	if down > 0 {
		note := "  down-trained"
		if down < len(b.Ports) {
			note = fmt.Sprintf("  %d down-trained", down)
		}
		cells = append(cells, output.Bad(note))
	}
	return cells
}
