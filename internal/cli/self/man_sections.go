package self

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
)

// term is an entry of a list in a manual page.
type term struct{ name, text string }

// withSections puts the sections that people look for in every manual page before the examples.
func withSections(page []byte, cmd *cobra.Command) []byte {
	var b strings.Builder
	exitStatus(&b, cmd)
	section(&b, "ENVIRONMENT", environment(cmd))
	section(&b, "FILES", files(cmd))
	for _, next := range []string{"\n.SH EXAMPLE\n", "\n.SH SEE ALSO\n"} {
		if at := bytes.Index(page, []byte(next)); at >= 0 {
			return bytes.Join([][]byte{page[:at], page[at:]}, []byte(b.String()))
		}
	}
	return append(page, b.String()...)
}

func section(b *strings.Builder, title string, terms []term) {
	fmt.Fprintf(b, "\n.SH %s\n", title)
	for _, t := range terms {
		fmt.Fprintf(b, ".TP\n\\fB%s\\fP\n%s\n", roff(t.name), roff(t.text))
	}
}

// roff returns a line of text as roff that shows it as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "~", `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}

// isApplet reports whether a command is a C tool, whose exit codes are not ours.
func isApplet(cmd *cobra.Command) bool {
	return cmd.GroupID == cli.GroupApplet && !cmd.HasSubCommands()
}

func exitStatus(b *strings.Builder, cmd *cobra.Command) {
	if isApplet(cmd) {
		b.WriteString("\n.SH EXIT STATUS\nThat of the tool.\n")
		return
	}
	long := cli.LongOf(cmd)
	if long.ExitCodes == "" {
		long = cli.LongOf(cmd.Root())
	}
	var codes []term
	for _, c := range long.Codes() {
		codes = append(codes, term{c.Code, c.Meaning})
	}
	section(b, "EXIT STATUS", codes)
	if own := cmd.HasParent() && cli.LongOf(cmd).ExitCodes != ""; own {
		b.WriteString(".PP\n\\fBrdmactl\\fP(1) lists the codes that all commands share.\n")
	}
}

// environment lists the variables that a command reads: those of its settings, which are the flags
// that have some.
func environment(cmd *cobra.Command) []term {
	terms := []term{
		{"RDMAKIT_CONFIG", "the configuration file, where --config names none"},
		{"NO_COLOR", "if it isn't empty, nothing is coloured"},
	}
	for _, key := range cli.SettingsOf(cmd) {
		s, _ := config.Find(key)
		terms = append(terms, term{s.Env(), s.Help + ": " + s.Values()})
		if s.Alias != "" {
			terms = append(terms, term{s.Alias, "stands for " + s.Env() + " where that isn't set"})
		}
	}
	if cmd.Flags().Lookup("transport") != nil {
		terms = append(terms,
			term{"SIM_HOST", "go into a running ibsim as this node of its net file"},
			term{
				"IBSIM_SOCKNAME, IBSIM_SERVER_NAME, IBSIM_SERVER_PORT",
				"which ibsim, as its preloaded library has it",
			})
	}
	return terms
}

func files(cmd *cobra.Command) []term {
	var terms []term
	if cmd.Flags().Lookup("root") != nil {
		terms = append(terms, term{
			"/sys, /proc, /dev", "what is read of the node, and never written; --root has it elsewhere",
		})
	}
	return append(terms, term{
		"~/.config/rdmakit/config.yaml",
		"the settings; $XDG_CONFIG_HOME stands for ~/.config where it is set",
	})
}
