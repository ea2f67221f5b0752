package bench

import (
	"io/fs"

	"github.com/rdmakit/rdmakit/internal/edge/gpu"
)

// WithDrivers returns g with other driver libraries and another machine.
func (g GPU) WithDrivers(drivers gpu.Drivers, root fs.FS) *GPU {
	g.drivers, g.root = drivers, root
	return &g
}
