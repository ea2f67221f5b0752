package ibverbs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// eventFile waits for a file of the library, that of a completion channel or that of asynchronous
// events, in Go's poller. The library reads from it; it never blocks.
type eventFile struct {
	file *os.File
	conn syscall.RawConn
	turn chan struct{} // holds one element while a goroutine waits
	done chan struct{} // closed by close
	once sync.Once
}

// newEventFile duplicates a descriptor of the library, which closes its own.
func newEventFile(fd int32, name string) (*eventFile, error) {
	own, err := dupNonblocking(int(fd))
	if err != nil {
		return nil, fmt.Errorf("%s: file descriptor %d: %w", name, fd, err)
	}
	e := &eventFile{
		file: os.NewFile(uintptr(own), name), turn: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if e.conn, err = e.file.SyscallConn(); err != nil {
		_ = e.file.Close() // the error to return is the other one
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return e, nil
}

// close wakes the goroutines in wait. A second call does nothing.
func (e *eventFile) close() {
	e.once.Do(func() {
		close(e.done)
		_ = e.file.Close() // nothing is written
	})
}

func (e *eventFile) closed() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// wait calls try, and again whenever the file becomes readable, until try returns true. It returns
// an error if ctx ends or the file is closed. One goroutine at a time waits for the file, since
// only one deadline can be set; the others wait for their turn.
func (e *eventFile) wait(ctx context.Context, what string, try func() bool) error {
	select {
	case e.turn <- struct{}{}:
	case <-e.done:
		return fmt.Errorf("wait for %s: %w", what, provider.ErrClosed)
	case <-ctx.Done():
		return waitError(ctx, what)
	}
	defer func() { <-e.turn }()
	set := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(set)
		_ = e.file.SetReadDeadline(longAgo) // fails only when the file is closed
	})
	err := e.conn.Read(func(uintptr) bool { return try() })
	if !stop() {
		<-set
		_ = e.file.SetReadDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return waitError(ctx, what)
	case e.closed():
		return fmt.Errorf("wait for %s: %w", what, provider.ErrClosed)
	}
	return fmt.Errorf("wait for %s: %w", what, err)
}

func waitError(ctx context.Context, what string) error {
	return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
}
