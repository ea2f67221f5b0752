package lint

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The JUnit format that CI systems read. Each file is a suite; each finding, and each object
// without findings, is a test case.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitFailure `xml:"failure"`
		Skipped *junitSkipped `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit returns the report as JUnit XML. Errors are failures, and so are warnings if strict is
// true. Other findings are test cases that pass with output. Suppressed findings are skipped test
// cases.
func (r Report) JUnit(strict bool) ([]byte, error) {
	all := junitSuites{Name: "rdmactl k8s lint"}
	for _, file := range r.Files {
		suite := r.junitSuite(file, strict)
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Skipped += suite.Skipped
		all.Suites = append(all.Suites, suite)
	}
	var buf bytes.Buffer
	buf.WriteString(xml.Header)
	enc := xml.NewEncoder(&buf)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return nil, fmt.Errorf("encode junit: %w", err)
	}
	buf.WriteByte('\n')
	return buf.Bytes(), nil
}

func (r Report) junitSuite(file string, strict bool) junitSuite {
	suite := junitSuite{Name: xmlText(file)}
	reported, names := map[string]bool{}, map[string]int{}
	add := func(f Finding) *junitCase {
		reported[f.Object] = true
		name := strings.TrimSpace(f.Object + " " + f.Rule)
		if names[name]++; names[name] > 1 { // CI systems merge test cases with the same name
			name = fmt.Sprintf("%s (%d)", name, names[name])
		}
		suite.Cases = append(suite.Cases,
			junitCase{Name: xmlText(name), Class: xmlText(file), File: xmlText(f.File), Line: f.Line})
		return &suite.Cases[len(suite.Cases)-1]
	}
	for _, f := range r.Findings {
		switch {
		case f.File != file:
		case f.Severity == SeverityError || strict && f.Severity == SeverityWarn:
			add(f).Failure = &junitFailure{Message: xmlText(f.Summary), Type: f.Rule, Text: xmlText(f.text())}
			suite.Failures++
		default:
			add(f).Out = xmlText(f.text())
		}
	}
	for _, f := range r.Suppressed {
		if f.File == file {
			c := add(f)
			c.Skipped, c.Out = &junitSkipped{Message: xmlText(cmp.Or(f.Reason, "suppressed"))}, xmlText(f.text())
			suite.Skipped++
		}
	}
	for _, o := range r.Objects {
		if o.File == file && !reported[o.Object] {
			suite.Cases = append(suite.Cases,
				junitCase{Name: xmlText(o.Object), Class: xmlText(file), File: xmlText(o.File), Line: o.Line})
		}
	}
	suite.Tests = len(suite.Cases)
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

// xmlText replaces characters that XML doesn't allow, not even escaped.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r >= 0x20 && r != 0xfffe && r != 0xffff && r != utf8.RuneError {
			return r
		}
		return '?'
	}, s)
}
