package roce

import (
	"errors"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// handleResponse handles an acknowledgement or a packet of a READ response.
func (qp *queuePair) handleResponse(p *ib.Packet) {
	r := &qp.req
	psn := p.BTH.PSN
	if psn.Sub(r.acked) < 0 && psn != r.acked.Add(-1) || psn.Sub(r.firstUnsent) >= 0 {
		count(&qp.e.stats.Duplicates)
		return // already acknowledged, or never sent
	}
	switch op := p.BTH.Opcode; {
	case op >= ib.OpcodeRCReadResponseFirst && op <= ib.OpcodeRCReadResponseOnly:
		qp.handleReadResponse(p)
		return
	case op == ib.OpcodeRCAtomicAcknowledge:
		qp.handleAtomicResponse(p)
		return
	}
	switch s := p.AETH.Syndrome; {
	case s.IsACK():
		qp.acknowledge(psn)
	case s.IsRNR():
		qp.handleRNR(psn, s)
	case s == ib.SyndromeNAKSequence:
		count(&qp.e.stats.SequenceNAKs)
		if qp.acknowledge(psn.Add(-1)) && r.acked == psn {
			qp.retransmit()
		}
	case s.IsNAK():
		if qp.acknowledge(psn.Add(-1)) && r.acked == psn {
			qp.failSend(nakStatus(s))
		}
	}
}

func nakStatus(s ib.Syndrome) provider.WCStatus {
	switch s {
	case ib.SyndromeNAKRemoteAccess:
		return provider.WCRemoteAccess
	case ib.SyndromeNAKRemoteError:
		return provider.WCRemoteOperation
	}
	return provider.WCRemoteInvalid
}

// acknowledge completes the requests that end at or before psn. It reports false when an
// outstanding READ or atomic operation, whose response is missing, precedes psn.
func (qp *queuePair) acknowledge(psn ib.PSN) bool {
	r := &qp.req
	before := r.acked
	ok := true
	for r.head != r.tail && psn.Sub(r.acked) >= 0 {
		s := r.at(r.head)
		if s.fetches() {
			ok = false
			break
		}
		if psn.Sub(s.last()) < 0 {
			r.acked = psn.Add(1)
			break
		}
		r.acked = s.last().Add(1)
		qp.completeHead(s)
	}
	if r.acked != before {
		qp.recordProgress()
	}
	if !ok && psn.Sub(r.acked) >= 0 {
		qp.retransmit()
	}
	return ok
}

// recordProgress resets the retransmission timer and the retry counters after the peer has
// acknowledged something.
func (qp *queuePair) recordProgress() {
	r := &qp.req
	r.retries, r.rnr, r.unsent = 0, 0, nil
	r.paused, r.recovering = false, false
	if r.psn.Before(r.acked) { // acknowledged before it was retransmitted
		qp.seek(r.acked)
	}
	r.window = min(r.windowLimit, r.window+1)
	r.deadline = time.Time{}
}

// completeHead completes the oldest request successfully.
func (qp *queuePair) completeHead(s *sendEntry) {
	r := &qp.req
	if r.next == r.head { // scheduled for retransmission, which is no longer necessary
		r.next++
		r.offset = 0
		r.psn = s.last().Add(1)
	}
	if r.head == r.failAt { // the peer received it before its memory region was closed
		r.failStatus = 0
	}
	r.head++
	qp.completeSend(s.request.ID, s.request.Op, qp.signalAll || s.request.Flags&provider.SendSignaled != 0,
		provider.WCSuccess, s.length)
}

// completeSend adds an entry to the completion queue if the request is signaled or failed.
func (qp *queuePair) completeSend(id uint64, op provider.SendOp, signaled bool, status provider.WCStatus, length int) {
	if !signaled && status == provider.WCSuccess {
		return
	}
	wc := provider.WorkCompletion{ID: id, Status: status, Op: sendCompletion(op), QPN: qp.qpn}
	if fetches(op) {
		wc.Bytes = uint32(length)
	}
	if status == provider.WCRetryExceeded {
		wc.Cause = qp.req.unsent
	}
	qp.unpolledSends.Add(1)
	if !qp.sendCQ.push(wc, &qp.unpolledSends, false) && qp.state != provider.QPStateError {
		qp.fail()
	}
}

func sendCompletion(op provider.SendOp) provider.WCOp {
	switch op {
	case provider.SendOpWrite, provider.SendOpWriteImmediate:
		return provider.WCWrite
	case provider.SendOpRead:
		return provider.WCRead
	case provider.SendOpCompareSwap:
		return provider.WCCompareSwap
	case provider.SendOpFetchAdd:
		return provider.WCFetchAdd
	case provider.SendOpSend, provider.SendOpSendImmediate:
	}
	return provider.WCSend
}

// handleReadResponse handles a packet of the response to the oldest READ.
func (qp *queuePair) handleReadResponse(p *ib.Packet) {
	r := &qp.req
	s := qp.expectedResponse(p.BTH.PSN)
	if s == nil {
		return
	}
	mtu := int(qp.attr.PathMTU)
	at := s.received * mtu
	if !s.isRead() || len(p.Payload) != min(mtu, s.length-at) || !r.inOrder(s, p.BTH.Opcode) {
		qp.failSend(provider.WCBadResponse)
		return
	}
	if !scatter(s.segments, at, p.Payload) {
		qp.failSend(provider.WCLocalProtection)
		return
	}
	qp.advanceResponse(s)
}

// expectedResponse returns the oldest request if the response with this PSN is the one that it
// waits for, or nil. A response also acknowledges all requests before its own.
func (qp *queuePair) expectedResponse(psn ib.PSN) *sendEntry {
	r := &qp.req
	for r.head != r.tail && !r.at(r.head).fetches() && psn.Sub(r.at(r.head).last()) > 0 {
		s := r.at(r.head)
		r.acked = s.last().Add(1)
		qp.completeHead(s)
	}
	if r.head == r.tail || psn.Before(r.acked) {
		count(&qp.e.stats.Duplicates)
		return nil
	}
	s := r.at(r.head)
	if psn != r.acked || !s.fetches() {
		qp.retransmit() // a packet of the response is missing
		return nil
	}
	return s
}

// advanceResponse counts a packet of the response to the oldest request, whose data have been
// stored.
func (qp *queuePair) advanceResponse(s *sendEntry) {
	r := &qp.req
	s.received++
	if r.readLen > 0 && r.reads[r.readHead] == r.acked {
		r.readHead = (r.readHead + 1) % maxReads
		r.readLen--
	}
	r.acked = r.acked.Add(1)
	if s.received == s.packets {
		qp.completeHead(s)
	}
	qp.recordProgress()
}

// inOrder reports whether the opcode of the next packet of a READ response fits its place: a
// response starts with the packets of a READ request or where one was repeated, and ends with them
// (specification volume 1, section 9.7.5.2.9: the requester checks the sequence of opcodes).
func (r *requester) inOrder(s *sendEntry, op ib.Opcode) bool {
	first := op == ib.OpcodeRCReadResponseFirst || op == ib.OpcodeRCReadResponseOnly
	last := op == ib.OpcodeRCReadResponseLast || op == ib.OpcodeRCReadResponseOnly
	mayStart := s.received%readChunk == 0 || r.acked == r.restart
	ends := (s.received+1)%readChunk == 0 || s.received+1 == s.packets
	ok := last == ends && (first && mayStart || !first && r.reading)
	r.reading = !last
	return ok
}

// handleRNR handles an RNR NAK: it pauses the send queue for the time that the receiver requests.
func (qp *queuePair) handleRNR(psn ib.PSN, syndrome ib.Syndrome) {
	r := &qp.req
	count(&qp.e.stats.RNRNAKs)
	if !qp.acknowledge(psn.Add(-1)) || r.acked != psn || r.paused { // paused: a duplicate
		return
	}
	r.retries = 0 // the peer is alive
	r.rnr++
	const unlimited = 7
	if limit := int(qp.attr.RNRRetry); limit != unlimited && r.rnr > limit {
		qp.failSend(provider.WCRNRRetryExceeded)
		return
	}
	qp.seek(psn)
	r.paused = true
	r.deadline = qp.e.clock.Now().Add(ib.RNRDelay(syndrome.RNRTimer()))
	qp.arm()
}

// retransmit goes back to the oldest unacknowledged packet after a loss. It does so once per
// loss, since packets that are still in flight report the same gap again. If the
// retransmission is lost too, the timer triggers the next one.
func (qp *queuePair) retransmit() {
	r := &qp.req
	if r.paused || r.recovering || r.psn == r.acked {
		return
	}
	r.recovering = true
	r.window = max(windowMin, r.window/2)
	count(&qp.e.stats.Retransmits)
	qp.seek(r.acked)
	r.deadline = time.Time{}
}

// slowDown halves the window after a congestion notification (CNP): the peer has received packets
// that a switch marked. There is no timer as in DCQCN; acknowledgements widen the window again.
func (qp *queuePair) slowDown() {
	count(&qp.e.stats.CNPs)
	if r := &qp.req; qp.state == provider.QPStateRTS {
		r.window = max(windowMin, r.window/2)
	}
}

// seek makes psn the next packet to send.
func (qp *queuePair) seek(psn ib.PSN) {
	r := &qp.req
	r.next, r.offset, r.psn, r.restart = r.head, 0, psn, psn
	r.readHead, r.readLen = 0, 0
	for r.next != r.tail {
		s := r.at(r.next)
		if psn.Sub(s.last()) <= 0 {
			r.offset = max(0, psn.Sub(s.first))
			return
		}
		r.next++
	}
}

// failSend completes the oldest request with an error and moves the queue pair to ERR.
func (qp *queuePair) failSend(status provider.WCStatus) {
	r := &qp.req
	if r.head != r.tail {
		s := r.at(r.head)
		r.head++
		qp.completeSend(s.request.ID, s.request.Op, true, status, 0)
	}
	if qp.kind == provider.QPTypeRC {
		qp.fail()
	} else if qp.state != provider.QPStateError { // the completion queue has overrun
		qp.sendQueueError()
	}
}

// flushSends completes all requests with status flushed.
func (qp *queuePair) flushSends() {
	r := &qp.req
	for r.head != r.tail {
		s := r.at(r.head)
		r.head++
		qp.completeSend(s.request.ID, s.request.Op, true, provider.WCFlushed, 0)
	}
	r.next, r.offset = r.head, 0
}

// arm starts the timer if packets are outstanding and it isn't running.
func (qp *queuePair) arm() {
	r := &qp.req
	if r.deadline.IsZero() {
		if r.acked == r.psn {
			return
		}
		timeout := ib.AckTimeout(qp.attr.Timeout)
		if timeout == 0 {
			return
		}
		r.deadline = qp.e.clock.Now().Add(timeout)
	}
	if !r.armed || r.paused {
		r.armed = true
		qp.e.timers.set(qp, r.deadline)
	}
}

// errNoSpace is the cause of a failure while the socket takes no packet of any queue pair.
var errNoSpace = errors.New("the socket's send buffer stays full")

// expired runs when the timer fires.
func (qp *queuePair) expired() {
	qp.mu.Lock()
	defer qp.mu.Unlock()
	r := &qp.req
	r.armed = false
	if qp.closed || qp.state != provider.QPStateRTS || r.deadline.IsZero() {
		return
	}
	if r.deadline.After(qp.e.clock.Now()) { // it has been moved
		r.armed = true
		qp.e.timers.set(qp, r.deadline)
		return
	}
	r.deadline = time.Time{}
	switch {
	case r.paused:
		r.paused = false
	case r.acked == r.psn:
		return
	case qp.tx.blocked() && r.written != qp.e.written.Load():
		// The packets have not left yet, but others have: no retry counts.
		r.written = qp.e.written.Load()
	case qp.tx.blocked():
		r.retries++
		if r.unsent = errNoSpace; r.retries > int(qp.attr.RetryCount) {
			qp.failSend(provider.WCRetryExceeded)
			return
		}
	default:
		count(&qp.e.stats.Timeouts)
		r.retries++
		if r.retries > int(qp.attr.RetryCount) {
			qp.failSend(provider.WCRetryExceeded)
			return
		}
		r.window = max(windowMin, r.window/2)
		qp.seek(r.acked)
	}
	qp.sendPending()
	qp.tx.flush()
}
