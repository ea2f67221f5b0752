package fabric

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// linkCounters are the error counters at the ends of a link, as far as the topology has them.
type linkCounters struct {
	// Read are the ends whose counters were read: a, b.
	Read []string `json:"read"`
	// NotZero are the error counters with a default threshold (see errors) that are above it.
	NotZero []endCounter   `json:"notZero"`
	Suspect fabric.Suspect `json:"suspect,omitempty"`
}

// endCounter is a counter at an end of a link.
type endCounter struct {
	At    string `json:"at"` // a or b
	Name  string `json:"name"`
	Value uint64 `json:"value"`
	// Saturated is true if the counter has stopped at its maximum.
	Saturated bool `json:"saturated,omitempty"`
}

// noneCounted is the cell of a link whose counters were read and are 0.
const noneCounted = "none"

// endNames are the names of the ends of a link in documents, by index.
func endNames() []string { return []string{"a", "b"} }

// countersOf returns the error counters at the ends of a link, nil if none were read. The second
// end may be unknown, the zero value.
func countersOf(t *fabric.Topology, a, b fabric.PortID) *linkCounters {
	limits := fabric.DefaultThresholds()
	c := linkCounters{Read: []string{}, NotZero: []endCounter{}}
	var names [2][]string
	for i, id := range []fabric.PortID{a, b} {
		n := t.Node(id.Node)
		if n == nil {
			continue
		}
		readings := n.Readings(id.Port)
		if readings == nil {
			continue
		}
		c.Read = append(c.Read, endNames()[i])
		for _, r := range readings {
			if limits.Exceeded(r) {
				names[i] = append(names[i], r.Name)
				c.NotZero = append(c.NotZero, endCounter{endNames()[i], r.Name, r.Value, r.Saturated()})
			}
		}
	}
	if len(c.Read) == 0 {
		return nil
	}
	c.Suspect = fabric.SuspectOf(names[0], names[1])
	return &c
}

// cell lists the counters by end: "host1[1]: SymbolErrorCounter 321".
func (c *linkCounters) cell(a, b *fabricEnd) output.Cell {
	if c == nil {
		return output.Plain("not read")
	}
	var list []string
	for i, end := range []*fabricEnd{a, b} {
		var counters []string
		for _, one := range c.NotZero {
			if one.At == endNames()[i] {
				counters = append(counters, one.Name+" "+bound(one.Saturated)+strconv.FormatUint(one.Value, 10))
			}
		}
		if len(counters) > 0 && end != nil {
			list = append(list, fmt.Sprintf("%s: %s", end, strings.Join(counters, ", ")))
		}
	}
	switch {
	case len(list) > 0:
		return output.Bad(strings.Join(list, "; "))
	case len(c.Read) < len(endNames()):
		return output.Plain("none at the end that was read")
	}
	return output.Good(noneCounted)
}
