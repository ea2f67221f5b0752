package ibverbs

import (
	"context"
	"os"
	"sync"
)

// handle counts the calls that use a C object, so that the object is freed after the last call has
// returned, even if it was closed earlier.
type handle struct {
	free func() error // frees the C object; set once, before use

	mu     sync.Mutex
	users  int
	closed bool
}

// acquire keeps the object open until release. It fails with os.ErrClosed after close.
func (h *handle) acquire() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return os.ErrClosed
	}
	h.users++
	return nil
}

// acquireIn is like acquire, but fails if ctx has ended.
func (h *handle) acquireIn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return h.acquire()
}

func (h *handle) release() {
	h.mu.Lock()
	h.users--
	last := h.closed && h.users == 0
	h.mu.Unlock()
	if last {
		_ = h.free() // close has already returned, so nobody gets the error
	}
}

// close frees the object, or leaves that to the last release. It is idempotent.
func (h *handle) close() error {
	h.mu.Lock()
	now := !h.closed && h.users == 0
	h.closed = true
	h.mu.Unlock()
	if !now {
		return nil
	}
	return h.free()
}
