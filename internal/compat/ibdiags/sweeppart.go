package ibdiags

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// part sweeps the neighbourhood of one node: up to maxHops, in C's order and with C's count of
// hops.
func (r *run) part(ctx context.Context, start mad.Path, maxHops int) (*subnet, error) {
	asked := &asking{ctx: ctx, r: r, nodes: map[ib.GUID]*fabric.Node{}, most: maxPartPorts}
	s := newScan(asked, start)
	s.maxHops = maxHops
	s.run()
	if s.origin == nil {
		return nil, errors.Join(context.Cause(ctx), asked.first)
	}
	return s.finish(), context.Cause(ctx)
}

// asking is a source that sends one request after the other.
type asking struct {
	ctx   context.Context //nolint:containedctx // it lives as long as the scan
	r     *run
	nodes map[ib.GUID]*fabric.Node
	ports int   // total of all nodes
	most  int   // limit of ports
	first error // the first request without an answer
	// stopped is true if no more requests are sent.
	stopped bool
}

// stop makes the rest of the scan send no requests.
func (a *asking) stop(why error) {
	if !a.stopped {
		a.stopped = true
		a.r.errorf("%s: %v\n", a.r.Name, why)
	}
}

func (a *asking) ask(path mad.Path, attribute mad.Attribute, modifier uint32) []byte {
	if a.stopped || a.ctx.Err() != nil {
		return nil
	}
	data, err := a.r.client.SMP(a.ctx, fabric.Target{Path: path}, mad.MethodGet, attribute, modifier, nil)
	if err != nil {
		if a.first == nil {
			a.first = err
		}
		a.r.errorf("%s: %v\n", a.r.Name, err)
		return nil
	}
	return data
}

// maxPorts is the highest port number. maxPartPorts is the largest total of ports in a part, enough
// for 16,384 nodes with 64 ports, so that a fabric with invalid answers can't extend the scan
// without end.
const (
	maxPorts     = 254
	maxPartPorts = 1 << 20
)

func (a *asking) nodeInfo(_ *subnetNode, _ uint8, path mad.Path) (info mad.NodeInfo, ok bool) {
	data := a.ask(path, mad.AttributeNodeInfo, 0)
	if data == nil {
		return info, false
	}
	info.Decode(data) //nolint:errcheck // the client has the length
	if info.NumPorts > maxPorts || info.LocalPortNum > info.NumPorts || info.NodeGUID.IsZero() {
		a.r.errorf("%s: invalid node info from path %s\n", a.r.Name, path)
		return info, false
	}
	if a.nodes[info.NodeGUID] == nil {
		if a.ports += int(info.NumPorts) + 1; a.ports > a.most {
			a.stop(fmt.Errorf("the nodes have more than %d ports", a.most))
			return info, false
		}
	}
	return info, true
}

func (a *asking) node(info *mad.NodeInfo, path mad.Path) *fabric.Node {
	n := &fabric.Node{Info: *info, Path: path, Ports: make([]fabric.Port, int(info.NumPorts)+1)}
	if data := a.ask(path, mad.AttributeNodeDescription, 0); data != nil {
		n.Description.Decode(data) //nolint:errcheck // the client has the length
	}
	if n.IsSwitch() {
		if data := a.ask(path, mad.AttributeSwitchInfo, 0); data != nil {
			n.Switch = new(mad.SwitchInfo)
			n.Switch.Decode(data) //nolint:errcheck // the client has the length
		}
	}
	a.nodes[n.GUID()] = n
	return n
}

func (a *asking) portInfo(n *fabric.Node, number uint8, path mad.Path) bool {
	data := a.ask(path, mad.AttributePortInfo, uint32(number))
	if data == nil {
		return false
	}
	p := &n.Ports[number]
	p.Info.Decode(data) //nolint:errcheck // the client has the length
	p.Known, p.GUID = true, n.Info.PortGUID
	return true
}

// errNoRoute is the cause if forwarding tables don't lead to a LID.
var errNoRoute = errors.New("forwarding tables have no route to it")

// routeTo follows the forwarding tables from the local port to a LID, and returns the directed
// route to that LID.
func (r *run) routeTo(ctx context.Context, lid ib.LID) (mad.Path, error) {
	var path mad.Path
	for path.Len() < mad.MaxHops {
		data, err := r.client.SMP(ctx, fabric.Target{Path: path}, mad.MethodGet, mad.AttributeNodeInfo, 0, nil)
		if err != nil {
			return path, err
		}
		var info mad.NodeInfo
		info.Decode(data) //nolint:errcheck // the client has the length
		isSwitch := info.NodeType == mad.NodeTypeSwitch
		via := info.LocalPortNum
		if isSwitch {
			via = 0
		}
		here := fabric.Target{Path: path}
		data, err = r.client.SMP(ctx, here, mad.MethodGet, mad.AttributePortInfo, uint32(via), nil)
		if err != nil {
			return path, err
		}
		var port mad.PortInfo
		port.Decode(data) //nolint:errcheck // the client has the length
		if first := port.LID; first != 0 && lid >= first && int(lid) < int(first)+1<<port.LMC {
			return path, nil
		}
		switch {
		case isSwitch:
			if via, err = r.forward(ctx, path, lid); err != nil {
				return path, err
			}
		case path.Len() > 0:
			return path, fmt.Errorf("route to LID %d ends at %s: %w", uint16(lid), path, errNoRoute)
		}
		if path, err = path.Extend(via); err != nil {
			return path, err
		}
	}
	return path, fmt.Errorf("route to LID %d: %w", uint16(lid), errNoRoute)
}

// forward reads a switch's output port for a LID.
func (r *run) forward(ctx context.Context, path mad.Path, lid ib.LID) (uint8, error) {
	block, err := r.client.SMP(ctx, fabric.Target{Path: path}, mad.MethodGet, mad.AttributeLFT,
		uint32(lid)/mad.LFTBlockLen, nil)
	if err != nil {
		return 0, err
	}
	via := block[int(lid)%mad.LFTBlockLen]
	if via == mad.LFTPortNone || via == 0 {
		return 0, fmt.Errorf("route to LID %d ends at %s: %w", uint16(lid), path, errNoRoute)
	}
	return via, nil
}
