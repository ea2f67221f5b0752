package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// podSet are rails that the same nodes have: a pod that asks for all of them finds a node.
type podSet struct {
	suffix string // "" where there is one set; else that of the first of its groups of nodes
	first  int    // that group, by its place in Plan.Groups
	rails  []*rail
	nodes  int
	// selector are labels that its nodes have and those of other sets don't, nil where there are
	// none, or one set.
	selector map[string]string
	// room is how many pods with a VF of each rail the nodes take.
	room int
	// checkPods and testPods are how many there are to be.
	checkPods, testPods int
}

// podSets sorts nodes by the rails that they have.
func (m *maker) podSets() []podSet {
	byNode := map[*source.Node][]*rail{}
	room := map[*source.Node]int{}
	var nodes []*source.Node
	for _, r := range m.rails {
		for _, c := range r.members {
			if byNode[c.node] == nil {
				nodes = append(nodes, c.node)
				room[c.node] = c.vfs.n
			}
			byNode[c.node] = append(byNode[c.node], r)
			room[c.node] = min(room[c.node], c.vfs.n)
		}
	}
	groups := map[string]int{} // of nodes, by name
	for i, g := range m.plan.Groups {
		for _, name := range g.Nodes {
			groups[name] = i
		}
	}
	var sets []podSet
	for _, n := range nodes {
		i := slices.IndexFunc(sets, func(s podSet) bool { return slices.Equal(s.rails, byNode[n]) })
		if i < 0 {
			i = len(sets)
			sets = append(sets, podSet{rails: byNode[n], first: groups[n.Name]})
		}
		sets[i].first = min(sets[i].first, groups[n.Name])
		sets[i].nodes++
		sets[i].room += room[n]
	}
	slices.SortStableFunc(sets, func(a, b podSet) int { return cmp.Compare(a.first, b.first) })
	if len(sets) == 1 {
		return sets
	}
	for i := range sets {
		sets[i].suffix = "-" + m.plan.Groups[sets[i].first].Name
	}
	m.pin(sets, byNode)
	return sets
}

// pin gives each set the labels of its nodes, where they are the same for all of them and no other
// set has them: its pods would also fit nodes with more rails.
func (m *maker) pin(sets []podSet, byNode map[*source.Node][]*rail) {
	used := make([][]map[string]string, len(sets))
	for _, g := range m.groups {
		for _, n := range g.nodes {
			i := slices.IndexFunc(sets, func(s podSet) bool { return slices.Equal(s.rails, byNode[n]) })
			if !slices.ContainsFunc(used[i], func(l map[string]string) bool { return maps.Equal(l, g.selector) }) {
				used[i] = append(used[i], g.selector)
			}
		}
	}
	for i, labels := range used {
		elsewhere := slices.ContainsFunc(slices.Concat(slices.Concat(used[:i], used[i+1:])...),
			func(l map[string]string) bool { return maps.Equal(l, labels[0]) })
		if len(labels) == 1 && !elsewhere {
			sets[i].selector = labels[0]
		}
	}
}

// pods makes the test pods and the check.
func (m *maker) pods() {
	sets := m.podSets()
	m.fitPods(sets)
	for _, s := range sets {
		m.testPods(s)
	}
	for _, s := range sets {
		if s.checkPods > 0 {
			m.check(s)
		}
	}
}

// fitPods makes the pods no more than there are VFs for. The check comes first, for it ends; test
// pods hold their VFs, so they get what is left, on the nodes with more rails too, where they may
// land as well.
func (m *maker) fitPods(sets []podSet) {
	fewer, none := false, false
	for i := range sets {
		s := &sets[i]
		s.checkPods = min(m.opts.CheckPods, s.room)
		if s.checkPods < 2 { // one pod has nobody to write to
			none = none || m.opts.CheckPods > 0
			s.checkPods = 0
		}
		fewer = fewer || s.checkPods > 0 && s.checkPods < m.opts.CheckPods
		s.room -= s.checkPods
	}
	less := false
	for i := range sets {
		s := &sets[i]
		s.testPods = m.opts.TestPods
		var shared []*podSet
		for j := range sets {
			if t := &sets[j]; (t == s || s.selector == nil) &&
				!slices.ContainsFunc(s.rails, func(r *rail) bool { return !slices.Contains(t.rails, r) }) {
				shared = append(shared, t)
				s.testPods = min(s.testPods, t.room)
			}
		}
		for _, t := range shared {
			t.room -= s.testPods
		}
		less = less || s.testPods < m.opts.TestPods
	}
	for _, n := range []struct {
		holds bool
		text  string
	}{
		{none, "there are VFs for one pod only, so no Job checks the rails: it takes two pods"},
		{fewer, "the Job that checks the rails has fewer pods than asked for: there are no more VFs"},
		{less, "there are fewer test pods than asked for, or none: they hold their VFs, and the Job that " +
			"checks the rails needs them"},
	} {
		if n.holds {
			m.plan.Notes = append(m.plan.Notes, n.text)
		}
	}
}

// podSpec is a pod's, with the fields that package k8s has no use for.
type podSpec struct {
	RestartPolicy             string             `json:"restartPolicy,omitempty"`
	Subdomain                 string             `json:"subdomain,omitempty"`
	NodeSelector              map[string]string  `json:"nodeSelector,omitempty"`
	TopologySpreadConstraints []spreadConstraint `json:"topologySpreadConstraints,omitempty"`
	Containers                []container        `json:"containers"`
}

type spreadConstraint struct {
	MaxSkew           int               `json:"maxSkew"`
	TopologyKey       string            `json:"topologyKey"`
	WhenUnsatisfiable string            `json:"whenUnsatisfiable"`
	LabelSelector     k8s.LabelSelector `json:"labelSelector"`
}

type container struct {
	Name            string              `json:"name"`
	Image           string              `json:"image"`
	Command         []string            `json:"command"`
	Env             []envVar            `json:"env,omitempty"`
	Resources       k8s.Resources       `json:"resources"`
	SecurityContext k8s.SecurityContext `json:"securityContext"`
}

type envVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type podObject struct {
	k8s.TypeMeta
	Metadata k8s.ObjectMeta `json:"metadata"`
	Spec     podSpec        `json:"spec"`
}

// annotation names the networks of a set, for multus.
func (m *maker) annotation(s podSet) map[string]string {
	var list []string
	for _, r := range s.rails {
		list = append(list, m.plan.Namespace+"/"+r.name)
	}
	return map[string]string{k8s.AnnotationNetworks: strings.Join(list, ",")}
}

// container makes a container with a VF of each rail.
func (m *maker) container(s podSet, script string, env []envVar) container {
	all := map[string]k8s.Quantity{"memory": "1Gi"}
	for _, r := range s.rails {
		all[m.plan.ResourcePrefix+"/"+r.resource()] = "1"
	}
	return container{
		Name: "rdma", Image: m.opts.Image, Command: []string{"sh", "-c", script}, Env: env,
		Resources: k8s.Resources{Requests: all, Limits: all},
		SecurityContext: k8s.SecurityContext{
			RunAsUser: new(0), Capabilities: k8s.Capabilities{Add: []string{"IPC_LOCK"}},
		},
	}
}

func spread(s podSet, pods int, key, value string) []spreadConstraint {
	unsatisfiable := "DoNotSchedule"
	if s.nodes < pods {
		unsatisfiable = "ScheduleAnyway"
	}
	return []spreadConstraint{{
		MaxSkew: 1, TopologyKey: labelHost, WhenUnsatisfiable: unsatisfiable,
		LabelSelector: k8s.LabelSelector{MatchLabels: map[string]string{key: value}},
	}}
}

const labelApp = "app.kubernetes.io/name"

// testPods are for commands by hand.
func (m *maker) testPods(s podSet) {
	app := "rdma-test" + s.suffix
	for i := range s.testPods {
		name := fmt.Sprintf("%s-%d", app, i)
		d := m.add("60-pod-"+name, k8s.KindPod, m.plan.Namespace, name, podObject{
			TypeMeta: k8s.TypeMeta{APIVersion: k8s.CoreVersion, Kind: k8s.KindPod},
			Metadata: k8s.ObjectMeta{
				Name: name, Namespace: m.plan.Namespace, Labels: map[string]string{labelApp: app},
				Annotations: m.annotation(s),
			},
			Spec: podSpec{
				RestartPolicy: "Never", NodeSelector: s.selector,
				TopologySpreadConstraints: spread(s, s.testPods, labelApp, app),
				Containers:                []container{m.container(s, "sleep infinity", nil)},
			},
		})
		if i == 0 {
			d.head = []string{"A pod to try things in: kubectl -n " + m.plan.Namespace + " exec -it " + name +
				" -- sh. It holds a VF of each rail until it is deleted."}
			explainPod(d, s)
		}
	}
}

// explainPod says why a pod is as it is.
func explainPod(d *document, s podSet, steps ...string) {
	at := func(path ...string) []string { return append(slices.Clone(steps), path...) }
	if s.selector != nil {
		d.because("The nodes that have these rails and no others: nodes with more rails have the resources, too.",
			at("spec", "nodeSelector")...)
	}
	d.because("One attachment for each rail, by namespace and name; as many VFs of its resource below.",
		at("metadata", "annotations")...)
	d.because("Memory that cards write to is locked. IPC_LOCK lifts the limit for user 0 only; for others the limit "+
		"of the container runtime counts (LimitMEMLOCK). Requests and limits are written here, because the injector "+
		"that would add them is off by default.", at("spec", "containers")...)
}

// checkScript runs ib_write_bw from each pod to pod 0 on each rail. It runs as sh.
const checkScript = `set -eu
if ! command -v ib_write_bw >/dev/null; then
  apt-get update -qq
  apt-get install -qqy perftest >/dev/null
fi
device() {
  address=$(tr '\000' '\n' </proc/$$/environ | sed -n "s/^$1=//p")
  address=${address%%,*}
  for d in "/sys/bus/pci/devices/$address/infiniband/"*; do
    [ -e "$d" ] || { echo "no RDMA device of $address ($1)" >&2; exit 1; }
    echo "${d##*/}"
  done
}
# Pod I has ports 18515 + 100 I and up, one for each rail.
if [ "$JOB_COMPLETION_INDEX" = 0 ]; then
  servers=
  i=1
  while [ "$i" -lt "$PODS" ]; do
    port=$((18515 + 100 * i))
    for rail in $RAILS; do
      dev=$(device "$rail")
      ib_write_bw -d "$dev" -p "$port" -D 2 & servers="$servers $!"
      port=$((port + 1))
    done
    i=$((i + 1))
  done
  for server in $servers; do wait "$server"; done
  echo "every pod reached pod 0 on every rail"
  exit 0
fi
port=$((18515 + 100 * JOB_COMPLETION_INDEX))
for rail in $RAILS; do
  dev=$(device "$rail")
  try=0
  until ib_write_bw -d "$dev" -p "$port" -D 2 --report_gbits "$SERVER"; do
    try=$((try + 1))
    [ "$try" -lt 60 ] || { echo "pod $JOB_COMPLETION_INDEX doesn't reach pod 0 on $rail" >&2; exit 1; }
    sleep 5
  done
  port=$((port + 1))
done`

type jobObject struct {
	k8s.TypeMeta
	Metadata k8s.ObjectMeta `json:"metadata"`
	Spec     jobSpec        `json:"spec"`
}

type jobSpec struct {
	CompletionMode        string      `json:"completionMode"`
	Completions           int         `json:"completions"`
	Parallelism           int         `json:"parallelism"`
	BackoffLimit          int         `json:"backoffLimit"`
	ActiveDeadlineSeconds int         `json:"activeDeadlineSeconds"`
	Template              podTemplate `json:"template"`
}

type podTemplate struct {
	Metadata k8s.ObjectMeta `json:"metadata"`
	Spec     podSpec        `json:"spec"`
}

type serviceObject struct {
	k8s.TypeMeta
	Metadata k8s.ObjectMeta `json:"metadata"`
	Spec     serviceSpec    `json:"spec"`
}

type serviceSpec struct {
	ClusterIP                string            `json:"clusterIP"`
	PublishNotReadyAddresses bool              `json:"publishNotReadyAddresses"`
	Selector                 map[string]string `json:"selector"`
}

// check makes a Job whose pods write to the first of them on each rail, and the Service by which
// they find it.
func (m *maker) check(s podSet) {
	name, ns := "rdma-check"+s.suffix, m.plan.Namespace
	labels := map[string]string{labelApp: name}
	d := m.add("70-service-"+name, kindService, ns, name, serviceObject{
		TypeMeta: k8s.TypeMeta{APIVersion: k8s.CoreVersion, Kind: kindService},
		Metadata: k8s.ObjectMeta{Name: name, Namespace: ns},
		Spec:     serviceSpec{ClusterIP: "None", PublishNotReadyAddresses: true, Selector: labels},
	})
	d.head = []string{"Names for the pods of the check: " + name + "-0." + name}
	var rails []string
	for _, r := range s.rails {
		rails = append(rails, deviceVariable(m.plan.ResourcePrefix, r.resource()))
	}
	env := []envVar{
		{"PODS", fmt.Sprint(s.checkPods)},
		{"RAILS", strings.Join(rails, " ")},
		{"SERVER", name + "-0." + name},
	}
	d = m.add("71-job-"+name, kindJob, ns, name, jobObject{
		TypeMeta: k8s.TypeMeta{APIVersion: "batch/v1", Kind: kindJob},
		Metadata: k8s.ObjectMeta{Name: name, Namespace: ns},
		Spec: jobSpec{
			CompletionMode: "Indexed", Completions: s.checkPods, Parallelism: s.checkPods, ActiveDeadlineSeconds: 900,
			Template: podTemplate{
				Metadata: k8s.ObjectMeta{Labels: labels, Annotations: m.annotation(s)},
				Spec: podSpec{
					RestartPolicy: "Never", Subdomain: name, NodeSelector: s.selector,
					TopologySpreadConstraints: spread(s, s.checkPods, labelApp, name),
					Containers:                []container{m.container(s, checkScript, env)},
				},
			},
		},
	})
	d.head = []string{
		fmt.Sprintf("%d pods: each writes to pod 0 on each rail (ib_write_bw). It succeeds when all got through, and "+
			"is stopped after 15 minutes. It tells whether rails connect; rates mean little, for several pods write "+
			"at once. When it is done: kubectl -n %s logs -l %s=%s", s.checkPods, ns, labelApp, name),
		"The image has a shell, and ib_write_bw or apt-get and a way to Debian's archive.",
	}
	explainPod(d, s, "spec", "template")
	d.because("All pods at the same time, each with an index that gives it its name.", "spec", "completionMode")
}

// deviceVariable is the variable in which the device plugin gives a container the PCI addresses of
// its VFs (sriov-network-device-plugin, pkg/resources/server.go). A hyphen of the prefix stays in
// it, which shells can't refer to: the script reads /proc.
func deviceVariable(prefix, resource string) string {
	return strings.ToUpper("PCIDEVICE_" + strings.ReplaceAll(prefix, ".", "_") + "_" + resource)
}

// compactJSON writes JSON in one line, with < and > as they are.
func compactJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}
