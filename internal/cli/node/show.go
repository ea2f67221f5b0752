package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/inventory"
)

func newShowCommand(app *cli.App) *cobra.Command {
	var source cli.SourceFlags
	cmd := &cobra.Command{
		Use:   "show DEVICE",
		Short: "Show all details of one RDMA device",
		Long: `Show the card, ports, GID tables, counters and virtual functions of one RDMA device. DEVICE is the
name of a device (mlx5_0), one of its ports (mlx5_0:2), its network device (ens1np0), or its PCI
address (0000:18:00.0). GID tables list only the slots that are in use.

Exit codes:

    0   the device is shown
    3   there is no such device
    7   the device is shown, but some files could not be read`,
		Example: `  rdmactl show mlx5_0
  rdmactl show ens1np0 -o json
  rdmactl show 0000:18:00.0 --root /mnt/node7`,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := app.OpenNode(source)
			if err != nil {
				return err
			}
			defer n.Close()
			snap, partial, err := app.ScanNode(cmd.Context(), n)
			if err != nil {
				return err
			}
			report, err := newShowReport(cmd.Context(), n, &snap, args[0])
			if err != nil {
				return err
			}
			if err := app.Out.Print(report, report.blocks()...); err != nil {
				return err
			}
			return partial
		},
	}
	source.AddTo(cmd)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return deviceNames(app, cmd, source), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// deviceNames lists the devices of the node that the flags choose for the shell's completion, which
// must not fail. What was prepared is the command that completes, which has none of these flags.
func deviceNames(app *cli.App, cmd *cobra.Command, source cli.SourceFlags) []string {
	if source.From == "-" || app.Prepare(cmd, nil) != nil { // standard input is the terminal
		return nil
	}
	n, err := app.OpenNode(source)
	if err != nil {
		return nil
	}
	defer n.Close()
	n.Names = nil
	snap, _ := inventory.Scan(cmd.Context(), n.Sources)
	var names []string
	for _, d := range snap.Devices {
		names = append(names, d.Name)
	}
	return names
}

// showSchema is the version of the JSON form of show.
const showSchema = "rdmakit.show/v1"

// showReport is what show prints.
type showReport struct {
	Schema  string             `json:"schema"`
	Device  inventory.Device   `json:"device"`
	Netdevs []inventory.Netdev `json:"netdevs"`
	// Counters are those of each shown port, by port number.
	Counters map[int][]inventory.Counter `json:"counters"`
	// CounterErrors has the reason why a port has no counters, by port number.
	CounterErrors map[int]string `json:"counterErrors,omitempty"`
	devVisible    bool           // /dev was seen
}

func newShowReport(ctx context.Context, n *sources.Node, snap *inventory.Snapshot, name string) (showReport, error) {
	d, port, err := snap.Find(name)
	if err != nil {
		return showReport{}, noDevice(snap, err)
	}
	r := showReport{
		Schema: showSchema, Device: *d, Netdevs: []inventory.Netdev{}, Counters: map[int][]inventory.Counter{},
		CounterErrors: map[int]string{}, devVisible: snap.Host.DevVisible,
	}
	if port != 0 {
		r.Device.Ports = slices.DeleteFunc(slices.Clone(d.Ports),
			func(p inventory.Port) bool { return p.Number != port })
	}
	for _, netdev := range snap.Netdevs {
		if slices.ContainsFunc(r.Device.Ports, func(p inventory.Port) bool { return p.Uses(netdev.Name) }) {
			r.Netdevs = append(r.Netdevs, netdev)
		}
	}
	for _, p := range r.Device.Ports {
		counters, err := inventory.ReadCounters(ctx, n.Root, d.Name, p.Number)
		if err != nil {
			r.CounterErrors[p.Number] = err.Error()
		}
		if counters == nil {
			counters = []inventory.Counter{}
		}
		r.Counters[p.Number] = counters
	}
	return r, nil
}

// noDevice adds hints about the devices that exist.
func noDevice(snap *inventory.Snapshot, err error) error {
	exit := cli.Exitf(cli.ExitNotFound, "%w", err)
	why, ok := errors.AsType[*inventory.FindError](err)
	switch {
	case !ok || why.Port != nil:
		return exit
	case why.Netdev:
		return cli.WithHints(exit, "rdmactl detect shows any obstacles")
	case len(snap.Devices) == 0:
		return cli.WithHints(exit, "this node has no RDMA device; rdmactl detect shows why")
	}
	var names []string
	for _, d := range snap.Devices {
		names = append(names, d.Name)
	}
	return cli.WithHints(exit, "devices: "+strings.Join(names, ", "))
}

func (r showReport) blocks() []output.Block {
	out := []output.Block{r.deviceList()}
	if r.Device.PCI != nil {
		out = append(out, pciList(&r.Device))
	}
	if s := r.Device.SRIOV; s != nil && len(s.VFs) > 0 {
		out = append(out, vfTable(s))
	}
	for i := range r.Device.Ports {
		out = append(out, r.portBlocks(&r.Device.Ports[i])...)
	}
	if len(r.Netdevs) > 0 {
		out = append(out, netdevTable(r.Netdevs))
	}
	return out
}

func (r showReport) deviceList() output.List {
	d := &r.Device
	l := output.List{Title: d.Name}
	add := adder(&l)
	add("node type", d.NodeType.String())
	add("description", d.Description)
	add("software", d.Software)
	add("parent netdev", d.Parent)
	add("driver", d.Driver)
	add("firmware", d.Firmware)
	add("board", d.BoardID)
	add("hca type", d.HCAType)
	add("hw revision", d.HWRevision)
	if d.NodeGUID != nil {
		add("node guid", d.NodeGUID.String())
	}
	if d.SystemGUID != nil {
		add("system guid", d.SystemGUID.String())
	}
	if d.VF != nil {
		key := "virtual function of"
		if d.VF.SubFunction {
			key = "sub-function of"
		}
		add(key, strings.TrimSpace(d.VF.ParentAddress+" "+d.VF.ParentDevice))
	}
	for _, c := range d.Chars {
		l.Items = append(l.Items, output.Item{Key: c.Name, Value: charCell(c, r.devVisible).Flow(0)})
	}
	return l
}

// adder returns a function that adds a line to a list unless its value is empty.
func adder(l *output.List) func(key, value string) {
	return func(key, value string) {
		if value != "" {
			l.Items = append(l.Items, output.Item{Key: key, Value: output.Plain(value).Flow(0)})
		}
	}
}

func charCell(c inventory.CharDevice, devVisible bool) output.Cell {
	text := c.Path
	if c.ABI != nil {
		text += fmt.Sprintf(" (ABI %d)", *c.ABI)
	}
	switch {
	case c.OpenError != "":
		return output.Bad(text + ": " + c.OpenError)
	case !c.Node && !devVisible:
		return output.Dim(text + ": not known, no /dev was recorded")
	case !c.Node:
		return output.Warn(text + ": does not exist")
	}
	return output.Plain(text)
}

func pciList(d *inventory.Device) output.List {
	l := output.List{Title: "PCI function"}
	add := adder(&l)
	pci := d.PCI
	add("address", pci.Address)
	add("card", strings.TrimSpace(pci.Vendor+" "+pci.Product))
	add("ids", fmt.Sprintf("%04x:%04x, subsystem %04x:%04x",
		uint16(pci.VendorID), uint16(pci.DeviceID), uint16(pci.SubsystemVendor), uint16(pci.SubsystemDevice)))
	add("link", pcieText(pci))
	if pci.NUMANode != nil {
		add("numa node", strconv.Itoa(*pci.NUMANode))
	}
	add("local cpus", pci.LocalCPUs)
	add("behind", strings.Join(pci.Chain, " > "))
	if s := d.SRIOV; s != nil {
		add("sr-iov", fmt.Sprintf("%d of %d virtual functions", s.NumVFs, s.TotalVFs))
	}
	return l
}

func vfTable(s *inventory.SRIOV) output.Table {
	t := output.Table{Title: "Virtual functions", Columns: []output.Column{
		{Name: "vf", Align: output.AlignRight},
		{Name: "pci"},
		{Name: "device"},
		{Name: "mac", Priority: 1},
		{Name: "link", Priority: 3},
		{Name: "trust", Priority: 4},
		{Name: "vlan", Priority: 2},
		{Name: "node guid", Priority: 5},
		{Name: "port guid", Priority: 6},
	}}
	for _, vf := range s.VFs {
		node, port := "", ""
		if vf.NodeGUID != nil {
			node = vf.NodeGUID.String()
		}
		if vf.PortGUID != nil {
			port = vf.PortGUID.String()
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(strconv.Itoa(vf.Index)), output.Plain(vf.Address), output.Plain(vf.Device),
			output.Plain(vf.MAC), output.Plain(vf.LinkState), output.Plain(boolText(vf.Trust)),
			output.Plain(intText(vf.VLAN)), output.Plain(node), output.Plain(port),
		})
	}
	return t
}

func boolText(v *bool) string {
	switch {
	case v == nil:
		return ""
	case *v:
		return "on"
	}
	return "off"
}

func (r showReport) portBlocks(p *inventory.Port) []output.Block {
	l := output.List{Title: fmt.Sprintf("Port %d", p.Number)}
	add := adder(&l)
	l.Items = append(l.Items, output.Item{Key: "state", Value: stateCell(p)})
	add("physical state", p.PhysState.String())
	add("transport", transportText(&r.Device, p))
	add("link layer", string(p.LinkLayer))
	if p.State != inventory.PortStateDown { // without a link the kernel's rate says nothing
		add("rate", rateText(p.Rate))
	}
	add("netdev", p.Netdev)
	if p.ActiveMTU != 0 {
		add("active mtu", strconv.Itoa(int(p.ActiveMTU)))
	}
	if p.LinkLayer == inventory.LinkLayerInfiniBand {
		addIB(add, p)
	}
	add("partition keys", pkeysText(p.PKeys))
	add("role", strings.TrimSuffix(string(p.Role)+": "+p.RoleReason, ": "))
	add("rail", intText(p.Rail))
	add("gpus", gpusText(p.GPUs))
	out := []output.Block{l}
	if p.GIDTableSize > 0 {
		out = append(out, gidTable(p))
	}
	return append(out, r.counterBlock(p.Number))
}

func addIB(add func(key, value string), p *inventory.Port) {
	if p.LID != nil {
		add("lid", strconv.Itoa(int(*p.LID)))
	}
	if p.SMLID != nil {
		add("sm lid", strconv.Itoa(int(*p.SMLID)))
	}
	if p.LMC != nil {
		add("lmc", strconv.Itoa(*p.LMC))
	}
	if p.CapMask != nil {
		add("capability mask", fmt.Sprintf("%#08x", *p.CapMask))
	}
	add("fabric", fabricText(p.Fabric))
}

func pkeysText(keys []inventory.PKey) string {
	var out []string
	for _, k := range keys {
		out = append(out, fmt.Sprintf("%d=%s", k.Index, k.PKey))
	}
	return strings.Join(out, " ")
}

func gpusText(gpus []inventory.GPUDistance) string {
	var out []string
	for _, g := range gpus {
		out = append(out, fmt.Sprintf("GPU%d %s", g.GPU, g.Distance))
	}
	return strings.Join(out, ", ")
}

func gidTable(p *inventory.Port) output.Table {
	title := fmt.Sprintf("GIDs of port %d: %d of %d slots", p.Number, len(p.GIDs), p.GIDTableSize)
	if gaps := p.GIDGaps(); gaps != "" {
		title += ", empty: " + gaps
	}
	t := output.Table{Title: title, Columns: []output.Column{
		{Name: "index", Align: output.AlignRight},
		{Name: "gid", Priority: 2}, // the address says the same where there is one
		{Name: "type"},
		{Name: "address", Priority: 1},
		{Name: "netdev"},
	}}
	for _, g := range p.GIDs {
		address := ""
		if p.LinkLayer != inventory.LinkLayerInfiniBand && p.Transport != inventory.TransportIWARP &&
			p.Transport != inventory.TransportERDMA {
			address = g.GID.Addr().String()
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(strconv.Itoa(g.Index)), output.Plain(g.GID.String()), output.Plain(string(g.Type)),
			output.Plain(address), output.Plain(g.Netdev),
		})
	}
	return t
}

// counterBlock shows the counters that are not 0; with -o wide all of them.
func (r showReport) counterBlock(port int) output.Block {
	counters := r.Counters[port]
	if len(counters) == 0 {
		reason := r.CounterErrors[port]
		if reason == "" {
			reason = errors.ErrUnsupported.Error()
		}
		return output.Line(output.Dim(reason).Flow(0).Hang(2))
	}
	l := output.List{Title: fmt.Sprintf("Counters of port %d (those at 0 with -o wide)", port)}
	for _, c := range counters {
		l.Items = append(l.Items,
			output.Item{Key: c.Name, Value: counterCell(c).Flow(0), Wide: c.Value == nil || *c.Value == 0})
	}
	return l
}

func counterCell(c inventory.Counter) output.Cell {
	switch {
	case c.Value == nil:
		return output.Dim(c.Note)
	case c.Saturated:
		return output.Bad(fmt.Sprintf("%d (saturated: it counts again only after a reset)", *c.Value))
	case c.IsError() && *c.Value > 0:
		return output.Warn(strconv.FormatUint(*c.Value, 10))
	}
	return output.Plain(strconv.FormatUint(*c.Value, 10))
}

func netdevTable(netdevs []inventory.Netdev) output.Table {
	t := output.Table{Title: "Network devices", Columns: []output.Column{
		{Name: "netdev"},
		{Name: "state"},
		{Name: "mtu", Align: output.AlignRight},
		{Name: "speed", Align: output.AlignRight},
		{Name: "kind", Priority: 1},
		{Name: "lower", Priority: 2},
		{Name: "link-layer address", Priority: 3},
		{Name: "addresses", Wrap: true},
	}}
	for i := range netdevs {
		n := &netdevs[i]
		var addresses []string
		for _, a := range n.Addresses {
			addresses = append(addresses, prefixText(a))
		}
		state := output.Good(n.OperState)
		if !n.Usable() {
			state = output.Bad(n.OperState)
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(n.Name), state, output.Plain(strconv.Itoa(n.MTU)), output.Plain(speedText(n.SpeedMbps)),
			output.Plain(n.Kind), output.Plain(n.Lower), output.Plain(n.Address),
			output.Plain(strings.Join(addresses, " ")),
		})
	}
	return t
}

// prefixText leaves out a prefix length that is not known because the address comes from a GID
// table.
func prefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
