package impact

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// TestManyCards evaluates a node with more PFs than real nodes have, within seconds: a change is
// tried on its card only.
func TestManyCards(t *testing.T) {
	const n = 200
	var pfs []string
	for i := range n {
		pfs = append(pfs, pfText(fmt.Sprintf("i%d", i), fmt.Sprintf("0000:%02x:%02x.0", i>>5, i&31),
			"linkType: IB, mtu: 4092, numVfs: 512, totalvfs: 512"))
	}
	in := input(t,
		policyText("a", `numVfs: 4, isRdma: true, linkType: IB, priority: 10, nicSelector: {vendor: "15b3"}`),
		nodeText("a", "")+stateText("a", "{interfaces: []}", "syncStatus: Succeeded", pfs...))
	start := time.Now()
	r := Run(in)
	took := time.Since(start)
	if len(r.Nodes) != 1 || len(r.Nodes[0].Cards) != n || len(r.Nodes[0].Cards[0].Reasons[0].Avoid) == 0 {
		t.Fatalf("Run reports %d nodes, want one with %d cards and ways to avoid it", len(r.Nodes), n)
	}
	t.Logf("%d cards in %s", n, took)
	if took > 8*time.Second {
		t.Errorf("took %s", took)
	}
}

// TestManyNodes evaluates a large cluster with many policies without priorities, which are
// evaluated twice.
func TestManyNodes(t *testing.T) {
	const nodes, policies = 4000, 40
	var apply strings.Builder
	for i := range policies {
		apply.WriteString(policyText(fmt.Sprintf("p%02d", i),
			fmt.Sprintf(`numVfs: 8, linkType: IB, nicSelector: {pfNames: ["ibs%d"]}`, i%8)))
	}
	in := input(t, apply.String(), nodeText("n", ""))
	in.Cluster.Nodes = nil
	for i := range nodes {
		state := k8s.SriovNetworkNodeState{Metadata: k8s.ObjectMeta{Name: fmt.Sprintf("n%04d", i), Namespace: "sriov"}}
		for c := range 8 {
			state.Status.Interfaces = append(state.Status.Interfaces, k8s.Interface{
				Name: fmt.Sprintf("ibs%d", c), PciAddress: fmt.Sprintf("0000:%02x:00.0", c),
				Vendor:   k8s.VendorMellanox,
				DeviceID: "1021", Driver: "mlx5_core", LinkType: source.LinkIB, Mtu: 4092, NumVfs: 4, TotalVfs: 4,
			})
		}
		in.Cluster.Nodes = append(in.Cluster.Nodes, source.FromNodeState(state, "x"))
	}
	start := time.Now()
	r := Run(in)
	took := time.Since(start)
	if r.Counts.Reboot != nodes {
		t.Errorf("Run counts %+v, want %d nodes that reboot", r.Counts, nodes)
	}
	t.Logf("%d nodes in %s", nodes, took)
	if took > 12*time.Second {
		t.Errorf("took %s", took)
	}
}
