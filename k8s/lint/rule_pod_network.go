package lint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkPodAnnotation(p *pass, pod *pod) {
	checkAnnotation(p, pod, pod.annotation(), pod.err)
	checkAnnotation(p, pod, pod.path("metadata", "annotations", k8s.AnnotationDefaultNetwork), pod.defaultErr)
}

func checkAnnotation(p *pass, pod *pod, at path, err error) {
	if err == nil {
		return
	}
	f := p.error(pod.Object, at, "multus can't read the annotation: %v", err)
	if where, ok := errors.AsType[*fault](err); ok {
		f.Remedy = cmp.Or(where.remedy, f.Remedy)
		if v := pod.Find(at...); v != nil {
			f.place(pod.Inside(v, len(v.Text)-len(strings.TrimLeft(v.Text, " \t\r\n"))+where.offset))
		}
	}
}

// checkMisplaced reports the annotation in places from which pods don't inherit it: the workload's
// metadata, or that of an object between the workload and its pods.
func checkMisplaced(p *pass, pod *pod) {
	if len(pod.at) == 0 || pod.Find(pod.annotation()...) != nil || pod != p.podsIn[pod.Object][0] {
		return // for several templates once
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
			text := "the annotation applies to the %s itself, and its pods don't inherit it"
			if parent := way[len(way)-3]; parent != "metadata" {
				text = "annotations of a %s belong under metadata: multus doesn't see these"
			}
			p.error(pod.Object, way, text, pod.Kind).Remedy = "move it to metadata.annotations of the pod template"
			return
		}
	}
}

// checkAnnotationNames reports the annotation under a similar name, or among the labels.
func checkAnnotationNames(p *pass, pod *pod) {
	for _, list := range []string{"annotations", "labels"} {
		at := pod.path("metadata", list)
		v := pod.Find(at...)
		if v == nil || v.Kind != manifest.Mapping {
			continue
		}
		for _, f := range v.Fields {
			group, name, _ := strings.Cut(f.Key, "/")
			written := name == "network-status" || name == "networks-status" // multus writes these
			if !strings.HasSuffix(group, "cni.cncf.io") || !strings.HasPrefix(name, "network") || written ||
				list == "annotations" && f.Key == k8s.AnnotationNetworks {
				continue
			}
			way := append(slices.Clone(at), f.Key)
			found := p.error(pod.Object, way, "multus doesn't read %s in %s", f.Key, list).place(pod.KeyAt(way...)).fix(
				"annotations: {%s: ...}", k8s.AnnotationNetworks)
			if list == "annotations" {
				found.Remedy = "rename it to " + k8s.AnnotationNetworks
			}
		}
	}
}

func checkPodNetworks(p *pass, pod *pod) {
	known, seen := p.attachables(), map[string]bool{}
	for _, a := range pod.networks {
		namespace := cmp.Or(a.Namespace, pod.Namespace)
		id := namespace + "/" + a.Name
		if seen[id] {
			continue // a pod may attach a network several times
		}
		seen[id] = true
		if a.Namespace != "" && p.namespacesKnown() && !p.namespaces[a.Namespace] {
			p.error(pod.Object, pod.annotation(), "multus looks for %s in namespace %s, which doesn't exist", a.Name,
				a.Namespace).inAnnotation(pod, a.Namespace).Remedy = "write the namespace of the network"
			continue
		}
		if _, ok := p.resolve(pod, a); ok || len(known) == 0 || p.madeByOthers(a.Name) {
			continue
		}
		elsewhere := p.homes(a.Name)
		at := strings.TrimPrefix(a.Namespace+"/"+a.Name, "/")
		report := func(severity Severity, format string, args ...any) *Finding {
			return p.report(severity, pod.Object, pod.annotation(), format, args...).inAnnotation(pod, at).inAnnotation(
				pod, `"`+a.Name+`"`)
		}
		switch near := p.nearest(a.Name); {
		case len(elsewhere) > 0:
			report(SeverityError, "network %s is in namespace %s, but multus looks in %s", a.Name,
				shorten(strings.Join(elsewhere, ", ")), namespace).fix("%s", pod.selection(elsewhere[0], a.Name))
		case near != "":
			homes, home := p.homes(near), ""
			if !slices.Contains(homes, namespace) && namespace != "" {
				home = homes[0]
			}
			report(SeverityError, "unknown network %s", at).fix("%s", pod.selection(cmp.Or(home, a.Namespace), near))
		default:
			f := report(SeverityWarn, "unknown network %s; known are %s", at, shorten(strings.Join(p.names, ", ")))
			if pod.Unit != "" && !p.units[pod.Unit] && !p.units[""] {
				f.Severity = SeverityNote // the networks of other examples
			}
		}
	}
}

// nearest returns the network whose name is most similar to an unknown one, "" if none is.
func (m *model) nearest(name string) string {
	near, ok := m.similar[name]
	if !ok {
		near = spelling.Nearest(name, m.names, spelling.Loose)
		m.similar[name] = near
	}
	return near
}

// homes returns the namespaces of the networks with a name.
func (m *model) homes(name string) []string {
	var out []string
	for _, t := range m.byName[name] {
		if !slices.Contains(out, t.namespace) {
			out = append(out, t.namespace)
		}
	}
	return out
}

// selection returns a network in the form of the pod's annotation.
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

// checkInterfaces reports invalid and duplicate names of interfaces. multus calls those without a
// name net1, net2 and so on by their position.
func checkInterfaces(p *pass, pod *pod) {
	seen := map[string]bool{}
	for i, a := range pod.networks {
		name := cmp.Or(a.Interface, fmt.Sprintf("net%d", i+1))
		report := func(format string, args ...any) *Finding {
			return p.error(pod.Object, pod.annotation(), format, args...).inAnnotation(pod, name)
		}
		switch {
		case name == "eth0":
			report("network %s requests the interface name eth0, which the pod's default network has",
				a.Name).Remedy = "remove the name, or write net" + strconv.Itoa(i+1)
		case seen[name]:
			report("duplicate interface name %s: the second attachment fails, and the pod with it",
				name).Remedy = "use different interface names, or none"
		case len(name) > maxInterface || strings.ContainsAny(name, " \t/"):
			report("%q is not a valid interface name (at most %d characters)",
				shorten(name), maxInterface).Remedy = "write a shorter name"
		}
		seen[name] = true
	}
}

// entryFields returns the fields of an entry of the JSON form.
func entryFields() []string {
	return []string{
		"name", "namespace", "ips", "mac", "infiniband-guid", "interface", "interfaceRequest", "portMappings",
		"bandwidth", "cni-args", "default-route", "deviceID", "ipam-claim-reference",
	}
}

// entryTwins maps wrong names that users write to the fields that they mean.
func entryTwins() map[string]string {
	return map[string]string{
		"ip": "ips", "address": "ips", "addresses": "ips", "ns": "namespace", "ifname": "interface",
		"ifName": "interface", "interfaceName": "interface", "guid": "infiniband-guid",
		"infinibandGUID": "infiniband-guid", "infinibandGuid": "infiniband-guid", "gateway": "default-route",
		"defaultRoute": "default-route", "macAddress": "mac", "network": "name", "networkName": "name",
		"cniArgs": "cni-args", "args": "cni-args",
	}
}

// checkEntryFields reports fields that multus ignores.
func checkEntryFields(p *pass, pod *pod) {
	text := pod.Value.Metadata.Annotations[k8s.AnnotationNetworks]
	if len(pod.networks) == 0 || !inJSON(text) {
		return
	}
	var entries []map[string]json.RawMessage
	_ = json.Unmarshal([]byte(text), &entries) // checkAnnotation has reported errors
	for i, entry := range entries[:min(len(entries), maxAttachments)] {
		for _, name := range slices.Sorted(maps.Keys(entry)) {
			if slices.ContainsFunc(entryFields(), func(k string) bool { return strings.EqualFold(k, name) }) {
				continue // encoding/json ignores case
			}
			right := cmp.Or(entryTwins()[name], spelling.Nearest(name, entryFields(), spelling.Strict))
			f := p.warn(pod.Object, pod.annotation(), "network %s has a field %q that multus ignores",
				pod.networks[i].Name, name).inAnnotation(pod, `"`+name+`"`)
			f.Remedy = "remove it"
			if right != "" {
				f.Severity, f.Remedy = SeverityError, "rename it to "+right
			}
		}
	}
}

// madeByOthers reports whether an object of a kind without rules creates the network: for example
// OVSNetwork, SpiderMultusConfig, or OpenShift's Network, which has a list of networks.
func (m *model) madeByOthers(name string) bool { return m.others[name] }

func (m *model) findOthers() map[string]bool {
	out := map[string]bool{}
	for _, o := range m.objects {
		if (strings.HasSuffix(o.Kind, "Network") || o.Kind == "SpiderMultusConfig") && k8s.Schema(o.Kind) == nil {
			out[o.Name] = true
		}
		if o.Kind == "Network" {
			for _, v := range o.Find("spec", "additionalNetworks").List() {
				if n := v.Get("name"); n != nil {
					out[n.Text] = true
				}
			}
		}
	}
	return out
}
