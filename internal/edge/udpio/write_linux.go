package udpio

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// outbox is the sending half of a connection.
type outbox struct {
	write func(fd uintptr) // stored, as in inbox

	mu     sync.Mutex
	vector vector
	size   [batch]int // of the first datagram if the message is to be segmented, otherwise 0
	from   [batch]int // bytes of the message's entry that earlier messages have
	n      int        // number of messages in vector
	sent   int        // number of messages sent
	errno  syscall.Errno
}

func (o *outbox) init(*Conn) { o.write = o.tryWrite }

// Write sends the entries of the list in order, as many as the socket's buffer takes, and never
// waits. It returns the rest of the list, whose first entry may have lost the datagrams that were
// sent; see [Conn.WaitWritable]. After an error the rest begins with the entry that failed.
func (c *Conn) Write(list []Outbound) (rest []Outbound, err error) {
	o := &c.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if !c.v6 && !c.gso.Load() && anyNumbered(list) {
		return list, ErrNoSegmentation
	}
	for at := 0; len(list) > 0; {
		next, nextAt := c.fill(list, at)
		full, err := c.send()
		if full || err != nil {
			return o.unsent(list), err
		}
		list, at = next, nextAt
	}
	return nil, nil
}

// unsent returns the entries of a list that begin with the first message that was not sent. The
// vector has one message of an entry, or one of each datagram if the kernel doesn't segment it.
func (o *outbox) unsent(list []Outbound) []Outbound {
	for i := 1; i <= o.sent; i++ {
		if o.from[i] == 0 {
			list = list[1:]
		}
	}
	list[0].Data = list[0].Data[o.from[o.sent]:]
	return list
}

// WaitWritable waits until the socket's buffer has space. It returns [net.ErrClosed] once the
// connection is closed. It keeps no one from writing.
func (c *Conn) WaitWritable() error { return c.raw.Write(writable) }

// writable is called by the runtime's poller, which waits if it returns false.
func writable(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 0)
	return n > 0 || err != nil && !errors.Is(err, syscall.EINTR)
}

func anyNumbered(list []Outbound) bool {
	for i := range list {
		if list[i].Numbered && list[i].hasSegments() {
			return true
		}
	}
	return false
}

// fill converts the list, starting at byte at of its first entry, to messages, and returns
// the rest of the list. An entry that the kernel may segment is one message.
func (c *Conn) fill(list []Outbound, at int) ([]Outbound, int) {
	o := &c.out
	o.n, o.sent = 0, 0
	gso := c.gso.Load()
	for len(list) > 0 && o.n < batch {
		e := &list[0]
		switch {
		case !e.hasSegments():
			c.message(e, e.Data, 0, at)
		case gso && at == 0 && (c.v6 || e.Numbered):
			c.message(e, e.Data, e.Segment, at)
		default:
			end := min(at+e.Segment, len(e.Data))
			c.message(e, e.Data[at:end], 0, at)
			if end < len(e.Data) {
				at = end
				continue
			}
		}
		list, at = list[1:], 0
	}
	return list, at
}

// message adds a message to the vector, to be segmented if segment is not 0. Its data are at byte
// from of the entry.
func (c *Conn) message(e *Outbound, data []byte, segment, from int) {
	v, i := &c.out.vector, c.out.n
	c.out.n++
	c.out.size[i], c.out.from[i] = segment, from
	v.iovecs[i].Base = &data[0]
	v.iovecs[i].SetLen(len(data))
	h := &v.headers[i].header
	h.Name = (*byte)(unsafe.Pointer(&v.names[i]))
	h.Namelen = c.toSockaddr(&v.names[i], e.To)
	h.Iov = &v.iovecs[i]
	h.SetIovlen(1)
	h.Control, h.Controllen = nil, 0
	if e.TrafficClass != 0 {
		if c.v6 {
			v.addControl(i, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, 4, int32(e.TrafficClass))
		} else {
			v.addControl(i, unix.IPPROTO_IP, unix.IP_TOS, 4, int32(e.TrafficClass))
		}
	}
	if e.HopLimit != 0 {
		if c.v6 {
			v.addControl(i, unix.IPPROTO_IPV6, unix.IPV6_HOPLIMIT, 4, int32(e.HopLimit))
		} else {
			v.addControl(i, unix.IPPROTO_IP, unix.IP_TTL, 4, int32(e.HopLimit))
		}
	}
	if segment != 0 { // last, so that retryUnsegmented can cut it off
		v.addControl(i, unix.IPPROTO_UDP, unix.UDP_SEGMENT, 2, int32(segment))
	}
}

// addControl adds a control message with a value of 2 or 4 bytes to message i.
func (v *vector) addControl(i, level, kind, size int, value int32) {
	h := &v.headers[i].header
	at := int(h.Controllen)
	b := v.control[i][at : at+controlLen]
	ch := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	ch.Level, ch.Type = int32(level), int32(kind)
	ch.SetLen(unix.CmsgLen(size))
	if data := unsafe.Pointer(&b[unix.CmsgLen(0)]); size == 2 {
		*(*uint16)(data) = uint16(value)
	} else {
		*(*int32)(data) = value
	}
	h.Control = &v.control[i][0]
	h.SetControllen(at + controlLen)
}

// send sends the messages of the vector until the socket is full.
func (c *Conn) send() (full bool, err error) {
	o := &c.out
	for o.sent < o.n {
		if err := c.raw.Control(o.write); err != nil {
			return false, err
		}
		switch {
		case o.errno == 0:
		case o.errno == syscall.EAGAIN:
			return true, nil
		case o.size[o.sent] > 0 && (o.errno == syscall.EIO || o.errno == syscall.EINVAL):
			return c.retryUnsegmented()
		default:
			return false, os.NewSyscallError("sendmmsg", o.errno)
		}
	}
	return false, nil
}

// retryUnsegmented finds the reason why the kernel rejected segmentation: the device can't
// segment (EIO without checksum offload, EINVAL with checksums turned off), or a datagram is
// too long for the path, which is no reason to stop segmenting. It sends the first datagram
// without segmentation to distinguish the two.
func (c *Conn) retryUnsegmented() (full bool, err error) {
	o := &c.out
	i := o.sent
	h := &o.vector.headers[i].header
	if h.SetControllen(int(h.Controllen) - controlLen); h.Controllen == 0 {
		h.Control = nil
	}
	o.vector.iovecs[i].SetLen(o.size[i])
	o.size[i], o.n = 0, i+1
	if full, err := c.send(); full || err != nil {
		return full, err
	}
	o.sent, c.out.from[i] = i, 0 // the entry is to be sent again, without identifications
	c.gso.Store(false)
	return false, ErrNoSegmentation
}

// tryWrite sends messages without waiting.
func (o *outbox) tryWrite(fd uintptr) {
	for {
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&o.vector.headers[o.sent])),
			uintptr(o.n-o.sent), unix.MSG_DONTWAIT, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		o.errno = errno
		if errno == 0 {
			o.sent += int(n)
		}
		return
	}
}
