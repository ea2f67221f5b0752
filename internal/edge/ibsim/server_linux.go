package ibsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sendPatience is how long a packet waits for a client that doesn't read, before it is lost.
const sendPatience = 2 * time.Second

// Server is the server's end of the sockets of one simulated subnet.
type Server struct {
	config  ServerConfig
	backend Backend
	control controlSocket
	slots   [maxClients]*slot
	close   func() error
}

// slot is the data socket for one client.
type slot struct {
	number int
	data   *descriptor
	in     transfer // of the goroutine that serves the slot

	outMu sync.Mutex // of what sends; taken before mu
	out   [packetLen]byte

	mu     sync.Mutex // never held while waiting
	used   bool
	serial uint64        // of the client, from 1
	peer   unix.Sockaddr // the client's data socket
}

// controlSocket receives control messages with the sender's address.
type controlSocket interface {
	net.PacketConn
	unixSocket
}

// Listen opens the sockets. Clients can join, and are answered once Serve runs.
func Listen(config ServerConfig, backend Backend) (*Server, error) {
	if len(config.SocketName) > maxSocketName {
		return nil, fmt.Errorf("serve %s: socket name is longer than %d bytes", config, maxSocketName)
	}
	s := &Server{config: config, backend: backend}
	s.close = sync.OnceValue(s.closeAll)
	if err := s.open(); err != nil {
		s.Close() //nolint:errcheck // the error to return is that of the socket
		if errors.Is(err, unix.EADDRINUSE) {
			err = ErrInUse
		}
		return nil, fmt.Errorf("serve %s: %w", config, err)
	}
	return s, nil
}

func (s *Server) open() error {
	control, err := s.bind("ctl", 0)
	if err != nil {
		return err
	}
	s.control = control
	for i := range s.slots {
		data, err := s.bind(fmt.Sprintf("out%d", i), 1+i)
		if err != nil {
			return err
		}
		d, err := newDescriptor(data)
		if err := errors.Join(err, data.Close()); err != nil {
			return err
		}
		one := &slot{number: i, data: d}
		one.in.try = one.in.receive
		s.slots[i] = one
	}
	return nil
}

// bind opens one socket, with the name or the distance from the control socket's port.
func (s *Server) bind(name string, distance int) (controlSocket, error) {
	client := Config{SocketName: s.config.SocketName, ServerPort: s.config.Port}
	if s.config.Listen == "" {
		return net.ListenUnixgram("unixgram",
			&net.UnixAddr{Name: abstractName("%s:%s", client.socketName(), name), Net: "unixgram"})
	}
	ip := net.ParseIP(s.config.Listen).To4()
	if ip == nil {
		return nil, fmt.Errorf("address %q is not an IPv4 address", s.config.Listen)
	}
	return net.ListenUDP("udp4", &net.UDPAddr{IP: ip, Port: client.serverPort() + distance})
}

// Serve serves clients until the context ends or the server is closed, and closes the sockets. The
// error is nil unless a socket failed.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		s.Close() //nolint:errcheck // returned below
	})
	defer stop()
	var group sync.WaitGroup
	for _, one := range s.slots {
		group.Go(func() { s.serveSlot(ctx, one) })
	}
	err := s.serveControl()
	cancel()
	err = errors.Join(err, s.Close())
	group.Wait()
	if err != nil {
		return fmt.Errorf("serve %s: %w", s.config, err)
	}
	return nil
}

// Close closes the sockets, which ends Serve.
func (s *Server) Close() error { return s.close() }

func (s *Server) closeAll() error {
	var err error
	if s.control != nil {
		err = s.control.Close()
	}
	for _, one := range s.slots {
		if one != nil {
			err = errors.Join(err, one.data.close())
		}
	}
	return err
}

// serveControl answers control messages until the socket is closed.
func (s *Server) serveControl() error {
	buffer := make([]byte, controlLen+1)
	for {
		n, from, err := s.control.ReadFrom(buffer)
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.Is(err, unix.ECONNREFUSED): // UDP: an earlier answer found nobody
			continue
		case err != nil:
			return err
		}
		var m control
		if m.decode(buffer[:n]) != nil || from == nil {
			continue // ibsim doesn't answer either
		}
		if !s.answer(&m, from) {
			continue
		}
		// The client may be gone, or not read: it gets no answer.
		s.control.SetWriteDeadline(time.Now().Add(sendPatience)) //nolint:errcheck // the socket was closed
		s.control.WriteTo(m.append(nil), withNUL(from))          //nolint:errcheck // as above
	}
}

// withNUL returns the address of a received datagram as one to send to: package net removes the NUL
// at its end, which belongs to the name.
func withNUL(from net.Addr) net.Addr {
	if a, ok := from.(*net.UnixAddr); ok && strings.HasPrefix(a.Name, "@") {
		return &net.UnixAddr{Name: a.Name + "\x00", Net: a.Net}
	}
	return from
}

// answer turns a control message into the response, and reports whether there is one.
func (s *Server) answer(m *control, from net.Addr) bool {
	if m.kind == controlConnect {
		if err := s.connect(m, from); err != nil {
			m.kind = controlError
		}
		return true
	}
	if m.clientID >= maxClients {
		return false
	}
	one := s.slots[m.clientID]
	switch {
	case m.kind == controlDisconnect:
		s.detach(one)
		return true
	case !one.isUsed():
		m.kind = controlError
		return true
	case m.kind == controlSetIsSM:
		s.backend.SetSM(one.number, m.data[0]|m.data[1]|m.data[2]|m.data[3] != 0)
		return true
	}
	port := uint8(0)
	if m.kind == controlPortInfo {
		port = m.data[0]
	}
	state := s.backend.Node(one.number, port)
	if !m.answer(&state) {
		m.kind = controlError
	}
	return true
}

// connect gives a client a slot.
func (s *Server) connect(m *control, from net.Addr) error {
	client := m.client()
	peer, err := s.dataAddress(client, from)
	if err != nil {
		return err
	}
	s.detachGone()
	for _, one := range s.slots {
		if one.isUsed() {
			continue
		}
		node, err := s.backend.Attach(one.number, client)
		if err != nil {
			return err
		}
		if err := one.use(peer); err != nil {
			s.backend.Detach(one.number)
			return err
		}
		m.accept(one.number, node)
		return nil
	}
	return fmt.Errorf("all %d slots are in use", maxClients)
}

// dataAddress returns the address of a client's data socket.
func (s *Server) dataAddress(c Client, from net.Addr) (unix.Sockaddr, error) {
	if a, ok := from.(*net.UDPAddr); ok {
		if c.ID == 0 || c.ID > 65535 {
			return nil, fmt.Errorf("client identifier %d is not a UDP port", c.ID)
		}
		peer := &unix.SockaddrInet4{Port: int(c.ID)}
		copy(peer.Addr[:], a.IP.To4())
		return peer, nil
	}
	name := Config{SocketName: s.config.SocketName}.socketName()
	return &unix.SockaddrUnix{Name: abstractName("%s:in%d", name, c.ID)}, nil
}

// detachGone frees the slots of clients that have ended without leaving. It can't detect them over
// UDP.
func (s *Server) detachGone() {
	for _, one := range s.slots {
		if one.isGone() {
			s.detach(one)
		}
	}
}

func (s *Server) detach(one *slot) {
	if one.free() {
		s.backend.Detach(one.number)
	}
}

// serveSlot passes the packets of a slot's clients to the backend.
func (s *Server) serveSlot(ctx context.Context, one *slot) {
	packets := make([]Packet, 1)
	for {
		t := &one.in
		t.packets, t.n, t.err = packets, 0, nil
		if err := one.data.wait(ctx, time.Time{}, t.try); err != nil {
			return // closed
		}
		if t.err != nil && !errors.Is(t.err, unix.ECONNREFUSED) {
			time.Sleep(time.Millisecond) // an error that stays must not keep a CPU busy
		}
		for i := range packets[:t.n] {
			if one.isUsed() {
				s.backend.Handle(one.number, &packets[i])
			}
		}
	}
}

// Send sends a packet to a client. It waits for one that doesn't read, for a limited time. The
// error matches [ErrNoClient] if the client is gone; its slot is then free.
func (s *Server) Send(number int, p *Packet) error {
	one := s.slots[number]
	err := one.send(p)
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOTCONN) {
		s.detach(one)
		return ErrNoClient
	}
	return err
}

// send sends a packet to the slot's client.
func (one *slot) send(p *Packet) error {
	one.outMu.Lock()
	defer one.outMu.Unlock()
	b := p.appendTo(one.out[:0])
	deadline := time.Now().Add(sendPatience)
	for first := uint64(0); ; {
		serial, err := one.trySend(b, first)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.EINTR) {
			return err
		}
		first = serial
		if err := one.data.writable(deadline); err != nil {
			return err
		}
	}
}

// trySend sends a datagram without waiting. It returns the serial number of the client; if the
// given one is another client's and not 0, it sends nothing.
func (one *slot) trySend(b []byte, serial uint64) (uint64, error) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if !one.used || serial != 0 && serial != one.serial {
		return 0, ErrNoClient
	}
	return one.serial, one.data.send(b)
}

func (one *slot) isUsed() bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.used
}

// use connects the slot to a client's data socket, so that the kernel delivers only its packets.
func (one *slot) use(peer unix.Sockaddr) error {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.data.mu.RLock()
	defer one.data.mu.RUnlock()
	if one.data.closed.Load() {
		return net.ErrClosed
	}
	one.drain()
	if err := unix.Connect(one.data.fd, peer); err != nil {
		return os.NewSyscallError("connect", err)
	}
	one.used, one.peer = true, peer
	one.serial++
	return nil
}

// drain drops the packets that an earlier client has left.
func (one *slot) drain() {
	var b [1]byte
	for range 1 << 16 {
		if _, _, err := unix.Recvfrom(one.data.fd, b[:], unix.MSG_DONTWAIT); err != nil {
			return
		}
	}
}

// free reports whether the slot had a client, which it has no longer.
func (one *slot) free() bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	used := one.used
	one.used = false
	return used
}

// isGone reports whether the slot's client has closed its abstract socket: then nobody can connect
// to it.
func (one *slot) isGone() bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	if _, named := one.peer.(*unix.SockaddrUnix); !one.used || !named {
		return false
	}
	one.data.mu.RLock()
	defer one.data.mu.RUnlock()
	return !one.data.closed.Load() && errors.Is(unix.Connect(one.data.fd, one.peer), unix.ECONNREFUSED)
}
