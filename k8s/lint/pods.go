package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// pod is a pod, or a template that a workload makes pods of.
type pod struct {
	*manifest.Object
	at       path // of the template within the object
	Value    k8s.PodTemplate
	Replicas int // that the workload asks for; 1 where nothing tells
	networks []attachment
	err      error // the annotation can't be read
	// instead is the network that takes the place of the cluster's own.
	instead    []attachment
	insteadErr error

	running []container // containers and sidecars
	ending  []container // init containers that end before the others start
}

// container is a container with the way to it.
type container struct {
	k8s.Container
	at path
}

// path returns the way to a value of the container.
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
	// Default: multus looks in a namespace of its own where none is named.
	Default bool `json:"-"`
}

// maxInterface is the longest name of an interface (IFNAMSIZ without its zero).
const maxInterface = 15

// maxReplicas bounds what the counts of a workload make together.
const maxReplicas = 1 << 20

// labelForm is what multus takes in the form with commas.
var labelForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// maxTemplates bounds the templates of one object: a JobSet has a handful.
const maxTemplates = 1000

// podsOf finds the pods of an object: itself, or the templates at any depth (Deployment,
// StatefulSet, DaemonSet, Job, CronJob, LeaderWorkerSet, the kinds of Kubeflow and Ray): a mapping
// whose spec has containers.
func podsOf(o *manifest.Object) []*pod {
	var pods []*pod
	var walk func(v *manifest.Value, at path)
	walk = func(v *manifest.Value, at path) {
		if v == nil || len(pods) >= maxTemplates {
			return
		}
		if c := v.Find("spec", "containers"); c != nil && c.Kind == manifest.List || misspelt(o, v, at) {
			pods = append(pods, newPod(o, v, at))
			return
		}
		for _, f := range v.Fields {
			walk(f.Value, append(slices.Clone(at), f.Key))
		}
		for i, item := range v.Items {
			walk(item, append(slices.Clone(at), i))
		}
	}
	walk(o.Root, nil)
	return pods
}

// misspelt reports a pod or a template that has "container" for "containers".
func misspelt(o *manifest.Object, v *manifest.Value, at path) bool {
	if v.Find("spec", "container") == nil {
		return false
	}
	if len(at) == 0 {
		return o.Kind == k8s.KindPod
	}
	key, _ := at[len(at)-1].(string)
	return strings.HasSuffix(strings.ToLower(key), "template")
}

func newPod(o *manifest.Object, v *manifest.Value, at path) *pod {
	p := &pod{Object: o, at: at, Replicas: 1}
	v.Decode(&p.Value)
	p.Replicas = replicasOf(o, at)
	p.networks, p.err = parseNetworks(p.Value.Metadata.Annotations[k8s.AnnotationNetworks])
	if len(p.networks) > maxAttachments {
		p.networks, p.err = nil, fmt.Errorf("%d networks: no pod has that many", len(p.networks))
	}
	p.instead, p.insteadErr = parseNetworks(p.Value.Metadata.Annotations[k8s.AnnotationDefaultNetwork])
	if len(p.instead) > 1 {
		p.instead, p.insteadErr = nil, fmt.Errorf("%d networks, and a pod has one in place of the cluster's",
			len(p.instead))
	}
	for i := range p.instead {
		p.instead[i].Default = true
	}
	p.addContainers()
	return p
}

// addContainers tells init containers that end from those that run with the others, the sidecars.
func (p *pod) addContainers() {
	for i, c := range p.Value.Spec.Containers {
		p.running = append(p.running, container{c, p.path("spec", "containers", i)})
	}
	for i, c := range p.Value.Spec.InitContainers {
		at := p.path("spec", "initContainers", i)
		if v := p.Find(append(slices.Clone(at), "restartPolicy")...); v != nil && v.Text == "Always" {
			p.running = append(p.running, container{c, at})
		} else {
			p.ending = append(p.ending, container{c, at})
		}
	}
}

// replicasOf multiplies the counts on the way to a template: replicas of most kinds, parallelism of
// a Job, and size of a LeaderWorkerSet, whose leader is one of it.
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
					continue // of something else
				case v.Find("leaderTemplate") != nil:
					n = max(0, n-1)
				}
			}
			product = min(product*min(n, maxReplicas), maxReplicas)
		}
	}
	return product
}

// path returns the way to a value of the template.
func (p *pod) path(steps ...any) path { return append(slices.Clone(p.at), steps...) }

// annotation is the way to the annotation with the networks.
func (p *pod) annotation() path { return p.path("metadata", "annotations", k8s.AnnotationNetworks) }

// attachments returns all attachments, that in place of the cluster's network included.
func (p *pod) attachments() []attachment { return slices.Concat(p.instead, p.networks) }

// fault is what is wrong with an annotation.
type fault struct {
	offset int // in its text
	text   string
	remedy string // "": that of the rule
}

// Error returns the text.
func (f *fault) Error() string { return f.text }

// parseJSONNetworks reads the JSON form, whose entries are as multus has them.
func parseJSONNetworks(text string) ([]attachment, error) {
	var out []attachment
	err := json.Unmarshal([]byte(text), &out)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		name := e.Field[strings.LastIndexByte(e.Field, '.')+1:]
		switch {
		case name == "" && strings.HasPrefix(text, "{"):
			return nil, &fault{0, "one object, and multus takes a list of them", "put it into brackets: [{...}]"}
		case name == "":
			return nil, &fault{0, "an entry is no object", `write entries as {"name": "rail0"}`}
		}
		return nil, &fault{
			max(0, strings.Index(text, `"`+name+`"`)), name + " " + misfitText(e), "write it as multus takes it",
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
				fmt.Sprintf("the name %q has a namespace in it, which is a field of its own in the JSON form", a.Name),
				fmt.Sprintf(`write "name": %q, "namespace": %q`, name, namespace),
			}
		case strings.Contains(a.Name, "@"):
			return nil, &fault{
				at,
				fmt.Sprintf("the name %q has an interface in it, which is a field of its own in the JSON form", a.Name),
				`write it as "interface"`,
			}
		}
	}
	return out, nil
}

// parseNetworks reads the annotation as multus does: JSON, or "[namespace/]name[@interface]" with
// commas between.
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
			return nil, fmt.Errorf("%q is no [namespace/]name[@interface]", part)
		case !labelForm.MatchString(a.Name) || a.Namespace != "" && !labelForm.MatchString(a.Namespace):
			return nil, fmt.Errorf(
				"%q has other characters than lower-case letters, digits and -: only the JSON form takes them", part)
		case len(a.Interface) > maxInterface || strings.ContainsAny(a.Interface, " \t/"):
			return nil, fmt.Errorf("%q is no name of an interface: %d characters at most",
				shorten(a.Interface), maxInterface)
		}
		out = append(out, a)
	}
	return out, nil
}

// inJSON reports the JSON form of an annotation, as multus tells it.
func inJSON(text string) bool { return strings.ContainsAny(text, "[{\"") }

// attached finds what an attachment of a pod means: multus looks in the pod's namespace where the
// attachment names none. ok is false where no object has that name there. In a manifest without a
// namespace any fits.
func (m *model) attached(p *pod, a attachment) (found attachable, ok bool) {
	namespace := a.Namespace
	if namespace == "" {
		namespace = p.Namespace
	}
	for _, t := range m.byName[a.Name] {
		if namespace == "" || a.Default && a.Namespace == "" || t.namespace == "" || t.namespace == namespace {
			return t, true
		}
	}
	return attachable{}, false
}

// containers returns all containers that run while the pod does, sidecars included.
func (p *pod) containers() []container { return p.running }

// asks returns how many of a resource all containers have as limits; prefix "" fits any.
func (p *pod) asks(prefix, resource string) int {
	sum := 0
	for _, c := range p.containers() {
		for name, q := range c.Resources.Limits {
			if pre, base := splitResource(name); base == resource && pre != "" && (prefix == "" || pre == prefix) {
				sum += q.Count()
			}
		}
	}
	return sum
}
