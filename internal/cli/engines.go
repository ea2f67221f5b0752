package cli

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// Toward is the peer that a device is chosen for.
type Toward struct {
	Host string // name or address; "" for a server
	// ByAddress chooses the engine at the address that the route to Host begins at, for peers that
	// are found by rdma_cm: both ends need addresses of the same family. Otherwise it is the engine
	// of the network device, with the address that it has without a peer.
	ByAddress bool
	// Connects says that the queue pairs are connected by rdma_cm, too: only devices that do that
	// can be used, and of iWARP, which has no other way, there are some.
	Connects bool
}

// route is where the route to a peer begins.
type route struct {
	netdev string
	source netip.Addr
	inside bool // the peer is this machine
}

// routeTo finds the route to a host.
func routeTo(ctx context.Context, host string) (route, error) {
	to, err := netip.ParseAddr(host) // a lookup would drop the zone
	if err != nil {
		list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return route{}, err
		}
		if len(list) == 0 {
			return route{}, fmt.Errorf("%s has no address", host)
		}
		to = list[0]
	}
	to = to.Unmap()
	source, err := routeSource(ctx, to)
	if err != nil {
		return route{}, err
	}
	netdev, err := roce.Netdev(source)
	return route{netdev, source, source.IsLoopback() || source == to}, err
}

// loopbackEngine is the engine that reaches only this machine.
const loopbackEngine = roce.Prefix + "lo"

// engineNames returns the engines to try, and why the first one comes first. For a peer on another
// machine that is the engine where the route begins, and the loopback device is left out. Without a
// peer, a network device with only a link-local IPv6 address comes before the loopback device; the
// error for several of those names them.
func (o *opener) engineNames(ctx context.Context) (names []string, why string, err error) {
	const first = "the first one that can be opened"
	list, err := verbs.Devices(ctx, o.engines...)
	if err != nil {
		return nil, "", fmt.Errorf("list network devices: %w", err)
	}
	for _, d := range list {
		names = append(names, d.Name)
	}
	if o.toward.Host != "" {
		// A host that isn't found is an error of the connection, which comes next.
		if r, err := o.route(ctx, o.toward.Host); err == nil {
			if r.inside {
				return names, first, nil
			}
			best := roce.Prefix + r.netdev
			if o.toward.ByAddress {
				best = roce.Prefix + r.source.String()
			}
			names = slices.DeleteFunc(names, func(n string) bool { return n == best || n == loopbackEngine })
			return slices.Insert(names, 0, best), "where the route to " + o.toward.Host + " begins", nil
		}
	}
	if len(names) > 1 || len(names) == 1 && names[0] != loopbackEngine {
		return names, first, nil
	}
	switch local := o.linkLocal(); len(local) {
	case 0:
		return names, first, nil
	case 1:
		return local, "the only one that reaches another machine", nil
	default:
		return nil, "", severalError(local)
	}
}

// severalError is the error of a choice between network devices that have only link-local
// addresses.
type severalError []string

// Error implements error.
func (e severalError) Error() string {
	return "several network devices have only link-local addresses: " + SomeNames(e, false)
}

// Hints returns how to choose.
func (e severalError) Hints() []string {
	return []string{"-d " + e[0] + " chooses one; -d " + loopbackEngine + " is for peers on this machine"}
}
