package bench

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// Vendor IDs of the kernel's rxe and siw; that of engines, and of rxe in old kernels, is 0.
// perftest uses no inline data with devices that it doesn't know.
const (
	vendorRXE = 0xffffff
	vendorSIW = 0x626d74
)

// InlineError is the error for more bytes inline than a queue pair of the device takes.
type InlineError struct {
	Bytes int // the configured size
	Err   error
}

// Error implements error.
func (e *InlineError) Error() string { return fmt.Sprintf("%d bytes inline: %v", e.Bytes, e.Err) }

// Unwrap returns the device's error.
func (e *InlineError) Unwrap() error { return e.Err }

// Hints returns what to change.
func (e *InlineError) Hints() []string {
	return []string{"the device creates queue pairs with less inline data: use a smaller --inline, or 0 for none"}
}

// inlineDefault returns perftest's default of Config.Inline: only latency tests have one, and only
// with cards.
func (c *Config) inlineDefault(device *verbs.Device) int {
	switch device.Attributes().VendorID {
	case 0, vendorRXE, vendorSIW:
		return 0
	}
	if !c.Test.IsLatency() || !device.Capabilities().Has(provider.CapInline) {
		return 0
	}
	switch {
	case c.Test.Op() == verbs.SendOpWrite:
		return 220
	case c.Test.Op() == verbs.SendOpSend && c.QPType == verbs.QPTypeUD:
		return 188
	case c.Test.Op() == verbs.SendOpSend:
		return 236
	}
	return 0
}

// smallerInline are the defaults that perftest has for cards that can't do 220 bytes, largest
// first.
func smallerInline() []int { return []int{128, 101, 96, 64, 48, 32, 0} }

// inlineSize returns the inline size of a test's queue pairs: the configured one, or the largest
// default that the device grants. An error names the size.
func inlineSize(
	device *verbs.Device, pd *verbs.ProtectionDomain, cfg *Config, sends, recvs *verbs.CompletionQueue,
) (int, error) {
	if cfg.Inline < 0 || cfg.Test.Op() == verbs.SendOpRead {
		return 0, nil
	}
	try := func(size int) error {
		qp, err := pd.CreateQP(verbs.QPConfig{
			Type: cfg.QPType, SendCQ: sends, RecvCQ: recvs, Capacity: cfg.capacity(size),
		})
		if err != nil {
			return err
		}
		return qp.Close()
	}
	if cfg.Inline > 0 {
		err := try(cfg.Inline)
		if err != nil && try(0) == nil {
			err = &InlineError{Bytes: cfg.Inline, Err: err}
		}
		return cfg.Inline, err
	}
	size := cfg.inlineDefault(device)
	if size == 0 {
		return 0, nil
	}
	var last error
	for _, n := range slices.Concat([]int{size}, smallerInline()) {
		err := try(n)
		if err == nil {
			return n, nil
		}
		last = err
	}
	return 0, last // that of a queue pair without inline data
}
