package fabric_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// sameFabric compares the results of two sweeps, except their cost and the order in which nodes
// were found. Packet counters keep growing.
func sameFabric(t testing.TB, what string, want, got *fabric.Topology) {
	t.Helper()
	options := append(
		exactly(),
		cmpopts.IgnoreFields(fabric.Topology{}, "Started", "Duration", "Stats"),
		cmpopts.IgnoreFields(fabric.Node{}, "Path"),
		cmpopts.IgnoreFields(fabric.Port{}, "Path", "Counters", "Extended", "CountersAfter"),
		cmpopts.IgnoreFields(mad.PortInfo{}, "LocalPortNum"),
		cmpopts.IgnoreFields(mad.NodeInfo{}, "LocalPortNum", "PortGUID"),
		cmpopts.IgnoreFields(fabric.Unreached{}, "Path", "Tries"),
		cmpopts.IgnoreFields(mad.SMInfo{}, "ActCount"),
		cmpopts.SortSlices(func(a, b *fabric.Node) bool { return a.GUID().String() < b.GUID().String() }),
	)
	if diff := gocmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-full sweep +re-scan):\n%s", what, diff)
	}
}

// reread saves the topology and reads it back.
func reread(t testing.TB, topology *fabric.Topology) *fabric.Topology {
	t.Helper()
	read, err := fabric.ReadTopology(bytes.NewReader(save(t, topology)))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// TestRescan changes a subnet and compares the result and the cost of a re-scan with those of a
// full sweep.
func TestRescan(t *testing.T) {
	const leaves, hosts, spines = 4, 8, 2
	for _, test := range []struct {
		name   string
		change func(*subnet.Subnet)
		fresh  int // moved nodes: they are queried completely
	}{
		{"nothing", func(*subnet.Subnet) {}, 0},
		{"a host left", func(s *subnet.Subnet) { s.Disconnect(s.Node("leaf1"), 3) }, 0},
		{"a host moved", func(s *subnet.Subnet) {
			s.Disconnect(s.Node("leaf1"), 3)
			s.Disconnect(s.Node("leaf2"), 3)
			s.Connect(s.Node("leaf2"), 3, s.Node("host10"), 1)
		}, 1},
		{"two hosts exchanged", func(s *subnet.Subnet) {
			s.Disconnect(s.Node("leaf1"), 3)
			s.Disconnect(s.Node("leaf2"), 3)
			s.Connect(s.Node("leaf2"), 3, s.Node("host10"), 1)
			s.Connect(s.Node("leaf1"), 3, s.Node("host18"), 1)
		}, 2},
		{"another host in its place", func(s *subnet.Subnet) { s.Node("host10").GUID = ib.GUID{9, 9} }, 1},
		{"other firmware", func(s *subnet.Subnet) { s.Node("host10").DeviceID = 7 }, 1},
		{"a LID and a state changed", func(s *subnet.Subnet) {
			s.Node("host10").PortInfo = func(_ uint8, info *mad.PortInfo) {
				info.LinkWidthActive, info.LMC = mad.LinkWidth1X, 2
			}
		}, 0},
		{"a host is dead", func(s *subnet.Subnet) { s.Node("host10").Dead = true }, 0},
		{"a switch is dead", func(s *subnet.Subnet) { s.Node("leaf1").Dead = true }, 0},
		{
			"a manager started",
			func(s *subnet.Subnet) { s.Node("host10").Manager = &mad.SMInfo{State: mad.SMStateStandby} }, 0,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := subnet.FatTree(leaves, hosts, spines)
				net.Delay = roundTrip
				net.MasterLID = 0
				before := reread(t, discover(t, net.Transport("host0"), everything()))
				test.change(net)
				all := &counter{net.Transport("host0"), map[asked]int{}}
				full := discover(t, all, everything())
				c := &counter{net.Transport("host0"), map[asked]int{}}
				o := everything()
				o.Previous = before
				again := discover(t, c, o)
				sameFabric(t, test.name, full, again)
				checkSound(t, again)
				for request, sent := range all.sent {
					want := sent
					switch request {
					case smp(mad.AttributeNodeDescription), asked{mad.ClassPerformance, mad.AttributeClassPortInfo}:
						want = test.fresh
					case smp(mad.AttributeNodeInfo):
						continue // the window determines how many cables are queried from both ends at once
					}
					if got := c.sent[request]; got != want {
						t.Errorf("class 0x%x attribute 0x%x: %d MADs in a re-scan, want %d",
							uint8(request.class), uint16(request.attribute), got, want)
					}
				}
				if saved := full.Stats.Sent - again.Stats.Sent; saved < 2*(len(full.Nodes)-test.fresh)-8 {
					t.Errorf("re-scan of %d MADs, full sweep of %d", again.Stats.Sent, full.Stats.Sent)
				}
			})
		})
	}
}

// TestRescanKeepsDescriptions checks the only data of a re-scan that may be outdated: a description
// that has changed.
func TestRescanKeepsDescriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 2, 1)
		o := fabric.Options{Previous: discover(t, net.Transport("host0"), fabric.Options{})}
		net.Node("host1").Description, net.Node("host2").Description = "new", "new too"
		host2 := o.Previous.Node(net.Node("host2").GUID)
		host2.Description = mad.NodeDescription{} // unanswered in the earlier sweep
		topology := discover(t, net.Transport("host0"), o)
		for name, want := range map[string]string{"host1": "host1", "host2": "new too", "host3": "host3"} {
			if got := topology.Node(net.Node(name).GUID).Description.String(); got != want {
				t.Errorf("description of %s = %q, want %q", name, got, want)
			}
		}
	})
}
