package lint

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// indexVariables returns the variables that pin a GID index, each with the variable of its device
// list.
func indexVariables() [][2]string {
	return [][2]string{
		{"NCCL_IB_GID_INDEX", "NCCL_IB_HCA"},
		{"NVSHMEM_IB_GID_INDEX", "NVSHMEM_HCA_LIST"},
		{"UCX_IB_GID_INDEX", "UCX_NET_DEVICES"},
		{"MC_GID_INDEX", "MC_MS_FILTERS"},
	}
}

// pinned is a GID index that is set, and the ports that it applies to.
type pinned struct {
	setting *Setting
	name    string
	index   int
	ports   []portRef // active RoCE ports that the library uses
	ib      []portRef // InfiniBand ports that it uses
}

// pins returns the indices of the environment; -1, auto and values that are not numbers pin
// nothing.
func (l *linter) pins() []pinned {
	var out []pinned
	for _, v := range indexVariables() {
		s := l.get(v[0])
		if s == nil {
			continue
		}
		index, ok := integer(s.Value)
		if !ok || index < 0 || index > 1<<16 {
			continue
		}
		p := pinned{setting: s, name: v[0], index: int(index)}
		for _, port := range l.used(v[1]) {
			switch {
			case port.infiniBand():
				p.ib = append(p.ib, port)
			case port.roce():
				p.ports = append(p.ports, port)
			}
		}
		out = append(out, p)
	}
	return out
}

// used returns the active ports that a library uses: those of its list, or without a list those
// that launch selects.
func (l *linter) used(list string) []portRef {
	i := slices.IndexFunc(listSyntaxes(), func(s syntax) bool { return s.name == list })
	d, ok := l.list(listSyntaxes()[i])
	if !ok {
		return l.usablePorts()
	}
	var out []portRef
	for _, p := range d.matches(l.ports) {
		numbered := slices.ContainsFunc(d.entries,
			func(e listEntry) bool { return e.port == p.port.Number && d.named(e, p.dev.Name) })
		if p.active() && (!d.not || p.selected()) && (numbered || !l.sibling(p)) {
			out = append(out, p)
		}
	}
	if len(out) == 0 && !d.not {
		return l.usablePorts() // the list is invalid, which other rules report
	}
	return out
}

// entryEvidence returns an entry of a GID table as evidence.
func (l *linter) entryEvidence(p portRef, index int) []Evidence {
	files := launch.GIDFiles(p.port, index)
	for _, e := range p.port.GIDs {
		if e.Index == index {
			return []Evidence{{Path: files[0], Value: e.GID.String()}, {Path: files[1], Value: string(e.Type)}}
		}
	}
	return []Evidence{{Path: files[0], Value: "empty"}}
}

// own returns the entry that a port should use, as text: " (best entry: 5, 10.0.0.1)".
func (l *linter) own(p portRef) string {
	if best := launch.BestGID(l.snap, p.port); best != nil {
		return fmt.Sprintf(" (best entry: %d, %s)", best.Index, best.Addr)
	}
	return ""
}

// fixIndex replaces an index by the settings that select the entries.
func (l *linter) fixIndex(f *Finding, name string) {
	f.unset(name)
	switch name {
	case "NCCL_IB_GID_INDEX":
		l.derive(f, "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE")
	case "NVSHMEM_IB_GID_INDEX":
		l.derive(f, "NVSHMEM_IB_ADDR_FAMILY", "NVSHMEM_IB_ADDR_RANGE")
	case "MC_GID_INDEX": // Mooncake has no other setting
		f.Fixes = nil
		if index, same := l.commonIndex(); same {
			f.set(name, fmt.Sprint(index))
		}
	}
}

// commonIndex returns the index that all usable RoCE ports have their GID at; same is false if
// there is none.
func (l *linter) commonIndex() (index int, same bool) {
	index = -1
	for _, p := range l.usablePorts() {
		if g := p.plan.GID; g != nil {
			if index >= 0 && index != g.Index {
				return -1, false
			}
			index = g.Index
		}
	}
	return index, index >= 0
}

func checkIndexUnusable(l *linter) {
	for _, pin := range l.pins() {
		var whys []string
		var ev []Evidence
		for _, p := range pin.ports {
			if len(p.port.GIDs) == 0 && p.port.GIDTableSize == 0 {
				continue // the table could not be read
			}
			if why := launch.JudgeIndex(p.port, pin.index); why != "" && !strings.HasPrefix(why, "RoCE v1") {
				whys = append(whys, fmt.Sprintf("%s, index %d: %s%s", p.name(), pin.index, why, l.own(p)))
				ev = append(ev, l.entryEvidence(p, pin.index)...)
			}
		}
		if len(whys) > 0 {
			l.fixIndex(l.report(pin.setting, SeverityError, "%s", strings.Join(whys, "; ")).evidence(ev...), pin.name)
		}
	}
}

func checkIndexV1(l *linter) {
	for _, pin := range l.pins() {
		var names []string
		var ev []Evidence
		for _, p := range pin.ports {
			best := launch.BestGID(l.snap, p.port)
			if best == nil || best.Type != inventory.GIDTypeRoCEv2 ||
				!strings.HasPrefix(launch.JudgeIndex(p.port, pin.index), "RoCE v1") {
				continue
			}
			names = append(names, p.name()+l.own(p))
			ev = append(ev, l.entryEvidence(p, pin.index)...)
		}
		if len(names) > 0 {
			f := l.report(
				pin.setting, SeverityWarn, "index %d is a RoCE v1 entry on %s", pin.index, join(names),
			).evidence(ev...)
			l.fixIndex(f, pin.name)
		}
	}
}

func checkIndexInfiniBand(l *linter) {
	for _, pin := range l.pins() {
		if len(pin.ib) == 0 || pin.index == 0 {
			continue
		}
		ev := pin.ib[0].evidence("link_layer", "InfiniBand")
		if pin.name == "UCX_IB_GID_INDEX" {
			l.report(pin.setting, SeverityWarn, "UCX applies index %d to InfiniBand too: %s",
				pin.index, join(portNames(pin.ib))).evidence(ev).unset(pin.name)
		} else if pin.name == "NCCL_IB_GID_INDEX" && len(pin.ports) == 0 {
			l.report(pin.setting, SeverityNote, "NCCL ignores the index on InfiniBand: %s",
				join(portNames(pin.ib))).evidence(ev).unset(pin.name)
		}
	}
}

func checkIndexPinned(l *linter) {
	for _, pin := range l.pins() {
		if len(pin.ports) == 0 {
			continue
		}
		bad := slices.ContainsFunc(pin.ports, func(p portRef) bool {
			why := launch.JudgeIndex(p.port, pin.index)
			best := launch.BestGID(l.snap, p.port)
			return why != "" &&
				(!strings.HasPrefix(why, "RoCE v1") || best != nil && best.Type == inventory.GIDTypeRoCEv2)
		})
		if !bad {
			f := l.report(pin.setting, SeverityNote, "index %d is correct on %s now, but may change",
				pin.index, join(portNames(pin.ports)))
			f.evidence(l.entryEvidence(pin.ports[0], pin.index)...)
		}
	}
}

// checkChoice checks the GID that the model of NCCL selects if no index is pinned.
func checkChoice(l *linter) {
	if !l.mentionsPrefix("NCCL_IB_") || l.mentions("NCCL_IB_GID_INDEX") {
		if index, ok := integer(l.value("NCCL_IB_GID_INDEX")); !ok || index >= 0 || !l.mentionsPrefix("NCCL_IB_") {
			return
		}
	}
	env := l.values()
	var whys []string
	var ev []Evidence
	for _, p := range l.used("NCCL_IB_HCA") {
		choice := launch.NCCLChoice(p.dev, p.port, env)
		best := launch.BestGID(l.snap, p.port)
		if !p.roce() || !choice.Used || choice.Note == "" || best == nil ||
			strings.HasPrefix(choice.Note, "RoCE v1") && best.Type != inventory.GIDTypeRoCEv2 {
			continue
		}
		whys = append(whys, fmt.Sprintf("%s: index %d, %s%s", p.name(), choice.Index, choice.Note, l.own(p)))
		ev = append(ev, l.entryEvidence(p, choice.Index)...)
	}
	if len(whys) == 0 {
		return
	}
	s := l.firstOf("NCCL_IB_ADDR_RANGE", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ROCE_VERSION_NUM")
	severity := SeverityWarn
	if s == nil {
		s = &Setting{Name: "NCCL_IB_ADDR_FAMILY"}
	}
	f := l.report(s, severity, "NCCL uses %s", strings.Join(whys, "; ")).evidence(ev...)
	l.derive(f, "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM")
	for _, name := range []string{"NCCL_IB_ADDR_RANGE", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ROCE_VERSION_NUM"} {
		if l.mentions(name) && l.derived[name] == "" {
			f.unset(name)
		}
	}
}

// firstOf returns the first of the names that is set.
func (l *linter) firstOf(names ...string) *Setting {
	for _, name := range names {
		if s := l.get(name); s != nil {
			return s
		}
	}
	return nil
}

// ranges returns the variables of address ranges, each with the variable of its address family.
func ranges() [][3]string {
	return [][3]string{
		{"NCCL_IB_ADDR_RANGE", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_HCA"},
		{"NVSHMEM_IB_ADDR_RANGE", "NVSHMEM_IB_ADDR_FAMILY", "NVSHMEM_HCA_LIST"},
	}
}

func checkRange(l *linter) {
	for _, names := range ranges() {
		s := l.get(names[0])
		if s == nil || quoted(s.Value) {
			continue
		}
		family := l.value(names[1])
		if family != "AF_INET6" {
			family = "AF_INET"
		}
		prefix, err := netip.ParsePrefix(s.Value)
		var f *Finding
		switch {
		case err != nil && !strings.Contains(s.Value, "/") && strings.HasPrefix(s.Name, "NVSHMEM"):
			f = l.report(s, SeverityError, "no prefix length: NVSHMEM crashes without the /")
		case err != nil:
			f = l.report(s, SeverityError, "not a network with a prefix length")
		case s.Name == "NVSHMEM_IB_ADDR_RANGE" && prefix.Bits() == 0:
			continue // its default, ::/0, does no harm
		case prefix.Addr().Is4() != (family == "AF_INET"):
			f = l.report(s, SeverityWarn, "not of the family %s (%s), so it is ignored and any address fits",
				family, names[1])
		default:
			continue
		}
		if l.derive(f, names[0], names[1]); len(f.Fixes) == 0 {
			if addr, err := netip.ParseAddr(s.Value); err == nil && addr.IsValid() {
				f.unset(names[0])
			}
		}
	}
}

func checkRangeEmpty(l *linter) {
	for _, names := range ranges() {
		s := l.get(names[0])
		if s == nil {
			continue
		}
		prefix, err := netip.ParsePrefix(s.Value)
		if err != nil || prefix.Bits() == 0 || prefix.Addr().Is4() != (l.value(names[1]) != "AF_INET6") {
			continue
		}
		var out []string
		var ev []Evidence
		for _, p := range l.used(names[2]) {
			in := slices.ContainsFunc(p.port.GIDs,
				func(e inventory.GIDEntry) bool { return prefix.Masked().Contains(e.GID.Addr()) })
			if p.roce() && !in && len(p.port.GIDs) > 0 {
				out = append(out, p.name()+l.own(p))
				ev = append(ev, Evidence{Path: p.port.Path + "/gids", Value: "none in " + prefix.Masked().String()})
			}
		}
		if len(out) > 0 {
			f := l.report(s, SeverityWarn, "no address on %s is in the range", join(out)).evidence(ev...)
			if l.derive(f, names[0]); len(f.Fixes) == 0 {
				f.unset(names[0])
			}
		}
	}
}

func checkIndexBeside(l *linter) {
	for _, lib := range []string{"NCCL", "NVSHMEM"} {
		s := l.get(lib + "_IB_GID_INDEX")
		if s == nil {
			continue
		}
		if index, ok := integer(s.Value); !ok || index < 0 {
			continue
		}
		var silent []string
		for _, name := range []string{"_IB_ADDR_FAMILY", "_IB_ADDR_RANGE", "_IB_ROCE_VERSION_NUM"} {
			if l.mentions(lib + name) {
				silent = append(silent, lib+name)
			}
		}
		if len(silent) > 0 {
			l.report(s, SeverityNote, "%s is ignored because an index is set", strings.Join(silent, ", ")).unset(s.Name)
		}
	}
}

func checkUCXSubnets(l *linter) {
	s := l.get("UCX_IB_GID_INDEX")
	subnets := l.value("UCX_IB_ROCE_SUBNETS")
	if s == nil || strings.EqualFold(s.Value, "auto") || subnets == "" || strings.EqualFold(subnets, "all") {
		return
	}
	l.report(s, SeverityError, "UCX rejects it together with UCX_IB_ROCE_SUBNETS=%s", subnets).unset("UCX_IB_GID_INDEX")
}
