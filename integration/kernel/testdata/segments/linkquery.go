package main

import (
	"context"
	"net/netip"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// linkQuery asks from QP 1 of an address of this machine.
func linkQuery(ctx context.Context, address, peer string) error {
	l, err := openLink(address)
	if err != nil {
		return err
	}
	defer l.conn.Close() //nolint:errcheck // nothing is left to send
	ip, err := netip.ParseAddr(peer)
	if err != nil {
		return err
	}
	return askAll(ctx, &direct{link: l, to: netip.AddrPortFrom(ip, rocev2.Port), done: map[uint64]bool{}})
}

// direct is a transport without RMPP. It has the faults of queries, whatever their modifier makes
// the SA do.
type direct struct {
	*link
	to    netip.AddrPort
	queue []fabric.Datagram
	done  map[uint64]bool // transactions whose fault has happened
	held  *fabric.Datagram
}

// Send implements [fabric.Transport].
func (d *direct) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		if err := d.send(d.to, batch[i].MAD[:]); err != nil {
			return i, err
		}
	}
	return len(batch), nil
}

// Receive implements [fabric.Transport].
func (d *direct) Receive(ctx context.Context, batch []fabric.Datagram, deadline time.Time) (int, error) {
	for {
		if _, err := d.poll(d.take); err != nil {
			return 0, err
		}
		if n := copy(batch, d.queue); n > 0 {
			d.queue = d.queue[n:]
			return n, nil
		}
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case !deadline.IsZero() && !time.Now().Before(deadline):
			return 0, nil
		}
		time.Sleep(pause)
	}
}

// Close implements [fabric.Transport].
func (d *direct) Close() error { return d.conn.Close() }

// take queues a message, with the fault of its query.
func (d *direct) take(_ netip.AddrPort, m *mad.SA) error {
	one := fabric.Datagram{Address: fabric.Address{LID: 1, QPN: 1}, Length: mad.Len}
	m.Append(one.MAD[:0])
	tid, n := m.TransactionID, m.RMPP.SegmentNumber
	now := n == faultSegment && !d.done[tid]
	if now {
		d.done[tid] = true
	}
	switch kind := fault(m.AttributeModifier); {
	case d.held != nil:
		d.queue = append(d.queue, one, *d.held)
		d.held = nil
	case now && kind == faultLose:
	case kind == faultSilent && n >= faultSegment:
	case now && kind == faultRepeat:
		d.queue = append(d.queue, one, one)
	case now && kind == faultSwap:
		d.held = &one
	default:
		d.queue = append(d.queue, one)
	}
	return nil
}
