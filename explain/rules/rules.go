package rules

import (
	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// Rule finds one kind of symptom.
type Rule struct {
	// ID is stable: "RDX-101". Numbers are given once.
	ID string
	// Name is the name of the rule's page, in lower case with hyphens; Title says what was seen.
	Name, Title string
	// Explanation is for the page of the rule.
	Explanation string
	// Sources are threads, source files and specifications: "NVIDIA/nccl#426".
	Sources []string
	// Causes are those that it can have, in the order in which they rank without evidence; only
	// slug, title, decide, remedy and sources are set. Of rules that make their causes from the
	// lines, they are empty.
	Causes []Cause
	// Find returns the findings of the rule; none if the symptom is not there.
	Find func(f *facts.Facts) []Finding
	// witness marks rules about what other sources than logs have named: they count as evidence for
	// the findings of other rules, and other evidence doesn't count for theirs.
	witness bool
}

// Confidence is how sure a cause is.
type Confidence string

// Confidences, from the surest.
const (
	Proven   Confidence = "proven" // a fact decides it
	Likely   Confidence = "likely"
	Possible Confidence = "possible"
)

// Finding is a symptom with its causes.
type Finding struct {
	Rule *Rule
	// What says what happened, in one sentence with names: "node2's mlx5_1 got no answer from …".
	What string
	// Events are the lines that show it, the first one first.
	Events []*evidence.Event
	// Failure is the failure that the finding explains, nil for findings without one, such as slow
	// networks.
	Failure *facts.Failure
	// Causes are ranked, the most probable first.
	Causes []Cause
	// Harmless marks findings about lines that look like faults and are none; they have no causes.
	Harmless bool
	// Note is the slug of a harmless finding: "opcode-leftover".
	Note string
}

// Cause is one possible cause of a finding.
type Cause struct {
	// Slug is stable and equal for the same cause in all rules: "gid-index", "acs", "memlock".
	Slug       string
	Title      string // "wrong GID index", with the names of this case
	Confidence Confidence
	// Weight orders causes of a finding: the sum of the weights of the evidence.
	Weight       int
	For, Against []Evidence
	// Decide is the command, or the look at something, that decides whether it is this cause.
	Decide string
	// Remedy says what to do if it is.
	Remedy  string
	Sources []string
}

// Evidence is a fact for or against a cause.
type Evidence struct {
	Text   string
	Places []evidence.Place
}
