// Package engines opens engines of RoCE v2 on a simulated network, for tests of programs that open
// their devices by name:
//
//	network := packetnet.New(packetnet.Faults{})
//	device, err := verbs.Open(ctx, "roce@10.0.0.1", engines.Provider{Network: network})
package engines

import (
	"context"
	"net/netip"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// Provider opens roce@ADDRESS for any address, of which the network needs to know nothing.
type Provider struct {
	Network *packetnet.Network
	MTU     ib.MTU // of the engines
}

// Name implements [provider.Provider].
func (Provider) Name() string { return "simulated" }

// Devices implements [provider.Provider]: there are none until they are opened.
func (Provider) Devices(context.Context) ([]provider.DeviceInfo, error) { return nil, nil }

// Open implements [provider.Provider].
func (p Provider) Open(_ context.Context, name string) (provider.Device, error) {
	addr, err := netip.ParseAddr(name[len(roce.Prefix):])
	if err != nil {
		return nil, err
	}
	conn, err := p.Network.Listen(netip.AddrPortFrom(addr, rocev2.Port))
	if err != nil {
		return nil, err
	}
	return roce.New(roce.Config{Name: name, Conn: conn, Addr: addr, MTU: p.MTU})
}
