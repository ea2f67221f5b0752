package self

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

func newManCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages to a directory",
		Long: `Write a manual page for each command to a directory, which is created if it doesn't exist.
To let man(1) find the pages, use /usr/local/share/man/man1 as DIR.`,
		Example:     "  rdmactl man ./man\n  man ./man/rdmactl.1",
		Annotations: map[string]string{cli.AnnotationLenient: "true"},
		RunE: func(_ *cobra.Command, args []string) error {
			fresh := *app // Reference changes its tree, and this one is running
			written, err := writeManPages(args[0], fresh.Root())
			if err != nil {
				return fmt.Errorf("write manual pages: %w", err)
			}
			app.Out.Note("wrote %d pages to %s", len(written), args[0])
			return app.Out.Print(written, output.Paragraph(strings.Join(written, "\n")))
		},
	}
}

// writeManPages writes a page for each command to dir and returns the names of the files.
func writeManPages(dir string, root *cobra.Command) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil { //nolint:gosec // documentation: the umask decides
		return nil, err
	}
	var written []string
	for _, cmd := range Reference(root) {
		page, err := ManPage(cmd)
		if err != nil {
			return written, err
		}
		file := filepath.Join(dir, PageName(cmd)+".1")
		if err := os.WriteFile(file, page, 0o666); err != nil { //nolint:gosec // as above
			return written, err
		}
		written = append(written, file)
	}
	return written, nil
}

// Reference returns cmd and the commands below it that have a page, parents first. It removes the
// date from their pages: the commands must not be run afterwards.
func Reference(cmd *cobra.Command) []*cobra.Command {
	cmd.DisableAutoGenTag = true // the tag contains the date
	all := []*cobra.Command{cmd}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() && child.Name() != "help" {
			all = append(all, Reference(child)...)
		}
	}
	return all
}

// PageName returns the name of the page of cmd without its extension: rdmactl-config-show.
func PageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// datedTitle matches the heading of a page up to its date, which is removed so that the pages do
// not change with the day of the build.
var datedTitle = regexp.MustCompile(`(?m)^(\.TH "[^"]*" "[^"]*") "[^"]*"`)

// optionEntry matches an option with the placeholder of its value and its text, as cobra prints it:
// as a paragraph, while manual pages use tagged ones.
var optionEntry = regexp.MustCompile(
	`(?m)^(?:\.PP\n)?((?:\\fB-\w\\fP, )?\\fB--[a-z0-9-]+\\fP)=(\S*)\n\t(.*)\n\n?`)

// ManPage returns the manual page of cmd in roff. The page does not depend on the date.
func ManPage(cmd *cobra.Command) ([]byte, error) {
	restore := forMarkdown(cmd)
	var buf bytes.Buffer
	header := doc.GenManHeader{Section: "1", Source: "rdmakit", Manual: "rdmactl manual"}
	err := doc.GenMan(cmd, &header, &buf)
	restore()
	if err != nil {
		return nil, fmt.Errorf("page of %s: %w", cmd.CommandPath(), err)
	}
	page := optionEntry.ReplaceAllFunc(datedTitle.ReplaceAll(buf.Bytes(), []byte(`$1 ""`)), func(entry []byte) []byte {
		m := optionEntry.FindSubmatch(entry)
		if len(m[2]) == 0 {
			return fmt.Appendf(nil, ".TP\n%s\n%s\n", m[1], m[3])
		}
		return fmt.Appendf(nil, ".TP\n%s \\fI%s\\fP\n%s\n", m[1], m[2], m[3])
	})
	return withSections(page, cmd), nil
}

// forMarkdown escapes the texts of cmd for Markdown, because cobra converts them from Markdown to
// roff: text between mlx5_0:1 and another mlx5_ would be in italics. Options show the placeholders
// of their values, as in the help, instead of their defaults. The returned function restores the
// texts.
func forMarkdown(cmd *cobra.Command) (restore func()) {
	cmd.InitDefaultHelpFlag()
	short, long := cmd.Short, cmd.Long
	cmd.Short, cmd.Long = escapeMarkdown(short), escapeMarkdown(cli.LongOf(cmd).Text())
	saved := make(map[*pflag.Flag]pflag.Flag)
	change := func(f *pflag.Flag) {
		saved[f] = *f
		name, usage := pflag.UnquoteUsage(f)
		switch f.DefValue {
		case "", "0", "false", "[]":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		f.Usage, f.DefValue, f.NoOptDefVal = escapeMarkdown(usage), escapeMarkdown(name), ""
		f.Value = &cli.SettingValue{} // cobra would put quotes around a string
	}
	cmd.NonInheritedFlags().VisitAll(change)
	cmd.InheritedFlags().VisitAll(change)
	return func() {
		cmd.Short, cmd.Long = short, long
		for f, was := range saved {
			*f = was
		}
	}
}

// escapeMarkdown escapes the Markdown syntax in text, except in indented lines, which are code.
func escapeMarkdown(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		code := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		for _, r := range line {
			if !code && strings.ContainsRune("\\`*_[]<>&|~", r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}
