package roce

import (
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// responder is the receiving side of a connection.
type responder struct {
	ring       []receiveEntry
	head, tail uint32

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
}

// receiveEntry is a receive request in the ring.
type receiveEntry struct {
	id       uint64
	segments []provider.Segment
	length   int
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

// readJob is a READ request that needs a response.
type readJob struct {
	region *region
	addr   uint64
	length int
	psn    ib.PSN // of the next packet
	sent   int    // bytes
	msn    uint32
	replay bool // the request is a duplicate
}

// init makes the ring, whose segments are those of slab.
func (r *responder) init(slab []provider.Segment, depth, segments int) {
	r.ring = make([]receiveEntry, depth)
	for i := range r.ring {
		r.ring[i].segments, slab = slab[:0:segments], slab[segments:]
	}
}

func (r *responder) at(i uint32) *receiveEntry { return &r.ring[i%uint32(len(r.ring))] }

// start resets the responder, but keeps the receive requests, which may have been posted since
// INIT.
func (r *responder) start(psn ib.PSN, reads int) {
	ring, head, tail := r.ring, r.head, r.tail
	*r = responder{
		ring: ring, head: head, tail: tail, expected: psn.Add(0), jobs: make([]readJob, 2*reads), reads: reads,
	}
}

func (r *responder) clear() { *r = responder{ring: r.ring} }

// PostReceive implements provider.QueuePair.
func (qp *queuePair) PostReceive(wrs []provider.ReceiveRequest) (n int, err error) {
	qp.mu.Lock()
	defer qp.mu.Unlock()
	for i := range wrs {
		if err = qp.enqueueReceive(&wrs[i]); err != nil {
			if !errors.Is(err, provider.ErrQueueFull) {
				err = fmt.Errorf("post receive %d to qp %v: %w", wrs[i].ID, qp.qpn, err)
			}
			break
		}
		n++
	}
	return n, err
}

func (qp *queuePair) enqueueReceive(wr *provider.ReceiveRequest) error {
	r := &qp.resp
	switch {
	case qp.closed:
		return provider.ErrClosed
	case qp.state == provider.QPStateReset:
		return errors.New("queue pair is in state RESET")
	case int(r.tail-r.head)+int(qp.unpolledReceives.Load()) >= len(r.ring):
		return provider.ErrQueueFull
	case qp.state == provider.QPStateError:
		qp.completeReceive(
			provider.WorkCompletion{ID: wr.ID, Status: provider.WCFlushed, Op: provider.WCReceive}, false)
		return nil
	}
	e := r.at(r.tail)
	if len(wr.Segments) > cap(e.segments) {
		return fmt.Errorf("%d segments, at most %d", len(wr.Segments), cap(e.segments))
	}
	length, err := qp.checkReceive(wr)
	if err != nil {
		return err
	}
	e.id, e.length = wr.ID, length
	e.segments = append(e.segments[:0], wr.Segments...)
	r.tail++
	return nil
}

// checkReceive checks the segments and returns their total length.
func (qp *queuePair) checkReceive(wr *provider.ReceiveRequest) (length int, err error) {
	for i, seg := range wr.Segments {
		if err := qp.checkSegment(i, seg, true); err != nil {
			return 0, err
		}
		length += seg.Length
	}
	return length, nil
}

// completeReceive adds an entry to the completion queue; solicited reports whether the sender has
// asked for an event.
func (qp *queuePair) completeReceive(wc provider.WorkCompletion, solicited bool) {
	wc.QPN = qp.qpn
	if !qp.recvCQ.push(wc, &qp.unpolledReceives, solicited) && qp.state != provider.QPStateError {
		qp.fail()
	}
}

func (qp *queuePair) flushReceives() {
	r := &qp.resp
	for r.head != r.tail {
		id := r.at(r.head).id
		r.head++
		qp.completeReceive(provider.WorkCompletion{ID: id, Status: provider.WCFlushed, Op: provider.WCReceive}, false)
	}
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
	if p.BTH.Opcode != ib.OpcodeRCReadRequest {
		r.ackDue = true
		return
	}
	n := qp.packets(int(p.RETH.DMALength))
	if p.BTH.PSN.Add(n).Sub(r.expected) > 0 || p.RETH.DMALength > maxMessage {
		return // not a duplicate of an earlier request
	}
	if r.replays < r.reads { // otherwise the peer will repeat the request
		_ = qp.queueRead(p, r.msn, true) // no response if the region has been closed
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
		if r.head == r.tail {
			return ib.SyndromeRNR | ib.Syndrome(qp.attr.MinRNRTimer&0x1f)
		}
		r.message.kind = sendMessage
	}
	if r.message.kind != sendMessage {
		return ib.SyndromeNAKInvalidRequest
	}
	e := r.at(r.head)
	if r.message.got+len(p.Payload) > e.length {
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

// immediate returns the immediate data of a packet and, if it has any, the flag that says so.
func immediate(p *ib.Packet) ([4]byte, provider.WCFlags) {
	if p.BTH.Opcode.Layout()&ib.LayoutImmDt == 0 {
		return [4]byte{}, 0
	}
	return p.ImmDt, provider.WCImmediate
}

// endReceive completes the oldest receive request with wc.
func (qp *queuePair) endReceive(wc provider.WorkCompletion, solicited bool) {
	r := &qp.resp
	wc.ID = r.at(r.head).id
	r.head++
	r.completed = true
	qp.completeReceive(wc, solicited)
}

// receiveWrite writes the payload of a WRITE packet to its memory region.
func (qp *queuePair) receiveWrite(p *ib.Packet, first, last bool) ib.Syndrome {
	r := &qp.resp
	m := &r.message
	if first {
		if p.RETH.DMALength > maxMessage {
			return ib.SyndromeNAKInvalidRequest
		}
		if !qp.permits(p, "RDMA WRITE", provider.AccessRemoteWrite) {
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
	if notify && r.head == r.tail {
		if first {
			*m = message{}
		}
		return ib.SyndromeRNR | ib.Syndrome(qp.attr.MinRNRTimer&0x1f)
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
func (qp *queuePair) permits(p *ib.Packet, op string, need provider.Access) bool {
	if qp.attr.Access&need != 0 {
		return true
	}
	qp.resp.cause = qp.refused(op, p.RETH, need)
	return false
}

// newRead handles a READ request with the expected PSN.
func (qp *queuePair) newRead(p *ib.Packet) ib.Syndrome {
	r := &qp.resp
	if p.RETH.DMALength > maxMessage {
		return ib.SyndromeNAKInvalidRequest
	}
	n := qp.packets(int(p.RETH.DMALength))
	if r.jobCount-r.replays == r.reads {
		return ib.SyndromeNAKInvalidRequest
	}
	msn := (r.msn + 1) & 0xffffff
	code := qp.queueRead(p, msn, false)
	if code == ok {
		r.expected = r.expected.Add(n)
		r.msn = msn
	}
	return code
}

// queueRead queues the response to a READ. The caller has checked that the queue isn't full.
func (qp *queuePair) queueRead(p *ib.Packet, msn uint32, replay bool) ib.Syndrome {
	r := &qp.resp
	job := readJob{addr: p.RETH.VirtualAddress, length: int(p.RETH.DMALength), psn: p.BTH.PSN, msn: msn, replay: replay}
	if !qp.permits(p, "RDMA READ", provider.AccessRemoteRead) {
		return ib.SyndromeNAKInvalidRequest
	}
	if job.length > 0 {
		job.region = qp.e.lookup(qp.pd, p.RETH.RKey, job.addr, job.length, provider.AccessRemoteRead)
		if job.region == nil {
			r.cause = qp.refused("RDMA READ", p.RETH, provider.AccessRemoteRead)
			return ib.SyndromeNAKRemoteAccess
		}
	}
	r.jobs[(r.jobHead+r.jobCount)%len(r.jobs)] = job
	r.jobCount++
	if replay {
		r.replays++
	}
	return ok
}

// endRead removes the oldest READ from the queue.
func (r *responder) endRead() {
	j := &r.jobs[r.jobHead]
	if j.replay {
		r.replays--
	}
	*j = readJob{}
	r.jobHead = (r.jobHead + 1) % len(r.jobs)
	r.jobCount--
}

// respondPackets is the maximum number of response packets that one call of respond sends.
const respondPackets = 64

// respond sends READ responses, then the pending NAK or acknowledgement. more reports whether
// something is left, because of the budget or because the socket has no space.
func (qp *queuePair) respond(mayDelayAck bool) (more bool) {
	r := &qp.resp
	budget := respondPackets
	if qp.tx.blocked() {
		return true
	}
	for r.jobCount > 0 && budget > 0 && !qp.tx.blocked() {
		j := &r.jobs[r.jobHead]
		done, good := qp.readPacket(j)
		if !good && j.replay { // the first response was sent before the region was closed
			r.endRead()
			continue
		}
		if !good { // the region has been closed
			r.jobCount, r.replays = 0, 0
			r.expected = j.psn
			qp.queueNAK(ib.SyndromeNAKRemoteAccess)
			break
		}
		budget--
		if done {
			r.endRead()
		}
	}
	if r.jobCount > 0 {
		return true
	}
	qp.answer(mayDelayAck)
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

// settle sends what is due before the queue pair stops responding, such as a delayed
// acknowledgement: without it the peer would repeat its last message until it gives up.
func (qp *queuePair) settle() {
	if qp.state == provider.QPStateRTR || qp.state == provider.QPStateRTS {
		if qp.respond(false); qp.tx.blocked() && qp.resp.jobCount == 0 {
			qp.answer(false) // sent after the backlog
		}
		qp.tx.flush()
	}
}

// readPacket sends the next packet of a READ response. done reports whether it was the last one;
// good is false if the region has been closed.
func (qp *queuePair) readPacket(j *readJob) (done, good bool) {
	mtu := int(qp.attr.PathMTU)
	size := min(mtu, j.length-j.sent)
	first, last := j.sent == 0, j.sent+size == j.length
	op := ib.OpcodeRCReadResponseMiddle
	switch {
	case first && last:
		op = ib.OpcodeRCReadResponseOnly
	case first:
		op = ib.OpcodeRCReadResponseFirst
	case last:
		op = ib.OpcodeRCReadResponseLast
	}
	p := ib.Packet{BTH: qp.header(op, j.psn, size), AETH: ib.AETH{Syndrome: ib.SyndromeACK, MSN: j.msn}}
	data := qp.tx.begin(&p, size)
	if size > 0 {
		if data, good = j.region.appendTo(data, j.addr+uint64(j.sent), size); !good {
			qp.tx.abandon()
			return false, false
		}
	}
	qp.tx.finish(data, &p)
	j.sent += size
	j.psn = j.psn.Add(1)
	return last, true
}

// sendAck sends an ACK or NAK, depending on syndrome.
func (qp *queuePair) sendAck(psn ib.PSN, syndrome ib.Syndrome) {
	p := ib.Packet{BTH: qp.header(ib.OpcodeRCAcknowledge, psn, 0), AETH: ib.AETH{Syndrome: syndrome, MSN: qp.resp.msn}}
	qp.tx.finish(qp.tx.begin(&p, 0), &p)
}
