package netprobe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// The time that an echo reply may take: first the longest, then ten times what a reply took, but
// not less than the shortest. Each size is sent twice.
const longest, shortest = 400 * time.Millisecond, 100 * time.Millisecond

// PathMTU returns the size of the largest IPv4 packet, up to limit, that arrives at the peer in one
// piece; 0 if the peer answers none. Packets have the don't-fragment bit and ignore what the kernel
// knows of the path (IP_PMTUDISC_PROBE). limit is the MTU of the device, which the kernel doesn't
// exceed.
func PathMTU(ctx context.Context, netdev string, source, peer netip.Addr, limit int) (int, error) {
	if !source.Is4() || !peer.Is4() {
		return 0, errors.New("probe path MTU: only IPv4")
	}
	p, err := newPinger(netdev, source, peer)
	if err != nil {
		return 0, fmt.Errorf("probe path MTU to %v by %s: %w", peer, netdev, err)
	}
	defer func() { _ = p.file.Close() }()
	if ok, err := p.arrives(ctx, smallest); !ok || err != nil {
		return 0, err
	}
	if ok, err := p.arrives(ctx, limit); ok {
		return limit, nil
	} else if err != nil {
		return 0, err
	}
	low, high := smallest, limit // low arrives, high doesn't
	for high-low > 1 {
		size := (low + high) / 2
		ok, err := p.arrives(ctx, size)
		if err != nil {
			return low, err
		}
		if ok {
			low = size
		} else {
			high = size
		}
	}
	return low, nil
}

type pinger struct {
	file *os.File // non-blocking, so that deadlines apply
	peer unix.SockaddrInet4
	raw  bool // reads have an IP header
	id   uint16
	seq  uint16
	wait time.Duration
}

func newPinger(netdev string, source, peer netip.Addr) (*pinger, error) {
	p := &pinger{raw: true, wait: longest, id: uint16(os.Getpid()), peer: unix.SockaddrInet4{Addr: peer.As4()}}
	const flags = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|flags, unix.IPPROTO_ICMP)
	if errors.Is(err, unix.EPERM) {
		p.raw = false // net.ipv4.ping_group_range may allow it
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|flags, unix.IPPROTO_ICMP)
	}
	if err != nil {
		return nil, fmt.Errorf("socket for ICMP: %w", err)
	}
	p.file = os.NewFile(uintptr(fd), "icmp")
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE),
		unix.BindToDevice(fd, netdev),
		unix.Bind(fd, &unix.SockaddrInet4{Addr: source.As4()}),
		unix.Connect(fd, &p.peer),
	)
	if err != nil {
		return nil, errors.Join(err, p.file.Close())
	}
	return p, nil
}

// arrives sends packets of a size and reports whether a reply came.
func (p *pinger) arrives(ctx context.Context, size int) (bool, error) {
	for range 2 {
		p.seq++
		if err := ctx.Err(); err != nil {
			return false, err
		}
		_, err := p.file.Write(echo(p.id, p.seq, size))
		switch {
		case errors.Is(err, unix.EMSGSIZE):
			return false, nil // larger than the device takes
		case errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ECONNREFUSED):
			continue // an earlier packet, or no answer to ARP
		case err != nil:
			return false, err
		}
		sent := time.Now()
		if p.reply(size, sent.Add(p.wait)) {
			p.wait = min(max(10*time.Since(sent), shortest), longest)
			return true, nil
		}
	}
	return false, nil
}

func (p *pinger) reply(size int, until time.Time) bool {
	if err := p.file.SetReadDeadline(until); err != nil {
		return false
	}
	b := make([]byte, 1<<16)
	for time.Now().Before(until) {
		n, err := p.file.Read(b)
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return false
			}
			continue // an ICMP error for an earlier packet
		}
		got := b[:n]
		if p.raw {
			if n < ipHeader {
				continue
			}
			got = got[min(int(got[0]&0xf)*4, n):]
			if len(got) >= icmpHeader && binary.BigEndian.Uint16(got[4:]) != p.id {
				continue
			}
		}
		if isReply(got, p.seq, size) {
			return true
		}
	}
	return false
}

// Owners returns the hardware addresses of all machines that say within a time that they have an
// address, in order. It needs CAP_NET_RAW.
func Owners(ctx context.Context, netdev string, target netip.Addr, wait time.Duration) ([]net.HardwareAddr, error) {
	owners, err := owners(ctx, netdev, target, wait)
	if err != nil {
		return nil, fmt.Errorf("ask by ARP who has %v on %s: %w", target, netdev, err)
	}
	return owners, nil
}

func owners(ctx context.Context, netdev string, target netip.Addr, wait time.Duration) ([]net.HardwareAddr, error) {
	if !target.Is4() {
		return nil, errors.New("only IPv4")
	}
	device, err := net.InterfaceByName(netdev)
	if err != nil {
		return nil, err
	}
	if len(device.HardwareAddr) != 6 {
		return nil, errors.New("not an Ethernet device")
	}
	const protocol = uint16(unix.ETH_P_ARP>>8 | unix.ETH_P_ARP&0xff<<8) // big-endian
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, int(protocol))
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "arp")
	defer func() { _ = file.Close() }()
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: device.Index}); err != nil {
		return nil, err
	}
	until := time.Now().Add(wait)
	if d, ok := ctx.Deadline(); ok && d.Before(until) {
		until = d
	}
	if err := file.SetReadDeadline(until); err != nil {
		return nil, err
	}
	address := target.AsSlice()
	if _, err := file.Write(arpProbe(device.HardwareAddr, address)); err != nil {
		return nil, err
	}
	var found []net.HardwareAddr
	b := make([]byte, 1<<12)
	for {
		n, err := file.Read(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return found, nil
		}
		if err != nil {
			return found, err
		}
		mac, ok := arpOwner(b[:n], address)
		if ok && !slices.ContainsFunc(found,
			func(m net.HardwareAddr) bool { return m.String() == net.HardwareAddr(mac).String() }) {
			found = append(found, mac)
		}
	}
}
