package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/wire/counters"
)

// Counter is a counter of a port as one reading found it.
type Counter struct {
	Name string `json:"name"` // the file's name, as port_xmit_data
	// Group is "counters" (InfiniBand PMA), "hw_counters" (driver, of the port) or
	// "device_hw_counters" (driver, of the whole device).
	Group string `json:"group"`
	Path  string `json:"path"`
	// Value is nil when the kernel has none; Note then says what it answered ("N/A (no PMA)").
	Value *uint64 `json:"value,omitempty"`
	Note  string  `json:"note,omitempty"`
	// Saturated reports whether the counter stands at its end. The classic counters of
	// InfiniBand don't wrap: from here on they say nothing until they are reset.
	Saturated bool `json:"saturated,omitempty"`
}

// classicCounters is the group of the counters that each InfiniBand port has.
const classicCounters = "counters"

// bits returns the width of a counter. The classic counters have that of PortCounters; where the
// kernel reads PortCountersExtended for one, its value goes beyond that, and is at no end there.
func (c Counter) bits() int {
	if known, ok := counters.ByFile(c.Name); ok && c.Group == classicCounters {
		return known.Bits
	}
	return counters.Endless
}

// deviceCounters is the group of the counters that a driver keeps for a device.
const deviceCounters = "device_hw_counters"

// ReadCounters reads the counters of a port below root, counters first, then hw_counters, then
// those of the whole device, each by name. Reading some of them costs a firmware command. It
// returns what it could read plus joined errors; a port without either folder is an error. Values
// are as the kernel prints them: port_xmit_data and port_rcv_data count units of 4 bytes,
// hw_counters/lifespan is in milliseconds.
func ReadCounters(ctx context.Context, root fs.FS, device string, port int) ([]Counter, error) {
	top := sysfs.NewReader(root, ctx.Err)
	var out []Counter
	found := false
	of := path.Join(sysfs.ClassInfiniBand, device)
	ofPort := path.Join(of, "ports", strconv.Itoa(port))
	for _, group := range []string{classicCounters, "hw_counters", deviceCounters} {
		dir := path.Join(ofPort, group)
		if group == deviceCounters {
			dir = path.Join(of, "hw_counters")
		}
		r, ok := top.Dir(dir)
		if !ok {
			continue
		}
		found = true
		for _, name := range r.List(".") {
			out = append(out, readCounter(r, group, name))
		}
		r.Close()
	}
	var errs []error
	for _, e := range top.Errors() {
		errs = append(errs, e)
	}
	if !found && len(errs) == 0 {
		errs = append(errs, errNoCounters)
	}
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return out, fmt.Errorf("read counters of %s port %d: %w", device, port, err)
	}
	return out, nil
}

func readCounter(r *sysfs.Reader, group, name string) Counter {
	c := Counter{Name: name, Group: group, Path: r.Path(name)}
	text, ok := r.Text(name)
	if !ok {
		c.Note = "no value"
		return c
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		c.Note = text
		if !strings.HasPrefix(text, "N/A") {
			r.Fail(name, fmt.Errorf("%q is not a count", text))
		}
		return c
	}
	c.Value = &v
	c.Saturated = counters.Reading{Value: v, Bits: c.bits()}.Saturated()
	return c
}
