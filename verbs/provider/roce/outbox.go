package roce

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// outbox collects packets of one queue pair and sends them with as few calls as possible: packets
// of equal length, and one shorter packet after them, are passed to the kernel as one buffer
// (UDP segmentation offload).
type outbox struct {
	qp   *queuePair
	flow rocev2.Flow
	to   netip.AddrPort
	buf  *sendBuffer // nil while there is nothing to send
	// numbered reports whether the kernel writes the index of a packet within its entry into
	// the IPv4 identification; otherwise the identification is 0.
	numbered bool
}

// sendBuffer holds the packets that the next flush sends.
type sendBuffer struct {
	data  []byte
	list  []udpio.Outbound
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

func (o *outbox) init(qp *queuePair, flow rocev2.Flow) {
	o.qp, o.flow = qp, flow
	o.to = netip.AddrPortFrom(flow.Destination.Addr(), rocev2.Port)
}

// begin writes the headers of a packet and returns the buffer. The caller appends the payload and
// calls finish.
func (o *outbox) begin(p *ib.Packet, payload int) []byte {
	if o.buf == nil {
		o.buf, _ = sendBuffers.Get().(*sendBuffer)
		o.numbered, _ = o.qp.e.conn.Offload()
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
		path := &o.qp.attr.Path
		b.list = append(b.list, udpio.Outbound{
			Segment: length, To: o.to, Numbered: o.numbered, TrafficClass: path.TrafficClass, HopLimit: path.HopLimit,
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

// flush sends all packets. Packets that the socket doesn't accept are lost, as if the network had
// dropped them, and will be retransmitted; the completion of a request that runs out of retries has
// the error.
func (o *outbox) flush() {
	b := o.buf
	if b == nil {
		return
	}
	if len(b.list) > 0 {
		err := o.qp.e.conn.Write(b.list)
		if errors.Is(err, udpio.ErrNoSegmentation) {
			o.clearIDs()
			err = o.qp.e.conn.Write(b.list)
		}
		if err != nil {
			o.qp.e.stats.countWriteError(err)
			o.qp.req.unsent = err
		}
	}
	*b = sendBuffer{data: b.data[:0], list: b.list[:0]}
	sendBuffers.Put(b)
	o.buf = nil
}

// clearIDs recomputes the ICRC of all packets for identification 0. It is called at most once per
// connection, when the kernel turns out not to support segmentation offload.
func (o *outbox) clearIDs() {
	o.flow.ID = 0
	for i := range o.buf.list {
		e := &o.buf.list[i]
		e.Numbered = false
		for at := e.Segment; at < len(e.Data); at += e.Segment { // the first one already has 0
			packet := e.Data[at:min(at+e.Segment, len(e.Data))]
			end := len(packet) - rocev2.ICRCLen
			binary.LittleEndian.PutUint32(packet[end:], o.flow.ICRC(packet[:end]))
		}
	}
}
