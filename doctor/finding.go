package doctor

import (
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

// ObjectNode is the Object of a finding about the node as a whole.
const ObjectNode = "node"

// Finding is the result of a check for one object.
type Finding struct {
	// CheckID is filled by Run.
	CheckID string  `json:"check"`
	Outcome Outcome `json:"outcome"`
	// Object names what the finding is about, in the form of its kind. "" means ObjectNode.
	Object string `json:"object"`
	// Kind is the kind of the object. Run derives it from the node if it is "".
	Kind Kind `json:"kind"`
	// Summary is one line with the names and values of this node; for the outcomes not applicable
	// and unknown it is the reason.
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Explanation says why the finding matters and what happens to a job. Run fills in the check's
	// explanation if a finding of outcome info, warn or fail has none.
	Explanation string `json:"explanation,omitempty"`
	// Actions are the steps that remedy the fault, in order.
	Actions []Action `json:"actions,omitempty"`
	// Remedy is the text of the actions: command lines with the names of this node filled in, ready
	// to be pasted into a shell; a line that starts with "#" is a comment. The reader replaces
	// words that begin with "YOUR_". Run makes it from the actions, and actions from it if there
	// are none.
	Remedy []string `json:"remedy,omitempty"`
	// Shadow marks a finding of a rule on trial, which does not count.
	Shadow bool `json:"shadow,omitempty"`
	// Suppressed is the suppression that applies to the finding, which then does not count; nil for
	// none.
	Suppressed *Suppression `json:"suppressed,omitempty"`
}

// Counts reports whether the finding counts: it is neither suppressed nor of a rule on trial.
func (f Finding) Counts() bool { return f.Suppressed == nil && !f.Shadow }

// Evidence is a value that was read, and its path.
type Evidence struct {
	Path  string `json:"path"`  // absolute path on the node; for a line of a file: path, colon, key
	Value string `json:"value"` // as the kernel prints it
}

// String returns "path = value".
func (e Evidence) String() string { return e.Path + " = " + e.Value }

// Passed returns a finding of outcome pass.
func Passed(object, summary string, ev ...Evidence) Finding {
	return Finding{Outcome: OutcomePass, Object: object, Summary: summary, Evidence: ev}
}

// NotApplicable returns a finding that says why the check does not apply.
func NotApplicable(object, format string, args ...any) Finding {
	return Finding{Outcome: OutcomeNotApplicable, Object: object, Summary: fmt.Sprintf(format, args...)}
}

// Unknown returns a finding that says why the check has no result.
func Unknown(object, format string, args ...any) Finding {
	return Finding{Outcome: OutcomeUnknown, Object: object, Summary: fmt.Sprintf(format, args...)}
}

// NeedsPrivilege returns a finding that says what more privilege would show.
func NeedsPrivilege(object, format string, args ...any) Finding {
	return Finding{Outcome: OutcomePrivilege, Object: object, Summary: fmt.Sprintf(format, args...)}
}

// Because returns the finding for data that is not there: not applicable for [facts.ErrAbsent] and
// [facts.ErrNotGathered], needs privilege for [facts.ErrDenied], and unknown for any other error.
func Because(object string, err error) Finding {
	f := Finding{Outcome: OutcomeUnknown, Object: object, Summary: err.Error()}
	switch {
	case errors.Is(err, facts.ErrAbsent), errors.Is(err, facts.ErrNotGathered):
		f.Outcome = OutcomeNotApplicable
	case errors.Is(err, facts.ErrDenied):
		f.Outcome = OutcomePrivilege
	}
	return f
}
