package fabric_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestContradictions checks what a sweep says of ports that can't belong to one subnet. The LIDs of
// the net are leaf0 1, host0 2, host1 3, leaf1 4, host2 5, host3 6, spine0 7.
func TestContradictions(t *testing.T) {
	master := func(priority uint8, guid byte) *mad.SMInfo {
		return &mad.SMInfo{GUID: ib.GUID{guid}, Priority: priority, State: mad.SMStateMaster}
	}
	prefix := func(_ uint8, info *mad.PortInfo) { info.GIDPrefix = 0xfec0000000000001 }
	for _, test := range []struct {
		name  string
		spoil func(*subnet.Subnet)
		want  []string
	}{
		{"a good net", func(*subnet.Subnet) {}, nil},
		{
			"two hosts with one LID", func(s *subnet.Subnet) { s.Node("host3").LIDs[1] = 3 },
			[]string{"duplicate-lid host3[1]: LID 3 also belongs to host1[1]"},
		},
		{
			"a host with the LID of a switch", func(s *subnet.Subnet) { s.Node("host3").LIDs[1] = 7 },
			[]string{"duplicate-lid host3[1]: LID 7 also belongs to spine0[0]"},
		},
		{
			"LIDs that overlap by LMC", func(s *subnet.Subnet) {
				s.Node("host2").PortInfo = func(_ uint8, info *mad.PortInfo) { info.LMC = 1 }
			},
			[]string{"duplicate-lid host3[1]: LID 6 also belongs to host2[1]"},
		},
		{"ports without a LID", func(s *subnet.Subnet) {
			for _, name := range []string{"host1", "host2", "host3"} {
				s.Node(name).LIDs[1] = 0xffff // not configured
			}
		}, nil},
		{
			"another subnet", func(s *subnet.Subnet) { s.Node("host2").PortInfo = prefix },
			[]string{"subnet-prefix host2[1]: 1 port has subnet prefix 0xfec0000000000001; " +
				"6 ports have subnet prefix 0xfe80000000000000"},
		},
		{
			"the local port alone in another subnet", func(s *subnet.Subnet) { s.Node("host0").PortInfo = prefix },
			[]string{"subnet-prefix host0[1]: 1 port has subnet prefix 0xfec0000000000001; " +
				"6 ports have subnet prefix 0xfe80000000000000"},
		},
		{
			"half of the ports: the local port's counts", func(s *subnet.Subnet) {
				s.Node("leaf0").Ports[2].Peer.Dead = true // host1: six ports are left
				for _, name := range []string{"host0", "host2", "leaf1"} {
					s.Node(name).PortInfo = prefix
				}
				s.Node("host0").PortInfo = func(p uint8, info *mad.PortInfo) {
					prefix(p, info)
					info.CapabilityMask |= mad.CapabilityIsSM
				}
			},
			[]string{"subnet-prefix leaf0[0]: 3 ports have subnet prefix 0xfe80000000000000; " +
				"3 ports have subnet prefix 0xfec0000000000001"},
		},
		{"a port that waits for its manager", func(s *subnet.Subnet) {
			s.Node("host2").PortInfo = func(p uint8, info *mad.PortInfo) {
				prefix(p, info)
				info.PortState, info.MasterSMLID = mad.PortStateInitialize, 77
			}
		}, nil},
		{
			"another manager", func(s *subnet.Subnet) {
				for _, name := range []string{"host2", "leaf1"} {
					s.Node(name).PortInfo = func(_ uint8, info *mad.PortInfo) { info.MasterSMLID = 5 }
				}
			},
			[]string{"master-lid leaf1[0]: 2 ports follow the subnet manager at LID 5; 5 ports follow the subnet " +
				"manager at LID 2"},
		},
		{
			"two masters", func(s *subnet.Subnet) { s.Node("host2").Manager = master(7, 2) },
			[]string{"two-masters host2[1]: the subnet manager at LID 5 (priority 7) is master, and so is the one " +
				"at host0[1], LID 2 (priority 5)"},
		},
		{"two ports of one master", func(s *subnet.Subnet) { s.Node("host2").Manager = master(5, 1) }, nil},
		{"a standby", func(s *subnet.Subnet) {
			s.Node("host2").Manager = &mad.SMInfo{GUID: ib.GUID{2}, State: mad.SMStateStandby}
		}, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			net := subnet.FatTree(2, 2, 1)
			net.Delay = roundTrip
			net.MasterLID, net.Node("host0").Manager = 2, master(5, 1)
			test.spoil(net)
			topology := discover(t, net.Transport("host0"), fabric.Options{SubnetManagers: true})
			var got []string
			for _, a := range topology.Anomalies {
				got = append(got,
					fmt.Sprintf("%s %s[%d]: %s", a.Kind, topology.Node(a.At.Node).Name(), a.At.Port, a.Detail))
			}
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: anomalies (-want +got):\n%s", test.name, diff)
			}
			if again := topology.Contradictions(); !slices.Equal(again, topology.Anomalies) {
				t.Errorf("%s: Contradictions() = %v, the sweep has %v", test.name, again, topology.Anomalies)
			}
		})
	}
}

// TestTraceDuplicateLID has two hosts with one LID: packets go to the nearer one.
func TestTraceDuplicateLID(t *testing.T) {
	net := subnet.FatTree(2, 2, 1)
	net.Node("host3").LIDs[1] = net.Node("host1").LIDs[1] // 3
	topology := swept(t, net)
	find := func(name string) fabric.Endpoint {
		e, err := topology.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	const to1 = "LID 3 of host1[1] also belongs to host3[1]: packets from other ports may arrive there"
	const to3 = "LID 3 of host3[1] also belongs to host1[1]: packets from other ports may arrive there"
	const from3 = "LID 3 of host3[1] also belongs to host1[1]: answers may arrive there"
	for _, test := range []struct {
		from, to, want, reason string
		warnings               []string
	}{
		{
			"host0", "host3", "host0>1 1<leaf0>2 1<host1: stray",
			"host1[1] has LID 3 too: packets to host3[1] arrive there",
			[]string{to3},
		},
		{"host0", "host1", "host0>1 1<leaf0>2 1<host1: arrived", "", []string{to1}},
		{"host2", "host3", "host2>1 1<leaf1>2 1<host3: arrived", "", []string{to3}},
		{"host3", "host2", "host3>1 2<leaf1>1 1<host2: arrived", "", []string{from3}},
		{"host0", "host2", "host0>1 1<leaf0>3 1<spine0>2 3<leaf1>1 1<host2: arrived", "", nil},
	} {
		tr, err := topology.Trace(find(test.from), find(test.to), fabric.RoutesRead)
		if err != nil {
			t.Fatal(err)
		}
		if got := way(topology, tr); got != test.want || tr.Reason != test.reason {
			t.Errorf("Trace(%s, %s) = %s (%s), want %s (%s)",
				test.from, test.to, got, tr.Reason, test.want, test.reason)
		}
		if diff := gocmp.Diff(test.warnings, tr.Warnings); diff != "" {
			t.Errorf("warnings from %s to %s (-want +got):\n%s", test.from, test.to, diff)
		}
	}
	if _, err := topology.Find("3"); !errors.Is(err, fabric.ErrAmbiguous) ||
		!strings.Contains(err.Error(), "2 ports have LID 3") {
		t.Errorf("Find(3) = %v, want that two ports have the LID", err)
	}
}

// TestTraceSharedBySwitch has a host with the LID of a switch on the path, which forwards by its
// table.
func TestTraceSharedBySwitch(t *testing.T) {
	net := subnet.FatTree(2, 2, 1)
	topology := swept(t, net)
	host, _ := topology.Find("host3")
	topology.Port(host.Port).Info.LID = net.Node("spine0").LIDs[0]
	host.LID = net.Node("spine0").LIDs[0]
	from, _ := topology.Find("host0")
	for port, want := range map[uint8]string{
		0: "host0>1 1<leaf0>3 1<spine0: stray", 2: "host0>1 1<leaf0>3 1<spine0>2 3<leaf1>2 1<host3: arrived",
	} {
		node(topology, "spine0").Routes[host.LID] = port
		node(topology, "leaf1").Routes[host.LID] = 2
		tr, err := topology.Trace(from, host, fabric.RoutesRead)
		if err != nil {
			t.Fatal(err)
		}
		if got := way(topology, tr); got != want {
			t.Errorf("spine0 routes to port %d: Trace = %s (%s), want %s", port, got, tr.Reason, want)
		}
		if port == 0 && tr.Reason != "spine0 has LID 7 too: packets to host3[1] arrive there" {
			t.Errorf("reason = %q", tr.Reason)
		}
	}
}

// TestTraceDoubts has ends that aren't managed as one subnet.
func TestTraceDoubts(t *testing.T) {
	topology := swept(t, subnet.FatTree(2, 2, 1))
	from, _ := topology.Find("leaf0")
	from.Port.Port = 1 // of a switch, port 0 has the addresses
	to, _ := topology.Find("host3")
	topology.Port(to.Port).Info.GIDPrefix = 0xfec0000000000001
	topology.Port(to.Port).Info.MasterSMLID = 9
	for i := range 2 {
		topology.SubnetManagers = append(topology.SubnetManagers, fabric.SubnetManager{
			Port: to.Port, LID: ib.LID(i + 1), Info: mad.SMInfo{GUID: ib.GUID{byte(i)}, State: mad.SMStateMaster},
		})
	}
	tr, err := topology.Trace(from, to, fabric.RoutesRead)
	want := []string{
		"leaf0[0] has subnet prefix 0xfe80000000000000, host3[1] has 0xfec0000000000001",
		"leaf0[0] follows the subnet manager at LID 1, host3[1] the one at LID 9",
		"the subnet manager at LID 2 (priority 0) is master, and so is the one at host3[1], LID 1 (priority 0): " +
			"the forwarding tables may be of both",
	}
	if diff := gocmp.Diff(want, tr.Warnings); err != nil || diff != "" {
		t.Errorf("warnings, %v (-want +got):\n%s", err, diff)
	}
}
