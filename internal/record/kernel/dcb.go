package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/dcbnl"
	"github.com/rdmakit/rdmakit/inventory"
)

// dcbQuery asks for the settings of one network device.
type dcbQuery func(ctx context.Context, netdev string) (dcbnl.State, error)

// dcb asks for priorities and flow control of the network devices of RDMA ports.
func dcb(now func() time.Time) facts.Collector {
	var kernel dcbnl.Client
	return facts.Collector{
		Kind: facts.KindDCB, Source: "dcbnl: RTM_GETDCB", Cost: "two messages for each network device of an RDMA port",
		Collect: func(ctx context.Context, s *inventory.Snapshot, f *facts.Facts) {
			f.DCB = facts.Read(now, func() ([]facts.DCB, error) { return readDCB(ctx, s, kernel.Query) })
		},
	}
}

// readDCB returns the settings of the devices whose drivers have DCB.
func readDCB(ctx context.Context, s *inventory.Snapshot, query dcbQuery) ([]facts.DCB, error) {
	netdevs := dcbNetdevs(s)
	if len(netdevs) == 0 {
		return nil, facts.Absent("no RDMA port has an Ethernet network device")
	}
	var out []facts.DCB
	var failed error
	denied := 0
	for _, name := range netdevs {
		state, err := query(ctx, name)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			continue
		case errors.Is(err, os.ErrPermission):
			denied++
		case err != nil && state.PFC == nil && state.ETS == nil && state.DCBX == nil:
			failed = errors.Join(failed, err)
		}
		out = append(out, dcbFacts(name, state, err))
	}
	switch {
	case len(out) == 0:
		return nil, facts.Absent("no driver of the RDMA ports' network devices has DCB (%s)", netdevs[0])
	case denied == len(out):
		return nil, facts.Denied("priorities and flow control: %s", out[0].Denied[0])
	case failed != nil && !slices.ContainsFunc(out, func(d facts.DCB) bool { return len(d.Errors) == 0 }):
		return nil, fmt.Errorf("priorities and flow control: %w", failed)
	}
	return out, nil
}

// dcbNetdevs returns the names of the Ethernet devices that RDMA ports use. Of a bond it returns
// the members, which have the settings.
func dcbNetdevs(s *inventory.Snapshot) []string {
	var names []string
	for _, p := range s.Ports() {
		n := s.Netdev(p.Netdev)
		if n == nil || n.Type != inventory.ARPHRDEther {
			continue
		}
		for _, name := range n.Connectors() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// dcbFacts converts what the kernel answered.
func dcbFacts(name string, s dcbnl.State, err error) facts.DCB {
	d := facts.DCB{
		Netdev: name, DCBX: s.DCBX, PFC: pfcFacts(s.PFC), PeerPFC: pfcFacts(s.PeerPFC),
		ETS: etsFacts(s.ETS), PeerETS: etsFacts(s.PeerETS),
	}
	for _, a := range s.Apps {
		d.Apps = append(d.Apps, facts.DCBApp{Selector: a.Selector, Protocol: a.Protocol, Priority: a.Priority})
	}
	for _, a := range s.PeerApps {
		d.PeerApps = append(d.PeerApps, facts.DCBApp{Selector: a.Selector, Protocol: a.Protocol, Priority: a.Priority})
	}
	if b := s.Buffer; b != nil {
		d.Buffer = &facts.Buffer{Priority: b.Priority, Bytes: b.Bytes, Total: b.Total}
	}
	switch {
	case errors.Is(err, os.ErrPermission):
		d.Denied = append(d.Denied, err.Error())
	case err != nil:
		d.Errors = append(d.Errors, err.Error())
	}
	return d
}

func pfcFacts(p *dcbnl.PFC) *facts.PFC {
	if p == nil {
		return nil
	}
	return &facts.PFC{
		Enabled: p.Enabled, Capacity: p.Capacity, Delay: p.Delay, Requests: p.Requests, Indications: p.Indications,
	}
}

func etsFacts(e *dcbnl.ETS) *facts.ETS {
	if e == nil {
		return nil
	}
	return &facts.ETS{
		Willing: e.Willing != 0, PriorityTC: e.PriorityClass, Bandwidth: e.TxBandwidth, Algorithm: e.Algorithm,
	}
}
