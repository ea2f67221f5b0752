package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
)

// pace counts the iterations of a latency test and collects the time between them.
type pace struct {
	r       *run
	ctx     context.Context //nolint:containedctx // of one call of a measuring method; ends with the test's duration
	clock   *clock
	cancel  context.CancelFunc
	sum     *intervals
	last    time.Duration
	begun   bool
	counted uint64
	limit   uint64
}

func (r *run) newPace(ctx context.Context) *pace {
	p := &pace{
		r: r, clock: r.clock(), sum: newIntervals(), limit: uint64(r.cfg.Iterations), ctx: ctx, cancel: func() {},
	}
	if r.cfg.Duration > 0 {
		p.limit = 1 << 62
		p.ctx, p.cancel = context.WithDeadline(ctx, p.clock.begin.Add(p.clock.last))
	}
	return p
}

// over reports whether err is the regular end of a test with a duration.
func (p *pace) over(err error) bool {
	return err != nil && p.r.cfg.Duration > 0 && p.clock.now() >= p.clock.last
}

// tick is called when a message is posted.
func (p *pace) tick() {
	now := p.clock.now()
	p.clock.saw(now, 1)
	if p.r.cfg.Duration > 0 && !p.clock.counts(now) {
		p.begun = false
		return
	}
	if p.begun {
		p.sum.add(now - p.last)
	}
	p.last, p.begun = now, true
	p.counted++
}

// point returns the result; a single message gives no interval.
func (p *pace) point(size int) (LatencyPoint, error) {
	if p.sum.n == 0 {
		return LatencyPoint{}, ErrNothingMeasured
	}
	if p.r.cfg.Duration > 0 {
		if err := p.clock.check(); err != nil {
			return LatencyPoint{}, err
		}
	}
	return p.sum.point(size, p.counted, p.r.cfg.Test.exchanges()), nil
}

// request returns the request that a latency test posts repeatedly.
func (r *run) request(size int) verbs.SendRequest {
	wr := verbs.SendRequest{
		Op: r.cfg.Test.Op(), Flags: verbs.SendSignaled,
		Segments: []verbs.Segment{r.region(0).Segment(r.source(0), size)},
	}
	r.direct(0, 0, &wr)
	return wr
}

// post posts a request and waits until it is complete.
func (r *run) post(ctx context.Context, wr verbs.SendRequest) error {
	if _, err := r.qps[0].PostSend(wr); err != nil {
		return err
	}
	wcs, err := r.poll(ctx, r.sends)
	if err == nil && len(wcs) != 1 {
		err = fmt.Errorf("%d completions of one request", len(wcs))
	}
	return err
}

// readLatency posts READs one after the other.
func (r *run) readLatency(ctx context.Context, size int) (LatencyPoint, error) {
	p, wr := r.newPace(ctx), r.request(size)
	defer p.cancel()
	for range p.limit {
		p.tick()
		if err := r.post(p.ctx, wr); p.over(err) {
			break
		} else if err != nil {
			return LatencyPoint{}, err
		}
	}
	return p.point(size)
}

// bounce receives and sends messages in turn until both ends have sent all of their messages or the
// time is over; the end that begins sends first. await waits for messages and returns how many
// arrived, given the number got that arrived before; send sends message number sent, counted from
// 1.
func (p *pace) bounce(begins bool, await func(got uint64) (uint64, error), send func(sent uint64) error) error {
	var sent, got uint64
	for sent < p.limit || got < p.limit {
		if got < p.limit && (sent > 0 || !begins) {
			n, err := await(got)
			if p.over(err) {
				return nil
			} else if err != nil {
				return err
			}
			got += n
		}
		if sent == p.limit {
			continue
		}
		p.tick()
		sent++
		if err := send(sent); p.over(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// sendLatency exchanges SENDs; the client begins.
func (r *run) sendLatency(ctx context.Context, size int) (LatencyPoint, error) {
	begins := r.cfg.Role == perftest.RoleClient
	var early []verbs.WorkCompletion
	if !begins { // the server's clock begins with the first message
		var err error
		if early, err = r.poll(ctx, r.recvs); err != nil {
			return LatencyPoint{}, err
		}
	}
	p, wr := r.newPace(ctx), r.request(size)
	defer p.cancel()
	await := func(got uint64) (uint64, error) {
		wcs, err := early, error(nil)
		if early = nil; wcs == nil {
			wcs, err = r.poll(p.ctx, r.recvs)
		}
		n := uint64(len(wcs))
		if err == nil && got+n+uint64(r.cfg.RxDepth) <= p.limit {
			err = r.receive(0, len(wcs), size)
		}
		return n, err
	}
	send := func(uint64) error { return r.post(p.ctx, wr) }
	if err := p.bounce(begins, await, send); err != nil {
		return LatencyPoint{}, err
	}
	return p.point(size)
}

// writeLatency exchanges WRITEs, whose last byte is their number; the server begins. The target
// polls that byte in its memory.
func (r *run) writeLatency(ctx context.Context, size int) (LatencyPoint, error) {
	p, wr := r.newPace(ctx), r.request(size)
	defer p.cancel()
	stamp := &r.region(0).Bytes()[r.source(0)+size-1]
	var last error // of our last message
	await := func(got uint64) (uint64, error) {
		ctx := p.ctx
		if last != nil { // the peer's last message is there, or never comes
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), endDelay)
			defer cancel()
		}
		return 1, r.region(0).WaitByte(ctx, r.target(0)+size-1, byte(got+1))
	}
	send := func(sent uint64) error {
		*stamp = byte(sent)
		err := r.post(p.ctx, wr)
		if err != nil && sent == p.limit && r.unanswered(p.ctx, err) {
			last, err = err, nil // it may have arrived: the rest of the exchange decides
		}
		return err
	}
	err := p.bounce(r.cfg.Role == perftest.RoleServer, await, send)
	switch {
	case last != nil && err == nil:
		point, err := p.point(size)
		return point, cmp.Or(err, fmt.Errorf("%w: %w", errUnacknowledged, last))
	case err != nil:
		return LatencyPoint{}, cmp.Or(last, err)
	}
	return p.point(size)
}

// unanswered reports whether a request failed because its acknowledgement never came: the retries
// are used up, or the peer has closed the connection in the meantime.
func (r *run) unanswered(ctx context.Context, err error) bool {
	failed, ok := errors.AsType[*verbs.CompletionError](err)
	if ok && len(r.links) > 0 && failed.Status == verbs.WCFlushed { // the peer has disconnected
		return true
	}
	return ok && failed.Status == verbs.WCRetryExceeded || errors.Is(context.Cause(ctx), perftest.ErrClosed)
}

// errUnacknowledged is matched by the error of the last message if all of the peer's messages have
// arrived. A WRITE latency test has no closing handshake, so a peer that has finished repeats no
// acknowledgement that was lost.
var errUnacknowledged = errors.New("last message")

// errPeerFinished replaces [errUnacknowledged] if the peer has closed the connection in order.
// Perhaps it ended before our last message arrived: [Result.Unacknowledged] says so.
var errPeerFinished = errors.New("the peer has finished")
