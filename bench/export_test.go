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

// InlineOf returns the inline bytes that a test with c asks for: 0 for the default, -1 for none.
func InlineOf(c Config) (int, error) {
	c, err := c.normalized()
	return c.Inline, err
}
