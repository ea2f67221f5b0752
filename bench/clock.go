package bench

import (
	"errors"
	"fmt"
	"time"
)

// ErrNothingMeasured is the error for a test of a duration without a result.
var ErrNothingMeasured = errors.New(
	"no message fell into the measured time: does the other end run with the same -D or -n?")

// ErrCutShort is matched by the error for a test of a duration whose messages ended
// before the measured time: the peer has a number of messages, or a shorter time, and
// the figure would be of time in which nothing was to come.
var ErrCutShort = errors.New(
	"the messages ended before the measured time: does the other end run with the same -D, and without -n?")

// clock says when a test of a duration counts and when it is over.
type clock struct {
	begin           time.Time
	from, to, last  time.Duration // since begin: counting begins, counting ends, sending ends
	latest, longest time.Duration // when messages were last seen, and the longest wait for some
}

func (c *Config) clock() *clock {
	return &clock{begin: time.Now(), from: c.Margin, to: c.Duration - c.Margin, last: c.Duration}
}

func (c *clock) now() time.Duration           { return time.Since(c.begin) }
func (c *clock) counts(at time.Duration) bool { return at >= c.from && at < c.to }

// saw is told that n messages came or went.
func (c *clock) saw(at time.Duration, n int) {
	if n == 0 {
		return
	}
	c.longest = max(c.longest, at-c.latest)
	c.latest = at
}

// quietShare is which part of the duration may pass without a message at the end, whatever
// the margin.
const quietShare = 10

// check says whether messages came as long as they were measured. A silence that lasts up to the
// end counts as theirs if it is twice as long as any before it: what a lost packet stops goes on
// after its timeout.
func (c *clock) check() error {
	quiet := c.last - c.latest
	if c.latest >= c.to || quiet < c.last/quietShare || quiet <= 2*c.longest {
		return nil
	}
	return fmt.Errorf("after %v of %v: %w", c.latest.Round(time.Millisecond), c.last, ErrCutShort)
}

// bandwidth makes a point of the messages that counted, if there were any.
func (c *clock) bandwidth(size int, counted uint64) (BandwidthPoint, error) {
	if counted == 0 {
		return BandwidthPoint{}, ErrNothingMeasured
	}
	if err := c.check(); err != nil {
		return BandwidthPoint{}, err
	}
	return bandwidthPoint(size, counted, (c.to - c.from).Seconds(), 0), nil
}
