// Package applets holds the commands that replace C tools under their own names, such as rdmactl
// ibstat, and rdmactl applet, which lists them and installs links. The tools are implemented in
// internal/compat.
package applets

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/compat/applet"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/verbs"
)

func newAppletCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "applet",
		Short: fmt.Sprintf("List the %d replacements for C tools (ibstat, ib_write_bw …) and install links to them",
			len(applet.All())),
		Long: `rdmactl includes applets: replacements for some well-known C tools and scripts, with the same
options, output, messages and exit codes. Run "rdmactl ibstat", or make a link to rdmactl named
"ibstat" and run that. "rdmactl applet list" lists the tools, and "rdmactl ibstat --help" describes
one.

Flags of rdmactl go before the name of the tool; all arguments after the name are passed to the
tool, except --help directly after the name. A link accepts only the tool's options; settings
(RDMAKIT_ROOT, the configuration file) apply to it too.`,
		Example: "  rdmactl applet list\n  rdmactl applet install /usr/local/bin",
	}
	cmd.AddCommand(newAppletInstallCommand(app), newAppletListCommand(app))
	return cmd
}

// Commands returns the commands about applets, and the applets as commands: rdmactl ibstat.
func Commands() []cli.Entry {
	list := []cli.Entry{{Group: cli.GroupApplet, Build: newAppletCommand}}
	for _, a := range applet.All() {
		build := func(app *cli.App) *cobra.Command { return newAppletEntry(app, a) }
		list = append(list, cli.Entry{Group: cli.GroupApplet, Build: build})
	}
	return list
}

// Schemas returns the documents that the commands about applets print.
func Schemas() map[string]any { return map[string]any{appletsSchema: appletsReport{}} }

func newAppletEntry(app *cli.App, a applet.Applet) *cobra.Command {
	var source cli.SourceFlags
	cmd := &cobra.Command{
		Use:     a.Name + " [ARG...]",
		Short:   a.Summary,
		Long:    appletText(a),
		Example: appletExamples(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runApplet(cmd.Context(), app, a.Name, source, args)
		},
	}
	cmd.DisableFlagsInUseLine = true
	source.AddTo(cmd)
	cli.SetFormats(cmd, output.FormatTable)
	return cmd
}

// appletText describes an applet for the help and its page.
func appletText(a applet.Applet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, as %s does.\n\n    %s\n\n%s\n",
		a.Summary, a.Like, strings.TrimRight(a.Name+" "+a.Usage, " "), wrapParagraphs(a.Long, cli.TextWidth))
	if len(a.Options) > 0 {
		b.WriteString("\nOptions of the tool, after its name:\n\n")
		for _, o := range a.Options {
			fmt.Fprintf(&b, "    %-22s %s\n", o.Flags, o.Help)
		}
	}
	flag := "--from node.tar.gz"
	if a.Live {
		flag = "--timeout 30s"
	}
	below := "The flags below are flags of rdmactl and go before the name: rdmactl " + flag + " " + a.Name + "."
	if a.Live {
		below += " A recorded node (--from, --root) has no device to open."
	}
	b.WriteString("\n" + cli.WrapWords(below, cli.TextWidth))
	return b.String()
}

// appletExamples returns the examples of an applet's help: without arguments if that is possible,
// with arguments, and on a recorded node if the applet can read one.
func appletExamples(a applet.Applet) string {
	var lines []string
	if a.Example == "" || !a.NeedsOperand() {
		lines = append(lines, "  rdmactl "+a.Name)
	}
	if a.Example != "" {
		lines = append(lines, "  rdmactl "+a.Name+" "+a.Example)
	}
	if !a.Live {
		lines = append(lines, "  rdmactl --from node.tar.gz "+a.Name)
	}
	return strings.Join(lines, "\n")
}

// wrapParagraphs wraps each paragraph except indented ones.
func wrapParagraphs(text string, width int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") {
			paragraphs[i] = cli.WrapWords(p, width)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// runApplet runs an applet on the node that the flags choose and returns the applet's exit code.
func runApplet(ctx context.Context, app *cli.App, name string, source cli.SourceFlags, args []string) error {
	n, err := app.OpenNode(source)
	if err != nil {
		return err
	}
	defer n.Close()
	if app.ProgramName != "" {
		name = app.ProgramName
	}
	library, why, err := verbsSource(n)
	if err != nil {
		return err
	}
	env := applet.Env{
		Name: name, Args: args, Stdout: app.Data(), Stderr: app.Stderr, PID: os.Getpid(), LookupEnv: app.LookupEnv,
		Node: applet.Node{Root: n.Root, Live: n.Live, Verbs: library, WhyNoVerbs: why}, Hints: cli.Hints,
	}
	if n.Local {
		env.Device = app.Config.Device
		env.Open = func(ctx context.Context, device string, connects bool) (*verbs.Device, error) {
			d, why, err := cli.OpenVerbs(ctx, device, cli.Toward{Connects: connects})
			if why != "" {
				_, _ = fmt.Fprintf(app.Stderr, "%s: %s\n", name, why)
			}
			return d, err
		}
		env.OpenConnector = func(ctx context.Context, local, remote netip.Addr) (*verbs.Device, error) {
			d, _, err := cli.OpenConnector(ctx, cli.ConnectorRequest{
				Name: app.Config.Device, Local: local, Remote: remote,
			})
			return d, err
		}
		env.ChooseGID = func(ctx context.Context, device *verbs.Device, port int) (int, error) {
			index, why, err := cli.ChooseGID(ctx, device, port)
			if why != "" {
				_, _ = fmt.Fprintf(app.Stderr, "%s: %s\n", name, why)
			}
			return index, err
		}
		env.OpenSubnet = func(ctx context.Context, device string, port int) (fabric.Transport, error) {
			return fabric.Open(ctx, fabric.OpenOptions{Device: device, Port: port, Getenv: app.Getenv})
		}
	}
	code := applet.Run(ctx, env)
	if code != 0 {
		return cli.ExitSilently(code)
	}
	return nil
}
