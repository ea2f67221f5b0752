package ibverbs

import (
	"context"
	"os"
	"sync"
)

// handle counts the calls that use a C object, so that it is freed after the last one, whoever
// closed it and however long a driver takes.
type handle struct {
	free func() error // frees the C object; set once, before use

	mu     sync.Mutex
	users  int
	closed bool
}

// acquire keeps the object until release. It fails with os.ErrClosed after close.
func (h *handle) acquire() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return os.ErrClosed
	}
	h.users++
	return nil
}

// acquireIn is acquire unless ctx has ended.
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
		_ = h.free() // who closed it has left long ago
	}
}

// close frees the object, or leaves that to the last user. It is idempotent.
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
