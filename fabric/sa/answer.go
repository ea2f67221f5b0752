package sa

import (
	"cmp"
	"context"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/rmpp"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Limits of a transfer of several segments.
const (
	// totalTime is the kernel's limit (drivers/infiniband/core/mad_rmpp.c).
	totalTime = 40 * time.Second
	// silence is how long the SA may be silent: its kernel repeats a segment every 2 s, 3 times.
	silence = 8 * time.Second
)

// receiveBatch is how many datagrams are received in one call.
const receiveBatch = 16

// waiting is a query that has been sent, in one or several tries.
type waiting struct {
	client    *Client
	to        fabric.Address
	attribute mad.Attribute
	method    mad.Method
	first     uint32 // transaction ID of the first try
	last      uint32 // and of the last one
	busy      bool   // the SA has answered that it is busy
	lost      int    // tries that the transport reported as lost

	// hidden means that the answer may have several segments, and the transport delivers it whole.
	hidden bool
	whole  time.Time // if hidden: when a whole answer must have arrived
	probe  uint32    // transaction ID of the last query that tests whether the SA is there; 0: none
	alive  bool      // it has answered the one that belongs to the last try, and isn't busy

	// The transfer of a message of several segments.
	transfer *rmpp.Receiver
	tid      uint32
	from     fabric.Address
	heard    time.Time // when the last packet arrived
	ends     time.Time
}

// try sends a query and waits for the answer to this or an earlier try: nil without an error means
// that there was none.
//
// While it receives segments, the kernel still waits for the whole answer, and drops that if the
// time of its request has passed (drivers/infiniband/core/mad.c, ib_mad_complete_recv). One lost
// segment takes 2 s. Nor does it report segments, or that the SA has ended its answer. So requests
// for tables get the time of a whole transfer, and a second query tells whether the SA is there.
func (w *waiting) try(ctx context.Context, p *mad.SA, last bool) (*message, error) {
	c, start, lost := w.client, time.Now(), w.lost
	timeout := cmp.Or(c.Timeout, time.Second)
	deadline, patience := start.Add(timeout), timeout
	w.alive = false
	if w.hidden {
		patience = max(timeout, cmp.Or(c.TotalTime, totalTime))
	}
	if w.whole.IsZero() {
		w.whole = start.Add(patience)
	}
	if sent, err := c.send(ctx, w.to, p, patience, deadline); err != nil || !sent {
		return nil, err
	}
	if w.hidden {
		m, err := w.answer(ctx, start.Add(timeout/2))
		if m != nil || err != nil || w.lost > lost {
			return m, err
		}
		if err := w.sendProbe(ctx, deadline); err != nil {
			return nil, err
		}
	}
	m, err := w.answer(ctx, deadline)
	if m != nil || err != nil || w.lost > lost || !w.alive {
		return m, err
	}
	until := w.whole
	if next := deadline.Add(silence); !last && next.Before(until) {
		until = next // in case the query was lost
	}
	return w.answer(ctx, until)
}

// sendProbe sends a query whose answer has one segment. It has the SM_Key: OpenSM answers no query
// with a wrong one.
func (w *waiting) sendProbe(ctx context.Context, deadline time.Time) error {
	c := w.client
	c.tid++
	w.probe = c.tid
	p := mad.NewSA(mad.MethodGet, mad.AttributeClassPortInfo, 0, uint64(c.tid))
	p.SMKey = c.SMKey
	_, err := c.send(ctx, w.to, &p, max(time.Millisecond, time.Until(deadline)), deadline)
	return err
}

// answer waits for the answer to one of the tries: nil without an error means that there was none
// before the deadline, or that the transport has lost the last try.
func (w *waiting) answer(ctx context.Context, deadline time.Time) (*message, error) {
	c := w.client
	if c.in == nil {
		c.in = make([]fabric.Datagram, receiveBatch)
	}
	lost := w.lost
	for {
		until := deadline
		if w.transfer != nil {
			until = w.ends
			if quiet := w.heard.Add(silence); quiet.Before(until) {
				until = quiet
			}
		}
		n, err := c.Transport.Receive(ctx, c.in, until)
		for i := range n {
			if m, err := w.take(ctx, &c.in[i]); m != nil || err != nil {
				return m, err
			}
		}
		switch {
		case err != nil:
			w.abort(ctx, mad.RMPPStatusUnspecified)
			return nil, err
		case w.transfer == nil && w.lost > lost:
			return nil, nil
		case n > 0 || time.Now().Before(until):
		case w.transfer == nil:
			return nil, nil
		default:
			e := &StalledError{Segments: w.transfer.Segments(), Total: !time.Now().Before(w.ends)}
			w.abort(ctx, mad.RMPPStatusTotalTime)
			return nil, e
		}
	}
}

// take handles a datagram: the answer, a segment of it, or something else.
func (w *waiting) take(ctx context.Context, d *fabric.Datagram) (*message, error) {
	var p mad.SA
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	tid := uint32(p.TransactionID)
	switch {
	case p.MgmtClass == mad.ClassSA && w.probe != 0 && tid == w.probe:
		w.alive = !d.Lost && p.Method == mad.MethodGetResp && !w.busy
		return nil, nil
	case p.MgmtClass != mad.ClassSA || p.AttributeID != w.attribute || tid-w.first > w.last-w.first:
		return nil, nil
	case d.Lost:
		if tid == w.last {
			w.lost++
		}
		return nil, nil
	case p.Method != w.method|mad.MethodResponse && p.Method != mad.MethodGetResp:
		return nil, nil
	case w.transfer != nil && tid != w.tid:
		return nil, nil // to an earlier try
	case p.Result()&mad.StatusBusy != 0:
		w.busy, w.alive = true, false
		return nil, nil
	case p.Result() != 0:
		return nil, &StatusError{Status: p.Result()}
	}
	if p.RMPP.Flags&mad.RMPPActive != 0 && p.RMPP.Type != 0 && !w.client.reassembles() {
		return w.segment(ctx, d, &p, tid)
	}
	return whole(d, &p)
}

// reassembles reports whether the transport delivers messages of several segments whole.
func (c *Client) reassembles() bool {
	t, ok := c.Transport.(interface{ Reassembles(class mad.Class) bool })
	return ok && t.Reassembles(mad.ClassSA)
}

// segment handles a packet of a message of several segments.
func (w *waiting) segment(ctx context.Context, d *fabric.Datagram, p *mad.SA, tid uint32) (*message, error) {
	now := time.Now()
	if w.transfer == nil {
		w.transfer = &rmpp.Receiver{MaxLen: w.client.MaxLen}
		w.tid, w.ends = tid, now.Add(cmp.Or(w.client.TotalTime, totalTime))
		w.from = d.Address
		w.from.QKey, w.from.SL = fabric.QKeyGSI, w.to.SL
	}
	w.heard = now
	reply, send, err := w.transfer.Receive(p)
	if send {
		if _, err := w.client.send(ctx, w.from, &reply, 0, now.Add(time.Second)); err != nil {
			return nil, err
		}
	}
	if err != nil || !w.transfer.Done() {
		return nil, err
	}
	m := w.transfer.Message()
	return &message{header: m.Header, data: m.Data, segments: w.transfer.Segments()}, nil
}

// abort tells the SA that a transfer is given up.
func (w *waiting) abort(ctx context.Context, status mad.RMPPStatus) {
	if w.transfer == nil {
		return
	}
	if p, send := w.transfer.Abort(status); send {
		// The SA also gives up by itself: an error here changes nothing.
		_, _ = w.client.send(ctx, w.from, &p, 0, time.Now())
	}
}

// whole returns a message that arrived as one datagram.
func whole(d *fabric.Datagram, p *mad.SA) (*message, error) {
	m := &message{header: p.SAHeader, segments: 1}
	length := cmp.Or(d.Length, mad.Len)
	m.data = append(m.data, p.Data[:max(0, min(length-mad.SAHeaderLen, mad.SADataLen))]...)
	m.data = append(m.data, d.Rest...)
	received := mad.Len + len(d.Rest)
	switch {
	case length > received:
		return m, &TruncatedError{Length: length, Received: received}
	case d.Rest == nil && length == mad.Len && p.RMPP.Flags&mad.RMPPActive != 0 && p.RMPP.Type == 0:
		// The SA has left the segments to a kernel, and there was none on the way.
		return m, &TruncatedError{Received: received}
	}
	m.segments += (len(d.Rest) + mad.SADataLen - 1) / mad.SADataLen
	return m, nil
}
