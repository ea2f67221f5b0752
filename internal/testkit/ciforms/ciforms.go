// Package ciforms checks the forms of reports that CI systems and code hosts read, for tests.
package ciforms

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaModule is the module that has the schema of SARIF among its test data: a tool of this
// repository. The schema itself is OASIS's and not copied here.
const schemaModule = "github.com/securego/gosec/v2"

// SARIFSchema returns the JSON schema of SARIF 2.1.0. It skips the test if the tools of the
// repository were not downloaded.
func SARIFSchema(t testing.TB) *jsonschema.Resolved {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-modfile=tools/go.mod", "-m", "-f", "{{.Dir}}", schemaModule)
	cmd.Dir = repository(t)
	dir, err := cmd.Output()
	if err != nil {
		t.Fatalf("find the schema of SARIF: %v: %v", cmd, err)
	}
	if len(bytes.TrimSpace(dir)) == 0 {
		t.Skipf("no schema of SARIF: go mod download -modfile=tools/go.mod %s", schemaModule)
	}
	data, err := os.ReadFile(filepath.Join(
		string(bytes.TrimSpace(dir)), "report", "sarif", "testdata", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	// The schema is of draft 4. Of what draft 7 changed it uses the name of the identifier only.
	data = bytes.Replace(data, []byte("draft-04/schema#"), []byte("draft-07/schema#"), 1)
	data = bytes.Replace(data, []byte(`"id": "https:`), []byte(`"$id": "https:`), 1)
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatalf("read the schema of SARIF: %v", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("read the schema of SARIF: %v", err)
	}
	return resolved
}

// repository returns the folder of the module.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "tools", "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no tools/go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// SARIF returns what the schema forbids in a log, and what it can't express: levels and indices
// that contradict each other, and suppressions in some results only (section 3.27.23).
func SARIF(schema *jsonschema.Resolved, data []byte) error {
	var document any
	if err := json.Unmarshal(data, &document); err != nil {
		return err
	}
	errs := []error{schema.Validate(document)}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID       string
				RuleIndex    int
				Kind, Level  string
				Suppressions *[]any
			}
		}
	}
	if err := json.Unmarshal(data, &log); err != nil {
		return err
	}
	for _, run := range log.Runs {
		with := 0
		for i, r := range run.Results {
			if r.Suppressions != nil {
				with++
			}
			rules := run.Tool.Driver.Rules
			if r.RuleIndex < 0 || r.RuleIndex >= len(rules) || rules[r.RuleIndex].ID != r.RuleID {
				errs = append(errs, fmt.Errorf("result %d of %s has ruleIndex %d", i, r.RuleID, r.RuleIndex))
			}
			if faulty := r.Kind == "" || r.Kind == "fail"; faulty == (r.Level == "none") {
				errs = append(errs,
					fmt.Errorf("result %d of %s has kind %q and level %q", i, r.RuleID, r.Kind, r.Level))
			}
		}
		if with != 0 && with != len(run.Results) {
			errs = append(errs, fmt.Errorf("%d of %d results have suppressions", with, len(run.Results)))
		}
	}
	return errors.Join(errs...)
}

// element is what the schema of JUnit allows in an element; those with "!" are required.
type element struct{ attributes, children string }

// junitElements are the rules of Jenkins' xunit-plugin (junit-10.xsd), for the elements that
// rdmactl writes. A test case's file and line are GitLab's (its unit test reports).
func junitElements() map[string]element {
	return map[string]element{
		"testsuites": {"name time tests failures errors", "testsuite"},
		"testsuite": {
			"name! tests! failures! errors! group time skipped timestamp hostname id package file log url",
			"testsuite properties testcase system-out system-err",
		},
		"properties": {"", "property"},
		"property":   {"name! value!", ""},
		"testcase":   {"name! time classname group file line", "skipped error failure system-out system-err"},
		"failure":    {"type message", ""},
		"error":      {"type message", ""},
		"skipped":    {"type message", ""},
		"system-out": {"", ""},
	}
}

// JUnit returns what the schema forbids in a document, and counts that are wrong.
func JUnit(data []byte) error {
	var errs []error
	var above []string
	counted := map[string]int{}
	var suite map[string]string // the attributes of the open suite
	dec := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return errors.Join(errs...)
		}
		if err != nil {
			return err
		}
		switch e := token.(type) {
		case xml.StartElement:
			errs = append(errs, checkElement(e, above))
			above = append(above, e.Name.Local)
			counted[e.Name.Local]++
			if e.Name.Local == "testsuite" {
				clear(counted)
				suite = attributes(e)
			}
		case xml.EndElement:
			above = above[:len(above)-1]
			if e.Name.Local == "testsuite" {
				errs = append(errs, checkCounts(suite, counted))
			}
		}
	}
}

func attributes(e xml.StartElement) map[string]string {
	all := map[string]string{}
	for _, a := range e.Attr {
		all[a.Name.Local] = a.Value
	}
	return all
}

func checkElement(e xml.StartElement, above []string) error {
	name := e.Name.Local
	rules, ok := junitElements()[name]
	if !ok {
		return fmt.Errorf("element %s", name)
	}
	if len(above) == 0 && name != "testsuites" {
		return fmt.Errorf("document of a %s", name)
	}
	if len(above) > 0 {
		parent := above[len(above)-1]
		if !slices.Contains(strings.Fields(junitElements()[parent].children), name) {
			return fmt.Errorf("%s in %s", name, parent)
		}
	}
	got := attributes(e)
	for word := range strings.FieldsSeq(rules.attributes) {
		attr, required := strings.CutSuffix(word, "!")
		if got[attr] == "" && required {
			return fmt.Errorf("%s without %s", name, attr)
		}
		delete(got, attr)
	}
	for attr := range got {
		return fmt.Errorf("%s with %s", name, attr)
	}
	return nil
}

func checkCounts(suite map[string]string, counted map[string]int) error {
	for attr, name := range map[string]string{
		"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped",
	} {
		if n, err := strconv.Atoi(suite[attr]); err != nil || n != counted[name] {
			return fmt.Errorf("suite %s says %s=%q and has %d", suite["name"], attr, suite[attr], counted[name])
		}
	}
	return nil
}
