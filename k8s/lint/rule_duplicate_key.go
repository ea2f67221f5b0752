package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func duplicateKey() Rule {
	return Rule{
		ID: "duplicate-key", Title: "a duplicate key in a mapping", Severity: SeverityError,
		Explanation: prose.Join(`
			kubectl sends the last value and drops the others without an error: the API server never
			sees them, whatever --validate says. The object is created with settings that a reader
			of the file doesn't expect. kustomize and Flux refuse the file.`),
		Remedy:  "keep one of the keys",
		Wrong:   "  numVfs: 4\n  mtu: 9000\n  numVfs: 8",
		Right:   "  numVfs: 8\n  mtu: 9000",
		Sources: []string{srcAPIServer, srcYAML},
		check:   func(p *pass) { p.problems(manifest.ProblemDuplicate) },
	}
}
