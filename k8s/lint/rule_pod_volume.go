package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func podVolume() Rule {
	return Rule{
		ID: "pod-volume", Title: "a volumeMount without a volume", Severity: SeverityError,
		Kinds: []string{k8s.KindPod},
		Explanation: prose.Join(`
			Each volumeMount must name a volume of the pod or a volumeClaimTemplate of its
			StatefulSet; otherwise the API server rejects the pod ("volumeMounts[0].name: Not
			found"). Often the missing volume is the one for /dev/shm or for the model. The rule
			checks pods and the workloads of Kubernetes itself, because other operators add volumes.`),
		Remedy:  "add the volume, or correct its name",
		Wrong:   "    - name: dshm\n      mountPath: /dev/shm",
		Right:   "    - name: shm\n      mountPath: /dev/shm",
		Sources: []string{srcKubernetes},
		check: func(p *pass) {
			for _, pod := range p.pods {
				if slices.Contains(workloads(), pod.Kind) {
					checkVolumes(p, pod)
				}
			}
		},
	}
}

func checkVolumes(p *pass, pod *pod) {
	var names []string
	for _, v := range pod.Value.Spec.Volumes {
		names = append(names, v.Name)
	}
	for _, claim := range pod.Find("spec", "volumeClaimTemplates").List() {
		if v := claim.Find("metadata", "name"); v != nil {
			names = append(names, v.Text)
		}
	}
	check := func(list string, containers []k8s.Container) {
		for i, c := range containers {
			for j, m := range c.VolumeMounts {
				if m.Name != "" && !slices.Contains(names, m.Name) {
					p.error(pod.Object, pod.path("spec", list, i, "volumeMounts", j, "name"),
						"container %s mounts volume %q at %s, but the pod has no such volume",
						c.Name, m.Name, m.MountPath)
				}
			}
		}
	}
	check("containers", pod.Value.Spec.Containers)
	check("initContainers", pod.Value.Spec.InitContainers)
}
