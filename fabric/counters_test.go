package fabric_test

import (
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestCountersByCapability checks which attributes a sweep requests of an agent, and which counters
// of the answers it takes for real.
func TestCountersByCapability(t *testing.T) {
	const wide, wait = mad.PerformanceExtendedWidth, mad.PerformancePortCountersXmitWait
	for _, test := range []struct {
		name  string
		agent mad.ClassPortInfo
		want  []fabric.Reading // symbol errors, and the time of waiting if it has that
		sent  [2]int           // requests for classic and extended counters
	}{
		{
			"all of them wide",
			mad.ClassPortInfo{CapabilityMask: wide | wait, CapabilityMask2: mad.PerformanceAdditionalExtended},
			[]fabric.Reading{
				{Name: "SymbolErrorCounter", Value: 70000, Bits: 64, IsError: true},
				{Name: "PortXmitWait", Value: 9, Bits: 64},
			},
			[2]int{0, 1},
		},
		{
			"wide without waiting",
			mad.ClassPortInfo{CapabilityMask: wide, CapabilityMask2: mad.PerformanceAdditionalExtended},
			[]fabric.Reading{{Name: "SymbolErrorCounter", Value: 70000, Bits: 64, IsError: true}},
			[2]int{0, 1},
		},
		{"wide traffic", mad.ClassPortInfo{CapabilityMask: wide | wait}, []fabric.Reading{
			{Name: "SymbolErrorCounter", Value: 65535, Bits: 16, IsError: true},
			{Name: "PortXmitWait", Value: 9, Bits: 32},
		}, [2]int{1, 1}},
		{"classic", mad.ClassPortInfo{}, []fabric.Reading{
			{Name: "SymbolErrorCounter", Value: 65535, Bits: 16, IsError: true},
		}, [2]int{1, 0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			net := subnet.FatTree(1, 1, 0)
			net.Delay = roundTrip
			net.Node("leaf0").Dead = true // only host0 itself answers
			host := net.Node("host0")
			host.Performance = &test.agent
			host.Ports[1].Counters = mad.PortCountersExtended{SymbolErrorCounter: 70000, PortXmitWait: 9}
			c := &counter{net.Transport("host0"), map[asked]int{}}
			topology := discover(t, c, fabric.Options{Counters: true})
			var got []fabric.Reading
			for _, r := range topology.Node(host.GUID).Readings(1) {
				if r.Name == "SymbolErrorCounter" || r.Name == "PortXmitWait" {
					got = append(got, r)
				}
			}
			if topology.Port(fabric.PortID{Node: host.GUID, Port: 1}).CountersAfter <= 0 {
				t.Errorf("%s: the readings have no time", test.name)
			}
			sent := [2]int{
				c.sent[asked{mad.ClassPerformance, mad.AttributePortCounters}],
				c.sent[asked{mad.ClassPerformance, mad.AttributePortCountersExtended}],
			}
			if diff := gocmp.Diff(test.want, got); diff != "" || sent != test.sent {
				t.Errorf("%s: %d requests, want %d; readings (-want +got):\n%s", test.name, sent, test.sent, diff)
			}
		})
	}
}

// TestCountersOfDownPorts checks that a switch is asked for the counters of a link that has died,
// and of a port that never had one, and that the readings have their times.
func TestCountersOfDownPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 2, 1)
		net.Delay = roundTrip
		leaf := net.Node("leaf1")
		net.Disconnect(leaf, 2)
		leaf.Ports[2].Counters = mad.PortCountersExtended{LinkDownedCounter: 3, SymbolErrorCounter: 70000}
		net.Node("spine0").Delay = 5 * roundTrip
		topology := discover(t, net.Transport("host0"), fabric.Options{Counters: true})
		id := fabric.PortID{Node: leaf.GUID, Port: 2}
		if p := topology.Port(id); p.IsLinkUp() || p.Counters == nil || p.Counters.LinkDownedCounter != 3 {
			t.Errorf("counters of a port that is down = %+v", p.Counters)
		}
		if !topology.Complete {
			t.Errorf("unreached %v", topology.Unreached)
		}
		found := false
		for _, ends := range topology.CountedEnds() {
			found = found || len(ends) == 1 && ends[0] == id
		}
		if !found {
			t.Errorf("CountedEnds() = %v, want %v too", topology.CountedEnds(), id)
		}
		near := topology.CountersRead(fabric.PortID{Node: net.Node("leaf0").GUID, Port: 1})
		far := topology.CountersRead(fabric.PortID{Node: net.Node("spine0").GUID, Port: 2})
		// host0 and leaf0 answer after 1 round trip each time, spine0 after 6.
		if !near.After(topology.Started) || far.Sub(near) < 10*roundTrip ||
			far.After(topology.Started.Add(topology.Duration)) {
			t.Errorf("read %v and %v after the start, in a sweep of %v",
				near.Sub(topology.Started), far.Sub(topology.Started), topology.Duration)
		}
		if at := topology.CountersRead(fabric.PortID{Node: leaf.GUID}); !at.IsZero() {
			t.Errorf("the counters of port 0 were read at %v, want never", at)
		}
		again := reread(t, topology)
		if got, want := again.Port(id).CountersAfter, topology.Port(id).CountersAfter; got != want || want == 0 {
			t.Errorf("saved and read: %v after the start, want %v", got, want)
		}
	})
}

// TestCountersWithoutManager checks that a subnet without a manager is complete without the
// counters of the ports that are down, which need LIDs too.
func TestCountersWithoutManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 2, 1)
		net.Delay = roundTrip
		for _, n := range net.Nodes {
			clear(n.LIDs)
			n.PortInfo = func(_ uint8, info *mad.PortInfo) {
				if info.PortState == mad.PortStateActive {
					info.PortState = mad.PortStateInitialize
				}
			}
		}
		net.Disconnect(net.Node("leaf0"), 2)
		topology := discover(t, net.Transport("host0"), fabric.Options{Counters: true})
		if !topology.Complete || topology.HasCounters() {
			t.Errorf("complete %t, unreached %v", topology.Complete, topology.Unreached)
		}
	})
}
