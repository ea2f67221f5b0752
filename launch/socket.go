package launch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
)

// socketRule finds the network device for bootstrap. The first that finds one decides.
type socketRule struct {
	Rule
	find func(dv *derivation) (netdev, reason string, files []string)
}

var socketRules = []socketRule{
	{Rule{
		"socket-peer-route", KindSocket, "--peer is given", "the device of the route to it",
		"the kernel knows the way; addresses of rails are often not reachable from outside",
	}, findPeerRoute},
	{Rule{
		"socket-default-route", KindSocket, "no --peer, and the node has a default route",
		"the device of the default route with the lowest metric, IPv4 first",
		"NCCL by itself takes the first name with ib, which is IPoIB",
	}, findDefaultRoute},
	{Rule{
		"socket-only-candidate", KindSocket,
		"no --peer, no default route was read, and one Ethernet device is left that is up and neither a rail nor a " +
			"bridge, a container's or a virtual machine's device",
		"that device", "there is nothing else it could be",
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
				fmt.Sprintf("the bootstrap device %s (%s) has a name that the libraries' lists can't hold",
					printableName(netdev), reason))
			return
		}
		dv.plan.Socket = &Socket{Netdev: netdev, Rule: r.ID, Reason: reason, Files: files}
		dv.warnRailSocket(netdev)
		return
	}
	if dv.opts.Peer.IsValid() {
		return // findPeerRoute has said why
	}
	text := "no default route was read, and no other device stands out: *_SOCKET_IFNAME is left to the " +
		"libraries; --peer decides it"
	if dv.wants(LibraryUCX) && len(dv.selected) > 0 {
		text += "; UCX_NET_DEVICES names no TCP device, so UCX has none"
	}
	if n := ipoibTrap(dv.snapshot); n != "" {
		text += fmt.Sprintf("; NCCL by itself takes names with ib first, here %s (IPoIB)", n)
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
		dv.plan.warn(ruleNoSocket, fmt.Sprintf("--peer: %v; *_SOCKET_IFNAME is left to the libraries", err))
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

// ownerOf returns the device that has an address, "" if none is known to.
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

// mayBootstrap reports whether a device could be meant for TCP between nodes. An
// operational state of "up" says so even where the flags were not recorded.
func (dv *derivation) mayBootstrap(n *inventory.Netdev) bool {
	up := n.OperState == "up" || n.Usable()
	if n.Type != inventory.ARPHRDEther || !up || n.RDMADevice != "" || n.Master != "" || n.Kind == "bridge" ||
		dv.onRDMACard(n) {
		return false
	}
	return !slices.ContainsFunc(localNames, func(prefix string) bool { return strings.HasPrefix(n.Name, prefix) })
}

// localNames begin the names of devices that lead to containers and virtual machines of the
// same node.
var localNames = []string{
	"docker", "virbr", "br-", "cni", "flannel", "cali", "cilium", "lxc", "veth", "tap", "vnet", "dummy", "kube-",
}

// onRDMACard reports whether a device shares its PCI function with an RDMA device.
func (dv *derivation) onRDMACard(n *inventory.Netdev) bool {
	return n.PCI != "" && slices.ContainsFunc(dv.snapshot.Devices, func(d inventory.Device) bool {
		return d.PCI != nil && d.PCI.Address == n.PCI
	})
}

// warnRailSocket tells when the route leads where bootstrap traffic rarely belongs.
func (dv *derivation) warnRailSocket(netdev string) {
	n := dv.snapshot.Netdev(netdev)
	switch {
	case n != nil && n.Type == inventory.ARPHRDInfiniBand:
		dv.plan.warn(ruleRailSocket,
			fmt.Sprintf("bootstrap goes over IPoIB (%s): %s", netdev, dv.plan.Socket.Reason), n.Path)
	case slices.ContainsFunc(dv.selected, func(c *candidate) bool { return c.onNetdev(netdev) }):
		dv.plan.warn(ruleRailSocket,
			fmt.Sprintf("bootstrap goes over %s, a selected rail: %s", netdev, dv.plan.Socket.Reason))
	}
}

// onNetdev reports whether a port's traffic leaves by a network device.
func (c *candidate) onNetdev(netdev string) bool {
	return c.port.Netdev == netdev || c.plan.GID != nil && c.plan.GID.Netdev == netdev
}

// ipoibTrap returns the first device that NCCL would take for its name, "" for none.
func ipoibTrap(snapshot *inventory.Snapshot) string {
	for _, n := range snapshot.Netdevs {
		if strings.HasPrefix(n.Name, "ib") && n.AdminUp && n.Type == inventory.ARPHRDInfiniBand {
			return n.Name
		}
	}
	return ""
}
