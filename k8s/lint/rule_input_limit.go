package lint

import "github.com/rdmakit/rdmakit/k8s/manifest"

func inputLimit() Rule {
	return Rule{
		ID: "input-limit", Title: "a file that is too large, or aliases that multiply", Severity: SeverityError,
		Explanation: "Files above 64 MiB or 20,000 objects, nesting above 100 levels, and aliases that expand to " +
			"many times the size of the file are not checked. The API server has similar limits.",
		Remedy:  "split the file, or replace the aliases with their values",
		Wrong:   "h: &h [*g, *g, *g, *g, *g, *g, *g, *g, *g, *g]",
		Right:   "b: [*a, *a, *a]",
		Sources: []string{srcYAML},
		check:   func(p *pass) { p.problems(manifest.ProblemLimit) },
	}
}
