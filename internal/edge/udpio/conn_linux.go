package udpio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Conn is a UDP socket.
type Conn struct {
	udp  *net.UDPConn
	raw  syscall.RawConn
	addr netip.AddrPort
	v6   bool
	gro  bool
	// buffer is the size of the buffer of received datagrams, in bytes.
	buffer int
	gso    atomic.Bool // becomes false when the kernel can't segment

	in       inbox
	out      outbox
	done     chan struct{} // closed by Close
	closed   sync.Once
	finished chan struct{} // closed when the descriptor is closed; closeErr is valid then
	closeErr error
}

// batch is the maximum number of messages per system call for sending, inBatch for
// receiving: a received message needs a buffer of 64 KiB.
const (
	batch   = 32
	inBatch = 8
)

// vector has the arguments of recvmmsg and sendmmsg.
type vector struct {
	headers [batch]mmsghdr
	iovecs  [batch]unix.Iovec
	names   [batch]unix.RawSockaddrInet6 // large enough for IPv4
	control [batch][maxControl]byte
}

// mmsghdr is struct mmsghdr of the C library.
type mmsghdr struct {
	header unix.Msghdr
	length uint32
	_      [4]byte
}

// controlLen is the length of a control message of up to eight bytes (CMSG_SPACE(4) of a 64-bit
// system; Listen checks it). A message has up to three of them: traffic class, hop limit, segments.
const (
	controlLen = 24
	maxControl = 3 * controlLen
)

// Listen opens a socket at an address; for port 0 the kernel chooses a port. GSO and GRO
// are used if the kernel supports them.
func Listen(addr netip.AddrPort, opts Options) (*Conn, error) {
	if n := unix.CmsgSpace(4); n != controlLen {
		return nil, fmt.Errorf("listen on %v: control messages take %d bytes: %w", addr, n, errors.ErrUnsupported)
	}
	network := "udp4"
	if addr.Addr().Is6() && !addr.Addr().Is4In6() {
		network = "udp6"
	}
	lc := net.ListenConfig{}
	pc, err := lc.ListenPacket(context.Background(), network, addr.String())
	if err != nil {
		return nil, err
	}
	udp, ok := pc.(*net.UDPConn)
	if !ok {
		_ = pc.Close()
		return nil, fmt.Errorf("listen on %v: not a UDP socket", addr)
	}
	c := &Conn{udp: udp, v6: network == "udp6", done: make(chan struct{}), finished: make(chan struct{})}
	if c.raw, err = udp.SyscallConn(); err == nil {
		err = c.configure(opts)
	}
	if err != nil {
		_ = udp.Close()
		return nil, fmt.Errorf("listen on %v: %w", addr, err)
	}
	c.addr = udp.LocalAddr().(*net.UDPAddr).AddrPort() //nolint:errcheck,forcetypeassert // a UDPConn has no other
	c.addr = netip.AddrPortFrom(c.addr.Addr().Unmap(), c.addr.Port())
	c.in.init(c)
	c.out.init(c)
	return c, nil
}

func (c *Conn) configure(opts Options) error {
	var err error
	control := c.raw.Control(func(fd uintptr) {
		s := int(fd)
		c.buffer = setBuffers(s, cmp.Or(opts.ReceiveBuffer, WantedBuffer))
		if c.v6 {
			err = os.NewSyscallError("setsockopt IPV6_MTU_DISCOVER",
				unix.SetsockoptInt(s, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO))
			err = errors.Join(err, os.NewSyscallError("setsockopt IPV6_RECVTCLASS",
				unix.SetsockoptInt(s, unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1)))
			// rxe sends no checksum, which is not accepted over IPv6 without this option.
			err = errors.Join(err, os.NewSyscallError("setsockopt UDP_NO_CHECK6_RX",
				unix.SetsockoptInt(s, unix.IPPROTO_UDP, unix.UDP_NO_CHECK6_RX, 1)))
		} else {
			err = os.NewSyscallError("setsockopt IP_MTU_DISCOVER",
				unix.SetsockoptInt(s, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO))
			err = errors.Join(err, os.NewSyscallError("setsockopt IP_RECVTOS",
				unix.SetsockoptInt(s, unix.IPPROTO_IP, unix.IP_RECVTOS, 1)))
		}
		c.gro = !opts.NoGRO && unix.SetsockoptInt(s, unix.IPPROTO_UDP, unix.UDP_GRO, 1) == nil
		_, gsoErr := unix.GetsockoptInt(s, unix.IPPROTO_UDP, unix.UDP_SEGMENT)
		c.gso.Store(!opts.NoGSO && gsoErr == nil)
	})
	return errors.Join(control, err)
}

// setBuffers requests sizes for the buffers of a socket, in bytes, and returns that of the received
// datagrams. Without the capability NET_ADMIN the kernel limits them (net.core.rmem_max,
// net.core.wmem_max).
func setBuffers(s, receive int) (got int) {
	for _, b := range []struct{ force, option, size int }{
		{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, receive}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, WantedBuffer},
	} {
		if unix.SetsockoptInt(s, unix.SOL_SOCKET, b.force, b.size) != nil {
			_ = unix.SetsockoptInt(s, unix.SOL_SOCKET, b.option, b.size) // what the kernel gave is read back
		}
	}
	const charged = 2 // the kernel doubles the value, for what it needs beside the data (socket(7))
	size, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return 0
	}
	return size / charged
}

// Sender opens a socket that sends from another port of the address, like this one otherwise. What
// arrives there is dropped.
func (c *Conn) Sender(port uint16) (*Conn, error) {
	return Listen(netip.AddrPortFrom(c.addr.Addr(), port), Options{NoGSO: !c.gso.Load(), NoGRO: true, ReceiveBuffer: 1})
}

// ReceiveBuffer returns the size of the buffer of received datagrams in bytes, as the kernel
// granted it: net.core.rmem_max may be smaller than what was requested. It is 0 if unknown. The
// kernel charges up to twice the length of a datagram to twice this size.
func (c *Conn) ReceiveBuffer() int { return c.buffer }

// Addr returns the local address.
func (c *Conn) Addr() netip.AddrPort { return c.addr }

// Offload reports whether the kernel segments sent datagrams (GSO) and merges received
// ones (GRO). gso may become false: see [ErrNoSegmentation].
func (c *Conn) Offload() (gso, gro bool) { return c.gso.Load(), c.gro }

// Close closes the socket; Read, Poll and Write return [net.ErrClosed], and no further handler
// starts. It doesn't wait for a running handler, which may call it: the address is then free
// when the handler has returned, for which another call of Close waits.
func (c *Conn) Close() error {
	c.closed.Do(func() {
		close(c.done)
		go func() { // waits for the callers of the descriptor, and so for a handler
			c.closeErr = c.udp.Close()
			close(c.finished)
		}()
	})
	if c.in.handling.Load() {
		return nil
	}
	<-c.finished
	return c.closeErr
}

func fromSockaddr(name *unix.RawSockaddrInet6) netip.AddrPort {
	port := (*[2]byte)(unsafe.Pointer(&name.Port))
	p := uint16(port[0])<<8 | uint16(port[1])
	if name.Family == unix.AF_INET {
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		return netip.AddrPortFrom(netip.AddrFrom4(v4.Addr), p)
	}
	return netip.AddrPortFrom(netip.AddrFrom16(name.Addr), p)
}

func (c *Conn) toSockaddr(name *unix.RawSockaddrInet6, to netip.AddrPort) uint32 {
	*name = unix.RawSockaddrInet6{}
	port := (*[2]byte)(unsafe.Pointer(&name.Port))
	port[0], port[1] = byte(to.Port()>>8), byte(to.Port())
	if !c.v6 {
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		v4.Family = unix.AF_INET
		v4.Addr = to.Addr().Unmap().As4()
		return unix.SizeofSockaddrInet4
	}
	name.Family = unix.AF_INET6
	name.Addr = to.Addr().As16()
	return unix.SizeofSockaddrInet6
}
