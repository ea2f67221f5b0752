package kernel

import (
	"context"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// links lists what rtnetlink reports about network devices beside the inventory. The kernel counts
// changes of the carrier, but keeps no times of them.
func links(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindLinks, Source: "rtnetlink: RTM_GETLINK", Cost: "one list",
		Collect: func(ctx context.Context, _ *inventory.Snapshot, f *facts.Facts) {
			f.Links = facts.Read(now, func() ([]facts.Link, error) { return readLinks(ctx) })
		},
	}
}
