package fabric

import (
	"cmp"
	"fmt"
	"io"
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
		Short: "Show the whole fabric as a tree, table, graph or document",
		Long: `Topology shows the switches by tiers with what is connected to them, the highest tier first. Tier 1 are the leaves: the
switches that hosts are at. A switch that has far fewer hosts than its neighbours is none, for management servers may be
at a spine.

-o table lists the nodes, -o dot draws a graph for Graphviz, -o json and yaml print the document that --save writes and
--from reads.

` + fabricExitCodes,
		Example: `  rdmactl fabric topology
  rdmactl fabric topology -o dot | dot -Tsvg > fabric.svg
  rdmactl fabric topology --routes --counters --save fabric.json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
	cmd.Flags().BoolVar(&o.Routes, "routes", false, "also read the forwarding tables, for trace --from")
	cmd.Flags().BoolVar(&o.Counters, "counters", false, "also read the counters of the ports that are up, for errors --from")
	cmd.Flags().BoolVar(&o.Multicast, "multicast", false, "also read the multicast forwarding tables")
	cmd.Flags().BoolVar(&o.SubnetManagers, "managers", true, "also ask the subnet managers, for sm --from")
	return cmd
}

func printTopology(app *cli.App, s *fabricView) error {
	format := app.Out.Format()
	if app.Config.Origin("output") == config.OriginDefault {
		format = formatTree // the setting's default, table, is not this command's
	}
	switch format {
	case formatDot:
		return printWritten(app, func(w io.Writer) error { return writeDot(w, s.Topology) })
	case formatTree:
		return app.Out.Text(append(treeBlocks(s.Topology), gaps(s.Topology)...)...)
	}
	return app.Out.Print(s.Document(), append([]output.Block{nodeTable(s.Topology)}, gaps(s.Topology)...)...)
}

// nodeTable lists all nodes.
func nodeTable(t *fabric.Topology) output.Table {
	table := output.Table{Columns: append([]output.Column{
		{Name: "name"},
		{Name: "type"},
		{Name: "tier", Align: output.AlignRight},
		{Name: "lid"},
		{Name: "ports up"},
	}, identityColumns()...)}
	table.Columns = append(table.Columns, output.Column{Name: "path", Wide: true})
	tiers := t.Tiers()
	nodes := sortedNodes(t)
	slices.SortStableFunc(nodes, func(a, b *fabric.Node) int { return tiers[b.GUID()] - tiers[a.GUID()] })
	for _, n := range nodes {
		r := newNodeReport(n)
		row := append([]output.Cell{
			output.Plain(r.Name), output.Plain(r.Type), output.Plain(fmt.Sprint(tiers[n.GUID()])), output.Plain(nodeLIDs(n)), r.ports(),
		}, r.identity()...)
		table.Rows = append(table.Rows, append(row, output.Plain(n.Path.String())))
	}
	return table
}

// nodeLIDs lists the LIDs of a node's ports in this subnet; empty when none has one.
func nodeLIDs(n *fabric.Node) string {
	if n.IsSwitch() {
		return lidText(n.LID(0))
	}
	var lids []string
	for number := range n.Ports {
		if n.Ports[number].Known {
			lids = append(lids, cmp.Or(lidText(n.LID(uint8(number))), "-"))
		}
	}
	if !slices.ContainsFunc(lids, func(lid string) bool { return lid != "-" }) {
		return ""
	}
	return strings.Join(lids, ",")
}

// bundleOfLinks are the cables from a node to another.
type bundleOfLinks struct {
	peer  *fabric.Node
	ports []fabric.PortID // of the node
}

// linkBundles groups a node's cables by who is at the other end: higher tiers first, then by name.
func linkBundles(t *fabric.Topology, n *fabric.Node, tiers map[ib.GUID]int) []bundleOfLinks {
	byPeer := map[ib.GUID]*bundleOfLinks{}
	for number := range n.Ports {
		p := &n.Ports[number]
		if !p.HasPeer() {
			continue
		}
		peer := t.Node(p.Peer.Node)
		if peer == nil {
			continue
		}
		b := byPeer[p.Peer.Node]
		if b == nil {
			b = &bundleOfLinks{peer: peer}
			byPeer[p.Peer.Node] = b
		}
		b.ports = append(b.ports, fabric.PortID{Node: n.GUID(), Port: uint8(number)})
	}
	list := make([]bundleOfLinks, 0, len(byPeer))
	for _, b := range byPeer {
		list = append(list, *b)
	}
	slices.SortFunc(list, func(a, b bundleOfLinks) int {
		return cmp.Or(tiers[b.peer.GUID()]-tiers[a.peer.GUID()], endOf(t, fabric.PortID{Node: a.peer.GUID()}).compare(endOf(t, fabric.PortID{Node: b.peer.GUID()})))
	})
	return list
}

// treeBlocks shows each tier with its switches, the highest first.
func treeBlocks(t *fabric.Topology) []output.Block {
	tiers := t.Tiers()
	nodes := sortedNodes(t)
	byTier := map[int][]*fabric.Node{}
	hosts := 0
	for _, n := range nodes {
		if n.IsSwitch() {
			byTier[tiers[n.GUID()]] = append(byTier[tiers[n.GUID()]], n)
		} else {
			hosts++
		}
	}
	head := fmt.Sprintf("%s, %s, %s", switchCount(len(nodes)-hosts), english.Count(hosts, "host"), english.Count(len(t.Links()), "link"))
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

// treeOf is a node and a line for each of its neighbours.
func treeOf(t *fabric.Topology, n *fabric.Node, tiers map[ib.GUID]int) [][]output.Cell {
	r := newNodeReport(n)
	about := fmt.Sprintf("  %d/%d ports up", r.PortsUp, r.PortsTotal)
	if r.Active < r.PortsUp {
		about += fmt.Sprintf(", %d active", r.Active)
	}
	if lids := nodeLIDs(n); lids != "" {
		about = "  LID " + lids + "," + about[1:]
	}
	lines := [][]output.Cell{{output.Plain("  "), output.Bold(n.Name()), output.Dim(about)}}
	bundles := linkBundles(t, n, tiers)
	for i, b := range bundles {
		branch := "  ├─ "
		if i == len(bundles)-1 {
			branch = "  └─ "
		}
		var here, there []string
		for _, id := range b.ports {
			here, there = append(here, fmt.Sprint(id.Port)), append(there, fmt.Sprint(t.Port(id).Peer.Port))
		}
		line := []output.Cell{output.Dim(branch + direction(tiers, n, b.peer)), output.Plain(fmt.Sprintf("[%s] %s[%s]", strings.Join(here, ","), b.peer.Name(), strings.Join(there, ",")))}
		lines = append(lines, append(line, bundleRate(t, b)...))
	}
	return lines
}

// direction says where a neighbour is, in words of equal length.
func direction(tiers map[ib.GUID]int, n, peer *fabric.Node) string {
	switch d := tiers[peer.GUID()] - tiers[n.GUID()]; {
	case d > 0:
		return "up   "
	case !peer.IsSwitch():
		return "host "
	case d < 0:
		return "down "
	}
	return "peer "
}

// bundleRate is the rate of parallel cables, and what is wrong with them.
func bundleRate(t *fabric.Topology, b bundleOfLinks) []output.Cell {
	var rates []string
	down := 0
	for _, id := range b.ports {
		p := t.Port(id)
		rates = append(rates, linkText(p))
		if t.IsDowntrained(fabric.Link{A: id, B: p.Peer}) {
			down++
		}
	}
	slices.Sort(rates)
	rates = slices.Compact(rates)
	text := strings.Join(rates, ", ")
	if len(b.ports) > 1 && len(rates) == 1 {
		text = fmt.Sprintf("%d × %s", len(b.ports), text)
	}
	cells := []output.Cell{output.Dim("  " + text)}
	if down > 0 {
		note := "  down-trained"
		if down < len(b.ports) {
			note = fmt.Sprintf("  %d down-trained", down)
		}
		cells = append(cells, output.Bad(note))
	}
	return cells
}

// writeDot draws the graph in Graphviz's language: switches of one tier in one row, hosts at the bottom, cables that are not as they
// should be in colour.
func writeDot(w io.Writer, t *fabric.Topology) error {
	tiers := t.Tiers()
	nodes := sortedNodes(t)
	byTier := map[int][]*fabric.Node{}
	for _, n := range nodes {
		byTier[tiers[n.GUID()]] = append(byTier[tiers[n.GUID()]], n)
	}
	var b strings.Builder
	b.WriteString("graph fabric {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=8];\n")
	for _, tier := range slices.Backward(slices.Sorted(maps.Keys(byTier))) {
		fmt.Fprintf(&b, "  { rank=same; // tier %d\n", tier)
		for _, n := range byTier[tier] {
			shape := ""
			if !n.IsSwitch() {
				shape = ", shape=ellipse"
			}
			label := dotText(n.Name())
			if lids := nodeLIDs(n); lids != "" {
				label += `\nLID ` + lids
			}
			fmt.Fprintf(&b, "    \"%s\" [label=\"%s\"%s];\n", guidText(n.GUID()), label, shape)
		}
		b.WriteString("  }\n")
	}
	links := t.Links()
	reports := make([]linkReport, len(links))
	for i, l := range links {
		reports[i] = newLinkReport(t, l)
	}
	slices.SortStableFunc(reports, func(x, y linkReport) int {
		return cmp.Or(tiers[y.A.Node]-tiers[x.A.Node], x.A.compare(y.A))
	})
	for i := range reports {
		l := &reports[i]
		above, below := l.A, *l.B
		if tiers[below.Node] > tiers[above.Node] { // Graphviz puts the first end higher
			above, below = below, above
		}
		color := ""
		if l.isFault() {
			color = ", color=red"
		}
		fmt.Fprintf(&b, "  \"%s\" -- \"%s\" [taillabel=\"%d\", headlabel=\"%d\", label=\"%s\"%s];\n",
			guidText(above.Node), guidText(below.Node), above.Port, below.Port, dotText(strings.TrimSpace(l.Width+" "+l.Speed)), color)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// dotText quotes what a string of Graphviz gives a meaning to. Descriptions hold printable ASCII only.
func dotText(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) }
