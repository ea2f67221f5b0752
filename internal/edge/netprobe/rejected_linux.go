package netprobe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rejectedTries is how often a datagram is sent.
const rejectedTries = 2

// Rejected sends a datagram to a peer by a network device, up to twice, and returns the first ICMP
// error that comes back within the time that echo replies may take; nil if none comes: the datagram
// has arrived, or was dropped silently. The error matches [ErrFiltered] if a packet filter of this
// machine drops the datagram, and EADDRINUSE if the source port is taken. The IP packets have the
// don't-fragment bit and the identification 0.
func Rejected(
	ctx context.Context, netdev string, source, peer netip.AddrPort, datagram []byte,
) (*Rejection, error) {
	r, err := rejected(ctx, netdev, source, peer, datagram)
	if err != nil {
		return nil, fmt.Errorf("send to UDP port %d of %v by %s: %w", peer.Port(), peer.Addr(), netdev, err)
	}
	return r, nil
}

func rejected(
	ctx context.Context, netdev string, source, peer netip.AddrPort, datagram []byte,
) (*Rejection, error) {
	if !source.Addr().Is4() || !peer.Addr().Is4() {
		return nil, errors.New("only IPv4")
	}
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		return errors.Join(raw.Control(func(fd uintptr) { err = errorsOf(int(fd), netdev) }), err)
	}}
	conn, err := config.ListenPacket(ctx, "udp4", source.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	udp, ok := conn.(*net.UDPConn)
	if !ok {
		return nil, fmt.Errorf("socket is a %T", conn)
	}
	raw, err := udp.SyscallConn()
	if err != nil {
		return nil, err
	}
	for range rejectedTries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		_, err := udp.WriteToUDPAddrPort(datagram, peer)
		switch {
		case errors.Is(err, unix.EPERM):
			return nil, ErrFiltered
		case err != nil && !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.EHOSTUNREACH):
			return nil, err // these two report an ICMP error, which the queue has
		}
		if r, err := nextError(udp, raw, time.Now().Add(longest)); r != nil || err != nil {
			return r, err
		}
	}
	return nil, nil //nolint:nilnil // the peer has not rejected it
}

// errorsOf sets up a socket that sends by a network device, without fragmentation, and queues ICMP
// errors. It isn't connected, so that the kernel sends the identification 0.
func errorsOf(fd int, netdev string) error {
	return errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO),
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVERR, 1),
		unix.BindToDevice(fd, netdev),
	)
}

// nextError waits for an ICMP error until a time; nil if none comes.
func nextError(conn *net.UDPConn, raw syscall.RawConn, until time.Time) (*Rejection, error) {
	if err := conn.SetReadDeadline(until); err != nil {
		return nil, err
	}
	var found *Rejection
	var failed error
	err := raw.Read(func(fd uintptr) bool {
		control := make([]byte, 512)
		_, n, _, _, err := unix.Recvmsg(int(fd), make([]byte, 1), control, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			return false
		case err != nil:
			failed = err
			return true
		}
		found, failed = rejectionOf(control[:n])
		return found != nil || failed != nil
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, nil //nolint:nilnil // no error came
	}
	return found, errors.Join(err, failed)
}

// rejectionOf returns the ICMP error in the control messages of an entry of the queue, nil for one
// of another origin (struct sock_extended_err of linux/errqueue.h, then the sender's address).
func rejectionOf(control []byte) (*Rejection, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	const errLen, addrAt = 16, 4
	for _, m := range messages {
		b := m.Data
		if m.Header.Level != unix.IPPROTO_IP || m.Header.Type != unix.IP_RECVERR || len(b) < errLen+addrAt+4 ||
			b[4] != unix.SO_EE_ORIGIN_ICMP {
			continue
		}
		r := &Rejection{Type: b[5], Code: b[6]}
		if binary.NativeEndian.Uint16(b[errLen:]) == unix.AF_INET {
			r.By = netip.AddrFrom4([4]byte(b[errLen+addrAt:]))
		}
		return r, nil
	}
	return nil, nil //nolint:nilnil // of another origin
}
