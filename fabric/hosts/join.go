package hosts

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Report is the result of [Join]: plain data, in a fixed order.
type Report struct {
	Hosts int `json:"hosts"` // hosts that were read
	// Ports are the InfiniBand ports of the hosts, without those of virtual functions and
	// sub-functions, and Joined those of them that are in the sweep.
	Ports  int `json:"ports"`
	Joined int `json:"joined"`
	// Functions are the ports of virtual functions and sub-functions, which a subnet doesn't see.
	Functions int `json:"functions"`
	// NotSwept are the ports of hosts that aren't in the sweep or have no link there, Unknown the
	// adapters of the sweep that are of no host, and NoPorts the hosts without an InfiniBand port.
	NotSwept []NotSwept    `json:"notSwept"`
	Unknown  []UnknownPort `json:"unknown"`
	NoPorts  []string      `json:"noPorts"`
	// Contradictions are what the hosts and the sweep say differently.
	Contradictions []Contradiction `json:"contradictions"`
	Rails          RailReport      `json:"rails"`
}

// NotSwept is a port of a host that isn't in the sweep, or has no link there.
type NotSwept struct {
	Host       string  `json:"host"`
	Device     string  `json:"device"`
	Port       int     `json:"port"`
	Plane      int     `json:"plane,omitempty"` // of a multi-plane card
	PCIAddress string  `json:"pciAddress,omitempty"`
	Rail       *int    `json:"rail,omitempty"`
	PortGUID   ib.GUID `json:"portGUID"`
	State      string  `json:"state"` // when the host was recorded
	Reason     string  `json:"reason"`
	Source     string  `json:"source"` // file of the host
}

// UnknownPort is a port of an adapter in the sweep that is of no host.
type UnknownPort struct {
	Port fabric.PortID `json:"port"`
	GUID ib.GUID       `json:"portGUID"`
	Name string        `json:"name"` // node description
}

// joiner is the state of Join.
type joiner struct {
	t      *fabric.Topology
	hosts  []*Host
	rails  map[portKey]int
	kind   []int // of the hosts: the number of compute ports that they should have
	report Report

	byGUID map[ib.GUID]fabric.PortID
	byCard map[cardKey][]fabric.PortID // by the card's GUID and the LID
	claims map[fabric.PortID][]portKey // the hosts' ports of a port of the sweep, other functions aside
	at     map[portKey]fabric.PortID
}

// portKey names a port by the indices of its host and of itself there.
type portKey struct{ host, port int }

type cardKey struct {
	system ib.GUID
	lid    ib.LID
}

// Join joins hosts with a sweep: it sets t.Hosts. Hosts of which nothing is in the sweep are no
// error, but in the report.
func Join(t *fabric.Topology, list []*Host) *Report {
	j := &joiner{
		t: t, hosts: list, byGUID: map[ib.GUID]fabric.PortID{}, byCard: map[cardKey][]fabric.PortID{},
		claims: map[fabric.PortID][]portKey{}, at: map[portKey]fabric.PortID{},
		report: Report{
			Hosts: len(list), NotSwept: []NotSwept{}, Unknown: []UnknownPort{}, NoPorts: []string{},
			Contradictions: []Contradiction{},
		},
	}
	j.index()
	j.numberRails()
	through := j.findPorts()
	t.Hosts = map[fabric.PortID]fabric.HostPort{}
	j.name(through)
	j.count(through)
	j.listUnknown()
	j.contradict()
	j.judgeRails()
	return &j.report
}

// index indexes the ports of adapters in the sweep.
func (j *joiner) index() {
	for id, p := range adapterPorts(j.t) {
		if !p.GUID.IsZero() {
			j.byGUID[p.GUID] = id
		}
		if lid := p.Info.LID; lid != 0 {
			key := cardKey{j.t.Node(id.Node).Info.SystemImageGUID, lid}
			j.byCard[key] = append(j.byCard[key], id)
		}
	}
}

// adapterPorts returns the ports of hosts' adapters that are in the subnet, in the order of the
// nodes.
func adapterPorts(t *fabric.Topology) func(func(fabric.PortID, *fabric.Port) bool) {
	return func(yield func(fabric.PortID, *fabric.Port) bool) {
		for _, n := range t.Nodes {
			if n.Info.NodeType != mad.NodeTypeCA || n.IsAggregation() {
				continue
			}
			for number := 1; number < len(n.Ports); number++ {
				p := &n.Ports[number]
				if !p.Known && !p.HasPeer() {
					continue // not in this subnet
				}
				if !yield(fabric.PortID{Node: n.GUID(), Port: uint8(number)}, p) {
					return
				}
			}
		}
	}
}

// findPorts finds the hosts' ports in the sweep. It returns those that were found by card and LID
// only, which share a port of the sweep with another function.
func (j *joiner) findPorts() map[portKey]fabric.PortID {
	var rest []portKey
	for key, p := range j.ports() {
		id, ok := j.find(p)
		if !ok {
			rest = append(rest, key)
			continue
		}
		j.at[key] = id
		j.claims[id] = append(j.claims[id], key)
	}
	through := map[portKey]fabric.PortID{}
	for _, key := range rest {
		p := j.port(key)
		if ids := j.byCard[cardKey{p.SystemGUID, p.LID}]; len(ids) == 1 && p.LID != 0 && !p.SystemGUID.IsZero() {
			through[key] = ids[0]
		}
	}
	return through
}

// find finds a port by its GUID, or else by the GUID of its device and its number.
func (j *joiner) find(p *Port) (fabric.PortID, bool) {
	if id, ok := j.byGUID[p.PortGUID]; ok && !p.PortGUID.IsZero() {
		return id, true
	}
	id := fabric.PortID{Node: p.NodeGUID, Port: uint8(p.subnetNumber())}
	n := j.t.Node(p.NodeGUID)
	if p.NodeGUID.IsZero() || p.Function != "" || n == nil || n.IsSwitch() {
		return id, false
	}
	swept := j.t.Port(id)
	return id, swept != nil && id.Port > 0 && (swept.Known || swept.HasPeer())
}

// ports yields the ports of all hosts.
func (j *joiner) ports() func(func(portKey, *Port) bool) {
	return func(yield func(portKey, *Port) bool) {
		for h, host := range j.hosts {
			for i := range host.Ports {
				if !yield(portKey{h, i}, &host.Ports[i]) {
					return
				}
			}
		}
	}
}

func (j *joiner) port(key portKey) *Port { return &j.hosts[key.host].Ports[key.port] }

// name names the ports of the sweep. A port that several hosts claim gets no name, unless they have
// the same name and device: then one host was given twice.
func (j *joiner) name(through map[portKey]fabric.PortID) {
	for id, keys := range j.claims {
		if j.sameName(keys) {
			j.t.Hosts[id] = j.hostPort(keys[0])
		}
	}
	for key := range j.ports() {
		id, ok := through[key]
		if _, named := j.t.Hosts[id]; ok && !named && len(j.claims[id]) == 0 {
			j.t.Hosts[id] = j.hostPort(key)
		}
	}
}

func (j *joiner) sameName(keys []portKey) bool {
	first := keys[0]
	return !slices.ContainsFunc(keys, func(k portKey) bool {
		return j.hosts[k.host].Name != j.hosts[first.host].Name || j.port(k).Device != j.port(first).Device
	})
}

func (j *joiner) hostPort(key portKey) fabric.HostPort {
	p := j.port(key)
	return fabric.HostPort{
		Host: j.hosts[key.host].Name, Device: p.Device, Port: p.Number, Plane: p.Plane, PCIAddress: p.PCIAddress,
		Rail: j.railOf(key), Source: j.hosts[key.host].Source,
	}
}

// count counts the ports of the hosts, and lists those that aren't in the sweep.
func (j *joiner) count(through map[portKey]fabric.PortID) {
	r := &j.report
	for _, h := range j.hosts {
		if len(h.Ports) == 0 {
			r.NoPorts = append(r.NoPorts, h.Name)
		}
	}
	for key, p := range j.ports() {
		id, direct := j.at[key]
		_, indirect := through[key]
		linkless := direct && j.linkless(id)
		switch {
		case p.Function != "":
			r.Functions++
			continue
		case p.Plane > 0 && !j.hasPlane(key):
			continue // the subnet has the card as one port, or not at all
		case direct && !linkless, indirect, !direct && p.Plane == 0 && j.hasPlane(key):
			r.Ports++
			r.Joined++
			continue
		}
		r.Ports++
		r.NotSwept = append(r.NotSwept, NotSwept{
			Host: j.hosts[key.host].Name, Device: p.Device, Port: p.Number, Plane: p.Plane,
			PCIAddress: p.PCIAddress,
			Rail:       j.railOf(key), PortGUID: p.PortGUID, State: p.State, Reason: j.whyNotSwept(p, linkless),
			Source: j.hosts[key.host].Source,
		})
	}
}

// hasPlane reports whether the sweep has a plane of the device of a port.
func (j *joiner) hasPlane(key portKey) bool {
	p := j.port(key)
	for i := range j.hosts[key.host].Ports {
		other := portKey{key.host, i}
		if o := j.port(other); o.Plane > 0 && o.Device == p.Device {
			if _, ok := j.at[other]; ok {
				return true
			}
		}
	}
	return false
}

// linkless reports whether the sweep has a port, but without a link.
func (j *joiner) linkless(id fabric.PortID) bool {
	p := j.t.Port(id)
	return p.Known && !p.IsLinkUp()
}

// whyNotSwept says what the host knows about a port that isn't in the sweep.
func (j *joiner) whyNotSwept(p *Port, linkless bool) string {
	origin := j.t.Port(j.t.Origin)
	switch {
	case linkless:
		return "the sweep has the port without a link"
	case !p.Up && p.State != unknownState:
		return "the port was " + p.State + " when the host was recorded"
	case p.PortGUID.IsZero() && p.NodeGUID.IsZero():
		return "the recording has neither port GUID nor node GUID"
	case origin != nil && origin.Known && p.SMLID != 0 && p.Prefix != 0 && p.Prefix != origin.Info.GIDPrefix:
		return fmt.Sprintf("another subnet: its prefix is %s", p.Prefix)
	case !j.t.Complete:
		return "the port was ACTIVE when the host was recorded; the sweep is partial"
	}
	return "the port was ACTIVE when the host was recorded: it has lost its link since, or is in another subnet"
}

// listUnknown lists the ports of the sweep that are of no host.
func (j *joiner) listUnknown() {
	for id, p := range adapterPorts(j.t) {
		if _, named := j.t.Hosts[id]; !named && len(j.claims[id]) == 0 {
			j.report.Unknown = append(j.report.Unknown,
				UnknownPort{id, p.GUID, j.t.Node(id.Node).Description.String()})
		}
	}
	slices.SortStableFunc(j.report.Unknown,
		func(a, b UnknownPort) int { return j.t.ComparePorts(a.Port, b.Port) })
}
