package lint

import (
	"github.com/rdmakit/rdmakit/k8s/manifest"
	launchlint "github.com/rdmakit/rdmakit/launch/lint"
)

// Schema is the name and version of the JSON form of a [Report]. A version may gain fields.
// Removing a field or changing its meaning makes a new version.
const Schema = "rdmakit.k8slint/v1"

// Severity is the severity of a finding. It is the type of package launch/lint.
type Severity = launchlint.Severity

// The severities.
const (
	SeverityError = launchlint.SeverityError // the API server rejects the object, or it doesn't work
	SeverityWarn  = launchlint.SeverityWarn  // it works, but not as intended, or not reliably
	SeverityNote  = launchlint.SeverityNote  // for information; harmless by itself
)

// Report is the result of a run. It is plain data.
type Report struct {
	Schema string            `json:"schema"` // name and version of this form
	Files  []string          `json:"files"`  // the files that were read
	Counts launchlint.Counts `json:"counts"` // of Findings
	// Objects are the objects that were checked.
	Objects []Judged `json:"objects"`
	// Nodes are the names of the nodes that the manifests were checked against.
	Nodes []string `json:"nodes,omitempty"`
	// Findings are sorted by file, line and column.
	Findings []Finding `json:"findings"`
	// Suppressed are the findings that comments in the manifests suppress, in the same order.
	// Counts doesn't include them.
	Suppressed []Finding `json:"suppressed,omitempty"`
	// Unjudged names the rules that were skipped because they need nodes.
	Unjudged []string `json:"unjudged,omitempty"`
	// Templates are the places of templates and placeholders, which were not checked.
	Templates []string `json:"templates,omitempty"`
	// NotJudged are the kinds of objects for RDMA networking that no rule looks at, the most
	// frequent first.
	NotJudged []KindCount `json:"not_judged,omitempty"`
	// Patched are the places of what was not judged because patches of kustomizations, which are
	// not applied, may change it.
	Patched []string `json:"patched,omitempty"`
}

// Judged is an object that was checked.
type Judged struct {
	Object string `json:"object"`         // "SriovNetwork sriov/rail0"
	File   string `json:"file"`           // the file that contains it
	Line   int    `json:"line,omitempty"` // its first line, from 1
}

// Finding is a mistake that a rule found.
type Finding struct {
	Rule     string   `json:"rule"`             // ID of the rule
	Group    string   `json:"group,omitempty"`  // ID of its group, if it has one
	Severity Severity `json:"severity"`         // error, warn or note
	Object   string   `json:"object,omitempty"` // as in Judged; "" for text outside of objects
	Path     string   `json:"path,omitempty"`   // spec.nicSelector.pfNames[0]
	Value    string   `json:"value,omitempty"`  // the value at Path, shortened
	File     string   `json:"file"`             // the file that contains it
	Line     int      `json:"line,omitempty"`   // from 1
	Column   int      `json:"column,omitempty"` // from 1, in characters
	Length   int      `json:"length,omitempty"` // of the marked text on that line, in characters
	// Summary names the mistake and its effect.
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Remedy is the way to fix it. Fix is the text to write, where it can be derived.
	Remedy string `json:"remedy"`
	Fix    string `json:"fix,omitempty"`
	// Sources are the issues in which users reported the mistake.
	Sources []string `json:"sources,omitempty"`
	// Reason is the reason in the comment that suppresses the finding.
	Reason string `json:"reason,omitempty"`
}

// Evidence supports a finding: another place in the manifests, or a fact about a node.
type Evidence struct {
	Place string `json:"place"` // "policy.yaml:12", "node gpu-00"
	Text  string `json:"text"`  // what was found there
}

// Place returns "file:line:column", without the parts that are unknown.
func (f Finding) Place() string {
	return manifest.Pos{File: f.File, Line: f.Line, Column: f.Column}.String()
}

// count counts findings by severity.
func (r *Report) count() {
	for _, f := range r.Findings {
		switch f.Severity {
		case SeverityError:
			r.Counts.Error++
		case SeverityWarn:
			r.Counts.Warn++
		case SeverityNote:
			r.Counts.Note++
		}
	}
}
