package checks_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/counters"
)

// span is the time between the two readings of most tests.
const span = 10 * time.Second

// two are two readings of a counter. A value of gone stands for a reading that failed.
type two struct {
	group, name   string
	before, after uint64
}

const gone = 1<<64 - 1

// counterCase is a case of a rule on one counter, with an interval.
func counterCase(
	number int, id, tree, object, group, counter string, before, good, bad uint64, want doctor.Outcome,
) numberCase {
	with := func(after uint64) change {
		return readings(readingsOf(object, span, two{group, counter, before, after}))
	}
	return numberCase{
		number: number, id: id, tree: tree, pass: with(good), find: with(bad),
		unknown: recorded(facts.Facts{Rates: failed[facts.Rates]()}), want: want, object: object,
		without: doctor.OutcomeUnknown,
	}
}

// readings records two readings of objects.
func readings(list ...facts.Readings) change {
	return recorded(facts.Facts{Rates: known(ratesOf(list...))})
}

func ratesOf(list ...facts.Readings) facts.Rates {
	r := facts.Rates{Interval: span}
	for _, o := range list {
		switch {
		case strings.Count(o.Object, ":") == 2:
			r.PCI = append(r.PCI, o)
		case strings.Contains(o.Object, ":"):
			r.Ports = append(r.Ports, o)
		default:
			r.Netdevs = append(r.Netdevs, o)
		}
	}
	return r
}

func portReadings(object string, list ...two) facts.Readings {
	return readingsOf(object, span, list...)
}

func netReadings(object string, list ...two) facts.Readings { return readingsOf(object, span, list...) }

func readingsOf(object string, elapsed time.Duration, list ...two) facts.Readings {
	from := time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)
	r := facts.Readings{Object: object, From: from, To: from.Add(elapsed), Elapsed: elapsed}
	counter := func(t two, v uint64) inventory.Counter {
		c := inventory.Counter{Name: t.name, Group: t.group, Value: &v}
		switch t.group {
		case facts.CountersEthtool:
			c.Path = "ethtool:" + object + ":" + t.name
		case facts.CountersNetdev:
			c.Path = "/sys/class/net/" + object + "/" + t.name
		case facts.CountersAER:
			c.Path = "/sys/bus/pci/devices/" + object + "/" + t.name
		default:
			dev, number, _ := strings.Cut(object, ":")
			c.Path = fmt.Sprintf("/sys/class/infiniband/%s/ports/%s/%s/%s", dev, number, t.group, t.name)
			if known, ok := counters.ByFile(t.name); ok && t.group == "counters" {
				c.Saturated = counters.Reading{Value: v, Bits: known.Bits}.Saturated()
			}
		}
		return c
	}
	for _, t := range list {
		if t.before != gone {
			r.Before = append(r.Before, counter(t, t.before))
		}
		if t.after != gone {
			r.After = append(r.After, counter(t, t.after))
		}
	}
	return r
}

// failEight lets a file of the ports of eight devices fail.
func failEight(file string, errno syscall.Errno) change {
	return func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		for i := range 8 {
			fail(fmt.Sprintf("sys/class/infiniband/mlx5_%d/ports/1/%s", i, file), errno)(t, tree)
		}
	}
}
