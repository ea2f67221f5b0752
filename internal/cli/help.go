package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/internal/text/output"
)

// newHelpCommand returns the command "rdmactl help".
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND...]",
		Short:       "Show the help of a command",
		Example:     "  rdmactl help\n  rdmactl help config show",
		Annotations: map[string]string{AnnotationLenient: "true"},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			parent, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, child := range parent.Commands() {
				if child.IsAvailableCommand() {
					names = append(names, child.Name()+"\t"+child.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			target := cmd.Root()
			for _, name := range args {
				child := childOf(target, name)
				if child == nil {
					return UsageError(target, unknownCommand(target, name))
				}
				target = child
			}
			return target.Help()
		},
	}
}

func childOf(cmd *cobra.Command, name string) *cobra.Command {
	for _, child := range cmd.Commands() {
		if child.Name() == name || child.HasAlias(name) {
			return child
		}
	}
	return nil
}

// helpPrinter returns the Printer of the run. With --help there is none yet, so helpPrinter makes
// one that follows --color.
func (app *App) helpPrinter(cmd *cobra.Command) *output.Printer {
	if app.Out != nil {
		return app.Out
	}
	o := app.outputOptions()
	if color, given := settingFlag(cmd, "color"); given {
		o.Color = output.ColorMode(color)
	}
	return output.New(o)
}

// help prints the long help of cmd. The standard output that it writes to remembers a write error.
func (app *App) help(cmd *cobra.Command, _ []string) {
	cmd.InitDefaultHelpFlag() // "rdmactl help X" didn't parse the flags of X
	long, width := LongOf(cmd), app.helpPrinter(cmd).TextWidth()
	blocks := []output.Block{reflow(long.About, width)}
	if cmd.Example != "" {
		blocks = append(blocks, section("Examples:", cmd.Example))
	}
	blocks = append(blocks, section("Usage:", "  "+cmd.UseLine()))
	if long.Details != "" {
		blocks = append(blocks, reflow(long.Details, width))
	}
	blocks = append(blocks, app.commandSections(cmd)...)
	if flags := flagUsages(cmd.LocalNonPersistentFlags(), width); flags != "" {
		blocks = append(blocks, section("Flags:", flags))
	}
	if flags := flagUsages(groupFlags(cmd), width); flags != "" {
		blocks = append(blocks, section("Flags of all commands of this group:", flags))
	}
	blocks = append(blocks, section("Flags of every command:", flagUsages(notShadowed(cmd), width)))
	if long.ExitCodes != "" {
		blocks = append(blocks, exitCodeSection(long, width))
	}
	_ = app.printHelp(cmd, blocks)
}

// shortHelp prints the help of rdmactl without arguments: the first steps.
func (app *App) shortHelp(root *cobra.Command) error {
	var steps [][]output.Cell
	for _, s := range firstSteps() {
		if childOf(root, s.command) != nil {
			command := root.Name() + " " + s.command
			fill := strings.Repeat(" ", max(1, 18-len(command)))
			steps = append(steps, []output.Cell{
				output.Plain("  "), output.Bold(command), output.Plain(fill), output.Plain(s.text).Flow(0),
			})
		}
	}
	blocks := []output.Block{output.Line(output.Plain("rdmactl: " + root.Short).Flow(0))}
	if len(steps) > 0 {
		blocks = append(blocks, output.Text{Title: "First steps:", Lines: steps})
	}
	blocks = append(blocks, output.Paragraph(`All commands: rdmactl --help
One command:  rdmactl COMMAND --help`))
	return app.printHelp(root, blocks)
}

// printHelp prints blocks as text whatever the format is: help is for people.
func (app *App) printHelp(cmd *cobra.Command, blocks []output.Block) error {
	return app.helpPrinter(cmd).Text(blocks...)
}

func section(title, text string) output.Text {
	t := output.Paragraph(strings.TrimRight(text, "\n"))
	t.Title = title
	return t
}

// exitCodeSection returns a table of exit codes, wrapped if it is too wide for the terminal. Width
// is 0 without a terminal.
func exitCodeSection(long Long, width int) output.Text {
	if width == 0 {
		return section("Exit codes:", long.ExitCodes)
	}
	t := output.Text{Title: "Exit codes:"}
	for _, c := range long.Codes() {
		code := output.Plain(fmt.Sprintf("    %-4s", c.Code))
		t.Lines = append(t.Lines, []output.Cell{code, output.Plain(c.Meaning).Flow(0)})
	}
	return t
}

// notShadowed returns the flags of every command except those that cmd redefines.
func notShadowed(cmd *cobra.Command) *pflag.FlagSet {
	out := pflag.NewFlagSet("", pflag.ContinueOnError)
	own := cmd.LocalNonPersistentFlags()
	cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if own.Lookup(f.Name) == nil {
			out.AddFlag(f)
		}
	})
	return out
}

// groupFlags returns the flags that cmd shares with the commands of its group but not with all
// commands.
func groupFlags(cmd *cobra.Command) *pflag.FlagSet {
	out := pflag.NewFlagSet("", pflag.ContinueOnError)
	own := cmd.LocalNonPersistentFlags()
	for c := cmd; c.HasParent(); c = c.Parent() {
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if own.Lookup(f.Name) == nil && out.Lookup(f.Name) == nil {
				out.AddFlag(f)
			}
		})
	}
	return out
}

// flagUsages describes flags, wrapped at width columns unless that is 0.
func flagUsages(flags *pflag.FlagSet, width int) string {
	return strings.TrimRight(flags.FlagUsagesWrapped(width), "\n")
}

// reflow shows a text that comes in lines. Paragraphs that are too wide for the terminal are broken
// anew; indented lines are examples and tables, and stay. A width of 0 is no terminal.
func reflow(text string, width int) output.Text {
	all := output.Paragraph(text)
	t := output.Text{}
	for i := 0; i < len(all.Lines); {
		end, wide := i, false
		for ; end < len(all.Lines) && isProse(all.Lines[end]); end++ {
			wide = wide || ansi.StringWidth(all.Lines[end][0].Text) > width
		}
		if width == 0 || !wide {
			end = max(end, i+1)
			t.Lines = append(t.Lines, all.Lines[i:end]...)
			i = end
			continue
		}
		var words []string
		for ; i < end; i++ {
			words = append(words, all.Lines[i][0].Text)
		}
		t.Lines = append(t.Lines, []output.Cell{output.Plain(strings.Join(words, " ")).Flow(0)})
	}
	return t
}

// isProse reports whether a line belongs to a paragraph.
func isProse(line []output.Cell) bool {
	return line[0].Text != "" && !strings.HasPrefix(line[0].Text, " ")
}

// commandSections lists the commands below cmd, by group and in the order of the table.
func (app *App) commandSections(cmd *cobra.Command) []output.Block {
	if !cmd.HasAvailableSubCommands() {
		return nil
	}
	var blocks []output.Block
	children := slices.Clone(cmd.Commands())
	slices.SortStableFunc(children, func(a, b *cobra.Command) int {
		return cmp.Compare(slices.Index(app.order, a.Name()), slices.Index(app.order, b.Name()))
	})
	for _, group := range append(cmd.Groups(), &cobra.Group{Title: "Commands:"}) {
		var lines [][]output.Cell
		for _, child := range children {
			if child.GroupID != group.ID || !child.IsAvailableCommand() && child.Name() != "help" {
				// cobra doesn't count help
				continue
			}
			if child.GroupID == GroupApplet && !child.HasSubCommands() {
				continue // "applet list" lists them
			}
			fill := strings.Repeat(" ", max(2, 12-len(child.Name())))
			lines = append(lines,
				[]output.Cell{
					output.Plain("  "), output.Bold(child.Name()), output.Plain(fill),
					output.Plain(child.Short).Flow(0),
				})
		}
		if len(lines) > 0 {
			blocks = append(blocks, output.Text{Title: group.Title, Lines: lines})
		}
	}
	return blocks
}
