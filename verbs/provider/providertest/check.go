package providertest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// check is one run of a rule: its devices, and what it has found. It resembles testing.T; unlike
// that, a failure can be a known one.
type check struct {
	pair    Pair
	options *Options
	short   bool
	wait    time.Duration // how long to wait for something that is to happen soon
	done    chan struct{}
	absent  string // why the rule is not applicable; set before done is closed

	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func newCheck(pair Pair, options *Options, short bool) *check {
	for _, e := range []*Endpoint{&pair.A, &pair.B} {
		e.Port = max(1, e.Port)
	}
	return &check{pair: pair, options: options, short: short, wait: options.Limit / 6, done: make(chan struct{})}
}

// execute runs a rule, closes its objects and devices, and returns the failures.
func (c *check) execute(r rule) []string {
	go func() {
		defer close(c.done)
		defer c.cleanUp()
		r.run(c)
	}()
	timer := time.NewTimer(c.options.Limit)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		stacks := make([]byte, 1<<16)
		stacks = stacks[:runtime.Stack(stacks, true)]
		c.errorf("the rule takes more than %v; its goroutines are left behind:\n%s", c.options.Limit, stacks)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failures
}

// cleanUp closes what the rule has created, the newest first, and the devices.
func (c *check) cleanUp() {
	for _, f := range slices.Backward(c.cleanups) {
		f()
	}
	for _, err := range c.pair.close() {
		c.errorf("%v", err)
	}
}

// errorf records a failure.
func (c *check) errorf(format string, args ...any) {
	text := where() + ": " + fmt.Sprintf(format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = append(c.failures, text)
}

// fatalf records a failure and ends the rule. Only the goroutine of the rule may call it.
func (c *check) fatalf(format string, args ...any) {
	c.errorf(format, args...)
	runtime.Goexit()
}

// notApplicable ends the rule: the devices can't have it.
func (c *check) notApplicable(why string) {
	c.absent = why
	runtime.Goexit()
}

// byNumber ends a rule that connects queue pairs by exchange of numbers, or twice, where that isn't
// possible.
func (c *check) byNumber() {
	if c.options.ByConnector {
		c.notApplicable("changes states without a Connector")
	}
}

// must ends the rule if there is an error.
func (c *check) must(err error) {
	if err != nil {
		c.fatalf("%v", err)
	}
}

// where returns the lines of this package that led to a failure, the innermost first.
func where() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	var lines []string
	for {
		f, more := frames.Next()
		file := filepath.Base(f.File)
		if strings.Contains(f.Function, "/providertest.") && file != "check.go" {
			lines = append(lines, fmt.Sprintf("%s:%d", file, f.Line))
		}
		if !more {
			return strings.Join(lines, " < ")
		}
	}
}

// closer is an object of a provider.
type closer interface{ Close() error }

// closeLater closes an object at the end of the rule, unless the rule has closed it before.
func (c *check) closeLater(what string, o closer) {
	c.cleanups = append(c.cleanups, func() {
		if err := o.Close(); err != nil {
			c.errorf("close %s at the end: %v", what, err)
		}
	})
}

// patience returns a context for something that is to happen soon: it ends before the rule does.
func (c *check) patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), c.wait)
}

// quiet waits for as long as it takes to see that nothing happens.
func (c *check) quiet() { time.Sleep(c.options.Quiet) }

// eventually waits until f returns true, and reports whether it did.
func (c *check) eventually(f func() bool) bool {
	for end := time.Now().Add(c.wait); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if f() {
			return true
		}
	}
	return false
}

// wantError reports a missing error, or one that doesn't match target, if that isn't nil.
func (c *check) wantError(what string, err, target error) {
	switch {
	case err == nil && target == nil:
		c.errorf("%s returns no error", what)
	case target != nil && !errors.Is(err, target):
		c.errorf("%s = %v, want an error that matches %q", what, err, target)
	}
}

// has reports whether both devices have the capabilities.
func (c *check) has(want provider.Capabilities) bool {
	return c.pair.A.Device.Capabilities().Has(want) && c.pair.B.Device.Capabilities().Has(want)
}

// shorter returns n, or a smaller number in -short mode and over networks whose losses take time.
func (c *check) shorter(n, short int) int {
	if c.short || c.options.Lossy {
		return short
	}
	return n
}

// devices returns the devices of the pair, each once.
func (c *check) devices() []provider.Device {
	if c.pair.A.Device == c.pair.B.Device {
		return []provider.Device{c.pair.A.Device}
	}
	return []provider.Device{c.pair.A.Device, c.pair.B.Device}
}
