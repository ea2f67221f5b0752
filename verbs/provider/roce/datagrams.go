package roce

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// addressHandle is a path for datagrams.
type addressHandle struct {
	pd     *domain
	path   provider.Path
	closed atomic.Bool
}

// CreateAddressHandle implements provider.AddressHandleCreator.
func (d *domain) CreateAddressHandle(port int, path provider.Path) (provider.AddressHandle, error) {
	err := d.e.checkPort(port)
	if err == nil {
		err = d.e.checkPath(&path)
	}
	d.e.mu.Lock()
	defer d.e.mu.Unlock()
	if err == nil && (d.closed || d.e.closed) {
		err = fmt.Errorf("protection domain: %w", provider.ErrClosed)
	}
	if err != nil {
		return nil, fmt.Errorf("create address handle of %s: %w", d.e.name, err)
	}
	d.users++
	return &addressHandle{pd: d, path: path}, nil
}

// Close implements provider.AddressHandle.
func (a *addressHandle) Close() error {
	a.pd.e.mu.Lock()
	defer a.pd.e.mu.Unlock()
	if !a.closed.Swap(true) {
		a.pd.users--
	}
	return nil
}

// destination is where a datagram goes.
type destination struct {
	handle *addressHandle
	qpn    ib.QPN
	qkey   uint32
}

// ownQKey is the bit of a Q_Key that stands for the one of the own queue pair (specification
// volume 1, section 10.2.5).
const ownQKey = 1 << 31

// checkDatagram returns the destination of a request.
func (qp *queuePair) checkDatagram(wr *provider.SendRequest, length int) (to destination, err error) {
	if wr.To == nil {
		return to, errors.New("the datagram has no destination (To)")
	}
	handle, ok := wr.To.Handle.(*addressHandle)
	switch {
	case wr.To.Handle == nil:
		return to, errors.New("the datagram has no address handle")
	case !ok || handle.pd != qp.pd:
		return to, errors.New("the address handle belongs to another protection domain")
	case wr.To.QPN > 1<<24-1:
		return to, fmt.Errorf("queue pair number %#x of the destination has more than 24 bits", uint32(wr.To.QPN))
	case handle.closed.Load():
		return to, fmt.Errorf("address handle: %w", provider.ErrClosed)
	case length > int(qp.e.mtu):
		return to, fmt.Errorf("%d bytes, and a datagram has at most %d", length, qp.e.mtu)
	}
	to = destination{handle, wr.To.QPN, wr.To.QKey}
	if to.qkey&ownQKey != 0 {
		to.qkey = qp.attr.QKey
	}
	return to, nil
}

// sendDatagram sends the request at next. It reports false if the local memory region has been
// closed.
func (qp *queuePair) sendDatagram(s *sendEntry) bool {
	op := ib.OpcodeUDSendOnly
	if s.request.Op == provider.SendOpSendImmediate {
		op = ib.OpcodeUDSendOnlyImmediate
	}
	p := ib.Packet{
		BTH: qp.header(op, qp.req.psn, s.length), DETH: ib.DETH{QKey: s.to.qkey, SrcQP: qp.qpn},
		ImmDt: s.request.Immediate,
	}
	p.BTH.DestQP = s.to.qpn
	p.BTH.Solicited = s.request.Flags&provider.SendSolicited != 0
	qp.tx.setPath(&s.to.handle.path)
	data, ok := s.appendTo(qp.tx.begin(&p, s.length), 0, s.length)
	if !ok {
		qp.tx.abandon()
		return false
	}
	qp.tx.finish(data, &p)
	qp.req.advance(1)
	return true
}

// handleDatagram stores a datagram in the oldest receive request, after 40 bytes for its Global
// Route Header. One that no request is there for, or that is too long for it, is dropped, as rxe
// does.
func (qp *queuePair) handleDatagram(p *ib.Packet, from *peer, trafficClass uint8) {
	if p.DETH.QKey != qp.attr.QKey {
		count(&qp.e.stats.BadQKey)
		return
	}
	r := &qp.resp
	length := ib.GRHLen + len(p.Payload)
	if !r.holding && !qp.takeReceive() || length > r.held.length {
		count(&qp.e.stats.Dropped)
		return
	}
	var header [ib.GRHLen]byte
	routeHeader(&header, &from.flow, trafficClass, len(p.Payload)+p.BTH.Opcode.HeaderLen()+int(p.BTH.PadCount))
	wc := provider.WorkCompletion{Op: provider.WCReceive, Bytes: uint32(length), SourceQPN: p.DETH.SrcQP}
	wc.Immediate, wc.Flags = immediate(p)
	wc.Flags |= provider.WCGRH
	if !scatter(r.held.segments, 0, header[:]) || !scatter(r.held.segments, ib.GRHLen, p.Payload) {
		wc = provider.WorkCompletion{Status: provider.WCLocalProtection}
	}
	qp.endReceive(wc, p.BTH.Solicited)
	if wc.Status != provider.WCSuccess {
		qp.fail()
	}
}

// routeHeader writes the IP header of a datagram as the receiver of a card finds it: that of IPv6
// in all 40 bytes, that of IPv4 in the last 20 (RoCE v2, annex A17.4.5.2; kernel:
// ib_get_gids_from_rdma_hdr). length is that of transport headers, payload and padding. A socket
// reports neither hop limit nor identification, which are 0.
func routeHeader(b *[ib.GRHLen]byte, f *rocev2.Flow, trafficClass uint8, length int) {
	length += udpHeaderLen + rocev2.ICRCLen
	if !f.IsIPv4() {
		b[0], b[1] = 6<<4|trafficClass>>4, trafficClass<<4
		b[4], b[5], b[6] = byte(length>>8), byte(length), protocolUDP
		copy(b[8:], f.Source[:])
		copy(b[24:], f.Destination[:])
		return
	}
	h := b[20:]
	length += len(h)
	h[0], h[1], h[2], h[3], h[6], h[9] = 4<<4|5, trafficClass, byte(length>>8), byte(length), 1<<6, protocolUDP
	copy(h[12:], f.Source[12:])
	copy(h[16:], f.Destination[12:])
	sum := uint32(0)
	for i := 0; i < len(h); i += 2 {
		sum += uint32(h[i])<<8 | uint32(h[i+1])
	}
	sum = sum>>16 + sum&0xffff
	sum = ^(sum>>16 + sum)
	h[10], h[11] = byte(sum>>8), byte(sum)
}

// Of the headers of UDP and IP.
const (
	udpHeaderLen = 8
	protocolUDP  = 17
)
