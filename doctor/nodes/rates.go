package nodes

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// rate is a quantity of a port between two readings of its counters.
type rate struct {
	port  string
	value float64
	path  string
}

const (
	// maxScore is the distance from the median, in robust standard deviations, up to which a rate
	// is usual (B. Iglewicz, D. Hoaglin, "How to Detect and Handle Outliers", 1993, use 3.5; a
	// cluster has many ports).
	maxScore = 5
	// fewestRates are needed to tell what is usual.
	fewestRates = 5
	// usualRate is the value of all rates that are not outliers.
	usualRate = "usual"
)

func rateComparisons() []Comparison {
	return []Comparison{
		{
			Check: consensus.Check{
				ID: "bit-errors", Severity: consensus.SeveritySlows, What: "rate of corrected bit errors of the link",
				Why: "a link with far more bit errors than the others loses packets first: its cable, module or " +
					"connector is the worst of all",
				Remedy: "clean or replace the cable of the odd rail before it fails: ethtool -m NETDEV, " +
					"rdmactl doctor --only bit-errors --interval 1m",
			},
			Numbers: []int{29}, Facts: []facts.Kind{facts.KindRates},
			rates: bitErrors, least: 1e-7,
		},
		{
			Check: consensus.Check{
				ID: "cnp-handled", Severity: consensus.SeverityNote, What: "rate of congestion notifications handled",
				Why: "one rail that is slowed down more often than the others has congestion on its way: several " +
					"flows on one uplink, or a slow receiver",
				Remedy: "look at the paths of the odd rail in the network: ECMP, the uplinks of its switch",
			},
			Numbers: []int{46}, Facts: []facts.Kind{facts.KindRates},
			rates: notifications, least: 10,
		},
	}
}

// bitErrors returns the corrected bits of a link over those that it carried.
func bitErrors(n Node) []rate {
	return ofRates(n, func(d *inventory.Device, p *inventory.Port) (v float64, path string, ok bool) {
		r := n.Facts.Rates.Value.Of(p.Netdev)
		dev := n.Snapshot.Netdev(p.Netdev)
		if r == nil || dev == nil || r.Elapsed <= 0 {
			return 0, "", false
		}
		errors, path, ok := increase(r, facts.CountersEthtool, "rx_corrected_bits_phy", "rx_corrected_bits")
		bits, _, known := increase(r, facts.CountersEthtool, "rx_bits_phy")
		if !known && dev.SpeedMbps != nil {
			bits = float64(*dev.SpeedMbps) * 1e6 * r.Elapsed.Seconds()
		}
		return errors / bits, path, ok && bits > 0
	})
}

// notifications returns the congestion notifications that a port handled in a second.
func notifications(n Node) []rate {
	return ofRates(n, func(d *inventory.Device, p *inventory.Port) (v float64, path string, ok bool) {
		r := n.Facts.Rates.Value.Of(portName(d, p))
		if r == nil || r.Elapsed <= 0 {
			return 0, "", false
		}
		count, path, ok := increase(r, "hw_counters", "rp_cnp_handled", "cnpHandled")
		return count * float64(time.Second) / float64(r.Elapsed), path, ok
	})
}

// ofRates returns the rates of the ports that have one.
func ofRates(
	n Node, of func(*inventory.Device, *inventory.Port) (v float64, path string, ok bool),
) []rate {
	if n.Facts == nil || !n.Facts.Rates.Known() {
		return nil
	}
	var out []rate
	for d, p := range netdevPorts(n.Snapshot) {
		if v, path, ok := of(d, p); ok {
			out = append(out, rate{portName(d, p), v, path})
		}
	}
	return out
}

// increase returns by how much a counter rose, that of the first name that the object has. One that
// was reset or is saturated has no increase.
func increase(r *facts.Readings, group string, names ...string) (n float64, path string, ok bool) {
	for _, name := range names {
		for _, c := range inventory.Changes(r.Before, r.After, r.Elapsed) {
			if c.Counter.Name == name && c.Counter.Group == group {
				if c.Delta == nil || c.AtLeast {
					return 0, "", false
				}
				return float64(*c.Delta), c.Counter.Path, true
			}
		}
	}
	return 0, "", false
}

// compareRates returns the values of each node: a rate far above the median of all nodes' is
// different, all others are alike. Fewer than five rates give none.
func (c *Comparison) compareRates(list []Node) [][]consensus.Value {
	all := make([][]rate, len(list))
	var values []float64
	for i, n := range list {
		all[i] = c.rates(n)
		for _, r := range all[i] {
			values = append(values, r.value)
		}
	}
	out := make([][]consensus.Value, len(list))
	if len(values) < fewestRates {
		return out
	}
	middle, spread := robust(values)
	spread = max(spread, c.least)
	for i, rates := range all {
		for _, r := range rates {
			v := consensus.Value{Port: r.port, Value: usualRate, Path: r.path, Text: fmt.Sprintf("%.2g", r.value)}
			if r.value-middle > maxScore*spread {
				v.Value = fmt.Sprintf("%.2g, where the median is %.2g", r.value, middle)
			}
			out[i] = append(out[i], v)
		}
	}
	return out
}

// robust returns the median of values and their robust standard deviation: 1.4826 times the median
// of the distances from the median.
func robust(values []float64) (middle, deviation float64) {
	middle = median(values)
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = math.Abs(v - middle)
	}
	return middle, 1.4826 * median(distances)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
