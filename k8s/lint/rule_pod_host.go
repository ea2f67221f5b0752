package lint

import (
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func podHost() Rule {
	return Rule{
		ID: "pod-host", Title: "a pod that combines the host's network or devices with attachments",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindPod},
		Explanation: prose.Join(`
			A pod with hostNetwork gets no network interfaces, so its attachments have no effect,
			and the VFs that it requests are not available to other pods. With /dev/infiniband as a
			hostPath the container sees the device files but can't open them, because its device
			cgroup denies it. A privileged container can open them, but has access to all cards of
			the node.`),
		Remedy: "remove hostNetwork or the attachments; request a resource with isRdma instead of " +
			"mounting /dev/infiniband",
		Wrong:   "  hostNetwork: true",
		Right:   "  hostNetwork: false",
		Reports: []string{"vllm-project/vllm#42075"},
		Sources: []string{srcMultus, srcPlugin, srcKubernetes},
		check: func(p *pass) {
			for _, pod := range p.pods {
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
		},
	}
}

func checkHostPath(p *pass, pod *pod, i int, v k8s.Volume) {
	at := pod.path("spec", "volumes", i, "hostPath", "path")
	for _, c := range pod.containers() {
		for _, m := range c.VolumeMounts {
			switch {
			case m.Name != v.Name:
			case k8s.ValueOf(c.SecurityContext.Privileged):
				p.note(pod.Object, at, "container %s is privileged and has access to all cards of the node", c.Name)
				return
			default:
				p.warn(pod.Object, at, "container %s can't open the device files in %s", c.Name, v.HostPath.Path)
				return
			}
		}
	}
}
