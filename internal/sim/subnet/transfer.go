package subnet

import (
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/rmpp"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// transfer is a table on its way to a transport, in segments.
type transfer struct {
	sender *rmpp.Sender
	node   *Node
	to     fabric.Address
}

// transfer begins to send a table.
func (t *Transport) transfer(n *Node, to fabric.Address, h mad.SAHeader, records [][]byte) {
	size := h.RecordSize()
	var data []byte
	for _, r := range records {
		data = append(data, r...)
		data = append(data, make([]byte, size-len(r))...)
	}
	if t.transfers == nil {
		t.transfers = map[uint64]*transfer{}
	}
	one := &transfer{rmpp.NewSender(rmpp.Message{Header: h, Data: data}, t.subnet.Segments), n, to}
	t.transfers[h.TransactionID] = one
	t.sendSegments(one)
}

// acknowledge takes an acknowledgement, STOP or ABORT from the transport.
func (t *Transport) acknowledge(p *mad.SA) {
	one := t.transfers[p.TransactionID]
	if one == nil || one.node.Dead {
		return
	}
	reply, send, err := one.sender.Receive(time.Now(), p)
	t.subnet.Ended = append(t.subnet.Ended, errorsOf(err)...)
	if send {
		t.deliver(one.node, one.to, &reply)
	}
	t.sendSegments(one)
}

func errorsOf(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

func (t *Transport) sendSegments(one *transfer) {
	for p, ok := one.sender.Next(time.Now()); ok && !one.node.Dead; p, ok = one.sender.Next(time.Now()) {
		t.deliver(one.node, one.to, &p)
	}
}

// expire sends segments again whose acknowledgement is overdue, and returns when the next one will
// be; zero if none is expected.
func (t *Transport) expire() (next time.Time) {
	for id, one := range t.transfers {
		reply, send, err := one.sender.Expire(time.Now())
		t.subnet.Ended = append(t.subnet.Ended, errorsOf(err)...)
		if send {
			t.deliver(one.node, one.to, &reply)
		}
		t.sendSegments(one)
		deadline := one.sender.Deadline()
		if deadline.IsZero() {
			delete(t.transfers, id)
		} else if next.IsZero() || deadline.Before(next) {
			next = deadline
		}
	}
	return next
}

// deliver sends a packet of subnet administration to the transport.
func (t *Transport) deliver(n *Node, from fabric.Address, p *mad.SA) {
	d := t.datagram()
	*d = fabric.Datagram{Address: from}
	p.Append(d.MAD[:0])
	t.queueAnswer(n, d)
}
