package cli

import (
	"context"
	"io/fs"

	"github.com/rdmakit/rdmakit/inventory"
)

// PortCounters returns the counters of a port of the kernel that can be read, by their names: some
// can't on many drivers. The error is that of a port of which none can.
func PortCounters(ctx context.Context, root fs.FS, device string, number int) (map[string]uint64, error) {
	list, err := inventory.ReadCounters(ctx, root, device, number)
	out := map[string]uint64{}
	for _, c := range list {
		if c.Value != nil {
			out[c.Name] = *c.Value
		}
	}
	if len(out) > 0 {
		err = nil
	}
	return out, err
}
