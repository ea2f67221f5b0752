package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/classic"
	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Formats of bench beside the usual four.
const (
	formatCSV     output.Format = "csv"
	formatClassic output.Format = "classic"
)

// benchFlags are the flags of the commands below bench.
type benchFlags struct {
	config   bench.Config
	size     string
	wait     string
	inline   int
	numa     string
	cuda     int
	rocm     int
	tcpPort  int
	duration cli.SecondsValue
	margin   cli.SecondsValue
	rdmaCM   bool
	tos      uint8
	commCM   bool
}

func newBenchCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure bandwidth and latency with perftest's tests",
		Long: `Measure bandwidth and latency between two ends. Without HOST, a command is the server and waits for
one client; with HOST, it is the client. Either end may be a program of perftest (ib_write_bw,
ib_read_bw, ib_send_bw, ib_write_lat, ib_read_lat, ib_send_lat): version 4.5, or any other that
announces a version from 5.70 on.

Both ends need the same test, the same --size or --all, the same --iterations or --duration, and the
same --qps. The ends compare these values before the test, and an error names what differs. perftest
doesn't compare them before its version 6.28: then a mismatch shows only as a failure during the test.

The settings device, port (--ib-port), mtu, qp-type and qp-timeout apply to all tests. They can also
come from the configuration file, or from RDMA_DEVICE, RDMA_MTU, RDMA_QP_TYPE and RDMA_TIMEOUT; see
rdmactl config.

Results of devices in user space (roce@ADDRESS) are marked "software, not line rate".`,
		Example: `  rdmactl bench write-bw -d roce@192.0.2.1              # on one node
  rdmactl bench write-bw -d roce@192.0.2.2 192.0.2.1    # on the other`,
	}
	for _, test := range bench.Tests() {
		cmd.AddCommand(newBenchTestCommand(app, test))
	}
	return cmd
}

// benchShort returns the one-line summary of a test.
func benchShort(test bench.Test) string {
	if test.IsLatency() {
		return "Measure the latency of " + test.OpName()
	}
	return "Measure the bandwidth of " + test.OpName()
}

func newBenchTestCommand(app *cli.App, test bench.Test) *cobra.Command {
	flags := benchFlags{config: bench.Config{Test: test}}
	name := strings.ReplaceAll(test.String(), "_", "-")
	cmd := &cobra.Command{
		Use:   name + " [HOST]",
		Short: benchShort(test),
		Long: benchShort(test) + `, as ib_` + test.String() + ` does. The other end may be that program too.

Without HOST, the command is the server and waits for one client; with HOST, it is the client. -o
classic prints what ib_` + test.String() + ` prints, -o csv prints a line for each size.

Exit codes:

    0   the test succeeded
    1   a request failed, or the two ends are incompatible
    2   wrong use: command, flag or argument
    3   no such device, port, GID or GPU, or a device that can't be opened (its UDP port is in use)
        or can't do it: iWARP without -R, an unsupported queue pair type, memory of a GPU
    4   permission to open the device was denied
    5   the server can't be reached
    6   the other end sends nothing during the exchange, or the time limit expired (--timeout)`,
		Example: fmt.Sprintf(`  rdmactl bench %[1]s -d roce@192.0.2.1
  rdmactl bench %[1]s -d roce@192.0.2.2 192.0.2.1
  # a card; without -d the first one whose port is active
  rdmactl bench %[1]s -d mlx5_0 192.0.2.1
  # all sizes; the server needs -a too
  rdmactl bench %[1]s -d roce@eth0 -a -o csv 192.0.2.1 > sizes.csv
  # ten seconds of 64 KiB; the server needs -s and -D too
  rdmactl bench %[1]s -d roce@192.0.2.2 -s 64K -D 10s 192.0.2.1
  # queue pairs connected by rdma_cm; HOST is the address of the RDMA device, the server needs -R too
  rdmactl bench %[1]s -d roce@192.0.2.2 -R 192.0.2.1`, name),
		Args: benchArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runBench(app, cmd, flags, args) },
	}
	cli.SetFormats(cmd, append(output.Formats(), formatCSV, formatClassic)...)
	flags.addTo(cmd, test)
	cmd.SetFlagErrorFunc(flagsOfOthers(test))
	return cmd
}

func (b *benchFlags) addTo(cmd *cobra.Command, test bench.Test) {
	f, c, d := cmd.Flags(), &b.config, test.Defaults()
	cli.AddSetting(cmd, f, "device", "d")
	f.Lookup("device").Usage = "`NAME` of the device: mlx5_0; or roce@ADDRESS or roce@NETDEV, which is RoCE v2 in " +
		"user space on an address of this machine (default: the first one that can be opened)"
	f.IntVarP(&b.tcpPort, "tcp-port", "p", bench.DefaultPort, "`PORT` of the server, of TCP or of rdma_cm")
	cli.AddSettingAs(cmd, f, "port", "ib-port", "i")
	f.Lookup("ib-port").Usage = "`PORT` of the device (default 1)"
	f.StringVarP(&b.size, "size", "s", "",
		"size of a message in `BYTES`; K and M may follow (default "+classic.FormatSize(d.Size)+")")
	f.BoolVarP(&c.AllSizes, "all", "a", false, "measure all sizes from 2 bytes to 8 MiB")
	f.IntVarP(&c.Iterations, "iterations", "n", 0,
		fmt.Sprintf("`NUMBER` of messages for each size (default %d)", d.Iterations))
	f.VarP(&b.duration, "duration", "D", "measure for this `TIME` instead of a number of messages")
	f.VarP(&b.margin, "margin", "f",
		"`TIME` at the start and at the end of the duration that is not measured (default a quarter of it)")
	cli.AddSetting(cmd, f, "mtu", "m")
	f.Lookup("mtu").Usage = "largest path `MTU`: 256, 512, 1024, 2048 or 4096 (default that of the port)"
	cli.AddSetting(cmd, f, "qp-type", "c")
	f.Lookup("qp-type").Usage = "`TYPE` of the queue pairs: RC; UC for WRITE and SEND; UD for SEND, up to the MTU"
	f.IntVarP(&c.GIDIndex, "gid-index", "x", 0, "`INDEX` of the port's GID (default the one that rdmactl env derives; "+
		"none on InfiniBand)")
	f.Uint8Var(&c.ServiceLevel, "sl", 0, "InfiniBand service `LEVEL`, 0 to 15")
	f.IntVarP(&c.TxDepth, "tx-depth", "t", 0, fmt.Sprintf("`REQUESTS` in flight (default %d; %d for latency)",
		bench.WriteBW.Defaults().TxDepth, bench.WriteLat.Defaults().TxDepth))
	f.IntVarP(&c.RxDepth, "rx-depth", "r", 0,
		fmt.Sprintf("receive `REQUESTS` posted in advance (default %d)", d.RxDepth))
	cli.AddSetting(cmd, f, "qp-timeout", "u")
	f.Lookup("qp-timeout").Usage = "acknowledgement timeout `CODE`: 4.096 us times 2^code, up to 31; 0 for no limit"
	f.StringVar(&b.wait, "wait", "hybrid", "`HOW` to wait for completions: hybrid, event, busy")
	cli.CompleteWords(cmd, "wait", []string{"hybrid", "event", "busy"})
	f.BoolVar(&c.HugePages, "hugepages", false, "take the memory from huge pages of 2 MiB, which must be reserved")
	f.StringVar(&b.numa, "numa", numaAuto, "NUMA `NODE` to measure on, with memory there: auto for that of the card, "+
		"none for any, or a number")
	cli.CompleteWords(cmd, "numa", []string{numaAuto, numaNone})
	f.IntVar(&b.cuda, "use-cuda", -1, "take the memory from the NVIDIA GPU with this `INDEX`, counted from 0")
	f.IntVar(&b.rocm, "use-rocm", -1, "take the memory from the AMD GPU with this `INDEX`, counted from 0")
	hideDefault(f, "use-cuda", "use-rocm")
	cmd.MarkFlagsMutuallyExclusive("use-cuda", "use-rocm", "hugepages")
	addRDMACM(f, b)
	f.BoolVar(&c.CPUUtil, "cpu-util", false, "measure how busy the machine's CPUs are; needs -D")
	if test.Op() != verbs.SendOpRead {
		f.IntVarP(&b.inline, "inline", "I", -1, inlineUsage(test))
		hideDefault(f, "inline")
	}
	cmd.MarkFlagsMutuallyExclusive("all", "size")
	cmd.MarkFlagsMutuallyExclusive("all", "duration")
	cmd.MarkFlagsMutuallyExclusive("iterations", "duration")
	if test.Op() == verbs.SendOpRead {
		f.IntVar(&c.OutstandingReads, "outs", 0, "RDMA `READS` in flight (default the device's maximum)")
	}
	if test.IsLatency() {
		return
	}
	f.IntVar(&c.QueuePairs, "qps", 1, "`NUMBER` of queue pairs")
	f.BoolVar(&c.MRPerQP, "mr-per-qp", false, "register the memory of each queue pair as a region of its own")
	f.IntVarP(&c.PostList, "post-list", "l", 1, "post this `NUMBER` of requests in one call")
	f.IntVarP(&c.CQModeration, "cq-mod", "Q", 0,
		"request one completion for this `NUMBER` of requests (default 100; 1 above 8 KiB)")
	f.BoolVarP(&c.NoPeak, "no-peak", "N", false, "don't compute the peak bandwidth")
	f.BoolVar(&c.WarmUp, "warm-up", false, "send some messages before measuring")
	f.BoolVar(&c.ReportGbps, "report-gbits", false,
		"send results to the server in Gb/s, for a server that runs with --report_gbits")
}

// hideDefault keeps the help from printing a default that only stands for "not given".
func hideDefault(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f.Lookup(name).DefValue = "0" // what a number's help doesn't mention
	}
}

// flagsOfOthers returns a function that explains the flags which only other tests have, and leaves
// other errors of flags to the command's parent.
func flagsOfOthers(test bench.Test) func(*cobra.Command, error) error {
	return func(cmd *cobra.Command, err error) error {
		unknown, ok := errors.AsType[*pflag.NotExistError](err)
		if !ok {
			return cmd.Parent().FlagErrorFunc()(cmd, err)
		}
		for _, other := range []struct {
			test  bench.Test
			whose string
		}{
			{bench.SendLat, "tests of RDMA WRITE and SEND"},
			{bench.ReadLat, "tests of RDMA READ"},
			{bench.WriteBW, "bandwidth tests"},
		} {
			flags := benchFlags{config: bench.Config{Test: other.test}}
			has := &cobra.Command{}
			flags.addTo(has, other.test)
			name := unknown.GetSpecifiedName()
			f := has.Flags().Lookup(name)
			if len(name) == 1 {
				f = has.Flags().ShorthandLookup(name)
			}
			if f != nil {
				const text = "%w: only %s have --%s, and %v is none"
				return cli.UsageError(cmd, fmt.Errorf(text, err, other.whose, f.Name, test))
			}
		}
		return cmd.Parent().FlagErrorFunc()(cmd, err)
	}
}

// inlineUsage describes --inline: -1 is the default of the test.
func inlineUsage(test bench.Test) string {
	const text = "copy messages of up to this `SIZE` in bytes into their requests; 0 for none (default "
	switch {
	case !test.IsLatency():
		return text + "0)"
	case test == bench.SendLat:
		return text + "236, or 188 for UD, or what the device grants, with cards; 0 with software devices)"
	}
	return text + "220, or what the device grants, with cards; 0 with software devices)"
}

// benchArgs accepts one HOST. A user who knows perftest types -q 8 for eight queue pairs, which
// makes 8 the HOST argument.
func benchArgs(cmd *cobra.Command, args []string) error {
	var err error
	switch {
	case len(args) > 1:
		err = fmt.Errorf("unexpected argument %q", args[1])
	case len(args) == 1 && args[0] == "":
		err = errors.New("HOST is empty")
	case len(args) == 1 && cmd.Flags().Changed("quiet") && strings.Trim(args[0], "0123456789") == "":
		err = fmt.Errorf("HOST %s is a number", args[0])
	}
	if err == nil {
		return nil
	}
	if cmd.Flags().Changed("quiet") && cmd.Flags().Lookup("qps") != nil {
		err = cli.WithHints(err, "the number of queue pairs is --qps; -q is --quiet")
	}
	return cli.UsageError(cmd, err)
}

// resolve turns the flags and settings into a configuration.
func (b *benchFlags) resolve(cmd *cobra.Command, values config.Values, args []string) (bench.Config, error) {
	c := b.config
	waits := map[string]verbs.WaitMode{"hybrid": verbs.WaitHybrid, "event": verbs.WaitEvent, "busy": verbs.WaitBusy}
	wait, ok := waits[b.wait]
	if !ok {
		return c, fmt.Errorf("--wait %q: hybrid, event or busy", b.wait)
	}
	if b.size != "" {
		size, err := classic.ParseSize(b.size)
		if err != nil {
			return c, fmt.Errorf("--size: %w", err)
		}
		c.Size = size
	}
	for _, name := range []string{"iterations", "duration", "qps", "post-list", "tx-depth", "rx-depth"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && (f.Value.String() == "0" || f.Value.String() == "") {
			return c, fmt.Errorf("--%s must be greater than 0", name)
		}
	}
	if b.tcpPort < 1 || b.tcpPort > 65535 {
		return c, fmt.Errorf("--tcp-port %d is not 1 to 65535", b.tcpPort)
	}
	c.Wait, c.Duration, c.Margin = wait, time.Duration(b.duration), time.Duration(b.margin)
	switch f := cmd.Flags().Lookup("inline"); {
	case f == nil || !f.Changed:
	case b.inline < 0:
		return c, fmt.Errorf("--inline %d is negative", b.inline)
	case b.inline == 0:
		c.Inline = -1 // 0 is the default there
	default:
		c.Inline = b.inline
	}
	switch flags := cmd.Flags(); {
	case flags.Changed("use-cuda"):
		c.GPU = &bench.GPU{Kind: bench.GPUCUDA, Index: b.cuda}
	case flags.Changed("use-rocm"):
		c.GPU = &bench.GPU{Kind: bench.GPUROCm, Index: b.rocm}
	}
	c.RDMACM, c.TrafficClass = b.meeting(), b.tos
	steer(&c, values)
	if cmd.Flags().Changed("margin") && b.margin == 0 {
		c.Margin = -1
	}
	if len(args) > 0 {
		c.Role = perftest.RoleClient
	}
	return c, c.Validate()
}

// steer copies the settings of queue pairs into c.
func steer(c *bench.Config, values config.Values) {
	c.Port, c.MTU, c.Timeout = values.Port, ib.MTU(values.MTU), uint8(values.QPTimeout)
	if c.Timeout == 0 {
		c.Timeout = verbs.TimeoutInfinite
	}
	c.QPType = map[string]verbs.QPType{
		"RC": verbs.QPTypeRC, "UC": verbs.QPTypeUC, "UD": verbs.QPTypeUD,
	}[values.QPType]
}

// settingHints names the settings of queue pairs that don't come from the command line.
func settingHints(cfg *config.Config) []string {
	var hints []string
	for _, e := range cfg.Entries {
		if e.Source != "" && e.Origin != config.OriginFlag &&
			slices.Contains([]string{"port", "mtu", "qp-type", "qp-timeout"}, e.Key) {
			hints = append(hints, fmt.Sprintf("%s %s comes from %s", e.Key, e.Value, e.Source))
		}
	}
	return hints
}
