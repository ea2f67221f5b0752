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

// isDraining reports whether a node is draining, or is drained and still being configured.
func isDraining(s *k8s.SriovNetworkNodeState) bool {
	return slices.Contains([]string{stateDraining, stateDrainComplete},
		s.Metadata.Annotations[k8s.AnnotationDrainState])
}

// drainedByOthers reports whether another program than the operator drains a node.
func drainedByOthers(s *k8s.SriovNetworkNodeState) bool {
	return s.Metadata.Annotations[k8s.AnnotationExternalDrainer] == "true"
}

// inProgress adds the operator's present work on a node. A requested drain happens even if nothing
// is left to do, because the drain controller reads the request from an annotation
// (controllers/drain_controller.go), which the daemon removes afterwards. Whether the node also
// reboots is decided after the drain.
func (m *model) inProgress(s *k8s.SriovNetworkNodeState, out *Node) {
	wanted, now := s.Metadata.Annotations[k8s.AnnotationDrainWanted], s.Metadata.Annotations[k8s.AnnotationDrainState]
	note := func(format string, args ...any) { out.Notes = append(out.Notes, fmt.Sprintf(format, args...)) }
	switch {
	case now == stateDraining:
		note("the node is already draining")
	case now == stateDrainComplete:
		note("the node is already drained, and the daemon is configuring it")
	case wanted == stateDrainRequired || wanted == stateRebootRequired:
		r := Reason{ID: ReasonPending, Action: m.undrained(ActionDrain), Text: fmt.Sprintf(
			"the node is already waiting for a drain (%s), independent of the manifests", wanted)}
		out.Reasons = append(out.Reasons, r)
		out.Action, out.Worst = worse(out.Action, r.Action), worse(out.Worst, r.Action)
	case s.Status.SyncStatus == "InProgress":
		note("the daemon is configuring the node, and the recorded state may change")
	}
	if s.Status.SyncStatus == "Failed" {
		text := "the daemon failed on the node"
		if s.Status.LastSyncError != "" {
			text += ": " + s.Status.LastSyncError
		}
		note("%s", text)
	}
}
