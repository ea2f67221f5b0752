package relay

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// abstractName returns a socket name as ibsim forms it: abstract, including a NUL at the end.
func abstractName(format string, a ...any) string { return "@" + fmt.Sprintf(format, a...) + "\x00" }

// listen returns a socket with that name; -1 with an error.
func listen(format string, a ...any) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	name := abstractName(format, a...)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		closeAll(fd)
		return -1, fmt.Errorf("bind %q: %w", name, err)
	}
	return fd, nil
}

func join(fd int, format string, a ...any) error {
	name := abstractName(format, a...)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		return fmt.Errorf("connect to %q: %w", name, err)
	}
	return nil
}

// read reads one datagram; 0 if there is none, or the other side has closed the socket.
func read(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN), isGone(err):
			return 0, nil
		default:
			return 0, os.NewSyscallError("read", err)
		}
	}
}

// write sends one datagram; EAGAIN when there is no room.
func write(fd int, b []byte) error {
	for {
		err := unix.Send(fd, b, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// isGone reports whether the error means that the other side has ended.
func isGone(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNRESET) ||
		errors.Is(err, unix.EPIPE)
}

func closeAll(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(fd) //nolint:errcheck // no written data is lost
		}
	}
}
