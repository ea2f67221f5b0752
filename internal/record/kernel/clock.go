package kernel

import (
	"context"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// clock asks the kernel how well its clock follows the source that disciplines it.
func clock(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindClock, Source: "adjtimex(2)", Cost: "one system call",
		Collect: func(_ context.Context, _ *inventory.Snapshot, f *facts.Facts) {
			f.Clock = facts.Read(now, discipline)
		},
	}
}
