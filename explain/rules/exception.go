package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// exceptionRule is about ranks whose own program failed.
func exceptionRule() Rule {
	return Rule{
		ID:    "RDX-158",
		Name:  "program-exception",
		Title: "the program of a rank raised an exception",
		Explanation: "A rank ended by an error of its own, such as a missing key or a bad sample. The others then " +
			"lose the connection to it, wait until a watchdog ends them, or are cancelled by the launcher: what " +
			"they report only follows.",
		Sources: []string{"Python, built-in exceptions", "pytorch/pytorch, torch/distributed/elastic"},
		Find:    findException,
	}
}

func findException(f *facts.Facts) []Finding {
	list := of(f, evidence.PythonException)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	rank, exit := x.Event.Process.Rank, exitOf(f, x.Event.Process.Rank)
	who := "a process of " + where(x)
	if rank != evidence.NoRank {
		who = fmt.Sprintf("rank %d", rank)
		if exit != nil && exit.Fields["host"] != "" {
			who += " on " + exit.Fields["host"]
		}
	}
	c := &candidates{}
	fault := c.add("program-fault", "the program failed by itself: its code or its data, not the network", common).
		supports(strong, x.Event.Text, x.Event.Place).
		supportsIf(exit != nil, hint, textOf(exit), placeOf(exit)...).
		todo("the traceback above that line: its file and line number", "the program, or the data that it read")
	if after := waitingPlaces(f); len(after) > 0 {
		fault.supports(hint, "other ranks waited in vain, which follows from it", after...)
	}
	return []Finding{{
		What: who + " raised an exception: " + x.Event.Text, Failure: x, Events: events(list), Causes: c.causes(),
	}}
}

// exitOf returns what a launcher says of the end of a rank's process; of any process if the rank
// isn't known. srun names tasks, which are ranks.
func exitOf(f *facts.Facts, rank int) *evidence.Event {
	var found *evidence.Event
	for e := range f.Store.Of(evidence.ProgramExit) {
		for tasks := range strings.SplitSeq(e.Fields["tasks"], ",") {
			first, last, isRange := strings.Cut(tasks, "-")
			if !isRange {
				last = first
			}
			low, err := strconv.Atoi(first)
			high, errLast := strconv.Atoi(last)
			if err == nil && errLast == nil && low <= rank && rank <= high {
				return e
			}
		}
		if found == nil && rank == evidence.NoRank {
			found = e
		}
	}
	return found
}

// waitingPlaces returns the places of failures of programs that waited for others.
func waitingPlaces(f *facts.Facts) []evidence.Place {
	var list []*facts.Failure
	for _, x := range f.Failures {
		if x.Weak() && x.Event.Kind != evidence.Symptom {
			list = append(list, x)
		}
	}
	return places(list)
}
