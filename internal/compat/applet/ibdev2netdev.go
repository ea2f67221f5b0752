package applet

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// ibdev2netdev prints the output of MLNX_OFED's script, also for devices of other vendors.
func ibdev2netdev() Applet {
	return Applet{
		Name: "ibdev2netdev", Summary: "Print the network devices of RDMA devices and whether they are up",
		Usage: "[-v | -h | --help]", Like: "ibdev2netdev of MLNX_OFED", Example: "-v",
		Long: `Prints a line for each network device on the PCI function of an RDMA device, including representors
and IPoIB children. The port is that of the network device (dev_port or dev_id, plus 1). Up and Down
are the carrier, not the state of the RDMA port. -v shows the state of the RDMA port before the
arrow, together with PCI address, device number, firmware, and part number and name from the card's
vital product data, which only root may read.

The original script handles only cards of NVIDIA; without one it prints nothing and exits with 255.
This version handles all vendors, and for a device that shares no PCI function with a network device
(rxe, siw, sub-functions) it prints the network device that the port uses.`,
		Options: []Option{
			{"-v", "also print PCI address, card, firmware and port state (no long form, as in the script)"},
			{"-h, --help", "print usage"},
		},
		run: runIbdev2netdev,
	}
}

func runIbdev2netdev(ctx context.Context, env *Env) int {
	verbose := len(env.Args) > 0 && env.Args[0] == "-v"
	help := len(env.Args) > 0 && (env.Args[0] == "-h" || env.Args[0] == "--help")
	if help || len(env.Args) > 1 || len(env.Args) == 1 && !verbose {
		env.printf("%s <options>\n", path.Base(env.Name))
		env.printf("-h, --help                print help message\n")
		env.printf("-v, --verbose             print more info\n")
		if help {
			return 0
		}
		return exitMinusOne
	}
	t := env.tree()
	names, ok := t.names(sysfs.ClassInfiniBand)
	if !ok {
		return exitMinusOne // the driver is not loaded: the script prints nothing
	}
	snap := env.scan(ctx)
	for _, name := range names {
		d := snap.Device(name)
		if d == nil {
			continue
		}
		for _, line := range portNetdevs(&snap, d) {
			state := t.carrier(line.netdev)
			if verbose {
				env.printf("%s ", t.cardText(d, line.port))
			} else {
				env.printf("%s port %d ", name, line.port)
			}
			env.printf("==> %s (%s)\n", line.netdev, state)
		}
	}
	return 0
}

// portNetdev is a network device of a port.
type portNetdev struct {
	netdev string
	port   int
}

// portNetdevs returns the network devices on the PCI function of d, by name. For a port without one
// it returns the network device that the port uses.
func portNetdevs(snap *inventory.Snapshot, d *inventory.Device) []portNetdev {
	var lines []portNetdev
	for _, n := range snap.Netdevs {
		if d.PCI != nil && n.PCI == d.PCI.Address && !isSubFunction(d) && !isSubFunction(snap.Device(n.RDMADevice)) {
			lines = append(lines, portNetdev{n.Name, 1 + max(deref(n.DevPort), deref(n.DevID))})
		}
	}
	for _, p := range d.Ports {
		served := slices.ContainsFunc(lines,
			func(l portNetdev) bool { return l.port == p.Number || l.netdev == p.Netdev })
		if p.Netdev != "" && !served {
			lines = append(lines, portNetdev{p.Netdev, p.Number})
		}
	}
	slices.SortFunc(lines, func(a, b portNetdev) int { return cmp.Compare(a.netdev, b.netdev) })
	return lines
}

// isSubFunction reports whether a device has no separate PCI function, in which case its network
// device has none either.
func isSubFunction(d *inventory.Device) bool { return d != nil && d.VF != nil && d.VF.SubFunction }

func deref(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}

// carrier returns the carrier of a network device in the script's format.
func (t *sysTree) carrier(netdev string) string {
	file := path.Join(sysfs.ClassNet, netdev, "carrier")
	b, ok := t.raw(file)
	switch {
	case ok && strings.TrimSpace(string(b)) == "1":
		return "Up"
	case ok || t.isFile(file): // reading the file fails while the device is down
		return "Down"
	}
	return "NA"
}

// cardText is the part of a long line before the arrow.
func (t *sysTree) cardText(d *inventory.Device, port int) string {
	dir := path.Join(sysfs.ClassInfiniBand, d.Name)
	address, device := "", "NA"
	if d.PCI != nil {
		address, device = d.PCI.Address, fmt.Sprintf("MT%d", d.PCI.DeviceID)
	}
	name, part := "", "NA"
	if file := dir + "/device/vpd"; t.isFile(file) {
		b, _ := t.raw(file)
		name, part = parseVPD(b)
		name, part = fmt.Sprintf("%-15s", name), fmt.Sprintf("%-11s", part)
	}
	firmware, state := "NA", "NA"
	if b, ok := t.raw(dir + "/fw_ver"); ok {
		firmware = strings.TrimRight(string(b), "\n")
	}
	if b, ok := t.raw(fmt.Sprintf("%s/ports/%d/state", dir, port)); ok {
		words := append(strings.Fields(string(b)), "", "")
		state = fmt.Sprintf("%-6s", words[1])
	}
	return fmt.Sprintf("%s %s (%s - %s) %s fw %s port %d (%s)",
		address, d.Name, device, part, name, firmware, port, state)
}
