package protocol

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// strangers are the connections that have not carried a request of a worker yet. Their number is
// limited: beyond the limit, a new one displaces the oldest one from the address that has the most,
// so that a flood displaces connections from its own addresses only.
type strangers struct {
	limit int

	mu     sync.Mutex
	closed bool
	all    list.List      // of *conn, the oldest first
	from   map[string]int // by address, of IPv6 by its first 64 bits
}

const (
	// strangerLimit is how long a connection may be one of a stranger.
	strangerLimit = 30 * time.Second
	// strangerRequests is how many requests it may have.
	strangerRequests = 16
	// Of strangers beside the workers, and if the number of workers is not known.
	moreStrangers = 64
	anyStrangers  = 1024
)

func newStrangers(workers int) *strangers {
	s := &strangers{limit: 2*workers + moreStrangers, from: map[string]int{}} //nolint:mnd // a worker may dial again
	if workers == 0 {
		s.limit = anyStrangers
	}
	return s
}

// add adds a connection, and closes another one if there are too many.
func (s *strangers) add(inner net.Conn) *conn {
	c := newConn(inner, s)
	s.mu.Lock()
	var victim *conn
	switch {
	case s.closed:
		victim = c
	case s.all.Len() >= s.limit:
		victim = s.victim()
		fallthrough
	default:
		c.place = s.all.PushBack(c)
		s.from[c.host]++
	}
	s.mu.Unlock()
	if victim != nil {
		_ = victim.Close() // the peer may be slow to notice
	}
	return c
}

// close closes all of them, and those that come later.
func (s *strangers) close() {
	s.mu.Lock()
	s.closed = true
	var all []*conn
	for e := s.all.Front(); e != nil; e = e.Next() {
		if c, ok := e.Value.(*conn); ok {
			all = append(all, c)
		}
	}
	s.mu.Unlock()
	for _, c := range all {
		_ = c.Close() // the peer may be slow to notice
	}
}

// victim returns the oldest connection from the address that has the most. s.mu is held.
func (s *strangers) victim() *conn {
	most := 0
	for _, n := range s.from {
		most = max(most, n)
	}
	for e := s.all.Front(); ; e = e.Next() {
		if c, ok := e.Value.(*conn); ok && s.from[c.host] == most {
			return c
		}
	}
}

// drop removes a connection, if it is one of a stranger. s.mu is held.
func (s *strangers) drop(c *conn) {
	c.timer.Stop()
	if c.place == nil {
		return
	}
	s.all.Remove(c.place)
	c.place = nil
	if s.from[c.host]--; s.from[c.host] == 0 {
		delete(s.from, c.host)
	}
}

// conn is a connection to the leader.
type conn struct {
	net.Conn
	strangers *strangers
	host      string // as strangers.from has it
	single    bool   // it can't be replaced
	timer     *time.Timer
	once      sync.Once
	gone      chan struct{} // closed by Close

	// Guarded by strangers.mu.
	place    *list.Element // in strangers.all; nil: not counted there
	requests int
	session  *Session
}

func newConn(inner net.Conn, s *strangers) *conn {
	c := &conn{Conn: inner, strangers: s, host: source(inner.RemoteAddr().String()), gone: make(chan struct{})}
	c.timer = time.AfterFunc(strangerLimit, c.expire)
	return c
}

// source returns the part of an address that one machine can't choose: it has any address of its
// IPv6 subnet, of 64 bits (RFC 4291, section 2.5.1).
func source(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return host
	case ip.Unmap().Is4():
		return ip.Unmap().String()
	}
	const interfaceID = 64
	return netip.PrefixFrom(ip.WithZone(""), interfaceID).Masked().String()
}

// expire closes a connection that is still one of a stranger.
func (c *conn) expire() {
	c.strangers.mu.Lock()
	known := c.session != nil
	c.strangers.mu.Unlock()
	if !known {
		_ = c.Close() // the peer may be slow to notice
	}
}

// welcome counts a request. With a session, the connection isn't one of a stranger any more. It
// reports whether the request may be answered. Without a connection, it may.
func (c *conn) welcome(j *Session) bool {
	if c == nil {
		return true
	}
	s := c.strangers
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.session == nil && j != nil && j.attach() {
		c.session = j
		s.drop(c)
	}
	if c.session == nil {
		c.requests++
	}
	return c.requests <= strangerRequests
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.gone)
		c.strangers.mu.Lock()
		defer c.strangers.mu.Unlock()
		c.strangers.drop(c)
		if c.session != nil {
			c.session.detach(c.single)
		}
	})
	return c.Conn.Close()
}

// guard is a listener whose connections are those of strangers at first.
type guard struct {
	net.Listener
	strangers *strangers
}

// Accept implements [net.Listener].
func (g *guard) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return g.strangers.add(c), nil
}

// single is a listener of one connection.
type single struct {
	conn   *conn
	first  chan *conn
	closed chan struct{}
	once   sync.Once
}

// errSingle is the error of a listener whose only connection has ended.
var errSingle = errors.New("the connection has ended")

func newSingle(c net.Conn, s *strangers) *single {
	l := &single{conn: newConn(c, s), first: make(chan *conn, 1), closed: make(chan struct{})}
	l.conn.single = true
	l.first <- l.conn
	return l
}

// Accept implements [net.Listener]: it returns the connection once, and then waits for its end.
func (l *single) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	select {
	case c := <-l.first:
		return c, nil
	case <-l.conn.gone:
		return nil, errSingle
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]. It closes a connection that nobody has accepted.
func (l *single) Close() error {
	l.once.Do(func() { close(l.closed) })
	select {
	case c := <-l.first:
		return c.Close()
	default:
		return nil
	}
}

// Addr implements [net.Listener].
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }

type connKey struct{}

// withConn keeps the connection in the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// connOf returns the connection of a request, nil if it is unknown.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
