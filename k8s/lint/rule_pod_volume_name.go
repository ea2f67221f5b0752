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
	var unused, names []string
	for _, v := range pod.Value.Spec.Volumes {
		names = append(names, v.Name)
	}
	all := pod.all()
	for _, name := range names {
		mounts := func(m k8s.VolumeMount) bool { return m.Name == name }
		if !slices.ContainsFunc(all, func(c container) bool { return slices.ContainsFunc(c.VolumeMounts, mounts) }) {
			unused = append(unused, name)
		}
	}
	for _, c := range all {
		for i, m := range c.VolumeMounts {
			near := spelling.Nearest(m.Name, unused, spelling.Strict)
			if m.Name == "" || near == "" || slices.Contains(names, m.Name) {
				continue
			}
			p.error(pod.Object, c.path("volumeMounts", i, "name"), "container %s mounts volume %q, but the pod has %s",
				c.Name, m.Name, near).fix("name: %s", near)
		}
	}
}
