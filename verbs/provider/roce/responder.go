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

	expected ib.PSN
	msn      uint32 // messages completed
	nakSent  bool   // for the gap before expected
	ackDue   bool
	refusal  ib.Syndrome // to be sent when all before it is answered; 0 is none
	message  message

	reads    int       // that the peer may have outstanding
	jobs     []readJob // a ring with room for as many replays
	jobHead  int
	jobCount int
	replays  int // of jobCount
}

// receiveEntry is a receive request in the ring.
type receiveEntry struct {
	id       uint64
	segments []provider.Segment
	length   int
}

// message is what is being received.
type message struct {
	kind   messageKind
	region *region // WRITE
	addr   uint64  // WRITE: of the next packet
	left   int     // WRITE: bytes to come
	got    int     // bytes so far
}

type messageKind uint8

const (
	noMessage messageKind = iota
	sendMessage
	writeMessage
)

// readJob is a READ to answer.
type readJob struct {
	region *region
	addr   uint64
	length int
	psn    ib.PSN // of the next packet
	sent   int    // bytes
	msn    uint32
	replay bool // of a READ that came again
}

func (r *responder) init(depth, segments int) {
	r.ring = make([]receiveEntry, depth)
	for i := range r.ring {
		r.ring[i].segments = make([]provider.Segment, 0, segments)
	}
}

func (r *responder) at(i uint32) *receiveEntry { return &r.ring[i%uint32(len(r.ring))] }

// start keeps the receive requests: they may be posted from INIT on.
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
		return errors.New("it is in state RESET")
	case int(r.tail-r.head)+int(qp.unpolledReceives.Load()) >= len(r.ring):
		return provider.ErrQueueFull
	case qp.state == provider.QPStateError:
		qp.completeReceive(provider.WorkCompletion{ID: wr.ID, Status: provider.WCFlushed})
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

// checkReceive returns the length that the request has room for.
func (qp *queuePair) checkReceive(wr *provider.ReceiveRequest) (length int, err error) {
	for i, seg := range wr.Segments {
		if err := qp.checkSegment(i, seg, true); err != nil {
			return 0, err
		}
		length += seg.Length
	}
	return length, nil
}

// completeReceive makes an entry in the completion queue.
func (qp *queuePair) completeReceive(wc provider.WorkCompletion) {
	wc.QPN = qp.qpn
	if !qp.recvCQ.push(wc, &qp.unpolledReceives) && qp.state != provider.QPStateError {
		qp.fail()
	}
}

func (qp *queuePair) flushReceives() {
	r := &qp.resp
	for r.head != r.tail {
		id := r.at(r.head).id
		r.head++
		qp.completeReceive(provider.WorkCompletion{ID: id, Status: provider.WCFlushed, Op: provider.WCReceive})
	}
	r.jobCount, r.replays, r.ackDue, r.message = 0, 0, false, message{}
	if !fatal(r.refusal) { // the peer still learns why the connection ended
		r.refusal = 0
	}
}

// request takes a packet of the peer's requester.
func (qp *queuePair) request(p *ib.Packet) {
	r := &qp.resp
	if fatal(r.refusal) {
		return
	}
	switch d := p.BTH.PSN.Sub(r.expected); {
	case d > 0:
		count(&qp.e.stats.OutOfOrder)
		if !r.nakSent {
			r.nakSent = true
			qp.refuse(ib.SyndromeNAKSequence)
		}
		return
	case d < 0:
		count(&qp.e.stats.Duplicates)
		qp.duplicate(p)
		return
	}
	r.nakSent = false
	if r.refusal == ib.SyndromeNAKSequence { // filled before anybody was told of the gap
		r.refusal, r.ackDue = 0, true
	}
	if code := qp.execute(p); code != ok {
		qp.refuse(code)
	}
}

// ok is no syndrome: the request was taken.
const ok ib.Syndrome = ib.SyndromeACK

// refuse answers a request that can't be honoured, after what was asked before it.
func (qp *queuePair) refuse(code ib.Syndrome) {
	if qp.resp.refusal == 0 || fatal(code) {
		qp.resp.refusal = code
	}
	if code.IsRNR() { // what follows is skipped without a word, as after a gap
		qp.resp.nakSent = true
	}
}

// fatal tells the refusals that end the connection.
func fatal(code ib.Syndrome) bool { return code.IsNAK() && code != ib.SyndromeNAKSequence }

// duplicate answers a request that was executed before: the answer was lost.
func (qp *queuePair) duplicate(p *ib.Packet) {
	r := &qp.resp
	if p.BTH.Opcode != ib.OpcodeRCReadRequest {
		r.ackDue = true
		return
	}
	n := qp.packets(int(p.RETH.DMALength))
	if p.BTH.PSN.Add(n).Sub(r.expected) > 0 || p.RETH.DMALength > maxMessage {
		return // not what was asked before
	}
	if r.replays < r.reads { // else it comes once more
		_ = qp.read(p, r.msn, true) // what can't be read any more is not answered
	}
}

// packets returns how many packets carry length bytes.
func (qp *queuePair) packets(length int) int {
	mtu := int(qp.attr.PathMTU)
	return max(1, (length+mtu-1)/mtu)
}

// execute does what the expected packet asks for.
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

// receiveSend puts a packet of a SEND into the oldest receive request.
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
		qp.endReceive(provider.WorkCompletion{Status: provider.WCLocalLengthError})
		return ib.SyndromeNAKInvalidRequest
	}
	if !scatter(e.segments, r.message.got, p.Payload) {
		qp.endReceive(provider.WorkCompletion{Status: provider.WCLocalProtection})
		return ib.SyndromeNAKRemoteError
	}
	r.message.got += len(p.Payload)
	if last {
		wc := provider.WorkCompletion{Op: provider.WCReceive, Bytes: uint32(r.message.got)}
		wc.Immediate, wc.HasImmediate = immediate(p)
		qp.endReceive(wc)
	}
	return ok
}

func immediate(p *ib.Packet) ([4]byte, bool) {
	if p.BTH.Opcode.Layout()&ib.LayoutImmDt == 0 {
		return [4]byte{}, false
	}
	return p.ImmDt, true
}

// endReceive completes the oldest receive request.
func (qp *queuePair) endReceive(wc provider.WorkCompletion) {
	r := &qp.resp
	wc.ID = r.at(r.head).id
	r.head++
	qp.completeReceive(wc)
}

// receiveWrite puts a packet of a WRITE where it belongs.
func (qp *queuePair) receiveWrite(p *ib.Packet, first, last bool) ib.Syndrome {
	r := &qp.resp
	m := &r.message
	if first {
		if p.RETH.DMALength > maxMessage {
			return ib.SyndromeNAKInvalidRequest
		}
		*m = message{kind: writeMessage, addr: p.RETH.VirtualAddress, left: int(p.RETH.DMALength)}
		if m.left > 0 {
			if qp.attr.Access&provider.AccessRemoteWrite != 0 {
				m.region = qp.e.lookup(qp.pd, p.RETH.RKey, m.addr, m.left, provider.AccessRemoteWrite)
			}
			if m.region == nil {
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
	_, notify := immediate(p)
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
			Op: provider.WCReceiveWrite, Bytes: uint32(m.got), HasImmediate: true, Immediate: p.ImmDt,
		})
	}
	return ok
}

// newRead takes a READ request.
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
	code := qp.read(p, msn, false)
	if code == ok {
		r.expected = r.expected.Add(n)
		r.msn = msn
	}
	return code
}

// read queues the response to a READ, for which there is room.
func (qp *queuePair) read(p *ib.Packet, msn uint32, replay bool) ib.Syndrome {
	r := &qp.resp
	job := readJob{addr: p.RETH.VirtualAddress, length: int(p.RETH.DMALength), psn: p.BTH.PSN, msn: msn, replay: replay}
	if job.length > 0 {
		if qp.attr.Access&provider.AccessRemoteRead != 0 {
			job.region = qp.e.lookup(qp.pd, p.RETH.RKey, job.addr, job.length, provider.AccessRemoteRead)
		}
		if job.region == nil {
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

// endRead takes the oldest READ off the queue.
func (r *responder) endRead() {
	j := &r.jobs[r.jobHead]
	if j.replay {
		r.replays--
	}
	*j = readJob{}
	r.jobHead = (r.jobHead + 1) % len(r.jobs)
	r.jobCount--
}

// respondPackets is how many packets of responses are sent at a time.
const respondPackets = 64

// respond sends what is due; more tells that there is something left.
func (qp *queuePair) respond(mayOwe bool) (more bool) {
	r := &qp.resp
	budget := respondPackets
	for r.jobCount > 0 && budget > 0 {
		j := &r.jobs[r.jobHead]
		done, good := qp.readPacket(j)
		if !good && j.replay { // it was answered while its region was open
			r.endRead()
			continue
		}
		if !good { // the region was closed meanwhile
			r.jobCount, r.replays = 0, 0
			r.expected = j.psn
			qp.refuse(ib.SyndromeNAKRemoteAccess)
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
	switch code := r.refusal; {
	case code != 0:
		r.refusal, r.ackDue = 0, false
		qp.answer(r.expected, code)
		if fatal(code) {
			qp.tx.flush()
			qp.fail()
		}
	case r.ackDue && mayOwe:
		qp.owe()
	case r.ackDue:
		r.ackDue = false
		qp.answer(r.expected.Add(-1), ib.SyndromeACK)
	}
	return false
}

// readPacket sends the next packet of a READ response.
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

// answer sends an acknowledgement.
func (qp *queuePair) answer(psn ib.PSN, syndrome ib.Syndrome) {
	p := ib.Packet{BTH: qp.header(ib.OpcodeRCAcknowledge, psn, 0), AETH: ib.AETH{Syndrome: syndrome, MSN: qp.resp.msn}}
	qp.tx.finish(qp.tx.begin(&p, 0), &p)
}
