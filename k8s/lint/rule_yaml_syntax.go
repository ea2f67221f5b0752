package lint

import (
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkYAMLSyntax(p *pass) {
	p.problems(manifest.ProblemSyntax)
	if p.in.Options.Templates {
		p.problems(manifest.ProblemTemplate)
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
