package doctor

import (
	"fmt"
)

// ObjectNode is the Object of a finding about the node as a whole.
const ObjectNode = "node"

// Finding is the result of a check for one object.
type Finding struct {
	// CheckID is filled by Run.
	CheckID string  `json:"check"`
	Outcome Outcome `json:"outcome"`
	// Object is "device:port", the name of a device or of a network device, or ObjectNode.
	Object string `json:"object"`
	// Summary is one line with the names and values of this node; for the outcomes not applicable
	// and unknown it is the reason.
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Explanation says why the finding matters and what happens to a job. Run fills in the check's
	// explanation if a finding of outcome info, warn or fail has none.
	Explanation string `json:"explanation,omitempty"`
	// Remedy holds command lines with the names of this node filled in, ready to be pasted into a
	// shell; a line that starts with "#" is a comment. The reader replaces words that begin with
	// "YOUR_".
	Remedy []string `json:"remedy,omitempty"`
	// Suppressed is the suppression that applies to the finding, which then does not count; nil for
	// none.
	Suppressed *Suppression `json:"suppressed,omitempty"`
}

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
