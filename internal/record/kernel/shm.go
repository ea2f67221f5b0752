package kernel

import (
	"context"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// shm asks for the space of the file system through which processes of a node share memory.
func shm(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindShm, Source: "statfs(2) of /dev/shm", Cost: "one system call",
		Collect: func(_ context.Context, _ *inventory.Snapshot, f *facts.Facts) {
			f.Shm = facts.Read(now, func() (facts.FileSystem, error) { return space("/dev/shm") })
		},
	}
}
