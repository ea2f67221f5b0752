// Package sarif writes logs in the Static Analysis Results Interchange Format 2.1.0 (OASIS), which
// code hosts and viewers read.
//
//	run := sarif.NewRun("rdmactl doctor", "v1.2.3", "https://example.org")
//	run.AddRule(sarif.Rule{ID: "port-active", …})
//	run.Results = append(run.Results, sarif.Result{RuleID: "port-active", …})
//	data, err := run.Encode()
//
// It has the parts of the format that rdmactl uses; the specification's names are those of the
// JSON.
package sarif

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// schemaURL is the address of the schema that editors look up.
const schemaURL = "https://json.schemastore.org/sarif-2.1.0.json"

type log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []*Run `json:"runs"`
}

// Run is the result of one run of a tool.
type Run struct {
	Tool        Tool         `json:"tool"`
	Invocations []Invocation `json:"invocations,omitempty"`
	Results     []Result     `json:"results"`
	ColumnKind  string       `json:"columnKind"` // what columns count

	index map[string]int // of rules
}

// Invocation describes one run of the program.
type Invocation struct {
	// Successful reports that the program did its work, whatever it found.
	Successful    bool           `json:"executionSuccessful"`
	ExitCode      *int           `json:"exitCode,omitempty"`
	Start         time.Time      `json:"startTimeUtc,omitzero"`
	Notifications []Notification `json:"toolExecutionNotifications,omitempty"`
}

// Notification is a message about the run and not about one result.
type Notification struct {
	Level   string `json:"level"`
	Message Text   `json:"message"`
}

// Tool is what produced the results.
type Tool struct {
	Driver Driver `json:"driver"`
}

// Driver is the program and its rules.
type Driver struct {
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Information string `json:"informationUri"`
	Rules       []Rule `json:"rules"`
}

// Rule describes what results with its ID mean.
type Rule struct {
	ID      string    `json:"id"`
	Short   Text      `json:"shortDescription"`
	Full    Text      `json:"fullDescription"`
	Help    Text      `json:"help"`
	HelpURI string    `json:"helpUri"`
	Default RuleLevel `json:"defaultConfiguration"`
	// Properties has the rule's group as a tag, by which code hosts filter.
	Properties *Properties `json:"properties,omitempty"`
}

// Properties are what the format leaves to tools.
type Properties struct {
	Tags []string `json:"tags"`
}

// Tags returns properties with tags, nil for none.
func Tags(tags ...string) *Properties {
	if len(tags) == 0 || tags[0] == "" {
		return nil
	}
	return &Properties{Tags: tags}
}

// RuleLevel is the level of a rule's results: error, warning or note.
type RuleLevel struct {
	Level string `json:"level"`
}

// Text is a message.
type Text struct {
	Text string `json:"text"`
}

// The levels of results of kind fail; every other kind has LevelNone.
const (
	LevelError   = "error"
	LevelWarning = "warning"
	LevelNote    = "note"
	LevelNone    = "none"
)

// The kinds of results.
const (
	KindPass          = "pass"
	KindOpen          = "open" // there was not enough information for a result
	KindNotApplicable = "notApplicable"
)

// Result is one result of a rule.
type Result struct {
	RuleID    string     `json:"ruleId"`
	RuleIndex int        `json:"ruleIndex"` // set by Encode
	Kind      string     `json:"kind,omitempty"`
	Level     string     `json:"level"`
	Message   Text       `json:"message"`
	Locations []Location `json:"locations"`
	// Suppressions is nil if no result of the run is suppressed; Encode makes it empty, not nil,
	// for the other results of a run with one, as section 3.27.23 demands.
	Suppressions []Suppression `json:"suppressions,omitzero"`
}

// Suppression says why a result doesn't count.
type Suppression struct {
	Kind          string `json:"kind"` // inSource or external
	Justification string `json:"justification,omitempty"`
}

// Location is where a result was found.
type Location struct {
	Physical *Physical `json:"physicalLocation,omitempty"`
	Logical  []Logical `json:"logicalLocations,omitempty"`
}

// Physical is a place in a file.
type Physical struct {
	Artifact Artifact `json:"artifactLocation"`
	Region   *Region  `json:"region,omitempty"`
}

// Artifact is a file.
type Artifact struct {
	URI string `json:"uri"`
	// Base is the base of a relative URI. Code hosts resolve %SRCROOT% to the root of the
	// repository.
	Base string `json:"uriBaseId,omitempty"`
}

// Region is a part of a file. Lines and columns count from 1.
type Region struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
	EndColumn   int `json:"endColumn,omitempty"`
}

// Logical is an object that is not a place in a file.
type Logical struct {
	Name string `json:"fullyQualifiedName"`
	Kind string `json:"kind,omitempty"`
}

// NewRun returns a run without rules and results. Columns count Unicode characters.
func NewRun(name, version, information string) *Run {
	return &Run{
		Tool:    Tool{Driver{Name: name, Version: version, Information: information, Rules: []Rule{}}},
		Results: []Result{}, ColumnKind: "unicodeCodePoints", index: map[string]int{},
	}
}

// AddRule appends a rule.
func (r *Run) AddRule(rule Rule) {
	r.index[rule.ID] = len(r.Tool.Driver.Rules)
	r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, rule)
}

// Encode returns the log with this run. Every result must be of a rule of the run.
func (r *Run) Encode() ([]byte, error) {
	suppressed := false
	for i := range r.Results {
		index, ok := r.index[r.Results[i].RuleID]
		if !ok {
			return nil, fmt.Errorf("encode sarif: result %d is of rule %q, which the run does not have",
				i, r.Results[i].RuleID)
		}
		r.Results[i].RuleIndex = index
		suppressed = suppressed || len(r.Results[i].Suppressions) > 0
	}
	for i := range r.Results {
		if suppressed && r.Results[i].Suppressions == nil {
			r.Results[i].Suppressions = []Suppression{}
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(log{Schema: schemaURL, Version: "2.1.0", Runs: []*Run{r}}); err != nil {
		return nil, fmt.Errorf("encode sarif: %w", err)
	}
	return buf.Bytes(), nil
}
