package hosts

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch/consensus"
	"github.com/rdmakit/rdmakit/launch/consensus/inputs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Host is a digest of a snapshot: its InfiniBand ports.
type Host struct {
	// Name is the host name; the name of the file if that isn't known.
	Name   string
	Source string // file or directory
	Ports  []Port // in the order of the snapshot
	// unnamed reports that the snapshot has no host name.
	unnamed bool
	compute int // compute ports, in use or not
	node    *consensus.Node
}

// Port is an InfiniBand port of a host.
type Port struct {
	Device string // RDMA device; for a port of an SMI device the one whose planes that manages
	Number int    // from 1
	// Plane is the number of the port of an SMI device, 0 for other devices.
	Plane      int
	PCIAddress string
	PortGUID   ib.GUID // zero if unknown
	NodeGUID   ib.GUID // of the device that has the port
	SystemGUID ib.GUID // of the card
	LID        ib.LID
	Prefix     ib.SubnetPrefix // valid if SMLID isn't 0
	SMLID      ib.LID
	State      string // ACTIVE, DOWN (Polling) …
	Up         bool   // State is ACTIVE
	// Function is "virtual function" or "sub-function", "" for a physical function: the subnet
	// doesn't see ports of functions.
	Function string
	rail     *int // of the inventory
}

// Read reads the hosts of files, directories and standard input: all that a comparison of nodes
// reads, in the order of the names, and the inputs that are no nodes.
func Read(ctx context.Context, f inputs.Files, opts consensus.Options) ([]*Host, []consensus.Unreadable, error) {
	return inputs.Read(ctx, f, func(source string, snap inventory.Snapshot) (*Host, error) {
		return NewHost(source, snap, opts)
	})
}

// NewHost returns the digest of a snapshot. The source is its origin, for the report. The error
// matches launch.ErrOptions.
func NewHost(source string, snap inventory.Snapshot, opts consensus.Options) (*Host, error) {
	if len(opts.Roles) > 0 {
		inventory.AssignRoles(&snap, opts.Roles)
	}
	node, err := consensus.NewNode(source, snap, opts)
	if err != nil {
		return nil, err
	}
	h := &Host{Name: strings.Clone(snap.Host.Name), Source: source, node: node}
	if h.Name == "" || h.Name == "(none)" {
		h.Name, h.unnamed = fileName(source), true
	}
	for d, p := range snap.Ports() {
		if p.Role == inventory.RoleCompute {
			h.compute++
		}
		if p.LinkLayer == inventory.LinkLayerInfiniBand {
			h.Ports = append(h.Ports, newPort(d, p))
		}
	}
	return h, nil
}

// fileName returns the name of a file without folders and the endings of recordings.
func fileName(source string) string {
	name := filepath.Base(source)
	for _, ending := range []string{".tar.gz", ".tgz", ".json", ".tree", ".txt"} {
		if short := strings.TrimSuffix(name, ending); short != name && short != "" {
			return short
		}
	}
	return name
}

func newPort(d *inventory.Device, p *inventory.Port) Port {
	out := Port{
		Device: strings.Clone(d.Name), Number: p.Number, NodeGUID: deref(d.NodeGUID), SystemGUID: deref(d.SystemGUID),
		PortGUID: deref(p.PortGUID()), LID: deref(p.LID), SMLID: deref(p.SMLID),
		State: stateText(p), Up: p.State == inventory.PortStateActive,
	}
	if p.Fabric != nil {
		out.Prefix, out.SMLID = p.Fabric.SubnetPrefix, p.Fabric.SMLID
	}
	if p.Rail != nil {
		out.rail = new(*p.Rail)
	}
	if d.PCI != nil {
		out.PCIAddress = strings.Clone(d.PCI.Address)
	}
	switch {
	case d.SMIOf != "":
		out.Device, out.Plane, out.Number = strings.Clone(d.SMIOf), p.Number, 1
	case d.VF != nil && d.VF.SubFunction:
		out.Function = "sub-function"
	case d.VF != nil:
		out.Function = "virtual function"
	}
	if d.VF != nil && out.PCIAddress == "" {
		out.PCIAddress = strings.Clone(d.VF.ParentAddress)
	}
	return out
}

// subnetNumber returns the number of the port in the subnet.
func (p *Port) subnetNumber() int { return cmp.Or(p.Plane, p.Number) }

// unknownState is Port.State if it was not recorded.
const unknownState = "unknown"

func stateText(p *inventory.Port) string {
	if p.State == inventory.PortStateNoChange {
		return unknownState
	}
	text := p.State.String()
	if p.State != inventory.PortStateActive && p.PhysState != 0 {
		text = fmt.Sprintf("%s (%v)", text, p.PhysState)
	}
	return text
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
