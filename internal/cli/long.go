package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// exitHead is the heading of the exit codes, which are the last part of a command's long help.
const exitHead = "\n\nExit codes:\n\n"

// Long is the long help of a command, divided into the parts that the help and the manual page show
// separately.
type Long struct {
	// About describes what the command does. It is shown before the examples.
	About string
	// Details is the rest; empty for most commands.
	Details string
	// ExitCodes is a table that is indented by four blanks. Each line has a code and, from the
	// ninth column on, its meaning, which may continue in that column on the next lines. It is
	// empty if the command has only the exit codes that all commands share.
	ExitCodes string
}

// LongOf divides the long help of cmd into its first paragraph, the rest, and the text after the
// line "Exit codes:".
func LongOf(cmd *cobra.Command) Long {
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	text, codes, _ := strings.Cut(text, exitHead)
	about, details, _ := strings.Cut(text, "\n\n")
	return Long{About: about, Details: details, ExitCodes: codes}
}

// Text returns the long help without the exit codes.
func (l Long) Text() string {
	if l.Details == "" {
		return l.About
	}
	return l.About + "\n\n" + l.Details
}

// CodeMeaning is an exit code and its meaning.
type CodeMeaning struct{ Code, Meaning string }

// Codes parses the table of exit codes.
func (l Long) Codes() []CodeMeaning {
	const margin = 8 // where meanings begin
	var codes []CodeMeaning
	for line := range strings.Lines(l.ExitCodes) {
		head, text := line[:min(margin, len(line))], strings.TrimSpace(line[min(margin, len(line)):])
		if code := strings.TrimSpace(head); code != "" {
			codes = append(codes, CodeMeaning{code, text})
		} else if text != "" && len(codes) > 0 { // continues the line above
			codes[len(codes)-1].Meaning += " " + text
		}
	}
	return codes
}
