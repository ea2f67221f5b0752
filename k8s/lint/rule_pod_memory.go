package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func podMemory() Rule {
	return Rule{
		ID: "pod-memory", Title: "shared memory that is too small or counts twice", Severity: SeverityWarn,
		Kinds: []string{k8s.KindPod},
		Explanation: prose.Join(`
			NCCL, PyTorch and vLLM exchange data of one node through /dev/shm, which is 64 MiB in a
			container unless an emptyDir of medium Memory is mounted there ("No space left on
			device"). What is written to it counts as memory of the container: with a sizeLimit
			above the memory limit, or none, a job is killed when it fills it.`),
		Remedy:  "mount an emptyDir of medium Memory at /dev/shm, with a sizeLimit below the memory limit",
		Wrong:   "      sizeLimit: 64Gi",
		Right:   "      sizeLimit: 16Gi",
		Sources: []string{srcKubernetes},
		check: func(p *pass) {
			for _, pod := range p.pods {
				for _, c := range pod.containers() {
					if p.rdmaResource(c) != "" {
						checkMemory(p, pod, c)
					}
				}
			}
		},
	}
}

func checkMemory(p *pass, pod *pod, c container) {
	spec := pod.Value.Spec
	mount := slices.IndexFunc(c.VolumeMounts,
		func(m k8s.VolumeMount) bool { return strings.TrimRight(m.MountPath, "/") == "/dev/shm" })
	if mount < 0 {
		if gpus := c.Resources.Limits["nvidia.com/gpu"].Count(); gpus > 1 {
			p.warn(pod.Object, c.path("name"), "container %s has %d GPUs and the default /dev/shm of 64 MiB",
				c.Name, gpus)
		}
		return
	}
	volume := slices.IndexFunc(spec.Volumes, func(v k8s.Volume) bool { return v.Name == c.VolumeMounts[mount].Name })
	if volume < 0 || spec.Volumes[volume].EmptyDir == nil {
		return
	}
	dir := spec.Volumes[volume].EmptyDir
	at := pod.path("spec", "volumes", volume, "emptyDir")
	memory, limited := c.Resources.Limits["memory"].Value()
	size, sized := dir.SizeLimit.Value()
	switch {
	case dir.Medium != "Memory":
		p.warn(pod.Object, at, "/dev/shm of container %s is on the node's disk: the emptyDir lacks medium: Memory",
			c.Name).fix("emptyDir: {medium: Memory, sizeLimit: 16Gi}")
	case limited && sized && size > memory:
		p.warn(pod.Object, append(at, "sizeLimit"),
			"/dev/shm may take %s, and the memory limit of container %s is %s: filling it kills the container",
			dir.SizeLimit, c.Name, c.Resources.Limits["memory"])
	}
}
