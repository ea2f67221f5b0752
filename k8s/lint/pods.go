package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// pod is a pod, or the pod template of a workload.
type pod struct {
	*manifest.Object
	at       path // of the template within the object
	Value    k8s.PodTemplate
	Replicas int // of the workload; 1 if unknown
	networks []attachment
	err      error // of the annotation of networks
	// defaultNetwork replaces the cluster's default network.
	defaultNetwork []attachment
	defaultErr     error // of the annotation of defaultNetwork

	running  []container // containers and sidecars
	initOnly []container // init containers that end before the others start
}

// ours reports whether a policy or node has a resource, or a network uses it.
func (m *model) ours(resource string) bool {
	use := m.resource[resource]
	return use.made || use.networked
}

// container is a container with its path.
type container struct {
	k8s.Container
	pod *pod
	at  path
}

// limit is a limit of a container's resources.
type limit struct {
	k8s.Quantity
	name         string // PREFIX/BASE
	prefix, base string
	at           path
}

// limits returns the container's limits, sorted by name.
func (c container) limits() []limit {
	var out []limit
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
		prefix, base := splitResource(name)
		out = append(out, limit{c.Resources.Limits[name], name, prefix, base, c.path("resources", "limits", name)})
	}
	return out
}

// limits returns the limits of all containers that run while the pod does.
func (p *pod) limits() []limit {
	var out []limit
	for _, c := range p.running {
		out = append(out, c.limits()...)
	}
	return out
}

// all returns all containers, with the init containers that end last.
func (p *pod) all() []container { return slices.Concat(p.running, p.initOnly) }

// path returns the path of a value of the container.
func (c container) path(steps ...any) path { return append(slices.Clone(c.at), steps...) }

// attachment is a network that a pod names.
type attachment struct {
	Name      string   `json:"name"`
	Namespace string   `json:"namespace"`
	Interface string   `json:"interface"`
	GUID      string   `json:"infiniband-guid"`
	MAC       string   `json:"mac"`
	IPs       []string `json:"ips"`
	Routes    []string `json:"default-route"`
	// Default is set for the default network. Without a namespace, multus looks for it in a
	// configured namespace instead of the pod's.
	Default bool `json:"-"`
}

// maxInterface is the longest name of an interface (IFNAMSIZ without the terminating zero).
const maxInterface = 15

// maxReplicas limits the product of a workload's replica counts.
const maxReplicas = 1 << 20

// labelForm matches the names that multus accepts in the comma-separated form.
var labelForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// maxTemplates limits the templates of one object. A JobSet has a handful.
const maxTemplates = 1000

// podsOf returns the pods of an object: the object itself, or its pod templates at any depth
// (Deployment, StatefulSet, DaemonSet, Job, CronJob, LeaderWorkerSet, the kinds of Kubeflow and
// Ray). A pod template is a mapping whose spec has containers.
func podsOf(o *manifest.Object) []*pod {
	if o.Kind == manifest.KindCRD {
		return nil
	}
	var pods []*pod
	var at path // of the value that is looked at
	var walk func(v *manifest.Value)
	walk = func(v *manifest.Value) {
		if v == nil || len(pods) >= maxTemplates {
			return
		}
		if c := v.Find("spec", "containers"); c != nil && c.Kind == manifest.List && isTemplate(o, at) ||
			misspelt(o, v, at) {
			pods = append(pods, newPod(o, v, slices.Clone(at)))
			return
		}
		for _, f := range v.Fields {
			at = append(at, f.Key)
			walk(f.Value)
			at = at[:len(at)-1]
		}
		for i, item := range v.Items {
			at = append(at, i)
			walk(item)
			at = at[:len(at)-1]
		}
	}
	walk(o.Root)
	return pods
}

// misspelt reports whether a pod or template has the field container instead of containers.
func misspelt(o *manifest.Object, v *manifest.Value, at path) bool {
	return v.Find("spec", "container") != nil && isTemplate(o, at)
}

// isTemplate reports whether a mapping with a pod's spec can be a pod: the object itself if it is a
// Pod, or a field whose name says template. Other kinds have spec.containers of their own.
func isTemplate(o *manifest.Object, at path) bool {
	if len(at) == 0 {
		return o.Kind == k8s.KindPod
	}
	key, _ := at[len(at)-1].(string)
	return strings.Contains(strings.ToLower(key), "template")
}

func newPod(o *manifest.Object, v *manifest.Value, at path) *pod {
	p := &pod{Object: o, at: at, Replicas: 1}
	v.Decode(&p.Value)
	p.Replicas = replicasOf(o, at)
	p.networks, p.err = parseNetworks(p.Value.Metadata.Annotations[k8s.AnnotationNetworks])
	p.networks = p.networks[:min(len(p.networks), maxAttachments)]
	p.defaultNetwork, p.defaultErr = parseNetworks(p.Value.Metadata.Annotations[k8s.AnnotationDefaultNetwork])
	if len(p.defaultNetwork) > 1 {
		p.defaultNetwork, p.defaultErr = nil, fmt.Errorf("%d networks, but a pod has one default network",
			len(p.defaultNetwork))
	}
	for i := range p.defaultNetwork {
		p.defaultNetwork[i].Default = true
	}
	p.addContainers()
	return p
}

// addContainers sorts the containers into those that run with the pod, which include sidecars, and
// init containers that end.
func (p *pod) addContainers() {
	for i, c := range p.Value.Spec.Containers {
		p.running = append(p.running, container{c, p, p.path("spec", "containers", i)})
	}
	for i, c := range p.Value.Spec.InitContainers {
		at := p.path("spec", "initContainers", i)
		if v := p.Find(append(slices.Clone(at), "restartPolicy")...); v != nil && v.Text == "Always" {
			p.running = append(p.running, container{c, p, at})
		} else {
			p.initOnly = append(p.initOnly, container{c, p, at})
		}
	}
}

// replicasOf multiplies the replica counts on the path to a template: replicas of most kinds,
// parallelism of a Job, and size of a LeaderWorkerSet, which includes the leader.
func replicasOf(o *manifest.Object, at path) int {
	product := 1
	for i := range at {
		v := o.Find(at[:i]...)
		for _, name := range []string{"replicas", "parallelism", "size"} {
			var n int
			if f := v.Find(name); f == nil || len(f.Decode(&n)) > 0 || n < 0 {
				continue
			}
			if name == "size" {
				switch {
				case at[i] == "leaderTemplate":
					n = 1
				case at[i] != "workerTemplate":
					continue // not the size of a LeaderWorkerSet
				case v.Find("leaderTemplate") != nil:
					n = max(0, n-1)
				}
			}
			product = min(product*min(n, maxReplicas), maxReplicas)
		}
	}
	return product
}

// path returns the path of a value of the template.
func (p *pod) path(steps ...any) path { return append(slices.Clone(p.at), steps...) }

// annotation returns the path of the annotation with the networks.
func (p *pod) annotation() path { return p.path("metadata", "annotations", k8s.AnnotationNetworks) }

// attachments returns all attachments, including the default network.
func (p *pod) attachments() []attachment { return slices.Concat(p.defaultNetwork, p.networks) }

// fault is a mistake in an annotation.
type fault struct {
	offset int // in the text of the annotation
	text   string
	remedy string // "": the remedy of the rule
}

// Error returns the description.
func (f *fault) Error() string { return f.text }

// parseJSONNetworks parses the JSON form of the annotation, a list of multus'
// NetworkSelectionElement.
func parseJSONNetworks(text string) ([]attachment, error) {
	var out []attachment
	err := json.Unmarshal([]byte(text), &out)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		name := e.Field[strings.LastIndexByte(e.Field, '.')+1:]
		switch {
		case name == "" && strings.HasPrefix(text, "{"):
			return nil, &fault{0, "it is an object, but multus requires a list", "put it into brackets: [{...}]"}
		case name == "":
			return nil, &fault{0, "an entry is not an object", `write entries as {"name": "rail0"}`}
		}
		return nil, &fault{
			max(0, strings.Index(text, `"`+name+`"`)), name + " " + wrongTypeText(e), "change the type of the value",
		}
	}
	if err != nil {
		offset, what := jsonFault(text)
		return nil, &fault{offset, "not valid JSON: " + what, "make it valid JSON"}
	}
	for _, a := range out {
		at := max(0, strings.Index(text, `"`+a.Name+`"`))
		namespace, name, _ := strings.Cut(a.Name, "/")
		switch {
		case a.Name == "":
			return nil, &fault{0, "an entry has no name", `write entries as {"name": "rail0"}`}
		case strings.Contains(a.Name, "/"):
			return nil, &fault{
				at,
				fmt.Sprintf("the name %q contains a namespace, which is a separate field in the JSON form", a.Name),
				fmt.Sprintf(`write "name": %q, "namespace": %q`, name, namespace),
			}
		case strings.Contains(a.Name, "@"):
			return nil, &fault{
				at,
				fmt.Sprintf("the name %q contains an interface, which is a separate field in the JSON form", a.Name),
				`move it to the field "interface"`,
			}
		}
	}
	return out, nil
}

// parseNetworks parses the annotation as multus does: JSON, or a comma-separated list of
// "[namespace/]name[@interface]".
func parseNetworks(text string) ([]attachment, error) {
	text = strings.TrimSpace(text)
	var out []attachment
	switch {
	case text == "":
		return nil, nil
	case inJSON(text):
		return parseJSONNetworks(text)
	}
	for part := range strings.SplitSeq(text, ",") {
		var a attachment
		part = strings.TrimSpace(part)
		part, a.Interface, _ = strings.Cut(part, "@")
		if ns, name, ok := strings.Cut(part, "/"); ok {
			a.Namespace, a.Name = ns, name
		} else {
			a.Name = part
		}
		a.Name, a.Namespace, a.Interface = strings.TrimSpace(a.Name), strings.TrimSpace(a.Namespace),
			strings.TrimSpace(a.Interface)
		switch {
		case a.Name == "" || strings.ContainsAny(a.Name, "/@ ") || strings.Contains(a.Interface, "@"):
			return nil, fmt.Errorf("%q is not [namespace/]name[@interface]", part)
		case !labelForm.MatchString(a.Name) || a.Namespace != "" && !labelForm.MatchString(a.Namespace):
			return nil, fmt.Errorf(
				"%q has characters other than lower-case letters, digits and -, which only the JSON form allows", part)
		case len(a.Interface) > maxInterface || strings.ContainsAny(a.Interface, " \t/"):
			return nil, fmt.Errorf("%q is not a valid interface name (at most %d characters)",
				shorten(a.Interface), maxInterface)
		}
		out = append(out, a)
	}
	return out, nil
}

// inJSON reports whether an annotation has the JSON form, by multus' own test.
func inJSON(text string) bool { return strings.ContainsAny(text, "[{\"") }

// resolve returns the network that an attachment of a pod names, as multus finds it: in the pod's
// namespace if the attachment has none. A manifest without a namespace matches any, after those of
// the same namespace. ok is false if no object has that name.
func (m *model) resolve(p *pod, a attachment) (found attachable, ok bool) {
	namespace := a.Namespace
	if namespace == "" {
		namespace = p.Namespace
	}
	for _, t := range m.byName[a.Name] {
		switch {
		case namespace != "" && t.namespace == namespace:
			return t, true
		case ok:
		case namespace == "" || a.Default && a.Namespace == "" || t.namespace == "":
			found, ok = t, true
		}
	}
	return found, ok
}

// claims reports whether the pod gets devices by claims (DRA).
func (p *pod) claims() bool {
	v := p.Find(p.path("spec", "resourceClaims")...)
	return v != nil && len(v.Items) > 0
}

// requested returns the sum of all containers' limits of a resource. An empty prefix matches any.
func (p *pod) requested(prefix, resource string) int {
	sum := 0
	for _, c := range p.running {
		for name, q := range c.Resources.Limits {
			if pre, base := splitResource(name); base == resource && pre != "" && (prefix == "" || pre == prefix) {
				sum += q.Count()
			}
		}
	}
	return sum
}
