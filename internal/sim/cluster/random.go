package cluster

import (
	"math"
	"math/rand/v2"
)

// Sizes of random scenarios.
const (
	leastNodes = 8
	mostNodes  = 128
	mostFaults = 5
)

// Random returns the scenario of a seed: 8 to 128 nodes and 0 to 5 faults of any kind.
//
// The number of nodes is uniform in its logarithm, so that small clusters, where there are few
// peers to compare with, are as frequent as large ones. Every kind is as likely as any other. A
// fault is left out, and another one drawn, only if no measurement could tell it from its absence
// or from a fault elsewhere:
//
//   - A card has one fault, and a card of a node that never answers, vanishes or is slow as a whole
//     has none. Nor has a node both jitter and pauses, or two of a kind.
//   - A card's traffic in one class or without flow control in its leaf is not planted twice: no
//     wrong class in a leaf without PFC.
//   - A leaf has one fault, and none but missing PFC if the spines are oversubscribed, which limits
//     its uplinks more.
//   - Faults of uplinks need three groups of nodes: between two, all traffic passes the
//     uplinks of both, and none shows which ones are bad. A leaf with half of its uplinks has more
//     nodes than these carry: the last group may have few.
//   - Faults that are a difference from other cards (class, firmware, MTU, partition, type of GID)
//     are in less than a quarter of a rail.
func Random(seed uint64) Scenario {
	rng := rand.New(rand.NewPCG(seed, 0x5ce9a210))
	s := healthy(seed, rng)
	s.plantRandom(rng, rng.IntN(mostFaults+1), func(*Fault) {})
	return s
}

// plantRandom plants a number of faults, each changed by a function.
func (s *Scenario) plantRandom(rng *rand.Rand, faults int, change func(*Fault)) {
	for range faults {
		const tries = 200
		for range tries {
			f := s.randomFault(rng)
			change(&f)
			if !s.hides(f) {
				s.Faults = append(s.Faults, f)
				break
			}
		}
	}
}

// RandomPackets returns the scenario of a seed for a [Network]: two rails, 9 to 16 nodes in groups
// of four, and 1 to 4 faults by the rules of [Random]. A round has some hundred packets of a card
// there and not millions, so packets are lost and damaged more often (1 to 5 %), links flap in a
// tenth of the time or more, and hosts pause at least every half second.
func RandomPackets(seed uint64) Scenario {
	rng := rand.New(rand.NewPCG(seed, 0x9ac4e75))
	const least, most, faults, rate = 9, 16, 4, 400
	s, err := Scenario{
		Seed: seed, Nodes: least + rng.IntN(most-least+1), Rails: 2, NodesPerLeaf: 4, LeafPerRail: rng.IntN(2) == 0,
		Rate: rate, UplinkRate: 2 * rate,
	}.Complete()
	if err != nil {
		panic("random scenario: " + err.Error()) // all within the limits
	}
	s.plantRandom(rng, 1+rng.IntN(faults), func(f *Fault) {
		switch f.Kind {
		case LossyCable, LossyOneWay, BitErrors:
			f.Severity = logUniform(rng, 0.01, 0.05)
		case BadUplink:
			if f.Loss > 0 {
				f.Loss = logUniform(rng, 0.02, 0.1)
			}
		case FlappingLink:
			f.Severity = 0.1 + 0.2*rng.Float64()
		case PausingHost:
			f.Severity = logUniform(rng, 0.1, 0.5)
		}
	})
	return s
}

// RandomBad returns a cluster of the given size, rail-optimised with 32 nodes to a leaf, of which a
// share of the nodes has a fault of a card or node, by the rules of [Random].
func RandomBad(seed uint64, nodes, rails int, share float64) (Scenario, error) {
	rng := rand.New(rand.NewPCG(seed, 0xbad))
	const perLeaf = 32
	s, err := Scenario{
		Seed: seed, Nodes: nodes, Rails: rails, NodesPerLeaf: min(nodes, perLeaf), LeafPerRail: true,
	}.Complete()
	if err != nil {
		return s, err
	}
	bad := rng.Perm(nodes)[:int(float64(nodes)*share)]
	for len(bad) > 0 {
		f := s.randomFault(rng)
		if f.Node = bad[0]; inNode(PlaceOf(f.Kind)) && !s.hides(f) {
			s.Faults = append(s.Faults, f)
			bad = bad[1:]
		}
	}
	return s, nil
}

// Healthy returns the scenario of a seed without faults.
func Healthy(seed uint64) Scenario { return healthy(seed, rand.New(rand.NewPCG(seed, 0x5ce9a210))) }

func healthy(seed uint64, rng *rand.Rand) Scenario {
	s := Scenario{
		Seed: seed, Nodes: int(math.Round(logUniform(rng, leastNodes, mostNodes))),
		Rails: pick(rng, 1, 2, 4, 8), Rate: pick(rng, 100.0, 200, 400), LeafPerRail: rng.IntN(2) == 0,
		SubnetPerLeaf: rng.IntN(2) == 0,
		Noise:         0.01 + 0.01*rng.Float64(), //nolint:mnd // 1 to 2 %
	}
	s.NodesPerLeaf = min(s.Nodes, pick(rng, 4, 4, 8, 8, 16, 32))
	s, err := s.Complete()
	if err != nil {
		panic("random scenario: " + err.Error()) // the ranges above are within the limits
	}
	return s
}

func pick[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

func logUniform(rng *rand.Rand, from, to float64) float64 {
	return from * math.Exp(rng.Float64()*math.Log(to/from))
}

func (s *Scenario) randomFault(rng *rand.Rand) Fault {
	kinds := Kinds()
	f := Fault{Kind: kinds[rng.IntN(len(kinds))]}
	p, _ := properties(f.Kind)
	f.Severity = p.usual
	switch p.place {
	case PlaceCard:
		f.Node, f.Rail = rng.IntN(s.Nodes), rng.IntN(s.Rails)
	case PlaceNode:
		f.Node = rng.IntN(s.Nodes)
	case PlaceLeaf, PlaceUplink:
		f.Leaf = rng.IntN(s.Leaves())
		if s.Uplinks > 0 {
			f.Uplink = rng.IntN(s.Uplinks)
		}
	case PlaceFabric:
	}
	if p.directed {
		f.Direction = pick(rng, Send, Receive)
	}
	f.Inside = p.inside && rng.IntN(2) == 0
	f.Hidden = p.hidden && rng.IntN(2) == 0
	s.randomSeverity(rng, &f)
	return f
}

// randomSeverity draws the severity of a fault.
func (s *Scenario) randomSeverity(rng *rand.Rand, f *Fault) {
	switch f.Kind {
	case SlowCard, SlowOneWay, SlowNode:
		// Cards that are slow and not dead lose from a part to most of their rate (Gunawi et al.,
		// Fail-Slow at Scale, FAST 2018, section 3.3); what loses more fails outright.
		f.Severity = 0.15 + 0.45*rng.Float64()
	case LossyCable, LossyOneWay:
		f.Severity = logUniform(rng, 1e-4, 1e-2)
	case BitErrors:
		// Corruption in data centers reaches from 1e-8 to above 1e-3 (Zhuo et al., Understanding
		// and Mitigating Packet Corruption in Data Center Networks, SIGCOMM 2017, table 1).
		f.Severity = logUniform(rng, 1e-5, 1e-2)
	case DyingNode:
		f.Severity = 0.2 + 0.6*rng.Float64()
	case JitteryHost:
		f.Severity = logUniform(rng, 20, 200)
	case PausingHost:
		// CFS bandwidth control stops a group for the rest of each period of 100 ms; collectors and
		// firmware stop it less often.
		f.Severity = logUniform(rng, 0.1, 1)
	case WrongMTU:
		f.Severity = pick(rng, 1024.0, 2048)
	case ExchangedRails:
		if s.Rails > 1 {
			f.Rail = rng.IntN(s.Rails)
			f.Other = (f.Rail + 1 + rng.IntN(s.Rails-1)) % s.Rails
		}
		f.Hidden = f.Hidden && s.LeafPerRail && !s.SubnetPerLeaf
	case BadUplink:
		f.Severity = 0.5 + 0.45*rng.Float64()
		if rng.IntN(2) == 0 {
			f.Loss = logUniform(rng, 1e-3, 5e-2)
		}
	case Oversubscribed:
		f.Severity = pick(rng, 1.5, 2.0, 3, 4)
	case NoPFC:
		if rng.IntN(3) == 0 {
			f.Leaf = -1
		}
	case FlappingLink:
		// Links that flap are down for seconds (Jiang et al., MegaScale, NSDI 2024, section 6.3).
		f.Severity = 0.1 + 0.2*rng.Float64()
	case WrongClock:
		f.Severity = logUniform(rng, 1, 3600) * pick(rng, -1.0, 1)
	}
}

// hides reports whether a fault can't be seen beside those of the scenario, or hides one of them.
// See [Random] for the rules.
func (s *Scenario) hides(f Fault) bool {
	place := PlaceOf(f.Kind)
	switch f.Kind {
	case ExchangedRails:
		if s.Rails < 2 || s.Leaves() < 2 && f.Hidden {
			return true
		}
	case HalfUplinks:
		if s.Groups() < 3 || s.carries(f.Leaf, f.Severity) {
			return true
		}
	case BadUplink:
		if s.Groups() < 3 {
			return true
		}
	case Oversubscribed:
		if s.Groups() < 2 {
			return true
		}
	}
	same := 0
	for _, g := range s.Faults {
		if s.clash(f, g) || s.clash(g, f) {
			return true
		}
		if g.Kind == f.Kind && g.Rail == f.Rail {
			same++
		}
	}
	return comparesCards(f.Kind) && place == PlaceCard && 4*(same+1) >= s.Nodes
}

// carries reports whether a leaf carries all that its cards can send, though a share of its uplinks
// is missing.
func (s *Scenario) carries(leaf int, missing float64) bool {
	group, cards := leaf, s.Rails
	if s.LeafPerRail {
		group, cards = leaf/s.Rails, 1
	}
	cards *= min(s.NodesPerLeaf, s.Nodes-group*s.NodesPerLeaf)
	return float64(cards)*s.Rate <= float64(s.Uplinks)*(1-missing)*s.UplinkRate
}

// comparesCards reports whether a kind is a difference from the other cards.
func comparesCards(k Kind) bool {
	switch k {
	case WrongClass, OtherFirmware, WrongMTU, WrongPKey, OtherGIDType:
		return true
	}
	return false
}

// clash reports whether f hides g, for one of the two orders.
func (s *Scenario) clash(f, g Fault) bool {
	a, b := PlaceOf(f.Kind), PlaceOf(g.Kind)
	sameNode := f.Node == g.Node
	switch {
	case f.Kind == g.Kind && a == PlaceFabric:
		return true
	case a == PlaceFabric && (b == PlaceUplink || g.Kind == HalfUplinks):
		return true
	case inLeaf(a) && inLeaf(b):
		return f.Leaf == g.Leaf || f.Kind == NoPFC && g.Kind == NoPFC && min(f.Leaf, g.Leaf) < 0
	case f.Kind == NoPFC && g.Kind == WrongClass:
		return f.Leaf < 0 || f.Leaf == s.LeafOf(g.Node, g.Rail)
	case !inNode(a) || !inNode(b) || !sameNode:
		return false
	case f.Kind == DeadNode, f.Kind == DyingNode:
		return true
	case a == PlaceCard && b == PlaceCard:
		return f.Rail == g.Rail
	case f.Kind == ExchangedRails && b == PlaceCard:
		return f.Rail == g.Rail || f.Other == g.Rail
	case f.Kind == SlowNode:
		return b == PlaceCard || g.Kind == SlowNode
	case f.Kind == g.Kind:
		return true
	}
	return f.Kind == JitteryHost && g.Kind == PausingHost
}

func inLeaf(p Place) bool { return p == PlaceLeaf || p == PlaceUplink }
func inNode(p Place) bool { return p == PlaceNode || p == PlaceCard }
