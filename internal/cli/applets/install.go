package applets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/compat/applet"
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
	Name   string `json:"name"`
	Like   string `json:"like"`             // the tool that it behaves like
	Prints string `json:"prints"`           // what it prints
	Link   string `json:"link,omitempty"`   // path of its link
	Target string `json:"target,omitempty"` // what the link holds; "" for a hard link
	// Action is made, replaced or kept.
	Action string `json:"action,omitempty"`
}

func newAppletListCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the applets and what each prints",
		Example: "  rdmactl applet list\n  rdmactl applet list -o json",
		RunE: func(*cobra.Command, []string) error {
			report := appletsReport{Schema: appletsSchema, Applets: []appletEntry{}}
			table := output.Table{Columns: []output.Column{{Name: "applet"}, {Name: "like"}, {Name: "prints"}}}
			for _, a := range applet.All() {
				report.Applets = append(report.Applets, appletEntry{Name: a.Name, Like: a.Like, Prints: a.Summary})
				table.Rows = append(table.Rows, []output.Cell{output.Bold(a.Name), output.Plain(a.Like), output.Plain(a.Summary)})
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
		Long: `Make a link to this rdmactl in DIR, which must exist, for each applet: symbolic links, or hard links with --hard.
A symbolic link holds the bare name where DIR is the folder of rdmactl itself, and the absolute path elsewhere.

A link that leads here already is kept, and one to another rdmactl, be it there or not, is replaced. Where anything
else has one of the names, nothing is made and the exit code is 1; --force replaces that too, unless it is a folder.`,
		Example: "  rdmactl applet install /usr/local/bin\n  rdmactl applet install --hard --force /usr/local/bin",
		RunE: func(_ *cobra.Command, args []string) error {
			exe, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			return installApplets(app, linker{exe: exe, hard: hard, force: force}, args[0])
		},
	}
	cmd.Flags().BoolVar(&hard, "hard", false, "make hard links")
	cmd.Flags().BoolVar(&force, "force", false, "replace files and links that lead elsewhere")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return cmd
}

func installApplets(app *cli.App, l linker, dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("install applets: %w", err)
	case !info.IsDir():
		return cli.Exitf(cli.ExitUsage, "install applets: %s is not a folder", dir)
	}
	if l.dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("install applets: %w", err)
	}
	home, err := os.Stat(filepath.Dir(l.exe))
	l.beside = err == nil && os.SameFile(info, home)
	report := appletsReport{Schema: appletsSchema, Applets: []appletEntry{}}
	var errs []error
	for _, a := range applet.All() { // all are looked at before one is made
		e := appletEntry{Name: a.Name, Like: a.Like, Prints: a.Summary, Link: filepath.Join(l.dir, a.Name)}
		if !l.hard {
			e.Target = l.target()
		}
		e.Action, err = l.plan(e.Link)
		errs = append(errs, err)
		report.Applets = append(report.Applets, e)
	}
	if err := errors.Join(errs...); err != nil {
		return &cli.ExitError{Code: cli.ExitFault, Err: cli.WithHints(err, "nothing was made; --force replaces files and links")}
	}
	table := output.Table{Columns: []output.Column{{Name: "applet"}, {Name: "action"}, {Name: "link"}, {Name: "target", Wide: true}}}
	for _, e := range report.Applets {
		if e.Action != linkKept {
			if err := l.make(e.Link); err != nil {
				return err
			}
		}
		table.Rows = append(table.Rows, []output.Cell{output.Bold(e.Name), output.Plain(e.Action), output.Plain(e.Link), output.Plain(e.Target)})
	}
	return app.Out.Print(report, table)
}

// What becomes of a link.
const (
	linkMade     = "made"
	linkReplaced = "replaced"
	linkKept     = "kept"
)

// linker makes links to this program.
type linker struct {
	exe, dir    string // absolute
	beside      bool   // dir is the folder of exe
	hard, force bool
}

// target is what a symbolic link holds.
func (l linker) target() string {
	if l.beside {
		return filepath.Base(l.exe)
	}
	return l.exe
}

// plan tells what is to become of a link; an error means that something else is in its place.
func (l linker) plan(link string) (action string, err error) {
	info, err := os.Lstat(link)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return linkMade, nil
	case err != nil:
		return "", fmt.Errorf("look at %s: %w", link, err)
	case info.IsDir():
		return "", fmt.Errorf("make %s: a folder has that name", link)
	}
	symbolic := info.Mode()&fs.ModeSymlink != 0
	if l.leadsHere(link) {
		if l.beside && filepath.Base(link) == filepath.Base(l.exe) {
			return linkKept, nil // the program itself has that name: a link in its place would lead to itself
		}
		if symbolic == l.hard { // the other kind was asked for
			return linkReplaced, nil
		}
		return linkKept, nil
	}
	if l.force {
		return linkReplaced, nil
	}
	target, _ := os.Readlink(link)
	switch {
	case symbolic && strings.HasPrefix(filepath.Base(target), "rdmactl"):
		return linkReplaced, nil // one that an rdmactl has made, of another place or time
	case symbolic:
		return "", fmt.Errorf("make %s: it is a link to %s", link, target)
	}
	return "", fmt.Errorf("make %s: a file of another kind has that name", link)
}

// leadsHere tells that link is this program, by whatever kind of link.
func (l linker) leadsHere(link string) bool {
	there, err := os.Stat(link)
	if err != nil {
		return false
	}
	here, err := os.Stat(l.exe)
	return err == nil && os.SameFile(here, there)
}

// make makes a link in one step, so that nobody meets a gap where one was before.
func (l linker) make(link string) error {
	temporary := fmt.Sprintf("%s.rdmactl-%d", link, os.Getpid())
	var err error
	if l.hard {
		err = os.Link(l.exe, temporary)
	} else {
		err = os.Symlink(l.target(), temporary)
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", link, err)
	}
	if err := os.Rename(temporary, link); err != nil {
		_ = os.Remove(temporary)
		return fmt.Errorf("make %s: %w", link, err)
	}
	return nil
}
