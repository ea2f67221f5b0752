package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/internal/text/output"
)

// newHelpCommand returns "rdmactl help", for those who type it.
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

// helpPrinter returns the run's Printer; --help is asked for before there is one, so it makes one
// that follows --color at least.
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

// help prints the long help of cmd. Its error, if any, is kept by the standard output it writes to.
func (app *App) help(cmd *cobra.Command, _ []string) {
	cmd.InitDefaultHelpFlag() // "rdmactl help X" didn't parse the flags of X
	if !cmd.HasParent() {
		AddExitCodes(cmd)
	}
	long := LongOf(cmd)
	blocks := []output.Block{output.Paragraph(long.About)}
	if cmd.Example != "" {
		blocks = append(blocks, section("Examples:", cmd.Example))
	}
	blocks = append(blocks, section("Usage:", "  "+cmd.UseLine()))
	if long.Details != "" {
		blocks = append(blocks, output.Paragraph(long.Details))
	}
	blocks = append(blocks, app.commandSections(cmd)...)
	if flags := flagUsages(cmd.LocalNonPersistentFlags()); flags != "" {
		blocks = append(blocks, section("Flags:", flags))
	}
	if flags := flagUsages(groupFlags(cmd)); flags != "" {
		blocks = append(blocks, section("Flags of all commands of this group:", flags))
	}
	blocks = append(blocks, section("Flags of every command:", flagUsages(notShadowed(cmd))))
	if long.ExitCodes != "" {
		blocks = append(blocks, section("Exit codes:", long.ExitCodes))
	}
	_ = app.printHelp(cmd, blocks)
}

// shortHelp is what rdmactl alone prints: where to begin.
func (app *App) shortHelp(root *cobra.Command) error {
	var steps [][]output.Cell
	for _, s := range firstSteps() {
		if childOf(root, s.command) != nil {
			command := root.Name() + " " + s.command
			fill := strings.Repeat(" ", max(1, 18-len(command)))
			steps = append(steps, []output.Cell{output.Plain("  "), output.Bold(command), output.Plain(fill + s.text)})
		}
	}
	blocks := []output.Block{output.Paragraph("rdmactl: " + root.Short)}
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

// notShadowed are the flags of every command but those that cmd has in a form of its own.
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

// groupFlags are the flags that cmd shares with the commands beside or below it, but not with all.
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

func flagUsages(flags *pflag.FlagSet) string { return strings.TrimRight(flags.FlagUsages(), "\n") }

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
				[]output.Cell{output.Plain("  "), output.Bold(child.Name()), output.Plain(fill + child.Short)})
		}
		if len(lines) > 0 {
			blocks = append(blocks, output.Text{Title: group.Title, Lines: lines})
		}
	}
	return blocks
}
