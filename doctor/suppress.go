package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrUnknownCheck is matched by the error about a check ID that no check has.
var ErrUnknownCheck = errors.New("no such check")

// Suppression silences findings until a date: they stay in the report, marked,
// and don't count.
type Suppression struct {
	CheckID string `json:"check"` // the check whose findings it silences
	// Object limits it to one object. A device ("mlx5_0") stands for all its
	// ports. "" stands for every object.
	Object string `json:"object,omitempty"`
	// Until is the last day on which it holds, YYYY-MM-DD; "" for this run only,
	// without a last day.
	Until  string `json:"until,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// ParseSuppression reads ID[@OBJECT][:YYYY-MM-DD], for example
// "mtu@mlx5_0:1:2027-01-31". Objects may hold colons; only a date at the end is
// taken for the last day.
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
	if err := sup.Validate(); err != nil {
		return Suppression{}, fmt.Errorf("parse suppression %q: %w", s, err)
	}
	return sup, nil
}

// looksLikeDate reports digits and hyphens in the shape of a date, right or
// wrong, so that 2027-02-31 is refused as a date and not taken for an object.
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

// Validate reports an ID that isn't kebab-case or a date that isn't one.
func (s Suppression) Validate() error {
	if !kebab.MatchString(s.CheckID) {
		return fmt.Errorf("suppress %q: not the ID of a check", s.CheckID)
	}
	if s.Until == "" {
		return nil
	}
	if _, err := time.Parse(time.DateOnly, s.Until); err != nil {
		return fmt.Errorf("suppress %s until %q: not a date of the form YYYY-MM-DD", s.CheckID, s.Until)
	}
	return nil
}

// Expired reports whether the last day is over, in the time zone of now.
func (s Suppression) Expired(now time.Time) bool {
	return s.Until != "" && now.Format(time.DateOnly) > s.Until
}

// matches reports whether the suppression is about the finding; one that only
// tells what is well, or that there is nothing to judge, needs no silence.
func (s Suppression) matches(f Finding) bool {
	if f.CheckID != s.CheckID || f.Outcome == OutcomePass || f.Outcome == OutcomeNotApplicable {
		return false
	}
	return s.Object == "" || s.Object == f.Object || strings.HasPrefix(f.Object, s.Object+":")
}

// suppress marks the findings that a suppression of today is about.
func suppress(findings []Finding, sups []Suppression, now time.Time) {
	for i, f := range findings {
		j := slices.IndexFunc(sups, func(s Suppression) bool { return !s.Expired(now) && s.matches(f) })
		if j >= 0 {
			s := sups[j]
			findings[i].Suppressed = &s
		}
	}
}
