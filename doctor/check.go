package doctor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/rdmakit/rdmakit/inventory"
)

// DefaultTimeout bounds a check that names no time limit of its own.
const DefaultTimeout = 2 * time.Second

// Check is one rule about a node. It is a value without state. Its JSON form, all
// but the time limit and the run function, describes it.
type Check struct {
	// ID is kebab-case, unique and stable: scripts, suppressions and documents use it.
	ID string `json:"id"`
	// Title is what is wrong when it finds something: "RoCE port without a routable GID".
	Title string `json:"title"`
	// Severity is the worst that a finding of the check counts as: fail, warn or info.
	Severity Outcome `json:"severity"`
	// Needs says what the Input must hold. What is missing makes the check not
	// applicable, with the reason, and Run is not called.
	Needs Need `json:"needs"`
	// Reads lists the files that the check judges, as patterns of path.Match
	// over absolute paths. A problem that the scanner met at one of them, or at
	// a folder above one, becomes a finding of outcome unknown by itself.
	Reads []string `json:"reads"`
	// Explanation tells why it matters and what happens to a job.
	Explanation string `json:"explanation"`
	// Remedy tells in general what to do; the findings hold the exact commands.
	Remedy string `json:"remedy"`
	// Sources name where the rule comes from: specification section, kernel
	// file, number in the catalogue of checks.
	Sources []string      `json:"sources"`
	Timeout time.Duration `json:"-"` // 0: DefaultTimeout
	// Run judges. It must not change the Input and should heed the context
	// where it may take long. It returns one finding at least: those of outcome
	// info, warn and fail by object, and one pass for all that is well.
	Run func(ctx context.Context, in *Input) []Finding `json:"-"`
}

var kebab = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Validate reports what the value lacks, all of it, joined.
func (c Check) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("check %q: %s", c.ID, fmt.Sprintf(format, args...)))
	}
	if !kebab.MatchString(c.ID) {
		bad("id is not kebab-case")
	}
	for name, v := range map[string]string{"title": c.Title, "explanation": c.Explanation, "remedy": c.Remedy} {
		if v == "" {
			bad("no %s", name)
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

// Input is what checks judge. More kinds of knowledge (live counters, the
// topology of the subnet, the other nodes) become fields here, each with a [Need].
type Input struct {
	Snapshot *inventory.Snapshot // the node as it was scanned
}

// ProblemAt returns the problem that the scanner met at exactly that path.
func (in *Input) ProblemAt(path string) (inventory.Problem, bool) {
	for _, p := range in.Snapshot.Problems {
		if p.Path == path {
			return p, true
		}
	}
	return inventory.Problem{}, false
}

// ProblemUnder returns the first problem that the scanner met at a folder or below it.
func (in *Input) ProblemUnder(dir string) (inventory.Problem, bool) {
	for _, p := range in.Snapshot.Problems {
		if p.Path == dir || isBelow(p.Path, dir) {
			return p, true
		}
	}
	return inventory.Problem{}, false
}
