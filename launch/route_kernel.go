package launch

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/edge/rdmanl"
	"github.com/rdmakit/rdmakit/inventory"
)

// KernelRoutes returns a function that requests routes from the kernel of this machine, like `ip
// route get`, with its policy rules and all of its tables; ctx limits each request. The snapshot
// must be of this machine and provides the names of network devices. For a given source address the
// function uses only the snapshot, like [RoutesOf].
func KernelRoutes(ctx context.Context, snapshot inventory.Snapshot) RouteFunc {
	recorded := RoutesOf(snapshot)
	return func(dst, src netip.Addr) (Route, error) {
		if src.IsValid() {
			return recorded(dst, src)
		}
		r, err := rdmanl.Client{}.RouteTo(ctx, dst)
		switch {
		case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
			return Route{}, fmt.Errorf("find route to %s: %w", dst, ErrNoRoute)
		case err != nil:
			return Route{}, err
		}
		out := Route{Gateway: r.Gateway, Source: r.Source, Evidence: "ip route get " + dst.String()}
		for _, n := range snapshot.Netdevs {
			if r.LinkIndex != nil && n.Index == *r.LinkIndex {
				out.Netdev = n.Name
				return out, nil
			}
		}
		return out, fmt.Errorf("find route to %s: the network device is not known", dst)
	}
}
