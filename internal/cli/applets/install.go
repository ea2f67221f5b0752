package applets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/compat/applet"
	"github.com/rdmakit/rdmakit/internal/compat/links"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// appletsSchema is the version of the JSON form of applet list and applet install.
const appletsSchema = "rdmakit.applets/v1"

// appletsReport is what "applet list" and "applet install" print as json and yaml.
type appletsReport struct {
	// Schema is appletsSchema.
	Schema  string        `json:"schema"`
	Applets []appletEntry `json:"applets"`
}

// appletEntry is an applet, and its link where one was asked for.
type appletEntry struct {
	Name    string `json:"name"`
	Like    string `json:"like"`             // the tool that it replaces
	Prints  string `json:"prints"`           // what it prints
	Command string `json:"command"`          // the command of rdmactl for the same purpose, without rdmactl
	Link    string `json:"link,omitempty"`   // path of its link
	Target  string `json:"target,omitempty"` // the link's target; "" for a hard link
	// Action is made, replaced or kept.
	Action string `json:"action,omitempty"`
}

func entryOf(a applet.Applet) appletEntry {
	return appletEntry{Name: a.Name, Like: a.Like, Prints: a.Summary, Command: commandFor(a.Name)}
}

// commandFor returns the command of rdmactl that is there for the same purpose as an applet.
func commandFor(name string) string {
	if test, ok := strings.CutPrefix(name, "ib_"); ok { // of perftest
		return "bench " + strings.ReplaceAll(test, "_", "-")
	}
	return map[string]string{
		"ibdev2netdev":  "detect",
		"ibhosts":       "fabric hosts",
		"iblinkinfo":    "fabric links",
		"ibnetdiscover": "fabric topology",
		"ibnodes":       "fabric topology",
		"cmtime":        "ping",
		"ibping":        "fabric ping",
		"ibqueryerrors": "fabric errors",
		"ibroute":       "fabric topology --routes",
		"ibstat":        "detect",
		"ibstatus":      "status",
		"ibswitches":    "fabric switches",
		"ibtracert":     "fabric trace",
		"ibv_devices":   "detect",
		"ibv_devinfo":   "show",
		"perfquery":     "fabric errors",
		"rping":         "ping",
		"saquery":       "fabric sa",
		"show_gids":     "show",
		"sminfo":        "fabric sm",
		"smpquery":      "fabric topology",
		"ucmatose":      "ping",
	}[name]
}

func newAppletListCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the applets, the tools that they replace, and the corresponding rdmactl commands",
		Long: `List the applets: the tool that each of them replaces, its purpose, and the rdmactl command for the
same purpose, which has a different output format and supports -o json.`,
		Example: "  rdmactl applet list\n  rdmactl applet list -o json",
		RunE: func(*cobra.Command, []string) error {
			report := appletsReport{Schema: appletsSchema, Applets: []appletEntry{}}
			table := output.Table{Columns: []output.Column{
				{Name: "applet"},
				{Name: "replaces", Priority: 2},
				{Name: "command", Priority: 1},
				{Name: "purpose", Wrap: true},
			}}
			for _, a := range applet.All() {
				e := entryOf(a)
				report.Applets = append(report.Applets, e)
				table.Rows = append(table.Rows, []output.Cell{
					output.Bold(e.Name), output.Plain(e.Like), output.Plain("rdmactl " + e.Command),
					output.Plain(e.Prints),
				})
			}
			return app.Out.Print(report, table)
		},
	}
}

func newAppletInstallCommand(app *cli.App) *cobra.Command {
	var hard, force bool
	cmd := &cobra.Command{
		Use:   "install DIR",
		Short: "Make links to rdmactl under the names of the applets",
		Long: `Make a link to this rdmactl in DIR, which must exist, for each applet: symbolic links, or hard links
with --hard. Symbolic links are relative if DIR is the folder that rdmactl is in, and absolute
otherwise.

Links that already point to this rdmactl are kept; links to another rdmactl are replaced, even if
that rdmactl no longer exists. If any other file has the name of an applet, no link is made and the
exit code is 1; --force replaces such files too, but never folders.`,
		Example: "  rdmactl applet install /usr/local/bin\n  rdmactl applet install --hard --force /usr/local/bin",
		RunE: func(_ *cobra.Command, args []string) error {
			return installApplets(app, args[0], hard, force)
		},
	}
	cmd.Flags().BoolVar(&hard, "hard", false, "make hard links")
	cmd.Flags().BoolVar(&force, "force", false, "replace files, and links that point elsewhere")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return cmd
}

// thisProgram returns the path of this program. The system reports it below /proc; in a chroot or
// an image without /proc the name that the program was started by serves, if it is a whole path.
func thisProgram() (string, error) {
	exe, err := os.Executable()
	if err == nil {
		return exe, nil
	}
	if name := os.Args[0]; filepath.IsAbs(name) {
		if _, statErr := os.Stat(name); statErr == nil {
			return name, nil
		}
	}
	return "", cli.WithHints(fmt.Errorf("find this program: %w", err),
		"without /proc, start rdmactl by its absolute path")
}

func installApplets(app *cli.App, dir string, hard, force bool) error {
	exe, err := thisProgram()
	if err != nil {
		return err
	}
	l, err := links.New(exe, dir)
	if errors.Is(err, links.ErrNoFolder) {
		return cli.Exitf(cli.ExitUsage, "install applets: %w", err)
	}
	if err != nil {
		return fmt.Errorf("install applets: %w", err)
	}
	l.Hard, l.Force = hard, force
	var names []string
	for _, a := range applet.All() {
		names = append(names, a.Name)
	}
	planned, err := l.Plan(names...)
	if err != nil {
		return &cli.ExitError{
			Code: cli.ExitFault, Err: cli.WithHints(err, "no link was made; --force replaces files and links"),
		}
	}
	if err := l.Make(planned); err != nil {
		return err
	}
	report := appletsReport{Schema: appletsSchema, Applets: []appletEntry{}}
	table := output.Table{
		Columns: []output.Column{
			{Name: "applet"}, {Name: "action"}, {Name: "link", Wrap: true}, {Name: "target", Wide: true},
		},
	}
	for i, a := range applet.All() {
		e := entryOf(a)
		e.Link, e.Target, e.Action = planned[i].Path, planned[i].Target, string(planned[i].Action)
		report.Applets = append(report.Applets, e)
		table.Rows = append(table.Rows,
			[]output.Cell{output.Bold(e.Name), output.Plain(e.Action), output.Plain(e.Link), output.Plain(e.Target)})
	}
	return app.Out.Print(report, table)
}
