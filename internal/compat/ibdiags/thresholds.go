package ibdiags

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// thresholdFile is the default of --threshold-file.
const thresholdFile = "/etc/infiniband-diags/error_thresholds"

// errorCounter is a counter that ibqueryerrors compares with a threshold.
type errorCounter struct {
	name     string
	classic  func(c *mad.PortCounters) uint64
	extended func(c *mad.PortCountersExtended) uint64
}

// errorCounters are in the order in which ibqueryerrors prints them.
func errorCounters() []errorCounter {
	type pc = mad.PortCounters
	type xc = mad.PortCountersExtended
	return []errorCounter{
		{"SymbolErrorCounter", func(c *pc) uint64 { return uint64(c.SymbolErrorCounter) }, func(c *xc) uint64 {
			return c.SymbolErrorCounter
		}},
		{
			"LinkErrorRecoveryCounter", func(c *pc) uint64 { return uint64(c.LinkErrorRecoveryCounter) },
			func(c *xc) uint64 { return c.LinkErrorRecoveryCounter },
		},
		{"LinkDownedCounter", func(c *pc) uint64 { return uint64(c.LinkDownedCounter) }, func(c *xc) uint64 {
			return c.LinkDownedCounter
		}},
		{"PortRcvErrors", func(c *pc) uint64 { return uint64(c.PortRcvErrors) }, func(c *xc) uint64 {
			return c.PortRcvErrors
		}},
		{
			"PortRcvRemotePhysicalErrors", func(c *pc) uint64 { return uint64(c.PortRcvRemotePhysicalErrors) },
			func(c *xc) uint64 { return c.PortRcvRemotePhysicalErrors },
		},
		{relayErrors, func(c *pc) uint64 { return uint64(c.PortRcvSwitchRelayErrors) }, func(c *xc) uint64 {
			return c.PortRcvSwitchRelayErrors
		}},
		{xmitDiscards, func(c *pc) uint64 { return uint64(c.PortXmitDiscards) }, func(c *xc) uint64 {
			return c.PortXmitDiscards
		}},
		{
			"PortXmitConstraintErrors", func(c *pc) uint64 { return uint64(c.PortXmitConstraintErrors) },
			func(c *xc) uint64 { return c.PortXmitConstraintErrors },
		},
		{
			"PortRcvConstraintErrors", func(c *pc) uint64 { return uint64(c.PortRcvConstraintErrors) },
			func(c *xc) uint64 { return c.PortRcvConstraintErrors },
		},
		{
			"LocalLinkIntegrityErrors", func(c *pc) uint64 { return uint64(c.LocalLinkIntegrityErrors) },
			func(c *xc) uint64 { return c.LocalLinkIntegrityErrors },
		},
		{
			"ExcessiveBufferOverrunErrors", func(c *pc) uint64 { return uint64(c.ExcessiveBufferOverrunErrors) },
			func(c *xc) uint64 { return c.ExcessiveBufferOverrunErrors },
		},
		{"VL15Dropped", func(c *pc) uint64 { return uint64(c.VL15Dropped) }, func(c *xc) uint64 {
			return c.VL15Dropped
		}},
		{xmitWait, func(c *pc) uint64 { return uint64(c.PortXmitWait) }, func(c *xc) uint64 { return c.PortXmitWait }},
	}
}

const (
	relayErrors  = "PortRcvSwitchRelayErrors"
	xmitDiscards = "PortXmitDiscards"
	rcvErrors    = "PortRcvErrors"
	xmitWait     = "PortXmitWait"
)

// suppressible reports whether -s accepts a name: the names of PortCounters' fields.
func suppressible(name string) bool {
	switch name {
	case "PortSelect", "CounterSelect", "CounterSelect2", "PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts":
		return true
	}
	for _, c := range errorCounters() {
		if c.name == name {
			return true
		}
	}
	return false
}

// thresholds holds the values that counters must exceed to be printed, by name, and their text in
// the summary.
type thresholds struct {
	values map[string]uint64
	text   string
}

// readThresholds reads "name=value" lines. If the file can't be read, all thresholds stay 0, as in
// C, which then prints a null pointer.
func (r *run) readThresholds(file string) thresholds {
	t := thresholds{values: map[string]uint64{}, text: "(null)"}
	text, err := r.ReadFile(file)
	if err != nil {
		return t
	}
	t.text = "Thresholds: "
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimLeft(line, "="), "=")
		if !ok {
			r.errorf("%s: %s: line %q is not name=value\n", r.Name, file, line)
			continue
		}
		for _, c := range errorCounters() {
			if c.name == name {
				v, _ := clib.Strtoul(value, 0)
				t.values[name] = v
				t.text += fmt.Sprintf("[%s = %d]", name, v)
			}
		}
	}
	return t
}

// human formats a count in units of 1024, in single precision as in C: 14.625 and "K". Data
// counters count units of 4 bytes.
func human(value uint64, data bool) string {
	step, div := 0, uint64(1)
	for rest := value / 1024; rest != 0; rest /= 1024 {
		step++
		div *= 1024
	}
	v := float32(value)
	if data {
		v *= 4
		if v/float32(div) > 1024 {
			step++
			div *= 1024
		}
	}
	units := [...]string{"", "K", "M", "G", "T", "P", "E", ""}
	unit := units[min(step, len(units)-1)]
	if data {
		unit += "B"
	}
	return fmt.Sprintf("%5.3f%s", v/float32(div), unit)
}
