package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
)

// rdmaResource returns the resource that gives a container an RDMA device, "" for none.
func (m *model) rdmaResource(c container) string {
	for _, l := range c.limits() {
		if l.prefix == sharedPrefix || m.configuredRDMA(l.prefix, l.base) ||
			l.prefix != "" && m.ours(l.base) && m.useOf(l.prefix, l.base) == rdmaYes {
			return l.name
		}
	}
	return ""
}

func checkIPCLock(p *pass, c container) {
	resource, pod := p.rdmaResource(c), c.pod
	if resource == "" {
		return
	}
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
			c.Name, resource).fix("securityContext: {capabilities: {add: [IPC_LOCK]}}")
	}
}
