package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrUnknownCheck is matched by errors about an ID that no check has.
var ErrUnknownCheck = errors.New("no such check")

// Suppression silences findings until a date: they stay in the report, are marked as suppressed,
// and don't count.
type Suppression struct {
	CheckID string `json:"check"` // the check whose findings it silences
	// Object limits the suppression to one object. A device ("mlx5_0") includes all its ports. ""
	// means every object.
	Object string `json:"object,omitempty"`
	// Until is the last day on which the suppression applies, YYYY-MM-DD; "" for no last day.
	Until  string `json:"until,omitempty"`
	Reason string `json:"reason,omitempty"` // why the finding is accepted
	Who    string `json:"who,omitempty"`    // who accepted it
	// Shared reports that the suppression is of a list for several nodes: that a node doesn't have
	// its object is worth knowing, and no mistake.
	Shared bool `json:"-"`
}

// ParseSuppression reads ID[@OBJECT][:YYYY-MM-DD], for example "mtu@mlx5_0:1:2027-01-31". Objects
// may contain colons; only a date at the end is the last day.
func ParseSuppression(s string) (Suppression, error) {
	var sup Suppression
	rest := s
	if i := strings.LastIndexByte(rest, ':'); i >= 0 && looksLikeDate(rest[i+1:]) {
		rest, sup.Until = rest[:i], rest[i+1:]
	}
	id, object, hasObject := strings.Cut(rest, "@")
	if hasObject && object == "" {
		return Suppression{}, fmt.Errorf("parse suppression %q: no object after @", s)
	}
	sup.CheckID, sup.Object = id, object
	if !kebab.MatchString(id) {
		return Suppression{}, fmt.Errorf("parse suppression %q: %q is not a check ID", s, id)
	}
	if err := sup.Validate(); err != nil {
		return Suppression{}, fmt.Errorf("parse suppression %q: %w", s, err)
	}
	return sup, nil
}

// looksLikeDate reports whether s has the shape of a date, valid or not, so that 2027-02-31 is
// rejected as a date and not parsed as an object.
func looksLikeDate(s string) bool {
	if len(s) != len(time.DateOnly) {
		return false
	}
	for i := range len(s) {
		digit := s[i] >= '0' && s[i] <= '9'
		if hyphen := i == 4 || i == 7; hyphen != (s[i] == '-') || hyphen == digit {
			return false
		}
	}
	return true
}

// Validate reports an ID that isn't kebab-case or an invalid date.
func (s Suppression) Validate() error {
	if !kebab.MatchString(s.CheckID) {
		return fmt.Errorf("suppress %q: not a check ID", s.CheckID)
	}
	if s.Until == "" {
		return nil
	}
	if _, err := time.Parse(time.DateOnly, s.Until); err != nil {
		return fmt.Errorf("suppress %s until %q: not a date of the form YYYY-MM-DD", s.CheckID, s.Until)
	}
	return nil
}

// Expired reports whether the last day has passed, in the time zone of now.
func (s Suppression) Expired(now time.Time) bool {
	return s.Until != "" && now.Format(time.DateOnly) > s.Until
}

// matches reports whether the suppression applies to the finding. It never applies to a finding of
// outcome pass or not applicable.
func (s Suppression) matches(f Finding) bool {
	if f.CheckID != s.CheckID || f.Outcome == OutcomePass || f.Outcome == OutcomeNotApplicable {
		return false
	}
	return s.covers(f.Object)
}

// covers reports whether the suppression is about the object.
func (s Suppression) covers(object string) bool {
	return s.Object == "" || s.Object == object || strings.HasPrefix(object, s.Object+":")
}

// suppress marks the findings to which a suppression applies that has not expired.
func suppress(findings []Finding, sups []Suppression, now time.Time) {
	for i, f := range findings {
		j := slices.IndexFunc(sups, func(s Suppression) bool { return !s.Expired(now) && s.matches(f) })
		if j >= 0 {
			s := sups[j]
			findings[i].Suppressed = &s
		}
	}
}

// SuppressionsID is the ID of the check of the suppressions themselves. A report has it only if it
// has a finding.
const SuppressionsID = "suppressions"

// SuppressionsCheck describes the check of the suppressions. [Run] runs it with every list of
// checks; it has no Run of its own, and can't be chosen, skipped or suppressed.
func SuppressionsCheck() Check {
	return Check{
		ID: SuppressionsID, Title: "suppression without effect", Severity: OutcomeWarn,
		Explanation: "A suppression that has ended, or whose object the node doesn't have, is forgotten or " +
			"misspelt: the finding that it was meant for counts.",
		Remedy:  "Correct the suppression, extend it, or delete it.",
		Sources: []string{"the suppressions of the run"},
	}
}

// checkSuppressions returns a finding for each suppression of the options that has ended without
// another one in its place, and for each one whose object the node does not have.
func (r *Report) checkSuppressions(opts Options, now time.Time) []Finding {
	var findings []Finding
	for _, s := range opts.Suppressions {
		f := Finding{Outcome: OutcomeWarn, Object: s.Target(), Kind: KindOther}
		switch {
		case s.Expired(now) && r.replaced(s, opts.Suppressions, now):
			continue
		case s.Expired(now):
			f.Summary = "ended on " + s.Until + ": its findings count"
		case !opts.SharedSuppressions && r.hasCheck(s.CheckID) && !r.HasObjectOf(s):
			f.Summary = "matches nothing: the node has no such object, and no finding is about it"
			if s.Shared {
				f.Outcome = OutcomeInfo
				f.Explanation = "The list may be that of several nodes, and the object another node's. If it is " +
					"none's, its name is misspelt: the finding that it was meant for counts."
			}
		default:
			continue
		}
		findings = append(findings, f)
	}
	return findings
}

// replaced reports whether another suppression, which has not ended, silences what one that has
// ended was for: all of its objects, or all findings that it would match.
func (r *Report) replaced(ended Suppression, all []Suppression, now time.Time) bool {
	if slices.ContainsFunc(all, func(s Suppression) bool {
		return s.CheckID == ended.CheckID && !s.Expired(now) && s.covers(ended.Object)
	}) {
		return true
	}
	matched := slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return !ended.matches(f) })
	return len(matched) > 0 && !slices.ContainsFunc(matched, Finding.Counts)
}

// Target returns "mtu@mlx5_0:1", as in [ParseSuppression].
func (s Suppression) Target() string { return strings.TrimSuffix(s.CheckID+"@"+s.Object, "@") }

// HasObjectOf reports whether the node has an object of the suppression, or its check a finding
// about one.
func (r *Report) HasObjectOf(s Suppression) bool {
	return s.Object == "" || s.Object == ObjectNode ||
		slices.ContainsFunc(r.Objects, func(o Object) bool { return s.covers(o.Name) }) ||
		slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.CheckID == s.CheckID && s.covers(f.Object) })
}
