package roce

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// atomicLength is the length of the value that atomic operations change, in bytes.
const atomicLength = 8

// isAtomic reports whether an opcode is that of a request for an atomic operation.
func isAtomic(op ib.Opcode) bool { return op == ib.OpcodeRCCompareSwap || op == ib.OpcodeRCFetchAdd }

// atomicResult is the result of an atomic operation, which a duplicate of the request gets instead
// of executing it again (specification volume 1, section 9.4.5).
type atomicResult struct {
	psn   ib.PSN
	value uint64 // in memory before
	valid bool
}

// newAtomic handles a request for an atomic operation with the expected PSN.
func (qp *queuePair) newAtomic(p *ib.Packet) ib.Syndrome {
	r, h := &qp.resp, &p.AtomicETH
	if r.jobCount-r.replays == r.reads || h.VirtualAddress%atomicLength != 0 {
		return ib.SyndromeNAKInvalidRequest
	}
	memory := ib.RETH{VirtualAddress: h.VirtualAddress, RKey: h.RKey, DMALength: atomicLength}
	if !qp.permits(&memory, "atomic operation", provider.AccessRemoteAtomic) {
		return ib.SyndromeNAKInvalidRequest
	}
	target := qp.e.lookup(qp.pd, h.RKey, h.VirtualAddress, atomicLength, provider.AccessRemoteAtomic)
	var value uint64
	found := target != nil
	if found {
		value, found = target.update(h, p.BTH.Opcode)
	}
	if !found {
		r.cause = qp.refused("atomic operation", memory, provider.AccessRemoteAtomic)
		return ib.SyndromeNAKRemoteAccess
	}
	r.msn = (r.msn + 1) & 0xffffff
	r.expected = r.expected.Add(1)
	r.results[r.nextResult] = atomicResult{p.BTH.PSN, value, true}
	r.nextResult = (r.nextResult + 1) % len(r.results)
	r.queueJob(readJob{atomic: true, value: value, psn: p.BTH.PSN, msn: r.msn})
	return ok
}

// repeatAtomic responds again to a duplicate of a request for an atomic operation, unless it is so
// old that the peer can't wait for it.
func (qp *queuePair) repeatAtomic(psn ib.PSN) {
	r := &qp.resp
	for i := range r.results { // the latest first
		done := &r.results[(r.nextResult+len(r.results)-1-i)%len(r.results)]
		if done.valid && done.psn == psn && r.replays < r.reads {
			r.queueJob(readJob{atomic: true, value: done.value, psn: psn, msn: r.msn, replay: true})
			return
		}
	}
}

// atomicPacket sends the response to an atomic operation.
func (qp *queuePair) atomicPacket(j *readJob) {
	p := ib.Packet{
		BTH:  qp.header(ib.OpcodeRCAtomicAcknowledge, j.psn, 0),
		AETH: ib.AETH{Syndrome: ib.SyndromeACK, MSN: j.msn}, AtomicAckETH: ib.AtomicAckETH{Original: j.value},
	}
	qp.tx.finish(qp.tx.begin(&p, 0), &p)
}

// update executes an atomic operation on a value in memory, which has the byte order of the
// machine, and returns the value before. It reports false if the region is closed or too short.
func (r *region) update(h *ib.AtomicETH, op ib.Opcode) (before uint64, ok bool) {
	r.mu.Lock()
	off, ok := r.offset(h.VirtualAddress, atomicLength)
	if ok = ok && r.buf != nil; ok {
		value := r.buf[off : off+atomicLength]
		before = binary.NativeEndian.Uint64(value)
		switch {
		case op == ib.OpcodeRCFetchAdd:
			binary.NativeEndian.PutUint64(value, before+h.SwapAdd)
		case before == h.Compare:
			binary.NativeEndian.PutUint64(value, h.SwapAdd)
		}
	}
	r.mu.Unlock()
	r.changed()
	return before, ok
}

// sendAtomic sends the request for an atomic operation.
func (qp *queuePair) sendAtomic(s *sendEntry) {
	op, w := ib.OpcodeRCCompareSwap, &s.request
	if w.Op == provider.SendOpFetchAdd {
		op = ib.OpcodeRCFetchAdd
	}
	p := ib.Packet{BTH: qp.header(op, qp.req.psn, 0)}
	p.BTH.AckReq = true
	p.AtomicETH = ib.AtomicETH{VirtualAddress: w.RemoteAddr, RKey: w.RKey, SwapAdd: w.Operand, Compare: w.Compare}
	qp.tx.finish(qp.tx.begin(&p, 0), &p)
}

// handleAtomicResponse handles the response to the oldest request, an atomic operation.
func (qp *queuePair) handleAtomicResponse(p *ib.Packet) {
	s := qp.expectedResponse(p.BTH.PSN)
	if s == nil {
		return
	}
	if !s.isAtomic() {
		qp.failSend(provider.WCBadResponse)
		return
	}
	if !scatter(s.segments, 0, binary.NativeEndian.AppendUint64(nil, p.AtomicAckETH.Original)) {
		qp.failSend(provider.WCLocalProtection)
		return
	}
	qp.advanceResponse(s)
}
