package ibsim

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// spin is how long Receive looks again and again before it sleeps. The simulator answers within a
// few microseconds, and a process that sleeps costs it more to wake than the answer itself: a sweep
// that spins takes little more than half the time.
const (
	spin      = 50 * time.Microsecond
	leastSpin = time.Microsecond
)

// descriptor is the data socket, outside the runtime's poller, whose epoll would be woken by each
// datagram even while somebody reads.
type descriptor struct {
	fd, wake int // wake is an eventfd that ends a wait

	// patience is how long to look before sleeping: long while that helps, and next to nothing
	// while the simulator has no processor of its own, which would wait for this one then. Of the
	// goroutine that receives.
	patience time.Duration

	mu     sync.RWMutex // held for reading while the descriptors are in use
	closed atomic.Bool
}

// newDescriptor takes a copy of the socket, which the caller can close then.
func newDescriptor(socket unixSocket) (*descriptor, error) {
	d := &descriptor{patience: spin}
	if runtime.NumCPU() == 1 {
		d.patience = 0
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { d.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(err, os.NewSyscallError("fcntl", failed)); err != nil {
		return nil, err
	}
	if d.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		unix.Close(d.fd) //nolint:errcheck // err is what counts
		return nil, os.NewSyscallError("eventfd", err)
	}
	return d, nil
}

// interrupt ends a wait, which looks then at why.
func (d *descriptor) interrupt() {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if !d.closed.Load() {
		d.signal()
	}
}

func (d *descriptor) signal() {
	//nolint:errcheck // it can only say that it is signalled already
	unix.Write(d.wake, binary.NativeEndian.AppendUint64(nil, 1))
}

// close ends a wait with net.ErrClosed; later calls do nothing.
func (d *descriptor) close() error {
	if d.closed.Swap(true) {
		return nil
	}
	d.signal()
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(unix.Close(d.fd), unix.Close(d.wake))
}

// wait sleeps until there is something to read, and returns nil; or until the deadline
// (os.ErrDeadlineExceeded), the end of the context (its cause) or close (net.ErrClosed). read is
// called until it says that it got something.
func (d *descriptor) wait(ctx context.Context, deadline time.Time, read func(fd int) bool) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d.closed.Load() {
		return net.ErrClosed
	}
	if read(d.fd) {
		return nil
	}
	if d.look(read) {
		return nil
	}
	stop := context.AfterFunc(ctx, d.interrupt)
	defer stop()
	for {
		if err := d.sleep(deadline); err != nil {
			return err
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case d.closed.Load():
			return net.ErrClosed
		case read(d.fd):
			return nil
		case !deadline.IsZero() && !time.Now().Before(deadline):
			return os.ErrDeadlineExceeded
		}
	}
}

// look reads again and again for a while, and reports whether it got something.
func (d *descriptor) look(read func(fd int) bool) bool {
	for end := time.Now().Add(d.patience); time.Now().Before(end); {
		if read(d.fd) {
			d.patience = min(2*d.patience, spin)
			return true
		}
	}
	d.patience = max(d.patience/2, leastSpin)
	return false
}

func (d *descriptor) sleep(deadline time.Time) error {
	var timeout *unix.Timespec
	if !deadline.IsZero() {
		timeout = new(unix.NsecToTimespec(int64(max(0, time.Until(deadline)))))
	}
	fds := []unix.PollFd{{Fd: int32(d.fd), Events: unix.POLLIN}, {Fd: int32(d.wake), Events: unix.POLLIN}}
	if _, err := unix.Ppoll(fds, timeout, nil); err != nil && !errors.Is(err, unix.EINTR) {
		return os.NewSyscallError("ppoll", err)
	}
	if fds[1].Revents != 0 {
		var count [8]byte
		unix.Read(d.wake, count[:]) //nolint:errcheck // what counts is that it is reset
	}
	return nil
}
