package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/version"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
)

// snapshotFlags are the flags of snapshot.
type snapshotFlags struct {
	source        cli.SourceFlags
	output        string
	force, redact bool
	keyFile       string
	peers         []string
}

func newSnapshotCommand(app *cli.App) *cobra.Command {
	var f snapshotFlags
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Record this node in a bundle, for --from and for support",
		Long: `Snapshot writes a bundle (tar.gz): the files that detect, status, show, doctor and env read, with
the errors that reading them gave, the answers of netlink, some more files that help to find faults,
versions, what those commands say of the bundle, and a manifest. Any of these commands reads it with
--from, on any machine, and says what it says here.

Without -o the file is HOST-TIME.tar.gz in the current folder, and its name is printed. A file that
is there stays, unless --force is given. Nothing else is written, and no privilege is needed; what
could not be read is listed. Files that may hold secrets and those of other processes are not read.

--redact replaces MAC, IP and InfiniBand addresses, GUIDs, UUIDs, serial numbers and host names,
equal ones by equal ones, so that networks and relations still show. With --redact-key the same key
does so alike for several nodes.

The exit code is 0 when all was read, 7 when the bundle is written and some files could not be read.`,
		Example: `  rdmactl snapshot
  rdmactl snapshot -o node.tar.gz
  rdmactl snapshot -o node.tar.gz --redact
  rdmactl snapshot -o node.tar.gz --redact-key cluster.key
  rdmactl snapshot -o - > node.tar.gz
  rdmactl doctor --from node.tar.gz`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSnapshot(app, cmd, f) },
	}
	f.source.AddTo(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "",
		"write the bundle to `FILE`; - for standard output (default HOST-TIME.tar.gz)")
	flags.BoolVar(&f.force, "force", false, "replace FILE if it exists")
	flags.BoolVar(&f.redact, "redact", false, "replace addresses, GUIDs, serial numbers and host names")
	flags.StringVar(&f.keyFile, "redact-key", "",
		"redact with the secret in `FILE`, alike for all nodes; 16 bytes or more")
	flags.StringArrayVar(&f.peers, "peer", nil, "also record the way to `IP`, for env --peer; may be given often")
	_ = cmd.MarkFlagFilename("output", "tar.gz", "tgz")
	return cmd
}

func runSnapshot(app *cli.App, cmd *cobra.Command, f snapshotFlags) error {
	if err := checkSnapshotOutput(app, cmd, f); err != nil {
		return err
	}
	n, err := app.OpenNode(f.source)
	if err != nil {
		return err
	}
	defer n.Close()
	opts, err := snapshotOptions(app, cmd, f, n)
	if err != nil {
		return err
	}
	start := time.Now()
	b, err := recordNode(cmd.Context(), app, opts)
	if err != nil {
		return err
	}
	if err := addFindings(cmd.Context(), app, b); err != nil {
		return err
	}
	name := f.output
	if name == "" {
		name = bundleName(b)
		if err := checkBundleFile(name, f.force); err != nil {
			return err
		}
	}
	size, err := writeBundle(app, b, name, f.force)
	if err != nil {
		return err
	}
	if f.output == "" { // nobody knows it yet
		if err := app.Out.Raw([]byte(name + "\n")); err != nil {
			return err
		}
	}
	return snapshotResult(app, b, f.output, size, time.Since(start))
}

// recordNode reads the node and shows that it does.
func recordNode(ctx context.Context, app *cli.App, opts bundle.Options) (*bundle.Bundle, error) {
	progress := app.Out.Progress("recording: entries", 0)
	defer progress.Done()
	opts.Noted = func() { progress.Add(1) }
	return bundle.Record(ctx, opts)
}

// snapshotOptions says what to record of a node.
func snapshotOptions(app *cli.App, cmd *cobra.Command, f snapshotFlags, n *sources.Node) (bundle.Options, error) {
	opts := bundle.Options{Sources: n.Sources, Origin: bundle.OriginRoot, Version: version.Info().Version, Now: app.Now}
	var err error
	switch {
	case n.Local:
		opts.Origin, opts.Environment = bundle.OriginMachine, app.Environment()
		opts.Routes = func(snap inventory.Snapshot) launch.RouteFunc { return launch.KernelRoutes(cmd.Context(), snap) }
	case n.Bundle != nil:
		opts.Origin = bundle.OriginBundle
		opts.Environment, _ = n.Bundle.Environment() // checked when it was opened
		opts.Answers, _ = n.Bundle.Answers()
		if m := n.Bundle.Manifest; m != nil {
			opts.Taken, opts.Redacted, opts.RedactionKey = m.Taken, m.Redacted, m.RedactionKey
		}
	}
	for _, text := range f.peers {
		peer, err := netip.ParseAddr(text)
		if err != nil {
			return opts, cli.UsageError(cmd, fmt.Errorf("--peer: %q is not an IP address", text))
		}
		opts.Peers = append(opts.Peers, peer)
	}
	if opts.Extra, err = snapshotExtra(cmd.Context(), n); err != nil {
		return opts, err
	}
	opts.Redact, err = f.redactor()
	return opts, err
}

// verbsTime bounds what libibverbs may take: a driver that hangs must not keep the rest from
// being recorded.
const verbsTime = 20 * time.Second

// snapshotExtra returns further files for the top of the bundle: what libibverbs says, and what
// says that there is none. That of another bundle is taken over.
func snapshotExtra(ctx context.Context, n *sources.Node) (map[string][]byte, error) {
	if n.Local {
		ctx, cancel := context.WithTimeout(ctx, verbsTime)
		defer cancel()
		rec, _ := ibverbs.Describe(ctx) // what failed stands in the recording
		data, err := json.MarshalIndent(rec, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", bundle.VerbsFile, err)
		}
		return map[string][]byte{bundle.VerbsFile: append(data, '\n')}, nil
	}
	data, err := fs.ReadFile(n.Root, bundle.VerbsFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", bundle.VerbsFile, err)
	}
	return map[string][]byte{bundle.VerbsFile: data}, nil
}

// redactor returns what --redact and --redact-key ask for, nil for neither.
func (f snapshotFlags) redactor() (*bundle.Redactor, error) {
	if f.keyFile == "" {
		if !f.redact {
			return nil, nil
		}
		return bundle.NewRedactor(nil)
	}
	const most = 64 << 10 // a secret, not a disk
	file, err := os.Open(f.keyFile)
	if err != nil {
		return nil, &cli.ExitError{Code: cli.ConfigExitCode(err), Err: fmt.Errorf("--redact-key: %w", err)}
	}
	secret, err := io.ReadAll(io.LimitReader(file, most))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, cli.Exitf(cli.ExitUsage, "--redact-key: %w", err)
	}
	// An editor adds the end of the last line on one machine and not on another.
	r, err := bundle.NewRedactor(bytes.TrimSpace(secret))
	if err != nil {
		return nil, cli.WithHints(cli.Exitf(cli.ExitUsage, "--redact-key %s: %w", f.keyFile, err),
			"head -c 32 /dev/urandom | base64 > FILE makes a good one")
	}
	return r, nil
}

// Findings are the commands whose JSON a bundle holds.
func Findings() [][]string {
	return [][]string{{"detect"}, {"status"}, {"doctor"}, {"env"}}
}

// addFindings runs commands on the bundle, so that what they say in it is what they will say of it.
func addFindings(ctx context.Context, app *cli.App, b *bundle.Bundle) error {
	progress := app.Out.Progress("recording: what commands say", len(Findings()))
	defer progress.Done()
	for _, args := range Findings() {
		var stdout, stderr bytes.Buffer
		sub := &cli.App{
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Now: app.Now,
			IsTerminal: func(any) bool { return false }, Size: func() (int, int) { return 0, 0 }, Recording: b,
			Commands: app.Commands,
		}
		code := sub.Run(ctx, append(args, "-o", "json", "--timeout", "30s"))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name := bundle.FindingsDir + "/" + args[0] + ".json"
		if err := b.Add(name, stdout.Bytes()); err != nil {
			return err
		}
		b.Manifest.Findings = append(b.Manifest.Findings, bundle.Finding{
			Command: strings.Join(args, " ") + " -o json", File: name, Exit: code, Notes: stderr.String(),
		})
		progress.Add(1)
	}
	return nil
}

// writeBundle writes the bundle to a file, or to standard output for "-", and returns its size.
func writeBundle(app *cli.App, b *bundle.Bundle, name string, force bool) (int, error) {
	var data bytes.Buffer
	if err := b.Encode(&data); err != nil {
		return 0, err
	}
	if name == "-" {
		return data.Len(), app.Out.Raw(data.Bytes())
	}
	if err := bundle.WriteFile(name, data.Bytes(), force); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = cli.WithHints(&cli.ExitError{Code: cli.ExitUsage, Err: err}, "--force replaces it")
		}
		return 0, err
	}
	return data.Len(), nil
}

// snapshotResult tells what was written and what is missing in it.
func snapshotResult(app *cli.App, b *bundle.Bundle, name string, size int, took time.Duration) error {
	m := b.Manifest
	form := ""
	if m.Redacted {
		form = ", redacted"
	}
	switch name {
	case "-":
		name = "standard output"
	case "": // printed
		name = "bundle"
	}
	app.Out.Note("%s: %d entries, %s%s, in %s",
		name, m.Entries, bundleSize(size), form, took.Round(10*time.Millisecond))
	if !m.Steady {
		app.Out.Note("warning: the node changed while it was recorded")
	}
	for _, p := range m.Altered {
		app.Log.Debug("altered", "path", p.Path, "how", p.Error)
	}
	missing := slices.Concat(m.Unreadable, m.Refused)
	for i, p := range missing {
		const shown = 20
		if i == shown && len(missing) > shown+1 && !app.Verbose() {
			app.Out.Note("warning: %d more files are missing (-v lists all, and the manifest does)", len(missing)-shown)
			break
		}
		app.Out.Note("warning: %s: %s", p.Path, p.Error)
	}
	if len(missing) > 0 || !m.Steady {
		return cli.ExitSilently(cli.ExitPartial)
	}
	return nil
}
