package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// rightList proposes the list that launch derives.
func (l *linter) rightList(f *Finding, d deviceList) {
	want := l.derived[d.name]
	switch d.name {
	case "NVSHMEM_HCA_PE_MAPPING":
		return // only the user knows how many processes share a port
	case "MC_TE_FILTERS":
		want = l.derived["MC_MS_FILTERS"]
	case "ROCSHMEM_HCA_LIST":
		want = l.derived["NVSHMEM_HCA_LIST"]
	}
	if want != "" && want != d.setting.Value {
		f.set(d.name, want)
	}
}

func checkSyntax(l *linter) {
	for _, d := range l.lists() {
		var odd, why []string
		for _, e := range d.entries {
			if e.odd != "" {
				odd = append(odd, fmt.Sprintf("%q", e.text))
				if !slices.Contains(why, e.odd) {
					why = append(why, e.odd)
				}
			}
		}
		if len(odd) == 0 {
			continue
		}
		f := l.report(d.setting, SeverityError, "%s matches no device: %s", join(odd), strings.Join(why, "; "))
		if fixed := d.straight(); fixed != "" {
			f.set(d.name, fixed)
		} else {
			l.rightList(f, d)
		}
	}
}

// straight returns a list with misplaced = and ^ in the intended form, "" if that is not clear.
func (d deviceList) straight() string {
	not, exact := d.not, d.exact && d.equals
	var kept []string
	for _, e := range d.entries {
		name := strings.TrimLeft(e.text, "=^!")
		marks := e.text[:len(e.text)-len(name)]
		if strings.ContainsAny(name, "*?[]") && e.odd != "" || name == "" {
			return ""
		}
		if strings.ContainsAny(marks, "^!") {
			if len(kept) > 0 && !not || !d.syntax.not {
				return "" // a list can't include some ports and exclude others
			}
			not = true
		}
		exact = exact || d.equals && strings.Contains(marks, "=")
		kept = append(kept, name)
	}
	prefix := ""
	if not {
		prefix = "^"
	}
	if exact {
		prefix += "="
	}
	return prefix + strings.Join(kept, ",")
}

// dead returns the entries of a list that match nothing on the node.
func (l *linter) dead(d deviceList) []listEntry {
	var out []listEntry
	for _, e := range d.entries {
		alive := slices.ContainsFunc(l.devices(), func(name string) bool { return d.named(e, name) })
		if d.netdevs {
			alive = alive || l.foreign || slices.Contains(l.netdevs(), e.text)
		}
		if !alive && e.odd == "" && strings.TrimSpace(e.text) == e.text && !quoted(d.setting.Value) {
			out = append(out, e)
		}
	}
	return out
}

// alive returns the number of entries of a list that match a device. The libraries don't trim white
// space, so an entry that begins or ends with it matches nothing.
func (l *linter) alive(d deviceList) int {
	n, dead := 0, l.dead(d)
	for _, e := range d.entries {
		if e.odd == "" && strings.TrimSpace(e.text) == e.text && !slices.Contains(dead, e) {
			n++
		}
	}
	return n
}

func checkUnknownDevice(l *linter) {
	if l.unreadable("/" + sysfs.ClassInfiniBand) {
		return
	}
	for _, d := range l.lists() {
		dead := l.dead(d)
		if len(dead) == 0 {
			continue
		}
		var names []string
		for _, e := range dead {
			names = append(names, e.device)
		}
		names = slices.Compact(names)
		have := "the node has no RDMA device"
		if all := l.devices(); len(all) > 0 {
			have = "the node has " + join(all)
		}
		alive := l.alive(d)
		severity, then := SeverityWarn, fmt.Sprintf("the list still has %d of %d entries", alive, len(d.entries))
		switch {
		case d.not:
			severity, then = SeverityNote, "it excludes nothing"
		case len(dead) == len(d.entries):
			severity, then = SeverityError, "no device of the list exists: "+d.emptied()
		case alive == 0: // the rules hca-syntax and value-space explain the others
			severity, then = SeverityError, "no other entry matches a device either: "+d.emptied()
		}
		f := l.report(d.setting, severity, "%s: no such device (%s); %s", join(names), have, then).
			evidence(Evidence{Path: "/" + sysfs.ClassInfiniBand, Value: strings.Join(l.devices(), " ")})
		if d.not {
			f.set(d.name, d.without(func(e listEntry) bool { return slices.Contains(dead, e) }))
			if len(dead) == len(d.entries) {
				f.Fixes = []Fix{{Name: d.name, Unset: true}}
			}
			continue
		}
		l.proposeNames(f, d, dead)
	}
}

// emptied describes what a library does if its list matches nothing.
func (d deviceList) emptied() string {
	switch {
	case d.name == "NCCL_IB_HCA":
		return "NCCL runs over TCP"
	case d.netdevs:
		return "UCX has no network device"
	}
	return "the library has no device"
}

// proposeNames corrects misspelt entries, or proposes the derived list.
func (l *linter) proposeNames(f *Finding, d deviceList, dead []listEntry) {
	known := l.devices()
	if d.netdevs {
		known = append(known, l.netdevs()...)
	}
	fixed := make([]string, 0, len(d.entries))
	for _, e := range d.entries {
		text := e.text
		if slices.Contains(dead, e) {
			near := spelling.Nearest(e.device, known, spelling.Strict)
			given := func(o listEntry) bool { return strings.TrimSpace(o.device) == near }
			if near == "" || slices.ContainsFunc(d.entries, given) {
				l.rightList(f, d)
				return
			}
			text = near + strings.TrimPrefix(e.text, e.device)
		}
		fixed = append(fixed, text)
	}
	if len(dead) == len(d.entries) && l.derived[d.name] != "" {
		l.rightList(f, d) // no name of the list is a device of this node, so they are not typing errors
		return
	}
	prefix := strings.TrimSuffix(d.without(func(listEntry) bool { return true }), ",")
	f.set(d.name, prefix+strings.Join(fixed, ","))
}

// unreadable reports whether the scan could not read one of the files.
func (n *node) unreadable(files ...string) bool {
	return slices.ContainsFunc(n.snap.Problems,
		func(p inventory.Problem) bool { return slices.Contains(files, p.Path) })
}

func checkPrefix(l *linter) {
	d, ok := l.list(listSyntaxes()[0])
	if !ok || d.exact {
		return
	}
	for _, e := range d.entries {
		var more []string
		for _, name := range l.devices() {
			full := slices.ContainsFunc(d.entries, func(o listEntry) bool { return o.device == name })
			if continuesNumber(e.device, name) && !full {
				more = append(more, name)
			}
		}
		if len(more) == 0 {
			continue
		}
		verb := "also uses"
		if d.not {
			verb = "also leaves out"
		}
		f := l.report(d.setting, SeverityWarn, "%s is a prefix: NCCL %s %s", e.device, verb, join(more))
		for _, name := range more[:min(3, len(more))] {
			f.evidence(Evidence{Path: "/" + sysfs.ClassInfiniBand + "/" + name, Value: "device"})
		}
		if l.hasDevice(e.device) {
			exact := d
			exact.exact = true
			f.set(d.name, exact.without(func(listEntry) bool { return false }))
		} else {
			l.rightList(f, d)
		}
		return
	}
}

// continuesNumber reports whether part is a prefix of name that ends within a number: mlx5_1 and
// mlx5_12, but not mlx5 and mlx5_0, because mlx5 means all such devices.
func continuesNumber(part, name string) bool {
	rest, ok := strings.CutPrefix(name, part)
	digit := func(b byte) bool { return b >= '0' && b <= '9' }
	return ok && part != "" && rest != "" && digit(part[len(part)-1]) && digit(rest[0])
}

func checkNothingLeft(l *linter) {
	if !l.usable() {
		return
	}
	for _, d := range l.lists() {
		if d.not && len(d.matches(l.usablePorts())) == 0 {
			f := l.report(d.setting, SeverityError, "all of %s are excluded: %s", join(portNames(l.usablePorts())),
				d.emptied())
			l.rightList(f, d)
		}
	}
}

// usablePorts returns the ports that launch selects for jobs.
func (l *linter) usablePorts() []portRef {
	var out []portRef
	for _, p := range l.ports {
		if p.selected() && !p.efa() {
			out = append(out, p)
		}
	}
	return out
}

func checkLimit(l *linter) {
	d, ok := l.list(listSyntaxes()[0])
	if !ok || len(d.entries) <= len(launch.ParseHCAList(d.setting.Value).Entries) {
		return
	}
	read := len(launch.ParseHCAList(d.setting.Value).Entries)
	var lost []string
	for _, e := range d.entries[read:] {
		lost = append(lost, e.text)
	}
	l.report(d.setting, SeverityWarn, "NCCL reads %d entries of %d and ignores %s", read, len(d.entries), join(lost))
}

func checkPort(l *linter) {
	for _, d := range l.lists() {
		if d.not {
			continue
		}
		var bad []string
		var ev []Evidence
		for _, e := range d.entries {
			for _, dev := range l.snap.Devices {
				if e.port == anyPort || e.odd != "" || dev.Name != e.device || len(dev.Ports) == 0 {
					continue
				}
				if !slices.ContainsFunc(dev.Ports, func(p inventory.Port) bool { return p.Number == e.port }) {
					bad = append(bad, e.text)
					ev = append(ev, Evidence{Path: dev.Path + "/ports", Value: portNumbers(dev)})
				}
			}
		}
		if len(bad) == 0 {
			continue
		}
		severity := SeverityWarn
		if len(bad) == len(d.entries) {
			severity = SeverityError
		}
		f := l.report(d.setting, severity, "%s: no such port, so the entry matches nothing", join(bad)).evidence(ev...)
		l.rightList(f, d)
	}
	checkMooncakePort(l)
}

func checkMooncakePort(l *linter) {
	s := l.get("MC_IB_PORT")
	if s == nil {
		return
	}
	number, ok := integer(s.Value)
	if !ok || number < 1 || len(l.ports) == 0 {
		return // the rule about values reports it
	}
	ports := l.ports
	if d, ok := l.list(syntax{name: "MC_MS_FILTERS"}); ok {
		ports = l.meant(d)
	}
	if len(ports) > 0 && !slices.ContainsFunc(ports, func(p portRef) bool { return int64(p.port.Number) == number }) {
		f := l.report(s, SeverityError, "none of Mooncake's devices has a port %d", number).
			evidence(Evidence{Path: ports[0].dev.Path + "/ports", Value: portNumbers(*ports[0].dev)})
		if l.derive(f, "MC_IB_PORT"); len(f.Fixes) == 0 {
			f.unset("MC_IB_PORT")
		}
	}
}

func portNumbers(d inventory.Device) string {
	var out []string
	for _, p := range d.Ports {
		out = append(out, fmt.Sprint(p.Number))
	}
	return strings.Join(out, " ")
}

// reportPorts reports the ports of allow-lists for which bad returns a reason. A prefix matches the
// devices that exist, so only ports that are named explicitly are reported.
func reportPorts(l *linter, bad func(
	d deviceList, p portRef,
) (why string, ev []Evidence), severity func(all bool) Severity, say func(d deviceList, whys []string) string,
) {
	for _, d := range l.lists() {
		if d.not {
			continue
		}
		meant := l.meant(d)
		var whys []string
		var ev []Evidence
		for _, p := range meant {
			if why, e := bad(d, p); why != "" {
				whys = append(whys, why)
				ev = append(ev, e...)
			}
		}
		if len(whys) == 0 {
			continue
		}
		f := l.report(d.setting, severity(len(whys) == len(meant)), "%s", say(d, whys)).evidence(ev...)
		l.rightList(f, d)
	}
}

func errorIfAll(all bool) Severity {
	if all {
		return SeverityError
	}
	return SeverityWarn
}

func alwaysWarn(bool) Severity { return SeverityWarn }

func checkDown(l *linter) {
	reportPorts(l, func(d deviceList, p portRef) (string, []Evidence) {
		otherUp := slices.ContainsFunc(l.ports, func(q portRef) bool { return q.dev == p.dev && q.active() })
		named := slices.ContainsFunc(d.entries,
			func(e listEntry) bool { return e.device == p.dev.Name && e.port == p.port.Number })
		if p.active() || !d.explicit(p) || otherUp && !named || l.unreadable(p.port.Path+"/state") {
			return "", nil // if an entry has no port, it means the ports of the device that are up
		}
		return fmt.Sprintf("%s is %s", p.name(), p.port.State), []Evidence{p.stateEvidence()}
	}, errorIfAll, func(_ deviceList, whys []string) string {
		return join(whys) + ": only ACTIVE ports are used, so this node has fewer rails than the list has"
	})
}

func checkIWARP(l *linter) {
	reportPorts(l, func(_ deviceList, p portRef) (string, []Evidence) {
		if !p.iWARP() {
			return "", nil
		}
		return p.name(), []Evidence{
			{Path: p.dev.Path + "/node_type", Value: fmt.Sprintf("%d: %s", p.dev.NodeType, p.dev.NodeType)},
		}
	}, func(bool) Severity { return SeverityError }, func(_ deviceList, whys []string) string {
		return join(whys) + " is an iWARP port: connections over it fail"
	})
}

func checkRole(l *linter) {
	reportPorts(l, func(_ deviceList, p portRef) (string, []Evidence) {
		if p.plan.Rule != "port-role" || !p.active() || !l.usable() && !p.apart() {
			return "", nil
		}
		return fmt.Sprintf("%s (%s)", p.name(), p.plan.Reason), []Evidence{p.stateEvidence()}
	}, alwaysWarn, func(_ deviceList, whys []string) string {
		return "not for jobs: " + join(whys)
	})
}

func checkUnusable(l *linter) {
	reportPorts(l, func(_ deviceList, p portRef) (string, []Evidence) {
		reported := []string{"port-state", "port-iwarp", "port-role", "port-name"} // by other rules
		if p.plan.Decision != launch.DecisionRejected || slices.Contains(reported, p.plan.Rule) ||
			l.unreadable(p.plan.Files...) {
			return "", nil
		}
		var ev []Evidence
		for _, file := range p.plan.Files {
			ev = append(ev, Evidence{Path: file, Value: p.plan.Reason})
		}
		return fmt.Sprintf("%s: %s", p.name(), p.plan.Reason), ev
	}, alwaysWarn, func(_ deviceList, whys []string) string { return strings.Join(whys, "; ") })
}

func checkMixed(l *linter) {
	for _, d := range l.lists() {
		if d.not {
			continue
		}
		var kinds []string
		var ev []Evidence
		for _, p := range l.meant(d) {
			kind := string(p.port.LinkLayer)
			if p.active() && (p.infiniBand() || p.roce()) && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
				ev = append(ev, p.evidence("link_layer", kind))
			}
		}
		if len(kinds) > 1 {
			f := l.report(d.setting, SeverityWarn, "the list has ports on %s: they can't reach each other",
				strings.Join(kinds, " and ")).evidence(ev...)
			l.rightList(f, d)
		}
	}
}

func checkLeftOut(l *linter) {
	for _, d := range l.lists() {
		matched := d.matches(l.ports)
		var less []portRef
		for _, p := range l.usablePorts() {
			if !slices.ContainsFunc(matched, func(q portRef) bool { return q.name() == p.name() }) {
				less = append(less, p)
			}
		}
		if len(less) > 0 && len(less) < len(l.usablePorts()) {
			f := l.report(d.setting, SeverityNote, "%s could be used too", join(portNames(less)))
			l.rightList(f, d)
		}
	}
}

// checkUnset reports the ports for storage and management that NCCL uses if it gets no list.
func checkUnset(l *linter) {
	if l.mentions("NCCL_IB_HCA") || !l.mentionsPrefix("NCCL_") || !l.ncclUsesVerbs() {
		return
	}
	var others []string
	var ev []Evidence
	for _, p := range l.ports {
		if auto := p.plan.NCCLAuto; auto != nil && auto.Used && p.apart() {
			others = append(others, fmt.Sprintf("%s (%s)", p.name(), p.plan.Reason))
			ev = append(ev, p.stateEvidence())
		}
	}
	if len(others) == 0 {
		return
	}
	f := l.report(&Setting{Name: "NCCL_IB_HCA"}, SeverityNote, "not set, so NCCL uses ports that are not for jobs: %s",
		join(others)).evidence(ev...)
	l.derive(f, "NCCL_IB_HCA")
}

// ncclUsesVerbs reports whether no variable keeps NCCL from RDMA devices.
func (l *linter) ncclUsesVerbs() bool {
	net := l.value("NCCL_NET")
	return l.value("NCCL_IB_DISABLE") != "1" && (net == "" || strings.EqualFold(net, "IB"))
}

// apart reports whether the port is for storage or management.
func (p portRef) apart() bool {
	return p.port.Role == inventory.RoleStorage || p.port.Role == inventory.RoleManagement
}
