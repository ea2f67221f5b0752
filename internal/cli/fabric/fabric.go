package fabric

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/edge/wholefile"
)

// fabricExitCodes is what the commands below fabric have in common.
const fabricExitCodes = `The exit code is 7 when the sweep is partial: nodes that don't answer, --budget used up,
Ctrl-C; --timeout ends with 6. What is known is printed, and what isn't with the reason. 3 means
that there is no port to go through or nothing to list, 4 that the port may not be opened, 5 that
the own port doesn't answer. When --save fails, the list is printed all the same, and the end is 2
for a folder that isn't there or a folder as FILE, 4 where writing is denied, and 1 otherwise.`

// fabricFlags choose the subnet: they are flags of all commands below fabric.
type fabricFlags struct {
	transport, from, save, rescan string
	budget                        cli.SecondsValue
	// unsaved is why --save failed, which ends the command behind its list.
	unsaved error
	// live says that a saved topology alone doesn't help the command.
	live bool
}

func newFabricCommand(app *cli.App) *cobra.Command {
	var flags fabricFlags
	cmd := &cobra.Command{
		Use:   "fabric",
		Short: "Read an InfiniBand fabric: one sweep, every list",
		Long: `Fabric reads an InfiniBand subnet through a port of this machine: one sweep for each command, with
many questions under way at a time. A node that doesn't answer costs a bounded time and is listed.
The sweep goes by directed routes, so it needs no subnet manager; LIDs, routes and counters do.

Management datagrams go through /dev/infiniband/umad* (root, or who may open it), or into a running
ibsim when SIM_HOST or IBSIM_SERVER_NAME is set, as umad2sim reads it (also SIM_SET_ISSM,
IBSIM_SOCKNAME, IBSIM_SERVER_PORT).

"fabric topology --save FILE" keeps a sweep; --from FILE answers from it instead of asking the
subnet, --rescan FILE asks for what may have changed since. What all lists need is kept by
"fabric topology --routes --counters --save FILE".

Nodes are named by description ("MF0;leaf0:MQM9700/U1"), by a word of it (leaf0), by GUID
(0x2c90300000001) or LID (7). "[N]" behind a name or GUID is a port, as lists print it:
"host1 mlx5_0[1]". Where several nodes are meant, patterns do too: "leaf*", or "host1[0-9]" when no
node is named host1.`,
		Example: `  rdmactl fabric links
  rdmactl fabric topology --routes --counters --save fabric.json
  rdmactl fabric trace --from fabric.json host1 host12`,
	}
	flags.addTo(cmd)
	cmd.AddCommand(
		newFabricSMCommand(app, &flags),
		newFabricSwitchesCommand(app, &flags),
		newFabricHostsCommand(app, &flags),
		newFabricLinksCommand(app, &flags),
		newFabricTopologyCommand(app, &flags),
		newFabricTraceCommand(app, &flags),
		newFabricErrorsCommand(app, &flags),
		newFabricPingCommand(app, &flags),
	)
	for _, sub := range cmd.Commands() {
		run := sub.RunE
		sub.RunE = func(cmd *cobra.Command, args []string) error {
			return flags.end(timedOut(cmd.Context(), run(cmd, args)))
		}
	}
	return cmd
}

// timedOut gives the end of a partial sweep that --timeout cut short the exit code of a timeout.
func timedOut(ctx context.Context, err error) error {
	exit, ended := errors.AsType[*cli.ExitError](err)
	cut, timeout := errors.AsType[*cli.TimeoutError](context.Cause(ctx))
	switch {
	case !timeout || !ended || exit.Code != cli.ExitPartial:
		return err
	case exit.Err == nil:
		return cut
	}
	return &cli.ExitError{Code: cli.ExitTimeout, Err: err}
}

// end is how a command ends, whose list may not have been saved.
func (f *fabricFlags) end(err error) error {
	exit, ended := errors.AsType[*cli.ExitError](err)
	switch {
	case f.unsaved == nil:
		return err
	case err == nil, ended && exit.Err == nil: // the list is whole, or says what it lacks
		return f.unsaved
	}
	return errors.Join(f.unsaved, err)
}

// keep saves what --save asks for. It may be called again for a later reading.
func (f *fabricFlags) keep(t *fabric.Topology) {
	if f.save != "" {
		f.unsaved = saveTopology(f.save, t)
	}
}

func (f *fabricFlags) addTo(cmd *cobra.Command) {
	set := cmd.PersistentFlags()
	cli.AddSetting(cmd, set, "device", "C")
	set.Lookup("device").Usage = "go through this `DEVICE`, such as mlx5_0 (default the first active InfiniBand port)"
	cli.AddSetting(cmd, set, "port", "P")
	set.Lookup("port").Usage = "go through this `PORT` of the device"
	set.StringVar(&f.transport, "transport", "auto",
		"send datagrams by this `WAY`: umad, ibsim, or auto, as the environment says")
	set.StringVar(&f.from, "from", "", "answer from the topology saved in `FILE`, - for standard input")
	set.StringVar(&f.rescan, "rescan", "", "take from the topology saved in `FILE` what can't have changed")
	set.StringVar(&f.save, "save", "", "save the topology that was read to `FILE`")
	set.Var(&f.budget, "budget", "end the sweep after this `TIME` with what is known (default 5m)")
	cli.CompleteWords(cmd, "transport", fabricTransports())
	for _, file := range []string{"from", "rescan", "save"} {
		_ = cmd.MarkPersistentFlagFilename(file, "json")
	}
	for _, other := range []string{"rescan", "save", "budget"} {
		cmd.MarkFlagsMutuallyExclusive("from", other)
	}
}

func fabricTransports() []string {
	return []string{"auto", string(fabric.KindUMAD), string(fabric.KindIBSim)}
}

// check refuses flags that contradict each other before anything is asked.
func (f *fabricFlags) check(cmd *cobra.Command) error {
	if !slices.Contains(fabricTransports(), f.transport) {
		return cli.UsageError(cmd,
			fmt.Errorf("--transport %q is not one of %s", f.transport, strings.Join(fabricTransports(), ", ")))
	}
	for _, name := range []string{"save", "rescan"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return cli.UsageError(cmd, fmt.Errorf("--%s: empty", name))
		}
	}
	if f.save == "-" {
		return cli.UsageError(cmd, errors.New("--save takes a file; \"fabric topology -o json\" prints the same"))
	}
	return nil
}

// sweepless refuses the flags of a sweep for what does without one.
func (f *fabricFlags) sweepless(cmd *cobra.Command, what string) error {
	for _, name := range []string{"save", "rescan"} {
		if cmd.Flags().Changed(name) {
			return cli.UsageError(cmd, fmt.Errorf("--%s: %s reads no fabric", name, what))
		}
	}
	return nil
}

// fabricView is what a command reads, and where it got it from.
type fabricView struct {
	*fabric.Topology
	transport fabric.Transport // nil for a saved topology
	previous  *fabric.Topology // of --rescan
	// cut is why the sweep was ended early, nil when it wasn't.
	cut error
}

// Close gives the port back.
func (s *fabricView) Close() {
	if s.transport != nil {
		_ = s.transport.Close()
	}
}

// end is how a command ends that has printed what it knows and has nothing worse to report.
func (s *fabricView) end() error {
	_, timeout := errors.AsType[*cli.TimeoutError](s.cut)
	switch {
	case timeout:
		return s.cut
	case !s.Complete:
		return cli.ExitSilently(cli.ExitPartial)
	}
	return nil
}

// readSubnet reads what a command asks for: from a file, or from the subnet.
func readSubnet(app *cli.App, cmd *cobra.Command, f *fabricFlags, o fabric.Options) (*fabricView, error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	if f.from != "" {
		t, err := readTopology(app, "--from", f.from)
		if err != nil {
			return nil, err
		}
		return &fabricView{Topology: t}, nil
	}
	if f.rescan != "" {
		previous, err := readTopology(app, "--rescan", f.rescan)
		if err != nil {
			return nil, err
		}
		o.Previous = previous
	}
	transport, err := openFabric(cmd.Context(), app, f)
	if err != nil {
		return nil, err
	}
	s := &fabricView{transport: transport, previous: o.Previous}
	if err := sweep(cmd.Context(), app, s, f, o); err != nil {
		s.Close()
		return nil, err
	}
	f.keep(s.Topology)
	return s, nil
}

// discover reads the subnet and shows that it does.
func discover(
	ctx context.Context, app *cli.App, transport fabric.Transport, f *fabricFlags, o fabric.Options,
) (*fabric.Topology, error) {
	o.Budget = time.Duration(f.budget)
	progress := app.Out.Progress("reading the fabric: answers", 0)
	defer progress.Done()
	answers := 0
	o.Progress = func(p fabric.Progress) {
		progress.Add(p.Answers - answers)
		answers = p.Answers
	}
	t, err := fabric.Discover(ctx, transport, o)
	if err == nil {
		app.Log.Debug("sweep", "nodes", len(t.Nodes), "sent", t.Stats.Sent, "retries", t.Stats.Retries,
			"took", t.Duration)
	}
	return t, err
}

// sweep reads the subnet. A sweep that was cut short is no error as long as something is known.
func sweep(ctx context.Context, app *cli.App, s *fabricView, f *fabricFlags, o fabric.Options) error {
	t, err := discover(ctx, app, s.transport, f, o)
	s.Topology = t
	switch {
	case err == nil:
		return nil
	case t == nil || len(t.Nodes) == 0:
		if budget := time.Duration(f.budget); budget > 0 && t != nil && t.Duration >= budget && ctx.Err() == nil {
			return cli.WithHints(cli.Exitf(cli.ExitTimeout, "%w", err), "--budget gives the sweep more time")
		}
		return sweepError(err)
	}
	s.cut = err
	app.Out.Note("warning: %v: what follows is what was known until then", err)
	return nil
}

// sweepError gives a sweep that found nothing its exit code.
func sweepError(err error) error {
	if errors.Is(err, fabric.ErrNoSubnetManagement) {
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "%w", err),
			"-C names an InfiniBand device; of RoCE ports rdmactl fabric ping reaches the GIDs")
	}
	if errors.Is(err, fabric.ErrNoAnswer) {
		return cli.WithHints(cli.Exitf(cli.ExitUnreachable, "%w", err),
			"is the cable in, and the port an InfiniBand port? rdmactl status shows it")
	}
	return err
}

// openFabric opens the port that flags and settings choose.
func openFabric(ctx context.Context, app *cli.App, f *fabricFlags) (fabric.Transport, error) {
	kind := fabric.Kind(f.transport)
	if f.transport == "auto" {
		kind = fabric.KindAuto
	}
	t, err := fabric.Open(ctx,
		fabric.OpenOptions{Kind: kind, Device: app.Config.Device, Port: app.Config.Port, Getenv: app.Getenv})
	switch {
	case err == nil:
		return t, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrPermission):
		return nil, cli.WithHints(err, "management datagrams need root, or a group that may open /dev/infiniband/umad*")
	}
	simulated := kind == fabric.KindIBSim || kind == fabric.KindAuto && fabric.WantsIBSim(app.Getenv)
	hint := "SIM_HOST=NODE goes into a running ibsim"
	switch {
	case simulated:
		hint = "IBSIM_SOCKNAME names the simulator, SIM_HOST the node in its net file; --transport umad " +
			"uses this machine's ports"
	case !f.live:
		hint = "--from FILE answers from a saved topology; " + hint
	}
	return nil, cli.WithHints(cli.Exitf(cli.ExitNotFound, "%w", err), hint)
}

// readTopology reads the file of a flag, or standard input for "-".
func readTopology(app *cli.App, flag, name string) (*fabric.Topology, error) {
	var r io.Reader
	if name == "-" {
		stdin, err := app.TakeStdin(flag)
		if err != nil {
			return nil, err
		}
		r, name = stdin, "standard input"
	} else {
		file, err := os.Open(name) //nolint:gosec // the user's file
		if err != nil {
			return nil, cli.InputError(fmt.Errorf("read topology: %w", err))
		}
		defer file.Close()
		r = file
	}
	t, err := fabric.ReadTopology(bufio.NewReader(r))
	switch {
	case err != nil && errors.Is(err, fabric.ErrSchema):
		err = cli.WithHints(err, "rdmactl fabric topology --save FILE writes one")
		fallthrough
	case err != nil:
		return nil, cli.Exitf(cli.ExitUsage, "%s: %w", name, err)
	case len(t.Nodes) == 0:
		return nil, cli.Exitf(cli.ExitNotFound, "%s: the saved topology has no node", name)
	}
	return t, nil
}

// saveTopology writes the whole file or leaves what was there. Errors have their exit code.
func saveTopology(name string, t *fabric.Topology) error {
	err := wholefile.Write(name, wholefile.Options{Mode: 0o644, Replace: true, KeepMode: true}, t.WriteJSON)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EISDIR):
		return cli.Exitf(cli.ExitUsage, "save topology: %w", err)
	case err != nil:
		return cli.Exitf(cli.ExitCode(err), "save topology: %w", err)
	}
	return nil
}

// printWritten is for commands that print in a format of their own.
func printWritten(app *cli.App, write func(io.Writer) error) error {
	var b strings.Builder
	if err := write(&b); err != nil {
		return err
	}
	return app.Out.Raw([]byte(b.String()))
}

// parsePositiveDuration reads a time above 0: a duration or a number of seconds.
func parsePositiveDuration(text string) (time.Duration, error) {
	d, err := config.ParseDuration(text, "10s")
	if err == nil && d <= 0 {
		err = errors.New("it is not above 0")
	}
	return d, err
}
