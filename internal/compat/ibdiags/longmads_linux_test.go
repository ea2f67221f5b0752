package ibdiags

import (
	"bytes"
	"context"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/rmpp"
	"github.com/rdmakit/rdmakit/internal/testkit/longmads"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// asKernel returns a function that wraps a transport: long messages arrive whole, as the kernel
// delivers them.
func asKernel(r *longmads.Relay) func(fabric.Transport) fabric.Transport {
	return func(t fabric.Transport) fabric.Transport { return &wholeTransport{t, r} }
}

// inSegments does the same, but all tables of subnet administration arrive in segments, whose
// acknowledgements the transport takes.
func inSegments(r *longmads.Relay) func(fabric.Transport) fabric.Transport {
	return func(t fabric.Transport) fabric.Transport { return &segmentTransport{Transport: t, relay: r} }
}

// keepingQuery wraps a transport so that the last query of subnet administration is kept.
func keepingQuery(last *[]byte) func(fabric.Transport) fabric.Transport {
	return func(t fabric.Transport) fabric.Transport { return &queryTransport{t, last} }
}

type queryTransport struct {
	fabric.Transport
	last *[]byte
}

// Reassembles implements what sa.Client asks, so that it sends no acknowledgements.
func (q *queryTransport) Reassembles(mad.Class) bool { return true }

func (q *queryTransport) Send(batch []fabric.Datagram) (int, error) {
	n, err := q.Transport.Send(batch)
	for i := range n {
		if mad.Class(batch[i].MAD[1]) == mad.ClassSA {
			*q.last = bytes.Clone(batch[i].MAD[:])
		}
	}
	return n, err
}

// withPlanted does what the C programs do with a planted answer.
func withPlanted(message []byte) func(fabric.Transport) fabric.Transport {
	return func(t fabric.Transport) fabric.Transport { return &plantedTransport{t, message} }
}

type plantedTransport struct {
	fabric.Transport
	message []byte
}

// Reassembles implements what sa.Client asks.
func (p *plantedTransport) Reassembles(mad.Class) bool { return true }

func (p *plantedTransport) Receive(ctx context.Context, batch []fabric.Datagram, deadline time.Time) (int, error) {
	n, err := p.Transport.Receive(ctx, batch, deadline)
	for i := range n {
		d := &batch[i]
		if mad.Class(d.MAD[1]) == mad.ClassSA && mad.Method(d.MAD[3]) == mad.MethodGetTableResp {
			tid := [8]byte(d.MAD[8:])
			d.Length = len(p.message)
			d.Rest = p.message[copy(d.MAD[:], p.message):]
			copy(d.MAD[8:], tid[:])
		}
	}
	return n, err
}

// longMessage returns the whole message of which a datagram is the beginning, or nil.
func longMessage(r *longmads.Relay, d *fabric.Datagram) ([]byte, error) {
	if mad.Class(d.MAD[1]) != mad.ClassSA || !mad.Method(d.MAD[3]).IsResponse() {
		return nil, nil
	}
	return r.Message(d.MAD[:])
}

type wholeTransport struct {
	fabric.Transport
	relay *longmads.Relay
}

// Reassembles reports what the kernel does for subnet administration.
func (w *wholeTransport) Reassembles(class mad.Class) bool { return class == mad.ClassSA }

func (w *wholeTransport) Receive(ctx context.Context, batch []fabric.Datagram, deadline time.Time) (int, error) {
	n, err := w.Transport.Receive(ctx, batch, deadline)
	for i := range n {
		b, failed := longMessage(w.relay, &batch[i])
		if failed != nil {
			return i, failed
		}
		if b != nil {
			batch[i].Length, batch[i].Rest = len(b), b[mad.Len:]
		}
	}
	return n, err
}

type segmentTransport struct {
	fabric.Transport
	relay  *longmads.Relay
	sender *rmpp.Sender // of the last table
	from   fabric.Address
	queue  []fabric.Datagram
}

func (s *segmentTransport) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		var p mad.SA
		p.Decode(batch[i].MAD[:]) //nolint:errcheck // a MAD is long enough
		if p.MgmtClass != mad.ClassSA || p.RMPP.Flags&mad.RMPPActive == 0 {
			if n, err := s.Transport.Send(batch[i : i+1]); n == 0 || err != nil {
				return i, err
			}
			continue
		}
		if _, _, err := s.sender.Receive(time.Now(), &p); err != nil {
			return i, err
		}
		s.fill()
	}
	return len(batch), nil
}

// fill queues the segments that may be sent.
func (s *segmentTransport) fill() {
	for p, ok := s.sender.Next(time.Now()); ok; p, ok = s.sender.Next(time.Now()) {
		d := fabric.Datagram{Address: s.from}
		p.Append(d.MAD[:0])
		s.queue = append(s.queue, d)
	}
}

func (s *segmentTransport) Receive(ctx context.Context, batch []fabric.Datagram, deadline time.Time) (int, error) {
	for {
		if n := copy(batch, s.queue); n > 0 {
			s.queue = s.queue[n:]
			return n, nil
		}
		n, err := s.Transport.Receive(ctx, batch, deadline)
		if n == 0 || err != nil {
			return n, err
		}
		for i := range n {
			if err := s.receive(&batch[i]); err != nil {
				return 0, err
			}
		}
	}
}

// receive queues a datagram, or the first segment of the table that begins with it.
func (s *segmentTransport) receive(d *fabric.Datagram) error {
	var p mad.SA
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	b, err := longMessage(s.relay, d)
	if err != nil {
		return err
	}
	if p.MgmtClass != mad.ClassSA || p.Method != mad.MethodGetTableResp || p.Status != 0 {
		s.queue = append(s.queue, *d)
		return nil
	}
	data := p.Data[:max(0, min(d.Length-mad.SAHeaderLen, mad.SADataLen))]
	if b != nil {
		data = b[mad.SAHeaderLen:]
	}
	s.sender, s.from = rmpp.NewSender(rmpp.Message{Header: p.SAHeader, Data: data}, rmpp.SenderOptions{}), d.Address
	s.fill()
	return nil
}
