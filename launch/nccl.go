package launch

import (
	"net/netip"
	"path"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// ncclMaxDevices is MAX_IB_DEVS of NCCL 2.30: the limit of entries in NCCL_IB_HCA and of devices.
const ncclMaxDevices = 32

// HCAList is the value of NCCL_IB_HCA as parsed by NCCL 2.30.7: an optional ^ (all but these), then
// an optional = (whole names), then entries device[:port[:rail[:plane]]].
type HCAList struct {
	Not     bool       // the list begins with ^
	Exact   bool       // = follows: entries match whole names, not prefixes
	Entries []HCAEntry // in order
}

// HCAEntry is an entry of an [HCAList].
type HCAEntry struct {
	Device string // a name or, unless Exact, a prefix
	Port   int    // -1: any
}

// ParseHCAList parses NCCL_IB_HCA. Like NCCL it accepts any text: empty entries are ignored, a port
// that isn't a number is 0, and entries after the 32nd are ignored.
func ParseHCAList(s string) HCAList {
	var l HCAList
	s, l.Not = strings.CutPrefix(s, "^")
	s, l.Exact = strings.CutPrefix(s, "=")
	for entry := range strings.SplitSeq(s, ",") {
		device, rest, _ := strings.Cut(entry, ":")
		if device == "" || len(l.Entries) == ncclMaxDevices {
			continue
		}
		port, _, _ := strings.Cut(rest, ":")
		e := HCAEntry{Device: device, Port: -1}
		if port != "" {
			e.Port = leadingInt(port)
		}
		l.Entries = append(l.Entries, e)
	}
	return l
}

// leadingInt is like C's atoi.
func leadingInt(s string) int {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	n := 0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		n = 1
	}
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	v, _ := strconv.Atoi(strings.TrimPrefix(s[:n], "+")) // 0 without digits
	return v
}

// Match reports whether the list allows a port. A list without entries allows all ports, or none
// after ^.
func (l HCAList) Match(device string, port int) bool {
	return l.contains(device, port) != l.Not
}

func (l HCAList) contains(device string, port int) bool {
	for _, e := range l.Entries {
		name := device == e.Device || !l.Exact && strings.HasPrefix(device, e.Device)
		if name && (e.Port == -1 || e.Port == port) {
			return true
		}
	}
	return len(l.Entries) == 0
}

// ncclSettings are the variables that determine NCCL's choice of a GID.
type ncclSettings struct {
	index   int          // NCCL_IB_GID_INDEX, -1 when not set
	ipv6    bool         // NCCL_IB_ADDR_FAMILY=AF_INET6
	within  netip.Prefix // NCCL_IB_ADDR_RANGE, invalid for any
	version int          // NCCL_IB_ROCE_VERSION_NUM
}

func ncclDefaults() ncclSettings { return ncclSettings{index: -1, version: 2} }

// ncclSettingsFrom parses the variables; values that NCCL does not support are treated as not set.
func ncclSettingsFrom(env map[string]string) ncclSettings {
	s := ncclDefaults()
	if v, err := strconv.Atoi(env["NCCL_IB_GID_INDEX"]); err == nil {
		s.index = v
	}
	if v, err := strconv.Atoi(env["NCCL_IB_ROCE_VERSION_NUM"]); err == nil {
		s.version = v
	}
	s.ipv6 = env["NCCL_IB_ADDR_FAMILY"] == "AF_INET6"
	if p, err := netip.ParsePrefix(env["NCCL_IB_ADDR_RANGE"]); err == nil && p.Addr().Is4() != s.ipv6 {
		s.within = p.Masked()
	}
	return s
}

// ncclUses reports whether NCCL uses a port that NCCL_IB_HCA allows, and if not, why. NCCL doesn't
// check the transport, so it uses iWARP ports and fails later.
func ncclUses(p *inventory.Port) (used bool, why string) {
	switch {
	case p.LinkLayer != inventory.LinkLayerInfiniBand && p.LinkLayer != inventory.LinkLayerEthernet:
		return false, "link layer is neither InfiniBand nor Ethernet"
	case p.State != inventory.PortStateActive:
		return false, "state is " + p.State.String()
	}
	return true, ""
}

// ncclGID returns the index that NCCL chooses on a port (ncclIbGetGidIndex).
func ncclGID(p *inventory.Port, s ncclSettings) int {
	table := tableOf(p)
	if p.LinkLayer == inventory.LinkLayerInfiniBand {
		return flidIndex(table)
	}
	if s.index >= 0 {
		return s.index
	}
	current := 0
	for i := 1; i < tableSize(p); i++ {
		was, next := table[current], table[i]
		if (next.GID.Addr().Is4() == s.ipv6) || !s.inRange(next.GID) {
			continue
		}
		if was.GID.Addr().Is4() != next.GID.Addr().Is4() {
			current = i
			continue
		}
		if ncclValid(next.GID) && (gidVersion(was) != gidVersion(next) || !ncclValid(was.GID)) &&
			gidVersion(next) == s.version {
			current = i
		}
	}
	return current
}

// tableOf maps the indices to entries; missing indices give the zero value.
func tableOf(p *inventory.Port) map[int]inventory.GIDEntry {
	table := make(map[int]inventory.GIDEntry, len(p.GIDs))
	for _, e := range p.GIDs {
		table[e.Index] = e
	}
	return table
}

// tableSize returns the number of slots, if known, else one more than the highest index.
func tableSize(p *inventory.Port) int {
	size := p.GIDTableSize
	for _, e := range p.GIDs {
		size = max(size, e.Index+1)
	}
	return size
}

// flidIndex returns the index that NCCL and UCX choose on InfiniBand: 1 if that entry has a FLID
// (bytes 4 and 5, for routing between subnets), else 0.
func flidIndex(table map[int]inventory.GIDEntry) int {
	if g := table[1].GID; g[4] != 0 || g[5] != 0 {
		return 1
	}
	return 0
}

func (s ncclSettings) inRange(g ib.GID) bool {
	return !s.within.IsValid() || s.within.Contains(g.Addr())
}

// ncclValid is NCCL's validGid: neither zero nor fe80::/64.
func ncclValid(g ib.GID) bool {
	const linkLocal = ib.SubnetPrefixDefault
	return !g.IsZero() && g.SubnetPrefix() != linkLocal
}

// gidVersion returns the RoCE version, 0 if the kernel doesn't report it.
func gidVersion(e inventory.GIDEntry) int {
	switch e.Type {
	case inventory.GIDTypeRoCEv1, inventory.GIDTypeIB:
		return 1
	case inventory.GIDTypeRoCEv2:
		return 2
	}
	return 0
}

// ncclChoice returns what NCCL does with a port in an environment.
func ncclChoice(d *inventory.Device, p *inventory.Port, env map[string]string) *AutoChoice {
	used, why := ncclUses(p)
	if d.SMIOf != "" {
		used, why = false, "no uverbs: subnet management of "+d.SMIOf
	}
	if used && !ParseHCAList(env["NCCL_IB_HCA"]).Match(d.Name, p.Number) {
		used, why = false, "NCCL_IB_HCA excludes it"
	}
	if used && env["NCCL_IB_DISABLE"] == "1" {
		used, why = false, "NCCL_IB_DISABLE=1"
	}
	if !used {
		return &AutoChoice{Index: -1, Note: why}
	}
	index := ncclGID(p, ncclSettingsFrom(env))
	return &AutoChoice{Used: true, Index: index, Note: indexFault(p, index)}
}

// indexFault returns the fault of a GID entry for connections, "" for none.
func indexFault(p *inventory.Port, index int) string {
	switch {
	case p.Transport == inventory.TransportIWARP:
		return "iWARP: connections fail"
	case p.LinkLayer == inventory.LinkLayerInfiniBand || p.Transport == inventory.TransportERDMA:
		return ""
	}
	e, ok := tableOf(p)[index]
	switch {
	case !ok:
		return "empty entry: connections fail"
	case e.GID.IsLinkLocal():
		return "link-local GID: not routable"
	case gidVersion(e) == 1:
		return "RoCE v1: not routable"
	}
	return ""
}

// portFile returns the path of a file of a port.
func portFile(p *inventory.Port, name string) string { return path.Join(p.Path, name) }
