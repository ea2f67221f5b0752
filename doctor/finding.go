package doctor

import (
	"fmt"
)

// ObjectNode is the Object of a finding about the node as a whole.
const ObjectNode = "node"

// Finding is what a check says about one object.
type Finding struct {
	// CheckID is filled by Run.
	CheckID string  `json:"check"`
	Outcome Outcome `json:"outcome"`
	// Object is "device:port", the name of a device or of a network device, or ObjectNode.
	Object string `json:"object"`
	// Summary is one line with the real names and values; for the outcomes not
	// applicable and unknown it is the reason.
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Explanation tells why it matters and what happens to a job. Run fills in
	// the check's own where a finding of outcome info, warn or fail has none.
	Explanation string `json:"explanation,omitempty"`
	// Remedy holds command lines with the real names filled in, to be pasted
	// into a shell; a line that starts with "#" is a remark. Words in capitals
	// that begin with "YOUR_" are the reader's to choose.
	Remedy []string `json:"remedy,omitempty"`
	// Suppressed is what silences the finding, which then does not count; nil: nothing does.
	Suppressed *Suppression `json:"suppressed,omitempty"`
}

// Evidence is a value that was read and where.
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

// NotApplicable returns a finding that says why the check has nothing to judge.
func NotApplicable(object, format string, args ...any) Finding {
	return Finding{Outcome: OutcomeNotApplicable, Object: object, Summary: fmt.Sprintf(format, args...)}
}

// Unknown returns a finding that says why the check could not judge.
func Unknown(object, format string, args ...any) Finding {
	return Finding{Outcome: OutcomeUnknown, Object: object, Summary: fmt.Sprintf(format, args...)}
}
