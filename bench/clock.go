package bench

import (
	"errors"
	"fmt"
	"time"
)

// ErrNothingMeasured is the error of a test with a duration in whose measured time no message fell.
var ErrNothingMeasured = errors.New(
	"no message fell into the measured time: does the other end run with the same -D or -n?")

// ErrCutShort is matched by the error for a test with a duration whose messages ended before the
// measured time did. The peer uses a number of messages or a shorter duration, so the result would
// include time without messages.
var ErrCutShort = errors.New(
	"the messages ended before the measured time: does the other end run with the same -D, and without -n?")

// clock determines the measured time and the end of a test with a duration.
type clock struct {
	begin           time.Time
	from, to, last  time.Duration // since begin: start and end of the measured time, end of sending
	latest, longest time.Duration // when messages were last seen, and the longest gap between messages
}

// clock starts the clock of a measurement, and the meter of the CPUs if one is wanted.
func (r *rig) clock() *clock {
	c := &r.cfg
	if c.CPUUtil {
		r.meter.start(c.Margin, c.Duration-c.Margin)
	}
	return &clock{begin: time.Now(), from: c.Margin, to: c.Duration - c.Margin, last: c.Duration}
}

func (c *clock) now() time.Duration           { return time.Since(c.begin) }
func (c *clock) counts(at time.Duration) bool { return at >= c.from && at < c.to }

// saw records that n messages were sent or received.
func (c *clock) saw(at time.Duration, n int) {
	if n == 0 {
		return
	}
	c.longest = max(c.longest, at-c.latest)
	c.latest = at
}

// quietShare is the fraction of the duration that may pass without a message at the end, whatever
// the margin.
const quietShare = 10

// check returns an error if messages ended before the measured time did. A gap at the end counts as
// such only if it is twice as long as any gap before: a lost packet also causes a gap, which ends
// after the timeout.
func (c *clock) check() error {
	quiet := c.last - c.latest
	if c.latest >= c.to || quiet < c.last/quietShare || quiet <= 2*c.longest {
		return nil
	}
	return fmt.Errorf("after %v of %v: %w", c.latest.Round(time.Millisecond), c.last, ErrCutShort)
}

// bandwidth returns the result from the measured messages, if there were any.
func (c *clock) bandwidth(size int, counted uint64) (BandwidthPoint, error) {
	if counted == 0 {
		return BandwidthPoint{}, ErrNothingMeasured
	}
	if err := c.check(); err != nil {
		return BandwidthPoint{}, err
	}
	return bandwidthPoint(size, counted, (c.to - c.from).Seconds(), 0), nil
}
