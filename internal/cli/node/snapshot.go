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

	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/doctor/nodes"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/record/kernel"
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
	interval      time.Duration // between two readings of counters; 0: one reading
}

func newSnapshotCommand(app *cli.App) *cobra.Command {
	var f snapshotFlags
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Record this node in a bundle for --from and for support",
		Long: `Write a bundle (tar.gz) with the files that detect, status, show, doctor and env read, the errors of
files that could not be read, netlink data, more files that help to find faults, versions, the JSON
output of detect, status, doctor and env, and a manifest. With --from these commands read the bundle
on any machine and print the same as here; doctor says that it is a recording, and how old.

With --interval the counters are read twice, and doctor judges their rates from the bundle as it
does with --interval on the node; several such bundles are compared in their rates too.

Without -o the file is HOST-TIME.tar.gz in the current directory, and its name is printed. An
existing file is replaced only with --force. Snapshot writes only that file and needs no privileges;
it lists the files that could not be read. It does not read files of other processes or files that
may contain secrets.

--redact replaces MAC, IP and InfiniBand addresses, GUIDs, UUIDs, serial numbers and host names.
Equal values get equal replacements, so networks and relations remain visible. With --redact-key,
all bundles that are made with the same key get the same replacements.

Exit codes:

    0   all files were read
    7   the bundle is written, but some files could not be read`,
		Example: `  rdmactl snapshot
  rdmactl snapshot -o node.tar.gz
  rdmactl snapshot -o node.tar.gz --redact
  rdmactl snapshot -o node.tar.gz --redact-key cluster.key
  rdmactl snapshot --interval 10s
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
		"redact with the secret in `FILE`, the same on all nodes; 16 bytes or more")
	flags.StringArrayVar(&f.peers, "peer", nil, "also record the route to `IP`, for env --peer; can be repeated")
	flags.DurationVar(&f.interval, "interval", 0,
		"read counters twice, `DURATION` apart (1s to 1h), so that doctor judges their rates from the bundle")
	_ = cmd.MarkFlagFilename("output", "tar.gz", "tgz")
	return cmd
}

func runSnapshot(app *cli.App, cmd *cobra.Command, f snapshotFlags) error {
	if err := checkSnapshotOutput(app, cmd, f); err != nil {
		return err
	}
	if err := checkInterval(cmd, f.interval); err != nil {
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
	if f.output == "" { // the user hasn't seen it yet
		if err := app.Out.Raw([]byte(name + "\n")); err != nil {
			return err
		}
	}
	return snapshotResult(app, b, f.output, size, time.Since(start))
}

// recordNode reads the node and shows its progress.
func recordNode(ctx context.Context, app *cli.App, opts bundle.Options) (*bundle.Bundle, error) {
	progress := app.Out.Progress("recording: entries", 0)
	defer progress.Done()
	opts.Noted = func() { progress.Add(1) }
	return bundle.Record(ctx, opts)
}

// snapshotOptions returns the options of the recording.
func snapshotOptions(app *cli.App, cmd *cobra.Command, f snapshotFlags, n *sources.Node) (bundle.Options, error) {
	opts := bundle.Options{Sources: n.Sources, Origin: bundle.OriginRoot, Version: version.Info().Version, Now: app.Now}
	var err error
	switch {
	case n.Local:
		opts.Origin, opts.Environment = bundle.OriginMachine, app.Environment()
		collectors, kinds := snapshotCollectors(app, n.Root, f.interval)
		opts.Facts = snapshotFacts(n.Root, collectors, kinds)
		opts.Routes = func(snap inventory.Snapshot) launch.RouteFunc { return launch.KernelRoutes(cmd.Context(), snap) }
	case n.Bundle != nil:
		opts.Origin = bundle.OriginBundle
		opts.Environment, _ = n.Bundle.Environment() // checked when it was opened
		opts.Answers, _ = n.Bundle.Answers()
		opts.Facts = func(context.Context, *inventory.Snapshot) *facts.Facts { return n.Facts() }
		if m := n.Bundle.Manifest; m != nil {
			opts.Taken, opts.Redacted, opts.RedactionKey = m.Taken, m.Redacted, m.RedactionKey
		}
	}
	if f.interval > 0 && !n.Local {
		return opts, cli.UsageError(cmd, errors.New("--interval needs this machine, not a recording or another root"))
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
	opts.Patterns = checkedFiles()
	opts.Redact, err = f.redactor(cmd)
	return opts, err
}

// snapshotCollectors returns the collectors of a recording and their kinds: with two readings of
// counters if there is an interval.
func snapshotCollectors(app *cli.App, root fs.FS, interval time.Duration) ([]facts.Collector, []facts.Kind) {
	collectors, kinds := kernel.Collectors(app.Now), kernel.Passive()
	if interval > 0 {
		collectors = append(collectors, kernel.Rates(kernel.RatesSource{
			Root: root, Interval: interval, Now: app.Now, Ethtool: kernel.EthtoolOf(collectors),
		}))
		kinds = append(kinds, facts.KindRates)
	}
	return collectors, kinds
}

// snapshotFacts returns the function that gathers the kernel's answers. The two readings of
// counters are taken only once, however often the recording is repeated.
func snapshotFacts(
	root fs.FS, collectors []facts.Collector, kinds []facts.Kind,
) func(context.Context, *inventory.Snapshot) *facts.Facts {
	var rates *facts.Datum[facts.Rates]
	return func(ctx context.Context, snap *inventory.Snapshot) *facts.Facts {
		f := facts.New(root)
		f.Rates = rates
		f.Gather(ctx, snap, collectors, kinds...)
		rates = f.Rates
		return f
	}
}

// checkedFiles returns the patterns of the files that checks and comparisons read, each once.
func checkedFiles() []string {
	var patterns []string
	for _, c := range checks.All() {
		patterns = append(patterns, c.Reads...)
	}
	for _, c := range nodes.Comparisons() {
		patterns = append(patterns, c.Reads...)
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// verbsTime is the time limit for libibverbs, so that the rest is recorded even if a driver hangs.
const verbsTime = 20 * time.Second

// snapshotExtra returns further files for the root of the bundle: the data of libibverbs, or the
// error that it is not available. For a bundle as the source, the file is copied.
func snapshotExtra(ctx context.Context, n *sources.Node) (map[string][]byte, error) {
	if n.Local {
		ctx, cancel := context.WithTimeout(ctx, verbsTime)
		defer cancel()
		rec, _ := ibverbs.Describe(ctx) // the recording contains the error
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

// redactor returns the redactor that --redact or --redact-key request, nil without them. An empty
// name or key is an error: a script whose variable is not set must not write a readable bundle.
func (f snapshotFlags) redactor(cmd *cobra.Command) (*bundle.Redactor, error) {
	if f.keyFile == "" {
		if cmd.Flags().Changed("redact-key") {
			return nil, cli.UsageError(cmd, errors.New("--redact-key: empty"))
		}
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
	// Some editors add a newline at the end and others don't. The key of an empty file is empty,
	// not nil, which would be a random one.
	r, err := bundle.NewRedactor(append([]byte{}, bytes.TrimSpace(secret)...))
	if err != nil {
		return nil, cli.WithHints(cli.Exitf(cli.ExitUsage, "--redact-key %s: %w", f.keyFile, err),
			"head -c 32 /dev/urandom | base64 > FILE creates one")
	}
	return r, nil
}

// Findings returns the commands whose JSON output a bundle contains.
func Findings() [][]string {
	return [][]string{{"detect"}, {"status"}, {"doctor"}, {"env"}}
}

// addFindings runs the commands on the bundle and adds their output.
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

// snapshotResult prints what was written and which files are missing.
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
			app.Out.Note("warning: %d more files are missing (-v and the manifest list all)", len(missing)-shown)
			break
		}
		app.Out.Note("warning: %s: %s", p.Path, p.Error)
	}
	if len(missing) > 0 || !m.Steady {
		return cli.ExitSilently(cli.ExitPartial)
	}
	return nil
}
