package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// ChooseGID returns the index of the GID that connections of a port, counted from 1, should use if
// the user gives none, and why; port 0 is 1. On RoCE it is the entry that "rdmactl env" derives for
// NCCL and the other libraries. It is [bench.NoGID] on InfiniBand, where the LID is the address
// within a subnet, and 0 for an engine. why is "" if there was nothing to choose. A RoCE port
// without a GID is an error.
func ChooseGID(ctx context.Context, device *verbs.Device, port int) (index int, why string, err error) {
	if strings.Contains(device.Name(), "@") {
		return 0, "", nil
	}
	port = cmp.Or(port, 1)
	attr, err := device.Port(ctx, port)
	if err != nil {
		return 0, "", err
	}
	if attr.LinkLayer == provider.LinkLayerInfiniBand {
		return bench.NoGID, "", nil
	}
	gids, err := device.GIDs(ctx, port)
	if err != nil {
		return 0, "", err
	}
	return chooseGID(localNode(ctx), device.Name(), port, gids)
}

// chooseGID chooses one of the GIDs of a port on Ethernet.
func chooseGID(
	node *inventory.Snapshot, device string, number int, gids []verbs.GIDEntry,
) (index int, why string, err error) {
	name := fmt.Sprintf("%s port %d", device, number)
	port := portOf(node, device, number)
	if port != nil && !port.Transport.HasGIDs() { // eRDMA
		return 0, "", nil
	}
	if port != nil {
		if best := launch.BestGID(node, port); best != nil {
			why = fmt.Sprintf("%s: using GID index %d, %s of %v", name, best.Index, best.Type, best.Addr)
			if best.Netdev != "" {
				why += " on " + best.Netdev
			}
			return best.Index, why + "; -x INDEX selects another", nil
		}
	}
	if len(gids) == 0 {
		netdev := "its network device"
		if port != nil && port.Netdev != "" {
			netdev = port.Netdev
		}
		err := Exitf(ExitNotFound, "choose a GID of %s: its GID table is empty", name)
		return 0, "", WithHints(err, "assign an IP address to "+netdev+", and set it up")
	}
	e := slices.MaxFunc(gids, func(a, b verbs.GIDEntry) int { // of equal entries the first
		return cmp.Compare(a.Type, b.Type)
	})
	const text = "%s: using GID index %d, %v of %v, which only peers on the same link reach: no GID is routable; " +
		"-x INDEX selects another"
	return e.Index, fmt.Sprintf(text, name, e.Index, e.Type, e.GID.Addr()), nil
}

// portOf returns a port of a device; nil if the scan didn't find it.
func portOf(node *inventory.Snapshot, device string, number int) *inventory.Port {
	d := node.Device(device)
	if d == nil {
		return nil
	}
	i := slices.IndexFunc(d.Ports, func(p inventory.Port) bool { return p.Number == number })
	if i < 0 {
		return nil
	}
	return &d.Ports[i]
}
