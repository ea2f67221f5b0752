package lint

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/inventory"
)

// patternSockets returns the variables that choose network devices for TCP and support ^, = and
// prefixes. Those of plainSockets accept only names.
func patternSockets() []string {
	return []string{"NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME", "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"}
}

func plainSockets() []string { return []string{"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"} }

func openMPISockets() []string {
	return []string{"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include"}
}

func allSockets() []string {
	return slices.Concat(patternSockets(), plainSockets(), openMPISockets())
}

const maxNetdevName = 15 // IFNAMSIZ less the zero

// socketList is the value of a variable that chooses network devices.
type socketList struct {
	setting    *Setting
	not, exact bool
	entries    []string
}

// socket parses a variable; false if it is not set, or if another rule reports its value.
func (l *linter) socket(name string) (socketList, bool) {
	s := l.get(name)
	if s == nil || quoted(s.Value) || strings.TrimSpace(s.Value) != s.Value {
		return socketList{}, false
	}
	list := socketList{setting: s, exact: true}
	rest := s.Value
	if slices.Contains(patternSockets(), name) {
		list.not, list.exact = parseNCCL(s.Value)
		rest = strings.TrimPrefix(strings.TrimPrefix(s.Value, "^"), "=")
	}
	for entry := range strings.SplitSeq(rest, ",") {
		entry, _, _ = strings.Cut(entry, ":")
		if entry = strings.TrimSpace(entry); entry != "" {
			list.entries = append(list.entries, entry)
		}
	}
	return list, true
}

// sockets returns all lists that allow devices.
func (l *linter) sockets(names ...string) []socketList {
	var out []socketList
	for _, name := range names {
		if list, ok := l.socket(name); ok && !list.not && !list.pattern() {
			out = append(out, list)
		}
	}
	return out
}

// pattern reports whether the value has ^, = or similar characters that the variable does not
// support.
func (s socketList) pattern() bool {
	return slices.Contains(plainSockets(), s.setting.Name) && strings.ContainsAny(s.setting.Value, "^=*?[]!")
}

// of returns the network devices that an entry matches.
func (s socketList) of(entry string, snap *inventory.Snapshot) []*inventory.Netdev {
	var out []*inventory.Netdev
	for i := range snap.Netdevs {
		n := &snap.Netdevs[i]
		if n.Name == entry || !s.exact && strings.HasPrefix(n.Name, entry) {
			out = append(out, n)
		}
	}
	return out
}

// named returns the network devices whose full names are entries.
func (s socketList) named(snap *inventory.Snapshot) []*inventory.Netdev {
	var out []*inventory.Netdev
	for _, entry := range s.entries {
		if n := snap.Netdev(entry); n != nil {
			out = append(out, n)
		}
	}
	return out
}

// rightSocket proposes the device that launch selects, in the syntax of the variable.
func (l *linter) rightSocket(f *Finding, name string) {
	s := l.plan.Socket
	if s == nil {
		return
	}
	value := s.Netdev
	if name == "NCCL_SOCKET_IFNAME" {
		value = "=" + value
	}
	f.set(name, value)
}

func checkSocketPattern(l *linter) {
	for _, name := range plainSockets() {
		if list, ok := l.socket(name); ok && list.pattern() {
			f := l.report(list.setting, SeverityError,
				"no device has this name: only NCCL supports ^, = and prefixes")
			l.rightSocket(f, name)
		}
	}
}

func checkSocketUnknown(l *linter) {
	if len(l.snap.Netdevs) == 0 {
		return // the snapshot has no network devices
	}
	for _, list := range l.sockets(allSockets()...) {
		var dead []string
		for _, entry := range list.entries {
			_, err := netip.ParsePrefix(entry) // Open MPI accepts networks too
			if len(list.of(entry, l.snap)) == 0 && len(entry) <= maxNetdevName && err != nil {
				dead = append(dead, entry)
			}
		}
		if len(dead) == 0 {
			continue
		}
		severity, then := SeverityError, "the library fails to start"
		if len(dead) < len(list.entries) {
			severity, then = SeverityWarn, "the others are used"
		}
		f := l.report(list.setting, severity, "%s: no such network device (the node has %s); %s",
			join(dead), join(l.netdevs()), then)
		if len(dead) == 1 && len(list.entries) == 1 {
			if near := spelling.Nearest(dead[0], l.netdevs(), spelling.Strict); near != "" && l.plan.Socket == nil {
				f.set(list.setting.Name, strings.Replace(list.setting.Value, dead[0], near, 1))
				continue
			}
		}
		l.rightSocket(f, list.setting.Name)
	}
}

func checkSocketLong(l *linter) {
	for _, list := range l.sockets(allSockets()...) {
		for _, entry := range list.entries {
			if _, err := netip.ParsePrefix(entry); len(entry) > maxNetdevName && err != nil {
				f := l.report(list.setting, SeverityError, "%s has %d characters, but a device name has at most %d",
					entry, len(entry), maxNetdevName)
				l.rightSocket(f, list.setting.Name)
			}
		}
	}
}

func checkSocketPrefix(l *linter) {
	for _, list := range l.sockets(patternSockets()[0]) {
		for _, entry := range list.entries {
			var names []string
			for _, n := range list.of(entry, l.snap) {
				names = append(names, n.Name)
			}
			full := slices.Contains(names, entry)
			number := slices.ContainsFunc(names, func(name string) bool { return continuesNumber(entry, name) })
			rails := slices.ContainsFunc(list.of(entry, l.snap),
				func(n *inventory.Netdev) bool { return n.RDMADevice != "" && n.Type == inventory.ARPHRDEther })
			if list.exact || len(names) < 2 || !full && !number && !rails {
				continue
			}
			f := l.report(list.setting, SeverityWarn, "%s is a prefix: NCCL uses %s", entry, join(names))
			if full {
				f.set(list.setting.Name, "="+list.setting.Value)
			} else {
				l.rightSocket(f, list.setting.Name)
			}
		}
	}
}

func checkSocketIPoIB(l *linter) {
	for _, list := range l.sockets(patternSockets()[0]) {
		for _, entry := range list.entries {
			var names []string
			var ev []Evidence
			for _, n := range list.of(entry, l.snap) {
				if n.Type == inventory.ARPHRDInfiniBand {
					names = append(names, n.Name)
					ev = append(ev, Evidence{Path: n.Path + "/type", Value: fmt.Sprint(n.Type)})
				}
			}
			if len(names) == 0 {
				continue
			}
			severity := SeverityWarn
			if l.snap.Netdev(entry) != nil {
				severity = SeverityNote
			}
			f := l.report(list.setting, severity, "%s matches IPoIB devices: %s", entry, join(names)).evidence(
				ev...)
			if s := l.plan.Socket; s != nil && !slices.Contains(names, s.Netdev) {
				l.rightSocket(f, list.setting.Name)
			}
		}
	}
}

func checkIPoIBTrap(l *linter) {
	i := slices.IndexFunc(l.snap.Netdevs, func(n inventory.Netdev) bool {
		return strings.HasPrefix(n.Name, "ib") && n.Type == inventory.ARPHRDInfiniBand && n.AdminUp &&
			(len(n.Addresses) > 0 || !l.addressesKnown())
	})
	if i < 0 || l.mentions("NCCL_SOCKET_IFNAME") || !l.mentionsPrefix("NCCL_") {
		return
	}
	n := l.snap.Netdevs[i]
	severity := SeverityNote // no other device is known to be better
	if s := l.plan.Socket; s != nil && s.Netdev != n.Name {
		severity = SeverityWarn
	}
	f := l.report(&Setting{Name: "NCCL_SOCKET_IFNAME"}, severity,
		"not set, so NCCL prefers the IPoIB device %s", n.Name).
		evidence(Evidence{Path: n.Path + "/type", Value: fmt.Sprint(n.Type)})
	l.rightSocket(f, "NCCL_SOCKET_IFNAME")
}

// localPrefixes returns the name prefixes of devices for containers and virtual machines.
func localPrefixes() []string {
	return []string{"docker", "virbr", "br-", "cni", "veth", "lxc", "lxd"}
}

func checkSocketLocal(l *linter) {
	for _, list := range l.sockets(allSockets()...) {
		for _, n := range list.named(l.snap) {
			local := slices.ContainsFunc(localPrefixes(), func(b string) bool { return strings.HasPrefix(n.Name, b) })
			loopback := n.Type == inventory.ARPHRDLoopback || n.Name == "lo"
			// A device with the default route reaches other nodes, whatever its name is.
			if !loopback && (!local || n.DefaultRoute) || l.plan.Socket != nil && l.plan.Socket.Netdev == n.Name {
				continue
			}
			severity := SeverityWarn
			if many, _ := l.severalNodes(); many {
				severity = SeverityError
			}
			f := l.report(list.setting, severity, "%s reaches no other node", n.Name).evidence(
				Evidence{Path: n.Path, Value: n.Name})
			l.rightSocket(f, list.setting.Name)
		}
	}
}

func checkSocketDown(l *linter) {
	for _, list := range l.sockets(allSockets()...) {
		for _, n := range list.named(l.snap) {
			if n.OperState == "down" || n.OperState == "lowerlayerdown" || n.OperState == "notpresent" {
				f := l.report(list.setting, SeverityError, "%s is down", n.Name).evidence(
					Evidence{Path: n.Path + "/operstate", Value: n.OperState})
				l.rightSocket(f, list.setting.Name)
			}
		}
	}
}

// addressesKnown reports whether the scan has addresses: every node has one on lo.
func (n *node) addressesKnown() bool {
	return slices.ContainsFunc(n.snap.Netdevs, func(d inventory.Netdev) bool {
		return d.Type == inventory.ARPHRDLoopback && len(d.Addresses) > 0
	})
}

func checkSocketAddress(l *linter) {
	if !l.addressesKnown() {
		return
	}
	for _, list := range l.sockets(allSockets()...) {
		var bare []string
		var ev []Evidence
		matched := 0
		for _, entry := range list.entries {
			for _, n := range list.of(entry, l.snap) {
				matched++
				if len(n.Addresses) == 0 && n.OperState != "down" {
					bare = append(bare, n.Name)
					ev = append(ev, Evidence{Path: n.Path, Value: "no IP address"})
				}
			}
		}
		if len(bare) == 0 || len(bare) < matched && !list.exact {
			continue // of the devices that match a prefix, those with an address are used
		}
		severity := SeverityError
		if len(bare) < matched {
			severity = SeverityWarn
		}
		f := l.report(list.setting, severity, "no IP address on %s", join(bare)).evidence(ev...)
		l.rightSocket(f, list.setting.Name)
	}
}

func checkSocketRail(l *linter) {
	for _, list := range l.sockets(allSockets()...) {
		for _, n := range list.named(l.snap) {
			rail := slices.ContainsFunc(l.usablePorts(), func(p portRef) bool {
				return p.port.Role == inventory.RoleCompute && p.roce() &&
					(p.port.Netdev == n.Name || p.plan.GID != nil && p.plan.GID.Netdev == n.Name)
			})
			if rail && (l.plan.Socket == nil || l.plan.Socket.Netdev != n.Name) {
				f := l.report(list.setting, SeverityNote, "%s is a rail (%s)", n.Name, n.RDMADevice)
				l.rightSocket(f, list.setting.Name)
			}
		}
	}
}
