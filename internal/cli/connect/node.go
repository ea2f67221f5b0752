package connect

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/connect"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/dl"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/version"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// node is this machine.
type node struct {
	app    *cli.App
	snap   inventory.Snapshot
	root   fs.FS
	plan   launch.Plan
	device string // of the setting, "" if it is not set
	number int    // of the port, 0 if it is not set
	gid    *int   // of --gid-index
	loads  bool   // this build loads libibverbs
	facts  connect.Node
}

// readNode scans this machine. What can't be read is absent: the devices say what is wrong.
func readNode(ctx context.Context, app *cli.App, gid *int) (*node, error) {
	n := &node{
		app: app, root: os.DirFS("/"), device: app.Config.Device, number: app.Config.Port, gid: gid,
		loads: dl.Available,
	}
	if local, err := sources.Local(); err == nil { // not on systems other than Linux
		defer local.Close()
		local.Roles = app.Config.Roles
		n.snap, _ = inventory.Scan(ctx, local.Sources)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("scan this machine: %w", context.Cause(ctx))
	}
	plan, err := launch.Derive(n.snap, launch.Options{})
	if err != nil {
		return nil, err
	}
	n.plan = plan
	n.describe()
	return n, nil
}

// describe fills the facts.
func (n *node) describe() {
	host := &n.snap.Host
	name := host.Name
	if name == "" {
		name, _ = os.Hostname() // without it the report has none
	}
	n.facts = connect.Node{
		Host: name, Kernel: host.Kernel, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Software: "rdmactl " + version.Info().Version,
	}
	if host.Memlock != nil {
		n.facts.Memlock = host.Memlock.Soft.String()
		if host.Memlock.IPCLock != nil && *host.Memlock.IPCLock {
			n.facts.Memlock = "unlimited (CAP_IPC_LOCK)"
		}
	}
	for i := range n.snap.Devices {
		d := &n.snap.Devices[i]
		for k := range d.Ports {
			n.facts.Ports = append(n.facts.Ports, n.portFacts(d, &d.Ports[k]))
		}
	}
}

func (n *node) portFacts(d *inventory.Device, p *inventory.Port) connect.PortFacts {
	f := connect.PortFacts{
		Name: portName(d.Name, p.Number), Rail: p.Rail, Netdev: p.Netdev, LinkLayer: string(p.LinkLayer),
		State: p.State.String(), Driver: d.Driver, Firmware: d.Firmware, BoardID: d.BoardID,
	}
	if p.Rate != nil {
		f.Rate = strings.TrimSpace(fmt.Sprintf("%g Gb/s %s", p.Rate.GbPerSecond, p.Rate.Generation))
	}
	if dev := n.snap.Netdev(p.Netdev); dev != nil {
		f.NetdevMTU = dev.MTU
	}
	if pci := d.PCI; pci != nil {
		f.PCI, f.NUMANode = pci.Address, pci.NUMANode
		f.Model = cmp.Or(strings.TrimSpace(pci.Vendor+" "+pci.Product),
			fmt.Sprintf("%v:%v", pci.VendorID, pci.DeviceID))
	}
	if plan := n.planOf(d.Name, p.Number); plan != nil {
		f.Offered, f.Reason = plan.Decision == launch.DecisionSelected, plan.Reason
		if f.Offered && !p.Transport.HasGIDs() { // EFA, eRDMA
			f.Offered, f.Reason = false, fmt.Sprintf("%s: only InfiniBand and RoCE are tried", p.Transport)
		}
	}
	return f
}

func (n *node) planOf(device string, number int) *launch.PortPlan {
	i := slices.IndexFunc(n.plan.Ports, func(p launch.PortPlan) bool { return p.Device == device && p.Port == number })
	if i < 0 {
		return nil
	}
	return &n.plan.Ports[i]
}

func portName(device string, number int) string { return device + ":" + strconv.Itoa(number) }

// isEngine reports whether a device is in user space.
func isEngine(name string) bool { return strings.Contains(name, "@") }

// split returns the device and port of "mlx5_0:2"; the port is 0 if the name has none.
func split(name string) (device string, number int) {
	before, after, ok := strings.Cut(name, ":")
	if n, err := strconv.Atoi(after); ok && err == nil && !isEngine(name) && n > 0 {
		return before, n
	}
	return name, 0
}

// isDevice reports whether an argument is a device of this machine.
func (n *node) isDevice(name string) bool {
	device, _ := split(name)
	return isEngine(name) || n.snap.Device(device) != nil
}

// devicesHints are for a name that was taken for that of a PEER, and may be that of a device.
func (n *node) devicesHints(name string) []string {
	hints := []string{"no device of this machine has the name " + name + ": " + n.devicesHere()}
	if !n.loads {
		hints = append(hints, "rdmactl-static opens no devices of the kernel such as mlx5_0: rdmactl does, which "+
			"needs Linux with glibc and libibverbs")
	}
	return hints
}

// devicesHere lists the devices of this machine.
func (n *node) devicesHere() string {
	var names []string
	for _, d := range n.snap.Devices {
		names = append(names, d.Name)
	}
	if len(names) == 0 {
		return "it has no RDMA device; roce@NETDEV is RoCE v2 in user space"
	}
	return "it has " + cli.SomeNames(names, false) + ", or roce@NETDEV"
}

// onePort returns the port with a name; "" is the first device that can be opened, of those that
// reach the peer, "" if there is none.
func (n *node) onePort(ctx context.Context, name, peer string) (connect.Port, error) {
	if name == "" {
		d, why, err := cli.OpenVerbs(ctx, "", cli.Toward{Host: peer})
		if err != nil {
			return connect.Port{}, err
		}
		n.app.Out.Note("%s", why)
		name = d.Name()
		if err := d.Close(); err != nil {
			return connect.Port{}, err
		}
	}
	device, number := split(name)
	return n.port(device, max(cmp.Or(number, n.number), 1)), nil
}

// port describes a port for an attempt.
func (n *node) port(device string, number int) connect.Port {
	p := connect.Port{
		Name: portName(device, number), Number: number, GIDIndex: n.gid, Software: isEngine(device),
		Open: func(ctx context.Context) (*verbs.Device, error) {
			d, _, err := cli.OpenVerbs(ctx, device, cli.Toward{})
			return d, err
		},
	}
	if p.Software {
		p.Name = device
		if p.GIDIndex == nil {
			p.GIDIndex = new(int) // its only GID, which may be link-local
		}
		if addr, err := roce.Address(device); err == nil { // otherwise it can't be opened
			p.Device = roce.Prefix + addr.String()
		}
		return p
	}
	p.Counters = func(ctx context.Context) (map[string]uint64, error) {
		return cli.PortCounters(ctx, n.root, device, number)
	}
	if d := n.snap.Device(device); d != nil {
		p.Software = d.Software != "" // rxe
	}
	if found := n.portOf(device, number); found != nil {
		p.Rail = found.Rail
		for _, key := range found.PKeys {
			if key.Index == 0 {
				p.PKey = key.PKey
			}
		}
		if best := launch.BestGID(&n.snap, found); best != nil {
			p.Preferred = &best.Index
		}
	}
	return p
}

func (n *node) portOf(device string, number int) *inventory.Port {
	d := n.snap.Device(device)
	if d == nil {
		return nil
	}
	i := slices.IndexFunc(d.Ports, func(p inventory.Port) bool { return p.Number == number })
	if i < 0 {
		return nil
	}
	return &d.Ports[i]
}

// allPorts returns the ports of --all: those that jobs use. -d restricts them to a device. A
// machine without RDMA devices has engines.
func (n *node) allPorts(ctx context.Context) (ports []connect.Port, err error) {
	for i := range n.facts.Ports {
		f := &n.facts.Ports[i]
		device, number := split(f.Name)
		if f.Offered = f.Offered && (n.device == "" || n.device == device); f.Offered {
			ports = append(ports, n.port(device, number))
		}
	}
	slices.SortStableFunc(ports, func(a, b connect.Port) int {
		if a.Rail == nil || b.Rail == nil {
			return cmp.Compare(without(a.Rail), without(b.Rail))
		}
		return cmp.Compare(*a.Rail, *b.Rail)
	})
	if len(ports) == 0 && (isEngine(n.device) || len(n.snap.Devices) == 0) {
		ports, err = n.engines(ctx)
	}
	if len(ports) == 0 && err == nil {
		err = cli.WithHints(cli.Exitf(cli.ExitNotFound, "no compute port that could be connected"),
			"rdmactl env --explain lists the ports with the reason why jobs don't use them")
	}
	return ports, err
}

// without orders ports without a rail behind the others.
func without(rail *int) int {
	if rail == nil {
		return 1
	}
	return 0
}

// engines returns the engine of -d, or one for each network device: the loopback device only if
// there is no other.
func (n *node) engines(ctx context.Context) ([]connect.Port, error) {
	names := []string{n.device}
	if n.device == "" {
		list, err := verbs.Devices(ctx, builtin.All()...)
		names = nil
		for _, d := range list {
			if d.Software && (d.Name != "roce@lo" || len(names) == 0) {
				names = append(names, d.Name)
			}
		}
		if len(names) == 0 {
			return nil, err
		}
	}
	var ports []connect.Port
	for _, name := range names {
		ports = append(ports, n.port(name, 1))
		n.facts.Ports = append(n.facts.Ports, connect.PortFacts{
			Name: name, Offered: true, LinkLayer: verbs.LinkLayerEthernet.String(), Driver: "RoCE v2 in user space",
			Reason: "the node has no RDMA device, or -d names it",
		})
	}
	return ports, nil
}
