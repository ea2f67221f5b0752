package checks

import (
	"cmp"
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// portFiles is the pattern of a file of all ports, for Check.Reads.
func portFiles(name string) string { return "/" + sysfs.ClassInfiniBand + "/*/ports/*/" + name }

// deviceFiles is the pattern of a file of all RDMA devices.
func deviceFiles(name string) string { return "/" + sysfs.ClassInfiniBand + "/*/" + name }

// netFiles is the pattern of a file of all network devices.
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

// ownPorts leaves out what is for somebody else: virtual functions beside their
// physical function, devices that were given to other containers, representors.
func ownPorts(s *inventory.Snapshot) iter.Seq[portRef] {
	return func(yield func(portRef) bool) {
		for p := range ports(s) {
			if !p.handedOut(s) && !yield(p) {
				return
			}
		}
	}
}

// handedOut reports a port that is for somebody else.
func (p portRef) handedOut(s *inventory.Snapshot) bool { return s.OthersReason(p.dev, p.port) != "" }

// object names the port in a finding: "mlx5_0:1".
func (p portRef) object() string { return p.dev.Name + ":" + strconv.Itoa(p.port.Number) }

// evidence quotes a file of the port.
func (p portRef) evidence(file, value string) doctor.Evidence {
	return doctor.Evidence{Path: path.Join(p.port.Path, file), Value: value}
}

// stateEvidence quotes the two states as sysfs prints them: "1: DOWN".
func (p portRef) stateEvidence() []doctor.Evidence {
	ev := []doctor.Evidence{p.evidence("state", fmt.Sprintf("%d: %s", p.port.State, p.port.State))}
	if p.port.PhysState != inventory.PhysStateUnknown {
		ev = append(ev, p.evidence("phys_state", fmt.Sprintf("%d: %s", p.port.PhysState, p.port.PhysState)))
	}
	return ev
}

// active reports whether traffic can flow.
func (p portRef) active() bool { return p.port.UpOrDeferred() }

// carriesJobs reports whether the port is one that jobs on this node are meant to
// use. A port of unknown role counts where the node has no compute port at all,
// so that no fault hides behind a doubt; VFs beside their PF are for others.
func (p portRef) carriesJobs(s *inventory.Snapshot) bool {
	if p.port.Role != inventory.RoleUnknown {
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

// kind is the word for a port that jobs don't use.
func (p portRef) kind() string {
	switch {
	case p.port.Role != inventory.RoleUnknown:
		return string(p.port.Role)
	case p.dev.Software != "":
		return "software"
	}
	return "spare"
}

// roce reports a port whose queue pairs speak RoCE of any version.
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

// tool names the device for mlxlink and mstflint: the PCI address, which works
// whatever the device is called.
func (p portRef) tool() string {
	if p.dev.PCI != nil {
		return quote(p.dev.PCI.Address)
	}
	return quote(p.dev.Name)
}

// mellanox reports a card that the mlx5 tools serve.
func mellanox(d *inventory.Device) bool { return d.PCI != nil && d.PCI.VendorID == 0x15b3 }

// netEvidence quotes a file of a network device.
func netEvidence(n *inventory.Netdev, file, value string) doctor.Evidence {
	return doctor.Evidence{Path: path.Join(n.Path, file), Value: value}
}

// inContainer reports whether the commands of a remedy would run in a container,
// where links, addresses and limits are the host's to set.
func inContainer(s *inventory.Snapshot) bool { return s.Host.Container != nil }

// quote makes a name safe to paste into a POSIX shell. "=" counts as unsafe, for
// zsh looks up a command where a value begins with it. Control characters, which
// no kernel name has, become question marks.
func quote(name string) string {
	name = printable(name)
	safe := func(r rune) bool {
		return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_@%+:,./-", r))
	}
	if name != "" && strings.IndexFunc(name, func(r rune) bool { return !safe(r) }) < 0 {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// printable keeps a name on its line, in a remark too.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return '?'
		}
		return r
	}, name)
}

// objects lists ports by name, shortened after max.
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

// group is a value and what has it.
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
