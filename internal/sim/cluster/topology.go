package cluster

import "math"

// ends are the hops of a card, by the number of the card.
const (
	hopSend    = iota // the card's port, outwards
	hopReceive        // the card's port, inwards
	hopRead           // PCIe, what the card reads from memory to send it
	hopWrite          // PCIe, what it writes to memory
	hopsOfCard
)

// topology are the hops of a cluster: those of the cards, two of each node, two of each uplink and
// one of each spine.
type topology struct {
	s        *Scenario
	capacity []float64 // of each hop, in Gb/s of payload
	// loss and damage are probabilities of a packet, and lossy reports whether a hop drops packets
	// when it is congested instead of pausing its senders.
	loss, damage []float64
	lossy        []bool
	leaf         [][]int // by node and rail
	alive        []int   // uplinks of a leaf: the first ones
	spine        bool    // the spines limit
}

// A frame of RoCE v2 on Ethernet: preamble and gap 20 bytes, header and checksum 18, IP 20, UDP 8,
// BTH 12, ICRC 4; the RETH of the first packet of a WRITE of 64 KiB doesn't matter.
const frameOverhead = 82

// payload returns the share of a link's rate that is payload at an MTU.
func payload(mtu float64) float64 { return mtu / (mtu + frameOverhead) }

const (
	usualMTU = 4096
	// pcieHeadroom is what a slot carries by the rate of its card: 16 lanes of generation 5 are 504
	// Gb/s after line coding, of which about 90 % are data with requests of 256 bytes (Neugebauer
	// et al., Understanding PCIe Performance for End Host Networking, SIGCOMM 2018, section 3).
	// Slots of cards with 100 and 200 Gb/s have the same ratio (generations 3 and 4).
	pcieHeadroom = 504.0 / 400 * 0.9
	unlimited    = 1e12
)

func newTopology(s *Scenario) *topology {
	t := &topology{s: s}
	cards := s.Nodes * s.Rails
	hops := cards*hopsOfCard + 2*s.Nodes + 2*s.Leaves()*s.Uplinks + s.Spines
	t.capacity, t.loss, t.damage = make([]float64, hops), make([]float64, hops), make([]float64, hops)
	t.lossy = make([]bool, hops)
	line := s.Rate * payload(usualMTU)
	for c := range cards {
		h := t.capacity[c*hopsOfCard:]
		h[hopSend], h[hopReceive] = line, line
		h[hopRead], h[hopWrite] = s.Rate*pcieHeadroom, s.Rate*pcieHeadroom
	}
	for n := range s.Nodes {
		t.capacity[t.node(n, Send)], t.capacity[t.node(n, Receive)] = unlimited, unlimited
	}
	for l := range s.Leaves() {
		t.alive = append(t.alive, s.Uplinks)
		for u := range s.Uplinks {
			t.capacity[t.uplink(l, u, Send)] = s.UplinkRate * payload(usualMTU)
			t.capacity[t.uplink(l, u, Receive)] = s.UplinkRate * payload(usualMTU)
		}
	}
	for i := range s.Spines {
		t.capacity[hops-s.Spines+i] = unlimited
	}
	for n := range s.Nodes {
		list := make([]int, s.Rails)
		for r := range list {
			list[r] = s.LeafOf(n, r)
		}
		t.leaf = append(t.leaf, list)
	}
	for i := range s.Faults {
		t.plant(&s.Faults[i])
	}
	return t
}

func (t *topology) card(node, rail, which int) int32 {
	return int32((node*t.s.Rails+rail)*hopsOfCard + which)
}

func (t *topology) node(node int, d Direction) int32 {
	i := t.s.Nodes*t.s.Rails*hopsOfCard + 2*node
	if d == Receive {
		i++
	}
	return int32(i)
}

// uplink returns the hop of an uplink: what the leaf sends to the spine, or receives.
func (t *topology) uplink(leaf, number int, d Direction) int32 {
	i := t.s.Nodes*(t.s.Rails*hopsOfCard+2) + 2*(leaf*t.s.Uplinks+number)
	if d == Receive {
		i++
	}
	return int32(i)
}

func (t *topology) spineHop(number int) int32 {
	return int32(len(t.capacity) - t.s.Spines + number)
}

// plant changes what a fault changes of the hops.
func (t *topology) plant(f *Fault) {
	scale := func(hop int32, by float64) { t.capacity[hop] *= by }
	send, receive := t.card(f.Node, f.Rail, hopSend), t.card(f.Node, f.Rail, hopReceive)
	switch f.Kind {
	case SlowCard:
		t.slow(f, Send)
		t.slow(f, Receive)
	case SlowOneWay:
		t.slow(f, f.Direction)
	case SlowNode:
		all := t.s.Rate * payload(usualMTU) * float64(t.s.Rails) * (1 - f.Severity)
		t.capacity[t.node(f.Node, Send)], t.capacity[t.node(f.Node, Receive)] = all, all
	case HalfPCIe:
		scale(t.card(f.Node, f.Rail, hopRead), 0.5)
		scale(t.card(f.Node, f.Rail, hopWrite), 0.5)
	case LossyCable:
		t.loss[send], t.loss[receive] = f.Severity, f.Severity
	case LossyOneWay:
		if f.Direction == Send {
			t.loss[send] = f.Severity
		} else {
			t.loss[receive] = f.Severity
		}
	case BitErrors:
		t.damage[send], t.damage[receive] = f.Severity, f.Severity
	case ExchangedRails:
		l := t.leaf[f.Node]
		l[f.Rail], l[f.Other] = l[f.Other], l[f.Rail]
	default:
		t.plantFabric(f)
	}
}

// slow makes a card slow in a direction.
func (t *topology) slow(f *Fault, d Direction) {
	port, bus := hopSend, hopRead
	if d == Receive {
		port, bus = hopReceive, hopWrite
	}
	rate := t.s.Rate * payload(usualMTU) * (1 - f.Severity)
	t.capacity[t.card(f.Node, f.Rail, port)] = rate
	if f.Inside {
		t.capacity[t.card(f.Node, f.Rail, bus)] = rate
	}
}

// plantFabric changes what faults of leaves and spines change.
func (t *topology) plantFabric(f *Fault) {
	switch f.Kind {
	case HalfUplinks:
		t.alive[f.Leaf] = max(1, int(math.Round(float64(t.s.Uplinks)*(1-f.Severity))))
	case BadUplink:
		for _, d := range []Direction{Send, Receive} {
			h := t.uplink(f.Leaf, f.Uplink, d)
			if f.Loss > 0 {
				t.loss[h] = f.Loss
			} else {
				t.capacity[h] *= 1 - f.Severity
			}
		}
	case Oversubscribed:
		t.spine = true
		for i := range t.s.Spines {
			all := float64(t.s.Leaves()*t.s.Uplinks/t.s.Spines) * t.s.UplinkRate * payload(usualMTU)
			t.capacity[t.spineHop(i)] = all / f.Severity
		}
	case NoPFC:
		for n := range t.s.Nodes {
			for r := range t.s.Rails {
				if f.Leaf < 0 || t.leaf[n][r] == f.Leaf {
					t.lossy[t.card(n, r, hopReceive)] = true
				}
			}
		}
		for l := range t.s.Leaves() {
			for u := range t.s.Uplinks {
				if f.Leaf < 0 || l == f.Leaf {
					t.lossy[t.uplink(l, u, Send)] = true
				}
			}
		}
	}
}

// route returns the hops of a flow between two cards. ECMP picks the uplink by a hash of the
// addresses and the source port, for which the caller has a random number.
func (t *topology) route(from, to [2]int, hash uint64) (r route) {
	r.add(t.card(from[0], from[1], hopRead))
	r.add(t.node(from[0], Send))
	if from != to { // a card turns traffic with itself around before its port
		a, b := t.leaf[from[0]][from[1]], t.leaf[to[0]][to[1]]
		r.add(t.card(from[0], from[1], hopSend))
		if a != b {
			up, down := t.ecmp(a, b, hash)
			r.add(t.uplink(a, up, Send))
			if t.spine {
				r.add(t.spineHop(up % t.s.Spines))
			}
			r.add(t.uplink(b, down, Receive))
		}
		r.add(t.card(to[0], to[1], hopReceive))
	}
	r.add(t.node(to[0], Receive))
	r.add(t.card(to[0], to[1], hopWrite))
	return r
}

// ecmp picks an uplink of the leaf a, and one of the leaf b to the same spine. Uplink number u
// leads to spine u mod Spines. A spine that has no link to b is not a next hop.
func (t *topology) ecmp(a, b int, hash uint64) (up, down int) {
	spines := t.s.Spines
	reach := min(spines, t.alive[a], t.alive[b])
	n := t.alive[a]/spines*reach + min(t.alive[a]%spines, reach)
	k := int(hash % uint64(n))
	up = k/reach*spines + k%reach
	spine := up % spines
	parallel := (t.alive[b] - spine + spines - 1) / spines
	return up, spine + int((hash>>32)%uint64(parallel))*spines
}
