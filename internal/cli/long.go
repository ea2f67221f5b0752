package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// exitHead stands in the long help of a command before its exit codes, which are its last part.
const exitHead = "\n\nExit codes:\n\n"

// Long is the long help of a command in the parts that help and manual page show apart.
type Long struct {
	// About says what the command does; it comes before the examples.
	About string
	// Details is the rest; empty for most.
	Details string
	// ExitCodes is a table, indented by four blanks: each line has a code and, from the ninth
	// column on, its meaning, which may continue on further lines in that column. It is empty where
	// the command has only the codes that all commands share.
	ExitCodes string
}

// LongOf takes the long help of cmd apart: its first paragraph, the rest, and what comes after the
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

// CodeMeaning is a line of the table of exit codes.
type CodeMeaning struct{ Code, Meaning string }

// Codes reads the table of exit codes.
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
