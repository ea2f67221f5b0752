package roce

import (
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// serviceUC is what opcodes of UC have beyond those of RC.
const serviceUC = ib.OpcodeUCSendFirst

// unreliablePackets is the maximum number of packets that one call of sendUnreliable sends, during
// which the queue pair can't receive.
const unreliablePackets = 256

// sendUnreliable sends the requests of a queue pair of type UC or UD, which complete when they are
// sent. What is too much for one call is sent by respondLater.
func (qp *queuePair) sendUnreliable() {
	r := &qp.req
	budget := unreliablePackets
	for r.next != r.tail && !qp.tx.blocked() {
		if budget <= 0 {
			qp.schedule()
			return
		}
		s := r.at(r.next)
		var ok bool
		sent := s.packets
		if qp.kind == provider.QPTypeUD {
			ok = qp.sendDatagram(s)
		} else {
			sent, ok = qp.sendMessage(s, min(budget, s.packets-r.offset))
		}
		budget -= sent
		r.acked = r.psn
		if !ok {
			qp.failSend(provider.WCLocalProtection)
			return
		}
		if r.offset += sent; r.offset == s.packets {
			r.next++
			r.offset = 0
			qp.completeHead(s)
		}
	}
}

// sendQueueError stops the send queue of a queue pair of type UC or UD after a failed request; it
// still receives.
func (qp *queuePair) sendQueueError() {
	qp.state = provider.QPStateSQE
	qp.flushSends()
}

// handleUnreliable handles a packet for a queue pair of type UC. A message with a missing packet,
// without a receive request or without permission is dropped, and so are the rest of its packets; a
// receive request that it has taken serves the next one (specification volume 1, section 9.8.2;
// kernel: rxe_resp.c, the errors of class D1).
func (qp *queuePair) handleUnreliable(p *ib.Packet) {
	r := &qp.resp
	layout := p.BTH.Opcode.Layout()
	first, last := layout&ib.LayoutFirst != 0, layout&ib.LayoutLast != 0
	if p.BTH.PSN != r.expected {
		count(&qp.e.stats.OutOfOrder)
		r.message = message{}
	}
	r.expected = p.BTH.PSN.Add(1)
	if first {
		r.message = message{}
	} else if r.message.kind == noMessage {
		return
	}
	code := ib.SyndromeNAKInvalidRequest
	switch size, mtu := len(p.Payload), int(qp.attr.PathMTU); {
	case size > mtu || !last && size != mtu || !first && last && size == 0:
	case p.BTH.Opcode&^serviceUC <= ib.OpcodeRCSendOnlyImmediate:
		code = qp.receiveSend(p, first, last)
	default:
		code = qp.receiveWrite(p, first, last)
	}
	switch code {
	case ok:
	case ib.SyndromeNAKRemoteError: // memory of the receive request
		qp.fail()
		return
	default:
		count(&qp.e.stats.Dropped)
	}
	if code != ok || last {
		r.message = message{}
	}
}
