package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/junit"
)

// JUnit returns the report as JUnit XML: each group of checks is a suite, and each finding a test
// case. Fail is a failure, and so is warn if strict is true; unknown is an error. What is not
// applicable, needs privilege, is suppressed or on trial is skipped. A node without RDMA devices is
// an error of its own, in the first suite.
func (r Report) JUnit(strict bool) ([]byte, error) {
	all := junit.Report{Name: "rdmactl doctor"}
	properties := r.properties()
	if r.NoDevice != "" {
		const title = "RDMA devices"
		suite := junit.Suite{Name: title, Time: r.Time, Properties: properties}
		suite.Add(junit.Case{
			Name: "rdma-device " + ObjectNode, Class: r.className(title),
			Error: &junit.Problem{Message: r.NoDevice, Type: "rdma-device", Text: "RDMA can't be used: " + r.NoDevice},
		})
		all.Suites = append(all.Suites, suite)
	}
	for _, g := range r.groups() {
		suite := junit.Suite{Name: g.title(), Time: r.Time, Properties: properties}
		for _, f := range r.of(g) {
			suite.Add(f.junit(r.className(g), strict))
		}
		all.Suites = append(all.Suites, suite)
	}
	return all.Encode()
}

// properties describes the run.
func (r Report) properties() []junit.Property {
	var list []junit.Property
	add := func(name, value string) {
		if value != "" {
			list = append(list, junit.Property{Name: name, Value: value})
		}
	}
	add("version", r.Version)
	add("recorded", strings.TrimPrefix(r.Recorded(), "recorded "))
	if r.Recording != nil {
		add("recording", r.Recording.Source)
	}
	for _, l := range r.Limits {
		add("changed limit", l.String())
	}
	return list
}

// groups returns the groups of the report's checks, in order; "" for checks without one.
func (r Report) groups() []Group {
	return slices.DeleteFunc(append(Groups(), ""), func(g Group) bool {
		return !slices.ContainsFunc(r.Checks, func(c CheckResult) bool { return c.Group == g })
	})
}

// title names the group; checks without one are of the node.
func (g Group) title() string {
	if g == "" {
		return "other checks"
	}
	return string(g)
}

// of returns the findings of a group's checks.
func (r Report) of(g Group) []Finding {
	var all []Finding
	for _, f := range r.Findings {
		if slices.ContainsFunc(r.Checks, func(c CheckResult) bool { return c.ID == f.CheckID && c.Group == g }) {
			all = append(all, f)
		}
	}
	return all
}

func (r Report) className(g Group) string {
	if r.Node == "" {
		return "doctor." + g.title()
	}
	return "doctor." + r.Node + "." + g.title()
}

func (f Finding) junit(class string, strict bool) junit.Case {
	c := junit.Case{Name: f.CheckID + " " + f.Object, Class: class}
	problem := &junit.Problem{Message: f.Summary, Type: f.CheckID, Text: f.text()}
	switch {
	case f.Suppressed != nil:
		c.Skipped, c.Out = &junit.Skipped{Message: f.Suppressed.String()}, f.text()
	case f.Shadow:
		c.Skipped, c.Out = &junit.Skipped{Message: "on trial"}, f.text()
	case f.Outcome == OutcomeNotApplicable, f.Outcome == OutcomePrivilege:
		c.Skipped = &junit.Skipped{Message: string(f.Outcome) + ": " + f.Summary}
	case f.Outcome == OutcomeUnknown:
		c.Error = problem
	case f.Outcome == OutcomeFail, f.Outcome == OutcomeWarn && strict:
		c.Failure = problem
	default:
		c.Out = f.text()
	}
	return c
}

// text returns a finding as lines of text.
func (f Finding) text() string {
	lines := []string{fmt.Sprintf("%s: %s: %s: %s", f.Outcome, f.CheckID, f.Object, f.Summary)}
	for _, e := range f.Evidence {
		lines = append(lines, e.String())
	}
	if f.Explanation != "" {
		lines = append(lines, "why: "+f.Explanation)
	}
	for _, line := range f.Remedy {
		lines = append(lines, "fix: "+line)
	}
	return strings.Join(lines, "\n")
}

// String returns "suppressed until 2027-01-31: reason (who)".
func (s Suppression) String() string {
	text := "suppressed"
	if s.Until != "" {
		text += " until " + s.Until
	}
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	if s.Who != "" {
		text += " (" + s.Who + ")"
	}
	return text
}
