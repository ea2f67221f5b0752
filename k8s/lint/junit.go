package lint

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/junit"
)

// JUnit returns the report as JUnit XML: each file is a suite; each finding, and each object
// without findings, is a test case. Errors are failures, and so are warnings if strict is true.
// Other findings are test cases that pass with output. Suppressed findings are skipped test cases.
func (r Report) JUnit(strict bool) ([]byte, error) {
	all := junit.Report{Name: "rdmactl k8s lint"}
	for _, file := range r.Files {
		all.Suites = append(all.Suites, r.junitSuite(file, strict))
	}
	return all.Encode()
}

func (r Report) junitSuite(file string, strict bool) junit.Suite {
	suite := junit.Suite{Name: file}
	reported := map[string]bool{}
	testCase := func(f Finding) junit.Case {
		reported[f.Object] = true
		return junit.Case{
			Name: strings.TrimSpace(f.Object + " " + f.Rule), Class: file, File: f.File, Line: f.Line,
		}
	}
	for _, f := range r.Findings {
		if f.File != file {
			continue
		}
		c := testCase(f)
		if f.Severity == SeverityError || strict && f.Severity == SeverityWarn {
			c.Failure = &junit.Problem{Message: f.Summary, Type: f.Rule, Text: f.text()}
		} else {
			c.Out = f.text()
		}
		suite.Add(c)
	}
	for _, f := range r.Suppressed {
		if f.File == file {
			c := testCase(f)
			c.Skipped, c.Out = &junit.Skipped{Message: cmp.Or(f.Reason, "suppressed")}, f.text()
			suite.Add(c)
		}
	}
	for _, o := range r.Objects {
		if o.File == file && !reported[o.Object] {
			suite.Cases = append(suite.Cases, junit.Case{Name: o.Object, Class: file, File: o.File, Line: o.Line})
		}
	}
	return suite
}

// text returns a finding as lines of text.
func (f Finding) text() string {
	lines := []string{fmt.Sprintf("%s: %s: %s", f.Place(), f.Severity, f.Summary)}
	for _, e := range f.Evidence {
		lines = append(lines, e.Place+": "+e.Text)
	}
	remedy := f.Remedy
	if f.Fix != "" {
		remedy += ": " + f.Fix
	}
	return strings.Join(append(lines, "fix: "+remedy), "\n")
}
