package rping

import (
	"context"
	"net/netip"

	"github.com/rdmakit/rdmakit/verbs"
)

// Client is a connection to a server. Create one with [Dial].
type Client struct {
	rig *rig
}

// Dial connects to the server at addr; port 0 is DefaultPort. The device must have
// verbs.CapConnector.
func Dial(ctx context.Context, d *verbs.Device, addr netip.AddrPort, o Options) (*Client, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	if addr.Port() == 0 {
		addr = netip.AddrPortFrom(addr.Addr(), DefaultPort)
	}
	r, err := newRig(d, o, o.Size, true)
	if err != nil {
		return nil, err
	}
	if r.conn, err = d.Dial(ctx, r.qp, addr, r.connectOptions()); err != nil {
		_ = r.close() // the other error is more useful
		return nil, err
	}
	r.beat(d)
	r.observe(Event{Step: StepConnected})
	return &Client{r}, nil
}

// Source returns the memory that the server reads: see [Fill].
func (c *Client) Source() []byte { return c.rig.source.memory }

// Sink returns the memory that the server writes. It is as long as Source.
func (c *Client) Sink() []byte { return c.rig.data.memory }

// Local returns the address of this end, Remote that of the server.
func (c *Client) Local() netip.AddrPort { return c.rig.conn.Local() }

// Remote returns the address of the server.
func (c *Client) Remote() netip.AddrPort { return c.rig.conn.Remote() }

// Ping has the server read Source and write it to Sink, and waits until it has. After an error the
// client can only be closed; the error is io.EOF if the server has disconnected.
func (c *Client) Ping(ctx context.Context) error {
	for _, m := range []*region{&c.rig.source, &c.rig.data} {
		b := m.buffer()
		c.rig.observe(Event{Step: StepAdvertise, Buffer: b})
		if err := c.rig.send(b); err != nil {
			return err
		}
		if _, err := c.rig.receive(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Disconnect ends the connection and waits until the server has noticed, or ctx ends. Close frees
// the client.
func (c *Client) Disconnect(ctx context.Context) error { return c.rig.conn.Disconnect(ctx) }

// Close disconnects without waiting and frees everything.
func (c *Client) Close() error { return c.rig.close() }
