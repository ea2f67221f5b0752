package relay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// client is a connected program with its connection to the simulator: sockets with the same
// identifier.
type client struct {
	relay *Relay

	name       string // name of its control socket
	id         uint32
	upControl  int // control socket to the simulator
	upData     int
	down       int // its data socket's peer; -1 before the handshake
	asked      map[uint32]datagram
	deadRoutes map[string]bool

	requests       []datagram // requests for which the simulator's queue had no room
	answers, holds fifo
}

// datagram is one packet of the data sockets.
type datagram [packetLen]byte

// Layout of struct sim_ctl and of struct sim_request (ibsim.h).
const (
	controlLen     = 80
	controlType    = 8
	controlConnect = 1
	controlData    = 16

	packetLen       = 288
	packetStatus    = 16
	packetMAD       = 32
	statusTimeout   = 110
	nodeInfoGUID    = packetMAD + 64 + 12
	controlSlots    = 10
	routeOffset     = packetMAD + 128
	hopCountOffset  = packetMAD + 7
	transactionByte = packetMAD + 12 // the low half: the simulator and umad2sim write into the other
)

// connect opens the sockets for a client with that identifier.
func (r *Relay) connect(id uint32) (*client, error) {
	c := &client{
		relay: r, id: id, upControl: -1, upData: -1, down: -1, name: abstractName("%s:ctl%d", r.config.Name, id),
		asked: map[uint32]datagram{}, deadRoutes: map[string]bool{},
	}
	var err error
	if c.upControl, err = listen("%s:ctl%d", r.config.Upstream, id); err == nil {
		c.upData, err = listen("%s:in%d", r.config.Upstream, id)
	}
	if err == nil {
		err = join(c.upControl, "%s:ctl", r.config.Upstream)
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("connect to %s: %w", r.config.Upstream, err)
	}
	return c, nil
}

func (c *client) close() { closeAll(c.upControl, c.upData, c.down) }

// poll adds the client's sockets and events.
func (c *client) poll(fds []unix.PollFd) []unix.PollFd {
	up := unix.PollFd{Fd: int32(c.upData), Events: unix.POLLIN}
	down := unix.PollFd{Fd: int32(c.down)} // poll ignores -1
	if len(c.requests) > 0 {
		up.Events |= unix.POLLOUT
	} else {
		down.Events |= unix.POLLIN // passes back-pressure on
	}
	if c.answers.blocked || c.holds.blocked {
		down.Events |= unix.POLLOUT
	}
	return append(fds, unix.PollFd{Fd: int32(c.upControl), Events: unix.POLLIN}, up, down)
}

// timeout returns the time until the next answer is due; nil: no timeout.
func (c *client) timeout(now time.Time) *unix.Timespec {
	var next *unix.Timespec
	for _, q := range []*fifo{&c.answers, &c.holds} {
		if len(q.items) == 0 || q.blocked {
			continue
		}
		wait := unix.NsecToTimespec(int64(max(0, q.items[0].due.Sub(now))))
		if next == nil || wait.Nano() < next.Nano() {
			next = &wait
		}
	}
	return next
}

// move passes on available requests and due answers.
func (c *client) move(now time.Time) error {
	if err := c.controlAnswers(); err != nil || c.down < 0 {
		return err
	}
	return errors.Join(c.takeRequests(now), c.takeAnswers(now), c.deliver(now))
}

// controlAnswers passes the simulator's control messages on; the answer to connect contains the
// client's slot.
func (c *client) controlAnswers() error {
	var b [controlLen + 1]byte
	for {
		n, err := read(c.upControl, b[:])
		if n == 0 || err != nil {
			return err
		}
		if n == controlLen && binary.NativeEndian.Uint32(b[controlType:]) == controlConnect && c.down < 0 {
			if err := c.open(binary.NativeEndian.Uint32(b[controlData:])); err != nil {
				return err
			}
		}
		err = unix.Sendto(c.relay.control, b[:n], 0, &unix.SockaddrUnix{Name: c.name})
		if err != nil && !isGone(err) {
			return fmt.Errorf("answer control message: %w", err)
		}
	}
}

// open opens the data sockets for a slot of the simulator.
func (c *client) open(slot uint32) error {
	if slot >= controlSlots {
		return fmt.Errorf("simulator assigned slot %d", slot)
	}
	var err error
	if c.down, err = listen("%s:out%d", c.relay.config.Name, slot); err != nil {
		return err
	}
	if err := join(c.down, "%s:in%d", c.relay.config.Name, c.id); err != nil {
		return err
	}
	return join(c.upData, "%s:out%d", c.relay.config.Upstream, slot)
}

// takeRequests passes the client's requests on, as far as the simulator accepts them.
func (c *client) takeRequests(now time.Time) error {
	for {
		for len(c.requests) > 0 {
			err := write(c.upData, c.requests[0][:])
			if errors.Is(err, unix.EAGAIN) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("pass request on: %w", err)
			}
			c.requests = slices.Delete(c.requests, 0, 1)
		}
		var d datagram
		n, err := read(c.down, d[:])
		if n == 0 || err != nil {
			return err
		}
		if n == packetLen {
			c.request(&d, now)
		}
	}
}

func (c *client) request(d *datagram, now time.Time) {
	c.relay.requests.Add(1)
	if !d.isNodeInfo(mad.MethodGet) {
		c.requests = append(c.requests, *d)
		return
	}
	if c.deadRoutes[d.route()] {
		c.lose(d, now)
		return
	}
	if len(c.relay.dead) > 0 {
		c.asked[d.transaction()] = *d
	}
	c.requests = append(c.requests, *d)
}

// lose keeps a request to a dead node.
func (c *client) lose(d *datagram, now time.Time) {
	c.relay.unanswered.Add(1)
	if c.relay.config.Hold == 0 {
		return
	}
	binary.BigEndian.PutUint32(d[packetStatus:], statusTimeout)
	c.holds.push(d, now.Add(c.relay.config.Hold))
}

// takeAnswers adds the simulator's answers to the queue of delayed answers.
func (c *client) takeAnswers(now time.Time) error {
	for {
		var d datagram
		n, err := read(c.upData, d[:])
		if n == 0 || err != nil {
			return err
		}
		if n == packetLen && !c.fromDead(&d, now) {
			c.answers.push(&d, now.Add(c.relay.config.Delay))
		}
	}
}

// fromDead drops the answer of a dead node.
func (c *client) fromDead(d *datagram, now time.Time) bool {
	if len(c.relay.dead) == 0 || !d.isNodeInfo(mad.MethodGetResp) {
		return false
	}
	request, ok := c.asked[d.transaction()]
	delete(c.asked, d.transaction())
	if !ok || !c.relay.dead[ib.GUID(d[nodeInfoGUID:nodeInfoGUID+8])] {
		return false
	}
	c.deadRoutes[request.route()] = true
	c.lose(&request, now)
	return true
}

// deliver sends due answers to the client.
func (c *client) deliver(now time.Time) error {
	for _, q := range []*fifo{&c.answers, &c.holds} {
		q.blocked = false
		for len(q.items) > 0 && !q.items[0].due.After(now) {
			err := write(c.down, q.items[0].datagram[:])
			if errors.Is(err, unix.EAGAIN) {
				q.blocked = true
				break
			}
			if err != nil && !isGone(err) {
				return fmt.Errorf("pass answer on: %w", err)
			}
			q.pop()
		}
	}
	return nil
}

// isNodeInfo reports whether the datagram is a node info by directed route, with that method and
// not lost.
func (d *datagram) isNodeInfo(method mad.Method) bool {
	var h mad.Header
	if _, err := h.Decode(d[packetMAD:]); err != nil {
		return false
	}
	return h.MgmtClass == mad.ClassSubnetDirected && h.AttributeID == mad.AttributeNodeInfo && h.Method == method &&
		binary.BigEndian.Uint32(d[packetStatus:]) == 0
}

// route returns the route of a request by directed route.
func (d *datagram) route() string {
	hops := min(int(d[hopCountOffset]), mad.MaxHops)
	return string(d[routeOffset+1 : routeOffset+1+hops])
}

func (d *datagram) transaction() uint32 { return binary.BigEndian.Uint32(d[transactionByte:]) }

// fifo holds datagrams until they are due, in order of time.
type fifo struct {
	items   []late
	blocked bool // the client's queue is full
}

type late struct {
	due time.Time
	datagram
}

func (q *fifo) push(d *datagram, due time.Time) { q.items = append(q.items, late{due, *d}) }

// pop removes the first; append moves the rest to the front when it needs room.
func (q *fifo) pop() { q.items = q.items[1:] }
