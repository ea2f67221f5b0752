package protocol

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// WrongLeaderError is the error of a leader with another certificate than that of the invitation.
type WrongLeaderError struct {
	Addr string
	Hash [sha256.Size]byte // of its certificate
}

// Error says what it means.
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

// Error says what was wrong.
func (e *TLSError) Error() string { return fmt.Sprintf("no leader answers at %s: %v", e.Addr, e.Err) }

// Unwrap returns what was wrong.
func (e *TLSError) Unwrap() error { return e.Err }

// UnreachableError is the error of a leader that couldn't be reached for as long as
// [Client.Patience].
type UnreachableError struct {
	Addr  string
	Since time.Duration
	Err   error // of the last try
}

// Error says for how long.
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

// dialer connects to a leader.
type dialer struct {
	addr   string
	own    tls.Certificate
	leader [sha256.Size]byte // hash of its certificate; zero: not known yet
	dial   func(context.Context) (net.Conn, error)
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
	inner, err := d.dial(ctx)
	if err != nil {
		return nil, &dialError{err, time.Since(began)}
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeLimit)
	defer cancel()
	c := tls.Client(inner, config)
	if err := c.HandshakeContext(ctx); err != nil {
		_ = inner.Close() // the handshake says what is wrong
		if _, wrong := errors.AsType[*WrongLeaderError](err); !wrong && !transient(err) {
			err = &TLSError{d.addr, err}
		}
		return nil, &dialError{err, time.Since(began)}
	}
	return c, nil
}

// tcp returns a function that connects to an address.
func tcp(addr string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		d := net.Dialer{Timeout: dialLimit}
		return d.DialContext(ctx, "tcp", addr)
	}
}

// transient reports whether an error of a connection is one of the way to the peer: what the peer
// has sent before was as it should be.
func transient(err error) bool {
	if alert(err) {
		return false
	}
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return true
	}
	for _, e := range []error{
		io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, os.ErrDeadlineExceeded, context.DeadlineExceeded,
		context.Canceled,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// alert reports whether an error is an alert of TLS that the peer has sent.
func alert(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

// final reports whether an error won't go away by trying again.
func final(err error) bool {
	if errors.Is(err, ErrBroken) {
		return true
	}
	if _, ok := errors.AsType[*RefusedError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*TLSError](err); ok {
		return true
	}
	_, ok := errors.AsType[*WrongLeaderError](err)
	return ok
}
