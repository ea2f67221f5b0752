// Package connect holds the commands that try connections: rdmactl connect and rdmactl ping. It
// parses flags, finds the ports of this machine and prints the report; the work is done by the
// module's packages connect and bench/rping.
package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/connect"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/wholefile"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Commands returns the commands of this package.
func Commands() []cli.Entry {
	return []cli.Entry{
		{Group: cli.GroupNode, Build: newConnectCommand},
		{Group: cli.GroupNode, Build: newPingCommand},
	}
}

// Schemas returns an empty value of each document that the commands print with -o json, keyed by
// the name in its "schema" field.
func Schemas() map[string]any {
	return map[string]any{
		connect.Schema: connect.Report{}, rping.Schema: rping.Result{}, rping.RecentSchema: rping.Recent{},
		servedSchema: served{},
	}
}

// connectFlags are the flags of the command.
type connectFlags struct {
	config   connect.Config
	listen   bool
	all      bool
	tcpPort  int
	gidIndex int
	wait     string
	save     string

	deviceGiven bool // by -d, not by another source of the setting
	gidGiven    bool
	bothHere    bool // both ends are on this machine
	denied      bool // permission to open the second device was denied
}

// saveDefault is the value of --save without a file name.
const saveDefault = "auto"

func newConnectCommand(app *cli.App) *cobra.Command {
	var flags connectFlags
	cmd := &cobra.Command{
		Use:   "connect [DEVICE|PEER] [DEVICE]",
		Short: "Try a connection between two ports: say at which stage it fails, and why",
		Long: `Try whether two RDMA ports can exchange data: between this machine and PEER, where rdmactl connect
--listen runs; between two devices of this machine; or between the port of DEVICE and itself. An
argument that is a device of this machine (mlx5_0, mlx5_0:2, roce@eth0) is a DEVICE, any other a PEER;
with a DEVICE, -d is the other one of two.

The command opens the device, registers memory, chooses a GID, exchanges addresses with the peer over
TCP, connects queue pairs (RC), and sends messages of 64 bytes and RDMA WRITEs of 8 MiB in both
directions, whose data the receiver compares. It prints the path MTU, the chosen GIDs and why, the
latency of the small messages, the bandwidth of the large ones and the packets that were repeated. If a
stage fails, both ends print the same: what was tried and observed, what remains possible, and what to
do. No more is stated than was observed.

--cm connects the queue pairs by rdma_cm, as MPI, NVMe over Fabrics and perftest -R do: a request to the
address of the peer's device, which the communication manager there answers. The stage CM then replaces
RTR and RTS.

--all tries each compute port of this node: with PEER against the peer's port of the same rail (the
other end needs --listen --all), without PEER against itself. Figures of devices in user space
(roce@ADDRESS) are marked "software, not line rate", those over TCP "TCP, not RDMA". -d restricts --all
to one device.

--save writes the report as JSON, with facts about both nodes: host names, kernels, cards, drivers,
firmware, ports and addresses. It is meant for sending in a report about hardware.

Exit codes:

    0   data was exchanged and correct, between all ports
    1   a stage failed
    2   wrong use: command, flag or argument
    3   no such device, port or GID index, no port to try, or a device that can't be opened
    4   permission denied
    5   the peer can't be reached: nothing listens there, no route, or the name is unknown
    6   the peer doesn't answer, or the time limit expired (--timeout)`,
		Example: `  rdmactl connect mlx5_0                 # the port with itself
  rdmactl connect --listen -d mlx5_0     # on one node
  rdmactl connect -d mlx5_0 node1        # on the other
  rdmactl connect -d mlx5_0 --cm node1   # the same, connected by rdma_cm
  rdmactl connect --listen --all         # all rails: on one node
  rdmactl connect --all --save node1     # on the other`,
		Args: flags.checkArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runConnect(app, cmd, flags, args) },
	}
	flags.addTo(cmd)
	return cmd
}

func (c *connectFlags) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&c.listen, "listen", "l", false, "wait for rdmactl connect of another node")
	f.BoolVarP(&c.all, "all", "a", false,
		"try all compute ports, each with that of the same rail; with --listen, offer them")
	cli.AddSetting(cmd, f, "device", "d")
	f.Lookup("device").Usage = "`NAME` of this end's device for a connection with PEER: mlx5_0, " +
		"or roce@ADDRESS or roce@NETDEV for RoCE v2 in user space (default: the first one that can be opened)"
	f.IntVarP(&c.tcpPort, "tcp-port", "p", connect.DefaultPort, "TCP `PORT` of the exchange, the same at both ends")
	cli.AddSettingAs(cmd, f, "port", "ib-port", "i")
	f.Lookup("ib-port").Usage = "`PORT` of the device (default 1)"
	f.IntVarP(&c.gidIndex, "gid-index", "x", 0,
		"use only this `INDEX` of the GID table (default: the best that both ends have)")
	cli.AddSetting(cmd, f, "mtu", "m")
	f.Lookup("mtu").Usage = "largest path `MTU`: 256, 512, 1024, 2048 or 4096 (default the smaller one of the " +
		"ports); rdma_cm (--cm) doesn't know this limit"
	cli.AddSetting(cmd, f, "qp-timeout", "u")
	f.Lookup("qp-timeout").Usage = "acknowledgement timeout `CODE`: 4.096 us times 2^code, up to 31; 0 for no limit"
	f.IntVarP(&c.config.Pings, "pings", "n", 1000, "`NUMBER` of messages of 64 bytes; a listener uses the client's")
	f.IntVarP(&c.config.Writes, "writes", "w", 10,
		"`NUMBER` of writes of 8 MiB in each direction; a listener uses the client's")
	f.BoolVar(&c.config.AllowTCP, "allow-tcp", false,
		"end with the same measurement over TCP, also if RDMA fails; both ends need it")
	f.StringVar(&c.save, "save", "", "write the report with facts about both nodes to `FILE` "+
		"(--save=FILE; without a name to connect-HOST-TIME.json)")
	f.Lookup("save").NoOptDefVal = saveDefault
	f.BoolVar(&c.config.CM, "cm", false, "connect the queue pairs by rdma_cm (the communication manager of the "+
		"devices), not by numbers exchanged over TCP; the client's counts")
	f.StringVar(&c.wait, "wait", "hybrid", "`HOW` to wait for completions: hybrid, event, busy")
	cli.CompleteWords(cmd, "wait", []string{"hybrid", "event", "busy"})
}

// checkArgs checks the number of arguments, which depends on the flags.
func (c *connectFlags) checkArgs(cmd *cobra.Command, args []string) error {
	most, want := 2, "PEER, or one or two devices"
	switch {
	case c.listen && c.all:
		most, want = 0, "no argument with --listen and --all"
	case c.listen:
		most, want = 1, "at most a DEVICE with --listen"
	case c.all:
		most, want = 1, "at most a PEER with --all"
	case len(args) == 0:
		return cli.UsageError(cmd, cli.WithHints(errors.New("no DEVICE and no PEER"),
			"rdmactl connect --listen waits for a peer; rdmactl connect --all tries each port with itself"))
	}
	c.deviceGiven = cmd.Flags().Changed("device")
	if c.deviceGiven && !c.listen && !c.all {
		most, want = 1, "PEER or one device beside that of -d"
	}
	if len(args) > most {
		err := fmt.Errorf("unexpected argument %q: expected %s", args[most], want)
		return cli.UsageError(cmd, cli.WithHints(err, c.saveHint()...))
	}
	switch {
	case c.listen && len(args) > 0 && (c.deviceGiven || isAddress(args[0])):
		return cli.UsageError(cmd, cli.WithHints(fmt.Errorf("unexpected argument %q: --listen takes no PEER", args[0]),
			"the other end runs rdmactl connect PEER; -d selects this end's device"))
	case c.all && cmd.Flags().Changed("ib-port"):
		return cli.UsageError(cmd, errors.New("--all and --ib-port can't be combined: --all tries the compute ports"))
	case len(args) > 0 && cli.ZoneHints(args[0]) != nil:
		return cli.UsageError(cmd, cli.WithHints(fmt.Errorf("PEER %s has no network device", args[0]),
			cli.ZoneHints(args[0])...))
	case slices.Contains(args, ""):
		return cli.UsageError(cmd, errors.New("an argument is empty"))
	case cmd.Flags().Changed("save") && c.save == "":
		return cli.UsageError(cmd, errors.New("--save= has no name of a file"))
	case c.gidIndex < 0:
		return cli.UsageError(cmd, fmt.Errorf("--gid-index %d is negative", c.gidIndex))
	}
	return nil
}

// isAddress reports whether an argument is an IP address, which no device's name is.
func isAddress(arg string) bool {
	_, err := netip.ParseAddr(arg)
	return err == nil
}

// saveHint explains the syntax of --save, in which the name of a file would be an argument.
func (c *connectFlags) saveHint() []string {
	if c.save != saveDefault {
		return nil
	}
	return []string{"the file of --save follows an equals sign: --save=FILE"}
}

// resolve completes the configuration with settings and flags.
func (c *connectFlags) resolve(app *cli.App) error {
	waits := map[string]verbs.WaitMode{"hybrid": verbs.WaitHybrid, "event": verbs.WaitEvent, "busy": verbs.WaitBusy}
	wait, ok := waits[c.wait]
	if !ok {
		return fmt.Errorf("--wait %q: hybrid, event or busy", c.wait)
	}
	if c.tcpPort < 1 || c.tcpPort > 65535 {
		return fmt.Errorf("--tcp-port %d is not 1 to 65535", c.tcpPort)
	}
	if c.config.Pings == 0 || c.config.Writes == 0 {
		return errors.New("--pings and --writes must be greater than 0")
	}
	values := app.Config.Values
	c.config.Wait, c.config.MTU, c.config.Timeout = wait, ib.MTU(values.MTU), uint8(values.QPTimeout)
	if c.config.Timeout == 0 {
		c.config.Timeout = verbs.TimeoutInfinite
	}
	c.config.Route, c.config.Now, c.config.Progress = connect.KernelRoute, time.Now, app.Out.Note
	return c.config.Validate()
}

func runConnect(app *cli.App, cmd *cobra.Command, flags connectFlags, args []string) error {
	if err := flags.resolve(app); err != nil {
		return cli.UsageError(cmd, err)
	}
	if err := checkSave(flags.save); err != nil {
		return err
	}
	ctx := cmd.Context()
	var gid *int
	if cmd.Flags().Changed("gid-index") {
		gid, flags.gidGiven = &flags.gidIndex, true
	}
	n, err := readNode(ctx, app, gid)
	if err != nil {
		return err
	}
	flags.config.Node = n.facts
	report, err := flags.run(ctx, n, args)
	if err != nil {
		return err
	}
	unsaved := flags.write(app, &report)
	if err := app.Out.Print(report, blocks(&report, app.Out.Wide())...); err != nil {
		return err
	}
	return errors.Join(flags.verdict(&report), unsaved)
}

// run runs the command that arguments and flags choose.
func (c *connectFlags) run(ctx context.Context, n *node, args []string) (connect.Report, error) {
	switch {
	case c.listen:
		return c.serve(ctx, n, args)
	case c.all && len(args) == 0:
		return c.alone(ctx, n)
	case c.all:
		ports, err := c.offer(ctx, n)
		if err != nil {
			return connect.Report{}, err
		}
		return connect.Dial(ctx, args[0], c.tcpPort, ports, true, c.config)
	case c.deviceGiven && n.isDevice(args[0]):
		return c.local(ctx, n, []string{n.device, args[0]})
	case len(args) == 1 && n.isDevice(args[0]):
		return c.local(ctx, n, args)
	case len(args) > 1:
		for _, name := range args {
			if !n.isDevice(name) {
				return connect.Report{}, c.notDevice(n, name)
			}
		}
		return c.local(ctx, n, args)
	}
	port, err := n.onePort(ctx, n.device, args[0])
	if err != nil {
		return connect.Report{}, err
	}
	r, err := connect.Dial(ctx, args[0], c.tcpPort, []connect.Port{port}, false, c.config)
	for i := range r.Attempts {
		if f := r.Attempts[i].Failure; f != nil && f.Code == connect.CodeName {
			f.Remedies = append(append(f.Remedies, n.devicesHints(args[0])...), c.saveHint()...)
		}
	}
	return r, err
}

// notDevice is the error for one of two arguments that is no device of this machine.
func (c *connectFlags) notDevice(n *node, name string) error {
	err := cli.Exitf(cli.ExitNotFound, "open device %s: no such RDMA device", name)
	hints := append(c.saveHint(), "a connection with PEER has one argument; -d selects this end's device")
	return cli.WithHints(err, append(hints, n.devicesHints(name)...)...)
}

// local tries two devices of this machine, or one with itself.
func (c *connectFlags) local(ctx context.Context, n *node, args []string) (connect.Report, error) {
	first, err := n.onePort(ctx, args[0], "")
	if err != nil {
		return connect.Report{}, err
	}
	second := first
	if len(args) > 1 {
		if second, err = n.onePort(ctx, args[1], ""); err != nil {
			return connect.Report{}, err
		}
		open := second.Open
		second.Open = func(ctx context.Context) (*verbs.Device, error) {
			d, err := open(ctx)
			c.denied = errors.Is(err, fs.ErrPermission) // the report doesn't say so of the second end
			return d, err
		}
	}
	c.bothHere = true
	return connect.Local(ctx, first, second, c.config)
}

// alone tries each port of this machine with itself.
func (c *connectFlags) alone(ctx context.Context, n *node) (connect.Report, error) {
	ports, err := c.offer(ctx, n)
	if err != nil {
		return connect.Report{}, err
	}
	var all connect.Report
	cfg := c.config
	for i, port := range ports {
		r, err := connect.Local(ctx, port, port, cfg)
		if err != nil {
			return all, err
		}
		cfg.AllowTCP = false // it has nothing to do with the port
		for k := range r.Attempts {
			r.Attempts[k].Rail = port.Rail
		}
		if i == 0 {
			all = r
			continue
		}
		all.Attempts = append(all.Attempts, r.Attempts...)
	}
	return all, nil
}

// offer returns the ports of --all, and tells the peer about them.
func (c *connectFlags) offer(ctx context.Context, n *node) ([]connect.Port, error) {
	ports, err := n.allPorts(ctx)
	if n.device != "" && err == nil {
		n.app.Out.Note("--all is restricted to %s, the device of -d or of the settings", n.device)
	}
	c.config.Node = n.facts
	return ports, err
}

// serve waits for a peer.
func (c *connectFlags) serve(ctx context.Context, n *node, args []string) (connect.Report, error) {
	var ports []connect.Port
	var err error
	if c.all {
		ports, err = c.offer(ctx, n)
	} else {
		name := n.device
		if len(args) > 0 {
			name = args[0]
		}
		var port connect.Port
		port, err = n.onePort(ctx, name, "")
		ports = []connect.Port{port}
	}
	if err != nil {
		return connect.Report{}, err
	}
	l, err := bench.Listen(ctx, "", c.tcpPort)
	if err != nil {
		return connect.Report{}, cli.WithHints(err, "-p PORT selects another port; use the same one at both ends")
	}
	defer l.Close()
	return connect.Serve(ctx, l, ports, c.all, c.config)
}

// verdict returns the error of a run, without hints: the report has the remedies.
func (c *connectFlags) verdict(r *connect.Report) error {
	err := r.Err()
	if err == nil {
		return nil
	}
	code := cli.ExitCode(err)
	if errors.Is(err, connect.ErrNothing) || code == cli.ExitFault && c.absent(r) {
		code = cli.ExitNotFound
	}
	if f, ok := errors.AsType[*connect.Failure](err); ok && f.Code == connect.CodeOpen && c.denied {
		code = cli.ExitPermission
	}
	return &cli.ExitError{Code: code, Err: errors.New(err.Error())}
}

// absent reports whether all attempts have failed because what the user named at this end doesn't
// exist, or can't be opened: the device, its port, or the index of its GID.
func (c *connectFlags) absent(r *connect.Report) bool {
	for i := range r.Attempts {
		f := r.Attempts[i].Failure
		if f == nil || !c.bothHere && errors.Unwrap(f) == nil {
			return false
		}
		if f.Code != connect.CodeOpen && (f.Code != connect.CodeNoGID || !c.gidGiven) {
			return false
		}
	}
	return len(r.Attempts) > 0
}

// checkSave checks before the run whether the file of --save can be written.
func checkSave(name string) error {
	if name == "" || name == saveDefault {
		return nil
	}
	err := wholefile.CheckFolder(name)
	if info, statErr := os.Stat(name); statErr == nil && info.IsDir() {
		err = cli.WithHints(fmt.Errorf("write %s: %w", name, syscall.EISDIR),
			"--save alone chooses a name in the current folder")
	}
	if err != nil {
		return cli.InputError(fmt.Errorf("--save: %w", err))
	}
	return nil
}

// write writes the file of --save.
func (c *connectFlags) write(app *cli.App, r *connect.Report) error {
	if c.save == "" {
		return nil
	}
	name := c.save
	text, err := output.New(output.Options{Format: output.FormatJSON}).Render(*r)
	write := func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
	switch {
	case err != nil:
	case name == saveDefault:
		name = fmt.Sprintf("connect-%s-%s", fileName(r.Local.Host), r.Taken.UTC().Format("20060102T150405Z"))
		name, err = saveNew(name, write)
	default:
		err = wholefile.Write(name, wholefile.Options{Mode: 0o644, Replace: true}, write)
	}
	if err != nil {
		return fmt.Errorf("--save %s: %w", name, err)
	}
	app.Out.Note("saved the report to %s", name)
	return nil
}

// maxSaved is how many reports of one second get a name.
const maxSaved = 100

// saveNew writes a new file NAME.json, or NAME-2.json and so on if that exists: runs of one second
// have the same name.
func saveNew(base string, write func(io.Writer) error) (name string, err error) {
	for i := range maxSaved {
		name = base + ".json"
		if i > 0 {
			name = fmt.Sprintf("%s-%d.json", base, i+1)
		}
		err = wholefile.Write(name, wholefile.Options{Mode: 0o644}, write)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return name, err
}

// fileName returns a host name without characters that are unusual in the name of a file.
func fileName(host string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return '_'
	}, host)
}
