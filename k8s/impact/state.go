package impact

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/k8s"
)

// Values of the annotations about draining (sriov-network-operator, pkg/consts/constants.go).
const (
	stateRebootRequired = "Reboot_Required"
	stateDrainRequired  = "Drain_Required"
	stateDraining       = "Draining"
	stateDrainComplete  = "DrainComplete"
)

// isDraining reports that a node drains, or has and isn't done.
func isDraining(s *k8s.SriovNetworkNodeState) bool {
	return slices.Contains([]string{stateDraining, stateDrainComplete},
		s.Metadata.Annotations[k8s.AnnotationDrainState])
}

// drainedByOthers reports that something else than the operator drains a node.
func drainedByOthers(s *k8s.SriovNetworkNodeState) bool {
	return s.Metadata.Annotations[k8s.AnnotationExternalDrainer] == "true"
}

// underWay tells what the operator does to a node already. A drain that was asked for comes even
// where nothing is left to do: what asks is the annotation (controllers/drain_controller.go), which
// the daemon takes back afterwards. Whether a reboot comes with it is judged anew by then.
func (m *model) underWay(s *k8s.SriovNetworkNodeState, out *Node) {
	wanted, now := s.Metadata.Annotations[k8s.AnnotationDrainWanted], s.Metadata.Annotations[k8s.AnnotationDrainState]
	note := func(format string, args ...any) { out.Notes = append(out.Notes, fmt.Sprintf(format, args...)) }
	switch {
	case now == stateDraining:
		note("it drains already")
	case now == stateDrainComplete:
		note("it is drained already, and the daemon is at work on it")
	case wanted == stateDrainRequired || wanted == stateRebootRequired:
		r := Reason{ID: ReasonPending, Action: m.undrained(ActionDrain), Text: fmt.Sprintf(
			"the node is waiting for a drain already (%s), whatever is applied", wanted)}
		out.Reasons = append(out.Reasons, r)
		out.Action, out.Worst = worse(out.Action, r.Action), worse(out.Worst, r.Action)
	case s.Status.SyncStatus == "InProgress":
		note("the daemon is at work on it, and what its state tells may change")
	}
	if s.Status.SyncStatus == "Failed" {
		text := "the daemon has failed on it"
		if s.Status.LastSyncError != "" {
			text += ": " + s.Status.LastSyncError
		}
		note("%s", text)
	}
}
