package lint

import (
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
)

func checkPodGUIDs(p *pass, pod *pod) {
	for _, a := range pod.networks {
		if a.GUID != "" {
			checkPodGUID(p, pod, a)
		}
	}
}

// inAnnotation sets the place of a finding to a text of the pod's annotation.
func (f *Finding) inAnnotation(pod *pod, text string) *Finding {
	if v := pod.Find(pod.annotation()...); v != nil {
		if i := strings.Index(v.Text, text); i >= 0 {
			f.place(pod.Inside(v, i))
		}
	}
	return f
}

func checkPodGUID(p *pass, pod *pod, a attachment) {
	at := pod.annotation()
	guid, ok := parseGUID(a.GUID)
	if !ok || guid == 0 || guid == 1<<64-1 {
		p.error(pod.Object, at, "%q is not a valid port GUID", a.GUID).inAnnotation(
			pod, a.GUID,
		).Remedy = "write eight bytes as 02:00:00:00:00:00:00:01"
		return
	}
	t, ok := p.resolve(pod, a)
	switch {
	case !ok:
	case t.network != nil && !t.network.IB:
		p.error(pod.Object, at, "%s is an Ethernet network, which has no GUIDs", t).inAnnotation(
			pod, a.GUID,
		).Remedy = "request a mac instead"
	case !t.passesGUID():
		p.error(pod.Object, at, "%s has no capability infinibandGUID: the GUID is dropped", t).inAnnotation(pod, a.GUID)
	}
}

// passesGUID reports whether a network passes the GUID of a pod to its plugin. It returns true if
// that is unknown.
func (t attachable) passesGUID() bool {
	if t.network != nil {
		return capabilities(t.network.Spec.Capabilities)["infinibandGUID"]
	}
	var spec k8s.NADSpec
	if v := t.Find("spec"); v != nil {
		v.Decode(&spec)
	}
	list := pluginsOf(spec.Config)
	for _, plugin := range list {
		if plugin.Type == "ib-sriov" {
			return plugin.Capabilities["infinibandGUID"]
		}
	}
	return true
}
