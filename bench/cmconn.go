package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/internal/edge/anonmem"
	"github.com/rdmakit/rdmakit/verbs"
)

// cmConn is the connection of an exchange over rdma_cm: a queue pair of type RC on which each
// message is a SEND. Like a TCP connection, it is read and written by one goroutine each.
type cmConn struct {
	device   *verbs.Device
	remote   netip.AddrPort
	listener *verbs.Listener // of a server, for the queue pairs of the test; may be nil
	conn     *verbs.Connection
	pd       *verbs.ProtectionDomain
	cq       *verbs.CompletionQueue
	memory   []byte // of mr
	mr       *verbs.MemoryRegion
	qp       *verbs.QueuePair

	rest     []byte      // of the current message
	finished bool        // the peer has
	in       chan []byte // messages; nil is the peer's end
	sent     chan error  // results of sends
	deadline deadline
	gone     chan struct{} // closed when the queue pair has failed or the peer has disconnected
	err      error         // why, valid after gone

	stop func() // ends the goroutines
	wg   sync.WaitGroup
	once sync.Once
}

// Sizes of an exchange. perftest has one receive request, and sends up to 320 bytes.
const (
	cmReceives = 8
	cmSlot     = 512
	cmSends    = 4
)

// IDs of work requests above those of the receive slots.
const (
	cmSendID  = 100 + iota // a message
	cmAliveID              // an empty WRITE that the peer's device acknowledges
	cmEndID                // an empty message: this end has finished
)

// The timeouts of the connection, and how often an idle one is tried: a peer whose machine is gone
// sends nothing.
const (
	cmTimeout = 18 // code: 1.07 s, repeated seven times
	cmAlive   = 10 * time.Second
	cmGoodbye = 2 * time.Second // that the peer may take to acknowledge the end
)

// newCMConn creates the queue pair of an exchange with its receive requests.
func newCMConn(device *verbs.Device, port int) (*cmConn, error) {
	c := &cmConn{
		device: device, in: make(chan []byte, cmReceives), sent: make(chan error, 1), gone: make(chan struct{}),
		stop: func() {},
	}
	c.deadline.init()
	if err := c.create(port); err != nil {
		return nil, errors.Join(err, c.free())
	}
	return c, nil
}

func (c *cmConn) create(port int) (err error) {
	if c.pd, err = c.device.AllocatePD(); err != nil {
		return err
	}
	if c.cq, err = c.device.CreateCQ(verbs.CQConfig{Depth: 4 * cmReceives, Wait: verbs.WaitEvent}); err != nil {
		return err
	}
	if c.memory, err = anonmem.Alloc((cmReceives + 1) * cmSlot); err != nil {
		return err
	}
	options := verbs.MemoryOptions{Access: verbs.AccessLocalWrite}
	if c.mr, err = c.pd.RegisterMemory(c.memory, options); err != nil {
		return err
	}
	if c.qp, err = c.pd.CreateQP(verbs.QPConfig{
		SendCQ: c.cq, RecvCQ: c.cq, Capacity: verbs.QPCapacity{MaxSendWR: cmSends, MaxRecvWR: cmReceives},
	}); err != nil {
		return err
	}
	if err := c.qp.Modify(initAttributes(verbs.QPTypeRC, port, cmAccess, 0)); err != nil {
		return err
	}
	for i := range cmReceives {
		if err := c.post(i); err != nil {
			return err
		}
	}
	return nil
}

// cmAccess lets the peer send empty WRITEs, as the kernel's rdma_cm does: there is no memory for
// others.
const cmAccess = verbs.AccessRemoteWrite

// post posts receive request i.
func (c *cmConn) post(i int) error {
	_, err := c.qp.PostReceive(verbs.ReceiveRequest{
		ID: uint64(i), Segments: []verbs.Segment{c.mr.Segment(i*cmSlot, cmSlot)},
	})
	return err
}

// begin starts the goroutines once the queue pair is connected.
func (c *cmConn) begin(conn *verbs.Connection) {
	c.conn = conn
	c.remote = conn.Remote()
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	c.wg.Go(func() {
		c.err = c.collect(ctx)
		close(c.gone)
	})
	if !isIWARP(c.device) { // where TCP notices a peer that is gone
		c.wg.Go(func() { c.keepAlive(ctx) })
	}
}

// collect handles completions until the connection or ctx ends.
func (c *cmConn) collect(ctx context.Context) error {
	var wcs [cmReceives]verbs.WorkCompletion
	for {
		n, err := c.cq.Wait(ctx, wcs[:])
		if err != nil {
			return err
		}
		for i := range wcs[:n] {
			if err := c.completed(ctx, &wcs[i]); err != nil {
				return err
			}
		}
	}
}

func (c *cmConn) completed(ctx context.Context, wc *verbs.WorkCompletion) error {
	err := wc.Err()
	if err != nil && wc.Status == verbs.WCFlushed {
		err = io.EOF
	}
	switch {
	case err != nil && wc.ID == cmAliveID:
		return fmt.Errorf("the peer doesn't answer any more: %w", err)
	case err != nil:
		return err
	case wc.ID == cmSendID:
		c.sent <- nil // there is one at a time
		return nil
	case wc.ID >= cmReceives:
		return nil
	}
	i := int(wc.ID)
	var message []byte
	if wc.Bytes > 0 {
		message = append(message, c.memory[i*cmSlot:i*cmSlot+int(wc.Bytes)]...)
	}
	if err := c.post(i); err != nil {
		return err
	}
	select {
	case c.in <- message:
	case <-ctx.Done():
	}
	return nil
}

// keepAlive sends an empty WRITE from time to time. If the peer doesn't acknowledge it, the queue
// pair fails.
func (c *cmConn) keepAlive(ctx context.Context) {
	ticker := time.NewTicker(cmAlive)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.gone:
			return
		case <-ticker.C:
		}
		_ = c.tryPeer() // a full queue is not idle
	}
}

// tryPeer sends an empty WRITE.
func (c *cmConn) tryPeer() error {
	_, err := c.qp.PostSend(verbs.SendRequest{ID: cmAliveID, Op: verbs.SendOpWrite, Flags: verbs.SendSignaled})
	return err
}

// ended reports whether the connection ends within a time.
func (c *cmConn) ended(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c.gone:
		return true
	case <-timer.C:
		return false
	}
}

// Rest returns how many bytes of the current message Read has not returned.
func (c *cmConn) Rest() int { return len(c.rest) }

// Read implements perftest.Conn. It never returns bytes of two messages.
func (c *cmConn) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		message, err := c.next()
		if err != nil {
			return 0, err
		}
		c.rest = message
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *cmConn) next() ([]byte, error) {
	if c.finished {
		return nil, io.EOF
	}
	expired := c.deadline.wait()
	select {
	case <-expired:
		return nil, os.ErrDeadlineExceeded
	default:
	}
	select { // messages before the end
	case m := <-c.in:
		return c.whole(m)
	default:
	}
	select {
	case m := <-c.in:
		return c.whole(m)
	case <-expired:
		return nil, os.ErrDeadlineExceeded
	case <-c.gone:
	}
	select {
	case m := <-c.in:
		return c.whole(m)
	default:
		return nil, c.err
	}
}

// whole returns a message, or io.EOF for the peer's end.
func (c *cmConn) whole(m []byte) ([]byte, error) {
	if c.finished = m == nil; c.finished {
		return nil, io.EOF
	}
	return m, nil
}

// Write implements perftest.Conn: it sends one message.
func (c *cmConn) Write(b []byte) (int, error) {
	if len(b) == 0 || len(b) > cmSlot {
		return 0, fmt.Errorf("a message of %d bytes", len(b))
	}
	expired := c.deadline.wait()
	at := cmReceives * cmSlot
	copy(c.memory[at:], b)
	if _, err := c.qp.PostSend(verbs.SendRequest{
		ID: cmSendID, Op: verbs.SendOpSend, Flags: verbs.SendSignaled,
		Segments: []verbs.Segment{c.mr.Segment(at, len(b))},
	}); err != nil {
		return 0, err
	}
	select {
	case err := <-c.sent:
		return len(b), err
	case <-c.gone:
	case <-expired:
		return 0, os.ErrDeadlineExceeded
	}
	select {
	case err := <-c.sent:
		return len(b), err
	default:
		return 0, c.err
	}
}

// CloseWrite tells the peer that this end has finished: an empty message, which perftest ignores.
func (c *cmConn) CloseWrite() error {
	_, err := c.qp.PostSend(verbs.SendRequest{ID: cmEndID, Op: verbs.SendOpSend, Flags: verbs.SendSignaled})
	return err
}

// SetDeadline implements perftest.Conn.
func (c *cmConn) SetDeadline(t time.Time) error {
	c.deadline.set(t)
	return nil
}

// Close disconnects and frees everything. It waits a short time for the peer.
func (c *cmConn) Close() (err error) {
	c.once.Do(func() {
		if c.conn != nil {
			ctx, cancel := context.WithTimeout(context.Background(), cmGoodbye)
			defer cancel()
			_ = c.conn.Disconnect(ctx) // a peer that doesn't answer has ended
		}
		c.stop()
		c.wg.Wait()
		if c.conn != nil { // before the queue pair, which it uses
			err = c.conn.Close()
		}
		err = errors.Join(err, c.free())
	})
	return err
}

func (c *cmConn) free() error {
	var errs []error
	if c.listener != nil {
		errs = append(errs, c.listener.Close())
	}
	if c.qp != nil {
		errs = append(errs, c.qp.Close())
	}
	if c.mr != nil {
		errs = append(errs, c.mr.Close())
	}
	if len(errs) == 0 || errors.Join(errs...) == nil { // else the device may still write there
		errs = append(errs, anonmem.Free(c.memory))
	}
	if c.cq != nil {
		errs = append(errs, c.cq.Close())
	}
	if c.pd != nil {
		errs = append(errs, c.pd.Close())
	}
	return errors.Join(errs...)
}

var _ perftest.Conn = (*cmConn)(nil)

// deadline is a point in time that can be moved while others wait for it.
type deadline struct {
	mu      sync.Mutex
	timer   *time.Timer
	expired chan struct{} // closed at the deadline
}

func (d *deadline) init() { d.expired = make(chan struct{}) }

// wait returns a channel that is closed at the deadline, even if it is moved.
func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.expired
}

// set moves the deadline; the zero time removes it.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.expired // the function of the timer has closed it, or is about to
	}
	d.timer = nil
	passed := false
	select {
	case <-d.expired:
		passed = true
	default:
	}
	left := time.Until(t)
	if passed && (t.IsZero() || left > 0) {
		d.expired = make(chan struct{})
	}
	switch {
	case t.IsZero():
	case left > 0:
		expired := d.expired
		d.timer = time.AfterFunc(left, func() { close(expired) })
	case !passed:
		close(d.expired)
	}
}
