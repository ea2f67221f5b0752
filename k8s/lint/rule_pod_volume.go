package lint

import "slices"

func checkVolumes(p *pass, pod *pod) {
	if !slices.Contains(workloads(), pod.Kind) {
		return
	}
	names := map[string]bool{}
	for _, v := range pod.Value.Spec.Volumes {
		names[v.Name] = true
	}
	for _, claim := range pod.Find("spec", "volumeClaimTemplates").List() {
		if v := claim.Find("metadata", "name"); v != nil {
			names[v.Text] = true
		}
	}
	for _, c := range pod.all() {
		for i, m := range c.VolumeMounts {
			if m.Name != "" && !names[m.Name] {
				p.error(pod.Object, c.path("volumeMounts", i, "name"),
					"container %s mounts volume %q at %s, but the pod has no such volume", c.Name, m.Name, m.MountPath)
			}
		}
	}
}
