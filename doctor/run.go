package doctor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// Options chooses among the checks. The zero value runs all of them.
type Options struct {
	Only []string // IDs of the checks to run; empty for all
	Skip []string // IDs of the checks to leave out, also of Only
	// Suppressions silence findings; the first that fits a finding is noted in it.
	Suppressions []Suppression
	Now          time.Time // decides whether a suppression is over; zero for the present
}

// Validate reports IDs in the options that none of the checks has (matching
// [ErrUnknownCheck]) and suppressions that are not well formed.
func (o Options) Validate(checks []Check) error {
	var errs []error
	known := func(id string) {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.ID == id }) {
			errs = append(errs, fmt.Errorf("check %q: %w", id, ErrUnknownCheck))
		}
	}
	for _, id := range slices.Concat(o.Only, o.Skip) {
		known(id)
	}
	for _, s := range o.Suppressions {
		if err := s.Validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		known(s.CheckID)
	}
	return errors.Join(errs...)
}

func (o Options) wants(id string) bool {
	return (len(o.Only) == 0 || slices.Contains(o.Only, id)) && !slices.Contains(o.Skip, id)
}

// Run judges the input by each of the checks that the options ask for. Checks
// can't harm each other: one that panics, takes longer than its time limit or
// gives no answer becomes a finding of outcome unknown. When the context ends,
// the checks that are left become unknown too.
//
// The error is about the options only (see [Options.Validate]), and the report is
// empty then.
func Run(ctx context.Context, checks []Check, in Input, opts Options) (Report, error) {
	if err := opts.Validate(checks); err != nil {
		return Report{}, err
	}
	now := opts.Now
	if now.IsZero() {
		now = time.Now()
	}
	r := Report{Schema: Schema, Verdict: OutcomeNotApplicable, Checks: []CheckResult{}, Findings: []Finding{}}
	if in.Snapshot != nil {
		r.Node = in.Snapshot.Host.Name
	}
	for _, c := range checks {
		if !opts.wants(c.ID) {
			continue
		}
		findings := runOne(ctx, c, &in)
		finish(c, findings)
		suppress(findings, opts.Suppressions, now)
		r.add(c, findings)
	}
	for _, s := range opts.Suppressions {
		if s.Expired(now) {
			r.Expired = append(r.Expired, s)
		}
	}
	return r, nil
}

func runOne(ctx context.Context, c Check, in *Input) []Finding {
	if f, ok := c.Needs.unmet(in); ok {
		return []Finding{f}
	}
	findings := contained(ctx, c, in)
	return append(findings, unread(c, in)...)
}

// finish fills in what a check may leave to the runner.
func finish(c Check, findings []Finding) {
	for i := range findings {
		f := &findings[i]
		f.CheckID = c.ID
		if f.Object == "" {
			f.Object = ObjectNode
		}
		if !f.Outcome.Known() {
			f.Summary = fmt.Sprintf("the check gave the outcome %q, which does not exist: %s", f.Outcome, f.Summary)
			f.Outcome = OutcomeUnknown
		}
		judged := f.Outcome == OutcomeFail || f.Outcome == OutcomeWarn || f.Outcome == OutcomeInfo
		if judged && f.Explanation == "" {
			f.Explanation = c.Explanation
		}
	}
}

// answer is what comes back from the goroutine of a check.
type answer struct {
	findings []Finding
	done     bool // the run function returned
	panicked any
}

// contained calls the run function in a goroutine of its own, because only so
// can a check that ignores its context be left behind. Such a goroutine ends
// with its check; it holds nothing but the input.
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
	select {
	case a := <-answers:
		return a.result()
	case <-ctx.Done():
	}
	// An answer that came at the same time as the end of the context counts.
	select {
	case a := <-answers:
		return a.result()
	default:
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return []Finding{Unknown(ObjectNode, "the check gave no answer within %v", limit)}
	}
	return []Finding{Unknown(ObjectNode, "stopped: %v", context.Cause(ctx))}
}

func (a answer) result() []Finding {
	switch {
	case a.panicked != nil:
		return []Finding{Unknown(ObjectNode, "the check panicked: %v", a.panicked)}
	case !a.done:
		return []Finding{Unknown(ObjectNode, "the check ended without an answer")}
	case len(a.findings) == 0:
		return []Finding{Unknown(ObjectNode, "the check gave no finding")}
	}
	return slices.Clone(a.findings)
}

// unread turns each problem of the scanner that concerns the check into a
// finding, so that no check passes silently over what could not be read.
func unread(c Check, in *Input) []Finding {
	var findings []Finding
	for _, p := range in.Snapshot.Problems {
		if !slices.ContainsFunc(c.Reads, func(pattern string) bool { return concerns(pattern, p.Path) }) {
			continue
		}
		f := Unknown(objectOf(p.Path), "could not read %s: %s", p.Path, p.Error)
		f.Evidence = []Evidence{{Path: p.Path, Value: p.Error}}
		findings = append(findings, f)
	}
	return findings
}

// concerns reports whether the path fits the pattern, or is a folder above what fits it.
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

// objectOf names the object that a path of sysfs is about.
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
