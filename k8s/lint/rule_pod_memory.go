package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
)

func checkMemory(p *pass, c container) {
	if p.rdmaResource(c) == "" {
		return
	}
	pod := c.pod
	spec := pod.Value.Spec
	mount := slices.IndexFunc(c.VolumeMounts,
		func(m k8s.VolumeMount) bool { return strings.TrimRight(m.MountPath, "/") == "/dev/shm" })
	if mount < 0 {
		if gpus := c.Resources.Limits["nvidia.com/gpu"].Count(); gpus > 1 {
			p.warn(pod.Object, c.path("name"), "container %s has %d GPUs but only the default /dev/shm of 64 MiB",
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
		p.warn(pod.Object, at, "/dev/shm of container %s is on the node's disk: the emptyDir has no medium: Memory",
			c.Name).fix("emptyDir: {medium: Memory, sizeLimit: %s}", cmp.Or(dir.SizeLimit, "16Gi"))
	case limited && sized && size > memory:
		p.warn(pod.Object, append(at, "sizeLimit"),
			"sizeLimit %s of /dev/shm is above memory limit %s of container %s: filling /dev/shm kills the container",
			dir.SizeLimit, c.Resources.Limits["memory"], c.Name)
	}
}
