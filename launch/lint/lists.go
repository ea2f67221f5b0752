package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/launch"
)

// syntax is the syntax of a variable that lists RDMA devices.
type syntax struct {
	name    string
	not     bool // a leading ^ excludes the entries
	equals  bool // a leading =, after ^, requires whole names; without it entries are prefixes
	ports   bool // device:port
	netdevs bool // entries can be network devices
	ranges  bool // mlx5_[0-3]
	loose   bool // it is not known whether the library compares whole names
}

// listSyntaxes returns the variables that list RDMA devices.
func listSyntaxes() []syntax {
	return []syntax{
		{name: "NCCL_IB_HCA", not: true, equals: true, ports: true},
		{name: "NVSHMEM_HCA_LIST", not: true, ports: true},
		{name: "NVSHMEM_HCA_PE_MAPPING", ports: true},
		{name: "UCX_NET_DEVICES", not: true, ports: true, netdevs: true, ranges: true},
		{name: "MC_MS_FILTERS"},
		{name: "MC_TE_FILTERS"},
		{name: "ROCSHMEM_HCA_LIST", not: true, ports: true, loose: true},
	}
}

func listNames() []string {
	var out []string
	for _, s := range listSyntaxes() {
		out = append(out, s.name)
	}
	return out
}

// deviceList is the value of a variable that lists RDMA devices.
type deviceList struct {
	syntax
	setting *Setting
	not     bool
	exact   bool // entries are whole names
	entries []listEntry
}

// listEntry is an entry of a list.
type listEntry struct {
	text   string // the text of the entry
	device string
	port   int    // -1: any
	odd    string // syntax that the variable doesn't support, "" for none
}

// anyPort is the port of an entry without one, as launch.HCAEntry has it.
const anyPort = -1

// list parses a variable; false if it is not set, or matches every device.
func (l *linter) list(s syntax) (deviceList, bool) {
	setting := l.get(s.name)
	if setting == nil || s.netdevs && strings.EqualFold(setting.Value, "all") {
		return deviceList{}, false
	}
	d := deviceList{syntax: s, setting: setting, exact: true}
	rest := setting.Value
	if s.not {
		rest, d.not = strings.CutPrefix(rest, "^")
	}
	if s.equals {
		d.not, d.exact = parseNCCL(setting.Value)
		rest, _ = strings.CutPrefix(rest, "=")
	}
	if s.loose {
		d.exact = false
	}
	for text := range strings.SplitSeq(rest, ",") {
		for _, one := range s.expand(text) {
			if e, ok := s.entry(one); ok {
				d.entries = append(d.entries, e)
			}
		}
	}
	return d, true
}

func parseNCCL(value string) (not, exact bool) {
	h := launch.ParseHCAList(value)
	return h.Not, h.Exact
}

// entry parses one entry; false if it is empty. It splits device:port like NCCL; the other
// libraries do the same.
func (s syntax) entry(text string) (listEntry, bool) {
	e := listEntry{text: text, device: text, port: anyPort}
	if strings.TrimSpace(text) == "" {
		return e, false
	}
	e.odd = s.oddity(text)
	if !s.ports || e.odd != "" {
		return e, true
	}
	if parsed := launch.ParseHCAList("=" + text).Entries; len(parsed) == 1 {
		e.device, e.port = parsed[0].Device, parsed[0].Port
	}
	return e, true
}

// oddity describes syntax that the variable doesn't support.
func (s syntax) oddity(text string) string {
	switch {
	case strings.TrimSpace(text) != text:
		return "" // the rule value-space reports white space
	case text[0] == '=' && s.equals:
		return "= is allowed once, before the whole list"
	case text[0] == '=':
		return "only NCCL supports ="
	case text[0] == '^' && s.equals:
		return "^ is allowed once, at the beginning, before ="
	case text[0] == '^':
		return "^ is allowed once, at the beginning"
	case text[0] == '!':
		return "! is not supported; ^ before the whole list excludes devices"
	case strings.ContainsAny(text, "*?"):
		return "patterns are not supported"
	case strings.ContainsAny(text, "[]") && !s.ranges:
		return "ranges are not supported"
	}
	return ""
}

// expand returns the names in a range: mlx5_[0-2]:1.
func (s syntax) expand(text string) []string {
	const most = 256
	head, rest, ok := strings.Cut(text, "[")
	inside, tail, ok2 := strings.Cut(rest, "]")
	from, to, ok3 := strings.Cut(inside, "-")
	first, err := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if !s.ranges || !ok || !ok2 || !ok3 || err != nil || err2 != nil || first < 0 || last < first ||
		last-first >= most {
		return []string{text}
	}
	var out []string
	for n := first; n <= last; n++ {
		out = append(out, head+strconv.Itoa(n)+tail)
	}
	return out
}

// lists returns all lists of the environment that can be parsed.
func (l *linter) lists() []deviceList {
	var out []deviceList
	for _, s := range listSyntaxes() {
		if d, ok := l.list(s); ok {
			out = append(out, d)
		}
	}
	return out
}

// named reports whether an entry matches a device.
func (d deviceList) named(e listEntry, device string) bool {
	return device == e.device || !d.exact && strings.HasPrefix(device, e.device)
}

// of returns the ports that an entry matches.
func (d deviceList) of(e listEntry, ports []portRef) []portRef {
	var out []portRef
	for _, p := range ports {
		if d.named(e, p.dev.Name) && (e.port == anyPort || e.port == p.port.Number) {
			out = append(out, p)
		}
	}
	return out
}

// matches returns the ports that the library uses with this list.
func (d deviceList) matches(ports []portRef) []portRef {
	var out []portRef
	for _, p := range ports {
		in := len(d.entries) == 0
		for _, e := range d.entries {
			in = in || len(d.of(e, []portRef{p})) > 0
		}
		if in != d.not {
			out = append(out, p)
		}
	}
	return out
}

// meant returns the ports that an allow-list includes on purpose: those of a device whose full name
// is an entry, or of all devices with a prefix that is not itself a device name.
func (l *linter) meant(d deviceList) []portRef {
	var out []portRef
	for _, e := range d.entries {
		for _, p := range d.of(e, l.ports) {
			if e.port == anyPort && l.sibling(p) {
				continue
			}
			if (p.dev.Name == e.device || !l.hasDevice(e.device)) &&
				!slices.ContainsFunc(out, func(q portRef) bool { return q.name() == p.name() }) {
				out = append(out, p)
			}
		}
	}
	return out
}

// sibling reports whether the port is not for jobs but another port of its device is: a list that
// names only the device means that other port.
func (l *linter) sibling(p portRef) bool {
	return !p.selected() && slices.ContainsFunc(l.ports, func(q portRef) bool { return q.dev == p.dev && q.selected() })
}

// explicit reports whether an entry is the full name of the port's device.
func (d deviceList) explicit(p portRef) bool {
	return slices.ContainsFunc(d.entries, func(e listEntry) bool {
		return e.device == p.dev.Name && (e.port == anyPort || e.port == p.port.Number)
	})
}

// without returns the value of the list without the entries for which drop returns true.
func (d deviceList) without(drop func(listEntry) bool) string {
	prefix := ""
	if d.not {
		prefix = "^"
	}
	if d.equals && d.exact {
		prefix += "="
	}
	var kept []string
	for _, e := range d.entries {
		if !drop(e) {
			kept = append(kept, e.text)
		}
	}
	return prefix + strings.Join(kept, ",")
}
