package lint

import "github.com/rdmakit/rdmakit/k8s/manifest"

func duplicateKey() Rule {
	return Rule{
		ID: "duplicate-key", Title: "a duplicate key in a mapping", Severity: SeverityError,
		Explanation: "kubectl rejects duplicate keys by default. Clients that accept them use the last value and " +
			"silently drop the first.",
		Remedy:  "keep one of the keys",
		Wrong:   "  numVfs: 4\n  mtu: 9000\n  numVfs: 8",
		Right:   "  numVfs: 8\n  mtu: 9000",
		Sources: []string{srcAPIServer, srcYAML},
		check:   func(p *pass) { p.problems(manifest.ProblemDuplicate) },
	}
}
