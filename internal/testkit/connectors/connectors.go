// Package connectors wraps providers for tests of programs that connect queue pairs by address: one
// without a connection manager, and one that reports what a program leaves open.
package connectors

import (
	"context"
	"net/netip"
	"sync"
	"testing"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// Without is a provider whose devices have no connection manager.
type Without struct{ provider.Provider }

// Open implements [provider.Provider].
func (p Without) Open(ctx context.Context, name string) (provider.Device, error) {
	d, err := p.Provider.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return withoutConnector{d}, nil
}

type withoutConnector struct{ provider.Device }

func (d withoutConnector) Capabilities() provider.Capabilities {
	return d.Device.Capabilities() &^ provider.CapConnector
}

// Checked is a provider whose devices must be left without open listeners and connections, and
// without requests that nobody has answered: engines free them when the device is closed,
// libibverbs doesn't. After an error of Accept, Reject must be called. Failures are reported to T
// when a device is closed.
type Checked struct {
	provider.Provider
	T testing.TB
}

// Open implements [provider.Provider].
func (p Checked) Open(ctx context.Context, name string) (provider.Device, error) {
	d, err := p.Provider.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	c, ok := d.(provider.Connector)
	if !ok {
		return d, nil
	}
	return &checkedDevice{Device: d, connector: c, t: p.T, name: name, open: map[any]string{}}, nil
}

type checkedDevice struct {
	provider.Device
	connector provider.Connector
	t         testing.TB
	name      string

	mu   sync.Mutex
	open map[any]string // what is open
}

func (d *checkedDevice) opened(x any, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[x] = what
}

func (d *checkedDevice) closed(x any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, x)
}

// Close implements [provider.Device].
func (d *checkedDevice) Close() error {
	d.mu.Lock()
	for _, what := range d.open {
		d.t.Errorf("%s is closed with an open %s", d.name, what)
	}
	clear(d.open)
	d.mu.Unlock()
	return d.Device.Close()
}

// Counters implements [provider.CounterReader].
func (d *checkedDevice) Counters() map[string]uint64 {
	if c, ok := d.Device.(provider.CounterReader); ok {
		return c.Counters()
	}
	return nil
}

// Dial implements [provider.Connector].
func (d *checkedDevice) Dial(
	ctx context.Context, qp provider.QueuePair, addr netip.AddrPort, options provider.ConnectOptions,
) (provider.Connection, error) {
	return d.connection(d.connector.Dial(ctx, qp, addr, options))
}

func (d *checkedDevice) connection(c provider.Connection, err error) (provider.Connection, error) {
	if err != nil {
		return nil, err
	}
	x := &checkedConnection{c, d}
	d.opened(x, "connection to "+c.Remote().String())
	return x, nil
}

type checkedConnection struct {
	provider.Connection
	d *checkedDevice
}

// Close implements [provider.Connection].
func (c *checkedConnection) Close() error {
	c.d.closed(c)
	return c.Connection.Close()
}

// Listen implements [provider.Connector].
func (d *checkedDevice) Listen(
	ctx context.Context, addr netip.AddrPort, options provider.ListenOptions,
) (provider.Listener, error) {
	l, err := d.connector.Listen(ctx, addr, options)
	if err != nil {
		return nil, err
	}
	x := &checkedListener{l, d}
	d.opened(x, "listener at "+l.Addr().String())
	return x, nil
}

type checkedListener struct {
	provider.Listener
	d *checkedDevice
}

// Next implements [provider.Listener].
func (l *checkedListener) Next(ctx context.Context) (provider.ConnectionRequest, error) {
	r, err := l.Listener.Next(ctx)
	if err != nil {
		return nil, err
	}
	x := &checkedRequest{r, l.d}
	l.d.opened(x, "request from "+r.Remote().String())
	return x, nil
}

// Close implements [provider.Listener].
func (l *checkedListener) Close() error {
	l.d.closed(l)
	return l.Listener.Close()
}

type checkedRequest struct {
	provider.ConnectionRequest
	d *checkedDevice
}

// Accept implements [provider.ConnectionRequest].
func (r *checkedRequest) Accept(
	ctx context.Context, qp provider.QueuePair, options provider.ConnectOptions,
) (provider.Connection, error) {
	c, err := r.ConnectionRequest.Accept(ctx, qp, options)
	if err == nil {
		r.d.closed(r)
	}
	return r.d.connection(c, err)
}

// Reject implements [provider.ConnectionRequest].
func (r *checkedRequest) Reject(privateData []byte) error {
	r.d.closed(r)
	return r.ConnectionRequest.Reject(privateData)
}
