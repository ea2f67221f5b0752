package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/edge/rdmanl"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/text/pciname"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// liveFile is the file of a recorded node that holds the answers of netlink.
const liveFile = bundle.LiveFile

// node is an opened source of scans.
type node struct {
	inventory.Sources
	// local tells that it is the machine rdmactl runs on: only there does the
	// environment of the process belong to the node.
	local bool
	// bundle is the recording that the node is read from, nil for the machine and folders.
	bundle *bundle.Bundle
	close  func() error
}

// Close releases what the node holds open.
func (n *node) Close() {
	if n.close != nil {
		_ = n.close()
	}
}

// openNode opens the node that the flags and settings choose: a bundle, another
// root, or this machine.
func (app *App) openNode(flags SourceFlags) (*node, error) {
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

func (app *App) openSource(flags SourceFlags) (*node, error) {
	switch {
	case app.recording != nil:
		return fromBundle(app.recording, "recording")
	case flags.From != "":
		if err := checkBundle(flags.From); err != nil {
			return nil, err
		}
		b, err := bundle.Open(flags.From)
		if errors.Is(err, bundle.ErrNewer) {
			err = withHints(err, "update rdmactl")
		}
		if err != nil {
			return nil, bundleError(err)
		}
		return fromBundle(b, "bundle "+flags.From)
	case app.Config.Root != "" && app.Config.Root != "/":
		root, err := sysfs.OpenRoot(app.Config.Root)
		if err != nil {
			return nil, bundleError(err)
		}
		return recorded(root, root.Close, "root "+app.Config.Root)
	}
	local, err := inventory.Local()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, withHints(&ExitError{Code: ExitNotFound, Err: err}, "--from BUNDLE reads a recorded node on any system", "rdmactl demo needs no hardware")
	}
	if err != nil {
		return nil, err
	}
	return &node{Sources: local.Sources, local: true, close: local.Close}, nil
}

// fromBundle makes a node of a bundle.
func fromBundle(b *bundle.Bundle, label string) (*node, error) {
	n := &node{Sources: b.Sources(), bundle: b}
	if err := checkNode(n.Root, label); err != nil {
		return nil, err
	}
	return n, nil
}

// surroundings fills in what of the process and the kernel belongs to a node: the variables that jobs meet, and the
// ways to other nodes. A bundle holds those of the machine that was recorded; variables that the caller has given
// stand before them. On this machine they are those of the process in any case.
func (app *App) surroundings(ctx context.Context, n *node, snap inventory.Snapshot, opts *launch.Options) {
	switch {
	case n.local:
		opts.Environment, opts.Routes = app.environment(), liveRoutes(ctx, snap)
	case n.bundle != nil:
		if opts.Environment == nil {
			opts.Environment, _ = n.bundle.Environment() // checked when it was opened
		}
		opts.Routes = n.bundle.Routes(snap)
	}
}

// kserveEnvironment is what KServe's script would meet: the environment of this process, which steers it on any node,
// over that of the machine that was recorded.
func (app *App) kserveEnvironment(n *node) map[string]string {
	env := map[string]string{}
	if n.bundle != nil {
		recorded, _ := n.bundle.Environment() // checked when it was opened
		maps.Copy(env, recorded)
	}
	maps.Copy(env, app.environment())
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
		return withHints(&ExitError{Code: ExitUsage, Err: err}, "use --root for a folder")
	case info.Mode().IsRegular() && info.Size() == 0:
		return exitf(ExitUsage, "open bundle %s: it is empty", name)
	case info.Mode().IsRegular() && isSavedFabric(name):
		return withHints(exitf(ExitUsage, "open bundle %s: it is the saved sweep of a fabric; --from names a recorded node here", name),
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

// recorded makes a node of a tree that was recorded or made elsewhere, with its
// recorded netlink answers where it has them.
func recorded(root fs.FS, closeRoot func() error, label string) (*node, error) {
	n := &node{Sources: inventory.Sources{Root: root}, close: closeRoot}
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
	return withHints(&ExitError{Code: ExitUsage, Err: err}, "name the folder that holds sys and proc")
}

// bundleError makes a wrong use of a source that isn't there or can't be understood.
func bundleError(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	return &ExitError{Code: ExitUsage, Err: err}
}

// scan opens and scans the node that the flags choose. What could not be read is
// told on standard error; partial is then not nil, and a command with nothing
// worse to report returns it at its end.
func (app *App) scan(ctx context.Context, flags SourceFlags) (snap inventory.Snapshot, partial, err error) {
	n, err := app.openNode(flags)
	if err != nil {
		return inventory.Snapshot{}, nil, err
	}
	defer n.Close()
	return app.scanNode(ctx, n)
}

// scanNode is scan for a node that is open already.
func (app *App) scanNode(ctx context.Context, n *node) (snap inventory.Snapshot, partial, err error) {
	snap, scanErr := inventory.Scan(ctx, n.Sources)
	if ctx.Err() != nil {
		return snap, nil, context.Cause(ctx)
	}
	if scanErr == nil {
		return snap, nil, nil
	}
	app.notePartial(&snap, scanErr)
	return snap, exitSilently(ExitPartial), nil
}

// notePartial tells what could not be read.
func (app *App) notePartial(snap *inventory.Snapshot, scanErr error) {
	const shown = 5
	problems := snap.Problems
	if len(problems) == 0 {
		app.Out.Note("warning: %v", scanErr)
	}
	for i, p := range problems {
		if i == shown && len(problems) > shown+1 && !app.verbose() {
			app.Out.Note("warning: %d more files could not be read (-v lists all)", len(problems)-shown)
			break
		}
		app.Out.Note("warning: %s: %s", p.Path, p.Error)
	}
}

// environment returns the environment of the process; the last of equal names counts.
func (app *App) environment() map[string]string {
	out := make(map[string]string, len(app.Environ))
	for _, pair := range app.Environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			out[name] = value
		}
	}
	return out
}

// liveRoutes asks the kernel for the way to an address. From a given address only the snapshot answers.
func liveRoutes(ctx context.Context, snap inventory.Snapshot) launch.RouteFunc {
	recorded := launch.RoutesOf(snap)
	return func(dst, src netip.Addr) (launch.Route, error) {
		if src.IsValid() {
			return recorded(dst, src)
		}
		r, err := rdmanl.Client{}.RouteTo(ctx, dst)
		switch {
		case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
			return launch.Route{}, fmt.Errorf("find route to %s: %w", dst, launch.ErrNoRoute)
		case err != nil:
			return launch.Route{}, err
		}
		out := launch.Route{Gateway: r.Gateway, Source: r.Source, Evidence: "ip route get " + dst.String()}
		for _, n := range snap.Netdevs {
			if r.LinkIndex != nil && n.Index == *r.LinkIndex {
				out.Netdev = n.Name
				return out, nil
			}
		}
		return out, fmt.Errorf("find route to %s: the network device is not known", dst)
	}
}
