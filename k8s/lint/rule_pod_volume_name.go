package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
)

// workloads returns the kinds that pod-volume checks.
func workloads() []string {
	return []string{k8s.KindPod, "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"}
}

func checkVolumeNames(p *pass, pod *pod) {
	if slices.Contains(workloads(), pod.Kind) {
		return // which pod-volume checks
	}
	names, mounted := map[string]bool{}, map[string]bool{}
	all := pod.all()
	for _, c := range all {
		for _, m := range c.VolumeMounts {
			mounted[m.Name] = true
		}
	}
	var unused []string
	for _, v := range pod.Value.Spec.Volumes {
		names[v.Name] = true
		if !mounted[v.Name] && len(unused) < maxSimilar {
			unused = append(unused, v.Name)
		}
	}
	for _, c := range all {
		for i, m := range c.VolumeMounts {
			if m.Name == "" || len(unused) == 0 || names[m.Name] {
				continue
			}
			near := spelling.Nearest(m.Name, unused, spelling.Strict)
			if near == "" {
				continue
			}
			p.error(pod.Object, c.path("volumeMounts", i, "name"), "container %s mounts volume %q, but the pod has %s",
				c.Name, m.Name, near).fix("name: %s", near)
		}
	}
}
