package fabric_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

const roundTrip = 100 * time.Microsecond

// counter counts the sent MADs of each class and attribute.
type counter struct {
	fabric.Transport
	sent map[asked]int
}

type asked struct {
	class     mad.Class
	attribute mad.Attribute
}

func smp(a mad.Attribute) asked { return asked{mad.ClassSubnetDirected, a} }

func (c *counter) Send(batch []fabric.Datagram) (int, error) {
	n, err := c.Transport.Send(batch)
	for i := range n {
		var h mad.Header
		h.Decode(batch[i].MAD[:]) //nolint:errcheck // long enough
		c.sent[asked{h.MgmtClass, h.AttributeID}]++
	}
	return n, err
}

func discover(t testing.TB, transport fabric.Transport, o fabric.Options) *fabric.Topology {
	t.Helper()
	topology, err := fabric.Discover(t.Context(), transport, o)
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

func TestNothingIsAskedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(4, 8, 2)
		net.Delay = roundTrip
		c := &counter{net.Transport("host0"), map[asked]int{}}
		topology := discover(t, c, fabric.Options{Routes: true})
		const nodes, links, switchPorts = 38, 40, 4*11 + 2*5
		if len(topology.Nodes) != nodes || len(topology.Links()) != links || !topology.Complete ||
			len(topology.Anomalies) > 0 {
			t.Errorf("got %d nodes, %d links, complete %v, %v",
				len(topology.Nodes), len(topology.Links()), topology.Complete, topology.Anomalies)
		}
		// A cable between switches may be queried from both ends before the answers arrive.
		if got := c.sent[smp(mad.AttributeNodeInfo)]; got < links+1 || got > links+1+8 {
			t.Errorf("node infos sent = %d, want one for each link and one for the local node, %d", got, links+1)
		}
		for attribute, want := range map[mad.Attribute]int{
			mad.AttributeNodeDescription: nodes, mad.AttributeSwitchInfo: 6,
			mad.AttributePortInfo: switchPorts + 32, mad.AttributeLFT: 6,
		} {
			if c.sent[smp(attribute)] != want {
				t.Errorf("MADs of attribute 0x%x sent = %d, want %d", uint16(attribute), c.sent[smp(attribute)], want)
			}
		}
		leaf := topology.Node(net.Node("leaf1").GUID)
		if got := leaf.Routes[net.Node("host9").LIDs[1]]; got != 2 {
			t.Errorf("leaf1 sends to host9 by port %d, want 2", got)
		}
		if topology.Stats.Window <= 4 {
			t.Errorf("window grew to %d, want more than its start, 4", topology.Stats.Window)
		}
	})
}

// requests counts identical requests to the same port by the same route.
type requests struct {
	fabric.Transport
	sent map[[mad.Len]byte]int
}

func (q *requests) Send(batch []fabric.Datagram) (int, error) {
	n, err := q.Transport.Send(batch)
	for i := range n {
		request := batch[i].MAD
		clear(request[8:16]) // the transaction ID
		request[255] = byte(batch[i].Address.LID)
		q.sent[request]++
	}
	return n, err
}

// TestNoRequestTwice checks that a sweep for all data, with and without an earlier sweep, sends no
// request twice.
func TestNoRequestTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := rich()
		o := everything()
		for range 2 {
			q := &requests{net.Transport("host0"), map[[mad.Len]byte]int{}}
			o.Previous = discover(t, q, o)
			repeated := 0
			for request, times := range q.sent {
				if times > 1 {
					repeated++
					var h mad.Header
					h.Decode(request[:]) //nolint:errcheck // long enough
					if repeated > 1 {
						t.Errorf("class 0x%x attribute 0x%x modifier %d was asked %d times",
							uint8(h.MgmtClass), uint16(h.AttributeID), h.AttributeModifier, times)
					}
				}
			}
			if repeated != 1 || len(q.sent) < 100 {
				t.Errorf("%d of %d requests were repeated, want the one to the dead host", repeated, len(q.sent))
			}
		}
	})
}

func TestCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(3, 3, 2)
		net.Delay = roundTrip
		host, leaf := net.Node("host4"), net.Node("leaf1")
		host.Ports[1].Counters = mad.PortCountersExtended{SymbolErrorCounter: 1 << 20, PortXmitData: 1 << 40}
		leaf.Ports[4].Counters.PortXmitWait = 77
		net.Node("host5").LIDs[1] = 0
		c := &counter{net.Transport("host0"), map[asked]int{}}
		topology := discover(t, c, fabric.Options{Counters: true})
		port := topology.Port(fabric.PortID{Node: host.GUID, Port: 1})
		if port.Counters == nil || port.Extended == nil || port.Counters.SymbolErrorCounter != 0xffff ||
			port.Extended.PortXmitData != 1<<40 {
			t.Errorf("counters of host4 = %+v, %+v", port.Counters, port.Extended)
		}
		if p := topology.Port(fabric.PortID{Node: leaf.GUID, Port: 4}); p.Counters == nil ||
			p.Counters.PortXmitWait != 77 {
			t.Errorf("counters of leaf1 port 4 = %+v", p.Counters)
		}
		const ports = 2*(9+6) - 1 // both ends of each cable, except the host without a LID
		if got := c.sent[asked{mad.ClassPerformance, mad.AttributePortCounters}]; got != ports {
			t.Errorf("counters asked of %d ports, want those of the %d that are up", got, ports)
		}
		if len(topology.Unreached) != 1 || topology.Unreached[0].Node != net.Node("host5").GUID ||
			topology.Unreached[0].What != "performance agent" {
			t.Errorf("unreached = %v, want host5's performance agent, which has no LID", topology.Unreached)
		}
	})
}

func TestDeadNodesCostABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(32, 32, 4)
		net.Delay = roundTrip
		alive := discover(t, net.Transport("host0"), fabric.Options{})
		const dead = 100
		for i := range dead {
			net.Node(fmt.Sprintf("host%d", 10*i+1)).Dead = true
		}
		topology := discover(t, net.Transport("host0"), fabric.Options{})
		if topology.Complete || len(topology.Unreached) != dead || len(topology.Nodes) != len(alive.Nodes)-dead {
			t.Errorf("complete %v, %d unreached, %d nodes; want false, %d, %d",
				topology.Complete, len(topology.Unreached), len(topology.Nodes), dead, len(alive.Nodes)-dead)
		}
		u := topology.Unreached[0]
		if u.What != "node behind port" || !strings.HasPrefix(u.Reason, "no answer to 4 tries in 4s") ||
			u.Node != net.Node("leaf0").GUID || u.Port != 2 {
			t.Errorf("first unreached = %v", u)
		}
		if limit := alive.Duration + patience + 100*time.Millisecond; topology.Duration > limit {
			t.Errorf("sweep with %d dead nodes took %v, without %v: want at most %v",
				dead, topology.Duration, alive.Duration, limit)
		}
	})
}

// TestSwitchThatFallsSilent lets a switch fail in the middle of the sweep: it is given up
// completely.
func TestSwitchThatFallsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(4, 30, 1)
		net.Delay = roundTrip
		leaf := net.Node("leaf2")
		leaf.Lie = func(*fabric.Datagram) int {
			if leaf.Asked > 5 {
				leaf.Dead = true
				return 0
			}
			return 1
		}
		topology := discover(t, net.Transport("host0"), fabric.Options{})
		if topology.Complete || len(topology.Nodes) < 3*31+2 {
			t.Errorf("complete %v with %d nodes", topology.Complete, len(topology.Nodes))
		}
		if topology.Duration > patience+500*time.Millisecond {
			t.Errorf("sweep took %v, want the patience with one request, %v", topology.Duration, patience)
		}
		if !slices.ContainsFunc(topology.Unreached, func(u fabric.Unreached) bool {
			return u.Node == leaf.GUID && u.Reason == "the node stopped answering"
		}) {
			t.Errorf("unreached does not name %x as silent: %v", leaf.GUID, topology.Unreached)
		}
	})
}

func TestLossDuplicatesAndBackPressure(t *testing.T) {
	for name, spoil := range map[string]func(*subnet.Subnet){
		"loss": func(s *subnet.Subnet) {
			random := rand.New(rand.NewPCG(1, 2))
			lie(s, func(*fabric.Datagram) int { return min(1, random.IntN(20)) })
		},
		"duplicates":    func(s *subnet.Subnet) { lie(s, func(*fabric.Datagram) int { return 2 }) },
		"back-pressure": func(s *subnet.Subnet) { s.Queue = 3 },
		"slow node":     func(s *subnet.Subnet) { s.Node("host7").Delay = 300 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := subnet.FatTree(8, 16, 4)
				net.Delay = roundTrip
				spoil(net)
				topology := discover(t, net.Transport("host0"), fabric.Options{})
				if len(topology.Nodes) != 8*17+4 || len(topology.Links()) != 8*16+32 || !topology.Complete ||
					len(topology.Anomalies) > 0 {
					t.Errorf("%d nodes, %d links, complete %v, anomalies %v, unreached %v",
						len(topology.Nodes), len(topology.Links()), topology.Complete, topology.Anomalies,
						topology.Unreached)
				}
				if topology.Duration > 5*time.Second {
					t.Errorf("took %v", topology.Duration)
				}
			})
		})
	}
}

// loser returns the first requests for SMInfo as lost.
type loser struct {
	fabric.Transport
	left int
	lost []fabric.Datagram
}

func (l *loser) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		if l.left > 0 && mad.Attribute(batch[i].MAD[17]) == mad.AttributeSMInfo {
			l.left--
			l.lost = append(l.lost, batch[i])
			l.lost[len(l.lost)-1].Lost = true
		} else if n, err := l.Transport.Send(batch[i : i+1]); n != 1 || err != nil {
			return i, err
		}
	}
	return len(batch), nil
}

func (l *loser) Receive(ctx context.Context, batch []fabric.Datagram, deadline time.Time) (int, error) {
	if len(l.lost) > 0 {
		n := copy(batch, l.lost)
		l.lost = l.lost[n:]
		return n, nil
	}
	return l.Transport.Receive(ctx, batch, deadline)
}

// TestLastTryWaits lets the transport report three losses at once, and the fourth try take longer
// than the timeouts of those.
func TestLastTryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 4, 1)
		net.Delay = roundTrip
		slow := net.Node("host5")
		slow.Manager = &mad.SMInfo{State: mad.SMStateStandby}
		net.MasterLID = 0
		slow.Lie = func(d *fabric.Datagram) int {
			if mad.Attribute(d.MAD[17]) == mad.AttributeSMInfo {
				slow.Delay = 60 * time.Millisecond
			}
			return 1
		}
		topology := discover(t, &loser{Transport: net.Transport("host0"), left: 3},
			fabric.Options{SubnetManagers: true})
		if !topology.Complete || topology.Stats.Retries < 3 {
			t.Errorf("complete %v with %d retries: %v", topology.Complete, topology.Stats.Retries, topology.Unreached)
		}
	})
}

func lie(s *subnet.Subnet, f func(*fabric.Datagram) int) {
	for _, n := range s.Nodes {
		n.Lie = f
	}
}

// rewrite returns a liar that changes its node infos.
func rewrite(change func(*mad.NodeInfo)) func(*fabric.Datagram) int {
	return func(d *fabric.Datagram) int {
		var packet mad.DirectedSMP
		packet.Decode(d.MAD[:]) //nolint:errcheck // long enough
		if packet.AttributeID == mad.AttributeNodeInfo {
			var info mad.NodeInfo
			info.Decode(packet.Data[:]) //nolint:errcheck // long enough
			change(&info)
			info.Append(packet.Data[:0])
			packet.Append(d.MAD[:0])
		}
		return 1
	}
}

func TestAnomalies(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*subnet.Subnet)
		want  fabric.AnomalyKind

		maxNodes int
	}{
		{
			"two nodes, one GUID", func(s *subnet.Subnet) { s.Node("host5").GUID = s.Node("host9").GUID },
			fabric.AnomalyDuplicateGUID, 0,
		},
		{"no GUID", func(s *subnet.Subnet) {
			s.Node("host5").Lie = rewrite(func(i *mad.NodeInfo) { i.NodeGUID = ib.GUID{} })
		}, fabric.AnomalyNoGUID, 0},
		{"no such type", func(s *subnet.Subnet) {
			s.Node("host5").Lie = rewrite(func(i *mad.NodeInfo) { i.NodeType = 9 })
		}, fabric.AnomalyNodeType, 0},
		{"port above the last", func(s *subnet.Subnet) {
			s.Node("host5").Lie = rewrite(func(i *mad.NodeInfo) { i.LocalPortNum = 77 })
		}, fabric.AnomalyPortRange, 0},
		{"255 ports", func(s *subnet.Subnet) {
			s.Node("spine0").Lie = rewrite(func(i *mad.NodeInfo) { i.NumPorts = 255 })
		}, fabric.AnomalyPortRange, 0},
		{"another self each time", func(s *subnet.Subnet) {
			device := uint16(0)
			lie(s, rewrite(func(i *mad.NodeInfo) { device++; i.DeviceID = device }))
		}, fabric.AnomalyChanged, 0},
		{"a port cabled to itself", func(s *subnet.Subnet) {
			leaf := s.Node("leaf1")
			s.Connect(leaf, 3, leaf, 3)
		}, fabric.AnomalySelfLink, 0},
		{"answers to another request", func(s *subnet.Subnet) {
			s.Node("host5").Lie = func(d *fabric.Datagram) int { d.MAD[17] = 0x33; return 1 }
		}, fabric.AnomalyForeign, 0},
		{"an endless chain", func(s *subnet.Subnet) {
			last := s.Node("leaf1")
			last.Ports = append(last.Ports, subnet.Port{})
			last.LIDs = append(last.LIDs, 0)
			port := uint8(len(last.Ports) - 1)
			for i := range 70 {
				next := s.Add(fmt.Sprintf("chain%d", i), mad.NodeTypeSwitch, 2)
				s.Connect(last, port, next, 1)
				last, port = next, 2
			}
		}, fabric.AnomalyTooFar, 0},
		{"more nodes than there may be", func(s *subnet.Subnet) {
			serial := byte(0) // each request to a node finds a different one
			lie(s, rewrite(func(i *mad.NodeInfo) { serial++; i.NodeGUID[1] = serial }))
		}, fabric.AnomalyTooMany, 50},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := subnet.FatTree(4, 4, 2)
				net.Delay = roundTrip
				test.spoil(net)
				topology := discover(t, net.Transport("host0"), fabric.Options{MaxNodes: test.maxNodes})
				if !slices.ContainsFunc(topology.Anomalies,
					func(a fabric.Anomaly) bool { return a.Kind == test.want }) {
					t.Errorf("anomalies = %v, want one of kind %s", topology.Anomalies, test.want)
				}
				checkSound(t, topology)
			})
		})
	}
}

// checkSound fails unless the topology is consistent.
func checkSound(t *testing.T, topology *fabric.Topology) {
	t.Helper()
	seen := map[ib.GUID]bool{}
	for _, n := range topology.Nodes {
		if seen[n.GUID()] || topology.Node(n.GUID()) != n || n.GUID().IsZero() {
			t.Errorf("node %x twice, not found by its GUID, or without", n.GUID())
		}
		seen[n.GUID()] = true
		if len(n.Ports) != int(n.Info.NumPorts)+1 {
			t.Errorf("node %x has %d ports and room for %d", n.GUID(), n.Info.NumPorts, len(n.Ports))
		}
		for i := range n.Ports {
			if !n.Ports[i].HasPeer() {
				continue
			}
			here := fabric.PortID{Node: n.GUID(), Port: uint8(i)}
			if peer := topology.Port(n.Ports[i].Peer); peer == nil || peer.Peer != here {
				t.Errorf("cable from %s ends at %s and doesn't come back", here, n.Ports[i].Peer)
			}
		}
	}
}

func TestCancelAndBudget(t *testing.T) {
	net := subnet.FatTree(8, 16, 4)
	net.Delay = 5 * time.Millisecond
	t.Run("cancel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			why := errors.New("the user has seen enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			calls := 0
			topology, err := fabric.Discover(ctx, net.Transport("host0"), fabric.Options{
				MaxWindow: 1, Progress: func(p fabric.Progress) {
					if calls++; p.Nodes > 5 {
						cancel(why)
					}
				},
			})
			if !errors.Is(err, why) || len(topology.Nodes) < 6 || topology.Complete || calls < 2 {
				t.Errorf("Discover = %d nodes, complete %v, error %v behind %d calls of Progress",
					len(topology.Nodes), topology.Complete, err, calls)
			}
			checkSound(t, topology)
		})
	})
	t.Run("budget", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			topology := discover(t, net.Transport("host0"), fabric.Options{MaxWindow: 1, Budget: 20 * time.Millisecond})
			if topology.Complete || topology.Duration < 20*time.Millisecond ||
				topology.Duration > 21*time.Millisecond || len(topology.Unreached) == 0 {
				t.Errorf("complete %v behind %v, unreached %v",
					topology.Complete, topology.Duration, topology.Unreached)
			}
			checkSound(t, topology)
		})
	})
	t.Run("own port silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			dead := subnet.FatTree(1, 2, 1)
			dead.Node("host0").Lie = func(*fabric.Datagram) int { return 0 }
			topology, err := fabric.Discover(t.Context(), dead.Transport("host0"), fabric.Options{})
			if !errors.Is(err, fabric.ErrNoAnswer) || topology.Complete {
				t.Errorf("Discover = complete %v, %v, want ErrNoAnswer", topology.Complete, err)
			}
		})
	})
	t.Run("options", func(t *testing.T) {
		for _, o := range []fabric.Options{
			{MaxWindow: -1},
			{MaxWindow: 1 << 20},
			{PerNode: -1},
			{Retries: 16},
			{Budget: -1},
			{MaxNodes: -1},
			{Timeout: -1},
			{MaxAnomalies: -1},
		} {
			if _, err := fabric.Discover(t.Context(), net.Transport("host0"), o); err == nil {
				t.Errorf("Discover accepts %+v", o)
			}
		}
	})
}

// BenchmarkDiscover sweeps a fabric of 100,000 ports that answers immediately.
func BenchmarkDiscover(b *testing.B) {
	net := subnet.FatTree(200, 200, 50)
	for b.Loop() {
		topology := discover(b, net.Transport("host0"), fabric.Options{})
		if len(topology.Nodes) != 200+200*200+50 || !topology.Complete {
			b.Fatalf("%d nodes, complete %v", len(topology.Nodes), topology.Complete)
		}
		b.ReportMetric(float64(topology.Stats.Sent), "MADs")
	}
}

// FuzzLyingFabric changes the answers of all nodes at random: the sweep must end in time with a
// consistent topology.
func FuzzLyingFabric(f *testing.F) {
	f.Add(uint64(1), uint64(2), []byte{64 + 2, 64 + 3, 64 + 36})
	f.Add(uint64(3), uint64(40), []byte{1, 3, 4, 16, 17, 20, 23})
	f.Add(uint64(5), uint64(6), []byte{12, 13, 14, 15})
	f.Add(uint64(2), uint64(30), []byte{64 + 12, 64 + 36, 64 + 16, 64 + 20})
	honest := discover(f, subnet.FatTree(3, 3, 2).Transport("host0"), fabric.Options{})
	f.Fuzz(func(t *testing.T, seed, rarity uint64, offsets []byte) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, rarity))
			net := subnet.FatTree(3, 3, 2)
			net.Delay = roundTrip
			lie(net, func(d *fabric.Datagram) int {
				if len(offsets) > 0 && random.Uint64N(rarity%64+1) == 0 {
					d.MAD[offsets[random.IntN(len(offsets))]] = byte(random.Uint32())
				}
				if random.IntN(64) == 0 {
					return random.IntN(3)
				}
				return 1
			})
			start := time.Now()
			o := everything()
			o.MaxNodes, o.MaxAnomalies, o.Budget = 60, 50, 10*time.Second
			for name, state := range map[string]mad.SMState{"host2": mad.SMStateMaster, "host5": mad.SMStateStandby} {
				net.Node(name).Manager = &mad.SMInfo{State: state}
			}
			if seed%2 == 0 {
				o.Previous = honest
			}
			topology, err := fabric.Discover(t.Context(), net.Transport("host0"), o)
			if err != nil && !errors.Is(err, fabric.ErrNoAnswer) {
				t.Errorf("Discover: %v", err)
			}
			if took := time.Since(start); took > o.Budget+time.Second {
				t.Errorf("took %v", took)
			}
			if len(topology.Nodes) > o.MaxNodes || len(topology.Anomalies) > o.MaxAnomalies {
				t.Errorf("%d nodes, %d anomalies", len(topology.Nodes), len(topology.Anomalies))
			}
			checkSound(t, topology)
			checkRoundTrip(t, topology)
		})
	})
}
