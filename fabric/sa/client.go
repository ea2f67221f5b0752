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
	engine  *fabric.Engine // from the first query on
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

// errBusy is the cause if the SA was busy at one of the tries.
var errBusy = errors.New("subnet administration is busy")

// busy returns the error of a query to an SA that was busy.
func busy(tries int, after time.Duration) error {
	if tries == 1 {
		return fmt.Errorf("%w after 1 try in %v", errBusy, after)
	}
	return fmt.Errorf("%w after %d tries in %v", errBusy, tries, after)
}

// window is how many requests of one query may be outstanding: its tries, and those of askHidden.
const window = 8

// ask sends a query, with retries, until there is an answer.
func (c *Client) ask(ctx context.Context, to fabric.Address, p *mad.SA) (*message, error) {
	if c.engine == nil {
		c.engine = fabric.NewEngine(c.Transport, window)
	}
	if p.Method == mad.MethodGetTable && p.AttributeID != mad.AttributeClassPortInfo && c.reassembles() {
		return c.askHidden(ctx, to, p)
	}
	w := waiting{client: c, to: to, method: p.Method}
	r := fabric.Request{
		Address: to, Timeout: cmp.Or(c.Timeout, time.Second), Retries: cmp.Or(c.Retries, 2),
		Accept: w.accept, More: w.more,
	}
	p.Append(r.MAD[:0])
	reply, err := c.engine.Do(ctx, &r)
	if e, refused := errors.AsType[*fabric.StatusError](err); refused {
		return nil, &StatusError{Status: e.Status}
	}
	if w.transfer != nil {
		return w.end(err)
	}
	if e, given := errors.AsType[*fabric.NoAnswerError](err); given && e.Busy {
		return nil, busy(e.Tries, e.After)
	}
	if err != nil {
		return nil, err
	}
	return whole(reply.Answer)
}
