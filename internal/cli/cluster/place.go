package cluster

import (
	"context"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/leaf"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/worker"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/lldpctl"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// placeOf returns the facts that identify a port in a topology: its GUIDs and network devices.
func placeOf(snap *inventory.Snapshot, d *inventory.Device, p *inventory.Port) map[string]string {
	facts := map[string]string{}
	if d.NodeGUID != nil && !d.NodeGUID.IsZero() {
		facts[result.FactNodeGUID] = d.NodeGUID.String()
	}
	if p.LinkLayer == inventory.LinkLayerInfiniBand {
		if guid := p.PortGUID(); guid != nil {
			facts[result.FactPortGUID] = guid.String()
		}
		return facts // IPoIB hears no LLDP
	}
	if n := snap.Netdev(p.Netdev); n != nil {
		facts[result.FactNetdev] = strings.Join(n.Connectors(), ", ")
	}
	return facts
}

// thisMachine identifies this machine by its boot ID and network namespace, "" if they are unknown:
// nodes that share a machine have different namespaces.
func thisMachine() string {
	boot, err := fs.ReadFile(hostRoot(), sysfs.ProcBootID)
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/" + sysfs.ProcSelfNetNS)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + namespace
}

// subnetOf returns the subnet of an address of a network device, "" if it is unknown.
func subnetOf(n *inventory.Netdev, addr netip.Addr) string {
	if n == nil {
		return ""
	}
	for _, p := range n.Addresses {
		if p.Addr() == addr && !p.IsSingleIP() {
			return p.Masked().String()
		}
	}
	return ""
}

// engineNetdev returns the network device of an engine in user space, "" if it is unknown.
func engineNetdev(name string) string {
	name = strings.TrimPrefix(name, roce.Prefix)
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return name
	}
	netdev, err := roce.Netdev(addr)
	if err != nil {
		return ""
	}
	return netdev
}

// addSwitches asks the LLDP daemon of this machine, if there is one, for the switches that the
// cards are connected to. Users often may not open its socket; the switches are unknown then, which
// is not an error.
func addSwitches(ctx context.Context, app *cli.App, cards []worker.Card) {
	text, err := lldpctl.Run(ctx, "")
	if err != nil {
		app.Log.Debug("LLDP neighbours", "error", err)
		return
	}
	heard, err := leaf.ReadNeighbours(text)
	if err != nil {
		app.Log.Debug("LLDP neighbours", "error", err)
		return
	}
	for i := range cards {
		maps.Copy(cards[i].Facts, leaf.Facts(heard.Ports(leaf.Netdevs(cards[i].Facts)...)))
	}
}
