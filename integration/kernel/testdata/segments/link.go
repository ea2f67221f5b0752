package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// link is QP 1 of a RoCE address of this machine.
type link struct {
	conn  *udpio.Conn
	self  ib.GID
	out   *json.Encoder
	start time.Time
}

// report is a packet from the kernel.
type report struct {
	Packet  string // type of RMPP, or "query"
	Fault   fault
	TID     uint64
	Status  uint8
	Segment uint32
	Window  uint32 // PayloadLength or NewWindowLast
	Ms      int64  // since the start
}

func openLink(address string) (*link, error) {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return nil, err
	}
	conn, err := udpio.Listen(netip.AddrPortFrom(ip, rocev2.Port), udpio.Options{NoGSO: true, NoGRO: true})
	if err != nil {
		return nil, err
	}
	return &link{
		conn: conn, self: ib.GIDFromAddr(ip.WithZone("")), out: json.NewEncoder(os.Stdout), start: time.Now(),
	}, nil
}

// poll passes the messages that have arrived to a function, and reports whether there were any.
func (l *link) poll(take func(from netip.AddrPort, m *mad.SA) error) (bool, error) {
	var failed error
	some, err := l.conn.Poll(func(list []udpio.Inbound) {
		for i := range list {
			from := list[i].From
			m, err := l.decode(list[i].Data, from)
			if err == nil {
				err = take(netip.AddrPortFrom(from.Addr(), rocev2.Port), m)
			}
			failed = errors.Join(failed, err)
		}
	})
	return some, errors.Join(err, failed)
}

// decode checks a packet and prints its report.
func (l *link) decode(b []byte, from netip.AddrPort) (*mad.SA, error) {
	flow := rocev2.Flow{
		Source: ib.GIDFromAddr(from.Addr().WithZone("")), Destination: l.self,
		SourcePort: from.Port(), DestinationPort: rocev2.Port,
	}
	if len(b) < ib.BTHLen+rocev2.ICRCLen || flow.Check(b) != 0 {
		return nil, fmt.Errorf("packet with a wrong ICRC: %x", b)
	}
	var p ib.Packet
	if _, err := p.Decode(b[:len(b)-rocev2.ICRCLen]); err != nil {
		return nil, err
	}
	if p.BTH.Opcode != ib.OpcodeUDSendOnly || p.BTH.DestQP != 1 || p.DETH.QKey != mad.QKeyGSI ||
		len(p.Payload) != mad.Len {
		return nil, fmt.Errorf("packet that is no message for QP 1: %x", b)
	}
	var m mad.SA
	m.Decode(p.Payload) //nolint:errcheck // long enough
	r := report{
		Packet: "query", Fault: fault(m.AttributeModifier), TID: m.TransactionID,
		Ms: time.Since(l.start).Milliseconds(),
	}
	if m.RMPP.Flags&mad.RMPPActive != 0 {
		r.Packet, r.Status = m.RMPP.Type.String(), uint8(m.RMPP.Status)
		r.Segment, r.Window = m.RMPP.SegmentNumber, m.RMPP.PayloadLength
	}
	return &m, l.out.Encode(r)
}

// send sends a message to QP 1 of a peer.
func (l *link) send(to netip.AddrPort, message []byte) error {
	p := ib.Packet{
		BTH:  ib.BTH{Opcode: ib.OpcodeUDSendOnly, MigReq: true, PKey: ib.PKeyDefault, DestQP: 1},
		DETH: ib.DETH{QKey: mad.QKeyGSI, SrcQP: 1},
	}
	flow := rocev2.Flow{
		Source: l.self, Destination: ib.GIDFromAddr(to.Addr().WithZone("")),
		SourcePort: rocev2.Port, DestinationPort: rocev2.Port,
	}
	b := append(p.AppendHeaders(nil), message...)
	b = binary.LittleEndian.AppendUint32(b, flow.ICRC(b))
	rest, err := l.conn.Write([]udpio.Outbound{{Data: b, To: to, HopLimit: 64}})
	for err == nil && len(rest) > 0 {
		if err = l.conn.WaitWritable(); err == nil {
			rest, err = l.conn.Write(rest)
		}
	}
	return err
}
