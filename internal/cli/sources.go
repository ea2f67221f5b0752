package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/text/pciname"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// OpenNode opens the node that the flags and settings choose: a bundle, another
// root, or this machine.
func (app *App) OpenNode(flags SourceFlags) (*sources.Node, error) {
	n, err := app.openSource(flags)
	if err != nil {
		return nil, err
	}
	n.Roles = app.Config.Roles
	if file := app.Config.PCIIDs; file != "" {
		if err := pciname.Check(file); err != nil {
			n.Close()
			return nil, &ExitError{Code: ExitUsage, Err: err}
		}
	}
	if n.Names == nil || app.Config.PCIIDs != "" { // a bundle has the names that its machine had
		n.Names = pciname.New(app.Config.PCIIDs)
	}
	return n, nil
}

func (app *App) openSource(flags SourceFlags) (*sources.Node, error) {
	switch {
	case app.Recording != nil:
		n, err := sources.FromBundle(app.Recording, "recording")
		return n, wrongSource(err)
	case flags.From != "":
		return app.openBundle(flags.From)
	case app.Config.Root != "" && app.Config.Root != "/":
		return openRoot(app.Config.Root)
	}
	n, err := sources.Local()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, WithHints(&ExitError{Code: ExitNotFound, Err: err},
			"--from BUNDLE reads a recorded node on any system", "rdmactl demo node needs no hardware")
	}
	return n, err
}

// openBundle opens the file of --from, or standard input for "-".
func (app *App) openBundle(name string) (*sources.Node, error) {
	var in *bufio.Reader
	label := name
	if name == "-" {
		stdin, err := app.TakeStdin("--from")
		if err != nil {
			return nil, err
		}
		in, label = bufio.NewReader(stdin), "standard input"
	}
	if isSavedFabric(name, in) {
		const what = "the file is a saved fabric topology; --from needs a recorded node here"
		return nil, WithHints(Exitf(ExitUsage, "open bundle %s: %s", label, what), "rdmactl fabric COMMAND --from "+
			"FILE reads it, and so does --load-cache FILE of ibnetdiscover, iblinkinfo and ibqueryerrors")
	}
	var n *sources.Node
	var err error
	if in != nil {
		n, err = sources.ReadBundle(label, in)
	} else {
		n, err = sources.OpenBundle(name)
	}
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, bundle.ErrNewer):
		err = WithHints(err, "update rdmactl")
	case errors.Is(err, bundle.ErrDamaged):
		err = WithHints(err, "copy the file again from the node; sha256sum shows whether the copies are equal")
	case errors.Is(err, bundle.ErrOlder):
		err = WithHints(err, "record the node again with rdmactl snapshot, or read it with the version that wrote it")
	case errors.Is(err, fs.ErrPermission): // has a hint of its own
	case errors.Is(err, sources.ErrFolder):
		err = WithHints(err, "use --root for a folder")
	default:
		err = WithHints(err, "--from reads a bundle that rdmactl snapshot wrote (HOST-TIME.tar.gz)")
	}
	return nil, InputError(err)
}

// openRoot opens the folder of --root.
func openRoot(dir string) (*sources.Node, error) {
	root, err := sysfs.OpenRoot(dir)
	if err != nil {
		return nil, InputError(err)
	}
	n, err := sources.FromFS(root, root.Close, "root "+dir)
	if errors.Is(err, sources.ErrNoRoot) {
		err = WithHints(err, "name the folder that holds sys and proc")
	}
	return n, wrongSource(err)
}

// wrongSource turns the error of a source that is not a node into a usage error; nil stays nil.
func wrongSource(err error) error {
	if err == nil {
		return nil
	}
	return &ExitError{Code: ExitUsage, Err: err}
}

// isSavedFabric reports whether a file, or in if it isn't nil, begins like one that "fabric
// topology" writes with --save or -o json.
func isSavedFabric(name string, in *bufio.Reader) bool {
	const enough = 256 // the schema comes first
	if in != nil {
		head, _ := in.Peek(enough)
		return fabric.IsSaved(head)
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	file, err := os.Open(name) //nolint:gosec // the user's file
	if err != nil {
		return false // the caller that opens it reports the error
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, enough))
	return fabric.IsSaved(head)
}

// ReadingProgress starts a progress line for reading files; total is 0 if their number is unknown.
// It shows nothing while a user types one of the files on the terminal.
func (app *App) ReadingProgress(label string, total int, names []string) *output.Progress {
	if slices.Contains(names, "-") && app.IsTerminal(app.Stdin) {
		return output.New(output.Options{}).Progress(label, total)
	}
	return app.Out.Progress(label, total)
}

// AddSurroundings fills in the parts of a node that come from the process and the kernel:
// environment variables and routes to other nodes. For a bundle both are those of the recorded
// machine; variables that the caller has set come first. For this machine the variables are always
// those of the process.
func (app *App) AddSurroundings(ctx context.Context, n *sources.Node, snap inventory.Snapshot, opts *launch.Options) {
	switch {
	case n.Local:
		opts.Environment, opts.Routes = app.Environment(), launch.KernelRoutes(ctx, snap)
	case n.Bundle != nil:
		if opts.Environment == nil {
			opts.Environment, _ = n.Bundle.Environment() // checked when it was opened
		}
		opts.Routes = n.Bundle.Routes(snap)
	}
}

// KServeEnvironment returns the environment that KServe's script would see: the environment of this
// process, which controls the script on any node, over that of the recorded machine.
func (app *App) KServeEnvironment(n *sources.Node) map[string]string {
	env := map[string]string{}
	if n.Bundle != nil {
		recorded, _ := n.Bundle.Environment() // checked when it was opened
		maps.Copy(env, recorded)
	}
	maps.Copy(env, app.Environment())
	return env
}

// InputError turns the error of an input that doesn't exist or can't be parsed into a usage error.
func InputError(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	return &ExitError{Code: ExitUsage, Err: err}
}

// Scan opens and scans the node that the flags choose. If something could not be read, Scan warns
// on standard error and partial is not nil; a command that has no worse error to report returns
// partial at its end.
func (app *App) Scan(ctx context.Context, flags SourceFlags) (snap inventory.Snapshot, partial, err error) {
	n, err := app.OpenNode(flags)
	if err != nil {
		return inventory.Snapshot{}, nil, err
	}
	defer n.Close()
	return app.ScanNode(ctx, n)
}

// ScanNode is [App.Scan] for a node that is open already. It notes roles of the configuration that
// match no port.
func (app *App) ScanNode(ctx context.Context, n *sources.Node) (snap inventory.Snapshot, partial, err error) {
	snap, scanErr := inventory.Scan(ctx, n.Sources)
	if ctx.Err() != nil {
		return snap, nil, context.Cause(ctx)
	}
	for _, pattern := range inventory.UnmatchedRoles(&snap, n.Roles) {
		app.Out.Note("note: roles: no port here takes its role from %s: it matches none, or an earlier pattern wins",
			pattern)
	}
	if scanErr == nil {
		return snap, nil, nil
	}
	app.NotePartial(&snap, scanErr)
	return snap, ExitSilently(ExitPartial), nil
}

// NotePartial warns about files that could not be read.
func (app *App) NotePartial(snap *inventory.Snapshot, scanErr error) {
	const shown = 5
	problems := snap.Problems
	if len(problems) == 0 {
		app.Out.Note("warning: %v", scanErr)
	}
	for i, p := range problems {
		if i == shown && len(problems) > shown+1 && !app.Verbose() {
			app.Out.Note("warning: %d more files could not be read (-v lists all)", len(problems)-shown)
			break
		}
		app.Out.Note("warning: %s: %s", p.Path, p.Error)
	}
}

// Environment returns the environment of the process; of several equal names the last one wins.
func (app *App) Environment() map[string]string {
	out := make(map[string]string, len(app.Environ))
	for _, pair := range app.Environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			out[name] = value
		}
	}
	return out
}
