package truth

import (
	"fmt"

	"github.com/rdmakit/rdmakit/internal/sim/cluster"
)

// Describe says what a fault of a scenario is, for people: gpu-003 mlx5_2:1: slow-one-way (receive,
// 0.4).
func Describe(s *cluster.Scenario, f *cluster.Fault) string {
	name := func() string { return s.Cluster().Nodes[f.Node].Name }
	where := "the fabric"
	switch cluster.PlaceOf(f.Kind) {
	case cluster.PlaceCard:
		where = name() + " " + s.Cluster().Nodes[f.Node].Rails[f.Rail].Device
	case cluster.PlaceNode:
		where = name()
	case cluster.PlaceLeaf, cluster.PlaceUplink:
		if f.Leaf >= 0 {
			where = fmt.Sprintf("leaf %d", f.Leaf)
		}
		if cluster.PlaceOf(f.Kind) == cluster.PlaceUplink {
			where += fmt.Sprintf(" uplink %d", f.Uplink)
		}
	}
	text := where + ": " + string(f.Kind)
	if f.Direction != "" {
		text += " (" + string(f.Direction) + ")"
	}
	if f.Severity != 0 {
		text += fmt.Sprintf(", severity %.3g", f.Severity)
	}
	return text
}
