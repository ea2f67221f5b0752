package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// The parts of SARIF 2.1.0 (OASIS, sarif-schema-2.1.0.json) that a report uses.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		Results    []sarifResult `json:"results"`
		ColumnKind string        `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name        string      `json:"name"`
		Version     string      `json:"version,omitempty"`
		Information string      `json:"informationUri"`
		Rules       []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string         `json:"id"`
		Short   sarifText      `json:"shortDescription"`
		Full    sarifText      `json:"fullDescription"`
		Help    sarifText      `json:"help"`
		HelpURI string         `json:"helpUri"`
		Default sarifRuleLevel `json:"defaultConfiguration"`
		// Properties has the rule's group as a tag, by which code hosts filter.
		Properties *sarifProperties `json:"properties,omitempty"`
	}
	sarifProperties struct {
		Tags []string `json:"tags"`
	}
	sarifRuleLevel struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
		// Suppressions are allowed in all results or in none. GitHub shows results without them.
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
		// Base is the base of a relative URI. Code hosts resolve %SRCROOT% to the root of the
		// repository.
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

// projectURL is the base URL of the reference of the rules.
const projectURL = "https://github.com/rdmakit/rdmakit"

// SARIF returns the report as a SARIF 2.1.0 log with a region for each finding, which code hosts
// show beside the lines of a change. version is the version of the program. Columns count Unicode
// characters.
func (r Report) SARIF(version string) ([]byte, error) {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{
		Name: "rdmactl k8s lint", Version: version, Information: projectURL, Rules: []sarifRule{},
	}
	index := map[string]int{}
	for i, rule := range Rules() {
		index[rule.ID] = i
		var properties *sarifProperties
		if rule.Group != "" {
			properties = &sarifProperties{Tags: []string{rule.Group}}
		}
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: rule.ID, Short: sarifText{rule.Title}, Full: sarifText{rule.Explanation},
			Help:    sarifText{"What to do: " + rule.Remedy},
			HelpURI: projectURL + "/blob/main/docs/k8s-lint.md#" + rule.ID,
			Default: sarifRuleLevel{sarifLevel(rule.Severity)}, Properties: properties,
		})
	}
	for _, f := range r.Findings {
		run.Results = append(run.Results, f.sarif(index[f.Rule]))
	}
	for _, f := range r.Suppressed {
		result := f.sarif(index[f.Rule])
		result.Suppressions = []sarifSuppression{{Kind: "inSource", Justification: f.Reason}}
		run.Results = append(run.Results, result)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(
		sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
	if err != nil {
		return nil, fmt.Errorf("encode sarif: %w", err)
	}
	return buf.Bytes(), nil
}

// sarif returns a finding as a SARIF result. index is the index of its rule.
func (f Finding) sarif(index int) sarifResult {
	text := f.Summary + ". " + upperFirst(f.Remedy)
	if f.Fix != "" {
		text += ": " + f.Fix
	}
	location := sarifLocation{Physical: sarifPhysical{Artifact: artifact(f.File)}}
	if f.Line > 0 {
		location.Physical.Region = &sarifRegion{StartLine: f.Line, StartColumn: f.Column}
		if f.Column > 0 && f.Length > 0 {
			location.Physical.Region.EndColumn = f.Column + f.Length
		}
	}
	if f.Object != "" {
		location.Logical = []sarifLogical{{strings.TrimSpace(f.Object + " " + f.Path)}}
	}
	return sarifResult{
		RuleID: f.Rule, RuleIndex: index, Level: sarifLevel(f.Severity), Message: sarifText{text},
		Locations: []sarifLocation{location},
	}
}

func sarifLevel(s Severity) string {
	switch s {
	case SeverityError:
		return "error"
	case SeverityWarn:
		return "warning"
	}
	return "note"
}

// artifact returns the location of a file. Standard input has no location in the repository.
func artifact(file string) sarifArtifact {
	a := sarifArtifact{URI: fileURI(file)}
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
