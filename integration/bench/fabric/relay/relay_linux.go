package relay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Config configures a relay.
type Config struct {
	Upstream string        // IBSIM_SOCKNAME of the simulator
	Name     string        // IBSIM_SOCKNAME of the relay
	Delay    time.Duration // delay of each answer
	Dead     []ib.GUID     // nodes that don't answer
	Hold     time.Duration // how long a request to one of them is kept before it is returned as lost; 0: forever
}

// Relay is one running relay.
type Relay struct {
	config  Config
	dead    map[ib.GUID]bool
	control int // the socket for new clients
	wake    int // an eventfd: Close was called
	client  *client

	requests, unanswered atomic.Int64

	stop func() error
}

// Start runs a relay until Close. Both names must differ, and the simulator must be running when
// the first client connects.
func Start(config Config) (*Relay, error) {
	r := &Relay{config: config, dead: map[ib.GUID]bool{}, control: -1, wake: -1}
	for _, guid := range config.Dead {
		r.dead[guid] = true
	}
	var err error
	if r.control, err = listen("%s:ctl", config.Name); err == nil {
		r.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	if err != nil {
		closeAll(r.control, r.wake)
		return nil, fmt.Errorf("start relay %s: %w", config.Name, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.serve() }()
	r.stop = sync.OnceValue(func() error {
		_, err := unix.Write(r.wake, binary.NativeEndian.AppendUint64(nil, 1))
		if err != nil {
			return os.NewSyscallError("write eventfd", err)
		}
		err = <-ended
		closeAll(r.control, r.wake)
		return err
	})
	return r, nil
}

// Requests returns how many datagrams clients have sent so far, answered or not.
func (r *Relay) Requests() int { return int(r.requests.Load()) }

// Unanswered returns how many of them went to dead nodes.
func (r *Relay) Unanswered() int { return int(r.unanswered.Load()) }

// Close ends the relay and returns its error, if any. A client that is still connected gets no more
// answers.
func (r *Relay) Close() error { return r.stop() }

// serve moves datagrams until Close.
func (r *Relay) serve() error {
	// The thread must outlive the relay: processes that it started may have asked to end with it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() {
		if r.client != nil {
			r.client.close()
		}
	}()
	// The kernel allows a sleep to be 50 µs late to save wake-ups, which is half of the delay.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	defer unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) //nolint:errcheck // 0 is back to the default
	for {
		fds := []unix.PollFd{{Fd: int32(r.wake), Events: unix.POLLIN}, {Fd: int32(r.control), Events: unix.POLLIN}}
		var timeout *unix.Timespec
		if r.client != nil {
			fds = r.client.poll(fds)
			timeout = r.client.timeout(time.Now())
		}
		if _, err := unix.Ppoll(fds, timeout, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("ppoll", err)
		}
		if fds[0].Revents != 0 {
			return nil
		}
		if err := r.knock(); err != nil {
			return err
		}
		if r.client == nil {
			continue
		}
		if err := r.client.move(time.Now()); err != nil {
			return err
		}
	}
}

// knock reads the available control messages. A client's first message opens its connection to the
// simulator.
func (r *Relay) knock() error {
	var b [controlLen + 1]byte
	for {
		n, err := read(r.control, b[:])
		if n == 0 || err != nil {
			return err
		}
		if n != controlLen {
			continue // ibsim drops it too
		}
		if binary.NativeEndian.Uint32(b[controlType:]) == controlConnect {
			if r.client != nil {
				r.client.close()
			}
			if r.client, err = r.connect(binary.NativeEndian.Uint32(b[controlData:])); err != nil {
				return err
			}
		}
		if r.client == nil {
			continue
		}
		if err := write(r.client.upControl, b[:n]); err != nil {
			return fmt.Errorf("pass control message on: %w", err)
		}
	}
}
