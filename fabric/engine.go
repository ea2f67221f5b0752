package fabric

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// Engine sends requests and matches them with their answers: it owns transaction IDs, timers,
// retries, the window of outstanding requests, and the round trips of each destination.
//
//	engine := fabric.NewEngine(transport, 0)
//	reply, err := engine.Do(ctx, &fabric.Request{Address: to, MAD: packet}) // one request
//	idle, err := engine.Run(ctx, source, time.Time{})                       // many: see Source
//
// A request is sent again if its answer takes longer than the destination's round trips let expect
// (RFC 6298; each try has a transaction ID, so that every answer is a measurement), and is given up
// after the patience that [Request.Timeout] describes. Between tries, and before it is given up, it
// holds no place in the window, so that silent nodes don't delay others. An answer to any of the
// tries counts; answers to the others are dropped. A datagram that the transport can't send
// ([ErrRefused]) ends its request only.
//
// One goroutine may use an Engine, and no other may use its transport at the same time.
type Engine struct {
	transport Transport
	start     time.Time
	pace      pace
	slots     slots
	peers     map[destination]*Peer // of requests without Request.Peer
	subnet    time.Duration         // time through the subnet that the local port reports
	inWindow  int                   // requests that hold a place in the window
	retry     fifo[retry]           // requests to send again
	outbox    []Datagram            // to be sent: the transport accepted no more
	posted    time.Duration         // when the last datagram of Post was added to outbox
	post      [1]Datagram
	inbox     [batch]Datagram
	reply     Reply
	traffic   Traffic
	// addressing completes the addresses of GMPs; nil: the transport has none.
	addressing *Addressing
}

// batch is how many datagrams go through the transport in one call.
const batch = 32

// defaultWindow is the largest number of outstanding requests if the transport has no limit.
const defaultWindow = 32

// Request is one request of an [Engine].
type Request struct {
	// ID is the caller's number of the request, for [Reply.ID].
	ID int
	// Address is the destination, and MAD the datagram. The engine sets the transaction ID.
	Address Address
	MAD     [mad.Len]byte
	// Peer holds the round trips of the destination; nil: the engine keeps them, by address and
	// directed route.
	Peer *Peer
	// Timeout is how long an answer to one try may take: the request is given up after Timeout for
	// each of its tries. 0: after 1 s for each try and 4 s in all, or later if the destination's
	// round trips, or the times that it reports, are longer.
	Timeout time.Duration
	// Retries is how often the request is sent again; 0: 3; negative: never; at most 15. Only a
	// request that reads (mad.MethodGet) is sent again before Timeout, or 1 s, has passed.
	Retries int
	// Accept, if set, reports whether a datagram of the right class, method, attribute and modifier
	// answers this request.
	Accept func(request, answer *[mad.Len]byte) bool
	// More, if set, is called for each answer, and returns true if the request has further answers,
	// such as segments of a long message: from then on it is not sent again, and is given up if the
	// next answer takes longer than the returned time; 0: the patience of the request. It may call
	// [Engine.Post].
	More func(answer *Datagram) (wait time.Duration, more bool)
}

// Reply is the result of a [Request].
type Reply struct {
	ID int // of the request
	// Answer is the answer, also with a *StatusError; nil with other errors. It is valid until Done
	// returns, or until the next call of the engine.
	Answer *Datagram
	// Err is a *NoAnswerError, matches [ErrRefused], or is a *StatusError.
	Err       error
	Tries     int           // sent
	RoundTrip time.Duration // of the try that was answered
}

// Source supplies the requests of [Engine.Run] and takes their results.
type Source interface {
	// Next fills in the next request, which is zero; false: there is none until Done is called. It
	// is called when the window has room.
	Next(r *Request) bool
	// Done takes the result of a request.
	Done(r *Reply)
}

// foreigner is a [Source] that is notified of answers that don't match their request.
type foreigner interface {
	// Foreign is called with the number of the request, which goes on.
	Foreign(id int, answer *mad.Header)
}

// Traffic counts the datagrams of an [Engine].
type Traffic struct {
	Sent    int // retries included
	Answers int // datagrams that answered a request, also as busy
	Retries int // requests sent again
	// Late counts answers, and reports of loss, of requests that had ended or, for reports, had
	// been sent again.
	Late    int
	Foreign int // answers that don't match their request
	// Window is the largest number of requests that were outstanding and not overdue.
	Window int
	// RoundTrip is the smoothed round-trip time of all destinations.
	RoundTrip time.Duration
}

// NewEngine returns an engine for the transport. window is the largest number of outstanding
// requests; 0: the value of the transport's method Window() int, or 32 if it has none.
func NewEngine(transport Transport, window int) *Engine {
	if window == 0 {
		window = windowOf(transport)
	}
	now := time.Now()
	return &Engine{
		transport: transport, start: now, pace: newPace(window), slots: slots{salt: firstTransaction(now)},
		peers: map[destination]*Peer{}, addressing: AddressingOf(transport),
	}
}

// windowOf returns the transport's limit of outstanding requests.
func windowOf(t Transport) int {
	if w, ok := t.(interface{ Window() int }); ok {
		return w.Window()
	}
	return defaultWindow
}

// Traffic returns the counts so far.
func (e *Engine) Traffic() Traffic {
	t := e.traffic
	t.RoundTrip = e.pace.trips.smoothed
	return t
}

// Outstanding returns the number of requests that have not ended.
func (e *Engine) Outstanding() int { return e.slots.live }

// InWindow returns the number of requests that hold a place in the window: those that are
// outstanding and not overdue.
func (e *Engine) InWindow() int { return e.inWindow }

// Run sends the requests of a source until all have ended and the source has no more (idle), until
// the given time, or until the context or the transport fails, with their error. A zero time is no
// limit. Requests that have not ended continue with the next Run, or end with [Engine.Abandon].
func (e *Engine) Run(ctx context.Context, source Source, until time.Time) (idle bool, err error) {
	for {
		if err := context.Cause(ctx); err != nil {
			return false, err
		}
		now := e.now()
		if !until.IsZero() && !e.start.Add(now).Before(until) {
			return false, nil
		}
		e.expire(source, now)
		e.fill(source, now)
		if err := e.flush(source); err != nil {
			return false, err
		}
		// A request that flush ended may have made room.
		if e.slots.live == 0 && !e.fill(source, now) && !e.posts(now) {
			return true, nil
		}
		n, err := e.transport.Receive(ctx, e.inbox[:], e.deadline(now, until))
		now = e.now()
		for i := range n {
			e.receive(source, &e.inbox[i], now)
		}
		if err != nil {
			return false, err
		}
	}
}

// postPatience is how long the transport may take to accept a datagram of Post.
const postPatience = time.Second

// Post sends a datagram that has no answer, such as the acknowledgement of a segment, with the
// transaction ID that it has. If the transport doesn't accept it at once, Run sends it within a
// second, or drops it. The error is that of the transport.
func (e *Engine) Post(d *Datagram) error {
	e.post[0] = *d
	e.post[0].Timeout = 0
	to := &e.post[0].Address
	e.addressing.Apply(to, mad.Class(d.MAD[classOffset]))
	for len(e.outbox) == 0 {
		n, err := e.transport.Send(e.post[:])
		if n > 0 {
			e.traffic.Sent += n
			e.addressing.Accepted(to)
			return nil
		}
		if err == nil {
			break
		}
		if !errors.Is(err, ErrRefused) || !e.addressing.AddGRH(to, err) {
			return err
		}
	}
	e.outbox = append(e.outbox, e.post[0])
	e.posted = e.now()
	return nil
}

// posts reports whether datagrams of Post are still to be sent. No request may be live: what else
// is in the outbox is removed.
func (e *Engine) posts(now time.Duration) bool {
	e.outbox = slices.DeleteFunc(e.outbox, func(d Datagram) bool { return d.Timeout > 0 })
	if now-e.posted >= postPatience {
		e.outbox = e.outbox[:0]
	}
	return len(e.outbox) > 0
}

// now returns the time since the engine's start.
func (e *Engine) now() time.Duration { return time.Since(e.start) }

// Abandon ends all outstanding requests without a result; ended, if not nil, is called with the
// number and the tries of each.
func (e *Engine) Abandon(ended func(id, tries int)) {
	for _, q := range e.slots.all {
		if q.live {
			e.end(q)
			if ended != nil {
				ended(q.ID, q.tries)
			}
		}
	}
	e.outbox = e.outbox[:0]
}

// one is the source of a single request.
type one struct {
	request *Request
	reply   Reply
	done    bool
}

// Next implements [Source].
func (o *one) Next(r *Request) bool {
	if o.request == nil {
		return false
	}
	*r, o.request = *o.request, nil
	return true
}

// Done implements [Source].
func (o *one) Done(r *Reply) { o.reply, o.done = *r, true }

// Do sends one request and waits for its result. The error is that of the reply, or that of the
// context or the transport; the reply then has no answer. No requests of Run may be outstanding.
func (e *Engine) Do(ctx context.Context, r *Request) (Reply, error) {
	o := one{request: r}
	_, err := e.Run(ctx, &o, time.Time{})
	if o.done {
		return o.reply, o.reply.Err
	}
	e.Abandon(nil)
	return Reply{ID: r.ID}, err
}

// ErrNoAnswer is the cause if a request was not answered: in Discover, if not even the local port
// answers.
var ErrNoAnswer = errors.New("no answer")

// NoAnswerError is the error of a request that was given up. It matches [ErrNoAnswer].
type NoAnswerError struct {
	Tries    int
	After    time.Duration // from the first try on
	Reported bool          // the transport has reported each try as lost
	Busy     bool          // a try was answered with [mad.StatusBusy]
	Foreign  bool          // an answer to a try didn't match the request
	// Sent is how a GMP was addressed; nil for SMPs, and for a transport without Addressing.
	Sent *Sent
}

// Error returns "no answer to 4 tries in 4s", for a GMP with ", sent with P_Key 0xffff (full
// member), SL 0, no GRH".
func (e *NoAnswerError) Error() string {
	if e.Sent != nil {
		return e.text() + ", sent with " + e.Sent.String()
	}
	return e.text()
}

func (e *NoAnswerError) text() string {
	switch {
	case e.Busy:
		return fmt.Sprintf("too busy to answer, or no answer, to %s in %v", tries(e.Tries), e.After)
	case e.Foreign:
		return fmt.Sprintf("no answer that matches the request, to %s in %v", tries(e.Tries), e.After)
	case e.Reported: // the time is not worth printing: the transport gave up by itself
		return fmt.Sprintf("the transport reports no answer to %s", tries(e.Tries))
	}
	return fmt.Sprintf("no answer to %s in %v", tries(e.Tries), e.After)
}

// alive reports whether something did answer, though not with what was asked for. The causes of a
// silence don't explain that, and another key wouldn't change it: agents drop what has a wrong one.
func (e *NoAnswerError) alive() bool { return e.Busy || e.Foreign }

// isSilence reports whether err is about a request to which nothing at all was answered.
func isSilence(err error) bool {
	if none, ok := errors.AsType[*NoAnswerError](err); ok && none.alive() {
		return false
	}
	return errors.Is(err, ErrNoAnswer)
}

// Is matches [ErrNoAnswer].
func (e *NoAnswerError) Is(target error) bool { return target == ErrNoAnswer }

// retriesOf returns the number of retries that Request.Retries stands for.
func retriesOf(n int) int {
	const usual = 3
	return min(max(0, cmp.Or(n, usual)), maxTries-1)
}

func tries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

// StatusError is the error of a request that was answered with a nonzero status.
type StatusError struct{ Status mad.Status }

// Error implements error.
func (e *StatusError) Error() string { return "refused: " + e.Status.String() }
