package launch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
)

// socketRule finds the network device for bootstrap. The first rule that finds one decides.
type socketRule struct {
	Rule
	find func(dv *derivation) (netdev, reason string, files []string)
}

var socketRules = []socketRule{
	{Rule{
		"socket-peer-route", KindSocket, "--peer is given", "the device of the route to it",
		"the kernel knows the route; addresses of rails are often not reachable from outside",
	}, findPeerRoute},
	{Rule{
		"socket-default-route", KindSocket, "no --peer, and the node has a default route",
		"the device of the default route with the lowest metric, IPv4 first",
		"NCCL by default prefers names that begin with ib, which are IPoIB",
	}, findDefaultRoute},
	{Rule{
		"socket-only-candidate", KindSocket,
		"no --peer, no default route is known, and exactly one Ethernet device is up that is not a rail, a " +
			"bridge, or a container's or virtual machine's device",
		"that device", "no other device is possible",
	}, findOnlyCandidate},
}

// chooseSocket sets plan.Socket, or warns.
func (dv *derivation) chooseSocket() {
	for _, r := range socketRules {
		netdev, reason, files := r.find(dv)
		if netdev == "" {
			continue
		}
		if unlistable(netdev) != "" {
			dv.plan.warn(ruleNoSocket,
				fmt.Sprintf("the bootstrap device %s (%s) has a name that the libraries' lists can't contain",
					printableName(netdev), reason))
			return
		}
		dv.plan.Socket = &Socket{Netdev: netdev, Rule: r.ID, Reason: reason, Files: files}
		dv.warnRailSocket(netdev)
		return
	}
	if dv.opts.Peer.IsValid() {
		return // findPeerRoute has added a warning
	}
	text := "no bootstrap device: no default route is known, and no single other device qualifies; " +
		"*_SOCKET_IFNAME is not set (use --peer)"
	if dv.wants(LibraryUCX) && len(dv.selected) > 0 {
		text += "; UCX_NET_DEVICES has no TCP device"
	}
	if n := ipoibTrap(dv.snapshot); n != "" {
		text += fmt.Sprintf("; NCCL by default prefers names that begin with ib, here %s (IPoIB)", n)
	}
	dv.plan.warn(ruleNoSocket, text)
}

func findPeerRoute(dv *derivation) (netdev, reason string, files []string) {
	peer := dv.opts.Peer
	if !peer.IsValid() {
		return "", "", nil
	}
	route, err := dv.routes(peer, netip.Addr{})
	if err != nil {
		dv.plan.warn(ruleNoSocket, fmt.Sprintf("--peer: %v; *_SOCKET_IFNAME is not set", err))
		return "", "", nil
	}
	if owner := ownerOf(dv.snapshot, peer); owner != "" && isLoopback(dv.snapshot, route.Netdev) {
		return owner, fmt.Sprintf("%s is an address of this node", peer), nil
	}
	reason = fmt.Sprintf("route to %s", peer)
	if route.Gateway.IsValid() {
		reason += fmt.Sprintf(" via %s", route.Gateway)
	}
	return route.Netdev, reason, evidence(route.Evidence)
}

func evidence(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// ownerOf returns the device that has an address, "" if no device is known to have it.
func ownerOf(snapshot *inventory.Snapshot, addr netip.Addr) string {
	for _, n := range snapshot.Netdevs {
		if slices.ContainsFunc(n.Addresses, func(p netip.Prefix) bool { return p.Addr() == addr }) {
			return n.Name
		}
	}
	return ""
}

func isLoopback(snapshot *inventory.Snapshot, netdev string) bool {
	n := snapshot.Netdev(netdev)
	return n != nil && n.Type == inventory.ARPHRDLoopback || n == nil && netdev == "lo"
}

func findDefaultRoute(dv *derivation) (netdev, reason string, files []string) {
	if dv.opts.Peer.IsValid() {
		return "", "", nil
	}
	var best *inventory.DefaultRoute
	for i := range dv.snapshot.Host.DefaultRoutes {
		r := &dv.snapshot.Host.DefaultRoutes[i]
		if best == nil || r.Family == "ipv4" && best.Family != "ipv4" ||
			r.Family == best.Family && r.Metric < best.Metric {
			best = r
		}
	}
	if best == nil {
		return "", "", nil
	}
	return best.Netdev, "default route", []string{routeFile(best.Family)}
}

func findOnlyCandidate(dv *derivation) (netdev, reason string, files []string) {
	if dv.opts.Peer.IsValid() {
		return "", "", nil
	}
	var found []*inventory.Netdev
	for i := range dv.snapshot.Netdevs {
		if n := &dv.snapshot.Netdevs[i]; dv.mayBootstrap(n) {
			found = append(found, n)
		}
	}
	if len(found) != 1 {
		return "", "", nil
	}
	return found[0].Name, "the only Ethernet device that is up and carries no RDMA", []string{found[0].Path}
}

// mayBootstrap reports whether a device could be for TCP between nodes. An operational state of
// "up" is sufficient, because the flags may not be recorded.
func (dv *derivation) mayBootstrap(n *inventory.Netdev) bool {
	up := n.OperState == "up" || n.Usable()
	if n.Type != inventory.ARPHRDEther || !up || n.RDMADevice != "" || n.Master != "" || n.Kind == "bridge" ||
		dv.onRDMACard(n) {
		return false
	}
	return !slices.ContainsFunc(localNames, func(prefix string) bool { return strings.HasPrefix(n.Name, prefix) })
}

// localNames are the name prefixes of devices for containers and virtual machines of the node.
var localNames = []string{
	"docker", "virbr", "br-", "cni", "flannel", "cali", "cilium", "lxc", "veth", "tap", "vnet", "dummy", "kube-",
}

// onRDMACard reports whether the device's PCI function also has an RDMA device.
func (dv *derivation) onRDMACard(n *inventory.Netdev) bool {
	return n.PCI != "" && slices.ContainsFunc(dv.snapshot.Devices, func(d inventory.Device) bool {
		return d.PCI != nil && d.PCI.Address == n.PCI
	})
}

// warnRailSocket warns if the bootstrap device is IPoIB or a rail.
func (dv *derivation) warnRailSocket(netdev string) {
	n := dv.snapshot.Netdev(netdev)
	switch {
	case n != nil && n.Type == inventory.ARPHRDInfiniBand:
		dv.plan.warn(ruleRailSocket,
			fmt.Sprintf("bootstrap uses IPoIB (%s): %s", netdev, dv.plan.Socket.Reason), n.Path)
	case slices.ContainsFunc(dv.selected, func(c *candidate) bool { return c.onNetdev(netdev) }):
		dv.plan.warn(ruleRailSocket,
			fmt.Sprintf("bootstrap uses %s, a selected rail: %s", netdev, dv.plan.Socket.Reason))
	}
}

// onNetdev reports whether a port belongs to a network device.
func (c *candidate) onNetdev(netdev string) bool {
	return c.port.Netdev == netdev || c.plan.GID != nil && c.plan.GID.Netdev == netdev
}

// ipoibTrap returns the first device that NCCL would prefer because of its name, "" for none.
func ipoibTrap(snapshot *inventory.Snapshot) string {
	for _, n := range snapshot.Netdevs {
		if strings.HasPrefix(n.Name, "ib") && n.AdminUp && n.Type == inventory.ARPHRDInfiniBand {
			return n.Name
		}
	}
	return ""
}
