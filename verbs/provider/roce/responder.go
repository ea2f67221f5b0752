package roce

import (
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// responder is the receiving side of a connection.
type responder struct {
	held    receiveEntry // the receive request of message
	holding bool         // held is one

	expected   ib.PSN
	msn        uint32      // messages completed
	nakSent    bool        // a NAK was sent for the gap before expected
	early      ib.PSN      // the highest PSN that was dropped since the pending NAK was queued
	ackDue     bool        // an acknowledgement is to be sent
	completed  bool        // a receive request has completed in this burst
	cause      error       // why a request was refused; nil if the code of the NAK says all
	pendingNAK ib.Syndrome // to be sent after the responses to all earlier requests; 0 is none
	message    message

	reads    int       // READs that the peer may have outstanding
	jobs     []readJob // a ring with room for reads READs and as many duplicates
	jobHead  int
	jobCount int
	replays  int // duplicates among jobCount

	results    []atomicResult // of the last atomic operations, a ring for reads of them
	nextResult int
}

// message is the SEND or WRITE that is being received.
type message struct {
	kind   messageKind
	region *region // WRITE
	addr   uint64  // WRITE: of the next packet
	left   int     // WRITE: bytes not yet received
	got    int     // bytes received
}

type messageKind uint8

const (
	noMessage messageKind = iota
	sendMessage
	writeMessage
)

// start begins with the PSN of the first request; the peer may have as many outstanding READs.
func (r *responder) start(psn ib.PSN, reads int) {
	r.clear()
	r.expected, r.jobs, r.reads = psn.Add(0), make([]readJob, 2*reads), reads
	r.results = make([]atomicResult, reads)
}

// clear forgets everything. No receive request is held.
func (r *responder) clear() { *r = responder{held: receiveEntry{segments: r.held.segments}} }

// stop drops what is left to respond, when the queue pair fails.
func (r *responder) stop() {
	r.jobCount, r.replays, r.ackDue, r.message = 0, 0, false, message{}
	if !fatal(r.pendingNAK) { // a fatal NAK is still sent: it reports why the connection failed
		r.pendingNAK = 0
	}
}

// handleRequest handles a packet of the peer's requester.
func (qp *queuePair) handleRequest(p *ib.Packet) {
	r := &qp.resp
	if fatal(r.pendingNAK) {
		return
	}
	switch d := p.BTH.PSN.Sub(r.expected); {
	case d > 0:
		count(&qp.e.stats.OutOfOrder)
		if r.pendingNAK == 0 || r.early.Before(p.BTH.PSN) {
			r.early = p.BTH.PSN
		}
		if !r.nakSent {
			r.nakSent = true
			qp.queueNAK(ib.SyndromeNAKSequence)
		}
		return
	case d < 0:
		count(&qp.e.stats.Duplicates)
		qp.handleDuplicate(p)
		return
	}
	r.nakSent = false
	code := qp.execute(p)
	if r.pendingNAK == ib.SyndromeNAKSequence {
		// The gap was filled before the NAK was sent. Packets that came too early are needed again.
		if code != ok || r.early.Before(r.expected) {
			r.pendingNAK, r.ackDue = 0, true
		} else {
			r.nakSent = true
		}
	}
	if code != ok {
		qp.queueNAK(code)
	}
}

// ok is the result of a request that was accepted.
const ok ib.Syndrome = ib.SyndromeACK

// queueNAK queues a NAK for the expected request, to be sent after the responses to earlier
// requests.
func (qp *queuePair) queueNAK(code ib.Syndrome) {
	if qp.resp.pendingNAK == 0 || fatal(code) {
		qp.resp.pendingNAK = code
	}
	if code.IsRNR() { // drop the following packets without another NAK, as after a gap
		qp.resp.nakSent = true
	}
}

// fatal reports whether a NAK ends the connection.
func fatal(code ib.Syndrome) bool { return code.IsNAK() && code != ib.SyndromeNAKSequence }

// handleDuplicate responds again to a request that was already executed: the acknowledgement or
// response was lost.
func (qp *queuePair) handleDuplicate(p *ib.Packet) {
	r := &qp.resp
	switch op := p.BTH.Opcode; {
	case isAtomic(op):
		qp.repeatAtomic(p.BTH.PSN)
		return
	case op != ib.OpcodeRCReadRequest:
		r.ackDue = true
		return
	}
	n := qp.packets(int(p.RETH.DMALength))
	if p.BTH.PSN.Add(n).Sub(r.expected) > 0 || p.RETH.DMALength > maxMessage {
		return // not a duplicate of an earlier request
	}
	if r.replays < r.reads { // otherwise the peer will repeat the request
		cause := r.cause
		_ = qp.queueRead(p, r.msn, true) // no response if the region has been closed
		r.cause = cause                  // nothing is refused
	}
}

// packets returns the number of packets of a message of length bytes.
func (qp *queuePair) packets(length int) int {
	mtu := int(qp.attr.PathMTU)
	return max(1, (length+mtu-1)/mtu)
}

// execute executes the packet with the expected PSN. It returns ok or the syndrome of a NAK.
func (qp *queuePair) execute(p *ib.Packet) ib.Syndrome {
	r := &qp.resp
	layout := p.BTH.Opcode.Layout()
	first, last := layout&ib.LayoutFirst != 0, layout&ib.LayoutLast != 0
	if first != (r.message.kind == noMessage) {
		return ib.SyndromeNAKInvalidRequest
	}
	if size, mtu := len(p.Payload), int(qp.attr.PathMTU); size > mtu || !last && size != mtu ||
		!first && last && size == 0 {
		return ib.SyndromeNAKInvalidRequest
	}
	var code ib.Syndrome
	switch op := p.BTH.Opcode; {
	case op == ib.OpcodeRCReadRequest:
		return qp.newRead(p)
	case isAtomic(op):
		return qp.newAtomic(p)
	case op <= ib.OpcodeRCSendOnlyImmediate:
		code = qp.receiveSend(p, first, last)
	case op <= ib.OpcodeRCWriteOnlyImmediate:
		code = qp.receiveWrite(p, first, last)
	default:
		return ib.SyndromeNAKInvalidRequest
	}
	if code != ok {
		return code
	}
	if qp.state == provider.QPStateError { // the completion queue has overrun: nothing is acknowledged
		return ok
	}
	r.expected = r.expected.Add(1)
	if last {
		r.msn = (r.msn + 1) & 0xffffff
		r.message = message{}
	}
	if p.BTH.AckReq {
		r.ackDue = true
	}
	return ok
}

// receiveSend writes the payload of a SEND packet into the oldest receive request.
func (qp *queuePair) receiveSend(p *ib.Packet, first, last bool) ib.Syndrome {
	r := &qp.resp
	if first {
		if !qp.takeReceive() {
			return qp.notReady()
		}
		r.message.kind = sendMessage
	}
	if r.message.kind != sendMessage {
		return ib.SyndromeNAKInvalidRequest
	}
	e := &r.held
	if r.message.got+len(p.Payload) > e.length {
		if qp.kind == provider.QPTypeUC {
			return ib.SyndromeNAKInvalidRequest
		}
		qp.endReceive(provider.WorkCompletion{Status: provider.WCLocalLengthError}, false)
		return ib.SyndromeNAKInvalidRequest
	}
	if !scatter(e.segments, r.message.got, p.Payload) {
		qp.endReceive(provider.WorkCompletion{Status: provider.WCLocalProtection}, false)
		return ib.SyndromeNAKRemoteError
	}
	r.message.got += len(p.Payload)
	if last {
		wc := provider.WorkCompletion{Op: provider.WCReceive, Bytes: uint32(r.message.got)}
		wc.Immediate, wc.Flags = immediate(p)
		qp.endReceive(wc, p.BTH.Solicited)
	}
	return ok
}

// notReady returns the syndrome for a message without a receive request.
func (qp *queuePair) notReady() ib.Syndrome {
	return ib.SyndromeRNR | ib.Syndrome(qp.attr.MinRNRTimer&0x1f)
}

// immediate returns the immediate data of a packet and, if it has any, the flag that says so.
func immediate(p *ib.Packet) ([4]byte, provider.WCFlags) {
	if p.BTH.Opcode.Layout()&ib.LayoutImmDt == 0 {
		return [4]byte{}, 0
	}
	return p.ImmDt, provider.WCImmediate
}

// receiveWrite writes the payload of a WRITE packet to its memory region.
func (qp *queuePair) receiveWrite(p *ib.Packet, first, last bool) ib.Syndrome {
	r := &qp.resp
	m := &r.message
	if first {
		if p.RETH.DMALength > maxMessage {
			return ib.SyndromeNAKInvalidRequest
		}
		if !qp.permits(&p.RETH, "RDMA WRITE", provider.AccessRemoteWrite) {
			return ib.SyndromeNAKInvalidRequest
		}
		*m = message{kind: writeMessage, addr: p.RETH.VirtualAddress, left: int(p.RETH.DMALength)}
		if m.left > 0 {
			m.region = qp.e.lookup(qp.pd, p.RETH.RKey, m.addr, m.left, provider.AccessRemoteWrite)
			if m.region == nil {
				r.cause = qp.refused("RDMA WRITE", p.RETH, provider.AccessRemoteWrite)
				*m = message{}
				return ib.SyndromeNAKRemoteAccess
			}
		}
	}
	size := len(p.Payload)
	switch {
	case m.kind != writeMessage, size > m.left, last && size != m.left:
		return ib.SyndromeNAKInvalidRequest
	}
	notify := p.BTH.Opcode.Layout()&ib.LayoutImmDt != 0
	if notify && !qp.takeReceive() {
		if first {
			*m = message{}
		}
		return qp.notReady()
	}
	if size > 0 && !m.region.copyIn(m.addr, p.Payload) {
		return ib.SyndromeNAKRemoteAccess
	}
	m.addr += uint64(size)
	m.left -= size
	m.got += size
	if notify {
		qp.endReceive(provider.WorkCompletion{
			Op: provider.WCReceiveWrite, Bytes: uint32(m.got), Flags: provider.WCImmediate, Immediate: p.ImmDt,
		}, p.BTH.Solicited)
	}
	return ok
}

// permits reports whether the queue pair permits an operation to its peer, of whatever length. A
// request that it doesn't permit is invalid, and its key isn't looked at (specification volume 1,
// section 9.9.3: not supported by this queue pair; kernel: check_op_valid in rxe_resp.c).
func (qp *queuePair) permits(h *ib.RETH, op string, need provider.Access) bool {
	if qp.attr.Access&need != 0 {
		return true
	}
	qp.resp.cause = qp.refused(op, *h, need)
	return false
}

// answer sends the pending NAK or acknowledgement.
func (qp *queuePair) answer(mayDelay bool) {
	r := &qp.resp
	switch code := r.pendingNAK; {
	case code != 0:
		r.pendingNAK, r.ackDue = 0, false
		qp.sendAck(r.expected, code)
		if fatal(code) {
			qp.tx.flush()
			qp.fail()
			qp.e.events.add(qp, provider.Event{Type: failEvent(code), QPN: qp.qpn, ID: qp.id, Cause: r.cause})
		}
	case r.ackDue && mayDelay:
		qp.delayAck()
	case r.ackDue:
		r.ackDue = false
		qp.sendAck(r.expected.Add(-1), ib.SyndromeACK)
	}
}

// sendDue sends what is due before the queue pair stops responding, such as a delayed
// acknowledgement: without it the peer would repeat its last message until it gives up.
func (qp *queuePair) sendDue() {
	if qp.state == provider.QPStateRTR || qp.state == provider.QPStateRTS {
		if qp.respond(false); qp.tx.blocked() && qp.resp.jobCount == 0 {
			qp.answer(false) // sent after the backlog
		}
		qp.tx.flush()
	}
}

// sendAck sends an ACK or NAK, depending on syndrome.
func (qp *queuePair) sendAck(psn ib.PSN, syndrome ib.Syndrome) {
	p := ib.Packet{BTH: qp.header(ib.OpcodeRCAcknowledge, psn, 0), AETH: ib.AETH{Syndrome: syndrome, MSN: qp.resp.msn}}
	qp.tx.finish(qp.tx.begin(&p, 0), &p)
}
