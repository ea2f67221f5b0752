package checks

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/english"
)

// mergeAbsent merges the findings that don't apply to several objects because the same file is
// missing, in the place of the first. The others are returned as they are.
func mergeAbsent(findings []doctor.Finding) []doctor.Finding {
	var out []doctor.Finding
	var objects [][]string // of the findings in out
	var forms []string     // "" for findings of another outcome
	for _, f := range findings {
		form := ""
		if f.Outcome == doctor.OutcomeNotApplicable {
			form = absentForm(f)
		}
		if i := slices.Index(forms, form); form != "" && i >= 0 {
			objects[i] = append(objects[i], f.Object)
			continue
		}
		out, forms, objects = append(out, f), append(forms, form), append(objects, []string{f.Object})
	}
	for i, names := range objects {
		if len(names) > 1 {
			out[i].Object, out[i].Summary = doctor.ObjectNode, forms[i]
			if strings.Contains(forms[i], "*") {
				out[i].Summary += ": " + english.List(names, 4)
			}
		}
	}
	return out
}

// absentForm returns the summary of a finding with stars for its port in a path.
func absentForm(f doctor.Finding) string {
	device, port, ok := strings.Cut(f.Object, ":")
	if !ok {
		return f.Summary
	}
	return strings.ReplaceAll(f.Summary, "/"+device+"/ports/"+port+"/", "/*/ports/*/")
}
