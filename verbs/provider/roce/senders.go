package roce

import (
	"sync"

	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// maxSenders limits the additional sockets of an engine: more flows than networks have paths.
const maxSenders = 32

// senders are sockets that send from other ports than 4791, so that networks with several paths and
// receivers with several queues spread the queue pairs (ECMP, RSS).
type senders struct {
	open func(port uint16) (PacketSender, error) // nil: only the engine's connection sends
	main PacketSender

	mu     sync.Mutex
	list   []portConn
	byPort map[uint16]int // index into list
	closed bool
}

// portConn is one of them, and its port.
type portConn struct {
	PacketSender
	port uint16
}

func (s *senders) init(conn PacketConn, open func(port uint16) (PacketSender, error)) {
	s.main, s.open, s.byPort = conn, open, map[uint16]int{}
}

// at returns the sender for a port. If there are too many ports, or if another program has this
// one, queue pairs share the ports that there are.
func (s *senders) at(port uint16) portConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.byPort[port]; ok {
		return s.list[i]
	}
	if s.open != nil && !s.closed && len(s.list) < maxSenders {
		if conn, err := s.open(port); err == nil {
			s.byPort[port] = len(s.list)
			s.list = append(s.list, portConn{conn, port})
			return s.list[len(s.list)-1]
		}
	}
	if len(s.list) == 0 {
		return portConn{s.main, rocev2.Port}
	}
	return s.list[int(port)%len(s.list)]
}

// close closes the additional sockets.
func (s *senders) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, one := range s.list {
		_ = one.Close()
	}
	s.list, s.byPort = nil, nil
}
