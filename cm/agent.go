package cm

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Config configures an [Agent].
type Config struct {
	Name string     // of the device, for errors
	Addr netip.Addr // of the device
	// GUID identifies the device to its peers, which tell communication IDs of different devices
	// apart by it. Zero is a random one.
	GUID ib.GUID
	MTU  ib.MTU // largest path MTU
	// MaxReads is the maximum number of outstanding READs and atomics of a queue pair, of either
	// end.
	MaxReads int
	// Send sends a message of mad.Len bytes to QP 1 of a peer, from QP 1. It doesn't wait, and what
	// it can't send is lost; the agent reuses the message.
	Send  func(to netip.Addr, message []byte)
	Clock clock.Clock // nil is the system's
	Rand  io.Reader   // source of communication IDs and PSNs; nil is crypto/rand
}

// Agent is the communication manager of a device. It implements [provider.Connector].
type Agent struct {
	name     string
	addr     netip.Addr
	guid     ib.GUID
	mtu      ib.MTU
	maxReads int
	send     func(to netip.Addr, message []byte)
	clock    clock.Clock
	rand     io.Reader

	mu        sync.Mutex
	closed    bool
	listeners map[mad.ServiceID]*listener
	conns     map[uint32]*conn   // by their communication ID here
	incoming  map[remoteID]*conn // by that of the peer, at the passive end
	remotes   map[remoteQP]*conn // by the peer's queue pair
	locals    map[ib.QPN]*conn   // by the queue pair here
	recent    recent
	lookups   map[uint32]*lookup // of datagram services, by request ID
	nextPort  uint16             // local port of the next connection

	ignored atomic.Uint64
}

// remoteID is a communication or request ID of a peer.
type remoteID struct {
	addr netip.Addr
	id   uint32
	sidr bool
}

// remoteQP is a queue pair of a peer.
type remoteQP struct {
	addr netip.Addr
	qpn  ib.QPN
}

// firstPort is the first port that is chosen if a program wants any.
const firstPort = 49152

// New returns an agent.
func New(cfg Config) (*Agent, error) {
	if !cfg.Addr.IsValid() || cfg.Send == nil || cfg.MTU.Code() == 0 || cfg.MaxReads < 0 {
		return nil, fmt.Errorf("communication manager of %s: missing address, Send or MTU", cfg.Name)
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	cfg.Addr = cfg.Addr.Unmap()
	if cfg.GUID == (ib.GUID{}) {
		if _, err := io.ReadFull(cfg.Rand, cfg.GUID[:]); err != nil {
			return nil, fmt.Errorf("communication manager of %s: %w", cfg.Name, err)
		}
	}
	return &Agent{
		name: cfg.Name, addr: cfg.Addr, guid: cfg.GUID, mtu: cfg.MTU, maxReads: cfg.MaxReads, send: cfg.Send,
		clock: cfg.Clock, rand: cfg.Rand,
		listeners: map[mad.ServiceID]*listener{}, conns: map[uint32]*conn{},
		incoming: map[remoteID]*conn{}, remotes: map[remoteQP]*conn{}, locals: map[ib.QPN]*conn{},
		lookups:  map[uint32]*lookup{},
		nextPort: firstPort,
	}, nil
}

// Ignored returns how many messages were dropped because they were malformed or of another class.
func (a *Agent) Ignored() uint64 { return a.ignored.Load() }

// Receive handles a message that has come to QP 1 from a peer. It doesn't wait and doesn't keep the
// message.
func (a *Agent) Receive(from netip.Addr, message []byte) {
	var h mad.Header
	_, err := h.Decode(message)
	if err != nil || len(message) != mad.Len || h.BaseVersion != mad.BaseVersion || h.MgmtClass != mad.ClassCM ||
		h.Method != mad.MethodSend {
		a.ignored.Add(1)
		return
	}
	m := arrival{from: from.Unmap(), header: h, message: message}
	handle := a.handler(h.AttributeID)
	if handle == nil {
		a.ignored.Add(1)
		return
	}
	a.mu.Lock()
	var after func()
	if !a.closed {
		after = handle(&m)
	}
	a.mu.Unlock()
	if after != nil {
		after()
	}
}

// arrival is a message that has come.
type arrival struct {
	from    netip.Addr
	header  mad.Header
	message []byte
}

// handler returns the function for a message. It is called with a.mu, and returns what is to be
// done without, or nil.
func (a *Agent) handler(attribute mad.Attribute) func(*arrival) func() {
	switch attribute {
	case mad.AttributeREQ:
		return a.handleREQ
	case mad.AttributeMRA:
		return a.handleMRA
	case mad.AttributeREJ:
		return a.handleREJ
	case mad.AttributeREP:
		return a.handleREP
	case mad.AttributeRTU:
		return a.handleRTU
	case mad.AttributeDREQ:
		return a.handleDREQ
	case mad.AttributeDREP:
		return a.handleDREP
	case mad.AttributeSIDRREQ:
		return a.handleSIDRREQ
	case mad.AttributeSIDRREP:
		return a.handleSIDRREP
	case mad.AttributeLAP:
		return a.handleLAP
	}
	return nil
}

// Close ends all listeners and connections. The peers of connections are notified once.
func (a *Agent) Close() error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil
	}
	a.closed = true
	var after []func()
	for _, l := range a.listeners {
		after = append(after, l.close()...)
	}
	for _, c := range a.conns {
		if c.state == stateEstablished {
			a.send(c.peer, c.dreq())
		}
		if f := c.end(provider.ErrClosed); f != nil { // nil if the program has been notified already
			after = append(after, f)
		}
	}
	for _, l := range a.lookups {
		l.end(nil, provider.ErrClosed)
	}
	a.recent.clear()
	a.mu.Unlock()
	for _, f := range after {
		f()
	}
	return nil
}

// random returns a random number.
func (a *Agent) random() (uint32, error) {
	var b [4]byte
	if _, err := io.ReadFull(a.rand, b[:]); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(b[:]), nil
}

// port returns a local port for a connection; it only tells connections apart for people. a.mu is
// held.
func (a *Agent) port() uint16 {
	port := a.nextPort
	if a.nextPort++; a.nextPort == 0 {
		a.nextPort = firstPort
	}
	return port
}

// local returns an address with the zero Addr and the unspecified one replaced by the device's. The
// error says that it is another one.
func (a *Agent) local(addr netip.Addr) (netip.Addr, error) {
	addr = addr.Unmap()
	switch {
	case !addr.IsValid(), addr.IsUnspecified(), addr == a.addr:
		return a.addr, nil
	}
	return addr, fmt.Errorf("%v is not the address of %s, which is %v", addr, a.name, a.addr)
}
