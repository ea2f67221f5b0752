package ibsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// abstractName returns a socket name in ibsim's form: abstract, with a NUL at the end that is part
// of the name.
func abstractName(format string, a ...any) string {
	return "@" + fmt.Sprintf(format, a...) + "\x00"
}

// pidLimit is greater than every process identifier of Linux.
const pidLimit = 1 << 22

// openUnix opens the control socket, which is connected, and the data socket, which is only bound:
// its peer is known after the handshake. The client's identifier is the process identifier, as in
// umad2sim; further clients of the same process use identifiers above pidLimit.
func (c *Conn) openUnix(context.Context) (id uint32, data unixSocket, err error) {
	base := c.config.socketName()
	server := &net.UnixAddr{Name: abstractName("%s:ctl", base), Net: "unixgram"}
	for k := range maxClients {
		id := uint32(os.Getpid() + k*pidLimit)
		local := &net.UnixAddr{Name: abstractName("%s:ctl%d", base, id), Net: "unixgram"}
		control, err := net.DialUnix("unixgram", local, server)
		if errors.Is(err, unix.EADDRINUSE) {
			continue
		}
		if errors.Is(err, unix.ECONNREFUSED) {
			return 0, nil, fmt.Errorf("no simulator with that name; start one with `ibsim -s NETFILE`: %w",
				unix.ECONNREFUSED)
		}
		if err != nil {
			return 0, nil, err
		}
		c.control = control
		data, err := net.ListenUnixgram("unixgram",
			&net.UnixAddr{Name: abstractName("%s:in%d", base, id), Net: "unixgram"})
		if err != nil {
			return 0, nil, err
		}
		return id, data, nil
	}
	return 0, nil, fmt.Errorf("this process already has %d clients", maxClients)
}

// openUDP does the same for a simulator that listens on UDP. The client's identifier is the port of
// its data socket.
func (c *Conn) openUDP(ctx context.Context) (id uint32, data unixSocket, err error) {
	var d net.Dialer
	control, err := d.DialContext(ctx, "udp4", fmt.Sprintf("%s:%d", c.config.Server, c.config.serverPort()))
	if err != nil {
		return 0, nil, err
	}
	c.control = control
	var local net.UDPAddr
	if a, ok := control.LocalAddr().(*net.UDPAddr); ok {
		local.IP = a.IP // receive only through the interface to the server
	}
	udp, err := net.ListenUDP("udp4", &local)
	if err != nil {
		return 0, nil, err
	}
	bound, ok := udp.LocalAddr().(*net.UDPAddr)
	if !ok {
		return 0, nil, errors.Join(fmt.Errorf("data socket has address %v", udp.LocalAddr()), udp.Close())
	}
	return uint32(bound.Port), udp, nil
}

// connectData connects the data socket to the simulator's socket for the client's place.
func (c *Conn) connectData() error {
	var peer unix.Sockaddr = &unix.SockaddrUnix{Name: abstractName("%s:out%d", c.config.socketName(), c.slot)}
	if c.config.Server != "" {
		a, ok := c.control.RemoteAddr().(*net.UDPAddr)
		if !ok {
			return fmt.Errorf("control socket has peer %v", c.control.RemoteAddr())
		}
		in := &unix.SockaddrInet4{Port: c.config.serverPort() + 1 + int(c.slot)}
		copy(in.Addr[:], a.IP.To4())
		peer = in
	}
	return os.NewSyscallError("connect data socket", unix.Connect(c.data.fd, peer))
}
