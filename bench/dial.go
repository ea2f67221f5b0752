package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// DefaultPort is the default TCP port of perftest's servers.
const DefaultPort = 18515

// dialTimeout is how long a server may take to accept.
const dialTimeout = 10 * time.Second

// keepAlive detects within half a minute that the peer's machine is gone, because the connection is
// idle during a measurement.
func keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4}
}

// Dial connects to the server of a test. port 0 is [DefaultPort].
func Dial(ctx context.Context, host string, port int) (net.Conn, error) {
	address, err := address(host, port)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", host, err)
	}
	d := net.Dialer{Timeout: dialTimeout, KeepAliveConfig: keepAlive()}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
			err = op.Err // the rest repeats the operation and the address
		}
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return conn, nil
}

// Connect connects to the server on host or, if host is empty, waits for one client on all
// addresses; waiting is called before it waits.
func Connect(ctx context.Context, host string, port int, waiting func()) (net.Conn, error) {
	if host != "" {
		return Dial(ctx, host, port)
	}
	l, err := Listen(ctx, "", port)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if waiting != nil {
		waiting()
	}
	return l.Accept(ctx)
}

// Listener accepts the clients of a test.
type Listener struct{ l net.Listener }

// Listen listens for clients on host, or on all addresses if host is empty. port 0 is
// [DefaultPort].
func Listen(ctx context.Context, host string, port int) (*Listener, error) {
	address, err := address(host, port)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", host, err)
	}
	lc := net.ListenConfig{KeepAliveConfig: keepAlive()}
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return &Listener{l}, nil
}

// Accept waits for a client, or until ctx ends.
func (l *Listener) Accept(ctx context.Context) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = l.l.Close() })
	defer stop()
	conn, err := l.l.Accept()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("wait for a client on %v: %w", l.l.Addr(), err)
	}
	return conn, nil
}

// Addr returns the address that clients connect to.
func (l *Listener) Addr() net.Addr { return l.l.Addr() }

// Close ends the listener.
func (l *Listener) Close() error { return l.l.Close() }

func address(host string, port int) (string, error) {
	if port == 0 {
		port = DefaultPort
	}
	if port < 1 || port > 65535 {
		return "", fmt.Errorf("port %d is not 1 to 65535", port)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}
