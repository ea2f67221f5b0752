package consensus

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Options are the options of a comparison. The zero value selects the compute ports of each node
// and [launch.DefaultLibraries].
type Options struct {
	Libraries []launch.Library // nil: launch.DefaultLibraries
	// Include and Exclude select ports as in launch.Options. A selector that matches
	// nothing on a node is ignored there; see Unmatched.
	Include, Exclude []string
	// Routed reports whether the same rail of different nodes may be in different subnets, because
	// the fabric routes between them. Such differences are notes then.
	Routed bool
	// Roles are the roles that the site gives to ports, nil for none. They apply to stored
	// snapshots too.
	Roles []inventory.RoleSetting
	// Values are the checks of the values that [Node.Add] attaches; values of other checks are
	// ignored.
	Values []Check
}

// Check returns an error for invalid options; the error matches [launch.ErrOptions].
func (o Options) Check() error {
	_, err := launch.Derive(inventory.Snapshot{}, o.launch())
	return err
}

func (o Options) launch() launch.Options {
	return launch.Options{Libraries: o.Libraries, Include: o.Include, Exclude: o.Exclude}
}

// maxGIDs is the number of entries of a port that a Node keeps, lowest index first. Higher indices
// are not pinned in practice.
const maxGIDs = 64

// Node is a digest of a snapshot: the data that [Compare] needs, in a few kilobytes.
type Node struct {
	source, host string
	outcome      launch.Outcome
	reason       string // why there is no RDMA
	rails        []rail
	lost         []lostPort
	ports        int // compute ports, used or not
	socket       string
	variables    []Setting
	incomplete   []inventory.Problem
	unmatched    []string // selectors
	hasPorts     bool
	values       []Value
}

// rail is a selected port.
type rail struct {
	number     int  // set by pairing
	own        *int // the inventory's number
	device     string
	port       int
	path       string // of the port
	transport  inventory.Transport
	layer      inventory.LinkLayer
	rate       float64
	netdev     string
	netdevPath string
	netdevMTU  int
	mac        string
	mtu        int // active; 0 unknown
	gid        *launch.GIDChoice
	subnet     netip.Prefix // of the GID; invalid: unknown
	gids       []gidEntry
	gidCount   int // number of all usable entries, including those beyond maxGIDs
	fabric     *inventory.Fabric
	lid        ib.LID
	portGUID   ib.GUID
	nodeGUID   ib.GUID
	systemGUID ib.GUID  // of the card
	pkey       *ib.PKey // at index 0
}

// name returns "device:port".
func (r *rail) name() string { return fmt.Sprintf("%s:%d", r.device, r.port) }

// lostPort is a compute port that can't be used.
type lostPort struct {
	name, reason string
	file         string // that shows the reason, or its folder
	own          *int
}

// mayHaveMore reports whether the node may have more rails than it seems: a file that decides
// whether a compute port can be used, or that lists ports, could not be read.
func (n *Node) mayHaveMore() bool {
	const ofPort = 4 // elements of DEVICE/ports/NUMBER/FILE
	return slices.ContainsFunc(n.incomplete, func(p inventory.Problem) bool {
		name := strings.TrimPrefix(p.Path, "/"+sysfs.ClassInfiniBand)
		return len(strings.Split(strings.Trim(name, "/"), "/")) < ofPort ||
			slices.ContainsFunc(n.lost, func(l lostPort) bool {
				return p.Path == l.file || strings.HasPrefix(p.Path, l.file+"/")
			})
	})
}

// NewNode returns the digest of a snapshot. The source is its origin, for the report. The error
// matches [launch.ErrOptions]; [Options.Check] returns the same error earlier.
func NewNode(source string, snap inventory.Snapshot, opts Options) (*Node, error) {
	n := &Node{source: source, host: hostName(snap.Host.Name)}
	plan, err := n.derive(snap, opts)
	if err != nil {
		return nil, fmt.Errorf("digest %s: %w", source, err)
	}
	n.outcome, n.incomplete = plan.Outcome, plan.Incomplete
	if plan.Socket != nil {
		n.socket = plan.Socket.Netdev
	}
	for _, v := range plan.Variables {
		n.variables = append(n.variables, Setting{Name: v.Name, Value: v.Value, Library: v.Library})
	}
	i := 0
	for d, p := range snap.Ports() { // the order of plan.Ports
		n.addPort(&snap, d, p, plan.Ports[i])
		i++
	}
	n.hasPorts = i > 0
	if n.outcome == launch.OutcomeNone && n.reason == "" {
		n.reason = "the node has no RDMA device"
		if len(plan.Ports) > 0 {
			n.reason = plan.Ports[0].Name() + ": " + plan.Ports[0].Reason
		}
	}
	return n, nil
}

// hostName returns "" for the host name of a kernel on which no name was set.
func hostName(name string) string {
	if name == "(none)" {
		return ""
	}
	return strings.Clone(name)
}

// derive returns the plan of launch. Names of devices differ between nodes, so selectors that match
// no port of this node are left out. If no selector of Include remains, no port of the node is
// included.
func (n *Node) derive(snap inventory.Snapshot, opts Options) (launch.Plan, error) {
	plan, err := launch.Derive(snap, opts.launch())
	if !errors.Is(err, launch.ErrOptions) {
		return plan, err
	}
	matches := func(o launch.Options, text string) bool {
		_, err := launch.Derive(snap, o)
		if err != nil {
			n.unmatched = append(n.unmatched, text)
		}
		return err == nil
	}
	kept := launch.Options{Libraries: opts.Libraries}
	for _, s := range opts.Include {
		if matches(launch.Options{Include: []string{s}}, "--include "+s) {
			kept.Include = append(kept.Include, s)
		}
	}
	for _, s := range opts.Exclude {
		if matches(launch.Options{Exclude: []string{s}}, "--exclude "+s) {
			kept.Exclude = append(kept.Exclude, s)
		}
	}
	if len(opts.Include) > 0 && len(kept.Include) == 0 {
		kept.Exclude = []string{"*"}
		n.reason = "no --include matches a port"
	}
	return launch.Derive(snap, kept)
}

func (n *Node) addPort(snap *inventory.Snapshot, d *inventory.Device, p *inventory.Port, plan launch.PortPlan) {
	if p.Role == inventory.RoleCompute {
		n.ports++
	}
	if plan.Decision != launch.DecisionSelected {
		if p.Role == inventory.RoleCompute && plan.Decision == launch.DecisionRejected {
			n.lost = append(n.lost,
				lostPort{name: plan.Name(), reason: plan.Reason, file: first(plan.Files), own: p.Rail})
		}
		return
	}
	r := rail{
		own: p.Rail, device: strings.Clone(d.Name), port: p.Number,
		path: strings.Clone(p.Path), transport: p.Transport,
		layer: p.LinkLayer, netdev: strings.Clone(p.Netdev), mtu: int(p.ActiveMTU), gid: plan.GID, fabric: p.Fabric,
		lid: deref(p.LID), nodeGUID: deref(d.NodeGUID), systemGUID: deref(d.SystemGUID),
	}
	if p.Rate != nil {
		r.rate = p.Rate.GbPerSecond
	}
	if dev := snap.Netdev(p.Netdev); dev != nil {
		r.netdevPath, r.netdevMTU = strings.Clone(dev.Path), dev.MTU
		if dev.Type == inventory.ARPHRDEther {
			r.mac = strings.Clone(dev.Address)
		}
	}
	for _, k := range p.PKeys {
		if k.Index == 0 {
			r.pkey = new(k.PKey)
		}
	}
	if r.fabric != nil && len(p.GIDs) > 0 && p.GIDs[0].Index == 0 {
		r.portGUID = ib.GUID(p.GIDs[0].GID[8:])
	}
	if plan.GID != nil {
		r.readGIDs(snap, p)
	}
	n.rails = append(n.rails, r)
}

// readGIDs keeps the entries that can be used for connections and finds the subnet of the chosen
// one.
func (r *rail) readGIDs(snap *inventory.Snapshot, p *inventory.Port) {
	for _, e := range p.GIDs {
		if k, ok := kindOf(e); ok && !onSlave(snap, e.Netdev) {
			r.gids = append(r.gids, gidEntry{index: e.Index, kind: k, addr: e.GID.Addr(), subnet: subnetOf(snap, e)})
		}
	}
	slices.SortStableFunc(r.gids, func(a, b gidEntry) int { return cmp.Compare(a.index, b.index) })
	// a document may have an index twice
	r.gids = slices.CompactFunc(r.gids, func(a, b gidEntry) bool { return a.index == b.index })
	r.gidCount = len(r.gids)
	for _, e := range r.gids {
		if e.index == r.gid.Index {
			r.subnet = e.subnet
		}
	}
	if len(r.gids) > maxGIDs {
		r.gids = slices.Clone(r.gids[:maxGIDs])
	}
}

// subnetOf returns the network of an entry's address; invalid if its prefix length is not known
// (without rtnetlink the prefix has the full length of the address).
func subnetOf(snap *inventory.Snapshot, e inventory.GIDEntry) netip.Prefix {
	addr := e.GID.Addr()
	if n := snap.Netdev(e.Netdev); n != nil {
		for _, p := range n.Addresses {
			if p.Addr() == addr && p.Bits() < addr.BitLen() {
				return p.Masked()
			}
		}
	}
	return netip.Prefix{}
}

// onSlave reports whether a network device is a member of a bond: the addresses belong to the bond.
func onSlave(snap *inventory.Snapshot, netdev string) bool {
	n := snap.Netdev(netdev)
	if n == nil || n.Master == "" {
		return false
	}
	m := snap.Netdev(n.Master)
	return m != nil && m.Bond != nil
}

// Unmatched returns the selectors that matched no port of any node, in order.
func Unmatched(nodes []*Node) []string {
	var out []string
	with := 0
	missed := map[string]int{}
	for _, n := range nodes {
		if !n.hasPorts {
			continue // the node has no ports
		}
		with++
		for _, s := range n.unmatched {
			if missed[s]++; missed[s] == 1 {
				out = append(out, s)
			}
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return missed[s] < with })
	slices.Sort(out)
	return out
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
