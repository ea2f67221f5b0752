package udpio

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// inbox is the receiving half of a connection. There are two ways to receive: Read waits
// until the kernel and Go's poller wake it, which takes microseconds; Poll is called
// repeatedly. While a goroutine polls continuously, Read would be woken for datagrams that
// the poller has already read, so Read pauses (standby).
type inbox struct {
	c *Conn

	// Stored, since a closure per call would be allocated.
	read func(fd uintptr) bool // of Read
	poll func(fd uintptr)      // of Poll

	polls   atomic.Uint32 // number of calls of Poll
	standby atomic.Bool   // Read pauses
	resume  chan struct{} // ends the pause

	handling atomic.Bool // a handler runs, or is about to look at done

	mu     sync.Mutex // held while handlers run
	handle Handler    // of the call that holds mu
	errno  syscall.Errno
	vector vector
	list   [inBatch]Inbound
	buffer [inBatch][]byte

	// Used only by Read.
	reader  Handler
	stolen  int    // consecutive wakes without data because a poller had read it
	seen    uint32 // value of polls at the last wake
	yielded bool
	failed  syscall.Errno // errno of the last try
}

// stealLimit is the value of stolen at which Read pauses, and standbyTick the interval at
// which it then checks whether a goroutine still polls.
const (
	stealLimit  = 16
	standbyTick = time.Millisecond
)

func (in *inbox) init(c *Conn) {
	in.c = c
	in.resume = make(chan struct{}, 1)
	in.read, in.poll = in.tryRead, in.tryPoll
}

// allocate makes the buffers. They are made when something is to be received: a socket that only
// sends needs none of their half a megabyte.
func (in *inbox) allocate() {
	const size = 1 << 16
	for i := range in.buffer {
		in.buffer[i] = make([]byte, size)
	}
	v := &in.vector
	for i := range inBatch {
		v.iovecs[i].Base = &in.buffer[i][0]
		v.iovecs[i].SetLen(size)
		h := &v.headers[i].header
		h.Name = (*byte)(unsafe.Pointer(&v.names[i]))
		h.Iov = &v.iovecs[i]
		h.SetIovlen(1)
		h.Control = &v.control[i][0]
	}
}

// Read waits until there are datagrams, and passes them to the handler. It returns
// [net.ErrClosed] once the socket is closed.
func (c *Conn) Read(h Handler) error {
	in := &c.in
	for {
		in.reader, in.yielded = h, false
		if err := c.raw.Read(in.read); err != nil {
			return err
		}
		if !in.yielded {
			if in.failed != 0 {
				return os.NewSyscallError("recvmmsg", in.failed)
			}
			return nil
		}
		if !in.standBy() {
			return net.ErrClosed
		}
	}
}

// tryRead is called by the runtime's poller, which waits if it returns false.
func (in *inbox) tryRead(fd uintptr) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.receive(fd, in.reader)
	in.failed = in.errno // a call of Poll may change errno before Read uses it
	if in.errno != syscall.EAGAIN {
		in.stolen = 0
		return true
	}
	polls := in.polls.Load()
	if polls == in.seen {
		in.stolen = 0
	} else {
		in.stolen++
	}
	in.seen = polls
	in.yielded = in.stolen >= stealLimit
	return in.yielded
}

// standBy waits until no goroutine polls any more. It returns false if the socket was closed.
func (in *inbox) standBy() bool {
	in.stolen = 0
	in.standby.Store(true)
	defer in.standby.Store(false)
	tick := time.NewTicker(standbyTick)
	defer tick.Stop()
	for polls := in.polls.Load(); ; {
		select {
		case <-in.c.done:
			return false
		case <-in.resume:
			return true
		case <-tick.C:
		}
		now := in.polls.Load()
		if now == polls {
			return true
		}
		polls = now
	}
}

// Resume is called when a goroutine stops polling, so that a paused Read continues
// immediately. Without it, that takes up to two milliseconds.
func (c *Conn) Resume() {
	if !c.in.standby.Load() {
		return
	}
	select {
	case c.in.resume <- struct{}{}:
	default:
	}
}

// Poll passes the available datagrams to the handler and never waits. It reports whether
// there were any, and also returns true if another goroutine is receiving at the moment.
func (c *Conn) Poll(h Handler) (bool, error) {
	in := &c.in
	in.polls.Add(1)
	if !in.mu.TryLock() {
		return true, nil
	}
	defer in.mu.Unlock()
	in.handle = h
	if err := c.raw.Control(in.poll); err != nil {
		return false, err
	}
	switch in.errno {
	case 0:
		return true, nil
	case syscall.EAGAIN:
		return false, nil
	}
	return false, os.NewSyscallError("recvmmsg", in.errno)
}

func (in *inbox) tryPoll(fd uintptr) { in.receive(fd, in.handle) }

// receive reads the available datagrams. It sets errno to 0, EAGAIN or another error. mu is held.
func (in *inbox) receive(fd uintptr, handle Handler) {
	if in.buffer[0] == nil {
		in.allocate()
	}
	v := &in.vector
	for i := range inBatch {
		h := &v.headers[i].header
		h.Namelen = uint32(unsafe.Sizeof(v.names[i]))
		h.SetControllen(maxControl)
	}
	for {
		n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&v.headers[0])), inBatch,
			unix.MSG_DONTWAIT, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		in.errno = errno
		if errno != 0 {
			return
		}
		in.deliver(int(n), handle)
		return
	}
}

func (in *inbox) deliver(n int, handle Handler) {
	v := &in.vector
	for i := range n {
		one := &in.list[i]
		one.Data = in.buffer[i][:v.headers[i].length]
		one.From = fromSockaddr(&v.names[i])
		one.Segment, one.TrafficClass = len(one.Data), 0
		one.readControl(v.control[i][:min(v.headers[i].header.Controllen, maxControl)])
	}
	in.handling.Store(true)
	defer in.handling.Store(false)
	select {
	case <-in.c.done:
	default:
		handle(in.list[:n])
	}
}

// readControl takes the length of merged datagrams and the traffic class from control messages. A
// traffic class is one byte over IPv4, and four over IPv6.
func (in *Inbound) readControl(b []byte) {
	for len(b) >= unix.CmsgLen(1) {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		value := unsafe.Pointer(&b[unix.CmsgLen(0)])
		length := int(h.Len) // negative if it is greater than an int
		if length > len(b) || length <= unix.CmsgLen(0) {
			return
		}
		size := length - unix.CmsgLen(0)
		switch {
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TOS:
			in.TrafficClass = *(*uint8)(value)
		case size < 4:
		case h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_TCLASS:
			in.TrafficClass = uint8(*(*int32)(value))
		case h.Level == unix.IPPROTO_UDP && h.Type == unix.UDP_GRO:
			if n := *(*int32)(value); n > 0 {
				in.Segment = int(n)
			}
		}
		b = b[min(len(b), unix.CmsgSpace(size)):]
	}
}
