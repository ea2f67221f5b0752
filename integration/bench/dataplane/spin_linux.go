package main

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spin receives a datagram without sleeping.
func spin(raw syscall.RawConn, b []byte) error {
	var got error
	deadline := time.Now().Add(pingTimeout)
	err := raw.Control(func(fd uintptr) {
		for i := 1; ; i++ {
			_, _, got = unix.Recvfrom(int(fd), b, unix.MSG_DONTWAIT)
			if !errors.Is(got, unix.EAGAIN) && !errors.Is(got, unix.EINTR) {
				return
			}
			if i%1024 == 0 && time.Now().After(deadline) {
				got = os.ErrDeadlineExceeded
				return
			}
		}
	})
	return errors.Join(err, got)
}
