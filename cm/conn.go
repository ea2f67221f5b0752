package cm

import (
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// state is the state of a connection (specification section 12.9.7; C twin: enum ib_cm_state).
type state uint8

const (
	stateREQSent state = iota
	stateREPReceived
	stateREQReceived
	stateREPSent
	stateEstablished
	stateDREQSent
	stateClosed
)

// conn is a connection, from its REQ on. It implements [provider.Connection]. The fields below the
// first group are guarded by the agent's mu.
type conn struct {
	a             *Agent
	peer          netip.Addr // where its messages come from
	id            uint32     // communication ID here
	local, remote netip.AddrPort
	service       mad.ServiceID
	tid           uint64
	done          chan struct{} // closed when the connection has ended
	answered      chan struct{} // closed when the peer has answered, or the connection failed

	state    state
	remoteID uint32 // communication ID of the peer, once it is known
	qp       provider.QueuePair
	qpn      ib.QPN // of qp
	psn      ib.PSN // of the first packet from the peer
	to       target
	options  provider.ConnectOptions // of the peer
	listener *listener               // of an incoming connection
	err      error                   // why it has ended, or failed
	repeat   repeat
	message  []byte // that is repeated or sent again for duplicates
}

// target is what the peer has said about its queue pair; psn is that of the first packet to it.
type target struct {
	qpn        ib.QPN
	psn        ib.PSN
	mtu        ib.MTU
	retryCount uint8
	rnrRetry   uint8
	service    mad.TransportService
}

// Times and counts of repetitions. The largest interval is the response timeout that the kernel
// announces (CMA_CM_RESPONSE_TIMEOUT), and the sum of all a bit less than its patience
// (CMA_MAX_CM_RETRIES).
//
// The kernel waits for the response timeout before each repetition, so that one lost message costs
// 4.3 s. Here the first one comes after 100 ms, longer than a round trip on most paths and shorter
// than people notice, and the intervals double. A peer whose program takes longer gets a single
// duplicate: it answers with an MRA, for which this end waits up to 69 s. The kernel does so, too:
// its CMA prepares the MRA when it passes the REQ to the program, and cm_dup_req_handler sends it
// for the first duplicate. Once the program has answered, the kernel ignores duplicates, and
// repeats a lost REP by itself. If it has rejected the request, it has forgotten it
// (cm_reset_to_idle), so that on paths of more than 100 ms a duplicate may become a second request
// to the program; an answer to that one is rejected here as unknown.
const (
	responseTimeout = 20 // code of ib.AckTimeout: 4.3 s
	maxRetries      = 15
	firstInterval   = 100 * time.Millisecond
	serviceTimeout  = 24 // code: 69 s that a program may take to answer a request; the kernel's
)

// lastInterval is the time of responseTimeout.
func lastInterval() time.Duration { return ib.AckTimeout(responseTimeout) }

// repeat repeats a message until it is answered.
type repeat struct {
	timer clock.Timer
	next  time.Duration // interval after the next repetition
	tries int           // messages sent
	since time.Time     // of the first one
}

// start sends the message of the connection and repeats it.
func (c *conn) start() {
	c.a.send(c.peer, c.message)
	c.repeat.start(c.a.clock, c.expired)
}

// start calls expired when the message that has been sent is to be repeated for the first time.
func (r *repeat) start(on clock.Clock, expired func()) {
	r.stop()
	*r = repeat{next: firstInterval, tries: 1, since: on.Now()}
	r.timer = on.AfterFunc(firstInterval, expired)
}

// stop ends repetitions.
func (r *repeat) stop() {
	if r.timer != nil {
		r.timer.Stop()
	}
}

// advance reports whether a message is to be repeated once more, and sets the timer for the time
// after that.
func (r *repeat) advance() bool {
	if r.tries > maxRetries {
		return false
	}
	r.tries++
	r.next = min(2*r.next, lastInterval())
	r.timer.Reset(r.next)
	return true
}

// wait gives the peer a time to answer, without another repetition meanwhile.
func (r *repeat) wait(code uint8) {
	r.timer.Reset(ib.AckTimeout(min(code, serviceTimeout)) + firstInterval)
}

// expired repeats the message of the connection, or gives up.
func (c *conn) expired() {
	c.a.mu.Lock()
	var after func()
	switch c.state {
	case stateREQSent, stateREPSent, stateDREQSent:
		if c.repeat.advance() {
			c.a.send(c.peer, c.message)
			break
		}
		after = c.giveUp()
	case stateREQReceived: // its sender has given up, too
		after = c.end(&TimeoutError{Waiting: "the program's answer to a connection request", Peer: c.remote})
	}
	c.a.mu.Unlock()
	if after != nil {
		after()
	}
}

// giveUp ends a connection whose peer doesn't answer.
func (c *conn) giveUp() func() {
	waiting := map[state]string{
		stateREQSent: "an answer to the connection request (REQ)", stateREPSent: "the peer's confirmation (RTU)",
		stateDREQSent: "an answer to the end of the connection (DREQ)",
	}[c.state]
	err := c.repeat.timeout(waiting, c.remote, c.a.clock.Now())
	if c.state == stateDREQSent {
		return c.end(err)
	}
	return c.refuse(err, mad.RejectTimeout, c.a.guid[:])
}

// timeout returns the error of a message that was not answered.
func (r *repeat) timeout(waiting string, peer netip.AddrPort, now time.Time) error {
	return &TimeoutError{Waiting: waiting, Peer: peer, Tries: r.tries, Elapsed: now.Sub(r.since)}
}

// TimeoutError is the error of a peer that doesn't answer. It implements net.Error.
type TimeoutError struct {
	Waiting string // what was waited for
	Peer    netip.AddrPort
	Tries   int           // messages that were sent; 0 if none was
	Elapsed time.Duration // since the first one
}

// Error returns what was waited for, how often and how long.
func (e *TimeoutError) Error() string {
	if e.Tries == 0 {
		return fmt.Sprintf("timeout waiting for %s from %v", e.Waiting, e.Peer)
	}
	return fmt.Sprintf("timeout waiting for %s from %v: %d messages in %.1f s", e.Waiting, e.Peer, e.Tries,
		e.Elapsed.Seconds())
}

// Timeout returns true.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary returns true.
func (e *TimeoutError) Temporary() bool { return true }

// newConn returns a connection with an unused ID. a.mu is held.
func (a *Agent) newConn(peer netip.Addr, s state) (*conn, error) {
	psn, err := a.random()
	if err != nil {
		return nil, err
	}
	c := &conn{
		a: a, peer: peer, state: s, psn: ib.PSN(psn & 0xffffff), done: make(chan struct{}),
		answered: make(chan struct{}),
	}
	for {
		if c.id, err = a.random(); err != nil {
			return nil, err
		}
		if c.id != 0 && a.conns[c.id] == nil {
			a.conns[c.id] = c
			return c, nil
		}
	}
}

// answer wakes the goroutine that waits for the peer's answer.
func (c *conn) answer() {
	select {
	case <-c.answered:
	default:
		close(c.answered)
	}
}

// end ends a connection with an error. It returns what remains to be done without a.mu: the queue
// pair goes to ERR before Done is closed.
func (c *conn) end(err error) func() {
	if c.state == stateClosed {
		return nil
	}
	c.a.remove(c)
	c.state = stateClosed
	c.repeat.stop()
	return c.finish(err)
}

// finish notifies the program that the connection has ended, unless it has done so before.
func (c *conn) finish(err error) func() {
	if c.err != nil {
		return nil
	}
	qp := c.qp
	c.err = err
	return func() {
		if qp != nil { // it may be closed already
			_ = qp.Modify(provider.QPAttributes{State: provider.QPStateError})
		}
		c.a.mu.Lock()
		c.answer()
		c.a.mu.Unlock()
		close(c.done)
	}
}

// refuse rejects a connection that is not established here, and ends it. The peer may have
// established it, and a REJ may be lost: so after a REP the connection remains as one that is being
// ended, until the peer has answered.
func (c *conn) refuse(err error, reason mad.RejectReason, ari []byte) func() {
	switch c.state {
	case stateClosed:
		return nil
	case stateREPSent:
		c.reject(reason, ari, nil)
		c.state = stateDREQSent
		c.message = c.dreq()
		c.start()
		return c.finish(err)
	}
	c.reject(reason, ari, nil)
	return c.end(err)
}

// remove removes a connection from the tables.
func (a *Agent) remove(c *conn) {
	delete(a.conns, c.id)
	if key := (remoteID{c.peer, c.remoteID, false}); a.incoming[key] == c {
		delete(a.incoming, key)
		// A duplicate of its REQ must not be taken for a new one.
		if c.state >= stateREPSent && a.recent.find(key, a.clock.Now()) == nil {
			m := mad.REJ{
				Header: mad.NewCM(mad.AttributeREJ, c.tid), RemoteCommID: c.remoteID,
				Message: mad.MRAMessageREQ, Reason: mad.RejectStaleConnection,
			}
			a.recent.add(key, m.Append(nil), a.clock.Now())
		}
	}
	if a.locals[c.qpn] == c {
		delete(a.locals, c.qpn)
	}
	if key := (remoteQP{c.peer, c.to.qpn}); a.remotes[key] == c {
		delete(a.remotes, key)
	}
	if c.listener != nil {
		c.listener.drop(c)
	}
}

// find returns the connection that a message from a peer is about, by the ID that the peer has from
// here and the peer's own.
func (a *Agent) find(from netip.Addr, id, remote uint32) *conn {
	c := a.conns[id]
	if c == nil || c.peer != from || c.remoteID != remote {
		return nil
	}
	return c
}

// Local implements provider.Connection.
func (c *conn) Local() netip.AddrPort { return c.local }

// Remote implements provider.Connection.
func (c *conn) Remote() netip.AddrPort { return c.remote }

// Options implements provider.Connection.
func (c *conn) Options() provider.ConnectOptions {
	c.a.mu.Lock()
	defer c.a.mu.Unlock()
	return c.options
}

// Datagram implements provider.Connection.
func (c *conn) Datagram() (provider.DatagramPeer, bool) { return provider.DatagramPeer{}, false }

// Done implements provider.Connection.
func (c *conn) Done() <-chan struct{} { return c.done }

// Err implements provider.Connection.
func (c *conn) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// errDisconnected is the error of a connection that the peer has ended.
var errDisconnected = io.EOF
