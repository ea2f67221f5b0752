package checks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// TestUverbsAgreesWithObstacles records every node also without one source or the other: the check
// uverbs fails exactly if the obstacles say that a program can't open a device. What was not
// recorded is a fault in neither.
func TestUverbsAgreesWithObstacles(t *testing.T) {
	trees := map[string]*nodetree.Tree{}
	for _, name := range testtrees.Names() {
		if strings.HasPrefix(name, "3") {
			continue // thousands of files each, and nothing new in them
		}
		trees[name] = load(t, name)
		trees[name+", whole"] = load(t, name, whole)
	}
	for _, name := range realnodes.Names() {
		n, err := realnodes.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		trees[name] = n.Tree
	}
	class, modules := "sys/class/infiniband_verbs", []string{"sys/module", "proc/modules"}
	for name, tree := range trees {
		for _, without := range [][]string{
			nil, {class}, modules, {"dev"}, {class, "dev"}, append(modules, class), append(modules, class, "dev"),
		} {
			recorded := tree.Clone()
			for _, path := range without {
				_ = recorded.Remove(path) // some have none
			}
			snap := scan(t, recorded)
			says := slices.ContainsFunc(snap.Obstacles(), func(o inventory.Obstacle) bool {
				return o.ID == inventory.ObstacleNoUverbs || o.ID == inventory.ObstacleDenied
			})
			fails := slices.ContainsFunc(runCheck(t, "uverbs", snap).Findings, func(f doctor.Finding) bool {
				return f.Outcome == doctor.OutcomeFail
			})
			if gone := len(without) > 2; says != fails || gone && fails {
				t.Errorf("%s without %q: an obstacle %t, the check fails %t", name, without, says, fails)
			}
		}
	}
}
