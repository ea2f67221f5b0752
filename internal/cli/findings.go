package cli

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/launch/lint"
)

// LintSeverityCell shows text in the colour of a severity.
func LintSeverityCell(s lint.Severity, text string) output.Cell {
	switch s {
	case lint.SeverityError:
		return output.Bad(text)
	case lint.SeverityWarn:
		return output.Warn(text)
	}
	return output.Plain(text)
}

// LintCounts is " 1 error, 2 warnings", or " no problems found".
func LintCounts(c lint.Counts) []output.Cell {
	var line []output.Cell
	sep := " "
	add := func(n int, s lint.Severity, noun string) {
		if n > 0 {
			line = append(line, output.Plain(sep), LintSeverityCell(s, english.Count(n, noun)))
			sep = ", "
		}
	}
	add(c.Error, lint.SeverityError, "error")
	add(c.Warn, lint.SeverityWarn, "warning")
	add(c.Note, lint.SeverityNote, "note")
	if sep == " " {
		line = append(line, output.Good(" no problems found"))
	}
	return line
}

// LintEvidence shows the evidence of a finding, only the first few lines unless wide.
func LintEvidence(evidence []string, wide bool) [][]output.Cell {
	if most := EvidenceShown; len(evidence) > most+1 && !wide {
		evidence = append(evidence[:most:most], fmt.Sprintf("and %d more (-o wide)", len(evidence)-most))
	}
	var lines [][]output.Cell
	for _, text := range evidence {
		lines = append(lines, []output.Cell{output.Plain("       "), output.Dim(text)})
	}
	return lines
}

// LintSources shows the sources of a rule, when wide.
func LintSources(sources []string, wide bool) [][]output.Cell {
	if !wide || len(sources) == 0 {
		return nil
	}
	return [][]output.Cell{{output.Bold("  see  "), output.Plain(strings.Join(sources, ", "))}}
}

// LintRuleHead shows the part of a rule's description that all kinds of rules have.
func LintRuleHead(id, title, explanation, remedy string) []output.Block {
	return []output.Block{
		output.Text{Lines: [][]output.Cell{{output.Bold(id), output.Plain(": " + title).Flow(0).Hang(2)}}},
		output.Line(output.Plain(explanation).Flow(TextWidth)),
		output.Line(output.Plain("What to do: " + remedy + ".").Flow(TextWidth)),
	}
}
