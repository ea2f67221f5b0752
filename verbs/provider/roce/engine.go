package roce

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdmakit/rdmakit/cm"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// Config configures an [Engine].
type Config struct {
	// Name is the device's name, as in "roce@127.0.0.1".
	Name string
	// Conn sends and receives the datagrams; the engine closes it.
	Conn PacketConn
	// Addr is the local address of Conn. A link-local IPv6 address has its network device as zone.
	Addr netip.Addr
	// MTU is the largest path MTU; 0 is 1024.
	MTU ib.MTU
	// Rand is the source of memory keys and queue pair numbers; nil is crypto/rand.
	Rand io.Reader
	// Clock is the time for timeouts and delays; nil is the system's.
	Clock clock.Clock
	// OpenSender opens a socket that sends from another port of Addr; the engine closes it. If nil,
	// all packets are sent by Conn, from its port.
	OpenSender func(port uint16) (PacketSender, error)
}

// Engine is a device: one local address that speaks RoCE v2.
type Engine struct {
	name string
	conn PacketConn
	addr netip.Addr // without zone
	zone string     // of a link-local IPv6 address; Conn is bound to this network device
	gid  ib.GID
	mtu  ib.MTU
	rand io.Reader
	// clock is not for the program's contexts, which have their own.
	clock clock.Clock
	done  chan struct{} // closed when the receiver has ended

	handler, pollHandler udpio.Handler // method values inbound and polled, allocated once
	burst                burst         // used by the handlers, which never run concurrently
	delayedAcks          delayedAcks
	timers               timers

	agent   *cm.Agent // of QP 1
	senders senders
	work    chan *queuePair // queue pairs that have more responses to send, or a backlog
	written atomic.Uint64   // writes that sent something
	wg      sync.WaitGroup

	mu      sync.RWMutex
	closed  bool
	qps     map[ib.QPN]*queuePair
	peers   peers
	regions map[uint32]*region
	domains int
	queues  int

	channels int
	shared   int // receive queues

	events events
	stats  Stats // changed only by count and read only by Stats
}

// New starts an engine. Close ends it.
func New(cfg Config) (*Engine, error) {
	if cfg.MTU == 0 {
		cfg.MTU = ib.MTU1024
	}
	if cfg.MTU.Code() == 0 || cfg.Conn == nil || !cfg.Addr.IsValid() {
		return nil, fmt.Errorf("open %s: missing connection or address, or MTU not 256 to 4096", cfg.Name)
	}
	e := &Engine{
		name: cfg.Name, conn: cfg.Conn, addr: cfg.Addr.Unmap().WithZone(""), zone: cfg.Addr.Zone(),
		mtu: cfg.MTU, rand: cfg.Rand,
		gid:     ib.GIDFromAddr(cfg.Addr),
		clock:   cfg.Clock,
		done:    make(chan struct{}),
		work:    make(chan *queuePair, maxQueuePairs),
		qps:     map[ib.QPN]*queuePair{},
		regions: map[uint32]*region{},
		events:  events{queue: queue[event]{wake: newWakeup()}},
	}
	if e.clock == nil {
		e.clock = clock.System
	}
	e.handler, e.pollHandler = e.inbound, e.polled
	e.peers.init(e.gid)
	e.senders.init(cfg.Conn, cfg.OpenSender)
	e.delayedAcks.init(e.clock)
	e.timers.init(e.clock)
	var err error
	if e.agent, err = e.newAgent(); err != nil {
		return nil, fmt.Errorf("open %s: %w", cfg.Name, err)
	}
	e.wg.Go(e.receive)
	e.wg.Go(e.respondLater)
	return e, nil
}

// Name implements [provider.Device].
func (e *Engine) Name() string { return e.name }

// capabilities are those of every engine.
const capabilities = provider.CapRC | provider.CapUC | provider.CapUD | provider.CapAtomics |
	provider.CapImmediate | provider.CapInline | provider.CapMemoryAddress |
	provider.CapWatch | provider.CapSRQ | provider.CapChannel | provider.CapEvents | provider.CapConnector

// Capabilities implements [provider.Device].
func (e *Engine) Capabilities() provider.Capabilities { return capabilities }

// Attributes implements [provider.Device].
func (e *Engine) Attributes() provider.DeviceAttributes {
	return provider.DeviceAttributes{
		MaxQP: maxQueuePairs, MaxQPWR: maxDepth, MaxSGE: maxSegments, MaxSGERead: maxSegments, MaxInline: maxInline,
		MaxCQE: maxCQE, MaxMR: maxRegions, MaxAH: maxAddresses,
		MaxQPReadAtomic: maxReads, MaxQPInitReadAtomic: maxReads,
		MaxSRQ: maxShared, MaxSRQWR: maxDepth, MaxSRQSGE: maxSegments,
		AtomicCap: provider.AtomicCapabilityHCA, PhysPortCount: 1, CompletionVectors: 1,
	}
}

// Port implements [provider.Device].
func (e *Engine) Port(_ context.Context, number int) (provider.PortAttributes, error) {
	if err := e.checkPort(number); err != nil {
		return provider.PortAttributes{}, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	state := provider.PortStateActive
	if e.closed {
		state = provider.PortStateDown
	}
	return provider.PortAttributes{
		State: state, MaxMTU: e.mtu, ActiveMTU: e.mtu, MaxMessageSize: maxMessage, GIDTableLength: 1,
		PKeyTableLength: 1, LinkLayer: provider.LinkLayerEthernet,
	}, nil
}

// GIDs implements [provider.Device]: the only GID is the local address.
func (e *Engine) GIDs(_ context.Context, port int) ([]provider.GIDEntry, error) {
	if err := e.checkPort(port); err != nil {
		return nil, err
	}
	return []provider.GIDEntry{{Index: 0, GID: e.gid, Type: provider.GIDTypeRoCEv2}}, nil
}

func (e *Engine) checkPort(number int) error {
	if number != 1 {
		return noDeviceError(fmt.Sprintf("no port %d: %s has port 1 only", number, e.name))
	}
	return nil
}

// Advice implements [provider.Adviser].
func (e *Engine) Advice() []string {
	if e.windowLimit(e.mtu) == windowMax {
		return nil
	}
	return []string{fmt.Sprintf("net.core.rmem_max limits the receive buffer of %s to %d bytes, and so the packets in "+
		"flight; sysctl -w net.core.rmem_max=%d", e.name, e.conn.ReceiveBuffer(), udpio.WantedBuffer)}
}

// AllocatePD implements [provider.Device].
func (e *Engine) AllocatePD() (provider.ProtectionDomain, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fmt.Errorf("allocate protection domain of %s: %w", e.name, provider.ErrClosed)
	}
	e.domains++
	return &domain{e: e}, nil
}

// maxCQE is the maximum depth of a completion queue.
const maxCQE = 1 << 20

// CreateCQ implements [provider.Device].
func (e *Engine) CreateCQ(cfg provider.CQConfig) (provider.CompletionQueue, error) {
	depth := cfg.Depth
	if depth == 0 {
		depth = 1024
	}
	if depth < 0 || depth > maxCQE {
		return nil, fmt.Errorf("create completion queue of %s: depth %d is not in 1 to %d", e.name, depth, maxCQE)
	}
	if cfg.Timestamps {
		return nil, fmt.Errorf("create completion queue of %s: timestamps: %w", e.name, provider.ErrNotSupported)
	}
	if cfg.Vector != 0 {
		return nil, fmt.Errorf("create completion queue of %s: vector %d, and the device has only 0",
			e.name, cfg.Vector)
	}
	c, ok := cfg.Channel.(*channel)
	if cfg.Channel != nil && (!ok || c.e != e) {
		return nil, fmt.Errorf("create completion queue of %s: the channel belongs to another device", e.name)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || c != nil && c.closed {
		return nil, fmt.Errorf("create completion queue of %s: %w", e.name, provider.ErrClosed)
	}
	e.queues++
	if c != nil {
		c.users++
	}
	return &completionQueue{
		e: e, mode: cfg.Wait, channel: c, id: cfg.ID, ring: make([]completion, depth),
		wake: newWakeup(), done: make(chan struct{}),
	}, nil
}

// Close implements [provider.Device].
func (e *Engine) Close() error {
	e.mu.Lock()
	switch {
	case e.closed:
		e.mu.Unlock()
		return nil
	case len(e.qps)+len(e.regions)+e.domains+e.queues+e.channels > 0:
		defer e.mu.Unlock()
		return fmt.Errorf("close %s: %d queue pairs, %d regions, %d domains, %d completion queues, %d channels: %w",
			e.name, len(e.qps), len(e.regions), e.domains, e.queues, e.channels, provider.ErrBusy)
	}
	e.closed = true
	e.mu.Unlock()
	_ = e.agent.Close() // always nil
	e.senders.close()
	_ = e.conn.Close() // the second call returns the same
	close(e.done)
	e.wg.Wait()
	e.delayedAcks.timer.Stop()
	e.timers.stop()
	return e.conn.Close()
}

// readPause is how long the receiver waits after a socket error, so that a persistent error
// doesn't use the CPU.
const readPause = 10 * time.Millisecond

// receive is the goroutine that receives datagrams while no other goroutine polls.
func (e *Engine) receive() {
	for {
		err := e.conn.Read(e.handler)
		if err == nil {
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		count(&e.stats.ReadErrors)
		pause := make(chan struct{})
		timer := e.clock.AfterFunc(readPause, func() { close(pause) })
		select {
		case <-e.done:
			timer.Stop()
			return
		case <-pause:
		}
	}
}

// poll handles the datagrams that have arrived in the goroutine of the caller, which reduces the
// latency for a waiting caller. The caller must not hold a lock of the engine.
func (e *Engine) poll() { _, _ = e.conn.Poll(e.pollHandler) }

// inbound handles received datagrams. The connection calls it, or polled, never concurrently.
func (e *Engine) inbound(list []udpio.Inbound) {
	for i := range list {
		e.datagrams(&list[i], &e.burst)
	}
	e.burst.finish()
}

// polled handles datagrams that a waiting goroutine has received itself.
func (e *Engine) polled(list []udpio.Inbound) {
	e.burst.polled = true
	e.inbound(list)
	e.burst.polled = false
}

// datagrams handles the datagrams of an inbound entry one by one.
func (e *Engine) datagrams(in *udpio.Inbound, b *burst) {
	data, segment := in.Data, in.Segment
	for k := 0; len(data) > 0; k++ {
		one := data[:min(segment, len(data))]
		data = data[len(one):]
		e.datagram(one, k, in, b)
	}
}

// ecnMask are the bits of a traffic class that are both set in a packet that met congestion
// (RFC 3168, section 5).
const ecnMask = 3

// datagram passes one datagram to its queue pair. k is its index within the batch that the kernel
// delivered as one buffer.
func (e *Engine) datagram(one []byte, k int, in *udpio.Inbound, b *burst) {
	if len(one) < ib.BTHLen+rocev2.ICRCLen || len(one)%4 != 0 {
		count(&e.stats.Malformed)
		return
	}
	qpn := ib.QPN(binary.BigEndian.Uint32(one[4:]) & 0xffffff)
	if qpn == gsiQPN {
		b.finish()
		e.handleMessage(one, k, in, &b.packet)
		return
	}
	qp := b.qp
	if qp == nil || qp.qpn != qpn {
		b.finish()
		e.mu.RLock()
		qp = e.qps[qpn]
		e.mu.RUnlock()
		if qp == nil {
			count(&e.stats.UnknownQP)
			return
		}
		b.begin(qp)
	}
	from := qp.peer
	if from == nil || in.From.Addr() != from.addr {
		from = e.peerAt(in.From.Addr())
	}
	if !from.verifyICRC(one, k, in.From.Port(), qp.kind == provider.QPTypeUD) {
		count(&e.stats.BadICRC)
		return
	}
	if from != qp.peer && qp.kind != provider.QPTypeUD {
		count(&e.stats.Foreign)
		return
	}
	if in.TrafficClass&ecnMask == ecnMask {
		count(&e.stats.ECNMarks)
	}
	if _, err := b.packet.Decode(one[:len(one)-rocev2.ICRCLen]); err != nil {
		count(&e.stats.Malformed)
		return
	}
	qp.handlePacket(&b.packet, from, in.TrafficClass)
}

// burst is a sequence of consecutive packets for one queue pair, which stays locked until finish.
type burst struct {
	qp     *queuePair
	packet ib.Packet
	polled bool // received by a waiting goroutine
}

func (b *burst) begin(qp *queuePair) {
	qp.mu.Lock()
	b.qp = qp
}

// finish sends the responses to the burst and unlocks the queue pair.
func (b *burst) finish() {
	if b.qp == nil {
		return
	}
	b.qp.flushBurst(b.polled || b.qp.resp.completed)
	b.qp.resp.completed = false
	b.qp.mu.Unlock()
	b.qp = nil
}

// respondLater is the goroutine that sends the rest of long READ responses in pieces, so that they
// don't delay the receiver's work for other queue pairs, and what waits for space in the socket.
// Only here something waits for that, without a lock.
func (e *Engine) respondLater() {
	for {
		select {
		case <-e.done:
			return
		case qp := <-e.work:
			qp.mu.Lock()
			qp.scheduled = false
			qp.flushBurst(false)
			blocked, conn := qp.tx.blocked(), qp.tx.conn
			qp.mu.Unlock()
			if blocked {
				_ = conn.WaitWritable() // the next write has the error, too
			}
		}
	}
}
