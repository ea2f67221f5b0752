package roce

import (
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce/window"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// requester is the sending side of a connection: a ring of requests. Those from head to next
// have been sent completely or in part.
type requester struct {
	ring             []sendEntry
	head, next, tail uint64 // count all requests; indices into ring modulo its length
	offset           int    // packets of the request at next that have been sent

	psn         ib.PSN // of the next packet to send, or to retransmit
	firstUnsent ib.PSN // of the next packet to send for the first time
	acked       ib.PSN // of the oldest unacknowledged packet
	post        ib.PSN // of the next request to be posted
	sinceAckReq int    // packets sent since the last acknowledgement request
	window      int    // packets that may be outstanding
	windowLimit int    // the most that window grows to

	restart  ib.PSN           // of the oldest packet at the last retransmission: a READ may start there
	reading  bool             // the last packet of a READ response was FIRST or MIDDLE
	reads    [maxReads]ib.PSN // last PSN of each outstanding READ request, a ring
	readHead int
	readLen  int

	deadline time.Time // for the oldest packet; zero when nothing is outstanding
	armed    bool      // the timer runs
	paused   bool      // after an RNR NAK: wait until deadline
	retries  int       // timeouts since the last progress
	rnr      int       // RNR NAKs since the last progress
	unsent   error     // of the last write that failed since the last progress
	written  uint64    // engine.written when the timer last fired while the socket had no space

	recovering bool // has retransmitted since the last progress; further gaps wait for the timer

	// failStatus, if not 0, is the status that the request at failAt completes with after all
	// earlier ones have completed: its local memory region has been closed.
	failStatus provider.WCStatus
	failAt     uint64
}

// limit returns the index of the first request that must not be sent.
func (r *requester) limit() uint64 {
	if r.failStatus != 0 {
		return r.failAt
	}
	return r.tail
}

// sendEntry is a send request in the ring.
type sendEntry struct {
	request  provider.SendRequest // its Segments is segments
	segments []provider.Segment
	inline   []byte
	length   int
	first    ib.PSN
	packets  int
	split    bool        // see splitMTU
	to       destination // of a datagram
	received int         // packets of the READ response
}

func (s *sendEntry) last() ib.PSN { return s.first.Add(s.packets - 1) }
func (s *sendEntry) isRead() bool { return s.request.Op == provider.SendOpRead }

// fetches reports whether the response to a request has data.
func (s *sendEntry) fetches() bool { return fetches(s.request.Op) }

func (s *sendEntry) isAtomic() bool { return s.fetches() && !s.isRead() }

func fetches(op provider.SendOp) bool {
	return op == provider.SendOpRead || op == provider.SendOpCompareSwap || op == provider.SendOpFetchAdd
}

const (
	// windowMin and windowMax limit the window, in packets.
	windowMin = window.Least
	windowMax = window.Most
	// ackReqEvery is the number of packets after which an acknowledgement is requested.
	ackReqEvery = 32
	// readChunk is the maximum number of response packets per READ request, so that responses
	// don't arrive faster than they are handled.
	readChunk = 32
)

// init makes the ring, whose segments are the first of slab, and returns the rest of slab.
func (r *requester) init(slab []provider.Segment, depth, segments int) []provider.Segment {
	r.ring = make([]sendEntry, depth)
	for i := range r.ring {
		r.ring[i].segments, slab = slab[:0:segments], slab[segments:]
	}
	return slab
}

func (r *requester) at(i uint64) *sendEntry { return &r.ring[i%uint64(len(r.ring))] }

// windowLimit returns the largest window for packets of a path MTU. The buffer that the window
// fills is the peer's; it is taken to be like ours.
func (e *Engine) windowLimit(mtu ib.MTU) int { return window.Limit(e.conn.ReceiveBuffer(), mtu) }

func (r *requester) start(psn ib.PSN, limit int) {
	psn = psn.Add(0) // keep 24 bits
	r.psn, r.firstUnsent, r.acked, r.post, r.restart = psn, psn, psn, psn, psn
	r.window, r.windowLimit = max(windowMin, limit/2), limit
}

// clear drops all requests; they don't complete.
func (r *requester) clear() {
	*r = requester{ring: r.ring}
}

// PostSend implements provider.QueuePair.
func (qp *queuePair) PostSend(wrs []provider.SendRequest) (n int, err error) {
	qp.mu.Lock()
	defer qp.mu.Unlock()
	for i := range wrs {
		if err = qp.enqueue(&wrs[i]); err != nil {
			if !errors.Is(err, provider.ErrQueueFull) {
				err = fmt.Errorf("post send %d to qp %v: %w", wrs[i].ID, qp.qpn, err)
			}
			break
		}
		n++
	}
	if qp.state == provider.QPStateRTS {
		qp.sendPending()
		if qp.ackPending {
			qp.respond(false)
		}
		qp.tx.flush()
	}
	return n, err
}

// enqueue checks a request and puts it into the ring.
func (qp *queuePair) enqueue(wr *provider.SendRequest) error {
	r := &qp.req
	switch {
	case qp.closed:
		return provider.ErrClosed
	case qp.state != provider.QPStateRTS && qp.state != provider.QPStateError && qp.state != provider.QPStateSQE:
		return fmt.Errorf("queue pair is in state %v, not RTS", qp.state)
	case int(r.tail-r.head)+int(qp.unpolledSends.Load()) >= len(r.ring):
		return provider.ErrQueueFull
	case qp.state != provider.QPStateRTS:
		qp.completeSend(wr.ID, wr.Op, true, provider.WCFlushed, 0)
		return nil
	}
	s := r.at(r.tail)
	if len(wr.Segments) > cap(s.segments) {
		return fmt.Errorf("%d segments, at most %d", len(wr.Segments), cap(s.segments))
	}
	length, err := qp.checkSegments(wr)
	if err != nil {
		return err
	}
	if qp.kind == provider.QPTypeUD {
		if s.to, err = qp.checkDatagram(wr, length); err != nil {
			return err
		}
	}
	s.segments = append(s.segments[:0], wr.Segments...)
	s.request = *wr
	s.request.Segments, s.request.Data, s.request.To = s.segments, nil, nil
	s.length, s.received = length, 0
	s.inline = append(s.inline[:0], wr.Data...)
	if wr.Flags&provider.SendInline != 0 {
		for i, seg := range wr.Segments {
			r, _ := seg.Region.(*region)
			var ok bool
			if s.inline, ok = r.appendTo(s.inline, r.addr+uint64(seg.Offset), seg.Length); !ok {
				return fmt.Errorf("segment %d: region: %w", i, provider.ErrClosed) // since checkSegments
			}
		}
	}
	mtu := int(qp.mtu())
	s.first = r.post
	s.packets = max(1, (length+mtu-1)/mtu)
	s.split = qp.kind == provider.QPTypeRC && wr.Op == provider.SendOpWrite &&
		mtu >= int(splitMTU) && s.packets <= splitPackets
	r.post = r.post.Add(s.packets)
	r.tail++
	return nil
}

// checkSegments returns the length of the message.
func (qp *queuePair) checkSegments(wr *provider.SendRequest) (int, error) {
	if wr.Op > provider.SendOpFetchAdd || qp.kind == provider.QPTypeUC && fetches(wr.Op) ||
		qp.kind == provider.QPTypeUD && wr.Op > provider.SendOpSendImmediate {
		return 0, fmt.Errorf("%v: %w", wr.Op, provider.ErrNotSupported)
	}
	if fetches(wr.Op) && qp.attr.MaxReadAtomic == 0 {
		return 0, fmt.Errorf("%v: the queue pair allows no outstanding READs and atomics (MaxReadAtomic is 0)",
			wr.Op)
	}
	length := 0
	for i, seg := range wr.Segments {
		if err := qp.pd.checkSegment(i, seg, fetches(wr.Op)); err != nil {
			return 0, err
		}
		length += seg.Length
	}
	if length > maxMessage {
		return 0, fmt.Errorf("%d bytes, at most %d", length, maxMessage)
	}
	if wr.Data != nil {
		if length > 0 || len(wr.Segments) > 0 {
			return 0, errors.New("segments and Data exclude each other")
		}
		length = len(wr.Data)
	}
	switch inline := wr.Data != nil || wr.Flags&provider.SendInline != 0; {
	case inline && fetches(wr.Op):
		return 0, fmt.Errorf("inline data is not supported for %v", wr.Op)
	case fetches(wr.Op) && wr.Op != provider.SendOpRead && length != atomicLength:
		return 0, fmt.Errorf("%v: %d bytes of segments, and the result has %d", wr.Op, length, atomicLength)
	case inline && length > qp.capacity.MaxInline:
		return 0, fmt.Errorf("%d bytes inline, and the queue pair was created for at most %d (QPCapacity.MaxInline)",
			length, qp.capacity.MaxInline)
	}
	return length, nil
}

// checkSegment returns an error if segment i of a request is invalid. write reports whether the
// request writes to the segment.
func (d *domain) checkSegment(i int, seg provider.Segment, write bool) error {
	r, ok := seg.Region.(*region)
	if !ok || r.pd != d {
		return fmt.Errorf("segment %d: region belongs to another protection domain", i)
	}
	if write && r.access&provider.AccessLocalWrite == 0 {
		return fmt.Errorf("segment %d: region has no local write access", i)
	}
	size := len(r.Bytes())
	if seg.Offset < 0 || seg.Length < 0 || seg.Offset > size || seg.Length > size-seg.Offset {
		return fmt.Errorf("segment %d: bytes %d to %d are outside a region of %d bytes",
			i, seg.Offset, seg.Offset+seg.Length, size)
	}
	return nil
}

// sendPending sends as many packets of queued requests as the window permits.
func (qp *queuePair) sendPending() {
	if qp.kind != provider.QPTypeRC {
		qp.sendUnreliable()
		return
	}
	r := &qp.req
	for r.next != r.limit() && !r.paused && !qp.tx.blocked() {
		s := r.at(r.next)
		room := r.window - r.psn.Sub(r.acked)
		if room <= 0 {
			break
		}
		if s.request.Flags&provider.SendFence != 0 && r.offset == 0 && r.readLen > 0 {
			break
		}
		if s.fetches() {
			if r.readLen >= min(maxReads, qp.attr.MaxReadAtomic) {
				break
			}
			// Always split at the same offsets: responders recognize a duplicate request by
			// its end.
			n := min((r.offset/readChunk+1)*readChunk, s.packets) - r.offset
			if n > room && r.psn != r.acked {
				break
			}
			r.offset += qp.sendFetch(s, n)
		} else {
			n, ok := qp.sendMessage(s, min(room, s.packets-r.offset))
			r.offset += n
			if !ok {
				r.failStatus, r.failAt = provider.WCLocalProtection, r.next
				break
			}
		}
		if r.offset == s.packets {
			r.next++
			r.offset = 0
		}
	}
	if r.failStatus != 0 && r.head == r.failAt {
		qp.failSend(r.failStatus)
		return
	}
	qp.arm()
}

// sendFetch sends a request for the next n packets of a response, and returns n.
func (qp *queuePair) sendFetch(s *sendEntry, n int) int {
	r := &qp.req
	if s.isRead() {
		qp.sendRead(s, n)
	} else {
		qp.sendAtomic(s)
	}
	r.advance(n)
	r.reads[(r.readHead+r.readLen)%maxReads] = r.psn.Add(-1)
	r.readLen++
	r.sinceAckReq = 0
	return n
}

// sendRead sends a READ request for the next n packets of the response.
func (qp *queuePair) sendRead(s *sendEntry, n int) {
	r, mtu := &qp.req, int(qp.attr.PathMTU)
	at := r.offset * mtu
	p := ib.Packet{BTH: qp.header(ib.OpcodeRCReadRequest, r.psn, 0)}
	p.BTH.AckReq = true
	p.RETH = ib.RETH{
		VirtualAddress: s.request.RemoteAddr + uint64(at), RKey: s.request.RKey,
		DMALength: uint32(min(s.length-at, n*mtu)),
	}
	qp.tx.finish(qp.tx.begin(&p, 0), &p)
}

// advance counts packets as sent.
func (r *requester) advance(n int) {
	r.psn = r.psn.Add(n)
	if r.firstUnsent.Before(r.psn) {
		r.firstUnsent = r.psn
	}
}

// sendMessage sends n packets of a SEND or WRITE, starting at r.offset. It returns how many were
// sent, and false if the local memory region has been closed.
func (qp *queuePair) sendMessage(s *sendEntry, n int) (int, bool) {
	r, mtu := &qp.req, int(qp.attr.PathMTU)
	var p ib.Packet
	for i := range n {
		if qp.tx.blocked() {
			return i, true
		}
		k := r.offset + i
		size := min(mtu, s.length-k*mtu)
		last := k == s.packets-1
		p.BTH = qp.header(s.opcode(k), r.psn, size)
		r.sinceAckReq++
		if qp.kind == provider.QPTypeUC {
			p.BTH.Opcode |= serviceUC
		} else if last || r.sinceAckReq >= ackReqEvery || r.window-r.psn.Sub(r.acked) == 1 {
			p.BTH.AckReq = true
			r.sinceAckReq = 0
		}
		p.BTH.Solicited = last && s.request.Flags&provider.SendSolicited != 0
		p.RETH = ib.RETH{VirtualAddress: s.request.RemoteAddr, RKey: s.request.RKey, DMALength: uint32(s.length)}
		if s.split {
			p.RETH.VirtualAddress += uint64(k * mtu)
			p.RETH.DMALength = uint32(size)
		}
		p.ImmDt = s.request.Immediate
		data, ok := s.appendTo(qp.tx.begin(&p, size), k*mtu, size)
		if !ok {
			qp.tx.abandon()
			return i, false
		}
		qp.tx.finish(data, &p)
		r.advance(1)
	}
	return n, true
}

// header returns the BTH of a packet to the peer.
func (qp *queuePair) header(op ib.Opcode, psn ib.PSN, payload int) ib.BTH {
	return ib.BTH{
		Opcode: op, MigReq: true, PadCount: ib.PadFor(payload), PKey: ib.PKeyDefault, DestQP: qp.attr.DestQPN, PSN: psn,
	}
}

// splitMTU is the smallest path MTU with which the packets of a WRITE without immediate data are
// messages of their own, each for its part of the memory (WRITE ONLY). FIRST would be longer than
// the others and could not be in one segmented send with them; the receiver can't tell the
// difference, since a WRITE makes no completion there. With smaller packets the 16 bytes that each
// is longer, and the lookup of the region for each, cost more than the additional send.
const splitMTU = ib.MTU2048

// splitPackets is the most packets of such a WRITE: the send that longer ones save is a small part
// of theirs.
const splitPackets = 64

// opcode returns the opcode of packet k.
func (s *sendEntry) opcode(k int) ib.Opcode {
	if s.split {
		return ib.OpcodeRCWriteOnly
	}
	return messageOpcode(s.request.Op, k == 0, k == s.packets-1)
}

// messageOpcode returns the opcode of a packet of a message.
func messageOpcode(op provider.SendOp, first, last bool) ib.Opcode {
	base := ib.OpcodeRCSendFirst
	if op == provider.SendOpWrite || op == provider.SendOpWriteImmediate {
		base = ib.OpcodeRCWriteFirst
	}
	immediate := op == provider.SendOpSendImmediate || op == provider.SendOpWriteImmediate
	switch {
	case first && last && immediate:
		return base + 5
	case first && last:
		return base + 4
	case last && immediate:
		return base + 3
	case last:
		return base + 2
	case first:
		return base
	}
	return base + 1
}

// appendTo appends size bytes of the message, starting at offset at. It reports false if a memory
// region has been closed.
func (s *sendEntry) appendTo(dst []byte, at, size int) ([]byte, bool) {
	if len(s.inline) > 0 {
		return append(dst, s.inline[at:at+size]...), true
	}
	for i := range s.segments {
		if size == 0 {
			break
		}
		seg := &s.segments[i]
		if at >= seg.Length {
			at -= seg.Length
			continue
		}
		n := min(size, seg.Length-at)
		r, _ := seg.Region.(*region)
		var ok bool
		if dst, ok = r.appendTo(dst, r.addr+uint64(seg.Offset+at), n); !ok {
			return dst, false
		}
		at, size = 0, size-n
	}
	return dst, true
}

// scatter writes data into the segments, starting at offset at. It reports false if the data
// doesn't fit or a memory region has been closed.
func scatter(segments []provider.Segment, at int, data []byte) bool {
	for i := range segments {
		if len(data) == 0 {
			break
		}
		seg := &segments[i]
		if at >= seg.Length {
			at -= seg.Length
			continue
		}
		n := min(len(data), seg.Length-at)
		r, _ := seg.Region.(*region)
		if !r.copyIn(r.addr+uint64(seg.Offset+at), data[:n]) {
			return false
		}
		at, data = 0, data[n:]
	}
	return len(data) == 0
}
