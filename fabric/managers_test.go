package fabric_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

func TestSubnetManagers(t *testing.T) {
	master := &mad.SMInfo{GUID: ib.GUID{1}, SMKey: 5, ActCount: 77, Priority: 14, State: mad.SMStateMaster}
	standby := &mad.SMInfo{GUID: ib.GUID{2}, Priority: 3, State: mad.SMStateStandby}
	hides := func(_ uint8, info *mad.PortInfo) { info.CapabilityMask &^= mad.CapabilityIsSM }
	for _, test := range []struct {
		name     string
		spoil    func(*subnet.Subnet)
		want     map[string]fabric.SubnetManager // by node
		asked    int
		complete bool
	}{
		{"master and standby", func(*subnet.Subnet) {}, map[string]fabric.SubnetManager{
			"host2": {Info: *master}, "host3": {Info: *standby},
		}, 2, true},
		{
			"a master whose port doesn't say so",
			func(s *subnet.Subnet) { s.Node("host2").PortInfo = hides },
			map[string]fabric.SubnetManager{
				"host2": {Info: *master}, "host3": {Info: *standby},
			},
			2, true,
		},
		{"on a switch", func(s *subnet.Subnet) {
			s.Node("host3").Manager, s.Node("leaf1").Manager = nil, standby
		}, map[string]fabric.SubnetManager{"host2": {Info: *master}, "leaf1": {Info: *standby}}, 2, true},
		{"a standby that is silent", func(s *subnet.Subnet) {
			s.Node("host3").Lie = func(d *fabric.Datagram) int {
				if mad.Attribute(d.MAD[16])<<8|mad.Attribute(d.MAD[17]) == mad.AttributeSMInfo {
					return 0
				}
				return 1
			}
		}, map[string]fabric.SubnetManager{
			"host2": {Info: *master}, "host3": {Err: "no answer to 4 tries in 4s"},
		}, 5, false},
		{"a master that is gone", func(s *subnet.Subnet) { s.MasterLID = 99 }, map[string]fabric.SubnetManager{
			"host2": {Info: *master}, "host3": {Info: *standby}, "": {LID: 99, Err: "no answer to 4 tries in 4s"},
		}, 6, false},
		{"a master that is gone, and dead hosts", func(s *subnet.Subnet) {
			s.MasterLID = 99
			for i := range uint8(20) {
				dead := s.Add(fmt.Sprintf("dead%d", i), mad.NodeTypeCA, 1)
				dead.Dead = true
				leaf := s.Node("leaf1")
				leaf.Ports, leaf.LIDs = append(leaf.Ports, subnet.Port{}), append(leaf.LIDs, 0)
				s.Connect(leaf, uint8(len(leaf.Ports)-1), dead, 1)
			}
		}, map[string]fabric.SubnetManager{
			"host2": {Info: *master}, "host3": {Info: *standby}, "": {LID: 99, Err: "no answer to 4 tries in 4s"},
		}, 6, false},
		{"a master that is late", func(s *subnet.Subnet) {
			host := s.Node("host2")
			host.Lie = func(d *fabric.Datagram) int {
				host.Delay = 0
				if mad.Class(d.MAD[1]) == mad.ClassSubnetDirected && mad.Attribute(d.MAD[17]) == mad.AttributeSMInfo {
					host.Delay = time.Second
				}
				return 1
			}
		}, map[string]fabric.SubnetManager{"host2": {Info: *master}, "host3": {Info: *standby}}, 5, true},
		{"none", func(s *subnet.Subnet) {
			s.MasterLID, s.Node("host2").Manager, s.Node("host3").Manager = 0, nil, nil
		}, map[string]fabric.SubnetManager{}, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := subnet.FatTree(2, 2, 1)
				net.Delay = roundTrip
				net.Node("host2").Manager, net.Node("host3").Manager = master, standby
				net.MasterLID = net.Node("host2").LIDs[1]
				test.spoil(net)
				c := &counter{net.Transport("host0"), map[asked]int{}}
				topology := discover(t, c, fabric.Options{SubnetManagers: true})
				if topology.Duration > patience+200*time.Millisecond {
					t.Errorf("took %v, want at most %v", topology.Duration, patience)
				}
				got := map[string]fabric.SubnetManager{}
				for _, m := range topology.SubnetManagers {
					name := ""
					if n := topology.Node(m.Port.Node); n != nil {
						name = n.Description.String()
						if m.LID != n.LID(m.Port.Port) {
							t.Errorf("manager at %s has LID %d, the port %d", name, m.LID, n.LID(m.Port.Port))
						}
						m.LID = 0
					}
					m.Port = fabric.PortID{}
					got[name] = m
				}
				if diff := gocmp.Diff(test.want, got); diff != "" || len(got) != len(topology.SubnetManagers) {
					t.Errorf("managers (-want +got):\n%s\n%v", diff, topology.SubnetManagers)
				}
				if sent := c.sent[smp(mad.AttributeSMInfo)] +
					c.sent[asked{mad.ClassSubnet, mad.AttributeSMInfo}]; sent != test.asked {
					t.Errorf("SMInfo asked %d times, want %d", sent, test.asked)
				}
				if topology.Complete != test.complete || len(topology.Nodes) != 7 {
					t.Errorf("complete %v with %d nodes, unreached %v",
						topology.Complete, len(topology.Nodes), topology.Unreached)
				}
			})
		})
	}
}

// TestManagersOfSlowNodes has nodes whose answers take longer than a request holds its place in the
// window, and a master whose port may not report it.
func TestManagersOfSlowNodes(t *testing.T) {
	for name, slow := range map[string]func(*subnet.Subnet){
		"all": func(s *subnet.Subnet) { s.Delay = 700 * time.Millisecond },
		"local port": func(s *subnet.Subnet) {
			own := s.Node("host0")
			own.Lie = func(d *fabric.Datagram) int {
				if own.Delay = 0; mad.Attribute(d.MAD[17]) == mad.AttributePortInfo {
					own.Delay = 500 * time.Millisecond
				}
				return 1
			}
		},
		"first switch": func(s *subnet.Subnet) { s.Node("leaf0").Delay = 500 * time.Millisecond },
	} {
		for _, hidden := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, hidden %v", name, hidden), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					net := subnet.FatTree(2, 2, 1)
					net.Delay = roundTrip
					slow(net)
					host := net.Node("host2")
					host.Manager = &mad.SMInfo{GUID: ib.GUID{1}, State: mad.SMStateMaster}
					net.MasterLID = host.LIDs[1]
					if hidden {
						host.PortInfo = func(_ uint8, info *mad.PortInfo) { info.CapabilityMask &^= mad.CapabilityIsSM }
					}
					topology := discover(t, net.Transport("host0"), fabric.Options{SubnetManagers: true})
					want := fabric.SubnetManager{
						Port: fabric.PortID{Node: host.GUID, Port: 1}, LID: host.LIDs[1], Info: *host.Manager,
					}
					if len(topology.SubnetManagers) != 1 || topology.SubnetManagers[0] != want || !topology.Complete {
						t.Errorf("managers %+v, complete %v, want one, %+v",
							topology.SubnetManagers, topology.Complete, want)
					}
				})
			})
		}
	}
}

// planes is a transport at a multi-plane card, where LID-routed SMPs are not valid.
type planes struct {
	*subnet.Transport
	byLID int // LID-routed SMPs that were sent
}

func (p *planes) IsMultiPlane() bool { return true }

func (p *planes) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		if mad.Class(batch[i].MAD[1]) == mad.ClassSubnet {
			p.byLID++
		}
	}
	return p.Transport.Send(batch)
}

// TestMasterOfPlanes checks that the master is queried on a directed route in a multi-plane fabric.
func TestMasterOfPlanes(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*subnet.Subnet)
		want  string // the error of the only manager
	}{
		{"a port that doesn't report it", func(*subnet.Subnet) {}, ""},
		{
			"a LID that no port has", func(s *subnet.Subnet) { s.MasterLID = 99 },
			"no port with that LID was found, and LID-routed SMPs are not valid in a multi-plane fabric: " +
				"use a directed route",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			net := subnet.FatTree(2, 2, 1)
			net.Delay = roundTrip
			host := net.Node("host2")
			host.Manager = &mad.SMInfo{GUID: ib.GUID{1}, State: mad.SMStateMaster}
			host.PortInfo = func(_ uint8, info *mad.PortInfo) { info.CapabilityMask &^= mad.CapabilityIsSM }
			net.MasterLID = host.LIDs[1]
			test.spoil(net)
			c := &planes{Transport: net.Transport("host0")}
			topology := discover(t, c, fabric.Options{SubnetManagers: true})
			if len(topology.SubnetManagers) != 1 || c.byLID != 0 || topology.Complete != (test.want == "") {
				t.Fatalf("%s: managers %v, %d LID-routed SMPs, complete %t",
					test.name, topology.SubnetManagers, c.byLID, topology.Complete)
			}
			m := topology.SubnetManagers[0]
			if m.Err != test.want || m.LID != net.MasterLID || (m.Port.Node == host.GUID) != (test.want == "") {
				t.Errorf("%s: manager at %v, LID %d: %q, want %q", test.name, m.Port, m.LID, m.Err, test.want)
			}
		})
	}
}

func TestMulticast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 30, 1) // leaves of 31 ports: two positions
		var low, both fabric.PortSet
		low.Add(1)
		both.Add(0)
		both.Add(31)
		want := map[ib.LID]fabric.PortSet{0xc000: low, 0xc01f: both, 0xc020: both}
		net.Node("leaf0").Multicast = want
		c := &counter{net.Transport("host0"), map[asked]int{}}
		topology := discover(t, c, fabric.Options{Multicast: true})
		if diff := gocmp.Diff(want, topology.Node(net.Node("leaf0").GUID).Multicast); diff != "" {
			t.Errorf("table of leaf0 (-want +got):\n%s", diff)
		}
		if got := both.Ports(); !gocmp.Equal(got, []uint8{0, 31}) {
			t.Errorf("Ports() = %v, want 0 and 31", got)
		}
		if table := topology.Node(net.Node("leaf1").GUID).Multicast; table == nil || len(table) != 0 {
			t.Errorf("table of leaf1 = %v, want an empty one", table)
		}
		if got := c.sent[smp(mad.AttributeMFT)]; got != 4 {
			t.Errorf("blocks asked for = %d, want 2 of 2 positions", got)
		}
		if host := topology.Node(net.Node("host0").GUID); host.Multicast != nil {
			t.Error("a host has a multicast table")
		}
	})
}
