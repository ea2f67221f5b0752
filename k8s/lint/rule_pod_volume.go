package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func podVolume() Rule {
	return Rule{
		ID: "pod-volume", Title: "a mount of a volume that the pod doesn't have", Severity: SeverityError,
		Kinds: []string{k8s.KindPod},
		Explanation: prose.Join(`
			Each volumeMount names a volume of the pod, or a volumeClaimTemplate of its StatefulSet;
			otherwise the API server refuses the pod ("volumeMounts[0].name: Not found"). Mostly it
			is /dev/shm or the model that is then missing. Pods and the workloads of Kubernetes
			itself are judged: other operators add volumes.`),
		Remedy:  "add the volume, or write the name that it has",
		Wrong:   "    - name: dshm\n      mountPath: /dev/shm",
		Right:   "    - name: shm\n      mountPath: /dev/shm",
		Sources: []string{srcKubernetes},
		check: func(p *pass) {
			for _, pod := range p.pods {
				if slices.Contains(
					[]string{k8s.KindPod, "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"},
					pod.Kind) {
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
						"the pod has no volume %q, which container %s mounts at %s", m.Name, c.Name, m.MountPath)
				}
			}
		}
	}
	check("containers", pod.Value.Spec.Containers)
	check("initContainers", pod.Value.Spec.InitContainers)
}
