package launch

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// Route is the way that packets take to an address, as `ip route get` prints it.
type Route struct {
	Netdev  string     // the device that packets leave by
	Gateway netip.Addr // zero when the destination is on the device's own network
	Source  netip.Addr // zero when unknown
	// Evidence names what it was read from: a file, or the question to the kernel.
	Evidence string
}

// RouteFunc answers the way from src, or from any address if src is the zero value,
// to dst (C twin: RTM_GETROUTE with RTA_DST and RTA_SRC). It returns an error where
// there is no way ([ErrNoRoute]) or it isn't known.
type RouteFunc func(dst, src netip.Addr) (Route, error)

// ErrNoRoute says that there is no way to an address. Any other error of a [RouteFunc]
// says that the way is not known.
var ErrNoRoute = errors.New("no route")

var errUntold = errors.New("addresses and default routes don't tell")

// RoutesOf answers from what a snapshot holds: the addresses of network devices with
// their prefixes, and the default routes. It knows no other routes and no policy
// rules, which a running kernel does; prefer the kernel's answer where it is at hand.
func RoutesOf(snapshot inventory.Snapshot) RouteFunc {
	return func(dst, src netip.Addr) (Route, error) {
		if r, ok := connectedRoute(&snapshot, dst, src); ok {
			return r, nil
		}
		for _, def := range snapshot.Host.DefaultRoutes {
			if (def.Family == "ipv4") != dst.Is4() || src.IsValid() && !hasAddr(&snapshot, def.Netdev, src) {
				continue
			}
			gateway, _ := netip.ParseAddr(def.Gateway) // the zero value when there is none
			return Route{Netdev: def.Netdev, Gateway: gateway, Evidence: routeFile(def.Family)}, nil
		}
		if src.IsValid() {
			return Route{}, fmt.Errorf("find route from %s to %s: %w", src, dst, errUntold)
		}
		return Route{}, fmt.Errorf("find route to %s: %w", dst, ErrNoRoute)
	}
}

// connectedRoute finds the device whose network holds dst, the narrowest first.
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

// routeFile is where the kernel shows the main table.
func routeFile(family string) string {
	if family == "ipv6" {
		return "/" + sysfs.ProcNetIPv6Route
	}
	return "/" + sysfs.ProcNetRoute
}
