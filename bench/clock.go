package bench

import (
	"errors"
	"time"
)

// ErrNothingMeasured is the error for a test of a duration without a result.
var ErrNothingMeasured = errors.New("no message fell into the measured time: does the other end run with the same -D or -n?")

// clock says when a test of a duration counts and when it is over.
type clock struct {
	begin          time.Time
	from, to, last time.Duration // since begin: counting begins, counting ends, sending ends
}

func (c *Config) clock() *clock {
	return &clock{begin: time.Now(), from: c.Margin, to: c.Duration - c.Margin, last: c.Duration}
}

func (c *clock) now() time.Duration           { return time.Since(c.begin) }
func (c *clock) counts(at time.Duration) bool { return at >= c.from && at < c.to }

// bandwidth makes a point of the messages that counted, if there were any.
func (c *clock) bandwidth(size int, counted uint64) (BandwidthPoint, error) {
	if counted == 0 {
		return BandwidthPoint{}, ErrNothingMeasured
	}
	return bandwidthPoint(size, counted, (c.to - c.from).Seconds(), 0), nil
}
