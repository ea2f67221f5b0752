package fabric

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Errors of [Topology.Find].
var (
	ErrNoNode    = errors.New("no such node")        // no node or port has the name, GUID or LID
	ErrAmbiguous = errors.New("several nodes match") // the error names them
)

// Endpoint is a port as a sender or receiver of packets.
type Endpoint struct {
	Port PortID // the port
	// LID is the LID by which the port was found, or else the port's base LID; 0 if no subnet
	// manager has assigned one.
	LID ib.LID
}

// maxListed is the largest number of candidates that an error names.
const maxListed = 5

// Find returns the port that a text names: by LID ("7", "0x7"), by the GUID of a node or port
// ("0x2c90300000001" with more than 4 digits, or with colons), or by name. A name is the node's
// description or a word of it, such as leaf0 in "MF0;leaf0:MQM9700/U1"; "[N]" after a name or GUID
// selects the port. Without it, Find returns port 0 of a switch, and the first port with a cable of
// an adapter. The error matches [ErrNoNode] or [ErrAmbiguous], the latter also for a LID that
// several ports have.
func (t *Topology) Find(text string) (Endpoint, error) {
	name, number, err := splitPort(text)
	if err != nil {
		return Endpoint{}, fmt.Errorf("find %q: %w", text, err)
	}
	if lid, ok := parseLID(name); ok {
		return t.findLID(text, lid)
	}
	var found []PortID
	if guid, err := ib.ParseGUID(name); err == nil {
		found = t.findGUID(guid)
	} else {
		found = t.findName(name)
	}
	switch {
	case len(found) == 0:
		return Endpoint{}, fmt.Errorf("find %q: %w", text, ErrNoNode)
	case len(found) > 1:
		return Endpoint{}, fmt.Errorf("find %q: %w: %s", text, ErrAmbiguous, t.candidates(found))
	}
	id, n := found[0], t.Node(found[0].Node)
	if number >= 0 {
		if !n.hasPort(number) {
			return Endpoint{}, fmt.Errorf("find %q: %w with port %d: it has %d",
				text, ErrNoNode, number, n.Info.NumPorts)
		}
		id.Port = uint8(number)
	}
	return Endpoint{id, n.LID(id.Port)}, nil
}

// splitPort splits off "[N]"; number is -1 if the text has none.
func splitPort(text string) (name string, number int, err error) {
	open := strings.LastIndexByte(text, '[')
	if open < 0 || !strings.HasSuffix(text, "]") {
		return text, -1, nil
	}
	n, err := strconv.ParseUint(text[open+1:len(text)-1], 10, 8)
	if err != nil {
		return "", 0, errors.New("no port number between the brackets")
	}
	return text[:open], int(n), nil
}

// parseLID reads a decimal number, or a hexadecimal one of up to 4 digits.
func parseLID(text string) (ib.LID, bool) {
	digits, hex := strings.CutPrefix(text, "0x")
	base := 10
	if hex {
		base = 16
		if len(digits) > 4 {
			return 0, false
		}
	}
	v, err := strconv.ParseUint(digits, base, 16)
	return ib.LID(v), err == nil
}

func (t *Topology) findLID(text string, lid ib.LID) (Endpoint, error) {
	switch found := t.PortsWithLID(lid); len(found) {
	case 0:
		return Endpoint{}, fmt.Errorf("find %q: no port has LID %d: %w", text, uint16(lid), ErrNoNode)
	case 1:
		return Endpoint{found[0], lid}, nil
	default:
		return Endpoint{}, fmt.Errorf("find %q: %s have LID %d: %w: %s",
			text, portCount(len(found)), uint16(lid), ErrAmbiguous, t.candidates(found))
	}
}

// findGUID returns the node with that GUID, or else the ports with it. Nodes come first because a
// port may have the GUID of its node.
func (t *Topology) findGUID(guid ib.GUID) []PortID {
	if n := t.Node(guid); n != nil {
		return []PortID{n.firstPort()}
	}
	var found []PortID
	for _, n := range t.Nodes {
		for number := range n.Ports {
			if n.Ports[number].GUID == guid {
				found = append(found, PortID{n.GUID(), uint8(number)})
				break // all ports of a switch have the same GUID
			}
		}
	}
	return found
}

func (t *Topology) findName(name string) []PortID {
	var whole, part []PortID
	for _, n := range t.Nodes {
		text := n.Description.String()
		switch {
		case text == name:
			whole = append(whole, n.firstPort())
		case slices.Contains(words(text), name):
			part = append(part, n.firstPort())
		}
	}
	if len(whole) > 0 {
		return whole
	}
	return part
}

// OpenEnd is a port whose link is up and whose other end is unknown.
type OpenEnd struct {
	Port PortID // the port whose other end is unknown
	// Silent is true if the other end was queried and didn't answer; false if the sweep ended
	// before that was certain.
	Silent bool
}

// OpenEnds returns the ports whose link is up and whose other end is unknown, in the order of the
// nodes.
func (t *Topology) OpenEnds() []OpenEnd {
	cut := slices.ContainsFunc(t.Unreached, Unreached.cutShort)
	gaveUp := map[PortID]bool{}
	for _, u := range t.Unreached {
		if !u.cutShort() && u.What == (task{owner: &nodeState{}}).what() {
			gaveUp[PortID{u.Node, u.Port}] = true
		}
	}
	var list []OpenEnd
	for _, n := range t.Nodes {
		for number := 1; number < len(n.Ports); number++ {
			id := PortID{n.GUID(), uint8(number)}
			if p := &n.Ports[number]; p.IsLinkUp() && !p.HasPeer() {
				list = append(list, OpenEnd{id, !cut || gaveUp[id]})
			}
		}
	}
	return list
}

// cutShort reports whether the request was still outstanding when the sweep ended (see conclude),
// rather than given up.
func (u Unreached) cutShort() bool {
	return u.Reason == reasonSpent || strings.HasPrefix(u.Reason, reasonStopped)
}

// firstPort returns the port that a node's name stands for.
func (n *Node) firstPort() PortID {
	id := PortID{Node: n.GUID()}
	if n.IsSwitch() {
		return id
	}
	for number := range n.Ports {
		if n.Ports[number].HasPeer() {
			id.Port = uint8(number)
			return id
		}
	}
	id.Port = 1
	return id
}

// words splits a description in the form that switches and hosts use: "MF0;leaf0:MQM9700/U1",
// "host0 mlx5_0".
func words(description string) []string {
	return strings.FieldsFunc(description, func(r rune) bool { return strings.ContainsRune(" ;:,'\"", r) })
}

func (t *Topology) candidates(found []PortID) string {
	var list []string
	for i, id := range found {
		if i == maxListed {
			list = append(list, fmt.Sprintf("and %d more", len(found)-maxListed))
			break
		}
		list = append(list, fmt.Sprintf("%q (0x%x)", t.Node(id.Node).Description.String(), id.Node[:]))
	}
	return strings.Join(list, ", ")
}

// Matches reports whether a text matches the node: its description, a word of it, a pattern for
// either (*, ? and [a-z] as in [path.Match], except that they also match slashes), a GUID of the
// node, its system or a port, or one of its LIDs. Select also accepts "[N]" for a port.
func (n *Node) Matches(text string) bool {
	if n.isNamed(text) {
		return true
	}
	if _, isLID := parseLID(text); isLID {
		return false
	}
	description := n.Description.String()
	return slices.ContainsFunc(append(words(description), description),
		func(word string) bool { return matches(text, word) })
}

// Select returns the nodes that a text matches, and the port number, -1 for the whole node. A name
// or GUID may be followed by "[N]" for port N of the nodes with that name; if no node has the name,
// "[N]" is part of a pattern as for Matches. If nodes is empty, there is no such node or, if port
// isn't -1, the node has no such port.
func (t *Topology) Select(text string) (nodes []*Node, port int) {
	choose := func(fits func(n *Node) bool) []*Node {
		return slices.DeleteFunc(slices.Clone(t.Nodes), func(n *Node) bool { return !fits(n) })
	}
	if nodes := choose(func(n *Node) bool { return n.isNamed(text) }); len(nodes) > 0 {
		return nodes, -1
	}
	if name, number, err := splitPort(text); err == nil && number >= 0 {
		if _, isLID := parseLID(name); !isLID &&
			slices.ContainsFunc(t.Nodes, func(n *Node) bool { return n.isNamed(name) }) {
			return choose(func(n *Node) bool { return n.isNamed(name) && n.hasPort(number) }), number
		}
	}
	return choose(func(n *Node) bool { return n.Matches(text) }), -1
}

// isNamed is Matches without patterns.
func (n *Node) isNamed(text string) bool {
	if lid, ok := parseLID(text); ok {
		return n.hasLID(lid)
	}
	if guid, err := ib.ParseGUID(text); err == nil {
		return guid == n.GUID() || guid == n.Info.SystemImageGUID ||
			slices.ContainsFunc(n.Ports, func(p Port) bool { return p.GUID == guid })
	}
	description := n.Description.String()
	return text == description || slices.Contains(words(description), text)
}

// hasPort reports whether the node has a port with that number; only a switch has port 0.
func (n *Node) hasPort(number int) bool { return number < len(n.Ports) && (number > 0 || n.IsSwitch()) }

// matches is path.Match, except that a star also matches slashes, which descriptions contain:
// "MQM9700/U1".
func matches(pattern, name string) bool {
	noSlash := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(noSlash(pattern), noSlash(name))
	return ok && err == nil
}

// hasLID reports whether a port of the node has the LID.
func (n *Node) hasLID(lid ib.LID) bool {
	for number := range n.Ports {
		if n.IsSwitch() && number > 0 {
			return false
		}
		if n.Ports[number].hasLID(lid) {
			return true
		}
	}
	return false
}

// hasLID reports whether the port has the LID, as its base LID or by its LMC. For a switch, call it
// on port 0.
func (p *Port) hasLID(lid ib.LID) bool {
	return p.Known && p.Info.LID != 0 && lid >= p.Info.LID && int(lid) < int(p.Info.LID)+1<<p.Info.LMC
}

// Tiers returns the distance of each switch from the hosts: 1 for switches that hosts are connected
// to, and one more for each cable from there. Adapters and routers have 0. A switch with a few
// hosts, and far fewer than its neighbours, is not a leaf, because a management server may be
// connected to a spine. Aggregation nodes are no hosts. Switches without any connection to hosts
// have 1.
func (t *Topology) Tiers() map[ib.GUID]int {
	tiers := make(map[ib.GUID]int, len(t.Nodes))
	hosts := t.hostCounts()
	var front []*Node
	for _, n := range t.Nodes {
		if n.IsSwitch() && t.isLeaf(n, hosts) {
			tiers[n.GUID()] = 1
			front = append(front, n)
		}
	}
	for tier := 2; len(front) > 0; tier++ {
		var next []*Node
		for _, n := range front {
			for _, peer := range t.switchesNextTo(n) {
				if tiers[peer.GUID()] == 0 {
					tiers[peer.GUID()] = tier
					next = append(next, peer)
				}
			}
		}
		front = next
	}
	for _, n := range t.Nodes {
		if n.IsSwitch() && tiers[n.GUID()] == 0 {
			tiers[n.GUID()] = 1
		}
	}
	return tiers
}

// fewHosts is the factor by which a switch must have fewer hosts than a neighbour not to be a leaf.
const fewHosts = 4

func (t *Topology) isLeaf(n *Node, hosts map[ib.GUID]int) bool {
	own := hosts[n.GUID()]
	if own == 0 {
		return false
	}
	for _, peer := range t.switchesNextTo(n) {
		if hosts[peer.GUID()] > own*fewHosts {
			return false
		}
	}
	return true
}

// hostCounts counts the hosts' adapters at each switch.
func (t *Topology) hostCounts() map[ib.GUID]int {
	counts := map[ib.GUID]int{}
	for _, n := range t.Nodes {
		for number := range n.Ports {
			if p := &n.Ports[number]; n.Info.NodeType == mad.NodeTypeCA && n.IsHost() && p.HasPeer() {
				counts[p.Peer.Node]++
			}
		}
	}
	return counts
}

func (t *Topology) switchesNextTo(n *Node) []*Node {
	var list []*Node
	for number := range n.Ports {
		if !n.Ports[number].HasPeer() {
			continue
		}
		if peer := t.Node(n.Ports[number].Peer.Node); peer != nil && peer.IsSwitch() && peer != n {
			list = append(list, peer)
		}
	}
	return list
}
