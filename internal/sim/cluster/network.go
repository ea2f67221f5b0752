package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// NetworkOptions say how much smaller and slower than its hardware an emulated network is. The zero
// value has the scale that docs/verdicts.md derives.
type NetworkOptions struct {
	Rate float64 // of a card in bits per second; 0: 8 Mb/s
	// Time is by how much latencies and their jitter are longer; 0: 20. Pauses and outages are as
	// long as they are.
	Time float64
	// Clock is the time of the network, its engines and its workers, which package virtualtime can
	// drive; nil: the system's.
	Clock clock.Clock
}

const (
	pauseLength     = 50 * time.Millisecond
	defaultCardRate = 8e6
	defaultTime     = 20
)

// Network is a scenario as a network of packets, with an engine of RDMA in software for each card:
// everything of a verification above the devices runs unchanged. Its methods are safe for
// concurrent use.
type Network struct {
	s    Scenario
	o    NetworkOptions
	t    *topology
	m    *Model // for what nodes report
	net  *packetnet.Network
	hops []*packetnet.Hop // by index of the topology
	// processes are the hosts' programs, which post what is sent and read messages that arrive, and
	// urgent the ports of cards, outwards, for packets that don't wait for data; by index of the
	// node or card. Processes have a hop out and one in.
	processes [][2]*packetnet.Hop
	urgent    []*packetnet.Hop
	cards     map[netip.Addr][2]int
	ways      map[wayKey][]*packetnet.Hop
}

// wayKey is what ECMP hashes, where the other port of UDP is the same for all flows, and what hosts
// do with a packet.
type wayKey struct {
	from netip.AddrPort
	to   netip.Addr
	use  use
}

// use is what a packet is to the hosts at its ends.
type use byte

// The uses. A card answers by itself: acknowledgements neither come from memory nor wait behind
// data, and WRITEs need no program at their target.
const (
	useMessage use = iota // posted by a program and read by one
	useWrite              // only posted
	useAnswer             // neither
)

// useOf returns the use of a packet by the operation of its transport header (IBTA, table 38).
func useOf(data []byte) use {
	const transport = 0xe0
	switch op := data[0]; {
	case op&transport != 0: // of RC only
		return useMessage
	case op >= 6 && op <= 11: // RDMA WRITE
		return useWrite
	case op >= 13 && op <= 18: // READ responses and acknowledgements
		return useAnswer
	}
	return useMessage
}

// NewNetwork returns the network of a scenario.
func NewNetwork(s Scenario, o NetworkOptions) (*Network, error) {
	m, err := NewModel(s)
	if err != nil {
		return nil, err
	}
	if o.Rate == 0 {
		o.Rate = defaultCardRate
	}
	if o.Time == 0 {
		o.Time = defaultTime
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	n := &Network{
		s: m.s, o: o, t: m.t, m: m, cards: map[netip.Addr][2]int{}, ways: map[wayKey][]*packetnet.Hop{},
	}
	for node := range n.s.Nodes {
		for rail := range n.s.Rails {
			n.cards[n.address(node, rail)] = [2]int{node, rail}
		}
	}
	n.lay()
	for i := range n.s.Faults {
		n.plant(&n.s.Faults[i])
	}
	n.expedite()
	n.net = packetnet.NewNetwork(packetnet.Config{
		Faults: packetnet.Faults{Seed: n.s.Seed}, Route: n.route, Clock: o.Clock,
	})
	return n, nil
}

// Scale returns what the figures of the network stand for.
func (n *Network) Scale() *result.Scale {
	return &result.Scale{Label: "EMULATED", Rate: n.s.Rate * 1e9 / n.o.Rate, Time: 1}
}

// address returns the address of a card.
func (n *Network) address(node, rail int) netip.Addr {
	const perNet = 250
	return netip.AddrFrom4([4]byte{10, byte(rail), byte(node / perNet), byte(node%perNet + 1)})
}

// lossyQueue is the length of a queue without flow control, in frames: less than two senders have
// outstanding (see [Network.Worker]), as the buffer of a switch is less than what an incast offers.
const lossyQueue = 6

// lay makes the hops of the topology.
func (n *Network) lay() {
	n.hops = make([]*packetnet.Hop, len(n.t.capacity))
	n.processes, n.urgent = make([][2]*packetnet.Hop, n.s.Nodes), make([]*packetnet.Hop, len(n.cards))
	for i := range n.processes {
		all := func(packetnet.Datagram) bool { return true }
		n.processes[i] = [2]*packetnet.Hop{{Lossless: all}, {Lossless: all}}
	}
	for i := range n.hops {
		h := &packetnet.Hop{
			Loss: n.t.loss[i], Corrupt: n.t.damage[i], Queue: lossyQueue * (usualMTU + frameOverhead),
			Lossless: n.paused(n.t.lossy[i]), CutThrough: true,
		}
		if c := n.t.capacity[i]; c < unlimited {
			h.Bandwidth = max(1, int64(c/payload(usualMTU)/n.s.Rate*n.o.Rate))
		}
		n.hops[i] = h
	}
	half := n.time(n.s.Latency / 2) //nolint:mnd // each card's link has its half
	for node := range n.s.Nodes {
		for rail := range n.s.Rails {
			n.hops[n.t.card(node, rail, hopSend)].CutThrough = false // once on its way, a frame has its length
			n.hops[n.t.card(node, rail, hopSend)].Delay = half
			n.hops[n.t.card(node, rail, hopReceive)].Delay = half
		}
	}
	for leaf := range n.s.Leaves() {
		for u := range n.s.Uplinks {
			n.hops[n.t.uplink(leaf, u, Send)].Delay = n.time(n.s.HopLatency)
			n.hops[n.t.uplink(leaf, u, Receive)].Delay = n.time(n.s.HopLatency)
		}
	}
}

// time returns a time of the hardware in µs as the network has it.
func (n *Network) time(us float64) time.Duration {
	return time.Duration(us * n.o.Time * float64(time.Microsecond))
}

// paused returns whose datagrams a hop pauses instead of dropping them.
func (n *Network) paused(lossy bool) func(packetnet.Datagram) bool {
	return func(d packetnet.Datagram) bool {
		from, known := n.cards[d.From.Addr()]
		return !lossy && known && !n.m.card[from[0]*n.s.Rails+from[1]].class
	}
}

// plant changes what a fault changes of the hops, beside the topology.
func (n *Network) plant(f *Fault) {
	send, receive := n.hops[n.t.card(f.Node, f.Rail, hopSend)], n.hops[n.t.card(f.Node, f.Rail, hopReceive)]
	switch f.Kind {
	case DeadCard:
		send.Loss, receive.Loss = 1, 1
	case JitteryHost:
		for _, h := range n.processes[f.Node] {
			h.Jitter, h.JitterShare = n.time(f.Severity), jitterShare
		}
	case PausingHost:
		every := time.Duration(f.Severity * float64(time.Second))
		for _, h := range n.processes[f.Node] {
			h.Outages = packetnet.Outages{Every: every, For: pauseLength, Offset: every / 2}
		}
	case WrongMTU:
		if f.Hidden {
			const usual = 1500 // of Ethernet: a switch port that was left as it was
			send.MTU, receive.MTU = usual, usual
		}
	case FlappingLink:
		every := time.Duration(float64(time.Second) / f.Severity)
		for _, h := range []*packetnet.Hop{send, receive} {
			h.Outages = packetnet.Outages{Every: every, For: time.Second, Offset: every / 2}
			h.Lossless = nil
		}
	}
}

// expedite makes the ports for urgent packets: as those of the topology, with a queue of their own.
func (n *Network) expedite() {
	for c := range n.urgent {
		h := n.hops[c*hopsOfCard+hopSend]
		n.urgent[c] = &packetnet.Hop{
			Bandwidth: h.Bandwidth, Loss: h.Loss, Corrupt: h.Corrupt, Delay: h.Delay, MTU: h.MTU, Outages: h.Outages,
		}
	}
}

// route returns the hops of a datagram.
func (n *Network) route(d packetnet.Datagram) []*packetnet.Hop {
	key := wayKey{d.From, d.To.Addr(), useOf(d.Data)}
	if hops, ok := n.ways[key]; ok {
		return hops
	}
	from, known := n.cards[d.From.Addr()]
	to, also := n.cards[key.to]
	var hops []*packetnet.Hop
	if known && also {
		a, b := &n.m.card[from[0]*n.s.Rails+from[1]], &n.m.card[to[0]*n.s.Rails+to[1]]
		if from != to && (a.otherGID != b.otherGID || a.otherPKey != b.otherPKey) {
			hops = append(hops, &packetnet.Hop{Loss: 1}) // the receiver doesn't accept them
		}
		r := n.t.route(from, to, n.hash(key))
		hops = append(hops, n.through(r, from, to, key.use)...)
	}
	n.ways[key] = hops
	return hops
}

// through returns the hops of a route for a use.
func (n *Network) through(r route, from, to [2]int, u use) (hops []*packetnet.Hop) {
	if u != useAnswer {
		hops = append(hops, n.processes[from[0]][0])
	}
	cards := int32(len(n.cards) * hopsOfCard)
	for _, h := range r.list() {
		switch {
		case u != useAnswer, h >= cards+int32(2*n.s.Nodes): // all, or uplinks and spines
			hops = append(hops, n.hops[h])
		case h >= cards:
		case h%hopsOfCard == hopSend:
			hops = append(hops, n.urgent[h/hopsOfCard])
		case h%hopsOfCard == hopReceive: // behind the queue of the leaf
			hops = append(hops, n.hops[h])
		}
	}
	if u == useMessage {
		hops = append(hops, n.processes[to[0]][1])
	}
	return hops
}

// hash is the one by which switches choose a link (FNV-1a, spread over all bits).
func (n *Network) hash(k wayKey) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset) ^ n.s.Seed
	for _, b := range append(k.from.Addr().AsSlice(), k.to.AsSlice()...) {
		h = (h ^ uint64(b)) * prime
	}
	h = (h ^ uint64(k.from.Port())) * prime
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return h ^ h>>32
}

// Name returns the name of a card's device.
func (n *Network) Name(node, rail int) string { return roce.Prefix + n.address(node, rail).String() }

// Device opens the device of a card. The error of a card whose port is down is that of its failure.
func (n *Network) Device(ctx context.Context, node, rail int) (*verbs.Device, error) {
	if node < 0 || node >= n.s.Nodes || rail < 0 || rail >= n.s.Rails {
		return nil, fmt.Errorf("open card: node %d has no rail %d", node, rail)
	}
	return verbs.Open(ctx, n.Name(node, rail), opener{n, node, rail})
}

// opener is the provider of one card.
type opener struct {
	n          *Network
	node, rail int
}

// Name implements [provider.Provider].
func (opener) Name() string { return "emulated" }

// Devices implements [provider.Provider].
func (o opener) Devices(context.Context) ([]provider.DeviceInfo, error) {
	return []provider.DeviceInfo{{Name: o.n.Name(o.node, o.rail)}}, nil
}

// Open implements [provider.Provider].
func (o opener) Open(_ context.Context, name string) (provider.Device, error) {
	n, addr := o.n, o.n.address(o.node, o.rail)
	card := &n.m.card[o.node*n.s.Rails+o.rail]
	if card.down {
		return nil, errors.New(portDown(int16(o.rail), result.StepOpen).Text)
	}
	conn, err := n.net.Listen(netip.AddrPortFrom(addr, rocev2.Port))
	if err != nil {
		return nil, err
	}
	e, err := roce.New(roce.Config{
		Name: name, Conn: conn, Addr: addr, MTU: ib.MTUFit(int(card.mtu)), Clock: n.o.Clock,
		OpenSender: func(port uint16) (roce.PacketSender, error) {
			return n.net.Listen(netip.AddrPortFrom(addr, port))
		},
	})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return e, nil
}

// Counters returns what the port of a card has counted, by the names of package result. The
// counters of an open device are its own.
func (n *Network) Counters(node, rail int) map[string]uint64 {
	h := n.hops[n.t.card(node, rail, hopReceive)]
	return map[string]uint64{
		result.CounterSymbol: uint64(n.net.Counts(h).Corrupted),
		result.CounterDowned: uint64(n.net.Downs(h)),
	}
}

// Facts returns what a node reports.
func (n *Network) Facts(node int) result.Node { return n.m.nodes[node] }

// Stats returns the counts of all datagrams.
func (n *Network) Stats() packetnet.Stats { return n.net.Stats() }
