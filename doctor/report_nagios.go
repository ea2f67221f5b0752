package doctor

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/rdmakit/rdmakit/internal/text/english"
)

// The exit codes of monitoring plugins.
const (
	NagiosOK       = 0 // no fault
	NagiosWarning  = 1 // jobs run, but slower or at risk
	NagiosCritical = 2 // a check failed
	NagiosUnknown  = 3 // no result
)

// nagiosShown is the number of findings that the line names.
const nagiosShown = 3

// Nagios returns the line and the exit code of a plugin for Nagios, Icinga and others, as in the
// guidelines of the Monitoring Plugins project: the state, the worst findings, and performance data
// after a bar. A failed check is critical; a check without a result, or a node to which no check
// applies or without RDMA devices, is unknown.
func (r Report) Nagios() (line string, code int) {
	state := map[Outcome]struct {
		word string
		code int
	}{
		OutcomeFail:          {"CRITICAL", NagiosCritical},
		OutcomeWarn:          {"WARNING", NagiosWarning},
		OutcomeInfo:          {"OK", NagiosOK},
		OutcomePass:          {"OK", NagiosOK},
		OutcomeUnknown:       {"UNKNOWN", NagiosUnknown},
		OutcomeNotApplicable: {"UNKNOWN", NagiosUnknown},
		OutcomePrivilege:     {"UNKNOWN", NagiosUnknown},
	}[r.Verdict]
	text := r.nagiosText()
	if r.NoDevice != "" && r.Verdict != OutcomeFail {
		state.word, state.code = "UNKNOWN", NagiosUnknown
		text = r.NoDevice + "; " + text
	}
	text = "RDMA " + state.word + " - " + text
	if r.Recording != nil && !r.Recording.Taken.IsZero() {
		text += "; " + r.Recorded()
	}
	c := r.CheckCounts
	return fmt.Sprintf("%s | failed=%d;;0;0;%d unknown=%d;;;0;%d warnings=%d;0;;0;%d passed=%d;;;0;%d",
		NagiosText(text), c.Fail, len(r.Checks), c.Unknown, len(r.Checks), c.Warn, len(r.Checks),
		c.Pass, len(r.Checks)), state.code
}

func (r Report) nagiosText() string {
	c := r.CheckCounts
	var parts []string
	add := func(n int, text string) {
		if n > 0 {
			parts = append(parts, text)
		}
	}
	add(c.Fail, fmt.Sprintf("%d failed", c.Fail))
	add(c.Unknown, fmt.Sprintf("%d unknown", c.Unknown))
	add(c.Warn, english.Count(c.Warn, "warning"))
	add(c.Pass, fmt.Sprintf("%d passed", c.Pass))
	text := english.Count(len(r.Checks), "check") + ": "
	if len(parts) == 0 {
		add(c.Info, fmt.Sprintf("%d info", c.Info))
		add(c.Privilege, fmt.Sprintf("%d only as root", c.Privilege))
		add(c.Suppressed, fmt.Sprintf("%d suppressed", c.Suppressed))
		add(c.Shadow, fmt.Sprintf("%d on trial", c.Shadow))
	}
	if len(parts) == 0 {
		return text + "none applies to this node"
	}
	text += strings.Join(parts, ", ")
	var named []string
	more := 0
	for _, o := range []Outcome{OutcomeFail, OutcomeUnknown, OutcomeWarn} {
		for _, f := range r.Findings {
			switch {
			case f.Outcome != o || !f.Counts():
			case len(named) == nagiosShown:
				more++
			default:
				named = append(named, f.CheckID+" "+f.Object+": "+f.Summary)
			}
		}
	}
	if len(named) > 0 {
		text += ": " + strings.Join(named, "; ")
	}
	if more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// NagiosText returns a text that can stand in the line of a plugin: without the bar that begins the
// performance data, and without control characters.
func NagiosText(s string) string { return strings.ReplaceAll(plainText(s), "|", "/") }

// plainText replaces characters that control a terminal or the direction of text.
func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, s)
}
