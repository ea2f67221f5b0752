package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func nodeSync() Rule {
	return Rule{
		ID: "node-sync", Title: "a node on which the operator is not done, or failed", Severity: SeverityWarn,
		Nodes: true,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			syncStatus of the SriovNetworkNodeState is Failed where the daemon could not apply what
			earlier policies asked for; a further policy waits behind it. It also waits while the
			node is to drain or to reboot for an earlier change: the annotations
			sriovnetwork.openshift.io/desired-state (Drain_Required, Reboot_Required) and
			current-state (Draining, DrainComplete) of the SriovNetworkNodeState tell it, and are
			Idle otherwise. With Secure Boot the kernel is locked down, and the operator refuses to
			configure NVIDIA's cards there ("mellanox device detected when in lockdown mode"),
			unless the plugin mellanox is disabled and the firmware set beforehand.`),
		Remedy:  "mend what lastSyncError says before applying more",
		Wrong:   "    kubernetes.io/hostname: gpu-01",
		Right:   "    kubernetes.io/hostname: gpu-00",
		Sources: []string{srcMellanox, srcCRD},
		check: func(p *pass) {
			for _, pol := range p.policies {
				checkSync(p, pol)
			}
		},
	}
}

func checkSync(p *pass, pol *policy) {
	var failed, waiting, busy []*source.Node
	lockdown := false
	for _, n := range p.takes(pol) {
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
			f.Remedy = "set the firmware beforehand and disable the plugin mellanox (disablePlugins of the " +
				"SriovOperatorConfig), or turn Secure Boot off"
		}
		for _, n := range failed[:min(len(failed), cardsShown)] {
			f.onNode(n.Name, "syncStatus Failed: %s", shorten(n.SyncError))
		}
	}
	if len(waiting) > 0 {
		f := p.warn(pol.Object, at,
			"an earlier change drains or reboots %s that the policy %s: another one queues behind it",
			english.Count(len(waiting), "node"), selects(pol, waiting))
		f.Remedy = "wait until both annotations are Idle and syncStatus is Succeeded, and look for what keeps the " +
			"drain: a PodDisruptionBudget, or maxUnavailable of the pool"
		for _, n := range waiting[:min(len(waiting), cardsShown)] {
			f.onNode(n.Name, "%s, syncStatus %s", drainText(n), cmp.Or(n.SyncStatus, "unknown"))
		}
	}
	if len(busy) > 0 {
		f := p.note(pol.Object, at, "the operator is at work on %s that the policy %s",
			english.Count(len(busy), "node"), selects(pol, busy))
		f.Remedy = "wait until syncStatus is Succeeded"
		for _, n := range busy[:min(len(busy), cardsShown)] {
			f.onNode(n.Name, "syncStatus InProgress %s", shorten(n.SyncError))
		}
	}
}

// drainText tells of a node that is to drain or reboot, or is at it; "" for one that is idle.
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

// selects is the verb for a policy and its nodes, by whether the labels of a node are known.
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
