package fabric

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// fabricLinksSchema is the version of the JSON form of links.
const fabricLinksSchema = "rdmakit.fabric-links/v1"

// linkFlags selects the links.
type linkFlags struct {
	downtrained, down, check, counters bool
}

func newFabricLinksCommand(app *cli.App, flags *fabricFlags) *cobra.Command {
	var choice linkFlags
	cmd := &cobra.Command{
		Use:   "links [NODE...]",
		Short: "List the cables with both ends, width, speed and state",
		Long: `List each cable once. With NODE (a name, a pattern such as "leaf*", a GUID or a LID), list only the
cables with an end at that node; "[N]" after a name or GUID selects the cable at port N. Gbit/s is
the signalling rate of all lanes together: 212.5 for 4X HDR. A port whose link is up is listed even
if its other end is unknown.

--counters reads the error counters of both ends; so does a topology that was saved with them. -o
wide has the GUIDs and LIDs of both ends, and the width and speed that both support.

With --hosts PATH, ports of hosts are "gpu-07 mlx5_3[1] rail 3". What the hosts and the sweep don't
have in common is counted (-o wide has the names), contradictions between them are listed, and so are
rails that are connected to another leaf than in the other hosts.

A link is down-trained if it runs with a smaller width or a lower speed than both ends support and
have enabled; the note shows the possible width and speed. --down lists the ports without a link
instead: empty ports, and ports whose cable or other end has failed. With --rescan FILE it also
shows the other end that the port had when FILE was saved.

Exit codes:

    0   the links are listed, whatever their state is
    1   --check: a link is down-trained, not active, up at one end only, or has an end that doesn't
        answer; hosts of --hosts contradict the sweep, or have a rail at another leaf than other
        hosts; --check --down: a port has lost the link that it had in the --rescan file; or --save
        failed
` + fabricExitCodes,
		Example: `  rdmactl fabric links
  rdmactl fabric links --downtrained --check
  rdmactl fabric links --hosts bundles/ "gpu-07 rail 3"
  rdmactl fabric links "leaf*" --down --rescan fabric.json`,
		Args: nodeArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return listLinks(app, cmd, flags, choice, args) },
	}
	set := cmd.Flags()
	set.BoolVar(&choice.downtrained, "downtrained", false,
		"list only links that run below the width or speed that both ends allow")
	set.BoolVar(&choice.down, "down", false, "list the ports without a link instead")
	set.BoolVar(&choice.counters, "counters", false, "also read the error counters of both ends")
	set.BoolVar(&choice.check, "check", false, "exit with 1 if a listed link has a fault")
	cmd.MarkFlagsMutuallyExclusive("downtrained", "down")
	return cmd
}

// linksReport is what links prints.
type linksReport struct {
	Schema string       `json:"schema"`
	Sweep  sweepReport  `json:"sweep"`
	Links  []linkReport `json:"links"`
}

// linkReport is a cable, or with --down a port without one.
type linkReport struct {
	A fabricEnd `json:"a"`
	// B is the other end. For a port without a link it is the former other end, if known.
	B     *fabricEnd `json:"b,omitempty"`
	State string     `json:"state"`
	// StateB is the state of the other end if it differs.
	StateB string  `json:"stateB,omitempty"`
	Width  string  `json:"width,omitempty"`
	Speed  string  `json:"speed,omitempty"`
	Gbps   float64 `json:"gbps,omitempty"`
	// Downtrained is true if the link runs below Possible, which both ends support and have
	// enabled.
	Downtrained bool        `json:"downtrained,omitempty"`
	Possible    *rateReport `json:"possible,omitempty"`
	LostLink    bool        `json:"lostLink,omitempty"` // it had one when the --rescan file was saved
	// OtherEnd is the reason why a link that is up has no B: "silent" if the node there didn't
	// answer, "unknown" if the sweep ended before that was certain, "contradictory" if the other
	// end is listed as an anomaly.
	OtherEnd string `json:"otherEnd,omitempty"`
	// Supported is what both ends support, enabled or not; absent if an end is unknown.
	Supported *rateReport `json:"supported,omitempty"`
	// Counters are the error counters of both ends; absent if they were not read.
	Counters *linkCounters `json:"counters,omitempty"`
	link     *fabric.Link  // nil unless both ends are known
	faulty   bool          // the link
}

// Values of linkReport.OtherEnd.
const (
	endSilent        = "silent"
	endUnknown       = "unknown"
	endContradictory = "contradictory"
)

// rateReport is the width and speed that a link could have.
type rateReport struct {
	Width string  `json:"width"`
	Speed string  `json:"speed"`
	Gbps  float64 `json:"gbps"`
}

// isFault reports whether --check counts the link as a fault.
func (l *linkReport) isFault() bool {
	switch {
	case l.OtherEnd != "":
		return l.OtherEnd != endUnknown || l.State != "ACTIVE"
	case l.link == nil:
		return l.LostLink
	}
	return l.faulty
}

func newLinkReport(t *fabric.Topology, l fabric.Link) linkReport {
	l = t.Ordered(l)
	r := linkReport{A: endOf(t, l.A), B: new(endOf(t, l.B)), link: &l, faulty: t.IsFaulty(l)}
	a, b := t.Port(l.A), t.Port(l.B)
	r.State = stateText(a)
	if other := stateText(b); other != r.State && a.Known && b.Known {
		r.StateB = other
	}
	if !a.Known {
		a, r.State = b, stateText(b)
	}
	if a.IsLinkUp() {
		r.Width, r.Speed, r.Gbps = a.Width().String(), a.Speed().String(), a.Rate()
	}
	if r.Downtrained = t.IsDowntrained(l); r.Downtrained {
		width, speed := t.Best(l, false)
		r.Possible = &rateReport{width.String(), speed.String(), fabric.RateOf(width, speed)}
	}
	if width, speed := t.Best(l, true); width != 0 && speed != mad.LinkSpeedUnknown {
		r.Supported = &rateReport{width.String(), speed.String(), fabric.RateOf(width, speed)}
	}
	r.Counters = countersOf(t, l.A, l.B)
	return r
}

// newOpenLink returns the report of a port whose link is up and whose other end is unknown.
func newOpenLink(t *fabric.Topology, end fabric.OpenEnd) linkReport {
	p := t.Port(end.Port)
	r := linkReport{
		A: endOf(t, end.Port), State: stateText(p), Width: p.Width().String(), Speed: p.Speed().String(),
		Gbps: p.Rate(), OtherEnd: endUnknown, Counters: countersOf(t, end.Port, fabric.PortID{}),
	}
	switch {
	case t.IsContradictory(end.Port):
		r.OtherEnd = endContradictory
	case end.Silent:
		r.OtherEnd = endSilent
	}
	return r
}

// newLinksReport lists the links that have a selected end.
func newLinksReport(t, previous *fabric.Topology, chosen *selection, f linkFlags) linksReport {
	r := linksReport{Schema: fabricLinksSchema, Sweep: newSweepReport(t), Links: []linkReport{}}
	if f.down {
		r.Links = portsWithoutLink(t, previous, chosen)
	} else {
		for _, l := range t.Links() {
			if !chosen.hasEnd(l.A, l.B) || f.downtrained && !t.IsDowntrained(l) {
				continue
			}
			r.Links = append(r.Links, newLinkReport(t, l))
		}
		for _, end := range t.OpenEnds() {
			if chosen.has(end.Port) && !f.downtrained {
				r.Links = append(r.Links, newOpenLink(t, end))
			}
		}
	}
	slices.SortStableFunc(r.Links, func(a, b linkReport) int { return a.A.compare(b.A) })
	return r
}

// portsWithoutLink lists the ports that are down.
func portsWithoutLink(t, previous *fabric.Topology, chosen *selection) []linkReport {
	list := []linkReport{}
	for _, down := range t.DownPorts(previous) {
		if !chosen.has(down.Port) {
			continue
		}
		one := linkReport{
			A: endOf(t, down.Port), State: stateText(t.Port(down.Port)),
			Counters: countersOf(t, down.Port, fabric.PortID{}),
		}
		if down.Was != (fabric.PortID{}) {
			one.B, one.LostLink = new(endOf(previous, down.Was)), true
		}
		list = append(list, one)
	}
	return list
}

func listLinks(app *cli.App, cmd *cobra.Command, flags *fabricFlags, f linkFlags, patterns []string) error {
	s, err := readSubnet(app, cmd, flags, fabric.Options{Counters: f.counters})
	if err != nil {
		return err
	}
	defer s.Close()
	chosen, err := selectNodes(s.Topology, patterns)
	if err != nil {
		return err
	}
	r := newLinksReport(s.Topology, s.previous, chosen, f)
	r.Sweep.HostPorts = s.joined
	var blocks []output.Block
	switch {
	case len(r.Links) > 0:
		blocks = append(blocks, r.table(f.down))
	case f.downtrained:
		blocks = append(blocks, output.Line(output.Good("no link is down-trained")))
	case f.down:
		blocks = append(blocks, output.Line(output.Good("every port has a link")))
	}
	if err := app.Out.Print(r, append(blocks, s.gaps(app.Out.Wide())...)...); err != nil {
		return err
	}
	if f.check && (slices.ContainsFunc(r.Links, func(l linkReport) bool { return l.isFault() }) ||
		slices.ContainsFunc(chosen.nodes, s.IsOneSided) || s.hostsAtFault()) {
		return cli.ExitSilently(cli.ExitFault)
	}
	if len(r.Links) == 0 && !f.downtrained && !f.down && s.end() == nil {
		return cli.Exitf(cli.ExitNotFound, "no cable is known")
	}
	return s.end()
}

func (r *linksReport) table(down bool) output.Table {
	other := "to"
	if down {
		other = "was"
	}
	counted := slices.ContainsFunc(r.Links, func(l linkReport) bool { return l.Counters != nil })
	table := output.Table{Columns: []output.Column{
		{Name: "from"},
		{Name: other, Wrap: true},
		{Name: "state"},
		{Name: "width", Priority: 1},
		{Name: "speed", Priority: 1},
		{Name: "gbit/s", Align: output.AlignRight, Priority: 2},
		{Name: "note", Wrap: true, Below: true},
		{Name: "errors", Wrap: true, Below: true, Wide: !counted},
		{Name: "supported", Wide: true},
		{Name: "from guid", Wide: true},
		{Name: "from port guid", Wide: true},
		{Name: "from lid", Wide: true, Align: output.AlignRight},
		{Name: "to guid", Wide: true},
		{Name: "to port guid", Wide: true},
		{Name: "to lid", Wide: true, Align: output.AlignRight},
	}}
	for i := range r.Links {
		l := &r.Links[i]
		to, guid, portGUID, lid := "", "", "", ""
		if l.B != nil {
			to, guid, portGUID, lid = l.B.String(), guidText(l.B.Node), l.B.portGUID(), lidText(l.B.LID)
		}
		table.Rows = append(table.Rows, []output.Cell{
			output.Plain(l.A.String()), output.Plain(to), l.stateCell(), output.Plain(l.Width), output.Plain(l.Speed),
			output.Plain(rateNumber(l.Gbps)), l.note(), l.errors(), output.Plain(l.supported()),
			output.Plain(guidText(l.A.Node)),
			output.Plain(l.A.portGUID()), output.Plain(lidText(l.A.LID)), output.Plain(guid), output.Plain(portGUID),
			output.Plain(lid),
		})
	}
	if down {
		table.Columns, table.Rows = dropColumns(table, 3, 6)
	}
	return table
}

// dropColumns removes columns: a port without a link has neither width nor speed.
func dropColumns(t output.Table, from, to int) ([]output.Column, [][]output.Cell) {
	for i, row := range t.Rows {
		t.Rows[i] = slices.Delete(row, from, to)
	}
	return slices.Delete(t.Columns, from, to), t.Rows
}

func (l *linkReport) stateCell() output.Cell {
	if l.StateB != "" {
		return output.Warn(l.State + " / " + l.StateB)
	}
	if l.link == nil && !l.LostLink && l.OtherEnd == "" {
		return output.Dim(l.State)
	}
	return fabricState(l.State)
}

// note returns the note on a link's fault.
func (l *linkReport) note() output.Cell {
	switch {
	case l.Downtrained:
		return output.Bad(
			fmt.Sprintf("could be %s %s, %s Gb/s", l.Possible.Width, l.Possible.Speed, rateNumber(l.Possible.Gbps)))
	case l.LostLink:
		return output.Bad("lost its link")
	case l.OtherEnd == endSilent:
		return output.Bad("no answer from the other end")
	case l.OtherEnd == endContradictory:
		return output.Bad("contradictory data about the other end: see Anomalies")
	case l.OtherEnd != "":
		return output.Warn("the sweep ended before the other end answered")
	}
	return output.Plain("")
}

// errors lists the error counters of both ends; empty if they were read and are 0.
func (l *linkReport) errors() output.Cell {
	cell := l.Counters.cell(&l.A, l.B)
	if cell.Text == noneCounted {
		cell.Text = ""
	}
	return cell
}

// supported is what both ends support, enabled or not.
func (l *linkReport) supported() string {
	if l.Supported == nil {
		return ""
	}
	return l.Supported.Width + " " + l.Supported.Speed
}

// linkText returns a link's width and speed: "4X HDR".
func linkText(p *fabric.Port) string {
	if p == nil || !p.IsLinkUp() {
		return ""
	}
	text := linkSpeedText(p.Width(), p.Speed())
	if p.Info.PortState != mad.PortStateActive {
		text = strings.TrimSpace(text + " " + stateText(p))
	}
	return text
}
