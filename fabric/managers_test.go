package fabric_test

import (
	"testing"
	"testing/synctest"

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
