package sa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Client queries the SA of the subnet that its transport reaches.
type Client struct {
	Transport fabric.Transport
	// LID is the address of the SA; 0: that of the local port's subnet manager.
	LID ib.LID
	// SL is the service level to the SA, if LID is set.
	SL uint8
	// SMKey is for queries that the subnet manager answers only to programs that it trusts.
	SMKey uint64
	// Keys has the M_Key of the local port, whose state tells where the SA is.
	Keys fabric.Keys
	// Timeout is how long to wait for the answer to each try; 0: 1 s. A transport that delivers
	// messages of several segments whole, as the kernel does, doesn't tell a transfer from silence:
	// there a table may take TotalTime, from the first try on, if the SA answers another query
	// meanwhile.
	Timeout time.Duration
	// Retries is how often a query is sent again; 0: 2; negative: never.
	Retries int
	// TotalTime bounds an answer of several segments, from its first one; 0: 40 s, as in the
	// kernel.
	TotalTime time.Duration
	// MaxLen bounds the records of an answer, in bytes; 0: 64 MiB.
	MaxLen int

	located bool
	address fabric.Address
	tid     uint32
	in      []fabric.Datagram
	out     [1]fabric.Datagram
}

// Locate finds the SA, unless LID is set or it is known already. The error matches [ErrNotActive]
// or [ErrNoManager], or comes from the request for the local port's state.
func (c *Client) Locate(ctx context.Context) (fabric.Address, error) {
	if c.LID != 0 {
		return fabric.Address{LID: c.LID, QPN: 1, QKey: fabric.QKeyGSI, SL: c.SL}, nil
	}
	if c.located {
		return c.address, nil
	}
	local := fabric.Client{Transport: c.Transport, Timeout: c.Timeout, Retries: c.Retries, Keys: c.Keys}
	port, err := local.OwnPort(ctx)
	switch {
	case err != nil:
		return fabric.Address{}, fmt.Errorf("find subnet administration: %w", err)
	case port.PortState != mad.PortStateActive && port.PortState != mad.PortStateArmed:
		return fabric.Address{}, fmt.Errorf("find subnet administration: %w, but %s", ErrNotActive, port.PortState)
	case port.MasterSMLID == 0:
		return fabric.Address{}, fmt.Errorf("find subnet administration: %w", ErrNoManager)
	}
	c.address = fabric.Address{LID: port.MasterSMLID, QPN: 1, QKey: fabric.QKeyGSI, SL: port.MasterSMSL}
	c.located = true
	return c.address, nil
}

// Get asks for exactly one record, and returns it with its padding. If none or several match, the
// SA answers with a [*StatusError].
func (c *Client) Get(ctx context.Context, q Query) ([]byte, error) {
	m, err := c.query(ctx, mad.MethodGet, q)
	if err != nil {
		return nil, err
	}
	return m.data, nil
}

// Table asks for all records that match; there may be none. If the transport delivered only a part
// of the answer, the error is a [*TruncatedError], and the table has the records that are complete.
func (c *Client) Table(ctx context.Context, q Query) (*Table, error) {
	m, err := c.query(ctx, mad.MethodGetTable, q)
	if m == nil {
		return nil, err
	}
	return &Table{
		Attribute: q.Attribute, Data: m.data, RecordSize: m.header.RecordSize(), Segments: m.segments,
	}, err
}

// ClassPortInfo asks for the capabilities of the SA.
func (c *Client) ClassPortInfo(ctx context.Context) (mad.ClassPortInfo, error) {
	var info mad.ClassPortInfo
	b, err := c.Get(ctx, Query{Attribute: mad.AttributeClassPortInfo})
	if err == nil {
		_, err = info.Decode(b)
	}
	return info, err
}

// message is a whole answer.
type message struct {
	header   mad.SAHeader
	data     []byte
	segments int
}

func (c *Client) query(ctx context.Context, method mad.Method, q Query) (*message, error) {
	to, err := c.Locate(ctx)
	if err != nil {
		return nil, err
	}
	p := mad.NewSA(method, q.Attribute, q.Mask, 0)
	p.AttributeModifier, p.SMKey = q.Modifier, c.SMKey
	if copy(p.Data[:], q.Record) < len(q.Record) {
		return nil, fmt.Errorf("query subnet administration for %s: a record of %d bytes, at most %d",
			q.Attribute.Name(mad.ClassSA), len(q.Record), mad.SADataLen)
	}
	m, err := c.ask(ctx, to, &p)
	if err != nil {
		err = fmt.Errorf("query subnet administration at LID %d for %s: %w",
			uint16(to.LID), q.Attribute.Name(mad.ClassSA), err)
	}
	return m, err
}

// errBusy is the cause if the SA was busy at the last try.
var errBusy = errors.New("subnet administration is busy")

// ask sends a query, with retries, until there is an answer.
func (c *Client) ask(ctx context.Context, to fabric.Address, p *mad.SA) (*message, error) {
	tries := 1 + max(0, cmp.Or(c.Retries, 2))
	if c.tid == 0 {
		// Not from 1: answers to another client of the transport may still arrive.
		c.tid = uint32(time.Now().UnixNano()>>10) | 1
	}
	w := waiting{
		client: c, to: to, attribute: p.AttributeID, method: p.Method, first: c.tid + 1,
		hidden: p.Method == mad.MethodGetTable && p.AttributeID != mad.AttributeClassPortInfo && c.reassembles(),
	}
	start := time.Now()
	for i := range tries {
		c.tid++
		w.last = c.tid
		p.TransactionID = uint64(c.tid)
		m, err := w.try(ctx, p, i == tries-1)
		if m != nil || err != nil {
			return m, err
		}
	}
	return nil, w.unanswered(tries, time.Since(start).Round(time.Millisecond))
}

// unanswered returns the error of a query without an answer.
func (w *waiting) unanswered(tries int, after time.Duration) error {
	times := fmt.Sprintf("%d tries", tries)
	if tries == 1 {
		times = "1 try"
	}
	switch {
	case w.busy:
		return fmt.Errorf("%w after %s in %v", errBusy, times, after)
	case w.alive:
		return &StalledError{Hidden: true, After: after}
	}
	err := fmt.Errorf("%w to %s in %v", fabric.ErrNoAnswer, times, after)
	switch {
	case w.lost == tries: // the time is not worth printing: the transport gave up by itself
		err = fmt.Errorf("the transport reports %w to %s", fabric.ErrNoAnswer, times)
	case w.hidden:
		err = fmt.Errorf("%w (the transport delivers only whole answers)", err)
	}
	if a := fabric.AddressingOf(w.client.Transport); a != nil {
		err = &fabric.SentError{Err: err, Sent: a.Sent(&w.client.out[0].Address)}
	}
	return err
}

// send sends one packet, and reports whether the transport took it before the deadline. A timeout
// of 0 expects no answer.
func (c *Client) send(
	ctx context.Context, to fabric.Address, p *mad.SA, timeout time.Duration, deadline time.Time,
) (bool, error) {
	c.out[0] = fabric.Datagram{Address: to, Timeout: timeout}
	addressing := fabric.AddressingOf(c.Transport)
	addressing.Apply(&c.out[0].Address, mad.ClassSA)
	p.Append(c.out[0].MAD[:0])
	for {
		n, err := c.Transport.Send(c.out[:])
		switch {
		case n > 0:
			addressing.Accepted(&c.out[0].Address)
		case errors.Is(err, fabric.ErrRefused) && addressing.AddGRH(&c.out[0].Address, err):
			continue
		}
		if n > 0 || err != nil {
			return n > 0, err
		}
		pause := min(time.Millisecond, time.Until(deadline))
		if pause <= 0 {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}
