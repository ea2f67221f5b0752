package fabric

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// fabricTraceSchema is the version of the JSON form of trace.
const fabricTraceSchema = "rdmakit.fabric-trace/v1"

func newFabricTraceCommand(app *cli.App, flags *fabricFlags) *cobra.Command {
	var counters bool
	cmd := &cobra.Command{
		Use:   "trace SRC DST",
		Short: "Follow the switches' forwarding tables from one port to another",
		Long: `Follow the forwarding tables of the switches from one port to another, and report loops and black
holes. Each row is a link that packets pass, with both ends; --counters, or a topology that was saved
with counters, adds their error counters.

SRC and DST are the name, GUID or LID of one node each; "host0[2]" selects a port. For a switch,
always port 0 is used, which has the switch's LID. If DST is a LID, the routes to exactly this LID
are followed; so each path to a port with several LIDs can be traced. No packet is sent along the
path: the link states are those that the sweep read. A path to a node that has DST's LID
too doesn't reach DST. Warnings name LIDs that several ports have, and ends that belong to different
subnets or follow different subnet managers. The tables name one port for a LID; with adaptive
routing, which is common in recent fabrics, a switch chooses among several. The sweep can't read
that, so a note says so if a switch on the path has another port to a switch.

A saved topology must include the forwarding tables:
"rdmactl fabric topology --routes --save FILE".

Exit codes:

    0   the path reaches DST, even if the sweep is partial
    1   the path doesn't reach DST
    3   no such node, or the node has no LID
    7   the path leads to a node that didn't answer, or SRC or DST is not found in a partial sweep`,
		Example: `  rdmactl fabric trace host1 host12
  rdmactl fabric trace --hosts bundles/ gpu-07/mlx5_3 gpu-12/mlx5_3
  rdmactl fabric trace 5 0x100019
  rdmactl fabric trace --from fabric.json host0 leaf3`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := readSubnet(app, cmd, flags, fabric.Options{SubnetManagers: true, Counters: counters})
			if err != nil {
				return err
			}
			defer s.Close()
			return trace(app, cmd, flags, s, args[0], args[1])
		},
	}
	cmd.Flags().BoolVar(&counters, "counters", false, "also read the error counters of the links")
	return cmd
}

// traceReport is what trace prints.
type traceReport struct {
	Schema string      `json:"schema"`
	Sweep  sweepReport `json:"sweep"`
	From   fabricEnd   `json:"from"`
	To     fabricEnd   `json:"to"`
	Hops   []hopReport `json:"hops"`
	// Links are the links that the packet passes, in the direction from A to B.
	Links []traceLinkReport `json:"links"`
	// End is arrived, loop, black-hole, stray or unknown.
	End    fabric.TraceEnd `json:"end"`
	Reason string          `json:"reason,omitempty"`
	// Warnings are the reasons to doubt the path: LIDs that other ports have too, different subnet
	// prefixes, several master subnet managers.
	Warnings []string `json:"warnings"`
	// OneOfSeveral is true if the linear forwarding tables name one of several ways, because
	// adaptive routing can't be ruled out.
	OneOfSeveral bool `json:"oneOfSeveral"`
}

// hopReport is a node on the path.
type hopReport struct {
	Node ib.GUID `json:"node"`
	Name string  `json:"name"`
	Type string  `json:"type"`
	LID  ib.LID  `json:"lid"`
	// In and Out are ports; In is absent at the source, Out at the end.
	In  *uint8 `json:"in,omitempty"`
	Out *uint8 `json:"out,omitempty"`
	// Others are the other ports by which the packet could leave a switch on a way that is no
	// longer.
	Others []int `json:"others,omitempty"`
	// Link is the link to the next node.
	Link *hopLinkReport `json:"link,omitempty"`
}

// traceLinkReport is a link on the path.
type traceLinkReport struct {
	A fabricEnd `json:"a"`
	// B is the end that receives the packet; absent if it is unknown or the port is down.
	B *fabricEnd `json:"b,omitempty"`
	hopLinkReport
	// Counters are the error counters of both ends; absent if they were not read.
	Counters *linkCounters `json:"counters,omitempty"`
}

// hopLinkReport is the link from a hop to the next.
type hopLinkReport struct {
	State       string  `json:"state"`
	Width       string  `json:"width,omitempty"`
	Speed       string  `json:"speed,omitempty"`
	Gbps        float64 `json:"gbps,omitempty"`
	Downtrained bool    `json:"downtrained,omitempty"`
}

func trace(app *cli.App, cmd *cobra.Command, flags *fabricFlags, s *fabricView, from, to string) error {
	src, err := findEnd(s.Topology, from)
	if err != nil {
		return err
	}
	dst, err := findEnd(s.Topology, to)
	if err != nil {
		return err
	}
	toPortZero(app, s.Topology, &src)
	toPortZero(app, s.Topology, &dst)
	lookup := fabric.RoutesRead
	if s.transport != nil && s.cut == nil {
		client := fabric.Client{Transport: s.transport, Keys: flags.keys}
		client.Timeout, client.Retries = flags.tries()
		lookup = client.RouteLookup(cmd.Context())
	}
	tr, err := s.Trace(src, dst, lookup)
	switch {
	case errors.Is(err, fabric.ErrNoLID):
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "%w", err),
			"a subnet manager writes the forwarding tables: rdmactl fabric sm lists the managers")
	case err != nil:
		return err
	case tr.End == fabric.TraceUnknown && s.transport == nil && s.Node(tr.Hops[len(tr.Hops)-1].Node).IsSwitch() &&
		!s.HasRoutes():
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "the saved topology has no forwarding tables"),
			"rdmactl fabric topology --routes --save FILE saves them too")
	}
	r := newTraceReport(s.Topology, tr)
	r.Sweep.HostPorts = s.joined
	if err := app.Out.Print(r, append(r.blocks(), s.hostBlocks(app.Out.Wide())...)...); err != nil {
		return err
	}
	switch tr.End {
	case fabric.TraceArrived:
		return nil
	case fabric.TraceUnknown:
		return cli.ExitSilently(cli.ExitPartial)
	default:
		return cli.ExitSilently(cli.ExitFault)
	}
}

// toPortZero replaces a port of a switch by port 0, which has the switch's LID: packets from and to
// the switch itself use port 0.
func toPortZero(app *cli.App, t *fabric.Topology, e *fabric.Endpoint) {
	if t.Node(e.Port.Node).IsSwitch() && e.Port.Port != 0 {
		asked := endOf(t, e.Port)
		e.Port.Port = 0
		app.Out.Note("note: %s: packets to and from a switch itself use its port 0", asked)
	}
}

func newTraceReport(t *fabric.Topology, tr fabric.Trace) traceReport {
	r := traceReport{
		Schema: fabricTraceSchema, Sweep: newSweepReport(t), From: endOf(t, tr.From.Port), To: endOf(t, tr.To.Port),
		Hops: []hopReport{}, Links: []traceLinkReport{}, End: tr.End, Reason: tr.Reason,
		Warnings: append([]string{}, tr.Warnings...), OneOfSeveral: tr.OneOfSeveral,
	}
	r.From.LID, r.To.LID = tr.From.LID, tr.To.LID
	for i, h := range tr.Hops {
		n := t.Node(h.Node)
		one := hopReport{
			Node: h.Node, Name: n.Description.String(), Type: newNodeReport(n).Type, LID: n.LID(max(h.In, h.Out)),
		}
		if i == 0 {
			one.LID = n.LID(tr.From.Port.Port)
		} else {
			one.In = new(h.In)
		}
		for _, port := range h.Others {
			one.Others = append(one.Others, int(port))
		}
		if h.Out != 0 {
			p := &n.Ports[h.Out]
			one.Out = new(h.Out)
			one.Link = &hopLinkReport{State: stateText(p), Gbps: p.Rate()}
			if p.IsLinkUp() {
				one.Link.Width, one.Link.Speed = p.Width().String(), p.Speed().String()
			}
			id := fabric.PortID{Node: h.Node, Port: h.Out}
			if p.HasPeer() {
				one.Link.Downtrained = t.IsDowntrained(fabric.Link{A: id, B: p.Peer})
			}
			r.Links = append(r.Links, newTraceLink(t, id, p.Peer, *one.Link))
		}
		r.Hops = append(r.Hops, one)
	}
	return r
}

func newTraceLink(t *fabric.Topology, a, b fabric.PortID, link hopLinkReport) traceLinkReport {
	r := traceLinkReport{A: endOf(t, a), hopLinkReport: link, Counters: countersOf(t, a, b)}
	if b != (fabric.PortID{}) {
		r.B = new(endOf(t, b))
	}
	return r
}

func (r *traceReport) blocks() []output.Block {
	var blocks []output.Block
	if len(r.Links) > 0 {
		blocks = append(blocks, r.table())
	}
	head := fmt.Sprintf("from %s (LID %d) to %s (LID %d): ", r.From, r.From.LID, r.To, r.To.LID)
	verdict := output.Good(fmt.Sprintf("arrives, %s", hopCount(len(r.Hops)-1)))
	switch r.End {
	case fabric.TraceArrived:
	case fabric.TraceUnknown:
		verdict = output.Warn("unknown: " + r.Reason)
	default:
		verdict = output.Bad(string(r.End) + ": " + r.Reason)
	}
	blocks = append(blocks, output.Line(output.Plain(head).Flow(0), verdict.Flow(0)))
	if unread := r.withoutCounters(); unread > 0 {
		blocks = append(blocks, output.Line(output.Plain(fmt.Sprintf(
			"error counters of %s not read: --counters reads them", hopCount(unread))).Flow(0)))
	}
	for _, w := range r.Warnings {
		blocks = append(blocks, output.Line(output.Warn("warning: "+w).Flow(0)))
	}
	if r.OneOfSeveral {
		blocks = append(blocks, output.Line(output.Plain(r.otherWays()).Flow(0)))
	}
	return blocks
}

// table has a row for each link of the path.
func (r *traceReport) table() output.Table {
	table := output.Table{Columns: []output.Column{
		{Name: "hop", Align: output.AlignRight},
		{Name: "from"},
		{Name: "lid", Align: output.AlignRight},
		{Name: "to"},
		{Name: "lid", Align: output.AlignRight},
		{Name: "link"},
		{Name: "errors", Wrap: true, Wide: r.withoutCounters() == len(r.Links)},
		{Name: "from guid", Wide: true},
		{Name: "to guid", Wide: true},
	}}
	for i := range r.Links {
		l := &r.Links[i]
		to, lid, guid := "", "", ""
		if l.B != nil {
			to, lid, guid = l.B.String(), lidText(l.B.LID), guidText(l.B.Node)
		}
		table.Rows = append(table.Rows, []output.Cell{
			output.Plain(fmt.Sprint(i + 1)), output.Plain(l.A.String()), output.Plain(lidText(l.A.LID)),
			output.Plain(to), output.Plain(lid), l.cell(), l.Counters.cell(&l.A, l.B),
			output.Plain(guidText(l.A.Node)), output.Plain(guid),
		})
	}
	return table
}

// withoutCounters returns the number of links of which no counter was read.
func (r *traceReport) withoutCounters() int {
	n := 0
	for i := range r.Links {
		if r.Links[i].Counters == nil {
			n++
		}
	}
	return n
}

// otherWays returns the note on adaptive routing.
func (r *traceReport) otherWays() string {
	var list []string
	for _, h := range r.Hops {
		if k := len(h.Others); k > 0 {
			list = append(list,
				fmt.Sprintf("%s (%s)", cmp.Or(h.Name, guidText(h.Node)), english.Count(k, "other port")))
		}
	}
	where := "a longer one"
	if len(list) > 0 {
		where = "another at " + strings.Join(list, ", ")
	}
	return "note: the linear tables name one of several ways: adaptive routing, which the sweep doesn't read and " +
		"can't rule out, may choose " + where
}

// hopCount formats the number of cables on a path.
func hopCount(n int) string { return english.Count(n, "hop") }

func (l *hopLinkReport) cell() output.Cell {
	text := l.State
	if l.Gbps > 0 {
		text = fmt.Sprintf("%s %s", l.Width, l.Speed)
		if l.State != "ACTIVE" {
			text += " " + l.State
		}
	}
	switch {
	case l.Downtrained:
		return output.Bad(text + ", down-trained")
	case l.State != "ACTIVE":
		return output.Bad(text)
	}
	return output.Plain(text)
}
