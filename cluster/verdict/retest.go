package verdict

import (
	"slices"

	"github.com/rdmakit/rdmakit/cluster/result"
)

// Retest returns the nodes that deserve another look, and those that are known to be good, as
// partners: what a leader measures again.
func Retest(run *result.Run) (suspects, good []int32) {
	for _, s := range Suspects(run, Options{}) {
		suspects = append(suspects, s.Node)
	}
	slices.Sort(suspects)
	return slices.Compact(suspects), Good(run)
}
