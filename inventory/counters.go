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

// Counter is a counter of a port with its value at one time.
type Counter struct {
	Name string `json:"name"` // the file's name, such as port_xmit_data
	// Group is "counters" (InfiniBand PMA), "hw_counters" (driver, of the port) or
	// "device_hw_counters" (driver, of the whole device).
	Group string `json:"group"`
	Path  string `json:"path"`
	// Value is nil if the kernel has none; Note is then the content of the file ("N/A (no PMA)").
	Value *uint64 `json:"value,omitempty"`
	Note  string  `json:"note,omitempty"`
	// Saturated reports whether the counter has its highest value. The classic counters of
	// InfiniBand don't wrap around: a saturated one counts nothing until it is reset.
	Saturated bool `json:"saturated,omitempty"`
}

// classicCounters is the group of the counters that each InfiniBand port has.
const classicCounters = "counters"

// bits returns the width of a counter: for the classic counters the width in PortCounters. If the
// kernel reads PortCountersExtended instead, the value may be greater, and is never saturated.
func (c Counter) bits() int {
	if known, ok := counters.ByFile(c.Name); ok && c.Group == classicCounters {
		return known.Bits
	}
	return counters.Endless
}

// deviceCounters is the group of the counters that a driver keeps for a device.
const deviceCounters = "device_hw_counters"

// ReadCounters reads the counters of a port below root: first counters, then hw_counters, then
// those of the whole device, each group sorted by name. Reading some counters takes a firmware
// command. It returns the counters that it could read and the joined errors; a port with none of
// the folders is an error. Values are as the kernel prints them: port_xmit_data and port_rcv_data
// count units of 4 bytes, hw_counters/lifespan is in milliseconds.
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
