package rules

import (
	"cmp"
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// All returns the rules, ordered by ID.
func All() []Rule {
	return slices.Concat(
		[]Rule{timeoutRule()}, completionRules(), []Rule{modifyRule(), callRule()}, memoryRules(),
		networkRules(), eventRules(),
		hangRules(), programRules(), systemRules(), slowRules(),
		[]Rule{errnoRule(), subsystemRule()}, symptomRules(), testsRules(), ucxSettingRules(),
		asWitnesses(slices.Concat(ownRules(), comparisonRules(), captureRules())),
	)
}

// asWitnesses marks rules about what other sources than logs have named.
func asWitnesses(list []Rule) []Rule {
	for i := range list {
		list[i].witness = true
	}
	return list
}

// unclaimed returns findings about failures that no other finding has: those with an error number,
// else warnings of NCCL by its part.
func unclaimed(f *facts.Facts, findings []Finding, all []Rule) []Finding {
	var list []Finding
	for _, last := range []struct {
		rule Rule
		find func(*facts.Facts, []Finding) []Finding
	}{{errnoRule(), leftovers}, {subsystemRule(), unknownWarning}} {
		i := slices.IndexFunc(all, func(r Rule) bool { return r.ID == last.rule.ID })
		if i < 0 || len(list) > 0 {
			continue
		}
		for _, finding := range last.find(f, findings) {
			finding.Rule = &all[i]
			rank(finding.Causes)
			list = append(list, finding)
		}
	}
	return list
}

// Judge applies the rules and returns their findings: those of the likely origin first, then the
// others in the order of their failures; those without a failure come before failures of programs
// that only waited and of lines that say too little, harmless ones last.
func Judge(f *facts.Facts, all []Rule) []Finding {
	var findings []Finding
	for i := range all {
		for _, finding := range all[i].Find(f) {
			finding.Rule = &all[i]
			if !all[i].witness {
				corroborate(f, &finding)
			}
			inOwnSettings(&finding)
			rank(finding.Causes)
			finding.Causes = finding.Causes[:min(len(finding.Causes), maxCauses)]
			findings = append(findings, finding)
		}
	}
	findings = append(findings, unclaimed(f, findings, all)...)
	findings = slices.DeleteFunc(findings, func(x Finding) bool { return x.Harmless && speaksElsewhere(&x, findings) })
	order := map[*facts.Failure]int{}
	for i, failure := range f.Failures {
		order[failure] = i
	}
	weak := slices.IndexFunc(f.Failures, (*facts.Failure).Weak)
	if weak < 0 {
		weak = len(f.Failures)
	}
	position := func(x *Finding) int {
		switch i, ok := order[x.Failure]; {
		case x.Harmless:
			return len(order) + 1
		case ok && x.Failure != nil && i >= weak:
			return i + 1
		case ok && x.Failure != nil:
			return i
		default:
			return weak
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(position(&a), position(&b)) })
	return findings
}

// speaksElsewhere reports whether the line of a harmless symptom speaks for a cause of another
// finding.
func speaksElsewhere(harmless *Finding, findings []Finding) bool {
	line := harmless.Events[0]
	if line.Kind != evidence.Symptom {
		return false
	}
	for i := range findings {
		if findings[i].Harmless {
			continue
		}
		for _, c := range findings[i].Causes {
			for _, e := range c.For {
				if slices.Contains(e.Places, line.Place) {
					return true
				}
			}
		}
	}
	return false
}

// rank orders causes: by confidence, then by weight; equal ones keep the order of the rule.
func rank(causes []Cause) {
	level := map[Confidence]int{Proven: 0, Likely: 1, Possible: 2}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(level[a.Confidence], level[b.Confidence]), cmp.Compare(b.Weight, a.Weight))
	})
}
