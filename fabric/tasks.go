package fabric

import (
	"cmp"
	"context"
	"iter"
	"time"
)

// Tasks runs tasks side by side. Each of them sends one request after the other, as with
// [Client.Call]; an [Engine] sends the requests of all, so that silent destinations wait at the
// same time and don't delay others.
//
//	tasks := fabric.Tasks{Next: func() func(*fabric.Caller) {
//		if len(lids) == 0 { return nil }
//		lid := lids[0]; lids = lids[1:]
//		return func(c *fabric.Caller) { … c.Call(ctx, &d) … } // several times
//	}}
//	err := tasks.Run(ctx, fabric.NewEngine(transport, 0))
//
// The tasks are coroutines: only one of them runs at a time, until its next call, and they may
// share data without locks.
type Tasks struct {
	// Next returns the next task; nil: there is none until another task has got an answer or ended.
	// It is called when the window has room.
	Next func() func(*Caller)
	// Timeout is that of [Request]. Retries is how often a request is sent again; 0: 2, as in
	// [Client]; negative: never.
	Timeout time.Duration
	Retries int
	// ReadPKeys and Keys are those of [Client].
	ReadPKeys bool
	Keys      Keys

	keyReader keyReader
	all       []*Caller
	free      fifo[int]     // places in all
	ready     fifo[*Caller] // their requests are to be sent
	failed    error
}

// Caller sends the requests of one task.
type Caller struct {
	tasks *Tasks
	id    int // the place in Tasks.all
	d     *Datagram
	// of the request d
	timeout time.Duration
	retries int
	err     error
	resume  func() (struct{}, bool)
	yield   func(struct{}) bool
}

// Run runs the tasks until all have ended and Next returns nil. If the context or the transport
// fails, all calls of the tasks that run return that error, and so does Run once they have ended;
// no more are started. No requests of the engine may be outstanding.
func (t *Tasks) Run(ctx context.Context, e *Engine) error {
	t.failed = nil
	t.keyReader.keys, t.keyReader.addressing = &t.Keys, e.addressing
	_, t.failed = e.Run(ctx, taskSource{t}, time.Time{})
	if t.failed == nil {
		return nil
	}
	e.Abandon(nil)
	for _, c := range t.all {
		if c != nil {
			c.err = t.failed
			t.advance(c)
		}
	}
	return t.failed
}

// Call sends a request, with retries, and overwrites it with the answer, as [Client.Call] does.
func (c *Caller) Call(ctx context.Context, d *Datagram) error {
	t := c.tasks
	retries := cmp.Or(t.Retries, 2)
	if !t.ReadPKeys {
		return c.once(ctx, d, t.Timeout, retries)
	}
	return t.keyReader.call(ctx, d, t.Timeout, retries, c.once)
}

// once leaves a request to the engine, and lets other tasks run until its end.
func (c *Caller) once(ctx context.Context, d *Datagram, timeout time.Duration, retries int) error {
	if err := cmp.Or(context.Cause(ctx), c.tasks.failed); err != nil {
		return err
	}
	c.d, c.timeout, c.retries = d, timeout, retries
	c.yield(struct{}{})
	return c.err
}

// start begins a task.
func (t *Tasks) start(task func(*Caller)) {
	c := &Caller{tasks: t, id: len(t.all)}
	if t.free.len() > 0 {
		c.id = t.free.pop()
		t.all[c.id] = c
	} else {
		t.all = append(t.all, c)
	}
	c.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		task(c)
	})
	t.advance(c)
}

// advance runs a task until its next call, or its end.
func (t *Tasks) advance(c *Caller) {
	if _, calls := c.resume(); calls {
		t.ready.push(c)
		return
	}
	t.all[c.id] = nil
	t.free.push(c.id)
}

// taskSource is the [Source] of the requests of tasks.
type taskSource struct{ *Tasks }

// Next implements [Source].
func (s taskSource) Next(r *Request) bool {
	t := s.Tasks
	for t.ready.len() == 0 {
		task := t.Next()
		if task == nil {
			return false
		}
		t.start(task)
	}
	c := t.ready.pop()
	r.ID, r.Address, r.MAD = c.id, c.d.Address, c.d.MAD
	r.Timeout, r.Retries = c.timeout, c.retries
	return true
}

// Done implements [Source].
func (s taskSource) Done(r *Reply) {
	c := s.all[r.ID]
	if r.Answer != nil {
		*c.d = *r.Answer
	}
	c.err = r.Err
	s.advance(c)
}
