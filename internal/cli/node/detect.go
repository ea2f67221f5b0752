package node

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/inventory"
)

func newDetectCommand(app *cli.App) *cobra.Command {
	var source cli.SourceFlags
	cmd := &cobra.Command{
		Use:   "detect",
		Short: "List the RDMA ports of this node, or why there are none",
		Long: `Show a row for each RDMA port: its transport, card, rate, addresses, role and nearest GPU. Below
the ports detect lists the network devices that could carry RDMA from user space, and the obstacles
that keep RDMA from working. On a machine without an RDMA card it names the command that tries RDMA in
user space.

Exit codes:

    0   an RDMA device exists, working or not
    3   no RDMA device exists
    7   some files could not be read`,
		Example: `  rdmactl detect
  rdmactl detect -o wide
  rdmactl detect --root /mnt/node7 -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			snap, partial, err := app.Scan(cmd.Context(), source)
			if err != nil {
				return err
			}
			report := NewDetectReport(snap)
			if err := app.Out.Print(report, report.Blocks()...); err != nil {
				return err
			}
			if partial == nil && len(snap.Devices) == 0 {
				return cli.ExitSilently(cli.ExitNotFound)
			}
			return partial
		},
	}
	source.AddTo(cmd)
	return cmd
}

// detectSchema is the version of the JSON form of detect.
const detectSchema = "rdmakit.detect/v1"

// DetectReport is what detect prints.
type DetectReport struct {
	Schema     string                `json:"schema"`
	Node       inventory.Snapshot    `json:"node"`
	Candidates []inventory.Candidate `json:"candidates"`
	// TCP is the network device that programs should use if there is no RDMA, "" for none.
	TCP       string               `json:"tcp,omitempty"`
	Obstacles []inventory.Obstacle `json:"obstacles"`
	// Unseen is what the source of the snapshot could not tell.
	Unseen []string `json:"unseen,omitempty"`
}

// NewDetectReport returns the parts of a snapshot that detect shows.
func NewDetectReport(snap inventory.Snapshot) DetectReport {
	r := DetectReport{
		Schema: detectSchema, Node: snap, Candidates: snap.Candidates(), TCP: snap.TCPNetdev(),
		Obstacles: snap.Obstacles(), Unseen: snap.Unseen(),
	}
	if r.Candidates == nil {
		r.Candidates = []inventory.Candidate{}
	}
	if r.Obstacles == nil {
		r.Obstacles = []inventory.Obstacle{}
	}
	return r
}

// Blocks formats the report as text.
func (r DetectReport) Blocks() []output.Block {
	var out []output.Block
	if len(r.Node.Devices) == 0 {
		out = append(out, output.Line(output.Warn("no RDMA device on this node")))
	} else {
		out = append(out, r.portTable())
		out = append(out, r.uncertain()...)
	}
	if len(r.Obstacles) > 0 {
		out = append(out, r.obstacleTable())
	}
	if len(r.Candidates) > 0 {
		out = append(out, r.candidateTable())
	}
	out = append(out, output.Line(output.Plain(r.fallback()).Flow(0)))
	if r.withoutCard() {
		out = append(out, output.Line(output.Plain("RDMA without a card, in user space: ").Flow(0),
			output.Plain(output.Unbroken("rdmactl ping --listen -d roce@"+r.TCP)).Flow(0),
			output.Plain(", and rdmactl ping with its address on another machine (docs/anywhere.md)").Flow(0)))
	}
	return append(out, unseenLine(r.Unseen)...)
}

// unseenLine says what was not judged, in one line; nothing if everything was seen.
func unseenLine(unseen []string) []output.Block {
	if len(unseen) == 0 {
		return nil
	}
	return []output.Block{output.Line(
		output.Plain("not judged, because it could not be seen: " + strings.Join(unseen, "; ")).Flow(cli.TextWidth))}
}

// fallback says what programs that don't use RDMA have.
func (r DetectReport) fallback() string {
	switch routes := r.Node.Host.DefaultRoutes; {
	case r.TCP == "":
		return "programs without RDMA: no network device is up"
	case len(routes) == 0:
		return "programs without RDMA use TCP, perhaps over " + r.TCP + ": no default route is known"
	}
	return "programs without RDMA use TCP over " + r.TCP + " (default route)"
}

// withoutCard reports whether the node has no RDMA device and no card that could get one, but a
// network device for RoCE v2 in user space. If the addresses are known, it has one of them.
func (r DetectReport) withoutCard() bool {
	if len(r.Node.Devices) > 0 || len(r.Node.Cards) > 0 || r.TCP == "" {
		return false
	}
	known := slices.ContainsFunc(r.Node.Netdevs, func(n inventory.Netdev) bool { return len(n.Addresses) > 0 })
	dev := r.Node.Netdev(r.TCP)
	return !known || dev != nil && len(dev.Addresses) > 0
}

// uncertain has a line for each reason why ports can't be told apart; the reason says what decides.
func (r DetectReport) uncertain() []output.Block {
	var reasons []string
	ports := map[string][]string{}
	for d, p := range r.Node.Ports() {
		if p.Role != inventory.RoleUncertain {
			continue
		}
		if ports[p.RoleReason] == nil {
			reasons = append(reasons, p.RoleReason)
		}
		ports[p.RoleReason] = append(ports[p.RoleReason], portName(d, p))
	}
	const shown = 8
	var out []output.Block
	for _, why := range reasons {
		out = append(out, output.Line(output.Warn(fmt.Sprintf("uncertain: %s: %s",
			english.List(ports[why], shown), why)).Flow(cli.TextWidth)))
	}
	return out
}

func (r DetectReport) portTable() output.Table {
	t := output.Table{Columns: []output.Column{
		{Name: "port"},
		{Name: "transport"},
		{Name: "card", Priority: 3},
		{Name: "pci", Priority: 4},
		{Name: "state"},
		{Name: "rate"},
		{Name: "netdev"},
		{Name: "gid", Priority: 1},
		{Name: "role"},
		{Name: "rail", Align: output.AlignRight},
		{Name: "fabric", Priority: 5},
		{Name: "gpu", Priority: 2},
		{Name: "mtu", Wide: true, Align: output.AlignRight},
		{Name: "firmware", Wide: true},
		{Name: "numa", Wide: true, Align: output.AlignRight},
		{Name: "pcie", Wide: true},
		{Name: "vf of", Wide: true},
		{Name: "role rule", Wide: true},
		{Name: "role because", Wide: true},
	}}
	for i := range r.Node.Devices {
		d := &r.Node.Devices[i]
		for j := range d.Ports {
			t.Rows = append(t.Rows, portRow(d, &d.Ports[j]))
		}
		if len(d.Ports) == 0 {
			row := make([]output.Cell, len(t.Columns))
			row[0], row[1] = output.Bad(d.Name), output.Bad("no ports")
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func portRow(d *inventory.Device, p *inventory.Port) []output.Cell {
	pci, card, numa, pcie := "", d.Software, "", ""
	if d.PCI != nil {
		pci, card, pcie = d.PCI.Address, d.PCI.Name(), pcieText(d.PCI)
		if d.PCI.NUMANode != nil {
			numa = strconv.Itoa(*d.PCI.NUMANode)
		}
	}
	mtu := ""
	if p.ActiveMTU != 0 {
		mtu = strconv.Itoa(int(p.ActiveMTU))
	}
	vf := ""
	if d.VF != nil {
		vf = d.VF.ParentAddress
	}
	return []output.Cell{
		output.Plain(portName(d, p)), transportCell(d, p), output.Plain(card), output.Plain(pci),
		stateCell(p), rateCell(p.State, p.Rate), output.Plain(p.Netdev), gidCell(p), output.Plain(string(p.Role)),
		output.Plain(intText(p.Rail)), output.Plain(fabricText(p.Fabric)), output.Plain(gpuText(p)), output.Plain(mtu),
		output.Plain(d.Firmware), output.Plain(numa), output.Plain(pcie), output.Plain(vf),
		output.Plain(cmp.Or(p.RoleRule, "-")), output.Plain(p.RoleReason),
	}
}

func (r DetectReport) obstacleTable() output.Table {
	t := output.Table{Title: "Obstacles", Columns: []output.Column{
		{Name: "reason", Wrap: true},
		{Name: "evidence", Wide: true},
		{Name: "remedy", Below: true},
	}}
	for _, o := range r.Obstacles {
		text := o.Text
		if o.Object != "" && !strings.Contains(text, o.Object) {
			text = o.Object + ": " + text
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Bad(text), output.Plain(strings.TrimSpace(o.Path + ": " + o.Value)),
			output.Plain(o.Remedy).Parts(remedyParts(o.Remedy)...),
		})
	}
	return t
}

// remedyParts splits the remedy of an obstacle into its alternatives, in which the command after a
// colon stays on one line.
func remedyParts(remedy string) []string {
	parts := strings.Split(remedy, "; ")
	for i, part := range parts {
		if about, command, ok := strings.Cut(part, ": "); ok && !strings.Contains(command, ", ") {
			parts[i] = about + ": " + output.Unbroken(command)
		}
	}
	return parts
}

func (r DetectReport) candidateTable() output.Table {
	t := output.Table{Title: "Network devices that could carry RDMA from user space", Columns: []output.Column{
		{Name: "netdev"},
		{Name: "bus", Priority: 1},
		{Name: "speed", Align: output.AlignRight},
		{Name: "state"},
		{Name: "note", Wrap: true},
	}}
	for _, c := range r.Candidates {
		state := output.Good("up")
		switch {
		case c.Bond != "":
			state = output.Dim("member of " + c.Bond)
		case !c.Up:
			state = output.Dim("down")
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(c.Netdev), output.Plain(string(c.Bus)), output.Plain(speedText(c.SpeedMbps)), state,
			output.Plain(c.Note),
		})
	}
	return t
}

// portName returns the name of a port: the device, and the port number if the device has several.
func portName(d *inventory.Device, p *inventory.Port) string {
	if len(d.Ports) == 1 && p.Number == 1 {
		return d.Name
	}
	return d.Name + ":" + strconv.Itoa(p.Number)
}

func transportText(d *inventory.Device, p *inventory.Port) string {
	t := string(p.Transport)
	if t == "" {
		t = "unknown"
	}
	if d.Software != "" {
		t += " (software)"
	}
	return t
}

// transportCell is the transport; a narrow screen does without the remark that it is software.
func transportCell(d *inventory.Device, p *inventory.Port) output.Cell {
	if d.SMIOf != "" {
		cell := output.Plain("SMI of " + d.SMIOf)
		cell.Short = "SMI"
		return cell
	}
	cell := output.Plain(transportText(d, p))
	cell.Short, _, _ = strings.Cut(cell.Text, " (")
	return cell
}

func pcieText(pci *inventory.PCI) string {
	if pci.Link == nil {
		return ""
	}
	text := fmt.Sprintf("%gGT/s x%d", pci.Link.GTPerSecond, pci.Link.Width)
	if m := pci.LinkMax; m != nil && *m != *pci.Link {
		text += fmt.Sprintf(" (of %gGT/s x%d)", m.GTPerSecond, m.Width)
	}
	return text
}

func stateCell(p *inventory.Port) output.Cell {
	text := p.State.String()
	switch p.State {
	case inventory.PortStateActive:
		return output.Good(text)
	case inventory.PortStateNoChange:
		return output.Warn("unknown") // the file could not be read; no kernel reports the state NOP
	case inventory.PortStateDown:
		cell := output.Bad(text)
		if p.PhysState != inventory.PhysStateUnknown && p.PhysState != inventory.PhysStateLinkUp {
			cell.Text, cell.Short = text+" ("+p.PhysState.String()+")", text
		}
		return cell
	}
	return output.Warn(text)
}

func rateText(r *inventory.Rate) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("%gG", r.GbPerSecond)
	if r.Generation != "" {
		text += fmt.Sprintf(" %dX %s", r.Width, r.Generation)
	}
	return text
}

// rateCell is the rate; a narrow terminal shows the number only. The kernel has a rate for a port
// without a link too, which says nothing.
func rateCell(state inventory.PortState, rate *inventory.Rate) output.Cell {
	if state == inventory.PortStateDown {
		return output.Plain("")
	}
	cell := output.Plain(rateText(rate))
	cell.Short, _, _ = strings.Cut(cell.Text, " ")
	return cell
}

// gidCell shows the index and the address of the GID that traffic should use.
func gidCell(p *inventory.Port) output.Cell {
	g, ok := p.RoutableGID()
	switch {
	case len(p.GIDs) == 0:
		return output.Warn("none")
	case !ok && p.LinkLayer == inventory.LinkLayerEthernet:
		return output.Bad(fmt.Sprintf("none of %d routable", len(p.GIDs)))
	case !ok:
		return output.Plain("")
	case p.LinkLayer == inventory.LinkLayerInfiniBand || !p.Transport.HasGIDs():
		return output.Plain(fmt.Sprintf("%d of %d", len(p.GIDs), p.GIDTableSize))
	}
	return output.Plain(fmt.Sprintf("%d %s", g.Index, g.GID.Addr()))
}

// fabricText formats a subnet as its prefix and the LID of its subnet manager.
func fabricText(f *inventory.Fabric) string {
	switch {
	case f == nil:
		return ""
	case f.SMLID == 0:
		return f.SubnetPrefix.String() + " without SM"
	}
	return fmt.Sprintf("%s SM %d", f.SubnetPrefix, f.SMLID)
}

// gpuText lists the nearest GPUs: "GPU0,1 PXB".
func gpuText(p *inventory.Port) string {
	if len(p.GPUs) == 0 {
		return ""
	}
	nearest := p.GPUs[0].Distance
	var gpus []string
	for _, g := range p.GPUs {
		if g.Distance == nearest {
			gpus = append(gpus, strconv.Itoa(g.GPU))
		}
	}
	return fmt.Sprintf("GPU%s %s", strings.Join(gpus, ","), nearest)
}

func intText(v *int) string {
	if v == nil {
		return ""
	}
	return strconv.Itoa(*v)
}

func speedText(mbps *int) string {
	if mbps == nil {
		return ""
	}
	return fmt.Sprintf("%gG", float64(*mbps)/1000)
}
