package lint

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// checkPodFields checks the names of a pod's fields. Newer versions of Kubernetes have fields that
// are unknown here, so an unknown name is reported only if it resembles a known one or belongs to
// another place.
func checkPodFields(p *pass, pod *pod) {
	spec := pod.Find(pod.path("spec")...)
	podNames(p, pod, spec, pod.path("spec"), podSpecFields(), containerFields(), "a container")
	for _, list := range []string{"containers", "initContainers"} {
		for i, c := range spec.Get(list).List() {
			podNames(p, pod, c, pod.path("spec", list, i), containerFields(), podSpecFields(), "the pod's spec")
			sc := c.Get("securityContext")
			podNames(p, pod, sc, pod.path("spec", list, i, "securityContext"), securityFields(), nil, "")
			podNames(p, pod, c.Get("resources"), pod.path("spec", list, i, "resources"),
				[]string{"limits", "requests", "claims"}, nil, "")
		}
	}
	checkNoContainer(p, pod, spec, pod.path("spec"))
}

// checkNoContainer reports the field container, which must be containers.
func checkNoContainer(p *pass, pod *pod, spec *manifest.Value, at path) {
	if spec.Get("container") == nil {
		return
	}
	way := append(slices.Clone(at), "container")
	p.error(pod.Object, way, "%s has no field \"container\"", manifest.PathText(at...)).place(
		pod.KeyAt(way...),
	).Remedy = "rename it to containers, and write its entries as a list"
}

func podNames(p *pass, pod *pod, v *manifest.Value, at path, here, elsewhere []string, whose string) {
	if v == nil || v.Kind != manifest.Mapping {
		return
	}
	for _, f := range v.Fields {
		if slices.Contains(here, f.Key) || f.Key == "container" {
			continue
		}
		remedy := ""
		if near := spelling.Nearest(f.Key, here, spelling.Strict); near != "" {
			remedy = "rename it to " + near
		}
		if slices.Contains(elsewhere, f.Key) {
			remedy = fmt.Sprintf("move it to %s", whose)
		}
		if remedy == "" && slices.Contains(policyOnly(), f.Key) {
			remedy = "remove it: it is a field of SriovNetworkNodePolicy"
		}
		if remedy == "" {
			continue
		}
		way := append(slices.Clone(at), f.Key)
		p.error(pod.Object, way, "%s has no field %q", manifest.PathText(at...), f.Key).place(
			pod.KeyAt(way...),
		).Remedy = remedy
	}
}

// policyOnly returns fields of policies that users write into pods by mistake.
func policyOnly() []string {
	return []string{
		"isRdma", "numVfs", "nicSelector", "deviceType", "linkType", "resourceName", "needVhostNet",
		"externallyManaged",
	}
}

// podSpecFields returns the fields of PodSpec (Kubernetes v1.36, API reference).
func podSpecFields() []string {
	return []string{
		"activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "containers", "dnsConfig", "dnsPolicy",
		"enableServiceLinks", "ephemeralContainers", "hostAliases", "hostIPC", "hostNetwork", "hostPID", "hostUsers",
		"hostname", "hostnameOverride", "imagePullSecrets", "initContainers", "nodeName", "nodeSelector", "os",
		"overhead", "preemptionPolicy", "priority", "priorityClassName", "readinessGates", "resourceClaims",
		"resources", "restartPolicy", "runtimeClassName", "schedulerName", "schedulingGates", "schedulingGroup",
		"securityContext", "serviceAccount", "serviceAccountName", "setHostnameAsFQDN", "shareProcessNamespace",
		"subdomain", "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints", "volumes",
		"workloadRef",
	}
}

// containerFields returns the fields of Container.
func containerFields() []string {
	return []string{
		"args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe", "name", "ports",
		"readinessProbe", "resizePolicy", "resources", "restartPolicy", "restartPolicyRules", "securityContext",
		"startupProbe", "stdin", "stdinOnce", "terminationMessagePath", "terminationMessagePolicy", "tty",
		"volumeDevices", "volumeMounts", "workingDir",
	}
}

// securityFields returns the fields of a container's SecurityContext.
func securityFields() []string {
	return []string{
		"allowPrivilegeEscalation", "appArmorProfile", "capabilities", "privileged", "procMount",
		"readOnlyRootFilesystem", "runAsGroup", "runAsNonRoot", "runAsUser", "seLinuxOptions", "seccompProfile",
		"windowsOptions",
	}
}
