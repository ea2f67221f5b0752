package doctor

import (
	"fmt"
	"slices"
)

// Outcome is the result of a check for one object.
type Outcome string

// The outcomes. Fail, warn and info also serve as the severity of a check.
const (
	// OutcomeNotApplicable: the node has no object for the check, or the file that it reads does
	// not exist; the summary says why.
	OutcomeNotApplicable Outcome = "not-applicable"
	// OutcomePrivilege: the data can be read with more privilege only; the summary says what it
	// would add. It never counts against the node.
	OutcomePrivilege Outcome = "needs-privilege"
	OutcomePass      Outcome = "pass"
	OutcomeInfo      Outcome = "info" // worth knowing, does no harm
	OutcomeWarn      Outcome = "warn" // jobs run, but slower or at risk
	// OutcomeUnknown: the check applies but has no result (a file could not be read, the check
	// panicked or timed out); the summary says why.
	OutcomeUnknown Outcome = "unknown"
	OutcomeFail    Outcome = "fail" // jobs don't run, hang, fall back to TCP, or lose much of their bandwidth
)

// ascending lists the outcomes from harmless to worst. Unknown ranks above warn because there may
// be an undetected fault.
var ascending = [...]Outcome{
	OutcomeNotApplicable, OutcomePrivilege, OutcomePass, OutcomeInfo, OutcomeWarn, OutcomeUnknown, OutcomeFail,
}

// Outcomes returns all outcomes, worst first: the order in which a report is read.
func Outcomes() []Outcome {
	all := slices.Clone(ascending[:])
	slices.Reverse(all)
	return all
}

// Compare returns a negative number if o is less severe than p, 0 if they are equal, and a positive
// number if o is more severe.
func (o Outcome) Compare(p Outcome) int {
	return slices.Index(ascending[:], o) - slices.Index(ascending[:], p)
}

// Worse returns the more severe of two outcomes.
func (o Outcome) Worse(p Outcome) Outcome {
	if o.Compare(p) >= 0 {
		return o
	}
	return p
}

// Known reports whether o is one of the seven outcomes.
func (o Outcome) Known() bool { return slices.Contains(ascending[:], o) }

// UnmarshalText implements [encoding.TextUnmarshaler]; it rejects text that is not an outcome.
func (o *Outcome) UnmarshalText(b []byte) error {
	v := Outcome(b)
	if !v.Known() {
		return fmt.Errorf("parse outcome %q: not one of %v", b, Outcomes())
	}
	*o = v
	return nil
}
