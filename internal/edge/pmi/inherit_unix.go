//go:build unix

package pmi

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// inherit returns a connection on a duplicate of an inherited socket, which programs that this
// process starts do not inherit.
func inherit(fd int) (net.Conn, error) {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	if s.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, fmt.Errorf("descriptor %d is not a socket", fd)
	}
	double, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicate descriptor %d: %w", fd, err)
	}
	file := os.NewFile(uintptr(double), "PMI_FD")
	conn, err := net.FileConn(file)
	return conn, errors.Join(err, file.Close())
}

// closeInherited closes the socket itself, so that the server notices when the duplicate is closed.
func closeInherited(fd int) error { return unix.Close(fd) }
