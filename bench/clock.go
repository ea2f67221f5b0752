package bench

import "time"

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
