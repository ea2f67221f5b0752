package kernel

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"syscall"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/netprobe"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// roce sends packets of RoCE v2 to the peer of a probe. Port 4791 of this node belongs to the card
// or to the kernel, so a program receives no answers to those that it sends itself, only ICMP
// errors. So it sends datagrams first, and then lets the kernel's connection manager ask.
//
// If a filter of this node drops packets of a software device, nothing is asked: Linux 6.1 then
// waits for ever for the end of the question (cm_destroy_id_wait_timeout in its log).
func (source ProbeSource) roce(ctx context.Context, software bool, p *facts.Probe) {
	r := p.RoCE
	rejection, err := rejectedRoCE(ctx, p)
	switch {
	case errors.Is(err, netprobe.ErrFiltered):
		if r.Filtered = true; software {
			return
		}
	case err != nil:
		r.Error = err.Error()
	case rejection != nil:
		r.RejectedBy, r.ICMPType, r.ICMPCode = rejection.By, rejection.Type, rejection.Code
	}
	r.Answered, err = source.Ask(ctx, r.Device, p.Source, p.Peer)
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	if err != nil && (!ok || !timeout.Timeout()) {
		r.AskError = err.Error()
	}
}

// rejectedRoCE sends datagrams with a message of RoCE v2 from ports of connections.
func rejectedRoCE(ctx context.Context, p *facts.Probe) (rejection *netprobe.Rejection, err error) {
	const ports = 3 // another program may have one
	for range ports {
		from := netip.AddrPortFrom(p.Source, rocev2.SourcePort(rand.Uint32()))
		to := netip.AddrPortFrom(p.Peer, rocev2.Port)
		rejection, err = netprobe.Rejected(ctx, p.Netdev, from, to, endOfNone(from, to))
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return rejection, err
}

// endOfNone returns a datagram of RoCE v2 to QP 1: a request to end a connection that doesn't
// exist (X
// Specification, section 12.6.10; kernel: cm_dreq_handler in drivers/infiniband/core/cm.c).
func endOfNone(from, to netip.AddrPort) []byte {
	message := mad.DREQ{
		Header:      mad.NewCM(mad.AttributeDREQ, rand.Uint64()>>32),
		LocalCommID: rand.Uint32(), RemoteCommID: rand.Uint32(), RemoteQPN: 1,
	}
	packet := ib.Packet{
		BTH:     ib.BTH{Opcode: ib.OpcodeUDSendOnly, MigReq: true, PKey: ib.PKeyDefault, DestQP: 1},
		DETH:    ib.DETH{QKey: mad.QKeyGSI, SrcQP: 1},
		Payload: message.Append(nil),
	}
	flow := rocev2.Flow{
		Source: ib.GIDFromAddr(from.Addr()), Destination: ib.GIDFromAddr(to.Addr()), SourcePort: from.Port(),
		DestinationPort: to.Port(), DontFragment: true,
	}
	return flow.AppendICRC(packet.Append(nil))
}
