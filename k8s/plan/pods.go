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

// podSet is a set of rails that the same nodes have, so that a pod can request all of them.
type podSet struct {
	suffix string // of names; "" if there is one set, otherwise the letter of its first group of nodes
	first  int    // index of that group in Plan.Groups
	rails  []*rail
	nodes  int
	// selector are labels that only the nodes of this set have, nil if there are none or only one
	// set.
	selector map[string]string
	// room is the number of pods with a VF of each rail that fit on the nodes.
	room int
	// checkPods and testPods are the numbers of pods to add.
	checkPods, testPods int
}

// podSets groups nodes by their rails.
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

// pin sets the selector of each set to the labels of its nodes, if all of them have the same labels
// and no other set has them. Without it, pods of the set also fit on nodes with more rails.
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

// pods adds the test pods and the check Job.
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

// fitPods limits the numbers of pods to the number of VFs. The check Job comes first, because it
// ends. Test pods keep their VFs, so they get the remaining ones, also on nodes with more rails, on
// which they may be scheduled.
func (m *maker) fitPods(sets []podSet) {
	fewer, none := false, false
	for i := range sets {
		s := &sets[i]
		s.checkPods = min(m.opts.CheckPods, s.room)
		if s.checkPods < 2 { // one pod has no peer
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
		{none, "there are VFs for one pod only, so no Job checks the rails, which needs two pods"},
		{fewer, "the Job that checks the rails has fewer pods than requested, because there are no more VFs"},
		{less, "there are fewer test pods than requested, or none, because the Job that checks the rails needs " +
			"the VFs"},
	} {
		if n.holds {
			m.plan.Notes = append(m.plan.Notes, n.text)
		}
	}
}

// podSpec is the spec of a pod, with fields that package k8s doesn't have.
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

// annotation returns the annotation with the networks of a set, for multus.
func (m *maker) annotation(s podSet) map[string]string {
	var list []string
	for _, r := range s.rails {
		list = append(list, m.plan.Namespace+"/"+r.name)
	}
	return map[string]string{k8s.AnnotationNetworks: strings.Join(list, ",")}
}

// container returns a container with a VF of each rail.
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

// testPods adds the pods in which a user can run commands.
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
			d.head = []string{"A test pod: kubectl -n " + m.plan.Namespace + " exec -it " + name +
				" -- sh. It keeps a VF of each rail until it is deleted."}
			explainPod(d, s)
		}
	}
}

// explainPod adds comments to the fields of a pod.
func explainPod(d *document, s podSet, steps ...string) {
	at := func(path ...string) []string { return append(slices.Clone(steps), path...) }
	if s.selector != nil {
		d.because("Selects the nodes that have only these rails: nodes with more rails also have these resources.",
			at("spec", "nodeSelector")...)
	}
	d.because("One attachment for each rail, by namespace and name. The container requests a VF for each of them.",
		at("metadata", "annotations")...)
	d.because("Memory that cards access is locked. IPC_LOCK removes the limit for user 0 only; for other users the "+
		"limit of the container runtime applies (LimitMEMLOCK). Requests and limits are necessary, because the "+
		"injector that adds them is off by default.", at("spec", "containers")...)
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

// check adds a Job whose pods write to the first pod on each rail, and the Service with its name.
func (m *maker) check(s podSet) {
	name, ns := "rdma-check"+s.suffix, m.plan.Namespace
	labels := map[string]string{labelApp: name}
	d := m.add("70-service-"+name, kindService, ns, name, serviceObject{
		TypeMeta: k8s.TypeMeta{APIVersion: k8s.CoreVersion, Kind: kindService},
		Metadata: k8s.ObjectMeta{Name: name, Namespace: ns},
		Spec:     serviceSpec{ClusterIP: "None", PublishNotReadyAddresses: true, Selector: labels},
	})
	d.head = []string{"DNS names for the pods of the check: " + name + "-0." + name}
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
		fmt.Sprintf("%d pods: each pod writes to pod 0 on each rail (ib_write_bw). The Job succeeds when all "+
			"transfers succeed, and is stopped after 15 minutes. It checks connectivity; the rates are not "+
			"meaningful, because several pods write at the same time. To see the results: kubectl -n %s logs -l %s=%s",
			s.checkPods, ns, labelApp, name),
		"The image needs a shell, and either ib_write_bw or apt-get with access to Debian's archive.",
	}
	explainPod(d, s, "spec", "template")
	d.because("Each pod has an index, which is part of its name.", "spec", "completionMode")
}

// deviceVariable returns the name of the environment variable in which the device plugin passes the
// PCI addresses of its VFs to a container (sriov-network-device-plugin, pkg/resources/server.go).
// It may contain a hyphen of the prefix, which shells don't allow in variables, so the script reads
// /proc.
func deviceVariable(prefix, resource string) string {
	return strings.ToUpper("PCIDEVICE_" + strings.ReplaceAll(prefix, ".", "_") + "_" + resource)
}

// compactJSON returns JSON on one line, without escaping < and >.
func compactJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}
