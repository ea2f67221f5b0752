package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/text/pciname"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// liveFile is the file of a recorded node that holds the answers of netlink.
const liveFile = bundle.LiveFile

// Node is an opened source of scans.
type Node struct {
	inventory.Sources
	// Local tells that it is the machine rdmactl runs on: only there does the
	// environment of the process belong to the node.
	Local bool
	// Bundle is the recording that the node is read from, nil for the machine and folders.
	Bundle *bundle.Bundle
	close  func() error
}

// Close releases what the node holds open.
func (n *Node) Close() {
	if n.close != nil {
		_ = n.close()
	}
}

// OpenNode opens the node that the flags and settings choose: a bundle, another
// root, or this machine.
func (app *App) OpenNode(flags SourceFlags) (*Node, error) {
	n, err := app.openSource(flags)
	if err != nil {
		return nil, err
	}
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

func (app *App) openSource(flags SourceFlags) (*Node, error) {
	switch {
	case app.Recording != nil:
		return FromBundle(app.Recording, "recording")
	case flags.From != "":
		if err := checkBundle(flags.From); err != nil {
			return nil, err
		}
		b, err := bundle.Open(flags.From)
		if errors.Is(err, bundle.ErrNewer) {
			err = WithHints(err, "update rdmactl")
		}
		if err != nil {
			return nil, BundleError(err)
		}
		return FromBundle(b, "bundle "+flags.From)
	case app.Config.Root != "" && app.Config.Root != "/":
		root, err := sysfs.OpenRoot(app.Config.Root)
		if err != nil {
			return nil, BundleError(err)
		}
		return Recorded(root, root.Close, "root "+app.Config.Root)
	}
	local, err := inventory.Local()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, WithHints(&ExitError{Code: ExitNotFound, Err: err}, "--from BUNDLE reads a recorded node on any system", "rdmactl demo needs no hardware")
	}
	if err != nil {
		return nil, err
	}
	return &Node{Sources: local.Sources, Local: true, close: local.Close}, nil
}

// FromBundle makes a node of a bundle.
func FromBundle(b *bundle.Bundle, label string) (*Node, error) {
	n := &Node{Sources: b.Sources(), Bundle: b}
	if err := checkNode(n.Root, label); err != nil {
		return nil, err
	}
	return n, nil
}

// AddSurroundings fills in what of the process and the kernel belongs to a node: the variables that jobs meet, and the
// ways to other nodes. A bundle holds those of the machine that was recorded; variables that the caller has given
// stand before them. On this machine they are those of the process in any case.
func (app *App) AddSurroundings(ctx context.Context, n *Node, snap inventory.Snapshot, opts *launch.Options) {
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

// KServeEnvironment is what KServe's script would meet: the environment of this process, which steers it on any node,
// over that of the machine that was recorded.
func (app *App) KServeEnvironment(n *Node) map[string]string {
	env := map[string]string{}
	if n.Bundle != nil {
		recorded, _ := n.Bundle.Environment() // checked when it was opened
		maps.Copy(env, recorded)
	}
	maps.Copy(env, app.Environment())
	return env
}

// checkBundle refuses by its right name what is no bundle at first sight.
func checkBundle(name string) error {
	info, _ := os.Stat(name) // what fails here is told better by who opens it
	switch {
	case info == nil:
		return nil
	case info.IsDir():
		err := fmt.Errorf("open bundle %s: it is a folder", name)
		return WithHints(&ExitError{Code: ExitUsage, Err: err}, "use --root for a folder")
	case info.Mode().IsRegular() && info.Size() == 0:
		return Exitf(ExitUsage, "open bundle %s: it is empty", name)
	case info.Mode().IsRegular() && isSavedFabric(name):
		return WithHints(Exitf(ExitUsage, "open bundle %s: it is the saved sweep of a fabric; --from names a recorded node here", name),
			"rdmactl fabric COMMAND --from FILE reads it, and so does --load-cache FILE of ibnetdiscover, iblinkinfo and ibqueryerrors")
	}
	return nil
}

// isSavedFabric reports whether a file begins as one of "fabric topology --save" or -o json.
func isSavedFabric(name string) bool {
	file, err := os.Open(name) //nolint:gosec // the user's file
	if err != nil {
		return false // told better by who opens it
	}
	defer file.Close()
	const enough = 256 // the schema comes first
	head, _ := io.ReadAll(io.LimitReader(file, enough))
	squeezed := strings.Join(strings.Fields(string(head)), "")
	return strings.HasPrefix(squeezed, `{"schema":"`+fabric.Schema+`"`)
}

// Recorded makes a node of a tree that was recorded or made elsewhere, with its
// recorded netlink answers where it has them.
func Recorded(root fs.FS, closeRoot func() error, label string) (*Node, error) {
	n := &Node{Sources: inventory.Sources{Root: root}, close: closeRoot}
	if err := checkNode(root, label); err != nil {
		n.Close()
		return nil, err
	}
	data, err := fs.ReadFile(root, liveFile)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	live := &inventory.Live{}
	if err == nil {
		err = json.Unmarshal(data, live)
	}
	if err != nil {
		n.Close()
		return nil, &ExitError{Code: ExitUsage, Err: fmt.Errorf("read %s of %s: %w", liveFile, label, err)}
	}
	n.Sources.Live = live
	return n, nil
}

// checkNode refuses a folder that is not the root of a node: it would look like
// a node without RDMA.
func checkNode(root fs.FS, label string) error {
	for _, dir := range []string{"sys", "proc"} {
		if info, err := fs.Stat(root, dir); err == nil && info.IsDir() {
			return nil
		}
	}
	err := fmt.Errorf("open %s: it has neither sys nor proc, so it is not the root of a node", label)
	if strings.HasPrefix(label, "bundle ") || label == "recording" {
		return &ExitError{Code: ExitUsage, Err: err}
	}
	return WithHints(&ExitError{Code: ExitUsage, Err: err}, "name the folder that holds sys and proc")
}

// BundleError makes a wrong use of a source that isn't there or can't be understood.
func BundleError(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	return &ExitError{Code: ExitUsage, Err: err}
}

// Scan opens and scans the node that the flags choose. What could not be read is
// told on standard error; partial is then not nil, and a command with nothing
// worse to report returns it at its end.
func (app *App) Scan(ctx context.Context, flags SourceFlags) (snap inventory.Snapshot, partial, err error) {
	n, err := app.OpenNode(flags)
	if err != nil {
		return inventory.Snapshot{}, nil, err
	}
	defer n.Close()
	return app.ScanNode(ctx, n)
}

// ScanNode is scan for a node that is open already.
func (app *App) ScanNode(ctx context.Context, n *Node) (snap inventory.Snapshot, partial, err error) {
	snap, scanErr := inventory.Scan(ctx, n.Sources)
	if ctx.Err() != nil {
		return snap, nil, context.Cause(ctx)
	}
	if scanErr == nil {
		return snap, nil, nil
	}
	app.NotePartial(&snap, scanErr)
	return snap, ExitSilently(ExitPartial), nil
}

// NotePartial tells what could not be read.
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

// Environment returns the environment of the process; the last of equal names counts.
func (app *App) Environment() map[string]string {
	out := make(map[string]string, len(app.Environ))
	for _, pair := range app.Environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			out[name] = value
		}
	}
	return out
}
