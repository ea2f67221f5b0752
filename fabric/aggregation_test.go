package fabric_test

import (
	"testing"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestAggregationNodes has an aggregation node at each switch, as ibnetdiscover prints one at port
// 41 of an MQM8700: a spine with one is not a leaf.
func TestAggregationNodes(t *testing.T) {
	for name, mark := range map[string]func(*subnet.Node){
		"vendor and device": func(n *subnet.Node) { n.VendorID, n.DeviceID = 0x2c9, 0xcf09 },
		"description":       func(n *subnet.Node) { n.Description = "Mellanox Technologies Aggregation Node" },
	} {
		net := subnet.New()
		leaf, spine := net.Add("leaf0", mad.NodeTypeSwitch, 40), net.Add("spine0", mad.NodeTypeSwitch, 40)
		host := net.Add("host0", mad.NodeTypeCA, 1)
		net.Connect(leaf, 1, host, 1)
		net.Connect(leaf, 40, spine, 1)
		for _, sw := range []*subnet.Node{leaf, spine} {
			inside := net.Add("inside "+sw.Name, mad.NodeTypeCA, 1)
			net.Connect(sw, 39, inside, 1)
			mark(inside)
		}
		topology := swept(t, net)
		hosts, aggregation := 0, 0
		for _, n := range topology.Nodes {
			if n.IsHost() {
				hosts++
			}
			if n.IsAggregation() {
				aggregation++
			}
		}
		tiers := topology.Tiers()
		if hosts != 1 || aggregation != 2 || tiers[leaf.GUID] != 1 || tiers[spine.GUID] != 2 {
			t.Errorf("%s: %d hosts, %d aggregation nodes, tiers %d and %d; want 1, 2, 1 and 2",
				name, hosts, aggregation, tiers[leaf.GUID], tiers[spine.GUID])
		}
	}
	for name, info := range map[string]mad.NodeInfo{
		"another device":  {NodeType: mad.NodeTypeCA, VendorID: 0x2c9, DeviceID: 0x101b},
		"another vendor":  {NodeType: mad.NodeTypeCA, VendorID: 0x119f, DeviceID: 0xcf09},
		"a switch":        {NodeType: mad.NodeTypeSwitch, VendorID: 0x2c9, DeviceID: 0xcf09},
		"a router":        {NodeType: mad.NodeTypeRouter, VendorID: 0x2c9, DeviceID: 0xcf09},
		"a host's device": {NodeType: mad.NodeTypeCA},
	} {
		n := &fabric.Node{Info: info}
		if n.IsAggregation() || n.IsHost() == n.IsSwitch() {
			t.Errorf("%s: aggregation node %t, host %t", name, n.IsAggregation(), n.IsHost())
		}
	}
}
