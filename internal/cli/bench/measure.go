package bench

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/classic"
	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/cpus"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/verbs"
)

func runBench(app *cli.App, cmd *cobra.Command, flags benchFlags, args []string) (err error) {
	cfg, err := flags.resolve(cmd, app.Config.Values, args)
	if err != nil {
		return cli.UsageError(cmd, cli.WithHints(err, settingHints(app.Config)...))
	}
	ctx := cmd.Context()
	if cfg.GPU != nil { // before a device is open: C may read the environment from then on
		if err := os.Setenv(bench.ScatterVariable, bench.ScatterOff); err != nil {
			return err
		}
	}
	peer := cli.Toward{
		ByAddress: cfg.RDMACM != bench.RDMACMOff, Connects: cfg.RDMACM == bench.RDMACMConnect,
	}
	if len(args) > 0 {
		peer.Host = args[0]
	}
	device, why, err := cli.OpenVerbs(ctx, app.Config.Device, peer)
	if err != nil {
		return unusable(err)
	}
	if why != "" {
		app.Out.Note("%s", why)
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	if err := adapt(ctx, app, device, &cfg, cmd.Flags().Changed("gid-index"), flags.numa); err != nil {
		return err
	}
	if cfg.CPUUtil && cfg.Role == perftest.RoleServer && measuresNothing(cfg.Test) {
		const text = "note: --cpu-util has no effect here: the server of %v measures nothing; give it to the client"
		app.Out.Note(text, cfg.Test)
	}
	for _, advice := range device.Advice() {
		app.Out.Note("note: %s", advice)
	}
	classicText := &bytes.Buffer{}
	printer := &classic.Printer{W: classicText, Gbits: cfg.ReportGbps, CPUUtil: cfg.CPUUtil}
	if app.Out.Format() == formatClassic {
		cfg.Observer = printer.Observer()
	}
	result, err := measure(ctx, app, device, flags.tcpPort, args, cfg, printer)
	if _, wrong := errors.AsType[*bench.DatagramSizeError](err); wrong {
		err = cli.UsageError(cmd, err)
	}
	for _, note := range result.Notes { // after an error too, which they may explain
		app.Out.Note("note: %s", note)
	}
	if err != nil {
		return err
	}
	if result.Unacknowledged {
		app.Out.Note("note: the peer ended before it acknowledged the last message, which perhaps did not arrive; " +
			"the figures don't depend on it")
	}
	return printResult(app, &result, printer, classicText)
}

// printResult prints the result in the chosen format; text is what printer writes to.
func printResult(app *cli.App, result *bench.Result, printer *classic.Printer, text *bytes.Buffer) error {
	switch app.Out.Format() {
	case formatClassic:
		printer.Finish()
		if result.Scale != "" {
			app.Out.Note("%s: %s", result.Device, result.Scale)
		}
		return app.Out.Raw(text.Bytes())
	case formatCSV:
		var table bytes.Buffer
		if err := result.WriteCSV(&table); err != nil {
			return err
		}
		return app.Out.Raw(table.Bytes())
	}
	return app.Out.Print(*result, benchBlocks(result)...)
}

// measuresNothing reports whether the server of a test takes no part in the measurement.
func measuresNothing(test bench.Test) bool {
	return test == bench.WriteBW || test == bench.ReadBW || test == bench.ReadLat
}

// unusable gives an error of opening a device the exit code of a device that can't be used, unless
// its cause has one.
func unusable(err error) error {
	if cli.ExitCode(err) != cli.ExitFault {
		return err
	}
	return &cli.ExitError{Code: cli.ExitNotFound, Err: err}
}

// adapt chooses what depends on the device: the GID, unless one is given, and the NUMA node.
func adapt(
	ctx context.Context, app *cli.App, device *verbs.Device, cfg *bench.Config, gidGiven bool, numa string,
) error {
	if !gidGiven {
		index, why, err := cli.ChooseGID(ctx, device, cfg.Port)
		if err != nil {
			return err
		}
		if why != "" {
			app.Out.Note("%s", why)
		}
		cfg.GIDIndex = index
	}
	allowed, err := cpus.Allowed()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	where, err := place(os.DirFS("/"), device.Name(), numa, allowed)
	if err != nil {
		return err
	}
	if where.note != "" {
		app.Out.Note("%s", where.note)
	}
	cfg.CPUs, cfg.NUMANode = where.cpus, where.node
	return nil
}

// measure connects and runs the test.
func measure(
	ctx context.Context, app *cli.App, device *verbs.Device, port int, args []string, cfg bench.Config,
	printer *classic.Printer,
) (result bench.Result, err error) {
	if err := bench.Check(ctx, device, cfg); err != nil { // before the other end has to wait
		hints := settingHints(app.Config)
		if _, ok := errors.AsType[*bench.GPUAccessError](err); ok {
			hints = append(hints, cli.KernelDevicesHint(ctx))
		}
		if errors.Is(err, verbs.ErrNotSupported) {
			err = &cli.ExitError{Code: cli.ExitNotFound, Err: err}
		}
		return bench.Result{}, cli.WithHints(err, hints...)
	}
	host := ""
	if len(args) > 0 {
		host = args[0]
	}
	conn, err := bench.Meet(ctx, device, host, port, cfg, func() {
		printer.Waiting()
		app.Out.Note("%v on %s: waiting for a client on %s port %d", cfg.Test, device.Name(), network(cfg.RDMACM),
			port)
	})
	if err != nil {
		return bench.Result{}, cli.WithHints(err, connectHints(err, host)...)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	defer showProgress(app, &cfg)()
	return bench.Run(ctx, device, conn, cfg)
}

// showProgress shows how far a test is that takes a given time or measures all sizes. done removes
// the line.
func showProgress(app *cli.App, cfg *bench.Config) (done func()) {
	var progress *output.Progress
	o := &cfg.Observer
	started, bandwidth, latency := o.Started, o.Bandwidth, o.Latency
	o.Started = func(s *bench.Setup) {
		if started != nil {
			started(s)
		}
		switch {
		case cfg.Duration > 0:
			progress = app.Out.Timed("measuring", cfg.Duration)
		case cfg.AllSizes:
			progress = app.Out.Progress("measured: sizes", len(cfg.Sizes()))
		}
	}
	measured := func() {
		if progress != nil && cfg.Duration == 0 {
			progress.Add(1)
		}
	}
	o.Bandwidth = func(p bench.BandwidthPoint) {
		if bandwidth != nil {
			bandwidth(p)
		}
		measured()
	}
	o.Latency = func(p bench.LatencyPoint) {
		if latency != nil {
			latency(p)
		}
		measured()
	}
	return func() {
		if progress != nil {
			progress.Done()
		}
	}
}

// connectHints returns hints for a server that doesn't run, or can't listen.
func connectHints(err error, host string) []string {
	var lookup *net.DNSError
	if _, ok := errors.AsType[*bench.RefusedError](err); ok {
		return nil // it has its own
	}
	switch {
	case errors.As(err, &lookup):
		return append(cli.Hints(cli.PeerError(host)), "HOST is the name or address of the machine that runs the server")
	case host != "" && errors.Is(err, syscall.EINVAL):
		return cli.ZoneHints(host)
	case host != "" && cli.ExitCode(err) == cli.ExitUnreachable:
		return []string{"start the server first, with the same -p at both ends, and without -R; a server accepts " +
			"one client"}
	case host == "" && (errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EACCES)):
		return []string{"-p PORT selects another port; use the same one at both ends"}
	}
	return nil
}
