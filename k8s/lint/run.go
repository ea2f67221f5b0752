package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// Input is the input of [Run].
type Input struct {
	// Manifests are the manifests to check.
	Manifests *manifest.Set
	// Cluster is the cluster to check them against. The zero value is a cluster about which nothing
	// is known.
	Cluster source.Cluster
	Options Options
}

// Options are facts that no object contains. In the zero value all of them are unknown.
type Options struct {
	// OperatorNamespace is the namespace of the SR-IOV operator. If it is empty, Run takes the
	// namespace of the SriovOperatorConfig, or one of the usual names.
	OperatorNamespace string
	// OperatorVersion is the version of the SR-IOV operator, "v1.6.0" or "main". If it is empty,
	// Run warns about a value that only some versions reject.
	OperatorVersion string
	// ResourcePrefix is the operator's resource prefix, such as openshift.io. If it is empty, Run
	// takes it from nodes and objects.
	ResourcePrefix string
	// Reserved are the address ranges of the cluster and its hosts, with their use.
	Reserved []Reserved
	// Templates reports templates and placeholders as errors. Otherwise they are not checked, and
	// [Report.Templates] has their places.
	Templates bool
	// Only and Skip select rules by their IDs or those of groups.
	Only, Skip []string
	// Severity maps IDs of rules or groups to the severity of their findings. A rule's own ID
	// prevails.
	Severity map[string]Severity
	// RDMAResources are patterns (package path) of resources that stand for RDMA devices, beside
	// those whose names say so.
	RDMAResources []string
	// MaxMTU is the largest MTU of the network's switches, 0 if it is unknown.
	MaxMTU int
}

// selects reports whether the options select a rule.
func (o *Options) selects(r Rule) bool {
	return (len(o.Only) == 0 || r.in(o.Only)) && !r.in(o.Skip) &&
		cmp.Or(o.Severity[r.ID], o.Severity[r.Group]) != SeverityOff
}

// Reserved is an address range that is already in use.
type Reserved = ipam.Reserved

// Run applies all rules.
func Run(in Input) Report {
	if in.Manifests == nil {
		in.Manifests = &manifest.Set{}
	}
	m := newModel(in)
	report := Report{
		Schema: Schema, Files: append([]string{}, in.Manifests.Files...), Objects: []Judged{}, Findings: []Finding{},
	}
	for _, n := range m.nodes {
		report.Nodes = append(report.Nodes, n.Name)
	}
	for _, o := range in.Manifests.Objects {
		report.Objects = append(report.Objects, Judged{Object: o.String(), File: o.File, Line: o.Root.At.Line})
	}
	by, rules := m.ignoresByLine(), Rules()
	selected := map[string]bool{} // rules, and groups with one of them
	for _, r := range rules {
		if in.Options.selects(r) {
			selected[r.ID], selected[r.Group] = true, true
		}
	}
	for i, r := range rules {
		if r.check == nil || !selected[cmp.Or(r.Group, r.ID)] {
			continue
		}
		if r.Nodes && len(m.nodes) == 0 {
			if m.has(r.Kinds) {
				report.Unjudged = append(report.Unjudged, r.ID)
			}
			continue
		}
		p := &pass{model: m, rule: &rules[i], rules: rules, findings: &[]located{}}
		r.check(p)
		for _, f := range *p.findings {
			if !selected[f.Rule] {
				continue
			}
			f.Severity = cmp.Or(in.Options.Severity[f.Rule], in.Options.Severity[f.Group], f.Severity)
			if reason, ok := by.reason(f); ok {
				f.Reason = reason
				report.Suppressed = append(report.Suppressed, *f.Finding)
				continue
			}
			report.Findings = append(report.Findings, *f.Finding)
		}
	}
	report.Templates = m.templates()
	report.NotJudged = m.notJudged()
	report.Patched = slices.Sorted(maps.Keys(m.patched))
	sortFindings(report.Findings, report.Files)
	sortFindings(report.Suppressed, report.Files)
	report.count()
	return report
}

// sortFindings sorts by the order of files, and by the place in them.
func sortFindings(findings []Finding, files []string) {
	order := make(map[string]int, len(files))
	for i, file := range files {
		order[file] = i
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	})
}

// pass is one run of a rule.
type pass struct {
	*model
	rule     *Rule
	rules    []Rule
	findings *[]located
}

// as returns a pass that reports under another rule of the group.
func (p *pass) as(id string) *pass {
	i := slices.IndexFunc(p.rules, func(r Rule) bool { return r.ID == id })
	other := *p
	other.rule = &p.rules[i]
	return &other
}

// path is the path of a value.
type path = []any

// report adds a finding about a value of an object. If the object is not to be checked, the
// returned finding is not added.
func (p *pass) report(severity Severity, o *manifest.Object, at path, format string, args ...any) *Finding {
	f := &Finding{
		Rule: p.rule.ID, Severity: severity, Object: o.String(), Path: manifest.PathText(at...),
		Summary: fmt.Sprintf(format, args...), Remedy: p.rule.Remedy, Sources: p.rule.Reports, Group: p.rule.Group,
	}
	if v := o.Find(at...); v != nil && v.Kind != manifest.Mapping && v.Kind != manifest.List {
		f.Value = shorten(v.Text)
		if !p.in.Options.Templates && manifest.IsPlaceholder(v.Text) {
			p.placeholders[v.At.String()] = true
			return f.place(o.At(at...))
		}
	}
	f.place(o.At(at...))
	if p.filledIn(o, at, f) || p.fragment(o) {
		return f
	}
	if p.checked[o] {
		*p.findings = append(*p.findings, located{Finding: f, object: o, at: at})
	}
	return f
}

// filledIn reports whether a patch of a kustomization may fill in or change what a finding is
// about: the value at its path, or for a finding about what is absent, anything in the object.
func (p *pass) filledIn(o *manifest.Object, at path, f *Finding) bool {
	if f.Value == "" {
		at = nil
	}
	by := o.PatchedAt(at...)
	if by != "" {
		p.patched[f.Place()+": "+o.String()+" (patched by "+by+")"] = true
	}
	return by != ""
}

// fragment reports whether an object that was found in a folder is a piece that another program
// completes, and counts it: it has no name, or no image of a container can be one.
func (p *pass) fragment(o *manifest.Object) bool {
	if !o.Found || p.in.Options.Templates {
		return false
	}
	nameless := k8s.Schema(o.Kind) != nil && o.Name == "" && o.Find("metadata", "generateName") == nil
	filled := slices.ContainsFunc(p.podsIn[o], func(pod *pod) bool {
		return slices.ContainsFunc(pod.running, func(c container) bool {
			v := pod.Find(c.path("image")...)
			return v != nil && strings.Contains(v.Text, " ") && !manifest.IsPlaceholder(v.Text)
		})
	})
	if nameless || filled {
		p.placeholders[o.At("metadata").String()] = true
	}
	return nameless || filled
}

// together reports whether two objects are known to be meant for one cluster: they are in one file,
// are applied as one, or were named together. Other files of a repository may be alternatives.
func (p *pass) together(a, b *manifest.Object) bool {
	return a.Unit == b.Unit || a.Unit == "" || b.Unit == "" || !p.checked[a] || !p.checked[b]
}

// apart makes a finding about two objects a note, unless they are known to be meant for
// one cluster.
func (p *pass) apart(f *Finding, a, b *manifest.Object) {
	if !p.together(a, b) {
		f.Severity = SeverityNote
		f.Summary += ", if both are for one cluster"
	}
}

// reportText adds a finding about text outside of objects.
func (p *pass) reportText(severity Severity, at manifest.Region, format string, args ...any) *Finding {
	f := &Finding{
		Rule: p.rule.ID, Severity: severity, Summary: fmt.Sprintf(format, args...), Remedy: p.rule.Remedy,
		Sources: p.rule.Reports, Group: p.rule.Group,
	}
	*p.findings = append(*p.findings, located{Finding: f.place(at)})
	return f
}

func (p *pass) error(o *manifest.Object, at path, format string, args ...any) *Finding {
	return p.report(SeverityError, o, at, format, args...)
}

func (p *pass) warn(o *manifest.Object, at path, format string, args ...any) *Finding {
	return p.report(SeverityWarn, o, at, format, args...)
}

func (p *pass) note(o *manifest.Object, at path, format string, args ...any) *Finding {
	return p.report(SeverityNote, o, at, format, args...)
}

// place sets the place of a finding.
func (f *Finding) place(at manifest.Region) *Finding {
	f.File, f.Line, f.Column, f.Length = at.File, at.Line, at.Column, at.Length
	return f
}

// fix sets the text to write.
func (f *Finding) fix(format string, args ...any) *Finding {
	f.Fix = fmt.Sprintf(format, args...)
	return f
}

// because adds another place as evidence.
func (f *Finding) because(at fmt.Stringer, format string, args ...any) *Finding {
	f.Evidence = append(f.Evidence, Evidence{Place: at.String(), Text: fmt.Sprintf(format, args...)})
	return f
}

// onNode adds a fact about a node as evidence.
func (f *Finding) onNode(node, format string, args ...any) {
	f.Evidence = append(f.Evidence, Evidence{Place: "node " + node, Text: fmt.Sprintf(format, args...)})
}

// shorten shortens a value to at most 120 characters on one line.
func shorten(s string) string {
	const most = 4096 // enough for 120 characters after blanks are joined, and cheap for a text of megabytes
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 120 {
		return string(r[:119]) + "…"
	}
	return s
}
