package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func podIPCLock() Rule {
	return Rule{
		ID: "pod-ipc-lock", Title: "an RDMA container that can't lock memory", Severity: SeverityWarn,
		Kinds: []string{k8s.KindPod},
		Explanation: prose.Join(`
			Registering memory for RDMA locks it. containerd's default limit is 8 MiB; above it
			ibv_reg_mr fails with ENOMEM, and NCCL falls back to TCP without an error. The
			capability IPC_LOCK removes the limit for UID 0 only. Write it without CAP_, because
			containerd adds the prefix. For other users the capability has no effect; raise the
			limit of the container runtime on the nodes instead.`),
		Remedy: "add IPC_LOCK to capabilities, or set LimitMEMLOCK=infinity in a drop-in of " +
			"containerd or crio on the nodes",
		Wrong:   "    securityContext: {}",
		Right:   "    securityContext:\n      capabilities:\n        add: [IPC_LOCK]",
		Reports: []string{"NVIDIA/nvidia-container-toolkit#2037", "vllm-project/vllm#42075"},
		Sources: []string{"NVIDIA/nvidia-container-toolkit#2037", "Linux, mm/mlock.c (can_do_mlock)"},
		check: func(p *pass) {
			for _, pod := range p.pods {
				for _, c := range pod.containers() {
					if p.rdmaResource(c) != "" {
						checkIPCLock(p, pod, c)
					}
				}
			}
		},
	}
}

// rdmaResource returns the resource that gives a container an RDMA device, "" for none.
func (m *model) rdmaResource(c container) string {
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
		prefix, base := splitResource(name)
		use := m.resource[base]
		if prefix == sharedPrefix || m.configuredRDMA(prefix, base) ||
			prefix != "" && (use.made || use.networked) && m.useOf(prefix, base) == rdmaYes {
			return name
		}
	}
	return ""
}

func checkIPCLock(p *pass, pod *pod, c container) {
	sc := c.SecurityContext
	user, at := sc.RunAsUser, c.path("securityContext", "runAsUser")
	if user == nil {
		user, at = pod.Value.Spec.SecurityContext.RunAsUser, pod.path("spec", "securityContext", "runAsUser")
	}
	nonRoot := sc.RunAsNonRoot
	if nonRoot == nil {
		nonRoot = pod.Value.Spec.SecurityContext.RunAsNonRoot
	}
	has := func(name string) bool {
		return slices.ContainsFunc(sc.Capabilities.Add, func(c string) bool { return strings.EqualFold(c, name) })
	}
	locks := has("IPC_LOCK") || has("ALL")
	remedy := "set LimitMEMLOCK=infinity in a drop-in of containerd or crio on the nodes"
	switch {
	case user != nil && *user != 0:
		p.warn(pod.Object, at, "the container runs as UID %d, for which IPC_LOCK has no effect: memory beyond "+
			"containerd's 8 MiB can't be registered", *user).Remedy = remedy
	case user == nil && k8s.ValueOf(nonRoot):
		at = c.path("securityContext", "runAsNonRoot")
		if sc.RunAsNonRoot == nil {
			at = pod.path("spec", "securityContext", "runAsNonRoot")
		}
		p.warn(pod.Object, at, "the container doesn't run as root, so IPC_LOCK has no effect: memory beyond "+
			"containerd's 8 MiB can't be registered").Remedy = remedy
	case !locks && !k8s.ValueOf(sc.Privileged) && has("CAP_IPC_LOCK"):
		p.warn(pod.Object, c.path("securityContext", "capabilities", "add"),
			"containerd adds CAP_ to the names of capabilities, so CAP_IPC_LOCK is unknown").fix("add: [IPC_LOCK]")
	case !locks && !k8s.ValueOf(sc.Privileged):
		p.warn(pod.Object, c.path("name"), "container %s requests %s without IPC_LOCK: "+
			"it can register little memory, unless the nodes' runtime has LimitMEMLOCK=infinity",
			c.Name, p.rdmaResource(c)).fix("securityContext: {capabilities: {add: [IPC_LOCK]}}")
	}
}
