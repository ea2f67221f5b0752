package lint

import (
	"github.com/rdmakit/rdmakit/k8s/manifest"
	launchlint "github.com/rdmakit/rdmakit/launch/lint"
)

// Schema is the version of the JSON form of a [Report]. A field may be added within a version; one
// that is removed or changes its meaning makes a new one.
const Schema = "rdmakit.k8slint/v1"

// Severity says how bad a finding is. It has the words of package launch/lint.
type Severity = launchlint.Severity

// The severities.
const (
	SeverityError = launchlint.SeverityError // the API server refuses it, or it doesn't work
	SeverityWarn  = launchlint.SeverityWarn  // it works otherwise than meant, or at risk
	SeverityNote  = launchlint.SeverityNote  // worth knowing, harms nothing by itself
)

// Report is the outcome of a run. It is plain data.
type Report struct {
	Schema string            `json:"schema"` // name and version of this form
	Files  []string          `json:"files"`  // that were read
	Counts launchlint.Counts `json:"counts"` // of Findings
	// Objects are the objects that were judged.
	Objects []Judged `json:"objects"`
	// Nodes are the names of the nodes that the manifests were held to.
	Nodes []string `json:"nodes,omitempty"`
	// Findings stand by file, line and column.
	Findings []Finding `json:"findings"`
	// Suppressed are those that comments in the manifests suppress, in the same order. They
	// don't count.
	Suppressed []Finding `json:"suppressed,omitempty"`
	// Unjudged names rules that could not be applied for want of nodes.
	Unjudged []string `json:"unjudged,omitempty"`
}

// Judged is an object that was judged.
type Judged struct {
	Object string `json:"object"`         // "SriovNetwork sriov/rail0"
	File   string `json:"file"`           // where it stands
	Line   int    `json:"line,omitempty"` // its first, from 1
}

// Finding is what a rule says about a place.
type Finding struct {
	Rule     string   `json:"rule"`             // ID of the rule
	Severity Severity `json:"severity"`         // how bad it is
	Object   string   `json:"object,omitempty"` // as in Judged, "" for a text that is no object
	Path     string   `json:"path,omitempty"`   // spec.nicSelector.pfNames[0]
	Value    string   `json:"value,omitempty"`  // what stands there, shortened
	File     string   `json:"file"`             // where it stands
	Line     int      `json:"line,omitempty"`   // from 1
	Column   int      `json:"column,omitempty"` // from 1, in characters
	Length   int      `json:"length,omitempty"` // of what is meant on that line, in characters
	// Summary says what is wrong and what happens because of it.
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Remedy says what to do; Fix is what to write where that follows.
	Remedy string `json:"remedy"`
	Fix    string `json:"fix,omitempty"`
	// Sources name the reports of users that the rule goes back to.
	Sources []string `json:"sources,omitempty"`
	// Reason is what the comment says that suppresses it.
	Reason string `json:"reason,omitempty"`
}

// Evidence is something else that the finding rests on: another place, or a fact about a node.
type Evidence struct {
	Place string `json:"place"` // "policy.yaml:12", "node gpu-00"
	Text  string `json:"text"`  // what is there
}

// Place returns "file:line:column" as far as it is known.
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
