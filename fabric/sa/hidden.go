package sa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// hidden is a query for a table whose answer may have several segments, if the transport delivers
// messages whole. It is the [fabric.Source] of its tries and probes.
//
// While it receives segments, the kernel still waits for the whole answer, and drops that if the
// time of its request has passed (drivers/infiniband/core/mad.c, ib_mad_complete_recv). One lost
// segment takes 2 s. Nor does it report segments, or that the SA has ended its answer. So requests
// for tables get the time of a whole transfer, and a second query tells whether the SA is there.
type hidden struct {
	client *Client
	next   []fabric.Request // to be sent
	tries  int              // sent
	lost   int              // tries that the transport reported as lost
	probe  int              // the ID of the last probe, which is negative; 0: none
	alive  bool             // the SA has answered the one that belongs to the last try, and isn't busy
	busy   bool             // the SA has answered that it is busy
	answer *fabric.Datagram // nil: none yet
	failed error            // the error of an answer
	stop   func(error)      // ends Run
}

// errStop ends a Run early: it is never returned.
var errStop = errors.New("the try has ended")

// Next implements [fabric.Source].
func (h *hidden) Next(r *fabric.Request) bool {
	if len(h.next) == 0 {
		return false
	}
	*r, h.next = h.next[0], h.next[1:]
	return true
}

// Done implements [fabric.Source].
func (h *hidden) Done(r *fabric.Reply) {
	e, refused := errors.AsType[*fabric.StatusError](r.Err)
	none, silent := errors.AsType[*fabric.NoAnswerError](r.Err)
	switch {
	case r.ID < 0:
		if r.ID == h.probe && !silent {
			h.alive = (refused || r.Err == nil) && !h.busy
		}
		return
	case refused:
		h.failed = &StatusError{Status: e.Status}
	case silent:
		if !none.Reported || r.ID != h.tries {
			return
		}
		h.lost++
	case r.Err != nil:
		h.failed = r.Err
	default:
		d := *r.Answer
		h.answer = &d
	}
	h.stop(errStop)
}

// accept implements [fabric.Request.Accept] for the tries.
func (h *hidden) accept(_, answer *[mad.Len]byte) bool {
	var p mad.SA
	p.Decode(answer[:]) //nolint:errcheck // a MAD is long enough
	if p.Method != mad.MethodGetTableResp && p.Method != mad.MethodGetResp {
		return false
	}
	if p.Result()&mad.StatusBusy != 0 { // the engine goes on waiting
		h.busy, h.alive = true, false
	}
	return true
}

// run waits until the given time for the answer to one of the tries, or until the transport reports
// the last one as lost. It reports whether the query has ended.
func (h *hidden) run(ctx context.Context, until time.Time) (ended bool, err error) {
	limited, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h.stop = stop
	lost := h.lost
	_, err = h.client.engine.Run(limited, h, until)
	switch {
	case h.answer != nil || h.failed != nil:
		return true, h.failed
	case h.lost > lost:
		return false, nil
	case err != nil && !errors.Is(err, errStop):
		return true, err
	}
	return false, nil
}

// askHidden sends a query for a table, with retries, until there is an answer.
func (c *Client) askHidden(ctx context.Context, to fabric.Address, p *mad.SA) (*message, error) {
	defer c.engine.Abandon(nil)
	h := &hidden{client: c}
	timeout := cmp.Or(c.Timeout, time.Second)
	patience := max(timeout, cmp.Or(c.TotalTime, totalTime))
	query := fabric.Request{Address: to, Timeout: patience, Retries: -1, Accept: h.accept}
	p.Append(query.MAD[:0])
	start := time.Now()
	tries := 1 + max(0, cmp.Or(c.Retries, 2))
	for h.tries < tries {
		ended, err := h.try(ctx, &query, timeout, start.Add(patience), h.tries == tries-1)
		switch {
		case err != nil:
			return nil, err
		case ended:
			return whole(h.answer)
		}
	}
	return nil, h.unanswered(to, time.Since(start).Round(time.Millisecond))
}

// try sends a query and waits for the answer to this or an earlier try, at most until the given
// end.
func (h *hidden) try(
	ctx context.Context, query *fabric.Request, timeout time.Duration, end time.Time, last bool,
) (ended bool, err error) {
	start := time.Now()
	deadline := start.Add(timeout)
	h.tries++
	h.alive = false
	query.ID = h.tries
	h.next = append(h.next, *query)
	lost := h.lost
	ended, err = h.run(ctx, start.Add(timeout/2))
	if ended || err != nil || h.lost > lost {
		return ended, err
	}
	h.next = append(h.next, h.newProbe(query, timeout))
	ended, err = h.run(ctx, deadline)
	if ended || err != nil || h.lost > lost || !h.alive {
		return ended, err
	}
	if next := deadline.Add(silence); !last && next.Before(end) {
		end = next // in case the query was lost
	}
	return h.run(ctx, end)
}

// newProbe returns a query whose answer has one segment. It has the SM_Key: OpenSM answers no query
// with a wrong one.
func (h *hidden) newProbe(query *fabric.Request, timeout time.Duration) fabric.Request {
	h.probe--
	p := mad.NewSA(mad.MethodGet, mad.AttributeClassPortInfo, 0, 0)
	p.SMKey = h.client.SMKey
	r := fabric.Request{ID: h.probe, Address: query.Address, Timeout: timeout, Retries: -1}
	p.Append(r.MAD[:0])
	return r
}

// unanswered returns the error of a query without an answer.
func (h *hidden) unanswered(to fabric.Address, after time.Duration) error {
	switch {
	case h.busy:
		return busy(h.tries, after)
	case h.alive:
		return &StalledError{Hidden: true, After: after}
	}
	none := &fabric.NoAnswerError{Tries: h.tries, After: after, Reported: h.lost == h.tries}
	err := error(none)
	if !none.Reported {
		err = fmt.Errorf("%w (the transport delivers only whole answers)", none)
	}
	if a := fabric.AddressingOf(h.client.Transport); a != nil {
		a.Apply(&to, mad.ClassSA)
		err = &fabric.SentError{Err: err, Sent: a.Sent(&to)}
	}
	return err
}
