package kernel

import (
	"context"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// routes lists policy rules, the routes of all tables, and neighbours.
func routes(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindRoutes, Source: "rtnetlink: RTM_GETRULE, RTM_GETROUTE, RTM_GETNEIGH",
		Cost: "six lists; long only with the Internet's routes",
		Collect: func(ctx context.Context, _ *inventory.Snapshot, f *facts.Facts) {
			f.Routes = facts.Read(now, func() (facts.Routing, error) { return routing(ctx) })
		},
	}
}
