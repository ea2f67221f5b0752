package nodetree

import (
	"errors"
	"fmt"
	"strings"
)

// Limits of the loaders.
const (
	maxEntries = 200_000
	maxFile    = 4 << 20
	maxErrnos  = 32 << 20 // of errno.json, which has a long path for each empty slot of each GID table
	maxTotal   = 64 << 20 // contents, names and link targets
	maxName    = 255      // NAME_MAX
	maxPath    = 4096     // PATH_MAX
	maxLinks   = 40       // links in one resolution (MAXSYMLINKS of the kernel)

	// maxSteps limits the work of a loader. A tree of maxEntries with sysfs paths takes 5 million
	// steps; a step takes about 30 ns.
	maxSteps = 8_000_000
)

// ErrTooLarge is the cause of the error for a tree above the limits of the loaders.
var ErrTooLarge = errors.New("tree too large")

// budget counts the bytes and steps of a loader. Every file of a range is counted, although they
// share their content.
type budget struct {
	bytes int // of contents; the tree counts names and targets
	steps int
}

// check adds the bytes of a file and checks the limits.
func (b *budget) check(t *Tree, bytes int) error {
	b.bytes += bytes
	if t.made > maxEntries || b.bytes+t.named > maxTotal {
		return fmt.Errorf("%w: more than %d entries or %d bytes", ErrTooLarge, maxEntries, maxTotal)
	}
	return nil
}

// path adds the steps of a path lookup: one for each component, which is a map lookup, and one for
// each 16 bytes, which are copied and checked.
func (b *budget) path(name string) error {
	return b.work(1 + strings.Count(name, "/") + len(name)/16)
}

// work adds steps.
func (b *budget) work(steps int) error {
	b.steps += steps
	if b.steps > maxSteps {
		return fmt.Errorf("%w: its paths and links take more than %d steps", ErrTooLarge, maxSteps)
	}
	return nil
}
