package doctor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// Options chooses among the checks. The zero value runs all of them.
type Options struct {
	Only []string // IDs of the checks to run; empty for all
	Skip []string // IDs of the checks to leave out, even if they are in Only
	// Suppressions silence findings; a finding records the first suppression that matches it.
	Suppressions []Suppression
	// SharedSuppressions reports that the suppressions are those of several nodes: that this node
	// doesn't have the object of one is no mistake.
	SharedSuppressions bool

	// Now is the time of the run, which decides which suppressions have expired; zero for the
	// current time.
	Now time.Time
	// Thresholds replace defaults, by name.
	Thresholds map[string]float64
	// Shadow holds IDs of checks whose findings are listed but don't count.
	Shadow []string
	// Budget limits the time of all checks together; 0 means none beside the limit of each.
	Budget time.Duration
	// NotCovered is what no check is about, Version that of the program, and Recording what the
	// node was read from, for the report.
	NotCovered []string
	Version    string
	Recording  *Recording
}

// Validate reports IDs in the options that no check has (the error matches [ErrUnknownCheck]) and
// malformed suppressions and thresholds.
func (o Options) Validate(checks []Check) error {
	var errs []error
	known := func(id string) {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.ID == id }) {
			errs = append(errs, fmt.Errorf("check %q: %w", id, ErrUnknownCheck))
		}
	}
	for _, id := range slices.Concat(o.Only, o.Skip, o.Shadow) {
		known(id)
	}
	errs = append(errs, ValidateThresholds(Thresholds(checks), o.Thresholds))
	for _, s := range o.Suppressions {
		if err := s.Validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		known(s.CheckID)
	}
	return errors.Join(errs...)
}

// Selects reports whether a run with the options has the check.
func (o Options) Selects(id string) bool {
	return (len(o.Only) == 0 || slices.Contains(o.Only, id)) && !slices.Contains(o.Skip, id)
}

// Kinds returns the kinds of data that the checks that the options select can use.
func (o Options) Kinds(checks []Check) []facts.Kind {
	var kinds []facts.Kind
	for _, c := range checks {
		if o.Selects(c.ID) {
			kinds = append(kinds, c.Facts...)
			kinds = append(kinds, c.Uses...)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Run runs the checks that the options select, side by side. Checks can't affect each other: one
// that panics, exceeds its time limit or returns no finding gives a finding of outcome unknown.
// When the context ends, or the budget is used up, the remaining checks become unknown too.
//
// An error is returned for invalid options only (see [Options.Validate]); the report is empty then.
func Run(ctx context.Context, checks []Check, in Input, opts Options) (Report, error) {
	if err := opts.Validate(checks); err != nil {
		return Report{}, err
	}
	now := opts.Now
	if now.IsZero() {
		now = time.Now()
	}
	r := Report{
		Schema: Schema, Verdict: OutcomeNotApplicable, Checks: []CheckResult{}, Findings: []Finding{},
		NotCovered: slices.Concat([]string{}, opts.NotCovered),
		Version:    opts.Version, Time: now.UTC(), Recording: opts.Recording,
	}
	if in.Facts != nil {
		used := opts.Kinds(checks)
		r.Gathered = slices.DeleteFunc(in.Facts.Gathered(), func(g facts.Gathering) bool {
			return !slices.Contains(used, g.Kind) // a recording has more
		})
	}
	if in.Snapshot != nil {
		r.Node, r.Unseen = in.Snapshot.Host.Name, in.Snapshot.Unseen()
		if o, why := unmetDevices(&in); o == OutcomeNotApplicable {
			r.NoDevice = why
		}
		r.Objects, r.Ports, r.GIDs = objectsOf(in.Snapshot), portsOf(in.Snapshot), gidsOf(in.Snapshot)
	}
	chosen := slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return !opts.Selects(c.ID) })
	r.Limits = changedLimits(chosen, opts.Thresholds)
	for i, result := range runAll(ctx, chosen, in, opts) {
		c, findings := chosen[i], result.findings
		c.Shadow = c.Shadow || slices.Contains(opts.Shadow, c.ID)
		finish(c, in.Snapshot, findings)
		suppress(findings, opts.Suppressions, now)
		r.add(c, findings, result.blind)
	}
	for _, s := range opts.Suppressions {
		if s.Expired(now) {
			r.Expired = append(r.Expired, s)
		}
	}
	if findings := r.checkSuppressions(opts, now); len(findings) > 0 {
		c, verdict := SuppressionsCheck(), r.Verdict
		finish(c, in.Snapshot, findings)
		r.add(c, findings, false)
		if verdict.Compare(OutcomePass) < 0 {
			r.Verdict = verdict // still, no check of the node has a result
		}
	}
	return r, nil
}

// result is what one check found.
type result struct {
	findings []Finding
	// blind reports that a folder could not be read that a finding of an earlier check names.
	blind bool
}

// runAll runs checks side by side and returns the results, in their order.
func runAll(ctx context.Context, checks []Check, in Input, opts Options) []result {
	switch {
	case in.Facts == nil:
		in.Facts = facts.New(nil)
	case in.Facts.Files == nil: // decoded from a document
		own := *in.Facts
		own.Files = facts.NewFiles(nil)
		in.Facts = &own
	}
	if opts.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.Budget, fmt.Errorf("the budget of %v is used up", opts.Budget))
		defer cancel()
	}
	for _, c := range checks {
		if !c.Shadow && !slices.Contains(opts.Shadow, c.ID) {
			in.counts = append(in.counts, c.ID)
		}
	}
	results, ran := make([]result, len(checks)), make([]bool, len(checks))
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i, c := range checks {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			results[i].findings, ran[i] = runOne(ctx, c, in.forCheck(c, opts.Thresholds))
		})
	}
	wg.Wait()
	if in.Snapshot == nil {
		return results
	}
	// Only now, because checks share what they read of a file.
	files := in.Facts.Files.Problems()
	slices.SortStableFunc(files, func(a, b inventory.Problem) int { return strings.Compare(a.Path, b.Path) })
	problems := slices.Concat(in.Snapshot.Problems, files)
	blind := map[string]int{} // checks that the finding about a folder stands for, by its path
	for i, c := range checks {
		if ran[i] {
			results[i].unread(c, problems, blind)
		}
	}
	for _, r := range results {
		for i, f := range r.findings {
			if len(f.Evidence) == 1 && f.Outcome == OutcomeUnknown && blind[f.Evidence[0].Path] > 1 {
				r.findings[i].Summary += fmt.Sprintf("; further checks of files below it are unknown too: %d",
					blind[f.Evidence[0].Path]-1)
			}
		}
	}
	return results
}

// runOne returns the findings of a check, and whether its run function was called.
func runOne(ctx context.Context, c Check, in *Input) (findings []Finding, ran bool) {
	if f, ok := c.Needs.unmet(in); ok {
		return []Finding{f}, false
	}
	if f, ok := c.unless(in); ok {
		return []Finding{f}, false
	}
	for _, k := range c.Facts {
		if err := in.Facts.State(k); err != nil {
			return []Finding{Because(ObjectNode, fmt.Errorf("%s: %w", k.What(), err))}, false
		}
	}
	return contained(ctx, c, in), true
}

// unless returns the finding of a check that doesn't apply, or whose function for that panicked.
func (c Check) unless(in *Input) (f Finding, ok bool) {
	if c.Unless == nil {
		return f, false
	}
	defer func() {
		if cause := recover(); cause != nil {
			f, ok = Unknown(ObjectNode, "the check panicked: %v", cause), true
		}
	}()
	why := c.Unless(in)
	return NotApplicable(ObjectNode, "%s", why), why != ""
}

// finish fills in the fields that a check may leave empty.
func finish(c Check, s *inventory.Snapshot, findings []Finding) {
	for i := range findings {
		f := &findings[i]
		f.CheckID = c.ID
		if f.Object == "" {
			f.Object = ObjectNode
		}
		if !f.Outcome.Known() {
			f.Summary = fmt.Sprintf("the check returned the unknown outcome %q: %s", f.Outcome, f.Summary)
			f.Outcome = OutcomeUnknown
		}
		faulty := f.Outcome == OutcomeFail || f.Outcome == OutcomeWarn || f.Outcome == OutcomeInfo
		if faulty && f.Explanation == "" {
			f.Explanation = c.Explanation
		}
		if f.Kind == "" {
			f.Kind = kindOf(s, f.Object)
		}
		f.Shadow = c.Shadow
		f.completeRemedy()
	}
}

// answer is the result of a check's goroutine.
type answer struct {
	findings []Finding
	done     bool // the run function returned
	panicked any
}

// contained calls the run function in a separate goroutine, so that Run can return while a check
// that ignores its context is still running. That goroutine ends when the check returns; it refers
// to the input only.
func contained(ctx context.Context, c Check, in *Input) []Finding {
	limit := c.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	if err := ctx.Err(); err != nil {
		return []Finding{Unknown(ObjectNode, "not run: %v", context.Cause(ctx))}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		var a answer
		// runtime.Goexit ends here as well, with done false and no panic.
		defer func() {
			if !a.done {
				a.panicked = recover()
			}
			answers <- a
		}()
		a.findings = c.Run(ctx, in)
		a.done = true
	}()
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		select { // use an answer that arrived at the same time
		case a = <-answers:
		default:
		}
	}
	if ctx.Err() == nil || a.panicked != nil || len(a.findings) > 0 { // a stopped check may answer nothing
		return a.result()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return []Finding{Unknown(ObjectNode, "the check did not finish within %v", limit)}
	}
	return []Finding{Unknown(ObjectNode, "stopped: %v", context.Cause(ctx))}
}

func (a answer) result() []Finding {
	switch {
	case a.panicked != nil:
		return []Finding{Unknown(ObjectNode, "the check panicked: %v", a.panicked)}
	case !a.done:
		return []Finding{Unknown(ObjectNode, "the check ended without a result")}
	case len(a.findings) == 0:
		return []Finding{Unknown(ObjectNode, "the check returned no finding")}
	}
	return slices.Clone(a.findings)
}

// unread adds a finding for each file of the check that could not be read, so that no check
// silently ignores unreadable files. A folder above the files of many checks, such as the dangling
// link of a device, is reported by the first of them.
func (r *result) unread(c Check, problems []inventory.Problem, blind map[string]int) {
	for _, p := range problems {
		above, exact := false, false
		for _, pattern := range c.Reads {
			above = above || concerns(pattern, p.Path)
			exact = exact || concerns(pattern, p.Path) && strings.Count(pattern, "/") == strings.Count(p.Path, "/")
		}
		if !above {
			continue
		}
		if exact {
			blind[p.Path] = max(blind[p.Path], 1)
		} else if blind[p.Path]++; blind[p.Path] > 1 {
			r.blind = true
			continue
		}
		f := Unknown(objectOf(p.Path), "no usable value in %s: %s", p.Path, p.Error)
		f.Evidence = []Evidence{{Path: p.Path, Value: p.Error}}
		r.findings = append(r.findings, f)
	}
}

// concerns reports whether the path matches the pattern, or is a directory above a path that does.
func concerns(pattern, p string) bool {
	pats, parts := strings.Split(pattern, "/"), strings.Split(strings.TrimSuffix(p, "/"), "/")
	if len(parts) > len(pats) {
		return false
	}
	for i, part := range parts {
		if ok, err := path.Match(pats[i], part); err != nil || !ok {
			return false
		}
	}
	return true
}

// objectOf returns the name of the object that a sysfs path belongs to.
func objectOf(p string) string {
	for _, class := range []string{sysfs.ClassInfiniBand, sysfs.ClassInfiniBandVerbs, sysfs.ClassNet} {
		rest, ok := strings.CutPrefix(p, "/"+class+"/")
		if !ok {
			continue
		}
		parts := strings.Split(rest, "/")
		if len(parts) >= 3 && parts[1] == "ports" {
			return parts[0] + ":" + parts[2]
		}
		return parts[0]
	}
	return ObjectNode
}
