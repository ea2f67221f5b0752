package fabric

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Versions of the JSON forms of the lists.
const (
	fabricSMSchema       = "rdmakit.fabric-sm/v1"
	fabricSwitchesSchema = "rdmakit.fabric-switches/v1"
	fabricHostsSchema    = "rdmakit.fabric-hosts/v1"
)

func newFabricSMCommand(app *cli.App, flags *fabricFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "sm",
		Short: "List the subnet managers",
		Long: `List all subnet managers of the subnet, master and standby, with their priority and activity count.
The count grows as long as a manager runs; a manager whose count stops growing is dead. If no subnet
manager answers, the exit code is 3. More than one master is a fault: the subnet has a split brain,
and each overwrites what the other has configured. The same holds for ports that follow different
managers, and for ports with different subnet prefixes; they are listed as anomalies.

Exit codes:

    0   the list is complete
    1   more than one master, or ports with different masters or subnet prefixes; or --save failed;
        the list is printed nevertheless
` + fabricExitCodes,
		Example: "  rdmactl fabric sm\n  rdmactl fabric sm -C mlx5_0 -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSubnet(app, cmd, flags, fabric.Options{SubnetManagers: true})
			if err != nil {
				return err
			}
			defer s.Close()
			return printManagers(app, s)
		},
	}
}

// managersReport is what sm prints.
type managersReport struct {
	Schema         string                `json:"schema"`
	Sweep          sweepReport           `json:"sweep"`
	MasterLID      ib.LID                `json:"masterLID"` // as the local port reports it; 0: none
	SubnetManagers []subnetManagerReport `json:"subnetManagers"`
	WhyNone        string                `json:"whyNone,omitempty"`
	// Masters is the number of managers in state master; more than 1 is a split brain.
	Masters         int `json:"masters"`
	answered        int
	masterAnswering bool
}

// subnetManagerReport is one subnet manager.
type subnetManagerReport struct {
	fabricEnd
	// State is not-active, discovering, standby or master.
	State    string `json:"state,omitempty"`
	Priority uint8  `json:"priority"`
	Activity uint32 `json:"activity"`
	// Error is the reason why the manager did not answer.
	Error string `json:"error,omitempty"`
}

func smState(s mad.SMState) string {
	words := [...]string{"not-active", "discovering", "standby", "master"}
	if int(s) < len(words) {
		return words[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

func newManagersReport(t *fabric.Topology) managersReport {
	r := managersReport{Schema: fabricSMSchema, Sweep: newSweepReport(t), SubnetManagers: []subnetManagerReport{}}
	origin := t.Origin
	if n := t.Node(origin.Node); n != nil && n.IsSwitch() {
		origin.Port = 0
	}
	own := t.Port(origin)
	if own != nil {
		r.MasterLID = own.Info.MasterSMLID
	}
	for _, m := range t.SubnetManagers {
		one := subnetManagerReport{fabricEnd: endOf(t, m.Port), Error: m.Err}
		one.LID, one.PortGUID = m.LID, m.Info.GUID
		if m.Err == "" {
			one.State, one.Priority, one.Activity = smState(m.Info.State), m.Info.Priority, m.Info.ActCount
			r.answered++
			r.masterAnswering = r.masterAnswering || m.Info.State == mad.SMStateMaster
		}
		r.SubnetManagers = append(r.SubnetManagers, one)
	}
	r.Masters = len(t.Masters())
	slices.SortStableFunc(r.SubnetManagers, func(a, b subnetManagerReport) int {
		if a.State == "master" != (b.State == "master") {
			if a.State == "master" {
				return -1
			}
			return 1
		}
		return a.compare(b.fabricEnd)
	})
	if r.answered == 0 {
		r.WhyNone = whyNoManager(t, own, &r)
	}
	return r
}

// whyNoManager explains why no manager is known: what the sweep saw of managers.
func whyNoManager(t *fabric.Topology, own *fabric.Port, r *managersReport) string {
	switch {
	case len(r.SubnetManagers) > 0:
		var list []string
		for _, m := range r.SubnetManagers {
			list = append(list, fmt.Sprintf("LID %d: %s", m.LID, m.Error))
		}
		return strings.Join(list, "; ")
	case own == nil || !own.Known:
		return "the local port did not report the master's LID"
	case own.Info.MasterSMLID != 0:
		return fmt.Sprintf(
			"the local port names LID %d as the master, but the sweep did not query it: the time limit "+
				"expired, or the topology was saved without managers", r.MasterLID)
	case own.Info.LID == 0:
		return fmt.Sprintf(
			"no port of %s reports a subnet manager, and the local port has no LID: none has configured the subnet",
			english.Count(len(t.Nodes), "node"))
	}
	return fmt.Sprintf("no port of %s reports a subnet manager", english.Count(len(t.Nodes), "node"))
}

func printManagers(app *cli.App, s *fabricView) error {
	r := newManagersReport(s.Topology)
	r.Sweep.HostPorts = s.joined
	table := output.Table{Columns: []output.Column{
		{Name: "node"},
		{Name: "lid", Align: output.AlignRight},
		{Name: "state", Wrap: true},
		{Name: "priority", Align: output.AlignRight, Priority: 1},
		{Name: "activity", Align: output.AlignRight, Priority: 2},
		{Name: "port guid", Priority: 3},
	}}
	for _, m := range r.SubnetManagers {
		name := ""
		if m.Node != (ib.GUID{}) {
			name = m.String()
		}
		state, priority, activity := m.stateCell(r.Masters), "", ""
		if m.Error == "" {
			priority, activity = fmt.Sprint(m.Priority), fmt.Sprint(m.Activity)
		}
		guid := ""
		if !m.PortGUID.IsZero() {
			guid = guidText(m.PortGUID)
		}
		table.Rows = append(table.Rows, []output.Cell{
			output.Plain(name), output.Plain(lidText(m.LID)), state, output.Plain(priority), output.Plain(activity),
			output.Plain(guid),
		})
	}
	var blocks []output.Block
	if len(table.Rows) > 0 {
		blocks = append(blocks, table)
	}
	if err := app.Out.Print(r, append(blocks, s.gaps(app.Out.Wide())...)...); err != nil {
		return err
	}
	switch {
	case r.answered == 0 && s.end() != nil && len(r.SubnetManagers) == 0:
		app.Out.Note("no subnet manager is known: %s", r.WhyNone)
		return s.end() // a manager may be among the nodes that didn't answer
	case r.answered == 0:
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "no subnet manager answers: %s", r.WhyNone),
			"start one: opensm on a host, or the subnet manager of a managed switch")
	case !r.masterAnswering:
		app.Out.Note("warning: no subnet manager is the master")
	}
	if slices.ContainsFunc(r.Sweep.Anomalies, isSplit) {
		return cli.ExitSilently(cli.ExitFault)
	}
	return s.end()
}

// stateCell returns the state of a manager: a fault if it is one of several masters.
func (m *subnetManagerReport) stateCell(masters int) output.Cell {
	switch {
	case m.Error != "":
		return output.Bad("no answer: " + m.Error)
	case m.State == "master" && masters > 1:
		return output.Bad(m.State)
	case m.State == "master":
		return output.Good(m.State)
	}
	return output.Plain(m.State)
}

// isSplit reports whether an anomaly means that the ports aren't managed as one subnet.
func isSplit(a fabric.Anomaly) bool {
	switch a.Kind {
	case fabric.AnomalyMasters, fabric.AnomalyMasterLID, fabric.AnomalySubnetPrefix:
		return true
	}
	return false
}

func newFabricSwitchesCommand(app *cli.App, flags *fabricFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "switches [NODE...]",
		Short: "List the switches",
		Long: `List all switches, or only those that NODE selects: a name, a pattern such as "leaf*", a GUID or a
LID. Tier is the distance from the hosts: 1 for a leaf.

` + exitCodesListed + fabricExitCodes,
		Example: "  rdmactl fabric switches\n  rdmactl fabric switches \"leaf*\" -o wide",
		Args:    nodeArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return listNodes(app, cmd, flags, args, true)
		},
	}
}

func newFabricHostsCommand(app *cli.App, flags *fabricFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "hosts [NODE...]",
		Short: "List the hosts' adapters and the switch ports they are connected to",
		Long: `List all channel adapters (and routers), or only those that NODE selects: a name, a pattern such as
"gpu0*", a GUID or a LID. For an adapter with ports in two subnets, only the ports in this subnet
are listed. Aggregation nodes (SHARP), which are inside switches, are no hosts: "fabric topology -o
table" lists them.

` + exitCodesListed + fabricExitCodes,
		Example: "  rdmactl fabric hosts\n  rdmactl fabric hosts \"gpu00*\" -o wide",
		Args:    nodeArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return listNodes(app, cmd, flags, args, false)
		},
	}
}

// switchesReport is what switches prints.
type switchesReport struct {
	Schema   string         `json:"schema"`
	Sweep    sweepReport    `json:"sweep"`
	Switches []switchReport `json:"switches"`
}

// switchReport is a switch.
type switchReport struct {
	nodeReport
	LID  ib.LID `json:"lid"`  // 0: none
	Tier int    `json:"tier"` // 1: a leaf
}

// hostsReport is what hosts prints.
type hostsReport struct {
	Schema string       `json:"schema"`
	Sweep  sweepReport  `json:"sweep"`
	Hosts  []hostReport `json:"hosts"`
}

// hostReport is a channel adapter or router.
type hostReport struct {
	nodeReport
	Ports []hostPortReport `json:"ports"` // the ports in this subnet
}

// hostPortReport is a port of an adapter.
type hostPortReport struct {
	Number uint8   `json:"number"`
	GUID   ib.GUID `json:"guid"`
	LID    ib.LID  `json:"lid"` // 0: none
	State  string  `json:"state"`
	Width  string  `json:"width,omitempty"`
	Speed  string  `json:"speed,omitempty"`
	Gbps   float64 `json:"gbps,omitempty"`
	// Peer is the other end of the cable.
	Peer *fabricEnd `json:"peer,omitempty"`
	// Host is the port as its host knows it, with --hosts.
	Host *fabric.HostPort `json:"host,omitempty"`
}

// nodeReport has the fields that all nodes have in common.
type nodeReport struct {
	Name       string  `json:"name"`
	Type       string  `json:"type"` // switch, hca, router or aggregation-node
	GUID       ib.GUID `json:"guid"`
	SystemGUID ib.GUID `json:"systemGUID"`
	VendorID   uint32  `json:"vendorID"` // an IEEE OUI
	DeviceID   uint16  `json:"deviceID"`
	PortsTotal int     `json:"portsTotal"`
	PortsUp    int     `json:"portsUp"` // with a link
	Active     int     `json:"portsActive"`
}

func newNodeReport(n *fabric.Node) nodeReport {
	r := nodeReport{
		Name: n.Description.String(), Type: "hca", GUID: n.GUID(), SystemGUID: n.Info.SystemImageGUID,
		VendorID: n.Info.VendorID, DeviceID: n.Info.DeviceID, PortsTotal: int(n.Info.NumPorts),
	}
	switch n.Info.NodeType {
	case mad.NodeTypeSwitch:
		r.Type = "switch"
	case mad.NodeTypeRouter:
		r.Type = "router"
	}
	if n.IsAggregation() {
		r.Type = "aggregation-node"
	}
	r.PortsUp, r.Active = n.PortsUp()
	return r
}

// ports returns the cell "10/64": the ports that are up, and how many of them are active if not
// all.
func (r *nodeReport) ports() output.Cell {
	text := fmt.Sprintf("%d/%d", r.PortsUp, r.PortsTotal)
	if r.Active < r.PortsUp {
		return output.Warn(fmt.Sprintf("%s, %d active", text, r.Active))
	}
	return output.Plain(text)
}

// identity returns the cells of the wide columns guid, vendor and device.
func (r *nodeReport) identity() []output.Cell {
	return []output.Cell{
		output.Plain(guidText(r.GUID)), output.Plain(fmt.Sprintf("0x%06x", r.VendorID)),
		output.Plain(fmt.Sprintf("0x%04x", r.DeviceID)),
	}
}

func identityColumns() []output.Column {
	return []output.Column{
		{Name: "guid", Priority: 3}, {Name: "vendor", Wide: true}, {Name: "device", Wide: true},
	}
}

func listNodes(app *cli.App, cmd *cobra.Command, flags *fabricFlags, patterns []string, switches bool) error {
	s, err := readSubnet(app, cmd, flags, fabric.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	chosen, err := selectNodes(s.Topology, patterns)
	if err != nil {
		return err
	}
	nodes := slices.DeleteFunc(chosen.nodes, func(n *fabric.Node) bool {
		return n.IsSwitch() != switches || !switches && !n.IsHost()
	})
	if s.joined != nil { // by the names that are shown
		slices.SortStableFunc(nodes, func(a, b *fabric.Node) int {
			return sysfs.NaturalCompare(nodeName(s.Topology, a), nodeName(s.Topology, b))
		})
	}
	var document any
	var table output.Table
	what := "switch"
	if switches {
		document, table = listSwitches(s, nodes)
	} else {
		what = "channel adapter"
		document, table = listHosts(s, nodes)
	}
	var blocks []output.Block
	if len(table.Rows) > 0 {
		blocks = append(blocks, table)
	}
	none := fmt.Sprintf("%s, and no %s among them", english.Count(len(s.Nodes), "node"), what)
	if len(patterns) > 0 {
		none = "none of the matching nodes is a " + what
	}
	if len(nodes) == 0 && s.end() != nil {
		app.Out.Note("%s", none) // before the list of unreached nodes, which may include one
	}
	if err := app.Out.Print(document, append(blocks, s.gaps(app.Out.Wide())...)...); err != nil {
		return err
	}
	if len(nodes) > 0 || s.end() != nil {
		return s.end()
	}
	return cli.Exitf(cli.ExitNotFound, "%s", none)
}

func listSwitches(s *fabricView, nodes []*fabric.Node) (switchesReport, output.Table) {
	t := s.Topology
	r := switchesReport{Schema: fabricSwitchesSchema, Sweep: newSweepReport(t), Switches: []switchReport{}}
	r.Sweep.HostPorts = s.joined
	table := output.Table{Columns: append([]output.Column{
		{Name: "name"},
		{Name: "lid", Align: output.AlignRight},
		{Name: "ports up", Priority: 1},
		{Name: "tier", Align: output.AlignRight, Priority: 2},
	}, identityColumns()...)}
	tiers := t.Tiers()
	for _, n := range nodes {
		one := switchReport{nodeReport: newNodeReport(n), LID: n.LID(0), Tier: tiers[n.GUID()]}
		r.Switches = append(r.Switches, one)
		table.Rows = append(table.Rows, append([]output.Cell{
			output.Plain(one.Name), output.Plain(lidText(one.LID)), one.ports(), output.Plain(fmt.Sprint(one.Tier)),
		}, one.identity()...))
	}
	return r, table
}

func listHosts(s *fabricView, nodes []*fabric.Node) (hostsReport, output.Table) {
	t := s.Topology
	r := hostsReport{Schema: fabricHostsSchema, Sweep: newSweepReport(t), Hosts: []hostReport{}}
	r.Sweep.HostPorts = s.joined
	table := output.Table{Columns: append([]output.Column{
		{Name: "name"},
		{Name: "type", Wide: true},
		{Name: "lid"},
		{Name: "ports up", Priority: 2},
		{Name: "link", Priority: 1},
		{Name: "at", Wrap: true},
	}, identityColumns()...)}
	for _, n := range nodes {
		one := hostReport{nodeReport: newNodeReport(n), Ports: []hostPortReport{}}
		var links, peers []string
		for number := range n.Ports {
			p := &n.Ports[number]
			if !p.Known {
				continue
			}
			port := newHostPort(t, n, uint8(number))
			one.Ports = append(one.Ports, port)
			links = append(links, linkSpeedText(p.Width(), p.Speed()))
			if port.Peer != nil {
				peers = append(peers, port.Peer.String())
			}
		}
		r.Hosts = append(r.Hosts, one)
		table.Rows = append(table.Rows, append([]output.Cell{
			output.Plain(nodeName(t, n)), output.Plain(one.Type), output.Plain(n.LIDs()), one.ports(),
			output.Plain(strings.Join(slices.Compact(links), ", ")), output.Plain(strings.Join(peers, ", ")),
		}, one.identity()...))
	}
	return r, table
}

func newHostPort(t *fabric.Topology, n *fabric.Node, number uint8) hostPortReport {
	p := &n.Ports[number]
	r := hostPortReport{Number: number, GUID: p.GUID, LID: n.LID(number), State: stateText(p), Gbps: p.Rate()}
	if p.IsLinkUp() {
		r.Width, r.Speed = p.Width().String(), p.Speed().String()
	}
	if p.HasPeer() {
		r.Peer = new(endOf(t, p.Peer))
	}
	if h, ok := t.Hosts[fabric.PortID{Node: n.GUID(), Port: number}]; ok {
		r.Host = &h
	}
	return r
}
