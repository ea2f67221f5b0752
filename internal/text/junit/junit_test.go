package junit

import (
	"encoding/xml"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/ciforms"
)

func TestEncode(t *testing.T) {
	r := Report{Name: "tool", Suites: []Suite{{Name: "empty"}, {Name: "a & <b>"}}}
	s := &r.Suites[1]
	s.Add(Case{Name: "same", Class: "c", Failure: &Problem{Message: `"x"`, Type: "rule", Text: "one\ntwo"}})
	s.Add(Case{Name: "same", Class: "c", Error: &Problem{Message: "could not be read", Type: "rule", Text: "EIO"}})
	s.Add(Case{Name: "same", Class: "c", Skipped: &Skipped{"not here"}, Out: "more"})
	s.Add(Case{Name: "good", Class: "c", File: "f.yaml", Line: 7})
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := ciforms.JUnit(data); err != nil {
		t.Errorf("%v in\n%s", err, data)
	}
	var got xmlReport
	if err := xml.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 4 || got.Failures != 1 || got.Errors != 1 || got.Suites[1].Skipped != 1 {
		t.Errorf("counts of\n%s", data)
	}
	want := xmlSuite{Name: "a & <b>", Tests: 4, Failures: 1, Errors: 1, Skipped: 1, Cases: []xmlCase{
		{Name: "same", Class: "c", Failure: &xmlProblem{`"x"`, "rule", "one\ntwo"}},
		{Name: "same (2)", Class: "c", Error: &xmlProblem{"could not be read", "rule", "EIO"}},
		{Name: "same (3)", Class: "c", Skipped: &xmlSkipped{"not here"}, Out: "more"},
		{Name: "good", Class: "c", File: "f.yaml", Line: 7},
	}}
	if diff := cmp.Diff(want, got.Suites[1]); diff != "" {
		t.Errorf("suite (-want +got):\n%s", diff)
	}
}

func TestClean(t *testing.T) {
	if got, want := clean("a\tb\n<ü>\x00\x1b\ufffe\uffff\ufffd"), "a\tb\n<ü>?????"; got != want {
		t.Errorf("clean = %q, want %q", got, want)
	}
}
