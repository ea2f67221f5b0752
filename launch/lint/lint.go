package lint

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// Schema is the version of the JSON form of a [Report]. A field may be added within a
// version; one that is removed or changes its meaning makes a new one.
const Schema = "rdmakit.lint/v1"

// Severity is the severity of a finding.
type Severity string

// The severities.
const (
	SeverityError Severity = "error" // the library fails, hangs, or doesn't use RDMA
	SeverityWarn  Severity = "warn"  // jobs run, but not as intended, or at risk
	SeverityNote  Severity = "note"  // worth knowing, does no harm by itself
)

// Severities returns all severities, the worst first.
func Severities() []Severity { return []Severity{SeverityError, SeverityWarn, SeverityNote} }

// Input is the data that [Run] checks.
type Input struct {
	Snapshot *inventory.Snapshot // the node
	// Root is the root of the node, for the few files that are not part of a snapshot (the traffic
	// class that the host sets); nil: these files are not read.
	Root         fs.FS
	Environments []Environment
	// Here reports that the node is the machine on which the check runs. If it has no RDMA device,
	// the pods of a manifest will run elsewhere, and only what doesn't depend on a node is judged.
	Here bool
}

// Report is the result of a run. It is plain data.
type Report struct {
	Schema       string    `json:"schema"`       // name and version of this form
	Environments []Checked `json:"environments"` // what was checked
	Counts       Counts    `json:"counts"`       // of Findings
	// Findings are sorted by environment, then by severity, the worst first.
	Findings []Finding `json:"findings"`
	// Incomplete lists files that could not be read and could change the findings.
	Incomplete []inventory.Problem `json:"incomplete,omitempty"`
}

// Checked describes what was checked in an environment.
type Checked struct {
	Name string `json:"name"` // "environment", "process 17", a file, a container of a manifest
	Form Form   `json:"form"` // of the file
	// Variables is the number of names that a library reads, or that look like such a name.
	Variables int `json:"variables"`
	// Unjudged lists variables that were not checked because their value is not known: a shell
	// expansion, a reference to a secret.
	Unjudged []string `json:"unjudged,omitempty"`
	// PodNetwork reports that network devices and addresses were not judged, because they are those
	// of a pod.
	PodNetwork bool `json:"podNetwork,omitempty"`
	// Elsewhere reports that nothing was judged that depends on the node: the environment is that
	// of a pod, and this machine has no RDMA device.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// Counts is the number of findings of each severity.
type Counts struct {
	Error int `json:"error"` // the library fails, hangs, or doesn't use RDMA
	Warn  int `json:"warn"`  // jobs run, but not as intended, or at risk
	Note  int `json:"note"`  // worth knowing
}

// Finding is the result of a rule for a variable.
type Finding struct {
	Rule        string   `json:"rule"`        // ID of the rule
	Severity    Severity `json:"severity"`    // effect on jobs
	Environment string   `json:"environment"` // name of the Environment
	// Variable is the name; if the variable is missing, the finding has no line.
	Variable string `json:"variable"`
	Value    string `json:"value"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"` // from 1; 0 if there are no lines
	// Summary describes the fault and its consequence.
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Remedy describes the fix; Fixes are the exact changes, if they follow from the node.
	Remedy string `json:"remedy"`
	Fixes  []Fix  `json:"fixes,omitempty"`
	// Sources are the reports of users about the fault.
	Sources []string `json:"sources,omitempty"`
}

// Evidence is a value that was read, and its path.
type Evidence struct {
	Path  string `json:"path"`  // absolute path on the node
	Value string `json:"value"` // content of the file
}

// Fix is a change of a variable.
type Fix struct {
	Name  string `json:"name"`            // of the variable
	Value string `json:"value"`           // "" with Unset
	Unset bool   `json:"unset,omitempty"` // remove it instead of setting it
}

// Variables returns the number of variables that were checked or would have been if their value
// were known.
func (r Report) Variables() int {
	n := 0
	for _, e := range r.Environments {
		n += e.Variables
	}
	return n
}

// Run applies all rules to all environments.
func Run(in Input) Report {
	report := Report{Schema: Schema, Environments: []Checked{}, Findings: []Finding{}}
	node := newNode(in)
	report.Incomplete = node.plan.Incomplete
	names := map[string]int{}
	for _, env := range in.Environments {
		if names[env.Name]++; names[env.Name] > 1 { // two manifests may use the same name
			env.Name = fmt.Sprintf("%s (%d)", env.Name, names[env.Name])
		}
		l := newLinter(node.of(env), env)
		checked := l.checked()
		checked.Elsewhere = l.elsewhere(in)
		report.Environments = append(report.Environments, checked)
		if l.variables() == 0 {
			continue
		}
		for _, r := range Rules() {
			if l.elsewhere(in) && !r.anywhere() {
				continue
			}
			l.rule = &r
			r.check(l)
		}
		l.soundFixes()
		slices.SortStableFunc(l.findings, func(a, b Finding) int {
			return cmp.Compare(slices.Index(Severities(), a.Severity), slices.Index(Severities(), b.Severity))
		})
		report.Findings = append(report.Findings, l.findings...)
	}
	for _, f := range report.Findings {
		switch f.Severity {
		case SeverityError:
			report.Counts.Error++
		case SeverityWarn:
			report.Counts.Warn++
		case SeverityNote:
			report.Counts.Note++
		}
	}
	return report
}

// node is the data about a node that the rules use.
type node struct {
	snap    *inventory.Snapshot
	root    fs.FS
	plan    launch.Plan
	derived map[string]string // what launch.Derive sets for all libraries
	ports   []portRef
	foreign bool // the network devices of the environment are others, and not known
}

// portRef is a port with launch's decision on it.
type portRef struct {
	dev  *inventory.Device
	port *inventory.Port
	plan *launch.PortPlan
}

// of returns what is known of the node for an environment. A pod without hostNetwork sees the RDMA
// devices that it is given, but none of the node's network devices and addresses.
func (n *node) of(env Environment) *node {
	if !env.PodNetwork || n.snap.Host.Container != nil {
		return n
	}
	pod, snap := *n, *n.snap
	snap.Netdevs = nil
	pod.snap, pod.foreign = &snap, true
	pod.plan.Socket = nil
	pod.derived = maps.Clone(n.derived)
	maps.DeleteFunc(pod.derived, func(name, _ string) bool {
		return name == "UCX_NET_DEVICES" || slices.Contains(allSockets(), name)
	})
	return &pod
}

// elsewhere reports whether the environment is that of a pod that will run on another machine.
func (l *linter) elsewhere(in Input) bool {
	return in.Here && l.env.Form == FormKubernetes && len(l.snap.Devices) == 0
}

// anywhere reports whether a rule judges values by themselves, without a node.
func (r *Rule) anywhere() bool {
	return slices.Contains([]string{
		"nvshmem-rivals", "nvshmem-prefix", "nixl-nccl", "socket-pattern", "socket-long", "master-loopback",
	}, r.ID) || slices.ContainsFunc(slices.Concat(valueRules(), nameRules()), func(o Rule) bool { return o.ID == r.ID })
}

func newNode(in Input) *node {
	n := &node{snap: in.Snapshot, root: in.Root}
	if n.snap == nil {
		n.snap = &inventory.Snapshot{}
	}
	// Without selectors, peer and pinning Derive returns no error.
	n.plan, _ = launch.Derive(*n.snap, launch.Options{Libraries: launch.Libraries()})
	n.derived = n.plan.Environment()
	plans := map[string]*launch.PortPlan{}
	for i := range n.plan.Ports {
		plans[n.plan.Ports[i].Name()] = &n.plan.Ports[i]
	}
	for d, p := range n.snap.Ports() {
		ref := portRef{dev: d, port: p, plan: &launch.PortPlan{Device: d.Name, Port: p.Number}}
		if plan := plans[ref.name()]; plan != nil {
			ref.plan = plan
		}
		n.ports = append(n.ports, ref)
	}
	return n
}
