package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
)

func podVolumeName() Rule {
	return Rule{
		ID: "pod-volume-name", Title: "a misspelt volume in a job of another operator", Severity: SeverityError,
		Kinds: []string{k8s.KindPod},
		Explanation: prose.Join(`
			Operators for training, such as those of MPIJob and LeaderWorkerSet, copy the pod
			template. A volumeMount without a volume then fails when the operator creates the pods.
			Because some operators add volumes, the rule reports only names that resemble one of
			the template's volumes that no container mounts. For the workloads of Kubernetes itself
			see pod-volume.`),
		Remedy:  "write the name of the volume",
		Wrong:   "            - name: dsmh\n              mountPath: /dev/shm",
		Right:   "            - name: dshm\n              mountPath: /dev/shm",
		Sources: []string{srcKubernetes},
		check: func(p *pass) {
			for _, pod := range p.pods {
				if !slices.Contains(workloads(), pod.Kind) {
					checkVolumeNames(p, pod)
				}
			}
		},
	}
}

// workloads returns the kinds that pod-volume checks.
func workloads() []string {
	return []string{k8s.KindPod, "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"}
}

func checkVolumeNames(p *pass, pod *pod) {
	var unused, names []string
	for _, v := range pod.Value.Spec.Volumes {
		names = append(names, v.Name)
	}
	all := slices.Concat(pod.running, pod.initOnly)
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
