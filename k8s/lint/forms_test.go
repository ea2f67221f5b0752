package lint

import (
	"encoding/json"
	"encoding/xml"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rdmakit/rdmakit/internal/testkit/ciforms"
	"github.com/rdmakit/rdmakit/internal/text/sarif"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// everything checks the wrong manifests of all rules, one by one.
func everything(t *testing.T) []Report {
	t.Helper()
	var out []Report
	for _, r := range Rules() {
		out = append(out, Run(loadWrong(t, r)))
	}
	return out
}

// TestSARIF checks the logs against the schema of SARIF 2.1.0, and the regions against the files: a
// code host rejects the whole log for one region outside its file.
func TestSARIF(t *testing.T) {
	schema := ciforms.SARIFSchema(t)
	for _, report := range everything(t) {
		data, err := report.SARIF("v1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		if err := ciforms.SARIF(schema, data); err != nil {
			t.Errorf("log: %v", err)
		}
		var log struct {
			Schema  string `json:"$schema"`
			Version string `json:"version"`
			Runs    []struct {
				ColumnKind string `json:"columnKind"`
				Tool       struct {
					Driver struct {
						Name, Version string
						Rules         []struct {
							ID               string
							HelpURI          string                `json:"helpUri"`
							ShortDescription struct{ Text string } `json:"shortDescription"`
						}
					}
				}
				Results []struct {
					RuleID    string `json:"ruleId"`
					RuleIndex *int   `json:"ruleIndex"`
					Level     string
					Message   struct{ Text string }
					Locations []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI, URIBaseID string }
							Region           *struct{ StartLine, StartColumn, EndLine, EndColumn int }
						}
					}
				}
			}
		}
		if err := json.Unmarshal(data, &log); err != nil {
			t.Fatal(err)
		}
		if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].ColumnKind != "unicodeCodePoints" {
			t.Fatalf("version %q, %d runs, columns %q", log.Version, len(log.Runs), log.Runs[0].ColumnKind)
		}
		run := log.Runs[0]
		if len(run.Results) != len(report.Findings) {
			t.Errorf("%d results of %d findings", len(run.Results), len(report.Findings))
		}
		for _, r := range run.Results {
			if r.RuleIndex == nil || *r.RuleIndex < 0 || *r.RuleIndex >= len(run.Tool.Driver.Rules) ||
				run.Tool.Driver.Rules[*r.RuleIndex].ID != r.RuleID {
				t.Errorf("result of %s has ruleIndex %v", r.RuleID, r.RuleIndex)
			}
			if !slices.Contains([]string{"error", "warning", "note"}, r.Level) || r.Message.Text == "" ||
				len(r.Locations) != 1 {
				t.Errorf("result of %s: level %q, message %q, %d locations",
					r.RuleID, r.Level, r.Message.Text, len(r.Locations))
				continue
			}
			at := r.Locations[0].PhysicalLocation
			base := "%SRCROOT%"
			if strings.HasPrefix(at.ArtifactLocation.URI, "file:") { // loadWrong has written it
				base = ""
			}
			if rule := run.Tool.Driver.Rules[*r.RuleIndex]; !strings.HasSuffix(rule.HelpURI,
				"/docs/k8s-lint.md#"+rule.ID) || at.ArtifactLocation.URIBaseID != base {
				t.Errorf("result of %s: help at %q, file from %q",
					r.RuleID, rule.HelpURI, at.ArtifactLocation.URIBaseID)
			}
			uri, err := url.Parse(at.ArtifactLocation.URI)
			if err != nil || at.Region == nil {
				t.Errorf("result of %s: %v, region %v", r.RuleID, err, at.Region)
				continue
			}
			checkRegion(t, uri.Path, r.RuleID, at.Region.StartLine, at.Region.StartColumn, at.Region.EndColumn)
		}
	}
}

// checkRegion compares a region with the lines of its file: columns count characters from 1, and
// the end is one after the last.
func checkRegion(t *testing.T, file, rule string, line, start, end int) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	if line < 1 || line > len(lines) {
		t.Errorf("%s: line %d of %d in %s", rule, line, len(lines), file)
		return
	}
	if length := utf8.RuneCountInString(lines[line-1]); start < 1 || end <= start || end > length+1 {
		t.Errorf("%s: columns %d to %d of %d in %s:%d", rule, start, end, length, file, line)
	}
}

// TestJUnit reads the XML as a CI system does, and counts.
func TestJUnit(t *testing.T) {
	for _, report := range everything(t) {
		for _, strict := range []bool{false, true} {
			data, err := report.JUnit(strict)
			if err != nil {
				t.Fatal(err)
			}
			if err := ciforms.JUnit(data); err != nil {
				t.Error(err)
			}
			var got struct {
				XMLName  xml.Name `xml:"testsuites"`
				Tests    int      `xml:"tests,attr"`
				Failures int      `xml:"failures,attr"`
				Suites   []struct {
					Name     string `xml:"name,attr"`
					Tests    int    `xml:"tests,attr"`
					Failures int    `xml:"failures,attr"`
					Cases    []struct {
						Name    string `xml:"name,attr"`
						Class   string `xml:"classname,attr"`
						Failure *struct {
							Message string `xml:"message,attr"`
							Type    string `xml:"type,attr"`
						} `xml:"failure"`
					} `xml:"testcase"`
				} `xml:"testsuite"`
			}
			if err := xml.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			cases, failures := 0, 0
			for _, s := range got.Suites {
				cases += len(s.Cases)
				names := map[string]bool{}
				for _, c := range s.Cases {
					if names[c.Name] {
						t.Errorf("suite %s has two cases %q", s.Name, c.Name)
					}
					names[c.Name] = true
				}
				if s.Tests != len(s.Cases) {
					t.Errorf("suite %s says %d tests and has %d", s.Name, s.Tests, len(s.Cases))
				}
				for _, c := range s.Cases {
					if c.Name == "" || c.Class == "" {
						t.Errorf("a case without a name in suite %s", s.Name)
					}
					if c.Failure != nil {
						failures++
						if c.Failure.Message == "" || c.Failure.Type == "" {
							t.Errorf("failure of %s says nothing", c.Name)
						}
					}
				}
			}
			want := report.Counts.Error
			if strict {
				want += report.Counts.Warn
			}
			if got.Tests != cases || got.Failures != failures || failures != want {
				t.Errorf("tests %d of %d, failures %d of %d, want %d", got.Tests, cases, got.Failures, failures, want)
			}
		}
	}
}

// TestArtifact writes names of files as URIs: relative ones from the root of the sources.
func TestArtifact(t *testing.T) {
	for in, want := range map[string]sarif.Artifact{
		"sriov/a.yaml":     {URI: "sriov/a.yaml", Base: "%SRCROOT%"},
		"./sriov//a.yaml":  {URI: "sriov/a.yaml", Base: "%SRCROOT%"},
		"a b%c#d?.yaml":    {URI: "a%20b%25c%23d%3F.yaml", Base: "%SRCROOT%"},
		"a:b.yaml":         {URI: "./a:b.yaml", Base: "%SRCROOT%"},
		"/tmp/a.yaml":      {URI: "file:///tmp/a.yaml", Base: ""},
		"../other/a.yaml":  {URI: "../other/a.yaml", Base: "%SRCROOT%"},
		manifest.StdinName: {URI: "stdin", Base: ""},
	} {
		if got := artifact(in); got != want {
			t.Errorf("artifact(%q) = %+v, want %+v", in, got, want)
		}
	}
}
