package leaf

import (
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
)

// TestNodeNamed finds nodes by their names, by those without the domain, and addresses by
// themselves only.
func TestNodeNamed(t *testing.T) {
	cluster := func(names ...string) (c plan.Cluster) {
		for _, name := range names {
			c.Nodes = append(c.Nodes, plan.Node{Name: name})
		}
		return c
	}
	for _, tt := range []struct {
		cluster plan.Cluster
		name    string
		want    int
	}{
		{cluster("a", "b"), "b", 1},
		{cluster("a.example", "b.example"), "B", 1},
		{cluster("a", "b"), "b.example", 1},
		{cluster("gpu.a", "gpu.b", "gpu"), "gpu", 2},
		{cluster("gpu.a", "gpu.b"), "gpu", -1},
		{cluster("192.0.2.1"), "192.0.2.9", -1},
		{cluster("192.0.2.1", "192.0.2.9"), "192.0.2.9", 1},
		{cluster(), "a", -1},
	} {
		if got := nodeNamed(tt.cluster, tt.name); got != tt.want {
			t.Errorf("nodeNamed(%v, %q) = %d, want %d", tt.cluster.Nodes, tt.name, got, tt.want)
		}
	}
}
