package administration

import (
	"time"

	"github.com/rdmakit/rdmakit/fabric/rmpp"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// maxTransfers is how many tables may be on their way to a client at the same time: clients without
// RMPP never acknowledge the first segment.
const maxTransfers = 64

// Agent talks to one client: it sends tables in segments and takes their acknowledgements.
type Agent struct {
	Server   *Server
	Segments rmpp.SenderOptions
	// Ended, if set, is called with the error of a transfer that has failed.
	Ended func(err error)

	transfers map[uint64]*rmpp.Sender // by transaction ID
}

// Receive takes a packet of the client at a LID, and returns the packets to send to it.
func (a *Agent) Receive(now time.Time, p *mad.SA, from ib.LID) (send []mad.SA) {
	switch {
	case p.RMPP.Flags&mad.RMPPActive != 0 && p.RMPP.Type != 0:
		return a.acknowledge(now, p)
	case p.Method.IsResponse():
		return nil
	}
	h, records, ok := a.Server.answer(p, from)
	if !ok {
		return nil
	}
	if p.Method != mad.MethodGetTable || h.Status != 0 {
		one := mad.SA{SAHeader: h}
		if len(records) > 0 {
			copy(one.Data[:], records[0])
		}
		return []mad.SA{one}
	}
	if len(a.transfers) >= maxTransfers {
		h.Status, h.AttributeOffset = mad.StatusSANoResources, 0
		return []mad.SA{{SAHeader: h}}
	}
	size := h.RecordSize()
	data := make([]byte, 0, len(records)*size)
	for _, r := range records {
		data = append(data, r...)
		data = append(data, make([]byte, size-len(r))...)
	}
	if a.transfers == nil {
		a.transfers = map[uint64]*rmpp.Sender{}
	}
	sender := rmpp.NewSender(rmpp.Message{Header: h, Data: data}, a.Segments)
	a.transfers[h.TransactionID] = sender
	return next(sender, now, nil)
}

// acknowledge takes an acknowledgement, STOP or ABORT.
func (a *Agent) acknowledge(now time.Time, p *mad.SA) (send []mad.SA) {
	sender := a.transfers[p.TransactionID]
	if sender == nil {
		return nil
	}
	reply, answers, err := sender.Receive(now, p)
	if answers {
		send = append(send, reply)
	}
	send = next(sender, now, send)
	a.end(p.TransactionID, sender, err)
	return send
}

// next adds the segments that may be sent.
func next(sender *rmpp.Sender, now time.Time, send []mad.SA) []mad.SA {
	for p, ok := sender.Next(now); ok; p, ok = sender.Next(now) {
		send = append(send, p)
	}
	return send
}

// end forgets a transfer that has ended.
func (a *Agent) end(id uint64, sender *rmpp.Sender, err error) {
	if err != nil && a.Ended != nil {
		a.Ended(err)
	}
	if sender.Deadline().IsZero() {
		delete(a.transfers, id)
	}
}

// Expire returns the segments that are to be sent again because their acknowledgement is overdue,
// and when Expire is to be called again; zero: no acknowledgement is expected.
func (a *Agent) Expire(now time.Time) (send []mad.SA, again time.Time) {
	for id, sender := range a.transfers {
		reply, answers, err := sender.Expire(now)
		if answers {
			send = append(send, reply)
		}
		send = next(sender, now, send)
		a.end(id, sender, err)
		if deadline := sender.Deadline(); !deadline.IsZero() && (again.IsZero() || deadline.Before(again)) {
			again = deadline
		}
	}
	return send, again
}
