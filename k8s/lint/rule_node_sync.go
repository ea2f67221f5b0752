package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkSync(p *pass, pol *policy) {
	var failed, waiting, busy []*source.Node
	lockdown := false
	for _, n := range p.candidates(pol) {
		switch {
		case n.SyncStatus == "Failed":
			failed = append(failed, n)
			lockdown = lockdown || strings.Contains(n.SyncError, "lockdown")
		case drainText(n) != "":
			waiting = append(waiting, n)
		case n.SyncStatus == "InProgress":
			busy = append(busy, n)
		}
	}
	at := path{"spec", "nodeSelector"}
	if len(failed) > 0 {
		f := p.warn(pol.Object, at, "the operator failed on %s that the policy %s",
			english.Count(len(failed), "node"), selects(pol, failed))
		if lockdown {
			f.Remedy = "configure the firmware beforehand and disable the plugin mellanox (disablePlugins of the " +
				"SriovOperatorConfig), or turn Secure Boot off"
		}
		for _, n := range failed[:min(len(failed), cardsShown)] {
			f.onNode(n.Name, "syncStatus Failed: %s", shorten(n.SyncError))
		}
	}
	if len(waiting) > 0 {
		f := p.warn(pol.Object, at,
			"an earlier change drains or reboots %s that the policy %s: the policy has to wait",
			english.Count(len(waiting), "node"), selects(pol, waiting))
		f.Remedy = "wait until both annotations are Idle and syncStatus is Succeeded; if the drain doesn't end, " +
			"check the PodDisruptionBudgets and maxUnavailable of the pool"
		for _, n := range waiting[:min(len(waiting), cardsShown)] {
			f.onNode(n.Name, "%s, syncStatus %s", drainText(n), cmp.Or(n.SyncStatus, "unknown"))
		}
	}
	if len(busy) > 0 {
		f := p.note(pol.Object, at, "the operator is still configuring %s that the policy %s",
			english.Count(len(busy), "node"), selects(pol, busy))
		f.Remedy = "wait until syncStatus is Succeeded"
		for _, n := range busy[:min(len(busy), cardsShown)] {
			f.onNode(n.Name, "syncStatus InProgress %s", shorten(n.SyncError))
		}
	}
}

// drainText describes the pending or running drain or reboot of a node, "" if there is none.
func drainText(n *source.Node) string {
	if n.State == nil {
		return ""
	}
	var parts []string
	for _, key := range []string{k8s.AnnotationDrainWanted, k8s.AnnotationDrainState} {
		if value := n.State.Metadata.Annotations[key]; value != "" && value != "Idle" {
			_, name, _ := strings.Cut(key, "/")
			parts = append(parts, name+" "+shorten(value))
		}
	}
	return strings.Join(parts, ", ")
}

// selects returns the verb for a policy and its nodes: "selects", or "may select" if the labels of
// all of the nodes are unknown.
func selects(pol *policy, nodes []*source.Node) string {
	isCertain := func(n *source.Node) bool {
		certain, _ := n.Selected(pol.Value.Spec.NodeSelector)
		return certain
	}
	if slices.ContainsFunc(nodes, isCertain) {
		return "selects"
	}
	return "may select"
}
