package bench

import (
	"fmt"

	"github.com/rdmakit/rdmakit/verbs"
)

// isIWARP reports whether a device is one of iWARP: it has connections, and no immediate data.
func isIWARP(d *verbs.Device) bool {
	c := d.Capabilities()
	return c.Has(verbs.CapRC) && !c.Has(verbs.CapImmediate)
}

// IWARPError is the error of a test that an iWARP device can't run. It matches
// verbs.ErrNotSupported.
type IWARPError struct {
	Cause string // what iWARP hasn't
	Hint  string // what works
}

// Error implements error.
func (e *IWARPError) Error() string { return "an iWARP device: " + e.Cause }

// Is reports whether target is verbs.ErrNotSupported.
func (e *IWARPError) Is(target error) bool { return target == verbs.ErrNotSupported }

// Hints returns what works.
func (e *IWARPError) Hints() []string { return []string{e.Hint} }

// checkIWARP rejects what iWARP hasn't, apart from ways to connect. The configuration has its
// defaults.
func (c *Config) checkIWARP(d *verbs.Device) error {
	if !isIWARP(d) {
		return nil
	}
	switch most := (c.RxDepth + 1) / 2; {
	case c.QPType != verbs.QPTypeRC:
		return &IWARPError{
			Cause: fmt.Sprintf("its queue pairs are connections (RC), it has none of type %v", c.QPType),
			Hint:  "without -c, the queue pairs are of type RC",
		}
	case c.Test == SendBW && c.PostList > most:
		return &IWARPError{
			Cause: fmt.Sprintf("it needs a receive request for each SEND: a post list of %d is more than half of "+
				"the rx depth %d", c.PostList, c.RxDepth),
			Hint: fmt.Sprintf("a post list of at most %d, or a larger rx depth at both ends", most),
		}
	}
	return nil
}
