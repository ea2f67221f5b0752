package lint

import "github.com/rdmakit/rdmakit/k8s/manifest"

func duplicateKey() Rule {
	return Rule{
		ID: "duplicate-key", Title: "a key twice in one mapping", Severity: SeverityError,
		Explanation: "kubectl refuses it by default; clients that don't take the last value and " +
			"drop the first in silence.",
		Remedy:  "keep one of them",
		Wrong:   "  numVfs: 4\n  mtu: 9000\n  numVfs: 8",
		Right:   "  numVfs: 8\n  mtu: 9000",
		Sources: []string{srcAPIServer, srcYAML},
		check:   func(p *pass) { p.problems(manifest.ProblemDuplicate) },
	}
}
