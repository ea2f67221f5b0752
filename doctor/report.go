package doctor

import "slices"

// Schema is the version of the JSON form of a [Report]. A field may be added
// within a version; one that is removed or changes its meaning makes a new one.
const Schema = "rdmakit.doctor/v1"

// Report is the answer of [Run].
type Report struct {
	Schema string `json:"schema"`         // name and version of this form
	Node   string `json:"node,omitempty"` // host name, "" when not known
	// Verdict is the worst outcome of all findings that count; not applicable
	// when there was nothing to judge.
	Verdict Outcome `json:"verdict"`
	// Counts counts the findings: a check that judges eight ports may have eight.
	Counts Counts `json:"counts"`
	// CheckCounts counts the checks, each once: under its outcome, or as suppressed where all that
	// it found is.
	CheckCounts Counts `json:"checkCounts"`
	// Checks holds every check that was asked for, in the order of the list.
	Checks []CheckResult `json:"checks"`
	// Findings are in the order of Checks, and within a check in the order of
	// the node's objects.
	Findings []Finding `json:"findings"`
	// Expired holds the suppressions whose last day is over; they had no effect.
	Expired []Suppression `json:"expired,omitempty"`
}

// Counts counts findings or checks by outcome, suppressed ones apart.
type Counts struct {
	Fail          int `json:"fail"`          // jobs do not run, fall back to TCP, or hang
	Unknown       int `json:"unknown"`       // could not be judged
	Warn          int `json:"warn"`          // jobs run, but slower or at risk
	Info          int `json:"info"`          // worth knowing
	Pass          int `json:"pass"`          // judged and fine
	NotApplicable int `json:"notApplicable"` // nothing to judge
	Suppressed    int `json:"suppressed"`    // counted here and nowhere else
}

// CheckResult is what one check came to.
type CheckResult struct {
	ID    string `json:"id"`    // of the check, stable
	Title string `json:"title"` // of the check, in a line
	// Outcome is the worst of its findings that count; pass when all that it
	// found is suppressed.
	Outcome Outcome `json:"outcome"`
}

// add appends a check's findings and counts them.
func (r *Report) add(c Check, findings []Finding) {
	worst := OutcomeNotApplicable
	for _, f := range findings {
		if f.Suppressed != nil {
			r.Counts.Suppressed++
			worst = worse(worst, OutcomePass)
			continue
		}
		r.Counts.count(f.Outcome)
		worst = worse(worst, f.Outcome)
	}
	if slices.ContainsFunc(findings, func(f Finding) bool { return f.Suppressed == nil }) {
		r.CheckCounts.count(worst)
	} else {
		r.CheckCounts.Suppressed++
	}
	r.Checks = append(r.Checks, CheckResult{ID: c.ID, Title: c.Title, Outcome: worst})
	r.Findings = append(r.Findings, findings...)
	r.Verdict = worse(r.Verdict, worst)
}

func worse(a, b Outcome) Outcome {
	if a.Compare(b) >= 0 {
		return a
	}
	return b
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
	default:
		c.Unknown++
	}
}
