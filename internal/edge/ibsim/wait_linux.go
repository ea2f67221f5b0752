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

// spin is how long Receive polls before it sleeps. The simulator responds within a few
// microseconds, and waking a sleeping process takes it longer than the response itself: with
// polling, a sweep takes little more than half the time.
const (
	spin    = 50 * time.Microsecond
	minSpin = time.Microsecond
)

// descriptor is the data socket. It doesn't use the runtime's poller, which every datagram would
// wake even while a goroutine reads.
type descriptor struct {
	fd, wake int // wake is an eventfd that ends a wait

	// spinTime is how long to poll before sleeping. It is reduced while polling doesn't help,
	// because the simulator is waiting for the CPU that polls. Only the receiving goroutine uses
	// it.
	spinTime time.Duration

	mu     sync.RWMutex // held for reading while the descriptors are in use
	closed atomic.Bool
}

// newDescriptor duplicates the socket's descriptor; the caller can then close the socket.
func newDescriptor(socket unixSocket) (*descriptor, error) {
	d := &descriptor{spinTime: spin}
	if runtime.NumCPU() == 1 {
		d.spinTime = 0
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
		unix.Close(d.fd) //nolint:errcheck // the error to return is err
		return nil, os.NewSyscallError("eventfd", err)
	}
	return d, nil
}

// interrupt ends a wait, which then checks the cause.
func (d *descriptor) interrupt() {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if !d.closed.Load() {
		d.signal()
	}
}

func (d *descriptor) signal() {
	//nolint:errcheck // the only possible error is that it is already signalled
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

// wait calls read, which doesn't wait, until it returns true, and sleeps in between. It returns
// os.ErrDeadlineExceeded at the deadline, the cause at the end of the context, and net.ErrClosed
// after close.
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
	if d.spinRead(read) {
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

// spinRead calls read repeatedly for spinTime, and reports whether it has returned true.
func (d *descriptor) spinRead(read func(fd int) bool) bool {
	for end := time.Now().Add(d.spinTime); time.Now().Before(end); {
		if read(d.fd) {
			d.spinTime = min(2*d.spinTime, spin)
			return true
		}
	}
	d.spinTime = max(d.spinTime/2, minSpin)
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
		unix.Read(d.wake, count[:]) //nolint:errcheck // only resets the eventfd
	}
	return nil
}

// send sends one datagram without waiting.
func (d *descriptor) send(b []byte) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed.Load() {
		return net.ErrClosed
	}
	return unix.Send(d.fd, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

// writable waits until send can succeed, or until the deadline: then it returns
// os.ErrDeadlineExceeded.
func (d *descriptor) writable(deadline time.Time) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed.Load() {
		return net.ErrClosed
	}
	left := time.Until(deadline)
	if left <= 0 {
		return os.ErrDeadlineExceeded
	}
	// Not d.wake: the goroutine that reads consumes it.
	timeout := unix.NsecToTimespec(int64(min(left, writeStep)))
	fds := []unix.PollFd{{Fd: int32(d.fd), Events: unix.POLLOUT}}
	if _, err := unix.Ppoll(fds, &timeout, nil); err != nil && !errors.Is(err, unix.EINTR) {
		return os.NewSyscallError("ppoll", err)
	}
	return nil
}

// writeStep is how long a wait for a writable socket may delay close.
const writeStep = 100 * time.Millisecond
