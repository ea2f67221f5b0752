package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Changes are the differences between the findings of an earlier report and those of this one. Only
// what deserves a look is compared: findings of outcome info, warn, unknown and fail that count.
type Changes struct {
	New     []Finding `json:"new"`
	Gone    []Finding `json:"gone"` // of the earlier report; their checks now pass
	Changed []Change  `json:"changed"`
	// NotJudged holds findings of the earlier report whose checks have no result now.
	NotJudged []Finding `json:"notJudged"`
}

// Change is a finding that has another outcome or another summary than before.
type Change struct {
	Before Finding `json:"before"`
	Now    Finding `json:"now"`
}

// Errors of [ParseReport] and [Report.Compare].
var (
	// ErrNotReport is about data that is no report.
	ErrNotReport = errors.New("not a report of doctor")
	// ErrVersion is about a report whose schema has another version.
	ErrVersion = errors.New("a report of another version")
	// ErrOtherNode is about reports of different nodes.
	ErrOtherNode = errors.New("a report of another node")
)

// ParseReport reads the JSON form of a report. The error matches [ErrNotReport] for other data and
// [ErrVersion] for a report whose schema is not [Schema].
func ParseReport(data []byte) (Report, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Report{}, fmt.Errorf("%w: not JSON: %w", ErrNotReport, err)
	}
	switch {
	case head.Schema == Schema:
	case isBelow(head.Schema, "rdmakit.doctor"):
		return Report{}, fmt.Errorf("%w: %s, want %s", ErrVersion, head.Schema, Schema)
	case head.Schema == "":
		return Report{}, fmt.Errorf("%w: it has no schema", ErrNotReport)
	default:
		return Report{}, fmt.Errorf("%w: its schema is %s", ErrNotReport, head.Schema)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return Report{}, fmt.Errorf("%w: %w", ErrNotReport, err)
	}
	return r, nil
}

// Compare sets Since to what has changed since an earlier report of the same node. Findings of
// checks that one of the reports doesn't have are left out: they appeared or disappeared with their
// check. The error matches [ErrOtherNode] if the reports are of nodes with different names.
func (r *Report) Compare(before Report) error {
	if before.Node != r.Node {
		return fmt.Errorf("%w: %q, not %q", ErrOtherNode, before.Node, r.Node)
	}
	c := Changes{New: []Finding{}, Gone: []Finding{}, NotJudged: []Finding{}, Changed: []Change{}}
	old, now := before.worthALook(*r), r.worthALook(before)
	now = slices.DeleteFunc(now, func(f Finding) bool { return take(&old, f, sameText) != nil })
	for _, f := range now {
		switch was := take(&old, f, sameObject); {
		case was != nil:
			c.Changed = append(c.Changed, Change{Before: *was, Now: f})
		default:
			c.New = append(c.New, f)
		}
	}
	for _, f := range old {
		switch {
		case slices.ContainsFunc(r.Findings, func(n Finding) bool { return !n.Counts() && sameObject(n, f) }):
			// suppressed meanwhile, or on trial
		case r.judges(f):
			c.Gone = append(c.Gone, f)
		default:
			c.NotJudged = append(c.NotJudged, f)
		}
	}
	r.Since = &c
	return nil
}

// take removes the first finding that is equal to f and returns it, nil if there is none.
func take(from *[]Finding, f Finding, equal func(a, b Finding) bool) *Finding {
	i := slices.IndexFunc(*from, func(o Finding) bool { return equal(o, f) })
	if i < 0 {
		return nil
	}
	found := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	return &found
}

func sameText(a, b Finding) bool {
	return sameObject(a, b) && a.Outcome == b.Outcome && a.Summary == b.Summary
}

// judges reports whether the finding's check has a result for its object in this report, so that
// its absence is good news.
func (r *Report) judges(f Finding) bool {
	for _, c := range r.Checks {
		if c.ID == f.CheckID && (c.Outcome == OutcomeNotApplicable || c.Outcome == OutcomePrivilege) {
			return false
		}
	}
	return !slices.ContainsFunc(r.Findings, func(n Finding) bool {
		return n.CheckID == f.CheckID && n.Outcome == OutcomeUnknown && n.Object == ObjectNode
	})
}

func sameObject(a, b Finding) bool { return a.CheckID == b.CheckID && a.Object == b.Object }

// worthALook returns the findings that a comparison is about.
func (r *Report) worthALook(other Report) []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool {
		common := slices.ContainsFunc(other.Checks, func(c CheckResult) bool { return c.ID == f.CheckID })
		return !common || !f.Counts() || f.Outcome.Compare(OutcomePass) <= 0
	})
}

// Worse returns the findings that are new or whose outcome is worse than before.
func (c Changes) Worse() []Finding {
	all := slices.Clone(c.New)
	for _, ch := range c.Changed {
		if ch.Now.Outcome.Compare(ch.Before.Outcome) > 0 {
			all = append(all, ch.Now)
		}
	}
	return all
}
