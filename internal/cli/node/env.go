package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/version"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/launch/kserve"
)

// planFlags are the flags that env and exec share: they choose the node and what is derived from
// it.
type planFlags struct {
	source                        cli.SourceFlags
	peer, compat                  string
	libraries                     []string
	include, exclude              []string
	pinGID, tcpFallback, override bool
}

// addTo adds the flags to cmd.
func (f *planFlags) addTo(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringSliceVar(&f.libraries, "for", libraryNames(launch.DefaultLibraries()),
		"`LIBRARIES`: "+strings.Join(libraryNames(launch.Libraries()), ", ")+", rccl, nixl, or all")
	set.StringSliceVar(&f.include, "include", nil, "only ports that match `SELECTOR`, whatever their role")
	set.StringSliceVar(&f.exclude, "exclude", nil, "leave out ports that match `SELECTOR`")
	set.StringVar(&f.peer, "peer", "", "`IP` of another node: use the network device of the route to it for bootstrap")
	set.BoolVar(&f.pinGID, "pin-gid", false, "set the GID index as a number; an error if ports need different ones")
	set.BoolVar(&f.tcpFallback, "tcp-fallback", false, "turn RDMA off if no port can be used")
	set.BoolVar(&f.override, "override", false, "replace variables that are already set")
	set.StringVar(&f.compat, "compat", "", "reproduce the output of another `TOOL`: kserve")
	cli.CompleteWords(cmd, "compat", []string{kserve.Compat})
	cli.CompleteWords(cmd, "for", append(libraryNames(launch.Libraries()), "all"))
	f.source.AddTo(cmd)
}

// envFlags are the flags of env.
type envFlags struct {
	planFlags
	format, name, namespace string
	explain, formatGiven    bool
}

func newEnvCommand(app *cli.App) *cobra.Command {
	var flags envFlags
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the variables that NCCL, NVSHMEM, UCX and others need",
		Long: `Print the environment variables with which distributed programs use RDMA on this node: which ports,
which address family, which network device for bootstrap. Variables are printed to standard output,
reasons and warnings to standard error (-q silences them). Variables that are already set keep their
values unless --override is given.

A SELECTOR of --include and --exclude is a device (mlx5_0), a device and port (mlx5_0:1), a PCI
address (0000:18:00.0) or a network device (ens0np0). It may contain *, ? and [0-3]; between slashes
it is a regular expression (/^mlx5_[0-3]$/). --include selects exactly the ports that match,
whatever their role.

With --explain, -o json or -o yaml, env prints its reasoning to standard output instead of the
variables: for each port whether it is used and why, what NCCL and UCX choose by default, and for
each variable its rule and the files that it depends on.

--compat kserve prints the variables that KServe's own script exports, including its errors.
KSERVE_INFER_ROCE and KSERVE_INFER_IB_GID_INDEX_GREP have the same effect as in that script.

Exit codes:

    0   RDMA can be used
    2   --include, --exclude, --peer or --pin-gid don't fit the node
    3   RDMA can't be used (with --tcp-fallback too: the variables then turn RDMA off)
    7   files that the result depends on could not be read`,
		Example: `  vars=$(rdmactl env) || exit; eval "$vars"   # eval alone hides exit code 3
  rdmactl env --explain
  rdmactl env --for nccl,ucx --include 'mlx5_[0-7]' --peer 10.1.2.3
  rdmactl env --format dotenv > job.env
  rdmactl env --format configmap --namespace serving > node.yaml
  vars=$(rdmactl env --compat kserve) || exit; eval "$vars"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags.formatGiven = cmd.Flags().Changed("format")
			return runEnv(app, cmd, flags)
		},
	}
	var formats []string
	for _, format := range launch.TextFormats() {
		formats = append(formats, string(format))
	}
	f := cmd.Flags()
	f.StringVar(&flags.format, "format", string(launch.FormatShell),
		"`FORM` of the output: "+strings.Join(formats, ", "))
	f.StringVar(&flags.name, "name", "", "`NAME` of the configmap (default rdma-env-HOST)")
	f.StringVar(&flags.namespace, "namespace", "", "`NAMESPACE` of the configmap")
	f.BoolVar(&flags.explain, "explain", false, "print the reasoning instead of the variables")
	cli.CompleteWords(cmd, "format", formats)
	flags.addTo(cmd)
	cmd.AddCommand(newEnvConsensusCommand(app), newEnvLintCommand(app))
	return cmd
}

func libraryNames(list []launch.Library) []string {
	var out []string
	for _, l := range list {
		out = append(out, string(l))
	}
	return out
}

func runEnv(app *cli.App, cmd *cobra.Command, flags envFlags) error {
	format, err := launch.ParseTextFormat(flags.format)
	if err != nil {
		return cli.UsageError(cmd, fmt.Errorf("--format: %w", err))
	}
	// Use the flag only, not the setting: -o json in a configuration file must not break eval
	// "$(rdmactl env)".
	structured := app.Out.Structured() && app.Config.Origin("output") == config.OriginFlag
	if flags.formatGiven && (structured || flags.explain) {
		return cli.UsageError(cmd,
			errors.New("--format can't be combined with --explain, -o json or -o yaml"))
	}
	if (flags.name != "" || flags.namespace != "") && format != launch.FormatConfigMap {
		return cli.UsageError(cmd,
			errors.New("--name and --namespace need --format configmap"))
	}
	plan, node, err := planEnv(app, cmd, flags.planFlags, nil)
	if err != nil {
		return err
	}
	if structured || flags.explain {
		if err := app.Out.Print(plan, explainBlocks(plan, app.Out.Wide())...); err != nil {
			return err
		}
		return envExit(plan)
	}
	text, err := launch.FormatWith(plan, format, launch.FormatOptions{
		Name: flags.name, Namespace: flags.namespace, Node: node, Version: version.Info().Version,
	})
	if errors.Is(err, launch.ErrOptions) {
		return cli.UsageError(cmd, err)
	}
	if err != nil {
		return err
	}
	if err := app.Out.Raw(text); err != nil {
		return err
	}
	noteEnv(app, plan, format)
	return envExit(plan)
}

// planEnv derives the plan of the node that the flags choose and returns its host name. environ is
// the environment that the variables are merged with; if it is nil, it is the environment of this
// process for this machine, and empty for other nodes.
func planEnv(
	app *cli.App, cmd *cobra.Command, flags planFlags, environ map[string]string,
) (plan launch.Plan, host string, err error) {
	opts, err := flags.options()
	if err != nil {
		return plan, "", cli.UsageError(cmd, err)
	}
	opts.Environment = environ
	n, err := app.OpenNode(flags.source)
	if err != nil {
		return plan, "", err
	}
	defer n.Close()
	if flags.compat == "" {
		plan, err = deriveEnv(cmd.Context(), app, n, opts)
	} else if plan, err = kserve.Derive(n.Root, app.KServeEnvironment(n)); err != nil {
		err = &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return plan, sysfs.NewReader(n.Root, cmd.Context().Err).String(sysfs.ProcHostname), err
}

// deriveEnv scans a node and derives its plan. It uses the environment of this process for this
// machine only.
func deriveEnv(ctx context.Context, app *cli.App, n *sources.Node, opts launch.Options) (launch.Plan, error) {
	n.Names = nil // the plan doesn't depend on the names of cards, which take time to read
	snap, _, err := app.ScanNode(ctx, n)
	if err != nil {
		return launch.Plan{}, err
	}
	app.AddSurroundings(ctx, n, snap, &opts)
	plan, err := launch.Derive(snap, opts)
	if errors.Is(err, launch.ErrOptions) {
		err = &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return plan, err
}

// options validates the flags and converts them into options.
func (f planFlags) options() (launch.Options, error) {
	opts := launch.Options{
		Include: f.include, Exclude: f.exclude, PinGID: f.pinGID, TCPFallback: f.tcpFallback, Override: f.override,
	}
	var err error
	if opts.Libraries, err = launch.ParseLibraries(f.libraries); err != nil {
		return opts, fmt.Errorf("--for: %w", err)
	}
	if f.peer != "" {
		if opts.Peer, err = netip.ParseAddr(f.peer); err != nil {
			return opts, fmt.Errorf("--peer: %q is not an IP address", f.peer)
		}
		if opts.Peer.IsLoopback() {
			return opts, fmt.Errorf("--peer: %s is an address of this node; give that of another node", opts.Peer)
		}
	}
	switch f.compat {
	case "":
		return opts, nil
	case kserve.Compat:
	default:
		return opts, fmt.Errorf("--compat: %q is not %s", f.compat, kserve.Compat)
	}
	if len(f.include)+len(f.exclude) > 0 || f.peer != "" || f.pinGID || f.tcpFallback || f.override {
		return opts, errors.New("--compat kserve can't be combined with --include, --exclude, " +
			"--peer, --pin-gid, --tcp-fallback and --override")
	}
	return opts, nil
}

// envExit returns the error that carries the exit code.
func envExit(plan launch.Plan) error {
	switch {
	case len(plan.Incomplete) > 0:
		return cli.ExitSilently(cli.ExitPartial)
	case plan.Outcome == launch.OutcomeNone:
		return cli.ExitSilently(cli.ExitNotFound)
	}
	return nil
}

// noteEnv prints reasons and warnings to standard error.
func noteEnv(app *cli.App, plan launch.Plan, format launch.TextFormat) {
	if len(plan.Unseen) > 0 {
		defer app.Out.Note("not judged, because it could not be seen: %s", strings.Join(plan.Unseen, "; "))
	}
	for _, p := range plan.Ports {
		if p.Decision != launch.DecisionSelected {
			app.Out.Note("%s: %s: %s (%s)", p.Name(), p.Decision, p.Reason, p.Rule)
		}
	}
	for _, v := range plan.Variables {
		app.Out.Note("%s: %s (%s)", v.Name, v.Reason, v.Rule)
	}
	for _, c := range plan.Conflicts {
		app.Out.Note("conflict: %s", conflictText(c))
	}
	for _, u := range plan.Unset {
		if format != launch.FormatShell {
			app.Out.Note("warning: %s must be unset, which %s can't express: %s (%s)", u.Name, format, u.Reason, u.Rule)
		}
	}
	for _, a := range plan.Arguments {
		app.Out.Note("argument: %s %s (%s)", a.Flag, a.Value, a.Rule)
	}
	for _, w := range plan.Warnings {
		app.Out.Note("warning: %s (%s)", w.Text, w.Rule)
	}
}

func conflictText(c launch.Conflict) string {
	text := fmt.Sprintf("%s is %q in the environment, ", c.Name, c.User)
	if c.Derived == "" {
		text += "and should not be set: " + c.Reason
	} else {
		text += fmt.Sprintf("derived is %q", c.Derived)
	}
	if c.Kept == launch.SourceUser {
		return fmt.Sprintf("%s; kept, --override changes that (%s)", text, c.Rule)
	}
	return fmt.Sprintf("%s; overridden (%s)", text, c.Rule)
}
