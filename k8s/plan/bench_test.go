package plan

import (
	"fmt"
	"testing"

	"github.com/rdmakit/rdmakit/k8s/source"
)

// manyNodes makes a fleet of nodes with eight cards on two fabrics. In an uneven fleet every eighth
// node has a card less, every third has other numbers of VFs, and the fabrics and rails of every
// fifth are unknown.
func manyNodes(nodes int, uneven bool) source.Cluster {
	var cluster source.Cluster
	for n := range nodes {
		node := source.Node{Name: fmt.Sprintf("gpu-%05d", n), CardsKnown: true}
		for c := range 8 {
			if uneven && n%8 == 0 && c == n/8%8 {
				continue
			}
			pf := source.PF{
				Address: fmt.Sprintf("0000:%02x:00.0", 0x13+c*0x1a), Vendor: "15b3", DeviceID: "1021",
				Netdev: fmt.Sprintf("ib%d", c), LinkType: source.LinkIB,
				Fabric: &source.Fabric{SubnetPrefix: fmt.Sprintf("fec0:0000:0000:00a%d", c/4), SMLID: 1}, Rail: new(c),
				Role: "compute", TotalVFs: 16, VFsKnown: true,
			}
			if uneven && n%3 == 0 {
				pf.TotalVFs = 8
			}
			if uneven && n%5 == 0 {
				pf.Fabric, pf.Rail, pf.Role = nil, nil, ""
			}
			node.PFs = append(node.PFs, pf)
			node.HardwareIDs = append(node.HardwareIDs, fmt.Sprintf("%s b83f:d203:%04x:%04x", pf.Address, n, c))
		}
		node.PFs = append(node.PFs, source.PF{
			Address: "0000:f1:00.0", Vendor: "15b3", DeviceID: "1021", Netdev: "eth0", LinkType: source.LinkETH,
			Role: "storage",
		})
		if uneven && n%5 == 0 {
			node.PFs[len(node.PFs)-1].Role = ""
		}
		cluster.Nodes = append(cluster.Nodes, node)
	}
	return cluster
}

// BenchmarkMake shows that time grows linearly with the number of nodes.
func BenchmarkMake(b *testing.B) {
	for _, uneven := range []bool{false, true} {
		for _, nodes := range []int{1000, 4000} {
			b.Run(fmt.Sprintf("nodes=%d/uneven=%t", nodes, uneven), func(b *testing.B) {
				cluster := manyNodes(nodes, uneven)
				for b.Loop() {
					if _, err := Make(cluster, Options{VFs: 8, CheckPods: 2}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
