package sa

import (
	"cmp"
	"errors"
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

// waiting is a query that has been sent, in one or several tries.
type waiting struct {
	client *Client
	to     fabric.Address
	method mad.Method

	// The transfer of a message of several segments; nil: none has begun.
	transfer *rmpp.Receiver
	tid      uint32 // of the try that it answers
	from     fabric.Address
	ends     time.Time
	failed   error
}

// accept implements [fabric.Request.Accept]: once a transfer has begun, answers to other tries
// don't count.
func (w *waiting) accept(_, answer *[mad.Len]byte) bool {
	var p mad.SA
	p.Decode(answer[:])            //nolint:errcheck // a MAD is long enough
	tid := uint32(p.TransactionID) // the transport may use the upper half
	return (p.Method == w.method|mad.MethodResponse || p.Method == mad.MethodGetResp) &&
		(w.transfer == nil || tid == w.tid)
}

// more implements [fabric.Request.More]: it takes the segments of a message, and acknowledges them.
func (w *waiting) more(d *fabric.Datagram) (wait time.Duration, more bool) {
	var p mad.SA
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	if p.RMPP.Flags&mad.RMPPActive == 0 || p.RMPP.Type == 0 || w.client.reassembles() {
		return 0, false
	}
	now := time.Now()
	if w.transfer == nil {
		w.transfer = &rmpp.Receiver{MaxLen: w.client.MaxLen}
		w.tid, w.ends = uint32(p.TransactionID), now.Add(cmp.Or(w.client.TotalTime, totalTime))
		w.from = d.Address
		w.from.QKey, w.from.SL = fabric.QKeyGSI, w.to.SL
	}
	reply, send, err := w.transfer.Receive(&p)
	if send {
		if failed := w.post(&reply); failed != nil {
			err = failed
		}
	}
	w.failed = err
	return max(1, min(silence, w.ends.Sub(now))), err == nil && !w.transfer.Done()
}

// post sends a packet that has no answer.
func (w *waiting) post(p *mad.SA) error {
	d := fabric.Datagram{Address: w.from}
	p.Append(d.MAD[:0])
	return w.client.engine.Post(&d)
}

// reassembles reports whether the transport delivers messages of several segments whole.
func (c *Client) reassembles() bool {
	t, ok := c.Transport.(interface{ Reassembles(class mad.Class) bool })
	return ok && t.Reassembles(mad.ClassSA)
}

// end returns the result of a transfer, whose request ended with an error or nil.
func (w *waiting) end(err error) (*message, error) {
	_, stalled := errors.AsType[*fabric.NoAnswerError](err)
	switch {
	case w.failed != nil:
		return nil, w.failed
	case stalled:
		w.abort(mad.RMPPStatusTotalTime)
		return nil, &StalledError{Segments: w.transfer.Segments(), Total: !time.Now().Before(w.ends)}
	case !w.transfer.Done():
		w.abort(mad.RMPPStatusUnspecified)
		return nil, err
	}
	m := w.transfer.Message()
	return &message{header: m.Header, data: m.Data, segments: w.transfer.Segments()}, nil
}

// abort tells the SA that a transfer is given up.
func (w *waiting) abort(status mad.RMPPStatus) {
	if p, send := w.transfer.Abort(status); send {
		_ = w.post(&p) // the SA also gives up by itself: an error here changes nothing
	}
}

// whole returns a message that arrived as one datagram.
func whole(d *fabric.Datagram) (*message, error) {
	var p mad.SA
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
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
