package verdict

import (
	"slices"

	"github.com/rdmakit/rdmakit/cluster/result"
)

// Retest returns the nodes that deserve another look, and those that are known to be good, as
// partners: what a leader measures again.
func Retest(run *result.Run) (suspects, good []int32) {
	v := suspicions(run, Options{})
	for _, s := range v.suspects() {
		suspects = append(suspects, s.Node) // they are sorted by node
	}
	return slices.Compact(suspects), v.good()
}
