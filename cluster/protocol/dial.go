package protocol

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// WrongLeaderError is the error of a leader with another certificate than that of the invitation.
type WrongLeaderError struct {
	Addr string
	Hash [sha256.Size]byte // of its certificate
}

// Error explains the possible reasons.
func (e *WrongLeaderError) Error() string {
	return fmt.Sprintf("the certificate of %s is not that of the leader who sent the invitation: it has ended, or "+
		"somebody else answers there", e.Addr)
}

// TLSError is the error of a peer that doesn't speak TLS as a leader does: another version, or
// another protocol.
type TLSError struct {
	Addr string
	Err  error
}

// Error returns the address and the cause.
func (e *TLSError) Error() string { return fmt.Sprintf("no leader answers at %s: %v", e.Addr, e.Err) }

// Unwrap returns the cause.
func (e *TLSError) Unwrap() error { return e.Err }

// UnreachableError is the error of a leader that couldn't be reached for as long as
// [Client.Patience].
type UnreachableError struct {
	Addr  string
	Since time.Duration
	Err   error // of the last try
}

// Error returns the address, the time and the last error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the leader at %s can't be reached for %v: %v", e.Addr, e.Since.Round(time.Second), e.Err)
}

// Unwrap returns the error of the last try.
func (e *UnreachableError) Unwrap() error { return e.Err }

// dialError is the error of a try to connect that took a while.
type dialError struct {
	err  error
	took time.Duration
}

// Error is that of the try.
func (e *dialError) Error() string { return e.err.Error() }

// Unwrap returns the error of the try.
func (e *dialError) Unwrap() error { return e.err }

// Limits of connecting.
const (
	dialLimit      = 3 * time.Second
	handshakeLimit = 10 * time.Second
)

// errHandshake is the error of a peer that accepts a connection and doesn't answer.
var errHandshake = fmt.Errorf("no TLS handshake within %v", handshakeLimit)

// dialer connects to a leader.
type dialer struct {
	addr   string
	own    tls.Certificate
	leader [sha256.Size]byte // hash of its certificate; zero: not known yet
	dial   func(context.Context) (net.Conn, error)

	mu     sync.Mutex
	closed bool
	open   map[*watched]bool
}

// watched is a connection whose first error is kept.
type watched struct {
	net.Conn
	dialer *dialer

	mu  sync.Mutex
	err error
}

// Read implements [net.Conn].
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	return n, w.keep(err)
}

// Write implements [net.Conn].
func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	return n, w.keep(err)
}

func (w *watched) keep(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	return err
}

// caused reports whether an error is that of the connection: what the peer has sent before was as
// it should be.
func (w *watched) caused(err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil && (errors.Is(err, w.err) || errors.Is(err, io.ErrUnexpectedEOF))
}

// Close implements [net.Conn].
func (w *watched) Close() error {
	w.dialer.mu.Lock()
	delete(w.dialer.open, w)
	w.dialer.mu.Unlock()
	return w.Conn.Close()
}

// watch keeps a connection until it is closed.
func (d *dialer) watch(c net.Conn) (*watched, error) {
	w := &watched{Conn: c, dialer: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errors.Join(net.ErrClosed, c.Close())
	}
	if d.open == nil {
		d.open = map[*watched]bool{}
	}
	d.open[w] = true
	return w, nil
}

// close closes all connections, also those that are in use: a transport closes idle ones only, and
// it takes a moment until one is idle. After the last time, those that come later are closed too.
func (d *dialer) close(last bool) {
	d.mu.Lock()
	open := slices.Collect(maps.Keys(d.open))
	d.closed = d.closed || last
	d.mu.Unlock()
	for _, w := range open {
		_ = w.Close() // nothing is on the way
	}
}

// accept returns the check of the leader's certificate.
func (d *dialer) accept() func([sha256.Size]byte) error {
	want := d.leader
	return func(hash [sha256.Size]byte) error {
		if want != [sha256.Size]byte{} && !equal(hash, want) {
			return &WrongLeaderError{Addr: d.addr, Hash: hash}
		}
		return nil
	}
}

// transport returns a transport of HTTP/2 over TLS 1.3.
func (d *dialer) transport() *http.Transport {
	config := workerTLS(d.own, d.accept())
	var only http.Protocols
	only.SetHTTP2(true)
	return &http.Transport{
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.connect(ctx, config) },
		Protocols:      &only, DisableCompression: true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingLimit, WriteByteTimeout: writeLimit},
	}
}

// connect opens a connection.
func (d *dialer) connect(ctx context.Context, config *tls.Config) (net.Conn, error) {
	began := time.Now()
	c, err := d.dial(ctx)
	if err != nil {
		return nil, &dialError{err, time.Since(began)}
	}
	inner, err := d.watch(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, handshakeLimit, errHandshake)
	defer cancel()
	secure := tls.Client(inner, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = inner.Close() // the handshake says what is wrong
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		_, wrong := errors.AsType[*WrongLeaderError](err)
		if !wrong && ctx.Err() == nil && !inner.caused(err) {
			err = &TLSError{d.addr, err}
		}
		return nil, &dialError{err, time.Since(began)}
	}
	return secure, nil
}

// tcp returns a function that connects to an address.
func tcp(addr string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		d := net.Dialer{Timeout: dialLimit}
		return d.DialContext(ctx, "tcp", addr)
	}
}

// final reports whether an error won't go away by trying again.
func final(err error) bool {
	if errors.Is(err, ErrBroken) {
		return true
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return !refused.busy()
	}
	if _, ok := errors.AsType[*ReplyError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*TLSError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*proveError](err); ok {
		return true
	}
	_, ok := errors.AsType[*WrongLeaderError](err)
	return ok
}
