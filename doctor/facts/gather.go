package facts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/inventory"
)

// CollectTime is the time limit of a collector whose Limit is zero.
const CollectTime = 20 * time.Second

// collectGrace is how long a collector may take to store its error after its context ended.
const collectGrace = time.Second

// Collector gathers data of one kind of a running node.
type Collector struct {
	Kind      Kind   `json:"kind"`
	Source    string `json:"source"`              // where the kernel has it
	Cost      string `json:"cost"`                // what gathering takes
	Privilege string `json:"privilege,omitempty"` // what a process needs for it, "" if any may
	// Live collectors talk to other machines or take seconds; they run only if the caller asks for
	// them, not whenever a check could use them.
	Live bool `json:"live,omitempty"`
	// Limit is the time after which the context of Collect ends; 0 stands for CollectTime.
	Limit time.Duration `json:"-"`
	// Collect sets the field of its kind. The Facts that it gets have the files of the node and
	// none of the other kinds.
	Collect func(ctx context.Context, s *inventory.Snapshot, f *Facts) `json:"-"`
}

// Gather runs the collectors of the chosen kinds side by side. A kind without a collector, or one
// that is known already, is left as it is. A collector that panics, ends without data, or does not
// return after its time limit or the end of ctx gives a datum that failed and names it. Gather does
// not wait longer for the latter; its goroutine ends when Collect returns, and refers to no data of
// f but the files.
func (f *Facts) Gather(ctx context.Context, s *inventory.Snapshot, collectors []Collector, kinds ...Kind) {
	var wg sync.WaitGroup
	for _, c := range collectors {
		if !slices.Contains(kinds, c.Kind) || f.State(c.Kind) == nil {
			continue
		}
		field := f.slotOf(c.Kind)
		if field == nil {
			continue // no such kind
		}
		wg.Go(func() { field.set(c.contained(ctx, s, f.Files)) })
	}
	wg.Wait()
}

// contained runs the collector in a separate goroutine and returns what it stored, or a datum that
// says why there is nothing.
func (c Collector) contained(ctx context.Context, s *inventory.Snapshot, files *Files) slot {
	limit := c.Limit
	if limit <= 0 {
		limit = CollectTime
	}
	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not finished within %v", limit))
	defer cancel()
	stored := make(chan slot, 1)
	go func() {
		own := &Facts{Files: files}
		field := own.slotOf(c.Kind)
		fail := func(why string) { field.fail(start.UTC(), time.Since(start), c.failure(why)) }
		defer func() {
			if v := recover(); v != nil {
				fail(fmt.Sprintf("panicked: %v", v))
			} else if errors.Is(field.get().State(), ErrNotGathered) { // runtime.Goexit ends here as well
				fail("ended without a result")
			}
			stored <- field
		}()
		c.Collect(ctx, s, own)
	}()
	select {
	case got := <-stored:
		return got
	case <-ctx.Done():
	}
	grace := time.NewTimer(collectGrace)
	defer grace.Stop()
	select {
	case got := <-stored:
		return got
	case <-grace.C:
	}
	late := (&Facts{}).slotOf(c.Kind)
	late.fail(start.UTC(), time.Since(start), c.failure(context.Cause(ctx).Error()))
	return late
}

// failure names the collector in an error.
func (c Collector) failure(why string) string {
	return fmt.Sprintf("the collector of %s: %s", c.Kind, why)
}
