package launch

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// Route is the route to an address, as `ip route get` prints it.
type Route struct {
	Netdev  string     // the outgoing device
	Gateway netip.Addr // zero if the destination is on the device's network
	Source  netip.Addr // zero if unknown
	// Evidence names the source of the route: a file, or the request to the kernel.
	Evidence string
}

// RouteFunc returns the route from src, or from any address if src is the zero value, to dst (C
// twin: RTM_GETROUTE with RTA_DST and RTA_SRC). It returns an error if there is no route
// ([ErrNoRoute]) or the route is not known.
type RouteFunc func(dst, src netip.Addr) (Route, error)

// ErrNoRoute means that there is no route to an address. Any other error of a [RouteFunc] means
// that the route is not known.
var ErrNoRoute = errors.New("no route")

var errUnknownRoute = errors.New("not known from addresses and default routes")

// RoutesOf returns a function that finds routes in a snapshot: from the addresses of network
// devices with their prefixes, and the default routes. A snapshot has no other routes and no policy
// rules; on a running machine use [KernelRoutes].
func RoutesOf(snapshot inventory.Snapshot) RouteFunc {
	return func(dst, src netip.Addr) (Route, error) {
		if r, ok := connectedRoute(&snapshot, dst, src); ok {
			return r, nil
		}
		for _, def := range snapshot.Host.DefaultRoutes {
			if (def.Family == "ipv4") != dst.Is4() || src.IsValid() && !hasAddr(&snapshot, def.Netdev, src) {
				continue
			}
			gateway, _ := netip.ParseAddr(def.Gateway) // the zero value if there is none
			return Route{Netdev: def.Netdev, Gateway: gateway, Evidence: routeFile(def.Family)}, nil
		}
		if src.IsValid() {
			return Route{}, fmt.Errorf("find route from %s to %s: %w", src, dst, errUnknownRoute)
		}
		return Route{}, fmt.Errorf("find route to %s: %w", dst, ErrNoRoute)
	}
}

// connectedRoute returns the device whose network contains dst, the longest prefix first.
func connectedRoute(snapshot *inventory.Snapshot, dst, src netip.Addr) (Route, bool) {
	var best Route
	bits := -1
	for i := range snapshot.Netdevs {
		n := &snapshot.Netdevs[i]
		for _, prefix := range n.Addresses {
			if prefix.Contains(dst) && prefix.Bits() > bits && (!src.IsValid() || src == prefix.Addr()) {
				best, bits = Route{Netdev: n.Name, Source: prefix.Addr(), Evidence: n.Path}, prefix.Bits()
			}
		}
	}
	return best, bits >= 0
}

func hasAddr(snapshot *inventory.Snapshot, netdev string, addr netip.Addr) bool {
	n := snapshot.Netdev(netdev)
	return n != nil && slices.ContainsFunc(n.Addresses, func(p netip.Prefix) bool { return p.Addr() == addr })
}

// routeFile returns the file with the kernel's main routing table.
func routeFile(family string) string {
	if family == "ipv6" {
		return "/" + sysfs.ProcNetIPv6Route
	}
	return "/" + sysfs.ProcNetRoute
}
