package roce

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/rdmakit/rdmakit/cm"
	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// gsiQPN is the number of the queue pair for management messages, the general services interface.
// It is none of the program's: its messages go to the communication manager.
const gsiQPN = ib.QPN(1)

// newAgent returns the communication manager of an engine.
func (e *Engine) newAgent() (*cm.Agent, error) {
	return cm.New(cm.Config{
		Name: e.name, Addr: e.addr, MTU: e.mtu, MaxReads: maxReads, Send: e.sendMessage, Clock: e.clock, Rand: e.rand,
	})
}

// Listen implements [provider.Connector].
func (e *Engine) Listen(
	ctx context.Context, addr netip.AddrPort, options provider.ListenOptions,
) (provider.Listener, error) {
	addr, err := e.onLink(addr)
	if err != nil {
		return nil, err
	}
	return e.agent.Listen(ctx, addr, options)
}

// Dial implements [provider.Connector].
func (e *Engine) Dial(
	ctx context.Context, qp provider.QueuePair, addr netip.AddrPort, options provider.ConnectOptions,
) (provider.Connection, error) {
	addr, err := e.onLink(addr)
	if err != nil {
		return nil, err
	}
	options.Local = options.Local.WithZone("")
	return e.agent.Dial(ctx, qp, addr, options)
}

// onLink returns an address without its zone, which no message has. The zone must be that of the
// engine, whose socket sends to no other link; the address may leave it out.
func (e *Engine) onLink(addr netip.AddrPort) (netip.AddrPort, error) {
	ip := addr.Addr()
	zone := ip.Zone()
	if index, err := strconv.Atoi(zone); err == nil {
		if dev, err := net.InterfaceByIndex(index); err == nil {
			zone = dev.Name
		}
	}
	switch {
	case e.zone == "" && e.addr.Is6() && ip.Is6() && ip.IsLinkLocalUnicast():
		return addr, fmt.Errorf("%v is a link-local address, and %v, the address of %s, is none", ip, e.addr, e.name)
	case zone != "" && zone != e.zone && e.addr.Is6():
		return addr, fmt.Errorf("%v is on another link than %s, whose address is on %s", ip, e.name, e.zone)
	}
	return netip.AddrPortFrom(ip.WithZone(""), addr.Port()), nil
}

// handleMessage passes a datagram for QP 1 to the communication manager. k and in are those of
// datagram.
func (e *Engine) handleMessage(one []byte, k int, in *udpio.Inbound, p *ib.Packet) {
	if !e.peerAt(in.From.Addr()).verifyICRC(one, k, in.From.Port(), true) {
		count(&e.stats.BadICRC)
		return
	}
	_, err := p.Decode(one[:len(one)-rocev2.ICRCLen])
	switch {
	case err != nil, p.BTH.Opcode != ib.OpcodeUDSendOnly, p.BTH.PKey&0x7fff != 0x7fff, len(p.Payload) != mad.Len:
		count(&e.stats.Malformed)
	case p.DETH.QKey != mad.QKeyGSI:
		count(&e.stats.BadQKey)
	default:
		e.agent.Receive(in.From.Addr(), p.Payload)
	}
}

// sendMessage sends a message from QP 1 to QP 1 of a peer. It is lost if the socket has no space.
func (e *Engine) sendMessage(to netip.Addr, message []byte) {
	p := ib.Packet{
		BTH:  ib.BTH{Opcode: ib.OpcodeUDSendOnly, MigReq: true, PKey: ib.PKeyDefault, DestQP: gsiQPN},
		DETH: ib.DETH{QKey: mad.QKeyGSI, SrcQP: gsiQPN},
	}
	flow := rocev2.Flow{
		Source: e.gid, Destination: ib.GIDFromAddr(to), SourcePort: rocev2.Port, DestinationPort: rocev2.Port,
		DontFragment: true,
	}
	b := append(p.AppendHeaders(make([]byte, 0, 2*mad.Len)), message...)
	b = binary.LittleEndian.AppendUint32(b, flow.ICRC(b))
	list := []udpio.Outbound{{Data: b, To: netip.AddrPortFrom(to, rocev2.Port), HopLimit: hopLimit}}
	if _, err := e.conn.Write(list); err != nil {
		e.stats.countWriteError(err)
	}
}

// hopLimit is that of messages.
const hopLimit = 64
