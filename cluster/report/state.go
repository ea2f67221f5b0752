package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// tookText returns how long a run took, "" if it is unfinished.
func tookText(run *result.Run) string {
	if run.Ended.IsZero() {
		return ""
	}
	return run.Ended.Sub(run.Started).Round(time.Second).String()
}

// stateLines says in sentences how a run ended: what was found, what was done of the plan, which
// nodes are missing, and which have no leaf.
func stateLines(run *result.Run, v verdict.Report) []string {
	lines := []string{foundText(v)}
	if missing := missingStages(run); missing != "" {
		lines = append(lines, "The run is not complete: "+missing+". What was not measured is not known to be good.")
	} else if run.Ended.IsZero() {
		lines = append(lines, "The run was not finished.")
	}
	lines = append(lines, missingNodes(run)...)
	if leaves, unknown := leavesOf(run.Cluster); leaves > 0 && unknown > 0 {
		lines = append(lines, "The leaf of "+english.Count(unknown, "node")+" is unknown.")
	}
	return lines
}

// leavesText says how many leaves the nodes have and from where they are known, "" if none is.
func leavesText(run *result.Run) string {
	leaves, _ := leavesOf(run.Cluster)
	if leaves == 0 || run.LeavesFrom == "" {
		return ""
	}
	return english.Count(leaves, "leaf") + " (" + output.Clean(run.LeavesFrom) + ")"
}

func foundText(v verdict.Report) string {
	if len(v.Verdicts) == 0 {
		return "No culprit was found in what was measured."
	}
	text := english.Count(len(v.Verdicts), "finding") + "."
	if impact := impactText(verdict.Impact{With: v.Impact.With, Without: v.Impact.Without}); impact != "" {
		text += " With all of them " + impact + "."
	}
	return text
}

// missingStages returns the stages that have fewer rounds than planned: "pairs 12 of 31 rounds".
func missingStages(run *result.Run) string {
	var list []string
	for _, s := range run.Stages {
		if s.Done < s.Planned {
			list = append(list, fmt.Sprintf("%s %d of %s", s.Name, s.Done, english.Count(s.Planned, "round")))
		}
	}
	return strings.Join(list, ", ")
}

// missingNodes returns a sentence for the absent nodes and one for the lost ones.
func missingNodes(run *result.Run) []string {
	var absent, lost []string
	for i, n := range run.Nodes {
		name := run.Cluster.Nodes[i].Name
		switch n.State {
		case result.NodeReady:
		case result.NodeLost:
			text := fmt.Sprintf("%s (in stage %s, round %d", name, run.Stages[n.LostStage].Name, n.LostRound+1)
			if n.Cause != "" {
				text += ": " + n.Cause
			}
			lost = append(lost, text+")")
		default:
			if n.Cause != "" {
				name += " (" + n.Cause + ")"
			}
			absent = append(absent, name)
		}
	}
	var lines []string
	const most = 8
	if len(absent) > 0 {
		lines = append(lines, english.Count(len(absent), "node")+" never reported: "+english.List(absent, most)+".")
	}
	if len(lost) > 0 {
		count := english.Count(len(lost), "node")
		lines = append(lines, count+" vanished during the run: "+english.List(lost, most)+".")
	}
	return lines
}
