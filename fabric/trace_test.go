package fabric_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// way formats a trace as "host0>1 2<leaf0>3 …: end".
func way(t *fabric.Topology, tr fabric.Trace) string {
	var hops []string
	for i, h := range tr.Hops {
		text := t.Node(h.Node).Name()
		if i > 0 {
			text = fmt.Sprintf("%d<%s", h.In, text)
		}
		if h.Out != 0 {
			text += fmt.Sprintf(">%d", h.Out)
		}
		hops = append(hops, text)
	}
	return strings.Join(hops, " ") + ": " + string(tr.End)
}

func TestTrace(t *testing.T) {
	const across = "host0>1 1<leaf0>3 1<spine0>2 3<leaf1>2 1<host3: arrived"
	tests := []struct {
		name, from, to string
		spoil          func(net *subnet.Subnet, t *fabric.Topology)
		want, reason   string
	}{
		{"across", "host0", "host3", nil, across, ""},
		{"at one switch", "host0", "host1", nil, "host0>1 1<leaf0>2 1<host1: arrived", ""},
		{"itself", "host0", "host0", nil, "host0: arrived", ""},
		{"to a switch", "host0", "spine0", nil, "host0>1 1<leaf0>3 1<spine0: arrived", ""},
		{"from a switch", "leaf0", "host3", nil, "leaf0>3 1<spine0>2 3<leaf1>2 1<host3: arrived", ""},
		{"by one of several LIDs", "host0", "41", func(_ *subnet.Subnet, t *fabric.Topology) {
			host, _ := t.Find("host3")
			t.Port(host.Port).Info.LID, t.Port(host.Port).Info.LMC = 40, 2
			for _, name := range []string{"leaf0", "spine0", "leaf1"} {
				n := node(t, name)
				n.Routes = append(n.Routes, make([]uint8, 64)...)
				n.Routes[41] = n.Routes[host.LID]
			}
		}, across, ""},
		{
			"no route", "host0", "host3",
			func(_ *subnet.Subnet, t *fabric.Topology) { reroute(t, "spine0", mad.LFTPortNone) },
			"host0>1 1<leaf0>3 1<spine0: black-hole", "spine0 has no route to LID 6",
		},
		{
			"a table too short", "host0", "host3",
			func(_ *subnet.Subnet, t *fabric.Topology) { node(t, "spine0").Routes = []uint8{} },
			"host0>1 1<leaf0>3 1<spine0: black-hole", "spine0 has no route to LID 6",
		},
		{
			"a port that is not there", "host0", "host3",
			func(_ *subnet.Subnet, t *fabric.Topology) { reroute(t, "spine0", 77) },
			"host0>1 1<leaf0>3 1<spine0: black-hole", "spine0 routes LID 6 to port 77 of 2",
		},
		{"a port that is down", "host0", "host3", func(_ *subnet.Subnet, t *fabric.Topology) {
			p := &node(t, "spine0").Ports[2]
			p.Peer, p.Info.PortPhysicalState = fabric.PortID{}, mad.PortPhysicalStatePolling
		}, "host0>1 1<leaf0>3 1<spine0>2: black-hole", "port 2 of spine0, the route to LID 6, " +
			"is down (Polling)"},
		{"a port that doesn't forward", "host0", "host3", func(_ *subnet.Subnet, t *fabric.Topology) {
			node(t, "spine0").Ports[2].Info.PortState = mad.PortStateArmed
		}, "host0>1 1<leaf0>3 1<spine0>2: black-hole", "port 2 of spine0, the route to LID 6, " +
			"is not active (Armed)"},
		{"an unknown node behind a port", "host0", "host3", func(_ *subnet.Subnet, t *fabric.Topology) {
			node(t, "spine0").Ports[2].Peer = fabric.PortID{}
		}, "host0>1 1<leaf0>3 1<spine0>2: unknown", "the node behind port 2 of spine0 did not answer"},
		{"a port of which nothing is known", "host0", "host3", func(_ *subnet.Subnet, t *fabric.Topology) {
			node(t, "spine0").Ports[2] = fabric.Port{}
		}, "host0>1 1<leaf0>3 1<spine0>2: unknown", "port 2 of spine0 did not answer"},
		{
			"a table that was not read", "host0", "host3",
			func(_ *subnet.Subnet, t *fabric.Topology) { node(t, "leaf0").Routes = nil },
			"host0>1 1<leaf0: unknown", "the route of leaf0 to LID 6 is unknown: its forwarding table was not read",
		},
		{
			"a loop", "host0", "host3", func(_ *subnet.Subnet, t *fabric.Topology) { reroute(t, "spine0", 1) },
			"host0>1 1<leaf0>3 1<spine0>1 3<leaf0: loop", "leaf0 is passed for the second time",
		},
		{
			"to the wrong host", "host0", "host3",
			func(_ *subnet.Subnet, t *fabric.Topology) { reroute(t, "leaf1", 1) },
			"host0>1 1<leaf0>3 1<spine0>2 3<leaf1>1 1<host2: stray", "host2 doesn't have LID 6",
		},
		{
			"to the switch itself", "host0", "host3",
			func(_ *subnet.Subnet, t *fabric.Topology) { reroute(t, "leaf1", 0) },
			"host0>1 1<leaf0>3 1<spine0>2 3<leaf1: stray",
			"leaf1 delivers packets to LID 6 to itself, but doesn't have that LID",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			net := subnet.FatTree(2, 2, 1)
			topology := swept(t, net)
			if tt.spoil != nil {
				tt.spoil(net, topology)
			}
			from, err := topology.Find(tt.from)
			if err != nil {
				t.Fatal(err)
			}
			to, err := topology.Find(tt.to)
			if err != nil {
				t.Fatal(err)
			}
			tr, err := topology.Trace(from, to, fabric.RoutesRead)
			if err != nil {
				t.Fatal(err)
			}
			if got := way(topology, tr); got != tt.want || tr.Reason != tt.reason {
				t.Errorf("Trace(%s, %s) = %s (%s), want %s (%s)", tt.from, tt.to, got, tr.Reason, tt.want, tt.reason)
			}
		})
	}
}

// TestTraceOtherWays checks where the linear tables name one of several ways.
func TestTraceOtherWays(t *testing.T) {
	for _, test := range []struct {
		name, from, to string
		leaves, spines int
		spoil          func(t *fabric.Topology)
		want           string // the other ports of each hop on ways that are no longer
		several        bool
	}{
		{"two spines", "host0", "host3", 2, 2, nil, "[] [4] [] [] []", true},
		{"three spines", "host0", "host3", 2, 3, nil, "[] [4 5] [] [] []", true},
		{"one spine", "host0", "host3", 2, 1, nil, "[] [] [] [] []", false},
		{"one spine that could send to a third leaf", "host0", "host3", 3, 1, nil, "[] [] [] [] []", true},
		{"one switch", "host0", "host1", 2, 3, nil, "[] [] []", false},
		{"to a switch", "host0", "spine0", 2, 2, nil, "[] [] []", true},
		{"a spine that is not active", "host0", "host3", 2, 2, func(t *fabric.Topology) {
			node(t, "leaf0").Ports[4].Info.PortState = mad.PortStateInitialize
		}, "[] [] [] [] []", false},
		{"a black hole that adaptive routing may avoid", "host0", "host3", 2, 2, func(t *fabric.Topology) {
			p := &node(t, "leaf0").Ports[3]
			p.Peer, p.Info.PortPhysicalState = fabric.PortID{}, mad.PortPhysicalStatePolling
		}, "[] [4]", true},
	} {
		topology := swept(t, subnet.FatTree(test.leaves, 2, test.spines))
		if test.spoil != nil {
			test.spoil(topology)
		}
		from, _ := topology.Find(test.from)
		to, _ := topology.Find(test.to)
		tr, err := topology.Trace(from, to, fabric.RoutesRead)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range tr.Hops {
			got = append(got, fmt.Sprintf("%d", h.Others))
		}
		if text := strings.Join(got, " "); text != test.want || tr.OneOfSeveral != test.several {
			t.Errorf("%s: other ports %s, one of several: %t, want %s, %t",
				test.name, text, tr.OneOfSeveral, test.want, test.several)
		}
	}
}

// TestTraceOtherWaysAcross has a switch beside the path that is as far from the end as the switch
// in front of it: the way through it is longer.
func TestTraceOtherWaysAcross(t *testing.T) {
	net := subnet.New()
	a, b, end := net.Add("a", mad.NodeTypeSwitch, 4), net.Add("b", mad.NodeTypeSwitch, 4),
		net.Add("end", mad.NodeTypeSwitch, 4)
	from, to := net.Add("host0", mad.NodeTypeCA, 1), net.Add("host1", mad.NodeTypeCA, 1)
	net.Connect(a, 1, from, 1)
	net.Connect(a, 2, end, 1)
	net.Connect(a, 3, b, 1)
	net.Connect(b, 2, end, 2)
	net.Connect(end, 3, to, 1)
	topology := swept(t, net)
	source, _ := topology.Find("host0")
	target, _ := topology.Find("host1")
	tr, err := topology.Trace(source, target, fabric.RoutesRead)
	if err != nil || len(tr.Hops) != 4 || len(tr.Hops[1].Others) != 0 || !tr.OneOfSeveral {
		t.Errorf("Trace = %+v, %v, want no other way as short, but one that is longer", tr, err)
	}
}

func node(t *fabric.Topology, name string) *fabric.Node {
	e, err := t.Find(name)
	if err != nil {
		panic(err)
	}
	return t.Node(e.Port.Node)
}

// reroute changes the route of a switch to host3.
func reroute(t *fabric.Topology, sw string, port uint8) {
	e, err := t.Find("host3")
	if err != nil {
		panic(err)
	}
	node(t, sw).Routes[e.LID] = port
}

func TestTraceErrors(t *testing.T) {
	topology := swept(t, subnet.FatTree(2, 2, 1))
	host0, _ := topology.Find("host0")
	host3, _ := topology.Find("host3")
	if _, err := topology.Trace(host0, fabric.Endpoint{Port: host3.Port},
		fabric.RoutesRead); !errors.Is(err, fabric.ErrNoLID) {
		t.Errorf("Trace to a port without LID: %v, want ErrNoLID", err)
	}
	if _, err := topology.Trace(fabric.Endpoint{Port: host0.Port}, host3,
		fabric.RoutesRead); !errors.Is(err, fabric.ErrNoLID) {
		t.Errorf("Trace from a port without LID: %v, want ErrNoLID", err)
	}
	if _, err := topology.Trace(host0, fabric.Endpoint{Port: fabric.PortID{Node: ib.GUID{9}}, LID: 5},
		fabric.RoutesRead); !errors.Is(err, fabric.ErrNoNode) {
		t.Errorf("Trace to nobody: %v, want ErrNoNode", err)
	}
	stopped := func(*fabric.Node, ib.LID) (uint8, error) { return 0, context.Canceled }
	if _, err := topology.Trace(host0, host3, stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("Trace that is cancelled: %v, want its cause", err)
	}
}

// TestRouteLookup checks that a trace queries its switches, and each block once.
func TestRouteLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 2, 1)
		net.Delay = roundTrip
		transport := net.Transport("host0")
		topology := discover(t, transport, fabric.Options{})
		client := fabric.Client{Transport: transport, Retries: -1}
		lookup := client.RouteLookup(t.Context())
		from, _ := topology.Find("host0")
		to, _ := topology.Find("host3")
		before := net.Node("spine0").Asked
		for range 2 {
			tr, err := topology.Trace(from, to, lookup)
			if err != nil || tr.End != fabric.TraceArrived || len(tr.Hops) != 5 {
				t.Fatalf("Trace = %+v, %v, want an arrival by 5 nodes", tr, err)
			}
		}
		if asked := net.Node("spine0").Asked - before; asked != 1 {
			t.Errorf("the spine was asked %d times for one block, want 1", asked)
		}
		net.Node("spine0").Dead = true
		tr, err := topology.Trace(from, to, client.RouteLookup(t.Context()))
		if err != nil || tr.End != fabric.TraceUnknown ||
			!strings.Contains(tr.Reason, "the route of spine0 to LID 6 is unknown: ") {
			t.Errorf("Trace by a dead switch = %+v, %v, want an unknown end", tr, err)
		}
	})
}
