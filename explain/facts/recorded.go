package facts

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Recorded is what a recording of a node has.
type Recorded struct {
	Place  evidence.Place // the recording
	Host   string         // "" if it was not recorded
	Kernel string         // release
	// Memlock is the limit of locked memory of the process that recorded, such as "64 KiB", and
	// Environment its variables: those of a job may differ.
	Memlock     string
	Environment []Setting
	// Partial reports that the recording is damaged: what it doesn't have proves nothing.
	Partial bool
	Ports   []*RecordedPort
}

// RecordedPort is a port of an RDMA device.
type RecordedPort struct {
	Place                    evidence.Place
	Device                   string
	Port                     int
	Link                     Link
	State                    string // "ACTIVE", "DOWN", …
	Driver, Firmware, Netdev string // "" if unknown
	MTU                      int    // active MTU in bytes, 0 if unknown
	Addresses                []netip.Prefix
	GIDs                     []RecordedGID // the entries that aren't empty
}

// RecordedGID is an entry of a GID table.
type RecordedGID struct {
	Index int
	GID   ib.GID
	Type  string // "v1", "v2", "ib", "?"
}

// Routable returns the entry that traffic should use on RoCE: version 2, not link-local, IPv4
// before IPv6, then the lowest index.
func (p *RecordedPort) Routable() (RecordedGID, bool) {
	best, score := RecordedGID{}, 0
	for _, g := range p.GIDs {
		a := g.GID.Addr()
		s := 0
		switch {
		case g.Type != "v2" || a.IsLinkLocalUnicast() || a.IsUnspecified():
		case a.Is4():
			s = 2
		default:
			s = 1
		}
		if s > score {
			best, score = g, s
		}
	}
	return best, score > 0
}

// At returns the entry at an index, false if it is empty.
func (p *RecordedPort) At(index int) (RecordedGID, bool) {
	i := slices.IndexFunc(p.GIDs, func(g RecordedGID) bool { return g.Index == index })
	if i < 0 {
		return RecordedGID{}, false
	}
	return p.GIDs[i], true
}

// Of returns the entries with an address: RoCE has each address once for each version.
func (p *RecordedPort) Of(a netip.Addr) []RecordedGID {
	var list []RecordedGID
	for _, g := range p.GIDs {
		if g.GID.Addr() == a.Unmap() {
			list = append(list, g)
		}
	}
	return list
}

// Port returns the first port of a device; nil if the recording has none, or there is none.
func (r *Recorded) Port(device string) *RecordedPort {
	if r == nil || device == "" {
		return nil
	}
	for _, p := range r.Ports {
		if p.Device == device {
			return p
		}
	}
	return nil
}

// WithGID returns the port whose table has an address, nil if none has.
func (r *Recorded) WithGID(a netip.Addr) *RecordedPort {
	if r == nil {
		return nil
	}
	for _, p := range r.Ports {
		if len(p.Of(a)) > 0 {
			return p
		}
	}
	return nil
}

// withAddress returns the port with a GID or an address of its interface.
func (r *Recorded) withAddress(a netip.Addr) *RecordedPort {
	if p := r.WithGID(a); p != nil || r == nil || !a.IsValid() {
		return p
	}
	for _, p := range r.Ports {
		for _, prefix := range p.Addresses {
			if prefix.Addr() == a {
				return p
			}
		}
	}
	return nil
}

// mtus returns the active MTUs of the RoCE ports that are up, as one value.
func (r *Recorded) mtus() []Value {
	if r == nil {
		return nil
	}
	var list []string
	for _, p := range r.Ports {
		if text := strconv.Itoa(p.MTU); p.MTU > 0 && p.State == "ACTIVE" && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	return []Value{{Text: strings.Join(list, " "), Places: []evidence.Place{r.Place}}}
}

// recordings reads the events of recorded nodes and joins each with the nodes of the logs that are
// the same one.
func (c *collector) recordings() {
	if !c.facts.Store.Has(evidence.RecordedNode) {
		return
	}
	for _, kind := range failureKinds { // all nodes of the logs, before any is compared with a recording
		for e := range c.facts.Store.Of(kind) {
			if !e.Recorded {
				c.node(e.Process)
			}
		}
	}
	known := len(c.facts.Nodes)
	byFile := map[string]*Recorded{}
	for e := range c.facts.Store.Of(evidence.RecordedNode) {
		byFile[e.Process.File] = &Recorded{
			Place: e.Place, Host: e.Process.Host, Kernel: e.Fields["kernel"], Memlock: e.Fields["memlock"],
			Partial: e.Fields["partial"] != "",
		}
	}
	for e := range c.facts.Store.Of(evidence.RecordedPort) {
		if r := byFile[e.Process.File]; r != nil {
			r.Ports = append(r.Ports, recordedPort(e))
		}
	}
	for e := range c.facts.Store.Of(evidence.RecordedSetting) {
		if r := byFile[e.Process.File]; r != nil {
			value := Value{Text: e.Fields["value"], Places: []evidence.Place{e.Place}}
			r.Environment = append(r.Environment, Setting{Name: e.Fields["name"], Values: []Value{value}})
		}
	}
	nodes := c.facts.Nodes[:known:known]
	var rest []*evidence.Event
	for e := range c.facts.Store.Of(evidence.RecordedNode) {
		r := byFile[e.Process.File]
		same := slices.DeleteFunc(slices.Clone(nodes), func(n *Node) bool { return !sameHost(n.Name, r.Host) })
		if len(same) == 0 {
			rest = append(rest, e)
			continue
		}
		c.join(r, e, same)
	}
	for _, e := range rest { // names decide before addresses, which can be in several networks
		r := byFile[e.Process.File]
		c.join(r, e, slices.DeleteFunc(slices.Clone(nodes), func(n *Node) bool {
			return n.Recorded != nil || !c.usesGIDOf(n, r)
		}))
	}
}

// join gives a recording to the nodes that it is of: several containers can be on one host. If
// there is none, it makes a node.
func (c *collector) join(r *Recorded, e *evidence.Event, same []*Node) {
	if len(same) == 0 {
		n := c.node(e.Process)
		n.RecordedOnly = true
		same = []*Node{n}
	}
	for _, n := range same {
		if n.Recorded == nil {
			n.Recorded = r
		} else {
			c.facts.doubles = append(c.facts.doubles, fmt.Sprintf(
				"%s and %s are of one node, %s: the ports and GIDs of the first are used",
				n.Recorded.Place, r.Place, n.Name,
			))
		}
		if !slices.Contains(n.Files, e.Process.File) {
			n.Files = append(n.Files, e.Process.File)
		}
	}
	// What else is of this recording, such as its kernel's log, is about the first of them.
	c.ofFile[e.Process.File] = []*Node{same[0]}
	if r.Host != "" && c.nodes[r.Host] == nil {
		c.nodes[r.Host] = same[0]
	}
}

// sameHost reports whether two names are of one host: one may have the domain, and one not.
func sameHost(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	shortA, domainA, _ := strings.Cut(a, ".")
	shortB, domainB, _ := strings.Cut(b, ".")
	return a == b || shortA == shortB && (domainA == "") != (domainB == "") && !strings.ContainsAny(a+b, ":/")
}

// usesGIDOf reports whether connections of a node used a GID that a recording has.
func (c *collector) usesGIDOf(n *Node, r *Recorded) bool {
	for _, d := range n.Devices {
		for _, g := range d.GIDs {
			if !g.GID.IsZero() && r.WithGID(g.GID.Addr()) != nil {
				return true
			}
		}
	}
	for _, kind := range [...]evidence.Kind{evidence.NCCLCompletion, evidence.NCCLVerb, evidence.PerftestAddress} {
		for e := range c.facts.Store.Of(kind) {
			text := e.Fields["localGID"]
			if kind == evidence.PerftestAddress && e.Fields["side"] == "local" {
				text = e.Fields["gid"]
			}
			a, err := netip.ParseAddr(text)
			if err == nil && c.node(e.Process) == n && !a.IsUnspecified() && r.WithGID(a) != nil {
				return true
			}
		}
	}
	return false
}

func recordedPort(e *evidence.Event) *RecordedPort {
	f := e.Fields
	p := &RecordedPort{
		Place: e.Place, Device: f["device"], Link: Link(f["link"]), State: f["state"], Driver: f["driver"],
		Firmware: f["firmware"], Netdev: f["netdev"],
	}
	p.Port, _ = f.Int("port")
	p.MTU, _ = f.Int("mtu")
	for text := range strings.FieldsSeq(f["addresses"]) {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			p.Addresses = append(p.Addresses, prefix)
		}
	}
	for text := range strings.SplitSeq(f["gids"], ";") {
		words := strings.Fields(text)
		if len(words) != 3 {
			continue
		}
		index, err := strconv.Atoi(words[0])
		gid, gidErr := ib.ParseGID(words[1])
		if err == nil && gidErr == nil {
			p.GIDs = append(p.GIDs, RecordedGID{Index: index, GID: gid, Type: words[2]})
		}
	}
	return p
}

// NodeOf returns the node of a process with a host's name, nil if no node has it.
func (f *Facts) NodeOf(p evidence.Process) *Node {
	for _, n := range f.Nodes {
		r := n.Recorded
		if sameHost(n.Name, p.Host) || r != nil && (r.Place.File == p.File || sameHost(r.Host, p.Host)) {
			return n
		}
	}
	return nil
}

// nearBefore and nearAfter are how far what a recording holds may be from a failure of the logs to
// be about it.
const (
	nearBefore = time.Hour
	nearAfter  = 10 * time.Minute
)

// Near reports whether an event belongs to what the logs are about: it is from them, or from a
// recording and close to a failure of the logs. Without failures in the logs, all events do.
func (f *Facts) Near(e *evidence.Event) bool {
	if !e.Recorded {
		return true
	}
	logs := false
	for _, x := range f.Failures {
		if x.Event.Recorded {
			continue
		}
		logs = true
		if x.Event.Time.Year() > 1 && e.Time.Year() > 1 {
			if d := x.Event.Time.Sub(e.Time); d <= nearBefore && d >= -nearAfter {
				return true
			}
		}
	}
	return !logs
}

// old is 1 for what a recording, or the kernel's log, holds of another time than that of the logs.
func (c *collector) old(e *evidence.Event) int {
	if c.facts.Near(e) && !c.facts.OtherTime(e) {
		return 0
	}
	return 1
}

// recordingsHidden says what recordings can't show.
func recordingsHidden(f *Facts) []string {
	list := slices.Clone(f.doubles)
	for e := range f.Store.Of(evidence.RecordedNode) {
		if e.Fields["partial"] != "" {
			list = append(list, fmt.Sprintf(
				"%s is damaged: no check was run, and what is missing in it proves nothing", e.Place,
			))
		}
	}
	for _, kind := range [...]evidence.Kind{evidence.RecordedNode, evidence.RecordedPort, evidence.OwnDoctor} {
		if n := f.Store.Dropped(kind); n > 0 {
			list = append(list, fmt.Sprintf("%d more entries of recorded nodes (%s) were not kept", n, kind))
		}
	}
	return list
}
