package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/bench/classic"
	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/verbs"
)

// pingFlags are the flags of the command.
type pingFlags struct {
	config    rping.Config
	listen    bool
	watch     bool
	check     bool
	size      string
	port      int
	source    string
	interval  cli.SecondsValue
	lateAfter cli.SecondsValue
	lostAfter cli.SecondsValue
}

func newPingCommand(app *cli.App) *cobra.Command {
	var flags pingFlags
	cmd := &cobra.Command{
		Use:   "ping [PEER]",
		Short: "Ping a peer by RDMA: READ, WRITE and SEND, with percentiles and a check of the data",
		Long: `Ping PEER by RDMA, as the C program rping does: each ping is read by the peer's device with RDMA READ and
written back with RDMA WRITE, four SENDs tell when, and the data is compared. At the other end runs
rdmactl ping --listen, or rping -s -P of rdma-core. The ends find each other by IP address and port,
through the communication manager (rdma_cm), as NVMe over Fabrics, NFS and MPI libraries do: it is
tried, too.

The time of a ping is that of all seven operations, not half a round trip. A ping that takes longer
than --late-after is late; one without an answer after --lost-after is lost. A lost ping ends the
connection, so the next one connects again. Ctrl-C ends the command with the summary, and so does the
end of the server, unless --watch is given.

Without -d the device is the one from whose address the route to PEER leads: a device of the kernel,
or else RoCE v2 in user space. With --listen, PEER is an address of this machine to listen at, and
--count is a number of clients. Figures of devices in user space are marked "software, not line rate".

Exit codes:

    0   all pings came back with correct data
    1   pings were lost, or their data differs; or listening or connecting failed
    2   wrong use: command, flag or argument
    3   no such device, or one that is in use or can't connect by address
    4   permission denied
    5   the peer can't be reached: nobody listens there, no route, or the name is unknown
    6   the peer doesn't answer, or the time limit expired (--timeout)`,
		Example: `  rdmactl ping --listen                  # on one node
  rdmactl ping 192.0.2.1                 # on the other
  rdmactl ping -c 10000 --flood -s 4K 192.0.2.1
  rdmactl ping --watch 192.0.2.1         # loss and percentiles of the last minute
  rdmactl ping -d roce@192.0.2.2 -c 5 192.0.2.1 -o json`,
		Args: flags.checkArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runPing(app, cmd, flags, args) },
	}
	flags.addTo(cmd)
	return cmd
}

func (p *pingFlags) addTo(cmd *cobra.Command) {
	f, c := cmd.Flags(), &p.config
	f.BoolVarP(&p.listen, "listen", "l", false, "wait for clients: rdmactl ping, or rping -c")
	cli.AddSetting(cmd, f, "device", "d")
	f.Lookup("device").Usage = "`NAME` of this end's device: mlx5_0; or roce@ADDRESS or roce@NETDEV for RoCE v2 in " +
		"user space (default: the one that the route to PEER begins at)"
	f.IntVarP(&p.port, "port", "p", rping.DefaultPort, "`PORT` of the server in port space TCP of rdma_cm")
	f.StringVarP(&p.source, "source", "I", "", "`ADDRESS` of this machine to connect from")
	f.IntVarP(&c.Count, "count", "c", 0, "end after this `NUMBER` of pings, or of clients with --listen (default: "+
		"after Ctrl-C)")
	f.VarP(&p.interval, "interval", "i", "`TIME` from one ping to the next (default 1s)")
	f.BoolVarP(&c.Flood, "flood", "f", false, "send each ping as soon as the one before has come back")
	f.StringVarP(&p.size, "size", "s", "", fmt.Sprintf("size of a ping in `BYTES`, %d to %d; K may follow (default %d)",
		rping.MinSize, rping.MaxSize, rping.DefaultSize))
	f.BoolVar(&p.check, "check", true, "compare the data that comes back (--check=false: don't)")
	f.Var(&p.lateAfter, "late-after", "count pings that take longer than this `TIME` as late (default: the interval; "+
		"100ms with --flood)")
	f.Var(&p.lostAfter, "lost-after", "count pings without an answer after this `TIME` as lost (default 10s)")
	f.BoolVarP(&p.watch, "watch", "w", false, "show loss and percentiles of the last minute, redrawn each second on a "+
		"terminal, elsewhere a line a minute; go on when the server ends")
	cmd.MarkFlagsMutuallyExclusive("listen", "watch")
	cmd.MarkFlagsMutuallyExclusive("flood", "interval")
	for _, name := range []string{"flood", "interval", "size", "source", "late-after", "lost-after", "check"} {
		cmd.MarkFlagsMutuallyExclusive("listen", name)
	}
}

func (p *pingFlags) checkArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 && !p.listen:
		return cli.UsageError(cmd, cli.WithHints(errors.New("no PEER"), "rdmactl ping --listen waits for a peer"))
	case len(args) > 1:
		return cli.UsageError(cmd, fmt.Errorf("unexpected argument %q", args[1]))
	case len(args) == 1 && args[0] == "":
		return cli.UsageError(cmd, errors.New("PEER is empty"))
	case len(args) == 1 && cli.PeerError(args[0]) != nil:
		return cli.UsageError(cmd, fmt.Errorf("PEER %w", cli.PeerError(args[0])))
	case p.port < 1 || p.port > 65535:
		return cli.UsageError(cmd, fmt.Errorf("--port %d is not 1 to 65535", p.port))
	case p.config.Count < 0 || cmd.Flags().Changed("count") && p.config.Count == 0:
		return cli.UsageError(cmd, fmt.Errorf("--count %d: must be greater than 0", p.config.Count))
	}
	for _, name := range []string{"interval", "late-after", "lost-after"} {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return cli.UsageError(cmd, fmt.Errorf("--%s must be greater than 0", name))
		}
	}
	return p.resolve(cmd)
}

// resolve completes the configuration.
func (p *pingFlags) resolve(cmd *cobra.Command) error {
	c := &p.config
	c.Interval, c.Late, c.Patience = time.Duration(p.interval), time.Duration(p.lateAfter), time.Duration(p.lostAfter)
	c.NoCheck, c.Forever = !p.check, p.watch
	if p.size != "" {
		size, err := classic.ParseSize(p.size)
		if err == nil && (size < rping.MinSize || size > rping.MaxSize) {
			err = fmt.Errorf("size %d is not %d to %d bytes", size, rping.MinSize, rping.MaxSize)
		}
		if err != nil {
			return cli.UsageError(cmd, fmt.Errorf("--size: %w", err))
		}
		c.Size = size
	}
	if p.source != "" {
		source, err := netip.ParseAddr(p.source)
		if err != nil {
			return cli.UsageError(cmd, fmt.Errorf("--source %q is no address", p.source))
		}
		c.Local = source
	}
	return nil
}

func runPing(app *cli.App, cmd *cobra.Command, flags pingFlags, args []string) error {
	ctx := cmd.Context()
	var peer netip.Addr
	if len(args) == 1 {
		var err error
		if peer, err = lookup(ctx, args[0]); err != nil {
			f := rping.Explain(err, rping.StageResolve, "", netip.AddrPort{})
			f.Remedies = []string{"PEER is the name or address of an RDMA device's network interface at the other end"}
			return flags.failed(app, args[0], "", f)
		}
	}
	addr := netip.AddrPortFrom(peer, uint16(flags.port)) //nolint:gosec // checkArgs has checked it
	want := cli.ConnectorRequest{Name: app.Config.Device, Local: flags.config.Local, Remote: peer}
	if flags.listen {
		want.Local, want.Remote = peer, netip.Addr{}
	}
	device, why, err := cli.OpenConnector(ctx, want)
	if ctx.Err() != nil {
		err = fmt.Errorf("open a device: %w", context.Cause(ctx))
		if device != nil {
			err = errors.Join(err, device.Close())
		}
		return err
	}
	if err != nil {
		return flags.failed(app, addr.String(), app.Config.Device, openFailure(err, app.Config.Device, addr))
	}
	if why != "" {
		app.Out.Note("%s", why)
	}
	for _, advice := range device.Advice() {
		app.Out.Note("note: %s", advice)
	}
	flags.config.Software = isSoftware(ctx, device.Name())
	if flags.listen {
		err = flags.serve(ctx, app, device, addr)
	} else {
		err = flags.ping(ctx, app, device, addr)
	}
	return errors.Join(err, device.Close())
}

// lookup returns the address of a peer, IPv4 first.
func lookup(ctx context.Context, name string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Unmap(), nil
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return netip.Addr{}, err
	}
	for _, addr := range list {
		if addr.Unmap().Is4() {
			return addr.Unmap(), nil
		}
	}
	return list[0], nil
}

// openFailure explains why no device can be used, with the hints of the error.
func openFailure(err error, name string, addr netip.AddrPort) *rping.Failure {
	stage := rping.StageOpen
	if _, ok := errors.AsType[*cli.RouteError](err); ok {
		stage = rping.StageResolve
	}
	if name == "" {
		name = "a device"
	}
	f := rping.Explain(err, stage, name, addr)
	f.Remedies = append(f.Remedies, cli.Hints(err)...)
	return f
}

// failed prints a failure before the first ping, and returns its error.
func (p *pingFlags) failed(app *cli.App, peer, device string, f *rping.Failure) error {
	r := rping.Result{
		Schema: rping.Schema, Taken: time.Now().UTC(), Remote: peer, Device: device, Check: p.check, Failure: f,
		Bytes: p.config.Size,
	}
	if err := app.Out.Print(r, pingFailureBlock(f)); err != nil {
		return err
	}
	return pingVerdict(context.Background(), &r)
}

// ping pings until the count is reached, the server ends, or the user ends it.
func (p *pingFlags) ping(ctx context.Context, app *cli.App, device *verbs.Device, addr netip.AddrPort) error {
	show := &pingLines{app: app, addr: addr}
	if p.watch {
		w := newPingWatch(app, device.Name(), addr, p.config.Software)
		defer w.stop()
		p.config.Sent = w.add
		go w.run()
		r, err := rping.Run(ctx, device, addr, p.config)
		w.stop()
		return p.finish(ctx, app, &r, err)
	}
	if !p.config.Flood && !app.Out.Structured() {
		p.config.Sent = show.add
	}
	r, err := rping.Run(ctx, device, addr, p.config)
	return p.finish(ctx, app, &r, err)
}

// finish prints the result.
func (p *pingFlags) finish(ctx context.Context, app *cli.App, r *rping.Result, err error) error {
	if err != nil {
		return err
	}
	if ctx.Err() != nil && r.Connections == 0 {
		err := fmt.Errorf("connect to %s: %w", r.Remote, context.Cause(ctx))
		if _, signal := errors.AsType[*cli.SignalError](err); signal {
			return err
		}
		return cli.WithHints(err, "nothing has answered the connection request so far: does rdmactl ping --listen or "+
			"rping -s run there, at this address?")
	}
	out := app.Out.Print
	if p.watch && app.Out.Structured() {
		out = app.Out.Frame
	}
	if err := out(r, pingBlocks(r)...); err != nil {
		return err
	}
	return pingVerdict(ctx, r)
}

// pingVerdict returns the error of a run, without hints: the output has the remedies.
func pingVerdict(ctx context.Context, r *rping.Result) error {
	if f := r.Failure; f != nil {
		return &cli.ExitError{Code: pingExitCode(f), Err: errors.New(f.Error())}
	}
	err := context.Cause(ctx)
	if signal, ok := errors.AsType[*cli.SignalError](err); ok && signal.Signal == os.Interrupt && r.Received > 0 {
		return nil
	}
	return err
}

func pingExitCode(f *rping.Failure) int {
	switch f.Code {
	case rping.CodeName, rping.CodeNoRoute, rping.CodeNobodyListens:
		return cli.ExitUnreachable
	case rping.CodeNoAnswer:
		return cli.ExitTimeout
	case rping.CodeNoConnector, rping.CodeNoDevice, rping.CodeFamily, rping.CodeDeviceInUse:
		return cli.ExitNotFound
	case rping.CodeOpen:
		return cli.ExitCode(errors.Unwrap(f))
	}
	return cli.ExitFault
}
