package checks

import (
	"cmp"
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// portFiles returns the pattern for a file in the directories of all ports, for Check.Reads.
func portFiles(name string) string { return "/" + sysfs.ClassInfiniBand + "/*/ports/*/" + name }

// deviceFiles returns the pattern for a file in the directories of all RDMA devices.
func deviceFiles(name string) string { return "/" + sysfs.ClassInfiniBand + "/*/" + name }

// netFiles returns the pattern for a file in the directories of all network devices.
func netFiles(name string) string { return "/" + sysfs.ClassNet + "/*/" + name }

// portRef is a port together with its device.
type portRef struct {
	dev  *inventory.Device
	port *inventory.Port
}

// ports iterates over all ports of a node, in order.
func ports(s *inventory.Snapshot) iter.Seq[portRef] {
	return func(yield func(portRef) bool) {
		for d, p := range s.Ports() {
			if !yield(portRef{d, p}) {
				return
			}
		}
	}
}

// ownPorts iterates over the ports that this node or container uses itself. It leaves out VFs whose
// PF is present, devices that belong to other containers, and representors.
func ownPorts(s *inventory.Snapshot) iter.Seq[portRef] {
	return func(yield func(portRef) bool) {
		for p := range ports(s) {
			if !p.handedOut(s) && !yield(p) {
				return
			}
		}
	}
}

// handedOut reports whether the port belongs to a virtual machine or another container.
func (p portRef) handedOut(s *inventory.Snapshot) bool { return s.OthersReason(p.dev, p.port) != "" }

// object names the port in a finding: "mlx5_0:1".
func (p portRef) object() string { return p.dev.Name + ":" + strconv.Itoa(p.port.Number) }

// evidence returns a value in a file of the port.
func (p portRef) evidence(file, value string) doctor.Evidence {
	return doctor.Evidence{Path: path.Join(p.port.Path, file), Value: value}
}

// stateEvidence returns the logical and the physical state as sysfs prints them: "1: DOWN".
func (p portRef) stateEvidence() []doctor.Evidence {
	ev := []doctor.Evidence{p.evidence("state", fmt.Sprintf("%d: %s", p.port.State, p.port.State))}
	if p.port.PhysState != inventory.PhysStateUnknown {
		ev = append(ev, p.evidence("phys_state", fmt.Sprintf("%d: %s", p.port.PhysState, p.port.PhysState)))
	}
	return ev
}

// active reports whether traffic can flow.
func (p portRef) active() bool { return p.port.UpOrDeferred() }

// carriesJobs reports whether jobs on this node are meant to use the port. A port of unknown or
// uncertain role is one of them if the node has no compute port, so that its faults are reported; a
// VF whose PF is present is not.
func (p portRef) carriesJobs(s *inventory.Snapshot) bool {
	switch p.port.Role {
	case inventory.RoleUnknown, inventory.RoleUncertain:
	default:
		return p.port.Role == inventory.RoleCompute
	}
	if p.handedOut(s) {
		return false
	}
	for q := range ports(s) {
		if q.port.Role == inventory.RoleCompute {
			return false
		}
	}
	return true
}

// noneOf returns why a check has nothing to judge: text, or that the node has no compute port.
func noneOf(s *inventory.Snapshot, text string) string {
	for p := range ports(s) {
		if p.port.Role == inventory.RoleCompute {
			return text
		}
	}
	return "the node has no compute port"
}

// kind describes a port that jobs don't use: "storage", "software", "spare".
func (p portRef) kind() string {
	switch {
	case p.port.Role == inventory.RoleUnused:
		return "spare"
	case p.port.Role != inventory.RoleUnknown:
		return string(p.port.Role)
	case p.dev.Software != "":
		return "software"
	}
	return "spare"
}

// roce reports whether the port uses RoCE, of any version.
func (p portRef) roce() bool {
	switch p.port.Transport {
	case inventory.TransportRoCE, inventory.TransportRoCEv1, inventory.TransportRoCEv2:
		return true
	}
	return false
}

// netdev returns the network device of the port, nil when none is visible.
func (p portRef) netdev(s *inventory.Snapshot) *inventory.Netdev {
	if p.port.Netdev == "" {
		return nil
	}
	return s.Netdev(p.port.Netdev)
}

// tool returns the device name for mlxlink and mstflint: the PCI address if it is known, because it
// works for every device name.
func (p portRef) tool() string {
	if p.dev.PCI != nil {
		return quote(p.dev.PCI.Address)
	}
	return quote(p.dev.Name)
}

// mellanox reports whether the card has NVIDIA's (Mellanox) PCI vendor ID, so that mlxlink and
// mstflint support it.
func mellanox(d *inventory.Device) bool { return d.PCI != nil && d.PCI.VendorID == 0x15b3 }

// netEvidence returns a value in a file of a network device.
func netEvidence(n *inventory.Netdev, file, value string) doctor.Evidence {
	return doctor.Evidence{Path: path.Join(n.Path, file), Value: value}
}

// inContainer reports whether the snapshot is of a container, where only the host can change links,
// addresses and limits.
func inContainer(s *inventory.Snapshot) bool { return s.Host.Container != nil }

// quote quotes a name for a shell.
func quote(name string) string { return doctor.Quote(name) }

// printable replaces what a terminal must not print.
func printable(text string) string { return doctor.Printable(text) }

// objects joins the names of ports; beyond the limit it counts them.
func objects(refs []portRef, limit int) string {
	names := make([]string, 0, len(refs))
	for i, r := range refs {
		if i == limit {
			names = append(names, fmt.Sprintf("and %d more", len(refs)-limit))
			break
		}
		names = append(names, r.object())
	}
	return strings.Join(names, ", ")
}

// group is a value and the items that have it.
type group[K cmp.Ordered, T any] struct {
	value   K
	members []T
}

// groupBy sorts items into groups, the largest first, then the highest value.
func groupBy[K cmp.Ordered, T any](items []T, key func(T) K) []group[K, T] {
	var groups []group[K, T]
	for _, it := range items {
		k := key(it)
		i := slices.IndexFunc(groups, func(g group[K, T]) bool { return g.value == k })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group[K, T]{value: k})
		}
		groups[i].members = append(groups[i].members, it)
	}
	slices.SortStableFunc(groups, func(a, b group[K, T]) int {
		return cmp.Or(cmp.Compare(len(b.members), len(a.members)), cmp.Compare(b.value, a.value))
	})
	return groups
}

// majority reports whether the first group is larger than the second.
func majority[K cmp.Ordered, T any](groups []group[K, T]) bool {
	return len(groups) > 0 && (len(groups) == 1 || len(groups[0].members) > len(groups[1].members))
}
