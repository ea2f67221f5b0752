package ibdiags

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// branch is a node that a multicast reaches.
type branch struct {
	tracedPort
	path mad.Path
	up   *branch
	out  int // the output port of the previous node
	in   int // the port by which the multicast enters
}

// errNoMulticast is the cause if the tables lead only to other ports.
var errNoMulticast = errors.New("the multicast forwarding tables don't reach that port")

// multicastRoute follows a multicast from the end of a directed route, level by level, until it
// reaches a port (C twin: find_mcpath).
func (t *trace) multicastRoute(ctx context.Context, path mad.Path, to address) error {
	if t.mlid < uint32(mad.MulticastLIDBase) || t.mlid > 0xfffe {
		return fmt.Errorf("0x%x is not a multicast LID, from 0x%x to 0xfffe", t.mlid, uint16(mad.MulticastLIDBase))
	}
	target, err := t.look(ctx, to)
	if err != nil {
		return err
	}
	root, err := t.look(ctx, directed(path))
	if err != nil {
		return err
	}
	start := &branch{tracedPort: root, path: path}
	if root.guid == target.guid {
		return t.multicastToSelf(ctx, start)
	}
	seen := map[uint64]bool{root.nodeGUID(): true}
	for level := []*branch{start}; len(level) > 0; {
		var next []*branch
		for _, from := range slices.Backward(level) { // C takes the last one first
			ends, err := t.spread(ctx, from)
			if err != nil {
				return err
			}
			for _, b := range ends {
				if b.guid == target.guid {
					t.end(min(t.verbose, full), "found target", &b.tracedPort)
					t.printBranch(b, true)
					return nil
				}
				switch {
				case !seen[b.nodeGUID()]:
					seen[b.nodeGUID()] = true
					next = append(next, b)
					t.end(min(t.verbose, full), "new remote", &b.tracedPort)
				case b.isSwitch():
					t.end(full, "ERR: circle discovered at", &b.tracedPort)
				}
			}
		}
		level = next
	}
	return errNoMulticast
}

// multicastToSelf traces from a port to itself, which is possible for a switch whose table entry
// includes port 0.
func (t *trace) multicastToSelf(ctx context.Context, b *branch) error {
	t.end(min(t.verbose, full), "found target", &b.tracedPort)
	if !b.isSwitch() {
		return errors.New("a trace from a CA to itself is unsupported")
	}
	ports, err := t.multicastPorts(ctx, b)
	if err != nil {
		return err
	}
	if len(ports) == 0 || ports[0] != 0 {
		return errNoMulticast
	}
	t.printBranch(b, true)
	return nil
}

// spread returns the nodes to which a node forwards a multicast.
func (t *trace) spread(ctx context.Context, b *branch) ([]*branch, error) {
	t.end(min(t.verbose, full), "processing", &b.tracedPort)
	if !b.isSwitch() {
		if b.up != nil {
			return nil, nil
		}
		return t.leaveFirst(ctx, b)
	}
	ports, err := t.multicastPorts(ctx, b)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		t.warn("find_mcpath", "skipping bad Switch 0x%x: %v", b.nodeGUID(), err)
		return nil, nil
	}
	var list []*branch
	for _, number := range ports {
		if number == 0 || number == b.in {
			continue
		}
		info, err := t.portInfo(ctx, directed(b.path), uint32(number)) //nolint:gosec // a port's number
		if err != nil {
			return nil, err
		}
		if info.PortPhysicalState != mad.PortPhysicalStateLinkUp {
			continue
		}
		path, err := b.path.Extend(uint8(number)) //nolint:gosec // a port's number
		if err != nil {
			return nil, err
		}
		list, err = t.reach(ctx, list, b, path, number, 0)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// leaveFirst goes from the adapter where a multicast begins to its switch.
func (t *trace) leaveFirst(ctx context.Context, b *branch) ([]*branch, error) {
	ports := b.path.Ports()
	if len(ports) == 0 {
		path, err := b.path.Extend(uint8(b.number)) //nolint:gosec // a port's number
		if err != nil {
			return nil, err
		}
		return t.reach(ctx, nil, b, path, b.number, 0)
	}
	back, err := mad.NewPath(ports[:len(ports)-1]...)
	if err != nil {
		return nil, err
	}
	return t.reach(ctx, nil, b, back, b.number, int(ports[len(ports)-1]))
}

// reach adds the node at the end of a path; in is the port by which the multicast enters, 0 for the
// port that answered.
func (t *trace) reach(ctx context.Context, list []*branch, up *branch, path mad.Path, out, in int) ([]*branch, error) {
	p, err := t.look(ctx, directed(path))
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		t.warn("find_mcpath", "NodeInfo on port %d failed, skipping port: %v", out, err)
		return list, nil
	}
	if in == 0 {
		in = p.number
	}
	return append(list, &branch{tracedPort: p, path: path, up: up, out: out, in: in}), nil
}

// multicastPorts lists the output ports of a switch for the multicast.
func (t *trace) multicastPorts(ctx context.Context, b *branch) ([]int, error) {
	info, err := t.switchInfo(ctx, directed(b.path))
	if err != nil {
		return nil, err
	}
	entry := t.mlid - uint32(mad.MulticastLIDBase)
	if entry >= uint32(info.MulticastFDBCap) {
		return nil, fmt.Errorf("its multicast table has %d entries", info.MulticastFDBCap)
	}
	var ports []int
	for first := 0; first <= int(b.node.NumPorts); first += mad.MFTPortsPerPosition {
		//nolint:gosec // an entry is below 0x4000
		modifier := mad.MFTModifier(uint16(entry/mad.MFTBlockLen), uint8(first/mad.MFTPortsPerPosition))
		data, err := t.ask(ctx, directed(b.path), mad.AttributeMFT, modifier)
		if err != nil {
			return nil, err
		}
		var block mad.MFTBlock
		block.Decode(data) //nolint:errcheck // ask has the length
		for i := range mad.MFTPortsPerPosition {
			if block[entry%mad.MFTBlockLen]>>i&1 != 0 {
				ports = append(ports, first+i)
			}
		}
	}
	return ports, nil
}

// printBranch prints the path to a branch, beginning at the source.
func (t *trace) printBranch(b *branch, isTarget bool) {
	switch {
	case b.up != nil:
		t.printBranch(b.up, false)
		if t.format == simple {
			t.printf("[%d] -> %s {0x%016x}[%d]\n", b.out, b.kind(), b.nodeGUID(), b.in)
		} else {
			t.printf("[%d] -> %s 0x%x[%d] lid %d \"%s\"\n",
				b.out, b.kind(), b.nodeGUID(), b.in, b.lid, t.nameOf(&b.tracedPort))
		}
	case !isTarget:
		t.multicastEnd("From", b)
	}
	if isTarget {
		t.multicastEnd("To", b)
	}
}

func (t *trace) multicastEnd(prompt string, b *branch) {
	t.printf("%s %s 0x%x port %d lid %d-%d \"%s\"\n",
		prompt, b.kind(), b.nodeGUID(), b.number, b.lid, b.last, t.nameOf(&b.tracedPort))
}
