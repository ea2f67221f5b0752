// Package packetnet simulates a datagram network in the process. It loses, duplicates,
// reorders, corrupts and delays datagrams at random, with a seed. Datagrams may pass hops of a
// bandwidth, whose queues drop and mark them (hop.go): those of any network that a [Config] has a
// route for, or the links of all addresses to one switch ([Link]).
//
//	network := packetnet.New(packetnet.Faults{Seed: 1, Loss: 0.01, Delay: 10 * time.Microsecond})
//	a, err := network.Listen(netip.MustParseAddrPort("10.0.0.1:4791"))
//
// Its clock is package time, which testing/synctest can control, or that of its [Config]. All
// methods are safe for concurrent use; the faults of a datagram depend on the seed and on
// the order in which datagrams are sent.
package packetnet

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/internal/edge/udpio"
)

// Faults are the faults of a network. Loss, Duplicate and Corrupt are probabilities from
// 0 to 1. The zero value delivers everything at once and in order.
type Faults struct {
	Seed      uint64
	Loss      float64
	Duplicate float64
	Corrupt   float64 // one bit is flipped
	// Delay is the delay of every datagram, Jitter the maximum of an additional random
	// delay. With Jitter, datagrams overtake each other.
	Delay, Jitter time.Duration
	// MaxDrops limits how often the same packet is lost or corrupted, so that random loss
	// doesn't exhaust the retries of a sender; 0 is no limit. Packets are the same if
	// destination, opcode, queue pair and PSN are equal (bytes 0, 5 to 7 and 9 to 11 of a
	// BTH), whatever their payload, flags and ICRC. The limit doesn't apply to Cut.
	MaxDrops int
	// Segmentation makes connections number the datagrams of an entry, like GSO.
	// Without it, Write returns ErrNoSegmentation for numbered entries.
	Segmentation bool
}

// Config configures a network.
type Config struct {
	Faults Faults
	Link   Link
	// Route returns the hops that a datagram passes, in order. If it is set, Link is not used. It
	// is called with the network locked, and must not call its methods.
	Route func(Datagram) []*Hop
	// Merge makes connections receive datagrams of one sender as one entry, where the kernel merges
	// them (GRO): of equal length, but the last, which may be shorter, with ascending or with equal
	// identifications.
	Merge bool
	Clock clock.Clock // nil is the system's
}

// Network connects the addresses that listen on it.
type Network struct {
	mu     sync.Mutex
	faults Faults
	route  func(Datagram) []*Hop // nil: no hops
	merge  bool
	start  time.Time
	clock  clock.Clock
	rand   *rand.Rand
	conns  map[netip.AddrPort]*Conn
	flight flights
	timer  clock.Timer
	// landing is set while landings are handled, after which the timer is set once.
	landing bool
	cut     map[[2]netip.Addr]bool
	drops   map[packetKey]int // of packets that were lost or damaged
	tap     func(Datagram)
	order   uint64
	stats   Stats
}

// packetKey identifies packets that are the same.
type packetKey struct {
	to     netip.AddrPort
	header [7]byte
}

// headerLen is the length of the header that packetKey is computed from.
const headerLen = 12

func keyOf(to netip.AddrPort, data []byte) packetKey {
	k := packetKey{to: to}
	if len(data) < headerLen {
		copy(k.header[:], data)
		return k
	}
	k.header[0] = data[0]
	copy(k.header[1:4], data[5:8])
	copy(k.header[4:7], data[9:12])
	return k
}

// Datagram is a datagram as it was sent, before any fault. A tap gets all datagrams.
type Datagram struct {
	From, To netip.AddrPort
	ID       uint16 // IPv4 identification that a kernel would have written
	// TrafficClass is DSCP and ECN, as sent.
	TrafficClass uint8
	Data         []byte // valid only during the call of the tap
}

// Stats counts datagrams.
type Stats struct {
	Sent, Lost, Duplicated, Corrupted int
	Overflowed                        int // lost because the receiver didn't read them in time
	Dropped                           int // lost in the queue of a hop
	Marked                            int // marked as congested by a hop
}

// New returns a network with faults, without limits of bandwidth.
func New(f Faults) *Network { return NewNetwork(Config{Faults: f}) }

// NewNetwork returns a network.
func NewNetwork(c Config) *Network {
	f := c.Faults
	n := &Network{
		faults: f, route: c.Route, merge: c.Merge, clock: c.Clock, rand: rand.New(rand.NewPCG(f.Seed, f.Seed)),
		conns: map[netip.AddrPort]*Conn{}, cut: map[[2]netip.Addr]bool{}, drops: map[packetKey]int{},
	}
	if n.clock == nil {
		n.clock = clock.System
	}
	if n.route == nil && c.Link.Bandwidth > 0 {
		n.route = c.Link.route()
	}
	n.start = n.clock.Now()
	return n
}

// SetTap sets a function that is called with every datagram, or nil. It must not call methods of
// the network.
func (n *Network) SetTap(tap func(Datagram)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tap = tap
}

// SetFaults replaces the faults, but not the seed.
func (n *Network) SetFaults(f Faults) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = f
}

// Cut starts or stops losing all datagrams from one address to another.
func (n *Network) Cut(from, to netip.Addr, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[[2]netip.Addr{from, to}] = cut
}

// Stats returns the counts.
func (n *Network) Stats() Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stats
}

// inboxSize is the maximum number of datagrams that wait for a reader; further ones are lost.
const inboxSize = 4096

// Listen opens an address.
func (n *Network) Listen(addr netip.AddrPort) (*Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conns[addr] != nil {
		return nil, fmt.Errorf("listen on %v: address already in use", addr)
	}
	c := &Conn{
		n: n, addr: addr,
		inbox: make(chan datagram, inboxSize), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	n.conns[addr] = c
	return c, nil
}

type datagram struct {
	data         []byte
	from         netip.AddrPort
	id           uint16
	trafficClass uint8
}

// Conn is an address of the network. It has the methods of [udpio.Conn].
type Conn struct {
	n     *Network
	addr  netip.AddrPort
	inbox chan datagram
	wake  chan struct{} // holds a token when a datagram has been added to inbox
	done  chan struct{}
	once  sync.Once
	mu    sync.Mutex // held while handlers run
}

// readBatch is the maximum number of datagrams per call of a handler.
const readBatch = 8

// Read waits for a datagram and passes all available datagrams to the handler.
func (c *Conn) Read(h udpio.Handler) error {
	for {
		select {
		case <-c.done:
			return net.ErrClosed
		case <-c.wake:
		}
		// A datagram is taken only with the lock: Poll must not handle later ones before it.
		if found, err := c.Poll(h); found || err != nil {
			return err
		}
	}
}

// Poll passes the available datagrams to the handler and never waits.
func (c *Conn) Poll(h udpio.Handler) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
		return false, net.ErrClosed
	case d := <-c.inbox:
		c.deliver(d, h)
		return true, nil
	default:
		return false, nil
	}
}

// Resume does nothing: Read never pauses while another goroutine polls.
func (c *Conn) Resume() {}

// deliver passes d and the datagrams after it to the handler.
func (c *Conn) deliver(d datagram, h udpio.Handler) {
	list := make([]udpio.Inbound, 0, readBatch)
	var m merging
	for {
		if c.n.merge && m.add(&d) {
			list[len(list)-1] = m.entry
		} else {
			if len(list) == readBatch {
				h(list)
				list = list[:0]
			}
			m.begin(&d)
			list = append(list, m.entry)
		}
		select {
		case d = <-c.inbox:
			continue
		default:
		}
		break
	}
	h(list)
}

// Offload reports whether datagrams of an entry are numbered (gso), and whether received ones are
// merged (gro).
func (c *Conn) Offload() (gso, gro bool) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	return c.n.faults.Segmentation, c.n.merge
}

// ReceiveBuffer returns 0: the length of the inbox is not known in bytes.
func (c *Conn) ReceiveBuffer() int { return 0 }

// WaitWritable returns nil: there is always space.
func (c *Conn) WaitWritable() error { return nil }

// Write sends datagrams; each segment of an entry is a datagram. It sends all.
func (c *Conn) Write(list []udpio.Outbound) ([]udpio.Outbound, error) {
	select {
	case <-c.done:
		return list, net.ErrClosed
	default:
	}
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	for _, o := range list {
		segment := o.Segment
		if segment == 0 {
			segment = len(o.Data)
		}
		if o.Numbered && segment < len(o.Data) && !c.n.faults.Segmentation {
			return list, udpio.ErrNoSegmentation
		}
		id := uint16(0)
		for data := o.Data; len(data) > 0; {
			one := data[:min(segment, len(data))]
			data = data[len(one):]
			c.n.send(Datagram{From: c.addr, To: o.To, ID: id, TrafficClass: o.TrafficClass, Data: one})
			if o.Numbered {
				id++
			}
		}
	}
	return nil, nil
}

// Close closes the address. Read then returns [net.ErrClosed].
func (c *Conn) Close() error {
	c.once.Do(func() {
		c.n.mu.Lock()
		delete(c.n.conns, c.addr)
		c.n.mu.Unlock()
		close(c.done)
	})
	return nil
}

// send applies the faults to a datagram and sends it. n.mu is held.
func (n *Network) send(d Datagram) {
	f := &n.faults
	n.stats.Sent++
	if n.tap != nil {
		n.tap(d)
	}
	switch {
	case n.cut[[2]netip.Addr{d.From.Addr(), d.To.Addr()}]:
		n.stats.Lost++
		return
	case n.rand.Float64() < f.Loss && n.mayDrop(d):
		n.stats.Lost++
		return
	}
	copies := 1
	if n.rand.Float64() < f.Duplicate {
		n.stats.Duplicated++
		copies++
	}
	for range copies {
		one := datagram{append([]byte(nil), d.Data...), d.From, d.ID, d.TrafficClass}
		if n.rand.Float64() < f.Corrupt && n.mayDrop(d) {
			n.stats.Corrupted++
			one.data[n.rand.IntN(len(one.data))] ^= 1 << n.rand.IntN(8)
		}
		f := flight{to: d.To, d: one}
		if n.route != nil {
			f.hops = n.route(d)
		}
		if len(f.hops) > 0 {
			f.at = n.clock.Now()
			n.pass(f)
			continue
		}
		if wait := n.delay(); wait > 0 {
			f.at = n.clock.Now().Add(wait)
			n.fly(f)
			continue
		}
		n.deliver(d.To, one)
	}
}

// delay returns the delay of a datagram.
func (n *Network) delay() time.Duration {
	wait := n.faults.Delay
	if n.faults.Jitter > 0 {
		wait += time.Duration(n.rand.Int64N(int64(n.faults.Jitter)))
	}
	return wait
}

// fly adds a datagram in flight. n.mu is held.
func (n *Network) fly(f flight) {
	n.order++
	f.order = n.order
	heap.Push(&n.flight, f)
	if !n.landing && n.flight[0].order == f.order {
		n.schedule()
	}
}

// mayDrop counts a loss of a packet, or returns false if the packet has reached MaxDrops.
func (n *Network) mayDrop(d Datagram) bool {
	if n.faults.MaxDrops == 0 {
		return true
	}
	k := keyOf(d.To, d.Data)
	if n.drops[k] >= n.faults.MaxDrops {
		return false
	}
	n.drops[k]++
	return true
}

// schedule sets the timer for the next datagram in flight. n.mu is held.
func (n *Network) schedule() {
	switch {
	case len(n.flight) == 0:
	case n.timer == nil:
		n.timer = n.clock.AfterFunc(n.flight[0].at.Sub(n.clock.Now()), n.land)
	default:
		n.timer.Reset(n.flight[0].at.Sub(n.clock.Now()))
	}
}

// land delivers the datagrams whose delay has passed.
func (n *Network) land() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.landing = true
	for now := n.clock.Now(); len(n.flight) > 0 && !n.flight[0].at.After(now); {
		f, _ := heap.Pop(&n.flight).(flight)
		if len(f.hops) > 0 {
			n.pass(f)
			continue
		}
		n.deliver(f.to, f.d)
	}
	n.landing = false
	n.schedule()
}

// flight is a datagram in flight.
type flight struct {
	at    time.Time
	order uint64 // among datagrams with the same time
	to    netip.AddrPort
	d     datagram
	hops  []*Hop // that it has still to pass
}

// flights implement heap.Interface, the first to arrive on top.
type flights []flight

func (f flights) Len() int      { return len(f) }
func (f flights) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f flights) Less(i, j int) bool {
	if c := f[i].at.Compare(f[j].at); c != 0 {
		return c < 0
	}
	return f[i].order < f[j].order
}

// Push adds a flight at the end.
func (f *flights) Push(x any) {
	one, _ := x.(flight)
	*f = append(*f, one)
}

// Pop removes the last.
func (f *flights) Pop() any {
	last := len(*f) - 1
	one := (*f)[last]
	*f = (*f)[:last]
	return one
}

// deliver puts a datagram into an inbox. n.mu is held.
func (n *Network) deliver(to netip.AddrPort, d datagram) {
	c := n.conns[to]
	if c == nil {
		n.stats.Lost++
		return
	}
	select {
	case c.inbox <- d:
	default:
		n.stats.Overflowed++
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
