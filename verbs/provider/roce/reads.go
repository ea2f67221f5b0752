package roce

import (
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// readJob is a READ or atomic operation that needs a response.
type readJob struct {
	atomic bool
	value  uint64 // of an atomic operation, before
	region *region
	addr   uint64
	length int
	psn    ib.PSN // of the next packet
	sent   int    // bytes
	msn    uint32
	replay bool // the request is a duplicate
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
	if !qp.permits(&p.RETH, "RDMA READ", provider.AccessRemoteRead) {
		return ib.SyndromeNAKInvalidRequest
	}
	if job.length > 0 {
		job.region = qp.e.lookup(qp.pd, p.RETH.RKey, job.addr, job.length, provider.AccessRemoteRead)
		if job.region == nil {
			r.cause = qp.refused("RDMA READ", p.RETH, provider.AccessRemoteRead)
			return ib.SyndromeNAKRemoteAccess
		}
	}
	r.queueJob(job)
	return ok
}

// queueJob adds a job to the queue, which isn't full.
func (r *responder) queueJob(job readJob) {
	r.jobs[(r.jobHead+r.jobCount)%len(r.jobs)] = job
	r.jobCount++
	if job.replay {
		r.replays++
	}
}

// endRead removes the oldest job from the queue.
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

// readPacket sends the next packet of a response. done reports whether it was the last one;
// good is false if the region has been closed.
func (qp *queuePair) readPacket(j *readJob) (done, good bool) {
	if j.atomic {
		qp.atomicPacket(j)
		return true, true
	}
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
