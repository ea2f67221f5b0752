package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/junit"
)

// JUnit writes a report for CI systems: a suite for each stage, with a case for each card. A case
// fails if a verdict names the card, or its node, for something that the stage measures; it is an
// error if nothing was measured, and skipped if the stage was not run. Verdicts about a leaf or the
// fabric are cases of their own.
func JUnit(w io.Writer, run *result.Run, v verdict.Report, _ Options) error {
	name := "rdmactl cluster verify"
	if run.Scale != nil {
		name += scaleSuffix(run.Scale)
	}
	all := junit.Report{Name: name}
	culprits := culpritsOf(run, v)
	seen := measuredIn(run)
	for i := range run.Stages {
		all.Suites = append(all.Suites, suiteOf(run, i, seen[i], culprits))
	}
	if rest := restSuite(run, culprits); len(rest.Cases) > 0 {
		all.Suites = append(all.Suites, rest)
	}
	data, err := all.Encode()
	if err == nil {
		_, err = w.Write(data)
	}
	if err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	return nil
}

// measuredCard is what a stage knows about a card.
type measuredCard struct {
	measured bool
	failures int
	failure  *result.Failure // the first one
}

// measuredIn returns for each stage what it knows about each card.
func measuredIn(run *result.Run) []map[plan.End]measuredCard {
	out := make([]map[plan.End]measuredCard, len(run.Stages))
	for i := range out {
		out[i] = map[plan.End]measuredCard{}
	}
	for i := range run.Samples {
		s := &run.Samples[i]
		ends := []plan.End{s.From, s.To}
		if s.From == s.To {
			ends = ends[:1]
		}
		for _, e := range ends {
			m := out[s.Stage][e]
			switch f := failureOf(s); {
			case f != nil:
				m.failures++
				m.failure = cmp.Or(m.failure, f)
			case s.Gbps > 0 || latencyOf(run, s) != nil || run.Stages[s.Stage].Kind == plan.KindConnect:
				m.measured = true
			}
			out[s.Stage][e] = m
		}
	}
	// All cards of the rail take part, unless their node is missing or beyond the limit.
	ranks := run.Cluster.Nodes[:min(len(run.Cluster.Nodes), plan.MaxRanks)]
	for _, c := range run.Collectives {
		for i, n := range ranks {
			e := plan.End{Node: int32(i), Rail: c.Rail}
			if c.Failure == nil && run.Nodes[i].State == result.NodeReady &&
				slices.ContainsFunc(n.Rails, func(r plan.Card) bool { return r.Rail == int(c.Rail) }) {
				out[c.Stage][e] = measuredCard{measured: true}
			}
		}
	}
	return out
}

func suiteOf(run *result.Run, stage int, seen map[plan.End]measuredCard, culprits []culprit) junit.Suite {
	s := run.Stages[stage]
	suite := junit.Suite{Name: string(s.Name)}
	failures := map[plan.End][]culprit{}
	for _, c := range culprits {
		if c.stageOf(run) == stage {
			for _, e := range c.Ends {
				failures[e] = append(failures[e], c)
			}
		}
	}
	for i, n := range run.Cluster.Nodes {
		for _, r := range n.Rails {
			e := plan.End{Node: int32(i), Rail: int16(r.Rail)}
			c := junit.Case{Name: n.Name + " " + r.Device, Class: "cluster." + string(s.Name)}
			m := seen[e]
			switch {
			case len(failures[e]) > 0:
				c.Failure = problemOf(failures[e])
			case m.measured && m.failure != nil:
				c.Out = fmt.Sprintf("%s failed, first at %s: %s",
					english.Count(m.failures, "measurement"), m.failure.Step, m.failure.Code)
			case m.measured:
			case s.Done == 0:
				c.Skipped = &junit.Skipped{Message: "the stage was not run"}
			case m.failure != nil:
				c.Error = &junit.Problem{
					Message: fmt.Sprintf("failed at %s: %s", m.failure.Step, m.failure.Code),
					Type:    m.failure.Code, Text: m.failure.Text,
				}
			default:
				c.Error = &junit.Problem{Message: "the card was not measured", Type: "not-measured"}
			}
			suite.Cases = append(suite.Cases, c) // the names differ: Add would compare each with all
		}
	}
	return suite
}

// restSuite has the verdicts about no card, and those whose stage the run doesn't have.
func restSuite(run *result.Run, culprits []culprit) junit.Suite {
	suite := junit.Suite{Name: "fabric"}
	for _, c := range culprits {
		if len(c.Ends) == 0 || c.stageOf(run) < 0 {
			suite.Add(junit.Case{Name: c.Where, Class: "cluster.fabric", Failure: problemOf([]culprit{c})})
		}
	}
	return suite
}

// problemOf returns the verdicts about a card as one problem.
func problemOf(list []culprit) *junit.Problem {
	p := &junit.Problem{Message: list[0].Where + ": " + list[0].Title, Type: string(list[0].Cause)}
	var lines []string
	for _, c := range list {
		lines = append(lines, c.lines()...)
	}
	p.Text = strings.Join(lines, "\n")
	return p
}

// lines returns all of a verdict as text.
func (c culprit) lines() []string {
	lines := []string{fmt.Sprintf("%s: %s: %s (%s, confidence %s)", c.Cause, c.Where, c.Title, c.Grade, c.Confidence)}
	add := func(name string, texts ...string) {
		for _, t := range texts {
			if t != "" {
				lines = append(lines, name+": "+t)
			}
		}
	}
	add("evidence", c.Evidence...)
	add("impact", c.Impact)
	add("next", c.Next)
	add("take out", c.TakeOut...)
	return lines
}

// stageOf returns the index of the stage that measures what a verdict is about, -1 if the run
// doesn't have it.
func (c culprit) stageOf(run *result.Run) int {
	return slices.IndexFunc(run.Stages, func(s result.Stage) bool { return s.Name == stageOfCause(c.Cause) })
}

// stageOfCause returns the stage that measures a kind of fault. What the facts of the nodes show is
// with the first stage, which checks whether there is a way at all.
func stageOfCause(c verdict.Cause) plan.Name {
	switch c {
	case verdict.CauseSlow, verdict.CauseSlowSend, verdict.CauseSlowReceive, verdict.CauseSlowNode, verdict.CauseLoss,
		verdict.CauseLossSend, verdict.CauseLossReceive, verdict.CauseBitErrors, verdict.CauseFlapping:
		return plan.StagePairs
	case verdict.CausePCIe:
		return plan.StageLoopback
	case verdict.CauseJitter, verdict.CausePauses:
		return plan.StageJitter
	case verdict.CauseUplinks, verdict.CauseUplink, verdict.CauseOversubscribed:
		return plan.StagePermutation
	case verdict.CauseIncast:
		return plan.StageIncast
	}
	return plan.StageReach
}
