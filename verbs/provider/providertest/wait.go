package providertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// waitModes are the modes of Wait, with names for rules.
var waitModes = []struct {
	mode provider.WaitMode
	name string
}{
	{provider.WaitHybrid, "hybrid"}, {provider.WaitEvent, "event"}, {provider.WaitBusy, "busy"},
}

func waitRules() []rule {
	var list []rule
	for _, m := range waitModes {
		for _, r := range []struct {
			name  string
			needs provider.Capabilities
			run   func(*check, provider.WaitMode)
		}{
			{"gets", provider.CapRC, checkWaitGets},
			{"ends-with-context", 0, checkWaitContext},
			{"ends-with-close", 0, checkWaitClose},
			{"several-waiters", provider.CapRC, checkWaiters},
			{"wakes-all", provider.CapRC, checkWakesAll},
			{"ping-pong", provider.CapRC, checkPingPong},
		} {
			list = append(list, rule{m.name + "-" + r.name, r.needs, func(c *check) { r.run(c, m.mode) }})
		}
	}
	return append(
		list,
		rule{"no-room", 0, checkWaitNoRoom},
		rule{"poll-and-wait", provider.CapRC, checkPollAndWait},
		rule{"overrun", provider.CapRC, checkWaitOverrun},
	)
}

// checkWaitGets checks Wait for completions that are there already and for ones that come later,
// and that it returns no more than there is room for.
func checkWaitGets(c *check, mode provider.WaitMode) {
	config := provider.CQConfig{Wait: mode}
	a, b := c.connected(shape{sends: config, receives: config})
	ctx, cancel := c.patience()
	defer cancel()
	var wcs [3]provider.WorkCompletion
	for id := range uint64(5) {
		a.post(a.request(id, provider.SendOpWrite, 8, b))
	}
	time.Sleep(c.options.Quiet)
	var got []provider.WorkCompletion
	for len(got) < 5 {
		n, err := a.sends.Wait(ctx, wcs[:])
		if n < 1 || err != nil {
			c.fatalf("Wait = %d, %v", n, err)
		}
		got = append(got, wcs[:n]...)
	}
	c.expect("completions that were there", got, success(0, 4)...)
	b.postReceive(b.room(7, 0, 8))
	sent := make(chan int, 1)
	go func() {
		time.Sleep(c.options.Quiet)
		n, _ := a.qp.PostSend([]provider.SendRequest{a.request(8, provider.SendOpSend, 8, b)})
		sent <- n
	}()
	n, err := b.receives.Wait(ctx, wcs[:])
	if err != nil {
		c.fatalf("Wait = %v", err)
	}
	c.expect("completion that came later", wcs[:n], success(7, 7)...)
	if <-sent != 1 {
		c.errorf("the peer's PostSend has failed")
	}
}

// checkWaitContext checks that Wait returns soon after its context ends, with its error, and loses
// nothing.
func checkWaitContext(c *check, mode provider.WaitMode) {
	cq := c.cq(c.pair.A.Device, provider.CQConfig{Wait: mode})
	var wcs [1]provider.WorkCompletion
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	later, cancel := context.WithCancel(context.Background())
	go func() { time.Sleep(c.options.Quiet); cancel() }()
	expires, cancel2 := context.WithTimeout(context.Background(), c.options.Quiet)
	defer cancel2()
	try := func(ctx context.Context, what string, want error) {
		n, err := cq.Wait(ctx, wcs[:])
		if n != 0 || !errors.Is(err, want) {
			c.errorf("Wait with a context %s = %d, %v, want %v", what, n, err, want)
		}
	}
	try(canceled, "that was canceled", context.Canceled)
	try(later, "that is canceled", context.Canceled)
	try(expires, "that expires", context.DeadlineExceeded)
	if n, err := cq.Poll(wcs[:]); n != 0 || err != nil {
		c.errorf("Poll after Wait was canceled = %d, %v", n, err)
	}
}

// checkWaitClose checks that Close of a queue wakes all who wait for it.
func checkWaitClose(c *check, mode provider.WaitMode) {
	cq := c.cq(c.pair.A.Device, provider.CQConfig{Wait: mode})
	const waiters = 2
	ended := make(chan error, waiters)
	for range waiters {
		go func() {
			ctx, cancel := c.patience()
			defer cancel()
			_, err := cq.Wait(ctx, make([]provider.WorkCompletion, 1))
			ended <- err
		}()
	}
	c.quiet()
	c.must(cq.Close())
	for range waiters {
		if err := <-ended; !errors.Is(err, provider.ErrClosed) {
			c.errorf("Wait for a queue that is closed = %v, want ErrClosed", err)
		}
	}
}

// checkWaiters checks that several goroutines that wait for one queue get each completion once
// between them, those that come together included.
func checkWaiters(c *check, mode provider.WaitMode) {
	const waiters, n = 3, 30
	a, b := c.connected(shape{sends: provider.CQConfig{Wait: mode}})
	ids := make(chan uint64, 2*n)
	var wg sync.WaitGroup
	ctx, cancel := c.patience()
	defer cancel()
	for range waiters {
		wg.Go(func() {
			for range n / waiters { // each gets its share
				var wcs [1]provider.WorkCompletion
				if k, err := a.sends.Wait(ctx, wcs[:]); k != 1 || err != nil || wcs[0].Status != provider.WCSuccess {
					c.errorf("Wait = %d, %v, %+v", k, err, wcs[0])
					return
				}
				ids <- wcs[0].ID
			}
		})
	}
	c.quiet()
	var wrs []provider.SendRequest
	for id := range uint64(n) {
		wrs = append(wrs, a.request(id, provider.SendOpWrite, 8, b))
	}
	a.post(wrs...)
	wg.Wait()
	close(ids)
	seen := map[uint64]bool{}
	for id := range ids {
		if seen[id] {
			c.errorf("completion %d was returned twice", id)
		}
		seen[id] = true
	}
	if len(seen) != n {
		c.errorf("%d completions, want %d", len(seen), n)
	}
}

// checkWakesAll checks that completions that come together wake as many goroutines, each of which
// takes one and doesn't come back.
func checkWakesAll(c *check, mode provider.WaitMode) {
	const waiters = 4
	for range 5 {
		a, b := c.connected(shape{sends: provider.CQConfig{Wait: mode}})
		ended := make(chan error, waiters)
		for id := range uint64(waiters) {
			a.post(a.request(id, provider.SendOpSend, 8, b)) // waits for a receive request
			go func() {
				ctx, cancel := c.patience()
				defer cancel()
				_, err := a.sends.Wait(ctx, make([]provider.WorkCompletion, 1))
				ended <- err
			}()
		}
		c.quiet()
		a.fail()
		for range waiters {
			if err := <-ended; err != nil {
				c.fatalf("one of %d goroutines, as many as completions, isn't woken: %v", waiters, err)
			}
		}
	}
}

// checkPingPong checks that two goroutines that answer each other's messages never wait in vain: a
// completion that comes while a queue is being armed isn't missed (ibv_get_cq_event, example).
func checkPingPong(c *check, mode provider.WaitMode) {
	rounds := c.shorter(200, 50)
	config := provider.CQConfig{Wait: mode}
	a, b := c.connected(shape{sends: config, receives: config})
	ctx, cancel := c.patience()
	defer cancel()
	one := func(e, peer *end, first bool) error {
		var wcs [1]provider.WorkCompletion
		for i := range rounds {
			steps := []func() error{
				func() error {
					wr := e.request(uint64(i), provider.SendOpSend, 8, peer)
					_, err := e.qp.PostSend([]provider.SendRequest{wr})
					return err
				},
				func() error { _, err := e.sends.Wait(ctx, wcs[:]); return err },
				func() error { _, err := e.receives.Wait(ctx, wcs[:]); return err },
				func() error {
					_, err := e.qp.PostReceive([]provider.ReceiveRequest{e.room(0, 64, 8)})
					return err
				},
			}
			if !first { // receive, then send
				steps = []func() error{steps[2], steps[3], steps[0], steps[1]}
			}
			for _, step := range steps {
				if err := step(); err != nil {
					return fmt.Errorf("round %d: %w", i, err)
				}
			}
		}
		return nil
	}
	a.postReceive(a.room(0, 64, 8))
	b.postReceive(b.room(0, 64, 8))
	ended := make(chan error, 1)
	go func() { ended <- one(b, a, false) }()
	if err := one(a, b, true); err != nil {
		c.errorf("first end: %v", err)
	}
	if err := <-ended; err != nil {
		c.errorf("second end: %v", err)
	}
}

// checkWaitNoRoom checks that Wait without room for a completion is an error and doesn't wait.
func checkWaitNoRoom(c *check) {
	for _, m := range waitModes {
		cq := c.cq(c.pair.A.Device, provider.CQConfig{Wait: m.mode})
		_, err := cq.Wait(context.Background(), nil)
		c.wantError("Wait without room", err, nil)
	}
}

// checkPollAndWait checks that a queue may be polled while another goroutine waits for it: each
// completion goes to one of them.
func checkPollAndWait(c *check) {
	const n = 50
	a, b := c.connected(shape{})
	ctx, stop := c.patience()
	defer stop()
	var got atomic.Int32
	ended := make(chan error, 1)
	go func() {
		for {
			var wcs [2]provider.WorkCompletion
			k, err := a.sends.Wait(ctx, wcs[:])
			got.Add(int32(k))
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	poll := func() bool {
		var wcs [2]provider.WorkCompletion
		k, err := a.sends.Poll(wcs[:])
		c.must(err)
		return got.Add(int32(k)) >= n
	}
	for id := range uint64(n) {
		a.post(a.request(id, provider.SendOpWrite, 8, b))
		poll()
		time.Sleep(100 * time.Microsecond)
	}
	all := c.eventually(poll)
	c.quiet()
	stop()
	c.wantError("Wait with a context that is canceled", <-ended, context.Canceled)
	if !all || got.Load() != n {
		c.errorf("%d completions were polled and waited for together, want %d", got.Load(), n)
	}
}

// checkWaitOverrun checks that Wait doesn't wait for ever on a queue that has overrun, if the
// provider reports that by an error.
func checkWaitOverrun(c *check) {
	a := c.end(c.pair.A, shape{sends: provider.CQConfig{Depth: 1}})
	n := a.sends.Depth() + 4
	a.qp = c.qp(a.pd, provider.QPConfig{
		SendCQ: a.sends, RecvCQ: a.receives, Capacity: provider.QPCapacity{MaxSendWR: n},
	})
	attr := provider.QPAttributes{Port: a.at.Port}
	c.must(step(a.qp, provider.QPStateReset, provider.QPStateInit, attr))
	a.fail()
	for range n {
		if _, err := a.qp.PostSend([]provider.SendRequest{{}}); err != nil {
			break
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*c.options.Quiet)
	defer cancel()
	for {
		var wcs [8]provider.WorkCompletion
		if _, err := a.sends.Wait(ctx, wcs[:]); err != nil {
			if device := c.has(provider.CapEvents) && errors.Is(err, context.DeadlineExceeded); !device &&
				!errors.Is(err, provider.ErrOverrun) {
				c.errorf("Wait for a queue that has overrun = %v, want ErrOverrun", err)
			}
			return
		}
	}
}
