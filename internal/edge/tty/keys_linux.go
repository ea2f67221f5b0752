package tty

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Keys are the keys that are pressed on a terminal.
type Keys struct {
	fd     int
	keys   chan byte
	before unix.Termios
	stop   chan struct{} // closed by Close
	wake   *os.File      // what the reading goroutine waits for beside keys
	closed *os.File      // its other end
	once   sync.Once
	wg     sync.WaitGroup

	mu  sync.Mutex
	set bool // the settings are ours
}

// Open makes a terminal give each key at once. The error is that of a file that is no terminal, or
// [ErrBackground].
func Open(file *os.File) (*Keys, error) {
	k := &Keys{fd: int(file.Fd()), keys: make(chan byte), stop: make(chan struct{})}
	before, err := unix.IoctlGetTermios(k.fd, unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("read keys of %s: %w", file.Name(), err)
	}
	k.before = *before
	if !k.foreground() {
		return nil, fmt.Errorf("read keys of %s: %w", file.Name(), ErrBackground)
	}
	if k.wake, k.closed, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("read keys of %s: %w", file.Name(), err)
	}
	signals := make(chan os.Signal, 8)
	for _, s := range []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGCONT,
	} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	k.take()
	k.wg.Go(func() { k.handle(signals) })
	k.wg.Go(k.read)
	return k, nil
}

// C returns the channel of the keys; Close closes it.
func (k *Keys) C() <-chan byte { return k.keys }

// Close restores the settings of the terminal. It may be called more than once, and from any
// goroutine; the first call waits until no key is read any more.
func (k *Keys) Close() error {
	k.once.Do(func() {
		k.giveBack()
		close(k.stop)
		_ = k.closed.Close() // wakes who reads
		k.wg.Wait()
		_ = k.wake.Close() // read only
		close(k.keys)
	})
	return nil
}

// foreground reports whether the terminal is this process group's to read and to set.
func (k *Keys) foreground() bool {
	group, err := unix.IoctlGetInt(k.fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// take sets the terminal: no lines, no echo, all else as it was.
func (k *Keys) take() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.set || !k.foreground() {
		return
	}
	ours := k.before
	ours.Lflag &^= unix.ICANON | unix.ECHO
	ours.Cc[unix.VMIN], ours.Cc[unix.VTIME] = 1, 0
	k.set = unix.IoctlSetTermios(k.fd, unix.TCSETS, &ours) == nil
}

// giveBack restores the settings.
func (k *Keys) giveBack() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.set && k.foreground() {
		_ = unix.IoctlSetTermios(k.fd, unix.TCSETS, &k.before) // there is no other way to do it
	}
	k.set = false
}

// handle keeps the settings from outliving the process or its stay in the foreground.
func (k *Keys) handle(signals chan os.Signal) {
	defer signal.Stop(signals)
	ending := false
	for {
		var s os.Signal
		select {
		case <-k.stop:
			return
		case s = <-signals:
		}
		switch s {
		case syscall.SIGTSTP:
			k.giveBack()
			_ = unix.Kill(os.Getpid(), unix.SIGSTOP) // SIGCONT follows when it is over
			continue
		case syscall.SIGCONT:
			k.take()
			continue
		case syscall.SIGINT, syscall.SIGTERM:
			if !ending { // the program ends of the first one by itself
				ending = true
				continue
			}
		}
		k.giveBack()
		signal.Reset(s)
		if number, ok := s.(syscall.Signal); ok {
			_ = unix.Kill(os.Getpid(), number)
		}
	}
}

// read passes on what is typed. In the background nothing is read: that would stop the process.
func (k *Keys) read() {
	fds := []unix.PollFd{{Fd: int32(k.fd), Events: unix.POLLIN}, {Fd: int32(k.wake.Fd()), Events: unix.POLLIN}}
	var typed [64]byte
	for {
		fds[0].Revents, fds[1].Revents = 0, 0
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) || fds[1].Revents != 0 {
			return
		}
		if fds[0].Revents == 0 {
			continue
		}
		if !k.foreground() {
			select {
			case <-k.stop:
				return
			case <-time.After(time.Second / 4):
				continue
			}
		}
		n, err := unix.Read(k.fd, typed[:])
		if n <= 0 && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return // the terminal is gone
		}
		for _, key := range typed[:max(n, 0)] {
			select {
			case k.keys <- key:
			case <-k.stop:
				return
			}
		}
	}
}
