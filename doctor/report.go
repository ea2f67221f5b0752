package doctor

import (
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

// Schema is the version of the JSON form of a [Report]. A field may be added
// within a version; one that is removed or changes its meaning makes a new one.
const Schema = "rdmakit.doctor/v1"

// Report is the result of [Run].
type Report struct {
	Schema string `json:"schema"`         // name and version of this form
	Node   string `json:"node,omitempty"` // host name, "" when not known
	// Version is that of the program; "" when not known.
	Version string `json:"version,omitempty"`
	// Time is the time of the run, which for a recording is not that of the node's state.
	Time time.Time `json:"time,omitzero"`
	// Recording is what the node was read from; nil for the running node.
	Recording *Recording `json:"recording,omitempty"`
	// NoDevice says why the node has no RDMA device, "" if it has one or if that is not known. RDMA
	// can't be used there, whatever the verdict of the checks that apply is.
	NoDevice string `json:"noDevice,omitempty"`
	// ExitCode is that of the command that made the report; nil if none did.
	ExitCode *int `json:"exitCode,omitempty"`
	// Verdict is the worst outcome of all findings that are not suppressed; not applicable if no
	// check applies.
	Verdict Outcome `json:"verdict"`
	// Counts counts the findings: a check of eight ports can have eight.
	Counts Counts `json:"counts"`
	// CheckCounts counts each check once: under its worst outcome, or as suppressed if nothing of
	// it deserves a look but what is suppressed.
	CheckCounts Counts `json:"checkCounts"`
	// Checks holds every check that was selected, in the order of the list.
	Checks []CheckResult `json:"checks"`
	// Findings are in the order of Checks, and within a check in the order of
	// the node's objects.
	Findings []Finding `json:"findings"`
	// Objects are the RDMA devices, ports and network devices of the node, and its cards and GPUs
	// by PCI address: an object of an earlier report that is not among them has vanished.
	Objects []Object `json:"objects,omitempty"`
	// Ports are the names of ports by which the fabric and the cluster know them.
	Ports []PortIdentity `json:"ports,omitempty"`
	// GIDs are the entries that RoCE ports should use, to tell later whether one has moved.
	GIDs []GIDEntry `json:"gids,omitempty"`
	// Expired holds the suppressions whose last day has passed; they had no effect. The findings of
	// the check [SuppressionsID] report them.
	Expired []Suppression `json:"expired,omitempty"`
	// Unseen is what the snapshot could not tell ([inventory.Snapshot.Unseen]), so that no check
	// judged it.
	Unseen []string `json:"unseen,omitempty"`
	// NotCovered is what no check of the list is about ([Options.NotCovered]).
	NotCovered []string `json:"notCovered"`
	// Limits holds the thresholds of the checks that the run changed, by name.
	Limits []ChangedLimit `json:"limits,omitempty"`
	// Gathered is what was read of the kernel beside files, in the order of the kinds.
	Gathered []facts.Gathering `json:"gathered,omitempty"`
	// Since compares the findings with those of an earlier report; nil if they were not compared.
	Since *Changes `json:"since,omitempty"`
}

// Counts counts findings or checks by outcome. Suppressed ones are counted separately.
type Counts struct {
	Fail          int `json:"fail"`           // jobs do not run, hang, fall back to TCP, or lose much bandwidth
	Unknown       int `json:"unknown"`        // could not be checked
	Warn          int `json:"warn"`           // jobs run, but slower or at risk
	Info          int `json:"info"`           // worth knowing
	Pass          int `json:"pass"`           // checked, no fault
	NotApplicable int `json:"notApplicable"`  // nothing to check
	Privilege     int `json:"needsPrivilege"` // readable with more privilege only
	Suppressed    int `json:"suppressed"`     // suppressed, not in the other counts
	Shadow        int `json:"shadow"`         // of rules on trial, not in the other counts
}

// CheckResult is the result of one check.
type CheckResult struct {
	ID    string `json:"id"`    // ID of the check, stable
	Title string `json:"title"` // title of the check, one line
	// Outcome is the worst outcome of its findings that are not suppressed; pass if all of its
	// findings are suppressed. It is unknown if a finding of an earlier check names a folder that
	// could not be read and that this check reads too, unless its own findings are worse.
	Outcome Outcome `json:"outcome"`
	Group   Group   `json:"group,omitempty"`  // part of the node that the check is about
	Shadow  bool    `json:"shadow,omitempty"` // the check is on trial and does not count
	// Suppressed reports that findings are suppressed, and that no other finding of the check
	// deserves a look.
	Suppressed bool `json:"suppressed,omitempty"`
}

// add appends a check's findings and counts them. The outcome of a check that is blind, because a
// folder could not be read that a finding of another check names, is unknown at best.
func (r *Report) add(c Check, findings []Finding, blind bool) {
	worst, suppressed := OutcomeNotApplicable, false
	if blind {
		worst = OutcomeUnknown
	}
	for _, f := range findings {
		switch {
		case f.Suppressed != nil:
			r.Counts.Suppressed++
			suppressed = true
			worst = worst.Worse(OutcomePass)
		case f.Shadow:
			r.Counts.Shadow++
		default:
			r.Counts.count(f.Outcome)
			worst = worst.Worse(f.Outcome)
		}
	}
	res := CheckResult{
		ID: c.ID, Title: c.Title, Group: c.Group, Outcome: worst, Shadow: c.Shadow,
		Suppressed: suppressed && worst == OutcomePass,
	}
	r.CheckCounts.add(res)
	r.Checks = append(r.Checks, res)
	r.Findings = append(r.Findings, findings...)
	r.Verdict = r.Verdict.Worse(worst)
}

// add counts a check.
func (c *Counts) add(res CheckResult) {
	switch {
	case res.Shadow:
		c.Shadow++
	case res.Suppressed:
		c.Suppressed++
	default:
		c.count(res.Outcome)
	}
}

func (c *Counts) count(o Outcome) {
	switch o {
	case OutcomeFail:
		c.Fail++
	case OutcomeWarn:
		c.Warn++
	case OutcomeInfo:
		c.Info++
	case OutcomePass:
		c.Pass++
	case OutcomeNotApplicable:
		c.NotApplicable++
	case OutcomePrivilege:
		c.Privilege++
	default:
		c.Unknown++
	}
}
