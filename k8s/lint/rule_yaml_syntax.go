package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func yamlSyntax() Rule {
	return Rule{
		ID: "yaml-syntax", Title: "a document that is not valid YAML or JSON", Severity: SeverityError,
		Explanation: prose.Join(`
			The document can't be applied. In YAML, indentation with spaces defines the structure:
			the keys of a mapping start in the same column, the content of a key is indented
			further, and a key with a value on its line has no content below it. The other documents
			of the file are still checked. A document with a template is not checked, and an error
			only with --templates.`),
		Remedy:  "fix the line of the finding",
		Wrong:   "  numVfs: 8\n    mtu: 9000",
		Right:   "  numVfs: 8\n  mtu: 9000",
		Sources: []string{srcYAML},
		check: func(p *pass) {
			p.problems(manifest.ProblemSyntax)
			if p.in.Options.Templates {
				p.problems(manifest.ProblemTemplate)
			}
		},
	}
}

// problems reports the problems of the manifest reader as findings.
func (p *pass) problems(kind manifest.ProblemType) {
	for _, problem := range p.in.Manifests.Problems {
		if problem.Type != kind {
			continue
		}
		f := p.reportText(p.rule.Severity, problem.At, "%s", problem.Text)
		if problem.Remedy != "" {
			f.Remedy = problem.Remedy
		}
		if problem.Other.Line > 0 {
			f.because(problem.Other, "first occurrence")
		}
	}
}
