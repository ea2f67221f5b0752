package rping

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/anonmem"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// Options configure one end. Zero values select the defaults.
type Options struct {
	// Size is the number of bytes of the client's pings, MinSize to MaxSize; 0 is DefaultSize. A
	// server accepts any.
	Size int
	// Local is the address to connect from; the zero Addr is that of the device.
	Local netip.Addr
	Wait  verbs.WaitMode // how to wait for completions
	// Observer, which may be nil, is called with the steps of connections and pings, by the
	// goroutine that takes them.
	Observer func(Event)
}

func (o Options) validate() (Options, error) {
	if o.Size == 0 {
		o.Size = DefaultSize
	}
	if o.Size < MinSize || o.Size > MaxSize {
		return o, fmt.Errorf("pings of %d bytes are not %d to %d", o.Size, MinSize, MaxSize)
	}
	return o, nil
}

// Step is what an [Event] reports.
type Step uint8

// The steps, in the order of a connection and a ping.
const (
	StepRequest    Step = iota // a client wants to connect
	StepPD                     // protection domain allocated
	StepCQ                     // completion queue created
	StepQP                     // queue pair created
	StepBuffers                // memory registered
	StepAccept                 // the request is about to be accepted
	StepConnected              // the connection is established
	StepAdvertise              // the client sends Buffer
	StepSent                   // a SEND has completed
	StepReceived               // a message has arrived; at a server it is Buffer
	StepSource                 // the server has the source of a ping
	StepReadPosted             // the server has posted its RDMA READ
	StepReadDone               // the READ has completed
	StepGoAhead                // the server has posted its answer
	StepSink                   // the server has the sink of a ping
	StepWrite                  // the server posts its RDMA WRITE from Buffer
	StepWriteDone              // the WRITE has completed
)

// Event is a step of a connection or a ping.
type Event struct {
	Step   Step
	Buffer Buffer // of StepAdvertise, StepReceived and StepWrite
	Object any    // of StepPD, StepCQ and StepQP: what has been created
}

// Layout of the memory of messages: one to send, and those that are received. A slot is longer than
// a message, so that a longer one is noticed here.
const (
	slot     = 64
	receives = 2 // requests that are posted
)

// rig holds the verbs objects of one end of a connection.
type rig struct {
	o        Options
	pd       *verbs.ProtectionDomain
	cq       *verbs.CompletionQueue
	qp       *verbs.QueuePair
	messages region // see slot
	source   region // of the client
	data     region // sink of the client; what the server reads and writes
	conn     *verbs.Connection
	pulse    pulse

	wcs     [1]verbs.WorkCompletion
	message *Buffer // that has arrived, until it is taken
}

// region is registered memory.
type region struct {
	memory []byte
	mr     *verbs.MemoryRegion
}

func (r *region) create(pd *verbs.ProtectionDomain, size int, access verbs.Access) (err error) {
	if r.memory, err = anonmem.Alloc(size); err != nil {
		return fmt.Errorf("allocate %d bytes: %w", size, err)
	}
	r.mr, err = pd.RegisterMemory(r.memory, verbs.MemoryOptions{Access: access})
	return err
}

// close frees the memory, unless the region can't be closed: then the device may still write to it.
func (r *region) close() error {
	if r.mr != nil {
		if err := r.mr.Close(); err != nil {
			return err
		}
	}
	if r.memory == nil {
		return nil
	}
	return anonmem.Free(r.memory)
}

func (r *region) buffer() Buffer {
	return Buffer{Addr: r.mr.Addr(), RKey: r.mr.RKey(), Len: uint32(len(r.memory))} //nolint:gosec // at most MaxSize+1
}

// Sizes of the queues, as in the C program.
const (
	sendDepth = 16
	cqDepth   = 2 * sendDepth
)

// newRig creates everything up to a queue pair in state INIT with its receive requests. dataSize is
// that of data; without client there is no source.
func newRig(d *verbs.Device, o Options, dataSize int, client bool) (*rig, error) {
	r := &rig{o: o}
	if err := r.create(d, dataSize, client); err != nil {
		_ = r.close() // the other error is more useful
		return nil, err
	}
	return r, nil
}

func (r *rig) create(d *verbs.Device, dataSize int, client bool) (err error) {
	if r.pd, err = d.AllocatePD(); err != nil {
		return err
	}
	r.observe(Event{Step: StepPD, Object: r.pd})
	if r.cq, err = d.CreateCQ(verbs.CQConfig{Depth: cqDepth, Wait: r.o.Wait}); err != nil {
		return err
	}
	r.observe(Event{Step: StepCQ, Object: r.cq})
	if r.qp, err = r.pd.CreateQP(verbs.QPConfig{
		SendCQ: r.cq, RecvCQ: r.cq, Capacity: verbs.QPCapacity{MaxSendWR: sendDepth, MaxRecvWR: receives},
	}); err != nil {
		return err
	}
	r.observe(Event{Step: StepQP, Object: r.qp})
	if err := r.messages.create(r.pd, (1+receives)*slot, verbs.AccessLocalWrite); err != nil {
		return err
	}
	// On iWARP the sink of a READ must be writable by the peer, too.
	const access = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite
	if err := r.data.create(r.pd, dataSize, access); err != nil {
		return err
	}
	if client {
		if err := r.source.create(r.pd, dataSize, access); err != nil {
			return err
		}
	}
	r.observe(Event{Step: StepBuffers})
	if err := r.qp.Modify(verbs.QPAttributes{
		Mask:  provider.QPAttrPKeyIndex | provider.QPAttrPort | provider.QPAttrAccess,
		State: verbs.QPStateInit, Port: 1, Access: access,
	}); err != nil {
		return err
	}
	for i := range receives {
		if err := r.postReceive(uint64(i)); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) observe(e Event) {
	if r.o.Observer != nil {
		r.o.Observer(e)
	}
}

func (r *rig) postReceive(i uint64) error {
	at := (1 + int(i%receives)) * slot //nolint:gosec // small
	_, err := r.qp.PostReceive(verbs.ReceiveRequest{
		ID: i, Segments: []verbs.Segment{r.messages.mr.Segment(at, slot)},
	})
	return err
}

// connectOptions are what either end asks for: those of the C program.
func (r *rig) connectOptions() verbs.ConnectOptions {
	return verbs.ConnectOptions{
		Local: r.o.Local, Access: verbs.AccessRemoteRead | verbs.AccessRemoteWrite, ReadAtomic: 1, DestReadAtomic: 1,
		RetryCount: 7, RNRRetry: 7,
	}
}

// send posts a SEND of a message. Its completion is seen later: at most two are outstanding,
// because the peer answers each.
func (r *rig) send(m Buffer) error {
	copy(r.messages.memory, m.Append(nil))
	_, err := r.qp.PostSend(verbs.SendRequest{
		Op: verbs.SendOpSend, Flags: verbs.SendSignaled,
		Segments: []verbs.Segment{r.messages.mr.Segment(0, BufferLen)},
	})
	return err
}

// receive waits for a message of the peer.
func (r *rig) receive(ctx context.Context) (Buffer, error) {
	for r.message == nil {
		if _, err := r.next(ctx); err != nil {
			return Buffer{}, err
		}
	}
	m := *r.message
	r.message = nil
	return m, nil
}

// errTurn is the error of a peer that sends a message before it has the answer to the last one.
var errTurn = errors.New("the peer sends messages out of turn: it is another program")

// complete waits for the completion of an RDMA READ or WRITE.
func (r *rig) complete(ctx context.Context, op verbs.WCOp) error {
	for {
		got, err := r.next(ctx)
		switch {
		case err != nil:
			return err
		case got == verbs.WCReceive:
			return errTurn
		case got == op:
			return nil
		}
	}
}

// next handles the next completion and returns what has completed.
func (r *rig) next(ctx context.Context) (verbs.WCOp, error) {
	if _, err := r.cq.Wait(ctx, r.wcs[:]); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return 0, err
	}
	r.pulse.seen.Add(1)
	wc := &r.wcs[0]
	if err := wc.Err(); err != nil {
		return 0, r.ended(ctx, wc, err)
	}
	if wc.ID == aliveID {
		r.pulse.sent.Store(false)
		return verbs.WCSend, nil // nothing waits for that
	}
	switch wc.Op {
	case verbs.WCSend:
		r.observe(Event{Step: StepSent})
	case verbs.WCReceive:
		return wc.Op, r.arrived(wc)
	}
	return wc.Op, nil
}

// arrived takes a message and posts its request again.
func (r *rig) arrived(wc *verbs.WorkCompletion) error {
	at := (1 + int(wc.ID%receives)) * slot //nolint:gosec // small
	var m Buffer
	if wc.Bytes > slot {
		return &SizeError{Got: int(wc.Bytes)}
	}
	if _, err := m.Decode(r.messages.memory[at : at+int(wc.Bytes)]); err != nil {
		return err
	}
	r.message = &m
	r.observe(Event{Step: StepReceived, Buffer: m})
	return r.postReceive(wc.ID)
}

// endPatience is how long a flushed request waits for the reason: the connection's end follows that
// of the queue pair.
const endPatience = 2 * time.Second

// ended returns why requests fail: io.EOF if the peer has disconnected.
func (r *rig) ended(ctx context.Context, wc *verbs.WorkCompletion, err error) error {
	if wc.Status != verbs.WCFlushed || r.conn == nil {
		return err
	}
	timer := time.NewTimer(endPatience)
	defer timer.Stop()
	select {
	case <-r.conn.Done():
	case <-timer.C:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if reason := r.conn.Err(); reason != nil && !errors.Is(reason, verbs.ErrClosed) {
		return reason
	}
	return fmt.Errorf("%w: this device rejected a request of the peer, or has failed", err)
}

// close frees everything, the queue pair first.
func (r *rig) close() error {
	r.rest()
	var errs []error
	add := func(c io.Closer) { errs = append(errs, c.Close()) }
	if r.conn != nil {
		add(r.conn)
	}
	if r.qp != nil {
		add(r.qp)
	}
	for _, m := range []*region{&r.messages, &r.source, &r.data} {
		errs = append(errs, m.close())
	}
	if r.cq != nil {
		add(r.cq)
	}
	if r.pd != nil {
		add(r.pd)
	}
	return errors.Join(errs...)
}
