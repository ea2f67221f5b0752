package doctor

import (
	"fmt"
	"slices"
)

// Outcome is what a check says about an object.
type Outcome string

// The outcomes. Fail, warn and info also serve as the severity of a check.
const (
	// OutcomeNotApplicable: the check has no subject here, or its source does
	// not exist on this node; the summary says why.
	OutcomeNotApplicable Outcome = "not-applicable"
	OutcomePass          Outcome = "pass"
	OutcomeInfo          Outcome = "info" // worth knowing, harms nothing
	OutcomeWarn          Outcome = "warn" // jobs run, but slower or at risk
	// OutcomeUnknown: there was something to judge and it could not be judged
	// (a file that could not be read, a check that panicked or took too long);
	// the summary says why.
	OutcomeUnknown Outcome = "unknown"
	OutcomeFail    Outcome = "fail" // jobs don't run, fall back to TCP, or hang
)

// ascending lists the outcomes from the most harmless. Unknown stands above
// warn because a fault may hide behind it.
var ascending = [...]Outcome{
	OutcomeNotApplicable, OutcomePass, OutcomeInfo, OutcomeWarn, OutcomeUnknown, OutcomeFail,
}

// Outcomes returns all outcomes, worst first: the order in which a report is read.
func Outcomes() []Outcome {
	all := slices.Clone(ascending[:])
	slices.Reverse(all)
	return all
}

// Compare returns a negative number when o is more harmless than p, 0 when they
// are equal, and a positive number when o is worse.
func (o Outcome) Compare(p Outcome) int {
	return slices.Index(ascending[:], o) - slices.Index(ascending[:], p)
}

// Known reports whether o is one of the six outcomes.
func (o Outcome) Known() bool { return slices.Contains(ascending[:], o) }

// UnmarshalText implements [encoding.TextUnmarshaler]; a word that is no outcome is an error.
func (o *Outcome) UnmarshalText(b []byte) error {
	v := Outcome(b)
	if !v.Known() {
		return fmt.Errorf("parse outcome %q: not one of %v", b, Outcomes())
	}
	*o = v
	return nil
}
