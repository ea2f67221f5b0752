package umad

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Open opens a port's device. The error includes a remedy if the device doesn't exist or may not be
// opened.
func Open(p Port) (*Conn, error) {
	file, err := os.OpenFile(p.Path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		remedy := ""
		switch {
		case errors.Is(err, fs.ErrPermission):
			remedy = " (user MADs require root; run as root, or give your group access with a udev rule)"
		case errors.Is(err, fs.ErrNotExist):
			remedy = " (in a container, pass the device through)"
		}
		return nil, fmt.Errorf("open %s: %w%s", p, err, remedy)
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", p, err), file.Close())
	}
	return newConn(p, &charDevice{file: file, raw: raw}), nil
}

// charDevice is a device of the kernel.
type charDevice struct {
	file   *os.File
	raw    syscall.RawConn
	closed atomic.Bool
}

// ended returns os.ErrClosed instead of an error after close: a RawConn then returns an internal
// error of the runtime.
func (d *charDevice) ended(err error) error {
	if err != nil && d.closed.Load() {
		return os.ErrClosed
	}
	return err
}

func (d *charDevice) ioctl(request uintptr, argument []byte) error {
	var errno syscall.Errno
	err := d.raw.Control(func(fd uintptr) {
		_, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(unsafe.SliceData(argument))))
	})
	if err != nil {
		return d.ended(err)
	}
	if errno != 0 {
		return os.NewSyscallError("ioctl", errno)
	}
	return nil
}

func (d *charDevice) write(b []byte) error {
	var failed error
	err := d.raw.Control(func(fd uintptr) {
		_, failed = unix.Write(int(fd), b)
		for errors.Is(failed, unix.EINTR) {
			_, failed = unix.Write(int(fd), b)
		}
	})
	if err != nil {
		return d.ended(err)
	}
	return os.NewSyscallError("write", failed)
}

func (d *charDevice) read(ctx context.Context, deadline time.Time, try func(func([]byte) (int, error)) bool) error {
	// First without the poller, which returns no data after the deadline even if there is some.
	done := false
	err := d.raw.Control(func(fd uintptr) {
		done = try(func(b []byte) (int, error) { return unix.Read(int(fd), b) })
	})
	if done || err != nil {
		return d.ended(err)
	}
	if err := d.file.SetReadDeadline(deadline); err != nil {
		return d.ended(err)
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		d.file.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // the file was closed
	})
	defer func() {
		if !stop() {
			<-ended // or it would end a later read
		}
	}()
	return d.ended(d.raw.Read(func(fd uintptr) bool {
		return try(func(b []byte) (int, error) { return unix.Read(int(fd), b) })
	}))
}

func (d *charDevice) close() error {
	if d.closed.Swap(true) {
		return nil
	}
	return d.file.Close()
}
