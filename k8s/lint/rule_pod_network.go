package lint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func podNetwork() Rule {
	return Rule{
		ID:       "pod-network",
		Title:    "a pod that names a network that isn't there, or names it in a way that multus doesn't take",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindPod},
		Explanation: prose.Join(`
			multus takes the annotation k8s.v1.cni.cncf.io/networks: "[namespace/]name[@interface]"
			with commas between, or a JSON list. Without a namespace it looks in the pod's own, so a
			network in the operator's namespace is not found by a pod in another; the pod stays in
			ContainerCreating. The annotation belongs to the pod, so in a workload to the template,
			not to the workload itself. In the JSON form each entry is an object; multus refuses the
			pod for a field of another type, and passes over one that it doesn't know. Interfaces
			without a name are net1, net2 and so on by their place. Where no network is known,
			nothing is said of names.`),
		Remedy:  "name a network of the pod's namespace, or set networkNamespace of the network",
		Wrong:   "    k8s.v1.cni.cncf.io/networks: rail0",
		Right:   "    k8s.v1.cni.cncf.io/networks: training/rail0",
		Reports: []string{"k8snetworkplumbingwg/multus-cni#337"},
		Sources: []string{srcMultus},
		check: func(p *pass) {
			for _, pod := range p.pods {
				checkAnnotation(p, pod, pod.annotation(), pod.err)
				checkAnnotation(p, pod, pod.path("metadata", "annotations", k8s.AnnotationDefaultNetwork),
					pod.insteadErr)
				if pod.err == nil {
					checkPodNetworks(p, pod)
					checkInterfaces(p, pod)
					checkEntryFields(p, pod)
				}
				checkMisplaced(p, pod)
				checkAnnotationNames(p, pod)
			}
		},
	}
}

func checkAnnotation(p *pass, pod *pod, at path, err error) {
	if err == nil {
		return
	}
	f := p.error(pod.Object, at, "the annotation can't be read: %v", err)
	if where, ok := errors.AsType[*fault](err); ok {
		f.Remedy = where.remedy
		if v := pod.Find(at...); v != nil {
			f.place(pod.Inside(v, len(v.Text)-len(strings.TrimLeft(v.Text, " \t\r\n"))+where.offset))
		}
	}
}

// checkMisplaced looks for the annotation where no pod gets it: at a workload, or at what it makes
// on the way to its pods.
func checkMisplaced(p *pass, pod *pod) {
	if len(pod.at) == 0 || pod.Find(pod.annotation()...) != nil {
		return
	}
	ways := []path{
		{"metadata", "annotations", k8s.AnnotationNetworks},
		pod.path("annotations", k8s.AnnotationNetworks),
		pod.path("spec", "annotations", k8s.AnnotationNetworks),
	}
	for i := range pod.at {
		ways = append(ways, append(slices.Clone(pod.at[:i+1]), "metadata", "annotations", k8s.AnnotationNetworks),
			append(slices.Clone(pod.at[:i]), "annotations", k8s.AnnotationNetworks))
	}
	for _, way := range ways {
		if pod.Find(way...) != nil {
			p.error(pod.Object, way, "the annotation is the %s's own, and its pods don't get it",
				pod.Kind).Remedy = "move it below metadata.annotations of the pod template"
			return
		}
	}
}

// checkAnnotationNames looks for the annotation under a name that is nearly its own, or
// among labels.
func checkAnnotationNames(p *pass, pod *pod) {
	for _, list := range []string{"annotations", "labels"} {
		at := pod.path("metadata", list)
		v := pod.Find(at...)
		if v == nil || v.Kind != manifest.Mapping {
			continue
		}
		for _, f := range v.Fields {
			group, name, _ := strings.Cut(f.Key, "/")
			written := name == "network-status" || name == "networks-status" // by multus
			if !strings.HasSuffix(group, "cni.cncf.io") || !strings.HasPrefix(name, "network") || written ||
				list == "annotations" && f.Key == k8s.AnnotationNetworks {
				continue
			}
			way := append(slices.Clone(at), f.Key)
			p.error(pod.Object, way, "multus doesn't read %s among %s", f.Key, list).place(pod.KeyAt(way...)).fix(
				"annotations: {%s: ...}", k8s.AnnotationNetworks)
		}
	}
}

func checkPodNetworks(p *pass, pod *pod) {
	known := p.attachables()
	for _, a := range pod.networks {
		namespace := cmp.Or(a.Namespace, pod.Namespace)
		if a.Namespace != "" && p.namespacesKnown() && !p.namespaces[a.Namespace] {
			p.error(pod.Object, pod.annotation(), "there is no namespace %s, in which multus looks for %s", a.Namespace,
				a.Name).inAnnotation(pod, a.Namespace).Remedy = "name the namespace in which the network is"
			continue
		}
		if _, ok := p.attached(pod, a); ok || len(known) == 0 || p.madeByOthers(a.Name) {
			continue
		}
		names, elsewhere := namesOf(known, a.Name)
		at := strings.TrimPrefix(a.Namespace+"/"+a.Name, "/")
		tell := func(severity Severity, format string, args ...any) *Finding {
			return p.report(severity, pod.Object, pod.annotation(), format, args...).inAnnotation(pod, at).inAnnotation(
				pod, `"`+a.Name+`"`)
		}
		switch near := spelling.Nearest(a.Name, names, spelling.Loose); {
		case len(elsewhere) > 0:
			tell(SeverityError, "network %s is in namespace %s, and multus looks in %s", a.Name,
				shorten(strings.Join(elsewhere, ", ")), namespace).fix("%s", pod.selection(elsewhere[0], a.Name))
		case near != "":
			_, homes := namesOf(known, near)
			home := ""
			if !slices.Contains(homes, namespace) && namespace != "" {
				home = homes[0]
			}
			tell(SeverityError, "no network is called %s", at).fix("%s", pod.selection(cmp.Or(home, a.Namespace), near))
		default:
			tell(SeverityWarn, "no network %s among those of the manifests: %s", at, shorten(strings.Join(names, ", ")))
		}
	}
}

// namesOf returns the names of all networks, and the namespaces of those with one name.
func namesOf(known []attachable, name string) (names, homes []string) {
	for _, t := range known {
		if t.Name != "" && !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
		if t.Name == name && !slices.Contains(homes, t.namespace) {
			homes = append(homes, t.namespace)
		}
	}
	return names, homes
}

// selection writes a network in the form that the annotation has.
func (p *pod) selection(namespace, name string) string {
	switch {
	case inJSON(p.Value.Metadata.Annotations[k8s.AnnotationNetworks]) && namespace == "":
		return fmt.Sprintf(`"name": %q`, name)
	case inJSON(p.Value.Metadata.Annotations[k8s.AnnotationNetworks]):
		return fmt.Sprintf(`"name": %q, "namespace": %q`, name, namespace)
	case namespace == "":
		return name
	}
	return namespace + "/" + name
}

// checkInterfaces holds the names of interfaces to each other: multus calls those without a name
// net1, net2 and so on by their place.
func checkInterfaces(p *pass, pod *pod) {
	seen := map[string]bool{}
	for i, a := range pod.networks {
		name := cmp.Or(a.Interface, fmt.Sprintf("net%d", i+1))
		tell := func(format string, args ...any) *Finding {
			return p.error(pod.Object, pod.annotation(), format, args...).inAnnotation(pod, name)
		}
		switch {
		case name == "eth0":
			tell("network %s asks for eth0, the interface of the pod's own network",
				a.Name).Remedy = "leave the name out, or call it net" + strconv.Itoa(i+1)
		case seen[name]:
			tell("two attachments are called %s: the second fails, and the pod with it", name).Remedy = "give each " +
				"interface a name of its own, or none at all"
		case len(name) > maxInterface || strings.ContainsAny(name, " \t/"):
			tell("%q is no name of an interface: %d characters at most",
				shorten(name), maxInterface).Remedy = "write a shorter name"
		}
		seen[name] = true
	}
}

// entryFields are the fields of an entry of the JSON form.
func entryFields() []string {
	return []string{
		"name", "namespace", "ips", "mac", "infiniband-guid", "interface", "interfaceRequest", "portMappings",
		"bandwidth", "cni-args", "default-route", "deviceID", "ipam-claim-reference",
	}
}

// entryTwins are other names that people give to them.
func entryTwins() map[string]string {
	return map[string]string{
		"ip": "ips", "address": "ips", "addresses": "ips", "ns": "namespace", "ifname": "interface",
		"ifName": "interface", "interfaceName": "interface", "guid": "infiniband-guid",
		"infinibandGUID": "infiniband-guid", "infinibandGuid": "infiniband-guid", "gateway": "default-route",
		"defaultRoute": "default-route", "macAddress": "mac", "network": "name", "networkName": "name",
		"cniArgs": "cni-args", "args": "cni-args",
	}
}

// checkEntryFields looks for fields that multus passes over.
func checkEntryFields(p *pass, pod *pod) {
	text := pod.Value.Metadata.Annotations[k8s.AnnotationNetworks]
	if len(pod.networks) == 0 || !inJSON(text) {
		return
	}
	var entries []map[string]json.RawMessage
	_ = json.Unmarshal([]byte(text), &entries) // what could not be read is told already
	for i, entry := range entries[:min(len(entries), maxAttachments)] {
		for _, name := range slices.Sorted(mapKeys(entry)) {
			if slices.ContainsFunc(entryFields(), func(k string) bool { return strings.EqualFold(k, name) }) {
				continue // encoding/json takes upper and lower case
			}
			right := cmp.Or(entryTwins()[name], spelling.Nearest(name, entryFields(), spelling.Strict))
			f := p.warn(pod.Object, pod.annotation(), "network %s has a field %q that multus passes over",
				pod.networks[i].Name, name).inAnnotation(pod, `"`+name+`"`)
			f.Remedy = "remove it"
			if right != "" {
				f.Severity, f.Remedy = SeverityError, "write it as "+right
			}
		}
	}
}

// madeByOthers reports an object of a kind that isn't judged and that makes networks, as
// MacvlanNetwork and HostDeviceNetwork of NVIDIA's operator, OVSNetwork, SpiderMultusConfig, or the
// Network of OpenShift with a list of them.
func (m *model) madeByOthers(name string) bool {
	return slices.ContainsFunc(m.objects, func(o *manifest.Object) bool {
		if o.Name == name && (strings.HasSuffix(o.Kind, "Network") || o.Kind == "SpiderMultusConfig") &&
			k8s.Schema(o.Kind) == nil {
			return true
		}
		return o.Kind == "Network" &&
			slices.ContainsFunc(o.Find("spec", "additionalNetworks").List(), func(v *manifest.Value) bool {
				n := v.Get("name")
				return n != nil && n.Text == name
			})
	})
}
