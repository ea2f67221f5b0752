package protocol_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

// network is a listener in memory, whose connections can be used with simulated time.
type network struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newNetwork() *network { return &network{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

func (n *network) Addr() net.Addr { return addr("memory:1") }

// addr is an address in memory.
type addr string

func (a addr) Network() string { return "memory" }
func (a addr) String() string  { return string(a) }

type from struct {
	net.Conn
	addr addr
}

func (f from) RemoteAddr() net.Addr { return f.addr }

// pair returns the ends of a connection in memory, which has buffers as one of the kernel has.
func pair() (near, far net.Conn) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	return protocol.Pipe(r1, w2), protocol.Pipe(r2, w1)
}

// dial connects from an address.
func (n *network) dial(ctx context.Context, a addr) (net.Conn, error) {
	near, far := pair()
	select {
	case n.conns <- from{far, a}:
		return near, nil
	case <-n.closed:
		return nil, errors.Join(net.ErrClosed, near.Close(), far.Close())
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), near.Close(), far.Close())
	}
}

// rig is a server that listens in memory.
type rig struct {
	t *testing.T
	*network
	server *protocol.Server
}

func newRig(t *testing.T, cfg protocol.ServerConfig) *rig {
	t.Helper()
	s, err := protocol.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t, newNetwork(), s}
	served := make(chan error, 1)
	go func() { served <- s.Serve(r.network) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return r
}

// invite returns an invitation with a ticket.
func (r *rig) invite(k protocol.Ticket) protocol.Invitation {
	r.t.Helper()
	i, err := r.server.Invite("memory:1", k)
	if err != nil {
		r.t.Fatal(err)
	}
	return i
}

// client returns a worker's end.
func (r *rig) client(i protocol.Invitation, name string) *protocol.Client {
	return &protocol.Client{
		Invitation: i, Name: name, Patience: time.Second,
		Dial: func(ctx context.Context) (net.Conn, error) { return r.dial(ctx, addr("10.0.0.1:1")) },
	}
}

// joined starts a worker that answers each command by its kind, and waits until it has joined.
func (r *rig) joined(c *protocol.Client) (*protocol.Session, <-chan error) {
	r.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- c.Work(r.t.Context(), answer) }()
	s, err := r.server.Next(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return s, ended
}

func answer(_ context.Context, c protocol.Command) protocol.Reply {
	return protocol.Reply{Name: string(c.Kind)}
}

// end ends a worker.
func (r *rig) end(s *protocol.Session, ended <-chan error) {
	r.t.Helper()
	if _, err := s.Do(r.t.Context(), protocol.Command{Kind: protocol.KindEnd}); err != nil {
		r.t.Error(err)
	}
	if err := <-ended; err != nil {
		r.t.Error(err)
	}
}

// identity returns a certificate.
func identity(t *testing.T) tls.Certificate {
	t.Helper()
	c, _, err := protocol.NewIdentity(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// peer sends requests as it likes.
type peer struct {
	t    *testing.T
	http *http.Client
	ctx  func() context.Context // of its requests
}

// peer returns one with a certificate.
func (r *rig) peer(cert tls.Certificate) *peer {
	tr := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{cert}, InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return r.dial(ctx, addr("10.0.0.2:1"))
		},
	}
	r.t.Cleanup(tr.CloseIdleConnections)
	return &peer{r.t, &http.Client{Transport: tr}, r.t.Context}
}

// do sends a request and returns the status and the text of the answer.
func (p *peer) do(method, path string, body io.Reader) (int, string) {
	p.t.Helper()
	q, err := http.NewRequestWithContext(p.ctx(), method, "https://leader"+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := p.http.Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return r.StatusCode, err.Error()
	}
	return r.StatusCode, strings.TrimSpace(string(b))
}

// next asks for work, as a worker does.
func (p *peer) next(body string) (int, string) {
	p.t.Helper()
	return p.do(http.MethodPost, "/v1/next", strings.NewReader(body))
}

// join is a request to join, with what a worker says if nothing is changed.
type join map[string]any

// join asks to join with a secret and changes of the request.
func (p *peer) join(name, secret string, changes join) (int, string) {
	p.t.Helper()
	q := join{"version": protocol.Version, "name": name, "software": protocol.Software(), "secret": secret}
	maps.Copy(q, changes)
	b, err := json.Marshal(q)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.do(http.MethodPost, "/v1/join", bytes.NewReader(b))
}
