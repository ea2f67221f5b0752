package ciforms

import (
	"strings"
	"testing"
)

func TestJUnit(t *testing.T) {
	const suite = `<testsuite name="s" tests="1" failures="1" errors="0" skipped="0">` +
		`<testcase name="c" classname="k"><failure message="m" type="t">text</failure></testcase></testsuite>`
	good := `<testsuites name="tool" tests="1">` + suite + `</testsuites>`
	if err := JUnit([]byte(good)); err != nil {
		t.Fatalf("JUnit of %s: %v", good, err)
	}
	for _, change := range []struct{ old, text, want string }{
		{"<testsuites name", "<testsuites skipped=\"0\" name", "testsuites with skipped"},
		{` errors="0"`, "", "testsuite without errors"},
		{`failures="1"`, `failures="2"`, `suite s says failures="2" and has 1`},
		{`name="c" `, "", "testcase without name"},
		{`<failure message`, `<failure severity="x" message`, "failure with severity"},
		{"text</failure>", "</failure><evidence/>", "element evidence"},
		{"</testcase>", "</testcase><failure/>", "failure in testsuite"},
		{"</testsuites>", "", "unexpected EOF"},
	} {
		bad := strings.Replace(good, change.old, change.text, 1)
		if err := JUnit([]byte(bad)); err == nil || !strings.Contains(err.Error(), change.want) {
			t.Errorf("JUnit of %s = %v, want %s", bad, err, change.want)
		}
	}
	if err := JUnit([]byte(suite)); err == nil {
		t.Error("a document of a suite is accepted")
	}
}

func TestSARIF(t *testing.T) {
	schema := SARIFSchema(t)
	good := `{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "t", "rules": [{"id": "r"}]}}, "results": [` +
		`{"ruleId": "r", "ruleIndex": 0, "level": "error", "message": {"text": "m"}, "suppressions": []},` +
		`{"ruleId": "r", "ruleIndex": 0, "kind": "pass", "level": "none", "message": {"text": "m"}, ` +
		`"suppressions": []}]}]}`
	if err := SARIF(schema, []byte(good)); err != nil {
		t.Fatalf("SARIF of %s: %v", good, err)
	}
	for _, change := range []struct{ old, text string }{
		{`"version": "2.1.0"`, `"version": "2.0.0"`},
		{`"level": "error"`, `"level": "fatal"`},
		{`"level": "error"`, `"level": "none"`},
		{`"kind": "pass"`, `"kind": "passed"`},
		{`"level": "none"`, `"level": "note"`},
		{`"message": {"text": "m"}`, `"message": "m"`},
		{`, "message": {"text": "m"}`, ``},
		{`"ruleIndex": 0`, `"ruleIndex": 1`},
		{`, "suppressions": []}`, `}`},
		{`"ruleId": "r"`, `"rule": "r"`},
	} {
		bad := strings.Replace(good, change.old, change.text, 1)
		if err := SARIF(schema, []byte(bad)); bad == good || err == nil {
			t.Errorf("SARIF accepts %s", bad)
		}
	}
}
