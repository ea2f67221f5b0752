package fabric_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// patience is how long the C tools wait for a node: 1 s for each of 1 + 3 tries (libibnetdisc's
// defaults).
const patience = 4 * time.Second

// TestSlowLeaf has a leaf switch that takes 800 ms for each answer: no node may be missing.
func TestSlowLeaf(t *testing.T) {
	for name, serial := range map[string]bool{"requests side by side": false, "one request at a time": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := subnet.FatTree(8, 16, 4)
				net.Delay = roundTrip
				leaf := net.Node("leaf3")
				leaf.Delay, leaf.Serial = 800*time.Millisecond, serial
				topology := discover(t, net.Transport("host0"), fabric.Options{})
				if len(topology.Nodes) != 140 || !topology.Complete {
					t.Errorf("%d of 140 nodes, complete %v: %v",
						len(topology.Nodes), topology.Complete, topology.Unreached)
				}
				if n := topology.Node(leaf.GUID); n != nil && (n.Description.String() != "leaf3" || n.Switch == nil) {
					t.Errorf("leaf3 = %q with switch info %v", n.Description, n.Switch)
				}
			})
		})
	}
}

// TestLateAnswersCount has hosts that answer after all tries were sent, each of them.
func TestLateAnswersCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 8, 1)
		net.Delay = roundTrip
		for _, name := range []string{"host3", "host9"} {
			net.Node(name).Delay = 3900 * time.Millisecond
		}
		topology := discover(t, net.Transport("host0"), fabric.Options{})
		if len(topology.Nodes) != 19 || !topology.Complete || len(topology.Anomalies) > 0 {
			t.Errorf("%d of 19 nodes, complete %v: %v, %v", len(topology.Nodes), topology.Complete, topology.Unreached,
				topology.Anomalies)
		}
		if topology.Stats.Late == 0 {
			t.Errorf("stats %+v, want the answers to the other tries among the late ones", topology.Stats)
		}
	})
}

// TestSilentNodesWaitSideBySide has more dead nodes than requests can be outstanding: the others
// are found at once, and the dead ones cost the patience once.
func TestSilentNodesWaitSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const leaves, hosts = 40, 200
		net := subnet.FatTree(leaves, hosts, 2)
		net.Delay = roundTrip
		dead := 0
		for i := range leaves * hosts {
			if i%4 != 0 {
				net.Node(fmt.Sprintf("host%d", i)).Dead = true
				dead++
			}
		}
		want := len(net.Nodes) - dead
		start := time.Now()
		var living time.Duration
		topology := discover(t, net.Transport("host0"), fabric.Options{Progress: func(p fabric.Progress) {
			if p.Nodes == want && living == 0 {
				living = time.Since(start)
			}
		}})
		if len(topology.Nodes) != want || topology.Stats.Unreached != dead {
			t.Errorf("%d nodes, %d unreached, want %d and %d",
				len(topology.Nodes), topology.Stats.Unreached, want, dead)
		}
		if living == 0 || living > 2*time.Second {
			t.Errorf("the living nodes were known after %v, want less than 2s", living)
		}
		if limit := patience + 2*time.Second; topology.Duration < patience || topology.Duration > limit {
			t.Errorf("sweep with %d dead nodes took %v, want %v to %v", dead, topology.Duration, patience, limit)
		}
	})
}

// TestResponseTimeLengthens has a node that reports how long its answers may take, and uses that
// time for its description (specification sections 13.4.6.2 and 14.2.5.6).
func TestResponseTimeLengthens(t *testing.T) {
	for name, report := range map[string]func(*mad.PortInfo){
		"RespTimeValue": func(i *mad.PortInfo) { i.RespTimeValue = 21 }, // 8.6 s
		"SubnetTimeout": func(i *mad.PortInfo) { i.SubnetTimeout = 21 }, // 8.6 s on the way back
		"less than 4 s": func(i *mad.PortInfo) { i.RespTimeValue, i.SubnetTimeout = 1, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := subnet.FatTree(2, 4, 1)
				net.Delay = roundTrip
				slow := net.Node("host5")
				slow.PortInfo = func(_ uint8, info *mad.PortInfo) { report(info) }
				const answers, shortened = 7 * time.Second, 3900 * time.Millisecond
				slow.Lie = func(d *fabric.Datagram) int {
					switch mad.Attribute(d.MAD[17]) {
					case mad.AttributeNodeDescription:
						if slow.Delay = answers; strings.HasPrefix(name, "less") {
							slow.Delay = shortened
						}
					default:
						slow.Delay = 0
					}
					return 1
				}
				topology := discover(t, net.Transport("host0"), fabric.Options{})
				if n := topology.Node(slow.GUID); n == nil || n.Description.String() != "host5" || !topology.Complete {
					t.Errorf("complete %v: %v", topology.Complete, topology.Unreached)
				}
			})
		})
	}
}

// TestUnsetTimes has ports that no subnet manager has configured, as ibsim's: SubnetTimeout is 31,
// 2.4 hours. A dead host costs no more than usual.
func TestUnsetTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 4, 1)
		net.Delay = roundTrip
		for _, n := range net.Nodes {
			n.PortInfo = func(_ uint8, info *mad.PortInfo) { info.SubnetTimeout, info.RespTimeValue = 31, 24 }
		}
		net.Node("host5").Dead = true
		topology := discover(t, net.Transport("host0"), fabric.Options{})
		if len(topology.Unreached) != 1 || topology.Duration > patience+100*time.Millisecond {
			t.Errorf("sweep took %v, want %v; unreached %v", topology.Duration, patience, topology.Unreached)
		}
	})
}

// TestAgentReportsResponseTime is the same for a performance agent.
func TestAgentReportsResponseTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 4, 1)
		net.Delay = roundTrip
		slow := net.Node("host5")
		slow.Lie = func(d *fabric.Datagram) int {
			slow.Delay = 0
			switch class, attribute := mad.Class(d.MAD[1]), mad.Attribute(d.MAD[17]); {
			case class == mad.ClassPerformance && attribute == mad.AttributeClassPortInfo:
				d.MAD[64+7] |= 21 // RespTimeValue: 8.6 s
			case class == mad.ClassPerformance:
				slow.Delay = 7 * time.Second
			}
			return 1
		}
		topology := discover(t, net.Transport("host0"), fabric.Options{Counters: true})
		if p := topology.Node(slow.GUID).Ports[1]; p.Counters == nil || p.Extended == nil || !topology.Complete {
			t.Errorf("counters %v, %v, complete %v: %v", p.Counters, p.Extended, topology.Complete, topology.Unreached)
		}
	})
}

// TestClientWaitsForLateAnswers checks the patience of single requests.
func TestClientWaitsForLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 4, 0)
		net.Delay = time.Millisecond
		path, err := mad.NewPath(1, 3)
		if err != nil {
			t.Fatal(err)
		}
		c := fabric.Client{Transport: net.Transport("host0")}
		net.Node("host2").Delay = 3900 * time.Millisecond
		_, err = c.SMP(t.Context(), fabric.Target{Path: path}, mad.MethodGet, mad.AttributeNodeInfo, 0, nil)
		if err != nil {
			t.Errorf("host that answers after 3.9 s: %v", err)
		}
		net.Node("host2").Dead = true
		start := time.Now()
		c = fabric.Client{Transport: net.Transport("host0")}
		_, err = c.SMP(t.Context(), fabric.Target{Path: path}, mad.MethodGet, mad.AttributeNodeInfo, 0, nil)
		if took := time.Since(start); err == nil || took < patience || took > patience+100*time.Millisecond {
			t.Errorf("dead host: %v after %v, want no answer after %v", err, took, patience)
		}
	})
}

// TestSomeAnswersMissing has a switch that never answers two of its requests, but all others, one
// at a time: it is not given up as silent.
func TestSomeAnswersMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 8, 0)
		net.Delay = roundTrip
		net.Node("leaf0").Lie = func(d *fabric.Datagram) int {
			var h mad.Header
			h.Decode(d.MAD[:]) //nolint:errcheck // long enough
			if h.AttributeID == mad.AttributeNodeDescription ||
				h.AttributeID == mad.AttributePortInfo && h.AttributeModifier == 4 {
				return 0
			}
			return 1
		}
		topology := discover(t, net.Transport("host0"), fabric.Options{PerNode: 1})
		if len(topology.Unreached) != 2 || len(topology.Nodes) != 8 {
			t.Errorf("%d nodes, unreached %v, want 8 nodes and two requests", len(topology.Nodes), topology.Unreached)
		}
	})
}

// TestPingIsLostAfterASecond pings a LID that nobody has.
func TestPingIsLostAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fabric.Client{Transport: subnet.FatTree(1, 2, 0).Transport("host0")}
		start := time.Now()
		_, _, err := c.Ping(t.Context(), fabric.Address{LID: 99, QPN: 1, QKey: fabric.QKeyGSI}, mad.OUIPing())
		if !errors.Is(err, fabric.ErrNoAnswer) || time.Since(start) != time.Second {
			t.Errorf("Ping = %v after %v, want no answer after 1s", err, time.Since(start))
		}
	})
}
