package doctor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// DefaultTimeout is the time limit of a check whose Timeout is zero.
const DefaultTimeout = 2 * time.Second

// Check is one rule about a node. It has no state. Its JSON form leaves out the time limit and the
// run function.
type Check struct {
	// ID is kebab-case, unique and stable: scripts, suppressions and documents use it.
	ID string `json:"id"`
	// Title describes the fault that the check finds: "RDMA port that is not active".
	Title string `json:"title"`
	// Severity is the worst outcome of the check's findings: fail, warn or info.
	Severity Outcome `json:"severity"`
	// Needs lists what the Input must contain. If something is missing, Run is not called and the
	// check's outcome is not applicable, or unknown if it could not be read, with the reason.
	Needs Need `json:"needs"`
	// Reads lists the files that the check depends on, as patterns of path.Match over absolute
	// paths. If the scanner could not read one of them, or a directory above one, [Run] adds a
	// finding of outcome unknown.
	Reads []string `json:"reads"`
	// Explanation says why the fault matters and what happens to a job.
	Explanation string `json:"explanation"`
	// Remedy says in general how to fix the fault; the findings hold the exact commands.
	Remedy string `json:"remedy"`
	// Sources name where the rule comes from: specification section, kernel file, manual page.
	Sources []string `json:"sources"`
	// Numbers are those of the catalogue that the check covers (docs/checks.md).
	Numbers []int `json:"numbers,omitempty"`
	// Group is the part of the node that the check is about.
	Group Group `json:"group"`
	// Unless returns why the check doesn't apply to the node, "" if it does. It is called before
	// Facts are gathered, so that users aren't sent to root for data without use; nil for none.
	Unless func(in *Input) string `json:"-"`
	// Facts lists the kinds of data that Run uses beside the snapshot and files. Run is called only
	// if all of them are known; otherwise the finding says why not.
	Facts []facts.Kind `json:"facts,omitempty"`
	// Uses lists further kinds that are gathered for the check, and without which it still works.
	Uses []facts.Kind `json:"uses,omitempty"`
	// Thresholds are the limits that the rule compares with; a site can change them.
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// Shadow marks a rule on trial: its findings are listed and don't count.
	Shadow  bool          `json:"shadow,omitempty"`
	Timeout time.Duration `json:"-"` // 0: DefaultTimeout
	// Run runs the check. It must not change the Input and should watch the context where it may
	// take long. It returns at least one finding: one for each object with outcome info, warn or
	// fail, and one pass for all other objects together.
	Run func(ctx context.Context, in *Input) []Finding `json:"-"`
}

var kebab = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Validate reports every missing or invalid field, joined into one error.
func (c Check) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("check %q: %s", c.ID, fmt.Sprintf(format, args...)))
	}
	if !kebab.MatchString(c.ID) {
		bad("id is not kebab-case")
	}
	for _, text := range [][2]string{{"title", c.Title}, {"explanation", c.Explanation}, {"remedy", c.Remedy}} {
		if text[1] == "" {
			bad("no %s", text[0])
		}
	}
	switch c.Severity {
	case OutcomeFail, OutcomeWarn, OutcomeInfo:
	default:
		bad("severity %q is not fail, warn or info", c.Severity)
	}
	if len(c.Sources) == 0 {
		bad("no sources")
	}
	if c.Timeout < 0 {
		bad("time limit %v is negative", c.Timeout)
	}
	if c.Run == nil {
		bad("no run function")
	}
	return errors.Join(errs...)
}

// Input is the data that checks examine. Further kinds of data (live counters, the topology of the
// subnet, the other nodes) become fields here, each with a [Need].
type Input struct {
	Snapshot *inventory.Snapshot // the node as it was scanned
	// Facts is what was gathered beside the snapshot. Nil is the same as a node without files.
	Facts *facts.Facts

	limits map[string]float64 // thresholds of the running check, set by Run
	counts []string           // IDs of the checks of the run whose findings count, set by Run
}

// Counts reports whether the run has a check whose findings count: one that is neither left out nor
// on trial. A check may then leave to it what both find.
func (in *Input) Counts(id string) bool { return slices.Contains(in.counts, id) }

// ProblemAt returns the problem that the scanner reported for exactly that path.
func (in *Input) ProblemAt(path string) (inventory.Problem, bool) {
	for _, p := range in.Snapshot.Problems {
		if p.Path == path {
			return p, true
		}
	}
	return inventory.Problem{}, false
}

// ProblemUnder returns the first problem that the scanner reported for a directory or a path below
// it.
func (in *Input) ProblemUnder(dir string) (inventory.Problem, bool) {
	for _, p := range in.Snapshot.Problems {
		if p.Path == dir || isBelow(p.Path, dir) {
			return p, true
		}
	}
	return inventory.Problem{}, false
}
