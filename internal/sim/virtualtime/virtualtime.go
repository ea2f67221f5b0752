// Package virtualtime runs a program on a clock that moves only when nothing is left to do at the
// time that it shows: an emulation then takes as long as its computing, and what it measures
// doesn't depend on the machine or its load.
//
//	m := new(clock.Manual)
//	stop := virtualtime.Drive(m)
//	defer stop()
//	// goroutines that take their time from m
//
// # How it knows that nothing is left to do
//
// While the clock is driven, the program runs on one processor (GOMAXPROCS 1). The driver is a
// goroutine that yields to all others; when it runs again and the scheduler has no goroutine that
// is ready, running or in a system call (runtime/metrics), then all of them wait: for each other,
// or for the clock. The driver then moves the clock to the next call of [clock.Manual.AfterFunc].
//
// A system call that takes longer than 200 ms counts as one that doesn't end, such as that in which
// os/signal waits.
//
// Goroutines must not wait for anything else than each other and the clock, such as sockets or the
// system's timers: the clock would pass by them. Spinning stops the clock.
package virtualtime

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
)

// Drive begins to move a clock and returns a function that ends it. One clock can be driven at a
// time. The function may be called more than once; it returns when the driver has ended.
func Drive(m *clock.Manual) (stop func()) {
	d := &driver{m: m, done: make(chan struct{}), ended: make(chan struct{}), samples: [...]metrics.Sample{
		{Name: "/sched/goroutines/runnable:goroutines"},
		{Name: "/sched/goroutines/running:goroutines"},
		{Name: "/sched/goroutines/not-in-go:goroutines"},
	}}
	before := runtime.GOMAXPROCS(1)
	d.outside = d.read().outside
	go d.run()
	var once sync.Once
	return func() {
		once.Do(func() {
			close(d.done)
			<-d.ended
			runtime.GOMAXPROCS(before)
		})
	}
}

type driver struct {
	m           *clock.Manual
	done, ended chan struct{}
	outside     uint64 // goroutines that are in system calls all the time, such as that of signals
	samples     [3]metrics.Sample
}

// counts are numbers of goroutines by state.
type counts struct{ ready, running, outside uint64 }

// read returns the numbers of goroutines. With one processor they don't change while the driver
// runs, except for those that return from system calls.
func (d *driver) read() counts {
	metrics.Read(d.samples[:])
	return counts{d.samples[0].Value.Uint64(), d.samples[1].Value.Uint64(), d.samples[2].Value.Uint64()}
}

const (
	// idle is how long the driver waits when neither a goroutine nor the clock has anything to do.
	idle = 100 * time.Microsecond
	// forever is how long a system call takes that stands for those that don't end, such as that in
	// which os/signal waits: the driver doesn't wait for it any longer.
	forever = 200 * time.Millisecond
)

func (d *driver) run() {
	defer close(d.ended)
	var since time.Time // when the driver began to wait for system calls
	for {
		select {
		case <-d.done:
			return
		default:
		}
		runtime.Gosched()
		c := d.read()
		if c.ready > 0 || c.running > 1 {
			continue
		}
		next, ok := d.m.Next()
		if ok && c.outside > d.outside {
			if since.IsZero() {
				since = time.Now()
			}
			if time.Since(since) > forever {
				d.outside = c.outside
			}
		}
		if !ok || c.outside > d.outside {
			time.Sleep(idle)
			continue
		}
		since = time.Time{}
		d.m.Advance(next)
	}
}
