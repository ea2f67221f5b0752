package lint

import (
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
)

func checkPodHost(p *pass, pod *pod) {
	spec := pod.Value.Spec
	if spec.HostNetwork && len(pod.networks) > 0 {
		p.error(pod.Object, pod.path("spec", "hostNetwork"),
			"hostNetwork disables %s of the pod", attachmentsText(len(pod.networks)))
	}
	for i, v := range spec.Volumes {
		if v.HostPath != nil &&
			strings.HasPrefix(strings.TrimRight(v.HostPath.Path, "/")+"/", "/dev/infiniband/") {
			checkHostPath(p, pod, i, v)
		}
	}
}

func checkHostPath(p *pass, pod *pod, i int, v k8s.Volume) {
	at := pod.path("spec", "volumes", i, "hostPath", "path")
	for _, c := range pod.running {
		for _, m := range c.VolumeMounts {
			switch {
			case m.Name != v.Name:
			case k8s.ValueOf(c.SecurityContext.Privileged):
				p.note(pod.Object, at, "container %s is privileged and has access to all cards of the node", c.Name)
			case p.rdmaResource(c) != "": // the device files come with the resource
			default:
				p.warn(pod.Object, at, "container %s can't open the device files in %s", c.Name, v.HostPath.Path)
			}
		}
	}
}
