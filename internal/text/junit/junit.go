// Package junit writes reports in the JUnit format that CI systems read.
//
//	all := junit.Report{Name: "rdmactl doctor"}
//	suite := junit.Suite{Name: "link quality"}
//	suite.Add(junit.Case{Name: "mlx5_0:1 port-active", Failure: &junit.Problem{Message: "port is down"}})
//	all.Suites = append(all.Suites, suite)
//	data, err := all.Encode()
//
// The format has no standard. The elements and attributes are those of Jenkins' schema
// (xunit-plugin, junit-10.xsd), and file and line of a test case, which GitLab shows and others
// ignore.
package junit

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Report is a document: all suites of a run. Texts may hold any characters.
type Report struct {
	Name   string // the program
	Suites []Suite
}

// Suite is a group of test cases.
type Suite struct {
	Name       string
	Time       time.Time // when it was run; zero if unknown
	Properties []Property
	Cases      []Case
}

// Property is something that is known of a suite beside its tests.
type Property struct{ Name, Value string }

// Case is one test: it passed unless one of Failure, Error and Skipped is set.
type Case struct {
	Name  string
	Class string // what CI systems group by
	File  string // "" if it is about no file
	Line  int    // from 1; 0 if unknown

	Failure *Problem // it found a fault
	Error   *Problem // it has no result
	Skipped *Skipped // it was not run, or doesn't count
	Out     string   // output of a test that is neither
}

// Problem is the reason of a failure or an error.
type Problem struct {
	Message string // one line
	Type    string // the rule or check
	Text    string // all details, in lines
}

// Skipped is the reason why a test doesn't count.
type Skipped struct{ Message string }

// Add appends a case. A name that the suite has already gets a number, because CI systems merge
// test cases of the same name.
func (s *Suite) Add(c Case) {
	name, n := c.Name, 1
	for s.has(c.Name) {
		n++
		c.Name = fmt.Sprintf("%s (%d)", name, n)
	}
	s.Cases = append(s.Cases, c)
}

func (s *Suite) has(name string) bool {
	for _, c := range s.Cases {
		if c.Name == name {
			return true
		}
	}
	return false
}

// The elements of the document, in the order of the schema.
type (
	xmlReport struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Suites   []xmlSuite `xml:"testsuite"`
	}
	xmlSuite struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		// Timestamp has no zone in the schema.
		Timestamp  string         `xml:"timestamp,attr,omitempty"`
		Properties *xmlProperties `xml:"properties"`
		Cases      []xmlCase      `xml:"testcase"`
	}
	xmlProperties struct {
		List []xmlProperty `xml:"property"`
	}
	xmlProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	xmlCase struct {
		Name    string      `xml:"name,attr"`
		Class   string      `xml:"classname,attr"`
		File    string      `xml:"file,attr,omitempty"`
		Line    int         `xml:"line,attr,omitempty"`
		Skipped *xmlSkipped `xml:"skipped"`
		Error   *xmlProblem `xml:"error"`
		Failure *xmlProblem `xml:"failure"`
		Out     string      `xml:"system-out,omitempty"`
	}
	xmlSkipped struct {
		Message string `xml:"message,attr"`
	}
	xmlProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// Encode returns the document. Characters that XML doesn't allow become question marks.
func (r Report) Encode() ([]byte, error) {
	all := xmlReport{Name: clean(r.Name)}
	for _, s := range r.Suites {
		suite := xmlSuite{Name: clean(s.Name), Properties: encodeProperties(s.Properties)}
		if !s.Time.IsZero() {
			suite.Timestamp = s.Time.UTC().Format("2006-01-02T15:04:05")
		}
		for _, c := range s.Cases {
			suite.Cases = append(suite.Cases, c.encode())
			suite.count(c)
		}
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
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

// encodeProperties returns nil for no properties, because the schema wants one or more.
func encodeProperties(list []Property) *xmlProperties {
	if len(list) == 0 {
		return nil
	}
	var out xmlProperties
	for _, p := range list {
		out.List = append(out.List, xmlProperty{clean(p.Name), clean(p.Value)})
	}
	return &out
}

func (n *xmlSuite) count(c Case) {
	n.Tests++
	switch {
	case c.Failure != nil:
		n.Failures++
	case c.Error != nil:
		n.Errors++
	case c.Skipped != nil:
		n.Skipped++
	}
}

func (c Case) encode() xmlCase {
	out := xmlCase{Name: clean(c.Name), Class: clean(c.Class), File: clean(c.File), Line: c.Line, Out: clean(c.Out)}
	switch {
	case c.Failure != nil:
		out.Failure = c.Failure.encode()
	case c.Error != nil:
		out.Error = c.Error.encode()
	case c.Skipped != nil:
		out.Skipped = &xmlSkipped{clean(c.Skipped.Message)}
	}
	return out
}

func (p *Problem) encode() *xmlProblem {
	return &xmlProblem{Message: clean(p.Message), Type: clean(p.Type), Text: clean(p.Text)}
}

// clean replaces characters that XML doesn't allow, not even escaped.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r >= 0x20 && r != 0xfffe && r != 0xffff && r != utf8.RuneError {
			return r
		}
		return '?'
	}, s)
}
