package ibverbs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// maxPost is the number of requests that one call of the driver gets.
const maxPost = 32

// maxMessage is the maximum length of a message (specification volume 1, section 9.7).
const maxMessage = 1 << 31

// sender is the send queue of a queue pair.
type sender struct {
	ring

	mu       sync.Mutex // held while C posts; guards everything below
	wrs      []cSendWR
	sges     []cSGE // segments for each request
	inline   []byte // bytes for each request
	bad      []uintptr
	segments int // of a request
	bytes    int // inline, of a request
	held     []*transient
}

func (s *sender) init(a *arena, c provider.QPCapacity) {
	n := min(c.MaxSendWR, maxPost)
	s.ring.init(c.MaxSendWR)
	s.segments, s.bytes = c.MaxSendSegments, c.MaxInline
	s.wrs, s.sges, s.bad = carve[cSendWR](a, n), carve[cSGE](a, n*s.segments), carve[uintptr](a, 1)
	s.inline = carve[byte](a, n*s.bytes)
}

// sendOps are the operations by [provider.SendOp]: enum ibv_wr_opcode.
var sendOps = [...]struct {
	code uint32
	need provider.Capabilities
}{
	provider.SendOpSend:            {2, 0},
	provider.SendOpSendImmediate:   {3, provider.CapImmediate},
	provider.SendOpWrite:           {0, 0},
	provider.SendOpWriteImmediate:  {1, provider.CapImmediate},
	provider.SendOpRead:            {4, 0},
	provider.SendOpCompareSwap:     {5, provider.CapAtomics},
	provider.SendOpFetchAdd:        {6, provider.CapAtomics},
	provider.SendOpSendInvalidate:  {9, provider.CapSendInvalidate},
	provider.SendOpLocalInvalidate: {7, provider.CapLocalInvalidate},
	provider.SendOpBindWindow:      {8, provider.CapWindow2},
}

// sendFlags are the bits of enum ibv_send_flags by those of [provider.SendFlags].
var sendFlags = [...]struct {
	flag provider.SendFlags
	bit  uint32
}{
	{provider.SendFence, 1 << 0},
	{provider.SendSignaled, 1 << 1},
	{provider.SendSolicited, 1 << 2},
	{provider.SendInline, 1 << 3},
}

const flagInline = 1 << 3

// PostSend implements [provider.QueuePair].
func (qp *queuePair) PostSend(wrs []provider.SendRequest) (n int, err error) {
	s := &qp.send
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := qp.postable(provider.QPStateRTS); err != nil {
		return 0, qp.sendError(wrs, err)
	}
	for n < len(wrs) {
		batch := min(len(wrs)-n, len(s.wrs), s.room())
		if batch == 0 {
			return n, provider.ErrQueueFull
		}
		count, failed := qp.buildSends(wrs[n : n+batch])
		posted, err := qp.postSends(count)
		n += posted
		if err == nil {
			err = failed
		}
		if err != nil {
			return n, qp.sendError(wrs[n:], err)
		}
	}
	return n, nil
}

// sendError adds the request to an error, unless it is back-pressure.
func (qp *queuePair) sendError(wrs []provider.SendRequest, err error) error {
	if err == provider.ErrQueueFull || len(wrs) == 0 { //nolint:errorlint // it is never wrapped
		return err
	}
	return fmt.Errorf("post send %d to %s: %w", wrs[0].ID, qp.what, err)
}

// postable returns an error if requests can't be posted: need is the first state that permits it.
func (qp *queuePair) postable(need provider.QPState) error {
	switch state := qp.State(); {
	case qp.closed.Load():
		return provider.ErrClosed
	case state < need:
		return fmt.Errorf("queue pair is in state %v, not %v", state, need)
	}
	return nil
}

// buildSends converts requests and returns how many it has converted, and the error of the next.
func (qp *queuePair) buildSends(wrs []provider.SendRequest) (int, error) {
	for i := range wrs {
		if err := qp.buildSend(i, &wrs[i]); err != nil {
			return i, err
		}
	}
	return len(wrs), nil
}

// postSends posts the first count converted requests, and returns how many the driver has taken.
func (qp *queuePair) postSends(count int) (int, error) {
	s := &qp.send
	defer s.letGo()
	if count == 0 {
		return 0, nil
	}
	for i := range count - 1 {
		s.wrs[i].Next = at(s.wrs, i+1)
	}
	s.wrs[count-1].Next, s.bad[0] = 0, 0
	s.post(count)
	errno := errnoOf(qp.d.inline.postSend.Call3(qp.addr, at(s.wrs, 0), at(s.bad, 0)), 0)
	if errno == 0 {
		s.bound(count)
		return count, nil
	}
	taken := takenOf(s.wrs, s.bad[0], count, errno)
	s.post(taken - count)
	s.bound(taken)
	return taken, qp.d.postError("post send", errno)
}

// bound stores the keys of the windows that the first count requests bind.
func (s *sender) bound(count int) {
	for i := range count {
		if c := &s.wrs[i]; c.BindMW != 0 {
			setWindowKey(c.BindMW, c.BindRKey)
		}
	}
}

// letGo releases the handles of the requests.
func (s *sender) letGo() {
	for i, o := range s.held {
		o.done()
		s.held[i] = nil
	}
	s.held = s.held[:0]
}

// hold keeps an object open until the requests have been posted.
func (s *sender) hold(o *transient) error {
	if err := o.acquire(); err != nil {
		return err
	}
	s.held = append(s.held, o)
	return nil
}

// buildSend converts request i of a batch.
func (qp *queuePair) buildSend(i int, wr *provider.SendRequest) error {
	if int(wr.Op) >= len(sendOps) {
		return fmt.Errorf("%v: %w", wr.Op, provider.ErrNotSupported)
	}
	op := sendOps[wr.Op]
	if !qp.d.caps.Has(op.need) || !qp.offers(wr.Op) {
		return fmt.Errorf("%v on %v: %w", wr.Op, qp.kind, provider.ErrNotSupported)
	}
	s := &qp.send
	c := &s.wrs[i]
	*c = cSendWR{Opcode: op.code, RemoteAddr: wr.RemoteAddr, Imm: wr.Immediate}
	for _, f := range sendFlags {
		if wr.Flags&f.flag != 0 {
			c.SendFlags |= f.bit
		}
	}
	if err := qp.buildSegments(i, wr); err != nil {
		return err
	}
	if err := qp.buildOp(c, wr); err != nil {
		return err
	}
	c.WRID = s.put(i, wr.ID)
	signaled := qp.signalAll || wr.Flags&provider.SendSignaled != 0
	s.expectLate(c.WRID, signaled && wr.Op == provider.SendOpRead)
	return nil
}

// offers reports whether the type of the queue pair has an operation (specification volume 1,
// table 38).
func (qp *queuePair) offers(op provider.SendOp) bool {
	switch op {
	case provider.SendOpSend, provider.SendOpSendImmediate:
		return true
	case provider.SendOpWrite, provider.SendOpWriteImmediate, provider.SendOpLocalInvalidate,
		provider.SendOpBindWindow:
		return qp.kind != provider.QPTypeUD
	}
	return qp.kind == provider.QPTypeRC
}

// buildOp sets what depends on the operation.
func (qp *queuePair) buildOp(c *cSendWR, wr *provider.SendRequest) error {
	order := binary.NativeEndian
	switch wr.Op {
	case provider.SendOpWrite, provider.SendOpWriteImmediate, provider.SendOpRead:
		order.PutUint32(c.Word[:], wr.RKey)
	case provider.SendOpCompareSwap:
		order.PutUint64(c.Word[:], wr.Compare)
		c.Swap, c.AtomicRKey = wr.Operand, wr.RKey
	case provider.SendOpFetchAdd:
		order.PutUint64(c.Word[:], wr.Operand)
		c.AtomicRKey = wr.RKey
	case provider.SendOpSendInvalidate, provider.SendOpLocalInvalidate:
		order.PutUint32(c.Imm[:], wr.Invalidate)
	case provider.SendOpBindWindow:
		return qp.buildBind(c, wr.Bind)
	}
	if qp.kind != provider.QPTypeUD {
		return nil
	}
	if wr.To == nil {
		return errors.New("datagram without destination (To)")
	}
	ah, ok := wr.To.Handle.(*addressHandle)
	if !ok || ah.pd != qp.pd {
		return errors.New("address handle belongs to another protection domain")
	}
	if err := qp.send.hold(&ah.transient); err != nil {
		return err
	}
	c.RemoteAddr = uint64(ah.addr)
	order.PutUint32(c.Word[:4], uint32(wr.To.QPN))
	order.PutUint32(c.Word[4:], wr.To.QKey)
	return nil
}

func (qp *queuePair) buildBind(c *cSendWR, b *provider.WindowBind) error {
	if b == nil {
		return errors.New("no window to bind (Bind)")
	}
	w, ok := b.Window.(*memoryWindow)
	r, ok2 := b.Region.(*region)
	switch {
	case !ok || w.pd != qp.pd:
		return errors.New("memory window belongs to another protection domain")
	case !ok2 || r.pd != qp.pd:
		return errors.New("region belongs to another protection domain")
	case b.Offset > r.length || b.Length > r.length-b.Offset:
		return fmt.Errorf("bytes %d to %d are outside a region of %d bytes", b.Offset, b.Offset+b.Length, r.length)
	}
	if err := qp.send.hold(&w.transient); err != nil {
		return err
	}
	if err := qp.send.hold(&r.transient); err != nil {
		return err
	}
	c.BindMW, c.BindRKey, c.BindMR = w.addr, b.RKey, r.addr
	c.BindAddr, c.BindLength, c.BindAccess = r.base+b.Offset, b.Length, uint32(b.Access)
	return nil
}

// buildSegments sets the segments of request i, or its inline data.
func (qp *queuePair) buildSegments(i int, wr *provider.SendRequest) error {
	s := &qp.send
	c := &s.wrs[i]
	reads := wr.Op == provider.SendOpRead || wr.Op == provider.SendOpCompareSwap || wr.Op == provider.SendOpFetchAdd
	inline := wr.Data != nil || wr.Flags&provider.SendInline != 0
	switch {
	case wr.Data != nil && len(wr.Segments) > 0:
		return errors.New("segments and Data exclude each other")
	case inline && reads:
		return fmt.Errorf("inline data is not supported for %v", wr.Op)
	case wr.Data != nil:
		c.SendFlags |= flagInline
		return s.setInline(i, wr.Data)
	}
	sges := s.sges[i*s.segments : (i+1)*s.segments]
	used, length, err := qp.pd.convertSegments(sges, wr.Segments, reads)
	switch {
	case err != nil:
		return err
	case reads && used > qp.d.readSegments():
		return fmt.Errorf("%d segments, at most %d for a READ", used, qp.d.readSegments())
	case inline && length > s.bytes:
		return s.tooLong(length)
	case inline && used > 0:
		return qp.copyInline(i, wr.Segments)
	}
	if c.NumSGE = int32(used); used > 0 {
		c.SGList = at(sges, 0)
	}
	return nil
}

func (s *sender) tooLong(length int) error {
	return fmt.Errorf("%d bytes inline, and the queue pair was created for at most %d (QPCapacity.MaxInline)",
		length, s.bytes)
}

// setInline copies plain bytes for request i.
func (s *sender) setInline(i int, data []byte) error {
	if len(data) > s.bytes {
		return s.tooLong(len(data))
	}
	if len(data) == 0 {
		return nil
	}
	n := copy(s.inline[i*s.bytes:(i+1)*s.bytes], data)
	s.inlineSGE(i, n)
	return nil
}

func (s *sender) inlineSGE(i, length int) {
	s.sges[i*s.segments] = cSGE{Addr: uint64(at(s.inline, i*s.bytes)), Length: uint32(length)}
	s.wrs[i].NumSGE, s.wrs[i].SGList = 1, at(s.sges, i*s.segments)
}

// copyInline copies segments for request i, whose total length is known to fit. C would read them
// by the address of the memory, which isn't the region's if the program has chosen that.
func (qp *queuePair) copyInline(i int, segments []provider.Segment) error {
	s := &qp.send
	to, n := s.inline[i*s.bytes:(i+1)*s.bytes], 0
	for k, seg := range segments {
		r, _ := seg.Region.(*region)
		r.mu.RLock()
		ok := r.buf != nil
		if ok {
			n += copy(to[n:], r.buf[seg.Offset:seg.Offset+seg.Length])
		}
		r.mu.RUnlock()
		if !ok {
			return fmt.Errorf("segment %d: inline data from memory that Go can't access, or a closed region", k)
		}
	}
	s.inlineSGE(i, n)
	return nil
}

// convertSegments converts segments for C, without empty ones: to some devices a length of 0 means
// 2 GiB. It returns how many there are, and the length of the message. write reports whether the
// request writes to the segments.
func (pd *domain) convertSegments(to []cSGE, segments []provider.Segment, write bool) (n, length int, err error) {
	if len(segments) > len(to) {
		return 0, 0, fmt.Errorf("%d segments, at most %d", len(segments), len(to))
	}
	for i, seg := range segments {
		r, ok := seg.Region.(*region)
		switch {
		case !ok || r.pd != pd:
			return 0, 0, fmt.Errorf("segment %d: region belongs to another protection domain", i)
		case r.closed.Load():
			return 0, 0, fmt.Errorf("segment %d: region: %w", i, provider.ErrClosed)
		case write && r.access&provider.AccessLocalWrite == 0:
			return 0, 0, fmt.Errorf("segment %d: region has no local write access", i)
		case seg.Offset < 0 || seg.Length < 0 || uint64(seg.Offset) > r.length ||
			uint64(seg.Length) > r.length-uint64(seg.Offset):
			return 0, 0, fmt.Errorf("segment %d: bytes %d to %d are outside a region of %d bytes",
				i, seg.Offset, seg.Offset+seg.Length, r.length)
		case uint64(seg.Length) > maxMessage-uint64(length):
			return 0, 0, fmt.Errorf("segment %d: the message exceeds 2 GiB", i)
		case seg.Length == 0:
			continue
		}
		length += seg.Length
		to[n] = cSGE{Addr: r.base + uint64(seg.Offset), Length: uint32(seg.Length), LKey: r.lkey}
		n++
	}
	return n, length, nil
}

// readSegments returns how many segments a READ may have: on iWARP fewer than other requests.
func (d *openDevice) readSegments() int {
	if d.transport != provider.TransportTypeIWARP || d.attr.MaxSGERead <= 0 {
		return math.MaxInt
	}
	return int(d.attr.MaxSGERead)
}
