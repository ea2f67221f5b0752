package fabric

import (
	"bufio"
	"bytes"
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
	"github.com/rdmakit/rdmakit/fabric/hosts"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/edge/umad"
	"github.com/rdmakit/rdmakit/internal/edge/wholefile"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// fabricExitCodes ends the table of exit codes in the help of a command that sweeps the subnet.
const fabricExitCodes = `    2   wrong use; also --save FILE if FILE is a folder or its folder doesn't exist
    3   no usable port, or nothing to list
    4   no permission to open the port, or to write the file of --save
    5   the local port doesn't answer
    6   the time limit expired (--timeout): the incomplete result and the reasons are printed
    7   partial result: nodes that don't answer, --budget used up, or Ctrl-C`

// exitCodesListed begins the table of exit codes of a command that only lists.
const exitCodesListed = `Exit codes:

    0   the list is complete
    1   --save failed; the list is printed nevertheless
`

// fabricFlags choose the subnet: they are flags of all commands below fabric.
type fabricFlags struct {
	transport, from, save, rescan string
	budget, madTimeout            cli.SecondsValue
	retries                       int
	hosts                         []string
	// unsaved is the error of --save, which the command returns after printing its list.
	unsaved error
	keysDir string
	keys    fabric.Keys
	// live reports that the command needs the subnet, not just a saved topology.
	live    bool
	address addressFlags
}

func newFabricCommand(app *cli.App) *cobra.Command {
	var flags fabricFlags
	cmd := &cobra.Command{
		Use:   "fabric",
		Short: "Show nodes, links, routes and errors of an InfiniBand fabric",
		Long: `Read an InfiniBand subnet through a port of this machine. Each command sweeps the subnet once, with
many outstanding requests. The sweep uses directed routes and needs no subnet manager; LIDs, routes
and counters need one.

A node that doesn't answer is listed after 4 s, which all such nodes together cost once: 1 s for
each of 1 + 3 tries, or longer if the node's earlier answers, or the times that it reports
(SubnetTimeout, RespTimeValue), are longer. --mad-timeout and --retries set both.

Counters, registers, pings and subnet administration are queried with the P_Key of a partition that
this port is in: the default partition where there is one, as full member rather than limited, or
the partition of the path that subnet administration has recorded, whose service level is used too.
--pkey-idx INDEX and --pkey KEY choose another one.

Management datagrams go through /dev/infiniband/umad*, which usually only root may open. If SIM_HOST
or IBSIM_SERVER_NAME is set, they go to a running ibsim instead; SIM_SET_ISSM, IBSIM_SOCKNAME and
IBSIM_SERVER_PORT have the same meaning as for umad2sim.

"fabric topology --save FILE" saves a sweep. With --from FILE a command reads the saved sweep
instead of the subnet; with --rescan FILE it reads from the subnet only what may have changed since.
"fabric topology --routes --counters --save FILE" saves everything that the other commands need.

Nodes whose M_Key has protect level 2 or 3 answer only requests with their M_Key, and counters may
need a PM_Key, registers a VS_Key. --keys DIR reads them from the files of the subnet manager, such
as /var/cache/opensm; --m-key NUMBER is for subnets with one M_Key.

--hosts PATH reads the hosts' own view: bundles of "rdmactl snapshot", output of "rdmactl detect -o
json", node trees, or directories of these. Ports are then shown as "gpu-07 mlx5_3[1] rail 3" and
can be given like this, and what the hosts and the sweep don't have in common is listed.

A NODE is a node description ("MF0;leaf0:MQM9700/U1"), a word of one (leaf0), a GUID
(0x2c90300000001) or a LID (7). "[N]" after a name or GUID is a port: "host1 mlx5_0[1]". Commands
that accept several nodes also accept patterns: "leaf*", or "host1[0-9]" if no node is named host1.`,
		Example: `  rdmactl fabric links
  rdmactl fabric switches --keys /var/cache/opensm
  rdmactl fabric topology --routes --counters --save fabric.json
  rdmactl fabric trace --from fabric.json host1 host12
  rdmactl fabric errors --pkey 0x8001`,
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
		newFabricCablesCommand(app, &flags),
		newFabricPingCommand(app, &flags),
		newFabricSACommand(app, &flags),
		newFabricSimulateCommand(app),
	)
	for _, sub := range cmd.Commands() {
		run := sub.RunE
		sub.RunE = func(cmd *cobra.Command, args []string) error {
			return flags.end(timedOut(cmd.Context(), run(cmd, args)))
		}
	}
	return cmd
}

// timedOut turns the exit code of a partial sweep into that of a timeout if --timeout ended it.
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

// end adds the error of --save to the error of a command.
func (f *fabricFlags) end(err error) error {
	exit, ended := errors.AsType[*cli.ExitError](err)
	switch {
	case f.unsaved == nil:
		return err
	case err == nil, ended && exit.Err == nil: // the list is complete, or shows what is missing
		return f.unsaved
	}
	return errors.Join(f.unsaved, err)
}

// keep saves the topology for --save. It may be called again for a later reading.
func (f *fabricFlags) keep(t *fabric.Topology) {
	if f.save != "" {
		f.unsaved = saveTopology(f.save, t)
	}
}

func (f *fabricFlags) addTo(cmd *cobra.Command) {
	set := cmd.PersistentFlags()
	cli.AddSetting(cmd, set, "device", "C")
	set.Lookup("device").Usage = "use this `DEVICE`, such as mlx5_0, to access the subnet (default: the device of " +
		"the first active InfiniBand port)"
	cli.AddSetting(cmd, set, "port", "P")
	set.Lookup("port").Usage = "use this `PORT` of the device"
	set.StringVar(&f.transport, "transport", "auto",
		"send datagrams through this `TRANSPORT`: umad, ibsim, or auto, which is ibsim if SIM_HOST or "+
			"IBSIM_SERVER_NAME is set")
	set.StringVar(&f.from, "from", "", "read the topology saved in `FILE` instead of the subnet; - is standard input")
	set.StringVar(&f.rescan, "rescan", "",
		"sweep the subnet, but take what can't have changed from `FILE`, a saved topology")
	set.StringVar(&f.save, "save", "", "save the topology to `FILE`")
	set.Var(&f.budget, "budget", "end the sweep after this `TIME` with a partial result (default 5m)")
	set.Var(&f.madTimeout, "mad-timeout", "wait this `TIME` for the answer to each try (default 1s, or longer as the "+
		"node needs)")
	set.IntVar(&f.retries, "retries", usualRetries, "send a datagram without an answer again up to `N` times")
	f.address.addTo(cmd)
	cli.CompleteWords(cmd, "transport", fabricTransports())
	_ = cmd.MarkPersistentFlagFilename("hosts")
	for _, file := range []string{"from", "rescan", "save"} {
		_ = cmd.MarkPersistentFlagFilename(file, "json")
	}
	f.addKeysTo(cmd, set)
	set.StringArrayVar(&f.hosts, "hosts", nil, "show ports by their hosts' names, devices and rails, read from "+
		"`PATH`: a bundle, a saved node, or a directory of these; can be repeated")
	for _, other := range append([]string{"rescan", "save", "budget", "mad-timeout", "retries"}, keyFlagNames()...) {
		cmd.MarkFlagsMutuallyExclusive("from", other)
	}
}

// usualRetries are those of libibnetdisc.
const usualRetries = 3

// tries returns --mad-timeout and --retries as the packages expect them.
func (f *fabricFlags) tries() (timeout time.Duration, retries int) {
	if f.retries == 0 {
		return time.Duration(f.madTimeout), -1
	}
	return time.Duration(f.madTimeout), f.retries
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
	if (f.from == "-" || f.rescan == "-") && slices.Contains(f.hosts, "-") {
		return cli.UsageError(cmd, errors.New("--hosts -: another flag already reads standard input"))
	}
	if f.retries < 0 || f.retries > fabric.MaxRetries {
		return cli.UsageError(cmd, fmt.Errorf("--retries %d is not between 0 and %d", f.retries, fabric.MaxRetries))
	}
	if f.save == "-" {
		return cli.UsageError(cmd,
			errors.New("--save requires a file name; \"fabric topology -o json\" prints the same data"))
	}
	if err := f.address.check(cmd); err != nil {
		return err
	}
	return f.readKeys(cmd)
}

// sweepless rejects the flags of a sweep for a command that doesn't sweep.
func (f *fabricFlags) sweepless(cmd *cobra.Command, what string) error {
	for _, name := range []string{"save", "rescan", "hosts", "budget"} {
		if cmd.Flags().Changed(name) {
			return cli.UsageError(cmd, fmt.Errorf("--%s can't be used: %s doesn't sweep the fabric", name, what))
		}
	}
	return nil
}

// fabricView is the topology that a command reads, with its source.
type fabricView struct {
	*fabric.Topology
	transport fabric.Transport // nil for a saved topology
	previous  *fabric.Topology // the topology of --rescan
	hosts     []*hosts.Host    // of --hosts
	// joined is the comparison with them, nil without --hosts.
	joined *hosts.Report
	// cut is the reason why the sweep ended early, nil if it didn't.
	cut error
}

// Close closes the port.
func (s *fabricView) Close() {
	if s.transport != nil {
		_ = s.transport.Close()
	}
}

// end returns the error of a command that has printed its result and has no worse error to report.
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

// readSubnet reads the topology that a command needs from a file or from the subnet.
func readSubnet(app *cli.App, cmd *cobra.Command, f *fabricFlags, o fabric.Options) (*fabricView, error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	list, err := readHosts(cmd.Context(), app, f.hosts)
	if err != nil {
		return nil, err
	}
	if f.from != "" {
		if f.address.set != "" && !f.live {
			return nil, cli.UsageError(cmd, fmt.Errorf("--from and --%s can't be combined", f.address.set))
		}
		t, err := readTopology(app, "--from", f.from)
		if err != nil {
			return nil, err
		}
		s := &fabricView{Topology: t, hosts: list}
		s.join()
		return s, nil
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
	s := &fabricView{transport: transport, previous: o.Previous, hosts: list}
	if err := sweep(cmd.Context(), app, s, f, o); err != nil {
		s.Close()
		return nil, err
	}
	s.join()
	f.keep(s.Topology)
	return s, nil
}

// discover sweeps the subnet and shows its progress.
func discover(
	ctx context.Context, app *cli.App, transport fabric.Transport, f *fabricFlags, o fabric.Options,
) (*fabric.Topology, error) {
	o.Budget = time.Duration(f.budget)
	o.Timeout, o.Retries = f.tries()
	o.Keys = f.keys
	progress := app.Out.Progress("reading the fabric: answers", 0)
	defer progress.Done()
	answers := 0
	o.Progress = func(p fabric.Progress) {
		progress.Add(p.Answers - answers)
		answers = p.Answers
	}
	if o.Counters {
		learnPaths(ctx, app, transport, f.keys)
	}
	t, err := fabric.Discover(ctx, transport, o)
	if err == nil {
		app.Log.Debug("sweep", "nodes", len(t.Nodes), "sent", t.Stats.Sent, "retries", t.Stats.Retries,
			"took", t.Duration)
	}
	return t, err
}

// sweep reads the subnet. A sweep that ended early is an error only if it found nothing.
func sweep(ctx context.Context, app *cli.App, s *fabricView, f *fabricFlags, o fabric.Options) error {
	t, err := discover(ctx, app, s.transport, f, o)
	s.Topology = t
	switch {
	case err == nil:
		return nil
	case t == nil || len(t.Nodes) == 0:
		if budget := time.Duration(f.budget); budget > 0 && t != nil && t.Duration >= budget && ctx.Err() == nil {
			return cli.WithHints(cli.Exitf(cli.ExitTimeout, "%w", err), "--budget TIME allows a longer sweep")
		}
		return sweepError(err)
	}
	s.cut = err
	app.Out.Note("warning: %v: the result is partial", err)
	return nil
}

// sweepError adds the exit code to the error of a sweep that found nothing.
func sweepError(err error) error {
	if errors.Is(err, fabric.ErrNoSubnetManagement) {
		hint := "-C must name an InfiniBand device; over RoCE, only rdmactl fabric ping works, to a GID"
		if _, ok := errors.AsType[*umad.NoQP0Error](err); ok {
			hint = "-C chooses another device; rdmactl fabric ping LID doesn't need subnet management"
		}
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "%w", err), hint)
	}
	if errors.Is(err, fabric.ErrNoAnswer) {
		return cli.WithHints(cli.Exitf(cli.ExitUnreachable, "%w", err),
			"check the cable and that the port is an InfiniBand port: rdmactl status shows both")
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
	if err == nil {
		if err = f.address.choose(t); err == nil {
			return t, nil
		}
		_ = t.Close()
		return nil, err
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrPermission):
		return nil, cli.WithHints(err, "run as root, or as a member of a group that may open /dev/infiniband/umad*")
	}
	simulated := kind == fabric.KindIBSim || kind == fabric.KindAuto && fabric.WantsIBSim(app.Getenv)
	hint := "SIM_HOST=NODE uses a running ibsim"
	switch {
	case simulated:
		hint = "IBSIM_SOCKNAME names the simulator, SIM_HOST the node in its net file; --transport umad " +
			"uses this machine's ports"
	case !f.live:
		hint = "--from FILE reads a saved topology; " + hint
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
	return parseTopology(bufio.NewReader(r), name)
}

// parseTopology reads a saved topology. The name is for errors.
func parseTopology(in *bufio.Reader, name string) (*fabric.Topology, error) {
	const toSave = "rdmactl fabric topology --save FILE writes one"
	if kind := notTopology(in); kind != "" {
		return nil, cli.WithHints(cli.Exitf(cli.ExitUsage, "%s: not a saved topology, but %s", name, kind), toSave)
	}
	t, err := fabric.ReadTopology(in)
	switch {
	case err != nil:
		return nil, cli.WithHints(cli.Exitf(cli.ExitUsage, "%s: %w", name, err), toSave)
	case len(t.Nodes) == 0:
		return nil, cli.Exitf(cli.ExitNotFound, "%s: the saved topology has no node", name)
	}
	return t, nil
}

// notTopology describes a file that can't be a saved topology by its first bytes, or returns "".
func notTopology(in *bufio.Reader) string {
	head, _ := in.Peek(512) // a read error is reported by the next read
	if bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		return "gzip data, such as a recorded node"
	}
	return nodetree.BinaryKind(head)
}

// saveTopology writes the whole file or leaves the old one unchanged. Errors have an exit code.
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

// printWritten prints the output of write, for formats that only one command has.
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
		err = errors.New("not greater than 0")
	}
	return d, err
}
