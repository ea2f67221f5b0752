package lint

import "github.com/rdmakit/rdmakit/k8s/manifest"

func inputLimit() Rule {
	return Rule{
		ID: "input-limit", Title: "a file that is too large, or aliases that multiply", Severity: SeverityError,
		Explanation: "Files above 64 MiB or 20,000 objects, nesting above 100 levels, and aliases that stand for " +
			"many times the size of the file are not judged. The API server has limits of the same kind.",
		Remedy:  "split the file, or write out what the aliases stand for",
		Wrong:   "h: &h [*g, *g, *g, *g, *g, *g, *g, *g, *g, *g]",
		Right:   "b: [*a, *a, *a]",
		Sources: []string{srcYAML},
		check:   func(p *pass) { p.problems(manifest.ProblemLimit) },
	}
}
