package roce

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"sync"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// outbox collects packets of one queue pair and sends them with as few calls as possible: packets
// of equal length, and one shorter packet after them, are passed to the kernel as one buffer
// (UDP segmentation offload).
type outbox struct {
	qp   *queuePair
	conn PacketSender
	flow rocev2.Flow
	to   netip.AddrPort
	path *provider.Path
	buf  *sendBuffer // nil while there is nothing to send
	// backlog are buffers for which the socket had no space. They are sent by respondLater; until
	// then nothing else is generated (see blocked).
	backlog []*sendBuffer
	// numbered reports whether the kernel writes the index of a packet within its entry into
	// the IPv4 identification; otherwise the identification is 0.
	numbered bool
}

// sendBuffer holds the packets that the next flush sends.
type sendBuffer struct {
	data  []byte
	list  []udpio.Outbound
	rest  []udpio.Outbound // the part of list that is to be sent
	flow  rocev2.Flow
	open  bool // more packets may be added to the last entry of list
	start int  // offset of the last entry in data
	count int  // number of packets in the last entry
	last  int  // length of the last packet
}

// flushAt is how many bytes are collected before they are sent.
const flushAt = 4 * udpio.MaxBytes

var sendBuffers = sync.Pool{New: func() any {
	return &sendBuffer{data: make([]byte, 0, flushAt+2*int(ib.MTU4096)), list: make([]udpio.Outbound, 0, 64)}
}}

// init prepares an outbox, whose source port it chooses by a flow label. setPath sets where to
// send.
func (o *outbox) init(qp *queuePair, label uint32) {
	s := qp.e.senders.at(rocev2.SourcePort(label))
	o.qp, o.conn = qp, s.PacketSender
	o.flow = rocev2.Flow{
		Source: qp.e.gid, SourcePort: s.port, DestinationPort: rocev2.Port, DontFragment: true,
	}
}

// setPath sends the following packets on a path, which must not change until they are sent.
func (o *outbox) setPath(path *provider.Path) {
	if path == o.path && path.DGID == o.flow.Destination {
		return
	}
	o.flush() // packets of one buffer have the same flow
	o.path, o.flow.Destination = path, path.DGID
	o.to = netip.AddrPortFrom(path.DGID.Addr(), rocev2.Port)
}

// begin writes the headers of a packet and returns the buffer. The caller appends the payload and
// calls finish.
func (o *outbox) begin(p *ib.Packet, payload int) []byte {
	if o.buf == nil {
		o.buf, _ = sendBuffers.Get().(*sendBuffer)
		o.buf.flow = o.flow
		o.numbered, _ = o.conn.Offload()
	}
	b := o.buf
	length := p.BTH.Opcode.HeaderLen() + payload + int(p.BTH.PadCount) + rocev2.ICRCLen
	full := len(b.data)-b.start+length > udpio.MaxBytes || b.count == udpio.MaxSegments
	segment := 0
	if b.open {
		segment = b.list[len(b.list)-1].Segment
	}
	if !b.open || full || b.last < segment || length > segment {
		b.start, b.count, b.open = len(b.data), 0, true
		b.list = append(b.list, udpio.Outbound{
			Segment: length, To: o.to, Numbered: o.numbered,
			TrafficClass: o.path.TrafficClass, HopLimit: o.path.HopLimit,
		})
	}
	b.last = length
	b.count++
	return p.AppendHeaders(b.data)
}

// finish completes the packet that begin started: data is the buffer with headers and payload, to
// which finish appends padding and ICRC.
func (o *outbox) finish(data []byte, p *ib.Packet) {
	b := o.buf
	for range p.BTH.PadCount {
		data = append(data, 0)
	}
	o.flow.ID = 0
	if o.numbered {
		o.flow.ID = uint16(b.count - 1)
	}
	packet := data[len(b.data):]
	b.data = binary.LittleEndian.AppendUint32(data, o.flow.ICRC(packet))
	e := &b.list[len(b.list)-1]
	e.Data = b.data[b.start:]
	if len(b.data) >= flushAt {
		o.flush()
	}
}

// abandon discards the packet that begin started.
func (o *outbox) abandon() {
	b := o.buf
	b.count--
	if b.count == 0 {
		b.list = b.list[:len(b.list)-1]
	}
	b.open = false
}

// flush sends all packets, or adds them to the backlog while the socket has no space. Packets that
// the socket rejects are lost, as if the network had dropped them, and will be retransmitted; the
// completion of a request that runs out of retries has the error.
func (o *outbox) flush() {
	b := o.buf
	if b == nil {
		return
	}
	o.buf, b.rest = nil, b.list
	if !o.blocked() && o.write(b) {
		b.recycle()
		return
	}
	o.backlog = append(o.backlog, b)
	o.qp.schedule()
}

// blocked reports whether packets wait for space in the socket. No lock is held while they wait,
// and the queue pair generates nothing more: its requests and responses stay where they are.
func (o *outbox) blocked() bool { return len(o.backlog) > 0 }

// resume sends the backlog, as far as there is space for it.
func (o *outbox) resume() {
	for len(o.backlog) > 0 {
		b := o.backlog[0]
		if !o.write(b) {
			o.qp.schedule()
			return
		}
		o.backlog = slices.Delete(o.backlog, 0, 1)
		b.recycle()
	}
}

// write sends what is left of a buffer, and reports whether nothing remains to be sent.
func (o *outbox) write(b *sendBuffer) bool {
	conn, length := o.conn, len(b.rest)
	rest, err := conn.Write(b.rest)
	if errors.Is(err, udpio.ErrNoSegmentation) {
		b.rest = rest
		b.clearIDs()
		rest, err = conn.Write(rest)
	}
	if err != nil {
		o.qp.e.stats.countWriteError(err)
		o.qp.req.unsent = err
		return true
	}
	b.rest = rest
	if len(rest) < length {
		o.qp.e.written.Add(1)
	}
	return len(rest) == 0
}

// recycle returns a buffer to the pool.
func (b *sendBuffer) recycle() {
	*b = sendBuffer{data: b.data[:0], list: b.list[:0]}
	sendBuffers.Put(b)
}

// clearIDs recomputes the ICRC of all packets for identification 0. It is called at most once per
// connection, when the kernel turns out not to support segmentation offload.
func (b *sendBuffer) clearIDs() {
	b.flow.ID = 0
	for i := range b.rest {
		e := &b.rest[i]
		e.Numbered = false
		for at := e.Segment; at < len(e.Data); at += e.Segment { // the first one already has 0
			packet := e.Data[at:min(at+e.Segment, len(e.Data))]
			end := len(packet) - rocev2.ICRCLen
			binary.LittleEndian.PutUint32(packet[end:], b.flow.ICRC(packet[:end]))
		}
	}
}
