package fabric

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/hosts"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// sweepReport is the part of a document that describes the sweep.
type sweepReport struct {
	Started time.Time `json:"started"`
	// Seconds is the duration of the sweep.
	Seconds  float64 `json:"seconds"`
	Switches int     `json:"switches"`
	Hosts    int     `json:"hosts"` // hosts' adapters, and routers
	// AggregationNodes are the channel adapters inside switches (SHARP), which belong to no host.
	AggregationNodes int `json:"aggregationNodes"`
	Links            int `json:"links"`
	// Complete is true if every request was answered.
	Complete  bool                       `json:"complete"`
	Sent      int                        `json:"sent"` // MADs, retries included
	Unreached []fabric.UnreachedDocument `json:"unreached"`
	Anomalies []fabric.Anomaly           `json:"anomalies"`
	// HostPorts is the comparison with the hosts of --hosts.
	HostPorts *hosts.Report `json:"hostPorts,omitempty"`
}

func newSweepReport(t *fabric.Topology) sweepReport {
	r := sweepReport{
		Started: t.Started.UTC(), Seconds: t.Duration.Seconds(), Links: len(t.Links()), Complete: t.Complete,
		Sent: t.Stats.Sent, Unreached: []fabric.UnreachedDocument{},
		Anomalies: append([]fabric.Anomaly{}, anomalies(t)...),
	}
	for _, n := range t.Nodes {
		switch {
		case n.IsSwitch():
			r.Switches++
		case n.IsAggregation():
			r.AggregationNodes++
		default:
			r.Hosts++
		}
	}
	for _, u := range t.Unreached {
		r.Unreached = append(r.Unreached, u.Document())
	}
	return r
}

// fabricEnd is one end of a cable or of a path.
type fabricEnd struct {
	Node ib.GUID `json:"node"`
	Name string  `json:"name"`
	Port uint8   `json:"port"`
	LID  ib.LID  `json:"lid,omitempty"`
	// PortGUID is that of port 0 for a switch; zero if unknown. For a subnet manager it is the GUID
	// that it reports.
	PortGUID ib.GUID `json:"portGUID"`
	// Host is the port as its host knows it, with --hosts.
	Host *fabric.HostPort `json:"host,omitempty"`
}

func endOf(t *fabric.Topology, id fabric.PortID) fabricEnd {
	e := fabricEnd{Node: id.Node, Port: id.Port}
	if n := t.Node(id.Node); n != nil {
		e.Name, e.LID = n.Description.String(), n.LID(id.Port)
	}
	if p := t.Port(id); p != nil {
		e.PortGUID = p.GUID
	}
	if h, ok := t.Hosts[id]; ok {
		e.Host = &h
	}
	return e
}

// String returns "host0 mlx5_0[1]", with --hosts "gpu-07 mlx5_3[1] rail 3".
func (e fabricEnd) String() string {
	if e.Host != nil {
		return e.Host.String()
	}
	return fmt.Sprintf("%s[%d]", cmp.Or(e.Name, guidText(e.Node)), e.Port)
}

// portGUID returns the GUID of the port, "" if it isn't known.
func (e *fabricEnd) portGUID() string {
	if e.PortGUID.IsZero() {
		return ""
	}
	return guidText(e.PortGUID)
}

func (e fabricEnd) compare(other fabricEnd) int {
	return cmp.Or(sysfs.NaturalCompare(e.Name, other.Name), slices.Compare(e.Node[:], other.Node[:]),
		cmp.Compare(e.Port, other.Port))
}

// guidText formats a GUID as infiniband-diags does; its options and rdmactl's accept this form.
func guidText(g ib.GUID) string { return fmt.Sprintf("0x%x", g[:]) }

func lidText(lid ib.LID) string {
	if lid == 0 {
		return ""
	}
	return strconv.Itoa(int(lid))
}

// selection holds the nodes and ports that the NODE arguments of a command select.
type selection struct {
	nodes []*fabric.Node         // by name
	whole map[ib.GUID]bool       // nodes with all ports selected
	ports map[fabric.PortID]bool // selected ports of the other nodes
}

// has reports whether a port is selected.
func (s *selection) has(id fabric.PortID) bool { return s.whole[id.Node] || s.ports[id] }

// hasEnd reports whether an end of a cable is selected.
func (s *selection) hasEnd(ends ...fabric.PortID) bool { return slices.ContainsFunc(ends, s.has) }

// selectNodes returns the nodes and ports that the arguments select: without arguments all nodes.
// Each argument must select at least one.
func selectNodes(t *fabric.Topology, args []string) (*selection, error) {
	s := &selection{whole: map[ib.GUID]bool{}, ports: map[fabric.PortID]bool{}}
	for _, arg := range args {
		nodes, port := t.Select(arg)
		ofHosts := selectHostPorts(t, arg)
		for _, id := range ofHosts {
			s.ports[id] = true
			s.nodes = append(s.nodes, t.Node(id.Node))
		}
		switch {
		case len(nodes) == 0 && len(ofHosts) > 0:
		case len(nodes) == 0 && port >= 0:
			return nil, cli.Exitf(cli.ExitNotFound, "no port matches %q: no node with that name has a port %d",
				arg, port)
		case len(nodes) == 0:
			return nil, noSuchNode(t, arg, fmt.Errorf("no node matches %q", arg))
		}
		for _, n := range nodes {
			if port < 0 {
				s.whole[n.GUID()] = true
			} else {
				s.ports[fabric.PortID{Node: n.GUID(), Port: uint8(port)}] = true
			}
			s.nodes = append(s.nodes, n)
		}
	}
	if len(args) == 0 {
		s.nodes = slices.Clone(t.Nodes)
		for _, n := range t.Nodes {
			s.whole[n.GUID()] = true
		}
	}
	fabric.SortNodes(s.nodes)
	s.nodes = slices.Compact(s.nodes)
	return s, nil
}

// noSuchNode returns the error of a command whose node was not found. After a partial sweep that is
// ExitPartial rather than ExitNotFound, because the node may be one that didn't answer.
func noSuchNode(t *fabric.Topology, text string, err error) error {
	if !t.Complete {
		return cli.WithHints(cli.Exitf(cli.ExitPartial, "%w", err), unreachedHints(t)...)
	}
	var names []string
	for _, n := range t.Nodes {
		description := n.Description.String()
		names = append(append(names, description),
			strings.FieldsFunc(description, func(r rune) bool { return strings.ContainsRune(" ;:", r) })...)
	}
	return cli.WithHints(cli.Exitf(cli.ExitNotFound, "%w", err),
		cli.DidYouMean(spelling.Nearest(text, names, spelling.Loose))...)
}

// unreachedHints names the first places that didn't answer.
func unreachedHints(t *fabric.Topology) []string {
	const shown = 3
	hints := []string{"the sweep is partial: the node may be one that didn't answer"}
	for i, u := range t.Unreached {
		if i == shown {
			hints = append(hints, fmt.Sprintf("%d more", len(t.Unreached)-shown))
			break
		}
		hints = append(hints, strings.TrimSpace(fmt.Sprintf("%s %s: %s", unreachedAt(t, u), u.What, u.Why())))
	}
	return hints
}

// unreachedAt names the node or port; empty for the sweep as a whole.
func unreachedAt(t *fabric.Topology, u fabric.Unreached) string {
	switch n := t.Node(u.Node); {
	case n == nil:
		return ""
	case u.Port != 0:
		return endOf(t, fabric.PortID{Node: u.Node, Port: u.Port}).String()
	default:
		return n.Name()
	}
}

// findEnd is fabric's Find with hints for the command line.
func findEnd(t *fabric.Topology, text string) (fabric.Endpoint, error) {
	switch ids := selectHostPorts(t, text); {
	case len(ids) == 1:
		return fabric.Endpoint{Port: ids[0], LID: t.Node(ids[0].Node).LID(ids[0].Port)}, nil
	case len(ids) > 1:
		return fabric.Endpoint{}, cli.WithHints(
			cli.Exitf(cli.ExitUsage, "%q is %s: one is needed", text, english.Count(len(ids), "port")),
			fmt.Sprintf("%q is one of them", endOf(t, ids[0])))
	}
	e, err := t.Find(text)
	switch {
	case err == nil:
		return e, nil
	case !errors.Is(err, fabric.ErrAmbiguous) && strings.ContainsAny(text, "*?["):
		if nodes, port := t.Select(text); len(nodes) > 0 && port < 0 {
			return e, cli.WithHints(cli.Exitf(cli.ExitUsage, "%q is a pattern: a single node is needed", text),
				fmt.Sprintf("it matches %s, such as %q", english.Count(len(nodes), "node"), nodes[0].Name()))
		}
	}
	switch {
	case errors.Is(err, fabric.ErrNoNode):
		return e, cli.WithHints(noSuchNode(t, text, err), routerHints(t, err)...)
	case !errors.Is(err, fabric.ErrAmbiguous):
		return e, cli.Exitf(cli.ExitUsage, "%w", err)
	case isNumber(text):
		return e, cli.WithHints(cli.Exitf(cli.ExitUsage, "%w", err), "use a GUID to select one of them")
	default:
		return e, cli.WithHints(cli.Exitf(cli.ExitUsage, "%w", err), "use a GUID or LID to select one of them")
	}
}

// isNumber reports whether the name of a node is a LID or GUID.
func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 0, 64)
	return err == nil
}

// stateText returns a port's state as rdmactl status prints it: ACTIVE, "DOWN (Polling)".
func stateText(p *fabric.Port) string {
	if !p.Known {
		return "unknown"
	}
	words := [...]string{"NOP", "DOWN", "INIT", "ARMED", "ACTIVE"}
	text := p.Info.PortState.String()
	if int(p.Info.PortState) < len(words) {
		text = words[p.Info.PortState]
	}
	if !p.IsLinkUp() {
		text += " (" + p.Info.PortPhysicalState.String() + ")"
	}
	return text
}

// fabricState returns the styled cell of a state.
func fabricState(text string) output.Cell {
	switch {
	case text == "ACTIVE":
		return output.Good(text)
	case strings.HasPrefix(text, "DOWN"):
		return output.Bad(text)
	}
	return output.Warn(text)
}

// linkSpeedText returns "4X HDR".
func linkSpeedText(width mad.LinkWidth, speed mad.LinkSpeed) string {
	if width == 0 || speed == mad.LinkSpeedUnknown {
		return ""
	}
	return width.String() + " " + speed.String()
}

// rateNumber formats Gb/s with enough digits to distinguish rates.
func rateNumber(gbps float64) string {
	if gbps == 0 {
		return ""
	}
	return strconv.FormatFloat(gbps, 'f', -1, 64)
}

// gaps returns the blocks below a list: nodes that did not answer, and anomalies.
func gaps(t *fabric.Topology) []output.Block {
	var blocks []output.Block
	if len(t.Unreached) > 0 {
		table := output.Table{Title: "Not reached", Columns: []output.Column{
			{Name: "at"}, {Name: "requested", Wrap: true}, {Name: "reason", Wrap: true}, {Name: "path", Wide: true},
		}}
		for _, u := range t.Unreached {
			table.Rows = append(table.Rows, []output.Cell{
				output.Plain(unreachedAt(t, u)), output.Plain(u.What), output.Warn(u.Why()),
				output.Plain(u.Path.String()),
			})
		}
		blocks = append(blocks, table)
	}
	if list := anomalies(t); len(list) > 0 {
		table := output.Table{
			Title: "Anomalies", Columns: []output.Column{{Name: "at"}, {Name: "kind"}, {Name: "detail", Wrap: true}},
		}
		for _, a := range list {
			at := ""
			if a.At != (fabric.PortID{}) {
				at = endOf(t, a.At).String()
			}
			table.Rows = append(table.Rows,
				[]output.Cell{output.Plain(at), output.Bad(string(a.Kind)), output.Plain(a.Detail)})
		}
		blocks = append(blocks, table)
		if more := t.Stats.Anomalies - len(t.Anomalies); more > 0 {
			blocks = append(blocks, output.Line(output.Bad(fmt.Sprintf("%d more anomalies", more))))
		}
	}
	return blocks
}

// anomalies returns the anomalies of the sweep, and the contradictions between ports, which the
// file of an older version doesn't have.
func anomalies(t *fabric.Topology) []fabric.Anomaly {
	list := slices.Clone(t.Anomalies)
	if t.Stats.Anomalies > len(t.Anomalies) {
		return list // their number is limited
	}
	for _, a := range t.Contradictions() {
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// nodeArgs takes any number of patterns for nodes; none may be empty.
func nodeArgs(_ *cobra.Command, args []string) error {
	if slices.Contains(args, "") {
		return errors.New("a NODE is empty")
	}
	return nil
}
