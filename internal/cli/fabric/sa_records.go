package fabric

import (
	"fmt"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// saNode is a node as seen through one of its ports.
type saNode struct {
	LID      ib.LID  `json:"lid"`
	Name     string  `json:"name"`
	Type     string  `json:"type"` // adapter, switch or router
	Port     uint8   `json:"port"`
	Ports    uint8   `json:"ports"` // of the node
	NodeGUID ib.GUID `json:"nodeGUID"`
	PortGUID ib.GUID `json:"portGUID"`
	Vendor   string  `json:"vendor"` // IEEE OUI, in hexadecimal
	Device   uint16  `json:"device"`
}

func nodeOf(r *mad.NodeRecord) []saNode {
	kind := map[mad.NodeType]string{
		mad.NodeTypeCA: "adapter", mad.NodeTypeSwitch: "switch", mad.NodeTypeRouter: "router",
	}[r.Info.NodeType]
	if kind == "" {
		kind = r.Info.NodeType.String()
	}
	return []saNode{{
		LID: r.LID, Name: r.Description.String(), Type: kind, Port: r.Info.LocalPortNum, Ports: r.Info.NumPorts,
		NodeGUID: r.Info.NodeGUID, PortGUID: r.Info.PortGUID, Vendor: fmt.Sprintf("0x%06x", r.Info.VendorID),
		Device: r.Info.DeviceID,
	}}
}

// saPort is the state of a port as the manager read it last.
type saPort struct {
	LID   ib.LID `json:"lid"` // of the node's port 0 for a switch
	Port  uint8  `json:"port"`
	State string `json:"state"`
	Width string `json:"width,omitempty"` // absent without a link
	Speed string `json:"speed,omitempty"`
	MTU   int    `json:"mtu"`
	SMLID ib.LID `json:"smLID"`
}

func portOf(r *mad.PortInfoRecord) []saPort {
	p := fabric.Port{Info: r.Info, Known: true}
	one := saPort{
		LID: r.EndportLID, Port: r.PortNum, State: stateText(&p), MTU: int(ib.MTUFromCode(int(r.Info.NeighborMTU))),
		SMLID: r.Info.MasterSMLID,
	}
	if p.IsLinkUp() && p.Width() != 0 && p.Speed() != mad.LinkSpeedUnknown {
		one.Width, one.Speed = p.Width().String(), p.Speed().String()
	}
	return []saPort{one}
}

// saLink is one direction of a link.
type saLink struct {
	FromLID  ib.LID `json:"fromLID"`
	FromPort uint8  `json:"fromPort"`
	ToLID    ib.LID `json:"toLID"`
	ToPort   uint8  `json:"toPort"`
}

func linkOf(r *mad.LinkRecord) []saLink { return []saLink{{r.FromLID, r.FromPort, r.ToLID, r.ToPort}} }

// saPath is a path with its properties.
type saPath struct {
	SLID       ib.LID  `json:"slid"`
	DLID       ib.LID  `json:"dlid"`
	SGID       ib.GID  `json:"sgid"`
	DGID       ib.GID  `json:"dgid"`
	SL         uint8   `json:"sl"`
	MTU        int     `json:"mtu"`
	Gbps       float64 `json:"gbps"` // 0 for a rate that this version doesn't know
	PKey       ib.PKey `json:"pKey"`
	Reversible bool    `json:"reversible"`
	HopLimit   uint8   `json:"hopLimit"`
	// Microseconds is the packet lifetime.
	Microseconds float64 `json:"packetLifetimeUs"`
}

func pathOf(r *mad.PathRecord) []saPath {
	return []saPath{{
		SLID: r.SLID, DLID: r.DLID, SGID: r.SGID, DGID: r.DGID, SL: r.SL, MTU: int(ib.MTUFromCode(int(r.MTU))),
		Gbps: rateOfCode(r.Rate), PKey: r.PKey, Reversible: r.Reversible, HopLimit: r.HopLimit,
		Microseconds: 4.096 * float64(uint64(1)<<r.PacketLifeTime),
	}}
}

// rateOfCode returns the rate for a code of enum ibv_rate, in Gb/s; 0 for an unknown one.
func rateOfCode(code uint8) float64 {
	return map[uint8]float64{
		2: 2.5, 3: 10, 4: 30, 5: 5, 6: 20, 7: 40, 8: 60, 9: 80, 10: 120, 11: 14, 12: 56, 13: 112, 14: 168, 15: 25,
		16: 100, 17: 200, 18: 300, 19: 28, 20: 50, 21: 400, 22: 600, 23: 800, 24: 1200,
	}[code]
}

// saGroup is a multicast group, with one member if the manager trusts the query.
type saGroup struct {
	MLID     ib.LID   `json:"mlid"`
	MGID     ib.GID   `json:"mgid"`
	PKey     ib.PKey  `json:"pKey"`
	QKey     uint32   `json:"qKey"`
	MTU      int      `json:"mtu"`
	Gbps     float64  `json:"gbps"`
	SL       uint8    `json:"sl"`
	Member   *ib.GID  `json:"member,omitempty"`
	JoinedAs []string `json:"joinedAs,omitempty"` // full, non-member, send-only
}

func groupOf(r *mad.MCMemberRecord) []saGroup {
	g := saGroup{
		MLID: r.MLID, MGID: r.MGID, PKey: r.PKey, QKey: r.QKey, MTU: int(ib.MTUFromCode(int(r.MTU))),
		Gbps: rateOfCode(r.Rate), SL: r.SL,
	}
	if !r.PortGID.IsZero() {
		g.Member = &r.PortGID
	}
	for bit, name := range []string{"full", "non-member", "send-only"} {
		if r.JoinState>>bit&1 != 0 {
			g.JoinedAs = append(g.JoinedAs, name)
		}
	}
	return []saGroup{g}
}

// saService is a registered service.
type saService struct {
	ID    string  `json:"id"` // 64 bits, in hexadecimal
	Name  string  `json:"name"`
	GID   ib.GID  `json:"gid"`
	PKey  ib.PKey `json:"pKey"`
	Lease *uint32 `json:"leaseSeconds,omitempty"` // absent: forever
}

func serviceOf(r *mad.ServiceRecord) []saService {
	s := saService{
		ID: fmt.Sprintf("0x%016x", r.ServiceID), GID: r.ServiceGID, PKey: r.ServicePKey,
		// Control characters of another machine must not reach the terminal.
		Name: mad.NodeDescription(r.ServiceName).String(),
	}
	if r.ServiceLease != 1<<32-1 {
		s.Lease = &r.ServiceLease
	}
	return []saService{s}
}

// saManager is a subnet manager.
type saManager struct {
	LID      ib.LID  `json:"lid"`
	GUID     ib.GUID `json:"portGUID"`
	State    string  `json:"state"`
	Priority uint8   `json:"priority"`
	Activity uint32  `json:"activity"`
}

func managerOf(r *mad.SMInfoRecord) []saManager {
	return []saManager{{r.LID, r.Info.GUID, smState(r.Info.State), r.Info.Priority, r.Info.ActCount}}
}

// saRoute is an entry of a switch's linear forwarding table.
type saRoute struct {
	Switch ib.LID `json:"switchLID"`
	DLID   ib.LID `json:"dlid"`
	Port   uint8  `json:"port"`
}

func routesOf(r *mad.LinearForwardingTableRecord) (list []saRoute) {
	for i, port := range r.Ports {
		if port != mad.LFTPortNone {
			list = append(list, saRoute{r.LID, ib.LID(int(r.BlockNum)*mad.LFTBlockLen + i), port})
		}
	}
	return list
}

// saLaneTable has the virtual lane of each service level, from one port of a switch to another.
type saLaneTable struct {
	LID   ib.LID `json:"lid"`
	In    uint8  `json:"inPort"`
	Out   uint8  `json:"outPort"`
	Lanes []int  `json:"lanes"` // by service level
}

func lanesOf(r *mad.SLtoVLMappingTableRecord) []saLaneTable {
	t := saLaneTable{LID: r.LID, In: r.InputPortNum, Out: r.OutputPortNum}
	for _, lane := range r.VLs {
		t.Lanes = append(t.Lanes, int(lane))
	}
	return []saLaneTable{t}
}
