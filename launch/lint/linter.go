package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// linter checks one environment.
type linter struct {
	*node
	env      Environment
	rule     *Rule
	last     map[string]*Setting // the effective setting of each name
	findings []Finding
}

func newLinter(n *node, env Environment) *linter {
	l := &linter{node: n, env: env, last: map[string]*Setting{}}
	for i := range env.Settings {
		l.last[env.Settings[i].Name] = &env.Settings[i]
	}
	return l
}

// checked returns the summary of what is checked.
func (l *linter) checked() Checked {
	c := Checked{Name: l.env.Name, Form: l.env.Form, Variables: l.variables()}
	about := slices.Concat(allSockets(), hostVariables(), []string{"UCX_NET_DEVICES"})
	c.PodNetwork = l.foreign && slices.ContainsFunc(about, l.mentions)
	for _, name := range l.names() {
		if s := l.last[name]; s.Unknown && ours(name) {
			c.Unjudged = append(c.Unjudged, name)
		}
	}
	return c
}

// names returns the names of the environment in the order of their last settings.
func (l *linter) names() []string {
	var out []string
	for i := range l.env.Settings {
		if s := &l.env.Settings[i]; l.last[s.Name] == s {
			out = append(out, s.Name)
		}
	}
	return out
}

func (l *linter) variables() int {
	n := 0
	for name := range l.last {
		if ours(name) {
			n++
		}
	}
	return n
}

// get returns the setting of a name, nil if it is not set, is empty or has an unknown value.
func (l *linter) get(name string) *Setting {
	s := l.last[name]
	if s == nil || s.Unknown || s.Value == "" {
		return nil
	}
	return s
}

// value returns the value of get, "" for nil.
func (l *linter) value(name string) string {
	if s := l.get(name); s != nil {
		return s.Value
	}
	return ""
}

// mentions reports whether a name is set, whatever its value.
func (l *linter) mentions(name string) bool {
	s := l.last[name]
	return s != nil && (s.Unknown || s.Value != "")
}

// mentionsPrefix reports whether a name with the prefix is set.
func (l *linter) mentionsPrefix(prefix string) bool {
	for name := range l.last {
		if strings.HasPrefix(name, prefix) && l.mentions(name) {
			return true
		}
	}
	return false
}

// values returns all known values, for the models in launch.
func (l *linter) values() map[string]string {
	out := map[string]string{}
	for name := range l.last {
		if v := l.value(name); v != "" {
			out[name] = v
		}
	}
	return out
}

// report adds a finding of the current rule.
func (l *linter) report(s *Setting, severity Severity, format string, args ...any) *Finding {
	f := Finding{
		Rule: l.rule.ID, Severity: severity, Environment: l.env.Name, Variable: s.Name, Value: s.Value, File: s.File,
		Line: s.Line, Summary: fmt.Sprintf(format, args...), Remedy: l.rule.Remedy, Sources: l.rule.Reports,
	}
	l.findings = append(l.findings, f)
	return &l.findings[len(l.findings)-1]
}

func (f *Finding) evidence(ev ...Evidence) *Finding {
	f.Evidence = append(f.Evidence, ev...)
	return f
}

func (f *Finding) set(name, value string) {
	f.Fixes = append(f.Fixes, Fix{Name: name, Value: value})
}

func (f *Finding) unset(name string) *Finding {
	f.Fixes = append(f.Fixes, Fix{Name: name, Unset: true})
	return f
}

// derive proposes the values that launch derives for the variables, if it derives any.
func (l *linter) derive(f *Finding, names ...string) {
	for _, name := range names {
		if v := l.derived[name]; v != "" && v != l.value(name) {
			f.set(name, v)
		}
	}
}

// name returns "device:port".
func (p portRef) name() string { return p.plan.Name() }

// evidence returns a value in a file of the port.
func (p portRef) evidence(file, value string) Evidence {
	return Evidence{Path: path.Join(p.port.Path, file), Value: value}
}

func (p portRef) stateEvidence() Evidence {
	return p.evidence("state", fmt.Sprintf("%d: %s", p.port.State, p.port.State))
}

func (p portRef) active() bool { return p.port.State == inventory.PortStateActive }

func (p portRef) selected() bool { return p.plan.Decision == launch.DecisionSelected }

func (p portRef) iWARP() bool {
	return p.port.Transport == inventory.TransportIWARP || p.dev.NodeType == inventory.NodeTypeRNIC &&
		p.port.Transport != inventory.TransportERDMA
}

func (p portRef) efa() bool { return p.port.Transport == inventory.TransportEFA }

func (p portRef) infiniBand() bool {
	return !p.efa() && p.port.LinkLayer == inventory.LinkLayerInfiniBand
}

func (p portRef) roce() bool {
	return !p.efa() && !p.iWARP() && p.port.LinkLayer == inventory.LinkLayerEthernet &&
		p.port.Transport != inventory.TransportUSNIC
}

// usable reports whether a port of the node can carry RDMA for jobs.
func (n *node) usable() bool { return n.plan.Outcome == launch.OutcomeRDMA }

// onlyEFA reports whether the node's RDMA devices are EFA devices.
func (n *node) onlyEFA() bool { return n.plan.Outcome == launch.OutcomeLibfabric }

// devices returns the names of the RDMA devices.
func (n *node) devices() []string {
	var out []string
	for _, d := range n.snap.Devices {
		out = append(out, d.Name)
	}
	return out
}

func (n *node) hasDevice(name string) bool { return slices.Contains(n.devices(), name) }

// netdevs returns the names of the network devices.
func (n *node) netdevs() []string {
	var out []string
	for _, d := range n.snap.Netdevs {
		out = append(out, d.Name)
	}
	return out
}

func portNames(list []portRef) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.name())
	}
	return out
}

// join joins names; beyond a limit it counts them.
func join(names []string) string {
	const shown = 12
	return english.List(names, shown)
}
