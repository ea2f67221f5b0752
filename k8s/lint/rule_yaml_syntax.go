package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func yamlSyntax() Rule {
	return Rule{
		ID: "yaml-syntax", Title: "a document that is no YAML or JSON", Severity: SeverityError,
		Explanation: prose.Join(`
			Nothing of the document can be applied. Indentation says what belongs to what, with
			spaces only: keys of one mapping stand in one column, what belongs to a key stands
			deeper, and a key that has a value has nothing below it. The other documents of the file
			are judged all the same.`),
		Remedy:  "mend the line that is named",
		Wrong:   "  numVfs: 8\n    mtu: 9000",
		Right:   "  numVfs: 8\n  mtu: 9000",
		Sources: []string{srcYAML},
		check:   func(p *pass) { p.problems(manifest.ProblemSyntax) },
	}
}

// problems turns faults of the texts into findings.
func (p *pass) problems(kind manifest.ProblemType) {
	for _, problem := range p.in.Manifests.Problems {
		if problem.Type != kind {
			continue
		}
		f := p.tell(p.rule.Severity, problem.At, "%s", problem.Text)
		if problem.Remedy != "" {
			f.Remedy = problem.Remedy
		}
		if problem.Other.Line > 0 {
			f.because(problem.Other, "the first one")
		}
	}
}
