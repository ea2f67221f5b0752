package lint

import "slices"

// Merge combines the reports of alternatives, such as overlays of one base. A finding that several
// reports contain occurs once in the result.
func Merge(reports ...Report) Report {
	if len(reports) == 1 {
		return reports[0]
	}
	out := Report{Schema: Schema, Files: []string{}, Objects: []Judged{}, Findings: []Finding{}}
	type key struct{ place, rule, path, summary string } // not the object, whose name depends on the overlay
	findings, objects := map[key]bool{}, map[Judged]bool{}
	add := func(list, more []Finding) []Finding {
		for _, f := range more {
			if id := (key{f.Place(), f.Rule, f.Path, f.Summary}); !findings[id] {
				findings[id] = true
				list = append(list, f)
			}
		}
		return list
	}
	for _, r := range reports {
		out.Files = appendNew(out.Files, r.Files)
		out.Nodes = appendNew(out.Nodes, r.Nodes)
		out.Unjudged = appendNew(out.Unjudged, r.Unjudged)
		out.Templates = appendNew(out.Templates, r.Templates)
		out.NotJudged = mergeKinds(out.NotJudged, r.NotJudged)
		out.Patched = appendNew(out.Patched, r.Patched)
		for _, o := range r.Objects {
			if !objects[o] {
				objects[o] = true
				out.Objects = append(out.Objects, o)
			}
		}
		out.Findings = add(out.Findings, r.Findings)
		out.Suppressed = add(out.Suppressed, r.Suppressed)
	}
	sortFindings(out.Findings, out.Files)
	sortFindings(out.Suppressed, out.Files)
	out.count()
	return out
}

// appendNew appends the strings that list doesn't contain yet.
func appendNew(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
