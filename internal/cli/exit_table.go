package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// annotationExitCodes marks a command with the table of its exit codes.
const annotationExitCodes = "rdmakit-exit-codes"

// CodeMeaning says what an exit code means for one command.
type CodeMeaning struct {
	Code    int
	Meaning string // lower case, without full stop
}

// SetExitCodes gives cmd a table of its exit codes, in their order, which help and reference show
// instead of the common one. It replaces the table that cmd has.
func SetExitCodes(cmd *cobra.Command, codes ...CodeMeaning) {
	if cmd.Annotations == nil {
		cmd.Annotations = make(map[string]string)
	}
	cmd.Annotations[annotationExitCodes] = exitTable(codes)
}

// ExitCodesOf returns the table of cmd's exit codes, indented so that Markdown keeps the lines
// apart. The root has the common table; own reports whether cmd has one.
func ExitCodesOf(cmd *cobra.Command) (table string, own bool) {
	if table, own = cmd.Annotations[annotationExitCodes]; own {
		return table, true
	}
	return ExitCodes(), !cmd.HasParent()
}

// exitTable sets codes as lines that are no longer than the text around them.
func exitTable(codes []CodeMeaning) string {
	const indent = "        " // as wide as the codes
	var b strings.Builder
	for _, c := range codes {
		text := WrapWords(c.Meaning, TextWidth-len(indent))
		fmt.Fprintf(&b, "    %-4d%s\n", c.Code, strings.ReplaceAll(text, "\n", "\n"+indent))
	}
	return strings.TrimRight(b.String(), "\n")
}

// commonCodes are the exit codes that all commands share.
func commonCodes() []CodeMeaning {
	return []CodeMeaning{
		{ExitOK, "all is well"},
		{ExitFault, "a check failed or a fault was found; also errors without a code of their own"},
		{ExitUsage, "wrong use: command, flag, argument or configuration"},
		{ExitNotFound, "nothing found, or not applicable here"},
		{ExitPermission, "permission denied"},
		{ExitUnreachable, "a peer can't be reached"},
		{ExitTimeout, "the time was up (--timeout)"},
		{ExitPartial, "partial result: what is printed is right but not all"},
		{ExitPending, "changes are pending"},
	}
}

// ExitCodes describes the codes that all commands share, indented so that Markdown keeps the lines
// apart.
func ExitCodes() string { return exitTable(commonCodes()) }
