package cluster

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/rdmakit/rdmakit/cluster/plan"
)

// Scenario is an emulated cluster. Zero values stand for the defaults.
type Scenario struct {
	Name  string  `json:"name,omitempty"`
	Seed  uint64  `json:"seed,omitempty"`  // of noise, ECMP and faults
	Nodes int     `json:"nodes"`           // 2 to 65536
	Rails int     `json:"rails,omitempty"` // cards of a node; 0: 8
	Rate  float64 `json:"rate,omitempty"`  // of a card in Gb/s; 0: 400
	// NodesPerLeaf is the number of nodes of a group that shares leaves; 0: all.
	NodesPerLeaf int `json:"nodesPerLeaf,omitempty"`
	// LeafPerRail gives a group a leaf of each rail (rail-optimised) instead of one for all rails.
	LeafPerRail bool `json:"leafPerRail,omitempty"`
	// SubnetPerLeaf gives each leaf a subnet (a routed fabric) instead of each rail.
	SubnetPerLeaf bool `json:"subnetPerLeaf,omitempty"`
	// Uplinks is the number of links of a leaf to the spines, each of UplinkRate in Gb/s; 0: as
	// many as make a leaf's uplinks as fast as its cards. UplinkRate 0: Rate.
	Uplinks    int     `json:"uplinks,omitempty"`
	UplinkRate float64 `json:"uplinkRate,omitempty"`
	Spines     int     `json:"spines,omitempty"` // 0: as many as divide the uplinks, at most 8
	// Latency is half a round trip between two cards of a leaf in µs, and HopLatency what each
	// further switch adds; 0: 2 and 0.7.
	Latency    float64 `json:"latency,omitempty"`
	HopLatency float64 `json:"hopLatency,omitempty"`
	// Noise is the standard deviation of a measured rate; 0: 0.015, negative: none.
	Noise  float64 `json:"noise,omitempty"`
	Faults []Fault `json:"faults,omitempty"`
}

// Fault is a planted fault. Which of the fields apply depends on the kind.
type Fault struct {
	Kind Kind `json:"kind"`
	Node int  `json:"node,omitempty"`
	Rail int  `json:"rail,omitempty"`
	// Other is the second rail of exchanged rails.
	Other int `json:"other,omitempty"`
	// Leaf is a number of [Scenario.Leaves]; -1 stands for all, for faults of a leaf that may be in
	// all of them (no-pfc).
	Leaf   int `json:"leaf,omitempty"`
	Uplink int `json:"uplink,omitempty"`
	// Direction is send or receive, for faults that are in one.
	Direction Direction `json:"direction,omitempty"`
	// Severity is what the kind says: a share, a probability, a time; 0: a usual one.
	Severity float64 `json:"severity,omitempty"`
	// Loss makes a bad uplink lose packets with this probability instead of being slow.
	Loss float64 `json:"loss,omitempty"`
	// Hidden faults don't show in facts and findings, only in what is measured.
	Hidden bool `json:"hidden,omitempty"`
	// Inside is set for a slow card whose traffic with itself is slow, too.
	Inside bool `json:"inside,omitempty"`
}

// Direction is a direction of traffic, seen from a card.
type Direction string

// The directions.
const (
	Send    Direction = "send"
	Receive Direction = "receive"
)

// Limits of a scenario.
const (
	maxNodes   = 1 << 16
	maxRails   = 16
	maxUplinks = 4096
	maxSpines  = 256
	maxRate    = 1e5
)

// Parse reads a scenario from YAML or JSON, fills in the defaults and validates it. A field that
// doesn't exist is an error.
func Parse(text []byte) (Scenario, error) {
	var s Scenario
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return s, fmt.Errorf("read scenario: %w", err)
	}
	s, err := s.Complete()
	if err != nil {
		return s, fmt.Errorf("read scenario: %w", err)
	}
	return s, nil
}

// Complete returns the scenario with its defaults, or all errors, each of which names its field.
func (s Scenario) Complete() (Scenario, error) {
	s.Faults = slices.Clone(s.Faults)
	if err := s.numbers(); err != nil {
		return s, err
	}
	s.defaults()
	errs := []error{}
	if s.NodesPerLeaf > s.Nodes {
		errs = append(errs, fmt.Errorf("nodesPerLeaf: %d of %d nodes", s.NodesPerLeaf, s.Nodes))
	}
	if s.Uplinks > 0 && s.Spines > s.Uplinks {
		errs = append(errs, fmt.Errorf("spines: %d, but a leaf has %d uplinks", s.Spines, s.Uplinks))
	}
	for i := range s.Faults {
		if err := s.checkFault(&s.Faults[i]); err != nil {
			errs = append(errs, fmt.Errorf("faults[%d].%w", i, err))
		}
	}
	return s, errors.Join(errs...)
}

// numbers checks the numbers that are given.
func (s *Scenario) numbers() error {
	var errs []error
	for _, f := range []struct {
		name              string
		value, from, most float64
	}{
		{"nodes", float64(s.Nodes), 2, maxNodes},
		{"rails", float64(s.Rails), 0, maxRails},
		{"rate", s.Rate, 0, maxRate},
		{"nodesPerLeaf", float64(s.NodesPerLeaf), 0, maxNodes},
		{"uplinks", float64(s.Uplinks), 0, maxUplinks},
		{"uplinkRate", s.UplinkRate, 0, maxRate},
		{"spines", float64(s.Spines), 0, maxSpines},
		{"latency", s.Latency, 0, 1e6},
		{"hopLatency", s.HopLatency, 0, 1e6},
		{"noise", s.Noise, -1, 0.5},
	} {
		if !(f.value >= f.from && f.value <= f.most) { // NaN too
			errs = append(errs, fmt.Errorf("%s: %v is not in %v to %v", f.name, f.value, f.from, f.most))
		}
	}
	return errors.Join(errs...)
}

// The defaults.
const (
	defaultRails      = 8
	defaultRate       = 400
	defaultLatency    = 2
	defaultHopLatency = 0.7
	defaultNoise      = 0.015
	usualSpines       = 8
)

func (s *Scenario) defaults() {
	setInt := func(v *int, value int) {
		if *v == 0 {
			*v = value
		}
	}
	set := func(v *float64, value float64) {
		if *v == 0 {
			*v = value
		}
	}
	setInt(&s.Rails, defaultRails)
	set(&s.Rate, defaultRate)
	setInt(&s.NodesPerLeaf, s.Nodes)
	set(&s.UplinkRate, s.Rate)
	set(&s.Latency, defaultLatency)
	set(&s.HopLatency, defaultHopLatency)
	set(&s.Noise, defaultNoise)
	cards := s.NodesPerLeaf
	if !s.LeafPerRail {
		cards *= s.Rails
	}
	if s.Leaves() > 1 {
		setInt(&s.Uplinks, min(maxUplinks, max(1, int(math.Ceil(float64(cards)*s.Rate/s.UplinkRate)))))
	}
	if s.Spines == 0 {
		for s.Spines = min(usualSpines, max(1, s.Uplinks)); s.Uplinks%s.Spines != 0; s.Spines-- {
		}
	}
}

// Groups returns the number of groups of nodes that share leaves.
func (s *Scenario) Groups() int { return (s.Nodes + s.NodesPerLeaf - 1) / s.NodesPerLeaf }

// Leaves returns the number of leaves. Leaf number g is that of group g, or if there is one for
// each rail, number g·Rails+r that of group g and rail r.
func (s *Scenario) Leaves() int {
	if s.LeafPerRail {
		return s.Groups() * s.Rails
	}
	return s.Groups()
}

// LeafOf returns the number of the leaf of a card.
func (s *Scenario) LeafOf(node, rail int) int {
	group := node / s.NodesPerLeaf
	if s.LeafPerRail {
		return group*s.Rails + rail
	}
	return group
}

// GroupName returns the name of a group of nodes: plan.Node.Leaf.
func GroupName(group int) string { return fmt.Sprintf("leaf-%02d", group) }

// checkFault fills in the severity of a fault and checks its fields.
func (s *Scenario) checkFault(f *Fault) error {
	p, ok := properties(f.Kind)
	if !ok {
		return fmt.Errorf("kind: unknown kind %q (there are %v)", f.Kind, Kinds())
	}
	if f.Severity == 0 {
		f.Severity = p.usual
	}
	switch {
	case !(f.Severity >= p.least && f.Severity <= p.most):
		return fmt.Errorf("severity: %v of %s is not in %v to %v", f.Severity, f.Kind, p.least, p.most)
	case p.directed && f.Direction != Send && f.Direction != Receive:
		return fmt.Errorf("direction: %s needs send or receive", f.Kind)
	case !p.directed && f.Direction != "":
		return fmt.Errorf("direction: %s has none", f.Kind)
	case f.Hidden && !p.hidden:
		return fmt.Errorf("hidden: %s can't be hidden", f.Kind)
	case f.Inside && !p.inside:
		return fmt.Errorf("inside: %s can't be inside", f.Kind)
	case f.Loss != 0 && (f.Kind != BadUplink || !(f.Loss > 0 && f.Loss <= 0.5)):
		return fmt.Errorf("loss: %v of %s: only bad-uplink has one, up to 0.5", f.Loss, f.Kind)
	}
	return s.checkPlace(f, p.place)
}

// checkPlace checks that a fault is in something that exists.
func (s *Scenario) checkPlace(f *Fault, place Place) error {
	if place == PlaceNode || place == PlaceCard {
		if f.Node < 0 || f.Node >= s.Nodes {
			return fmt.Errorf("node: %d is not in 0 to %d", f.Node, s.Nodes-1)
		}
	}
	if place == PlaceCard || f.Kind == ExchangedRails {
		if f.Rail < 0 || f.Rail >= s.Rails {
			return fmt.Errorf("rail: %d is not in 0 to %d", f.Rail, s.Rails-1)
		}
	}
	if f.Kind == ExchangedRails && (f.Other < 0 || f.Other >= s.Rails || f.Other == f.Rail) {
		return fmt.Errorf("other: %d is not another rail in 0 to %d", f.Other, s.Rails-1)
	}
	if f.Kind == ExchangedRails && f.Hidden && (!s.LeafPerRail || s.SubnetPerLeaf) {
		return errors.New("hidden: exchanged rails need a leaf of each rail, in one subnet")
	}
	if place == PlaceCard || place == PlaceNode {
		return nil
	}
	if f.Kind != NoPFC && s.Leaves() < 2 {
		return fmt.Errorf("kind: %s needs two leaves, and there is one", f.Kind)
	}
	first := 0
	if f.Kind == NoPFC {
		first = -1
	}
	if f.Leaf < first || f.Leaf >= s.Leaves() {
		return fmt.Errorf("leaf: %d is not in %d to %d", f.Leaf, first, s.Leaves()-1)
	}
	if place == PlaceUplink && (f.Uplink < 0 || f.Uplink >= s.Uplinks) {
		return fmt.Errorf("uplink: %d is not in 0 to %d", f.Uplink, s.Uplinks-1)
	}
	return nil
}

// Cluster returns the nodes and cards as a plan needs them.
func (s *Scenario) Cluster() plan.Cluster {
	c := plan.Cluster{Nodes: make([]plan.Node, s.Nodes)}
	for i := range c.Nodes {
		n := plan.Node{Name: fmt.Sprintf("gpu-%03d", i), Leaf: GroupName(i / s.NodesPerLeaf)}
		for r := range s.Rails {
			n.Rails = append(n.Rails, plan.Card{Rail: r, Device: fmt.Sprintf("mlx5_%d:1", r), Gbps: s.Rate})
		}
		c.Nodes[i] = n
	}
	return c
}
