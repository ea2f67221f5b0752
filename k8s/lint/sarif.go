package lint

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/sarif"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// projectURL is the base URL of the reference of the rules.
const projectURL = "https://github.com/rdmakit/rdmakit"

// SARIF returns the report as a SARIF 2.1.0 log with a region for each finding, which code hosts
// show beside the lines of a change. version is the version of the program. Columns count Unicode
// characters.
func (r Report) SARIF(version string) ([]byte, error) {
	run := sarif.NewRun("rdmactl k8s lint", version, projectURL)
	for _, rule := range Rules() {
		run.AddRule(sarif.Rule{
			ID: rule.ID, Short: sarif.Text{Text: rule.Title}, Full: sarif.Text{Text: rule.Explanation},
			Help:    sarif.Text{Text: "What to do: " + rule.Remedy},
			HelpURI: projectURL + "/blob/main/docs/k8s-lint.md#" + rule.ID,
			Default: sarif.RuleLevel{Level: sarifLevel(rule.Severity)}, Properties: sarif.Tags(rule.Group),
		})
	}
	for _, f := range r.Findings {
		run.Results = append(run.Results, f.sarif())
	}
	for _, f := range r.Suppressed {
		result := f.sarif()
		result.Suppressions = []sarif.Suppression{{Kind: "inSource", Justification: f.Reason}}
		run.Results = append(run.Results, result)
	}
	return run.Encode()
}

// sarif returns a finding as a SARIF result.
func (f Finding) sarif() sarif.Result {
	text := f.Summary + ". " + upperFirst(f.Remedy)
	if f.Fix != "" {
		text += ": " + f.Fix
	}
	location := sarif.Location{Physical: &sarif.Physical{Artifact: artifact(f.File)}}
	if f.Line > 0 {
		location.Physical.Region = &sarif.Region{StartLine: f.Line, StartColumn: f.Column}
		if f.Column > 0 && f.Length > 0 {
			location.Physical.Region.EndColumn = f.Column + f.Length
		}
	}
	if f.Object != "" {
		location.Logical = []sarif.Logical{{Name: strings.TrimSpace(f.Object + " " + f.Path)}}
	}
	return sarif.Result{
		RuleID: f.Rule, Level: sarifLevel(f.Severity), Message: sarif.Text{Text: text},
		Locations: []sarif.Location{location},
	}
}

func sarifLevel(s Severity) string {
	switch s {
	case SeverityError:
		return sarif.LevelError
	case SeverityWarn:
		return sarif.LevelWarning
	}
	return sarif.LevelNote
}

// artifact returns the location of a file. Standard input has no location in the repository.
func artifact(file string) sarif.Artifact {
	a := sarif.Artifact{URI: fileURI(file)}
	if !strings.HasPrefix(a.URI, "file:") && file != manifest.StdinName {
		a.Base = "%SRCROOT%"
	}
	return a
}

// fileURI returns a relative path as a relative reference, and an absolute path as a file: URI.
func fileURI(name string) string {
	u := url.URL{Path: filepath.ToSlash(filepath.Clean(name))}
	if strings.HasPrefix(u.Path, "/") {
		u.Scheme = "file"
	}
	return u.String()
}

func upperFirst(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
