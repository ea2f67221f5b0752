package connectors

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// IWARP is a provider whose devices have the limits of iWARP: connections only, which nothing but
// the connection manager establishes; no immediate data and no atomics; a SEND without a receive
// request at the peer ends the connection; and the memory that a READ fills must be open to the
// peer's WRITE. The packets are those of the provider below.
type IWARP struct{ provider.Provider }

// Open implements [provider.Provider].
func (p IWARP) Open(ctx context.Context, name string) (provider.Device, error) {
	d, err := p.Provider.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	c, ok := d.(provider.Connector)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s has no connection manager", name), d.Close())
	}
	return &iwarpDevice{Device: d, connector: c}, nil
}

const notIWARP = provider.CapUC | provider.CapUD | provider.CapImmediate | provider.CapAtomics | provider.CapDrain

type iwarpDevice struct {
	provider.Device
	connector provider.Connector
}

// Capabilities implements [provider.Device].
func (d *iwarpDevice) Capabilities() provider.Capabilities {
	return d.Device.Capabilities() &^ notIWARP
}

// Counters implements [provider.CounterReader].
func (d *iwarpDevice) Counters() map[string]uint64 {
	if c, ok := d.Device.(provider.CounterReader); ok {
		return c.Counters()
	}
	return nil
}

// AllocatePD implements [provider.Device].
func (d *iwarpDevice) AllocatePD() (provider.ProtectionDomain, error) {
	pd, err := d.Device.AllocatePD()
	if err != nil {
		return nil, err
	}
	return &iwarpDomain{ProtectionDomain: pd, access: map[provider.MemoryRegion]provider.Access{}}, nil
}

type iwarpDomain struct {
	provider.ProtectionDomain
	mu     sync.Mutex
	access map[provider.MemoryRegion]provider.Access // of regions
}

// RegisterMemory implements [provider.ProtectionDomain].
func (d *iwarpDomain) RegisterMemory(buf []byte, o provider.MemoryOptions) (provider.MemoryRegion, error) {
	mr, err := d.ProtectionDomain.RegisterMemory(buf, o)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.access[mr] = o.Access
	return mr, nil
}

// CreateQP implements [provider.ProtectionDomain].
func (d *iwarpDomain) CreateQP(cfg provider.QPConfig) (provider.QueuePair, error) {
	if cfg.Type != provider.QPTypeRC {
		return nil, fmt.Errorf("create qp of type %v: %w", cfg.Type, provider.ErrNotSupported)
	}
	qp, err := d.ProtectionDomain.CreateQP(cfg)
	if err != nil {
		return nil, err
	}
	return &iwarpQP{qp, d}, nil
}

type iwarpQP struct {
	provider.QueuePair
	pd *iwarpDomain
}

// Modify implements [provider.QueuePair].
func (qp *iwarpQP) Modify(attr provider.QPAttributes) error {
	if attr.State == provider.QPStateRTR || attr.State == provider.QPStateRTS {
		return fmt.Errorf("modify qp to %v: only a connection manager does that: %w", attr.State,
			provider.ErrNotSupported)
	}
	return qp.QueuePair.Modify(attr)
}

// PostSend implements [provider.QueuePair].
func (qp *iwarpQP) PostSend(wrs []provider.SendRequest) (int, error) {
	qp.pd.mu.Lock()
	defer qp.pd.mu.Unlock()
	for i := range wrs {
		for _, segment := range wrs[i].Segments {
			if wrs[i].Op == provider.SendOpRead && qp.pd.access[segment.Region]&provider.AccessRemoteWrite == 0 {
				return 0, errors.New("post READ: the peer may not write to its memory")
			}
		}
	}
	return qp.QueuePair.PostSend(wrs)
}

// once has the options of a connection whose requests are not repeated if the peer isn't ready.
func once(o provider.ConnectOptions) provider.ConnectOptions {
	o.RNRRetry = 0
	return o
}

// below returns the queue pair of the provider below.
func below(qp provider.QueuePair) provider.QueuePair {
	if q, ok := qp.(*iwarpQP); ok {
		return q.QueuePair
	}
	return qp
}

// Dial implements [provider.Connector].
func (d *iwarpDevice) Dial(
	ctx context.Context, qp provider.QueuePair, addr netip.AddrPort, options provider.ConnectOptions,
) (provider.Connection, error) {
	return d.connector.Dial(ctx, below(qp), addr, once(options))
}

// Listen implements [provider.Connector].
func (d *iwarpDevice) Listen(
	ctx context.Context, addr netip.AddrPort, options provider.ListenOptions,
) (provider.Listener, error) {
	l, err := d.connector.Listen(ctx, addr, options)
	if err != nil {
		return nil, err
	}
	return iwarpListener{l}, nil
}

type iwarpListener struct{ provider.Listener }

// Next implements [provider.Listener].
func (l iwarpListener) Next(ctx context.Context) (provider.ConnectionRequest, error) {
	r, err := l.Listener.Next(ctx)
	if err != nil {
		return nil, err
	}
	return iwarpRequest{r}, nil
}

type iwarpRequest struct{ provider.ConnectionRequest }

// Accept implements [provider.ConnectionRequest].
func (r iwarpRequest) Accept(
	ctx context.Context, qp provider.QueuePair, options provider.ConnectOptions,
) (provider.Connection, error) {
	return r.ConnectionRequest.Accept(ctx, below(qp), once(options))
}
