package fabric

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// fabricPingSchema is the version of the JSON form of ping.
const fabricPingSchema = "rdmakit.fabric-ping/v1"

// pingFlags are the flags of ping.
type pingFlags struct {
	count         int
	flood, server bool
	gidIndex      uint8
	wait          cli.SecondsValue
}

func newFabricPingCommand(app *cli.App, flags *fabricFlags) *cobra.Command {
	f := pingFlags{wait: cli.SecondsValue(time.Second)}
	cmd := &cobra.Command{
		Use:   "ping [TARGET]",
		Short: "Measure round trips to another port, or answer them with --server",
		Long: `Send management datagrams to TARGET (a LID, GID, GUID or name) and measure the round trips, for -c
datagrams or until Ctrl-C. A server must run at TARGET: "rdmactl fabric ping --server" or ibping -S.
The LID of a GID comes from subnet administration; the LID of a GUID or name comes from a sweep of
the subnet, or from the topology of --from FILE. The service level and the partition are those of
the path that subnet administration has recorded, if it answers within 1 s.

A RoCE port has no LID, but answers pings to its GID; "rdmactl show DEVICE" lists the GIDs of a
port. --gid-index selects the local GID, which must be of the same type. (With IPv4-mapped GIDs,
rxe of Linux 6.1 loses the answers.)

Under ibsim the server needs SIM_SET_ISSM=1. Ctrl-C ends the measurement, and the result so far is
printed.

Exit codes:

    0   all datagrams were answered; or the server was stopped with Ctrl-C
    1   some datagrams were lost
    3   no such node, or no usable port
    4   no permission to open the port
    5   no datagram was answered
    6   the time limit expired (--timeout)`,
		Example: `  rdmactl fabric ping --server
  rdmactl fabric ping 7 -c 10
  rdmactl fabric ping -C rxe0 fe80::5054:ff:fe99:1 -c 10
  rdmactl fabric ping host12 -f -c 1000 -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return fmt.Errorf("unexpected argument %s", strconv.Quote(args[1]))
			case f.server && len(args) > 0:
				return errors.New("--server takes no TARGET")
			case !f.server && len(args) == 0:
				return cli.WithHints(errors.New("missing argument TARGET"), "--server needs none: it answers pings")
			}
			return nodeArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			flags.live = true
			if f.server {
				return servePings(app, cmd, flags)
			}
			return ping(app, cmd, flags, f, args[0])
		},
	}
	set := cmd.Flags()
	set.IntVarP(&f.count, "count", "c", 0, "end after `N` datagrams")
	cli.AddSetting(cmd, set, "interval", "i")
	set.Lookup("interval").Usage = "`TIME` from one datagram to the next, 100ms to 1h"
	set.BoolVarP(&f.flood, "flood", "f", false, "send the next datagram as soon as the answer arrives")
	set.Uint8Var(&f.gidIndex, "gid-index", 0, "`INDEX` of the local GID, for a ping to a GID over RoCE")
	set.VarP(&f.wait, "wait", "W", "count a datagram as lost after this `TIME`")
	set.BoolVarP(&f.server, "server", "S", false, "answer pings until interrupted")
	for _, client := range []string{"count", "interval", "flood", "wait", "gid-index"} {
		cmd.MarkFlagsMutuallyExclusive("server", client)
	}
	cmd.MarkFlagsMutuallyExclusive("flood", "interval")
	return cmd
}

func (f *pingFlags) check(cmd *cobra.Command) error {
	switch {
	case cmd.Flags().Changed("count") && f.count < 1:
		return cli.UsageError(cmd, fmt.Errorf("--count %d is not greater than 0", f.count))
	case f.wait <= 0:
		return cli.UsageError(cmd, errors.New("--wait is not greater than 0"))
	}
	return nil
}

// pingReport is what ping prints at its end.
type pingReport struct {
	Schema string  `json:"schema"`
	LID    ib.LID  `json:"lid"`           // 0 on RoCE
	GID    string  `json:"gid,omitempty"` // the GID, for a ping to a GID
	Target string  `json:"target"`        // the argument
	Server string  `json:"server"`        // the server's name in the last answer
	Sent   int     `json:"sent"`
	Lost   int     `json:"lost"`
	Loss   float64 `json:"lossPercent"`
	// Seconds is the duration of the measurement.
	Seconds float64 `json:"seconds"`
	// RoundTrip is absent if no datagram was answered.
	RoundTrip *roundTrips `json:"roundTrip,omitempty"`
	// LastError is the reason why the last lost datagram was lost.
	LastError string `json:"lastError,omitempty"`
	// Causes are what it could mean that there was no answer.
	Causes    []string `json:"causes,omitempty"`
	to        fabric.Address
	silence   error // of the last lost datagram
	histogram *hdrhistogram.Histogram
	least     time.Duration
	most      time.Duration
}

// roundTrips are times in microseconds.
type roundTrips struct {
	Min float64 `json:"minUs"`
	P50 float64 `json:"p50Us"`
	P90 float64 `json:"p90Us"`
	P99 float64 `json:"p99Us"`
	Max float64 `json:"maxUs"`
}

// pingDigits is how many digits of a round trip the histogram keeps.
const pingDigits = 3

func ping(app *cli.App, cmd *cobra.Command, flags *fabricFlags, f pingFlags, target string) error {
	ctx := cmd.Context()
	to, s, err := pingTarget(app, cmd, flags, f, target)
	if err != nil {
		return err
	}
	defer s.Close()
	r := &pingReport{Schema: fabricPingSchema, LID: to.LID, Target: target, to: to, histogram: hdrhistogram.New(1,
		int64(time.Hour), pingDigits)}
	if !to.GID.IsZero() {
		r.GID = to.GID.String()
	}
	client := fabric.Client{Transport: s.transport, Timeout: time.Duration(f.wait), Keys: flags.keys}
	if to.LID != 0 && to.GID.IsZero() {
		learnPath(ctx, app, s.transport, flags.keys, to.LID)
	}
	start := app.Now()
	for f.count == 0 || r.Sent < f.count {
		sent := time.Now()
		if err := pingOnce(ctx, app, &client, r, f.flood); err != nil {
			return err
		}
		if ctx.Err() != nil || r.Sent == f.count {
			break
		}
		if !f.flood && clock.Sleep(ctx, clock.System, app.Config.Interval-time.Since(sent)) != nil {
			break
		}
	}
	r.Seconds = app.Now().Sub(start).Seconds()
	r.finish()
	if err := app.Out.Print(r, r.blocks()...); err != nil {
		return err
	}
	return r.end(ctx)
}

// pingTarget resolves the target and opens the port.
func pingTarget(
	app *cli.App, cmd *cobra.Command, flags *fabricFlags, f pingFlags, target string,
) (fabric.Address, *fabricView, error) {
	to := fabric.Address{QPN: 1, QKey: fabric.QKeyGSI}
	if err := flags.check(cmd); err != nil {
		return to, nil, err
	}
	if lid, err := strconv.ParseUint(target, 0, 16); err == nil && len(target) <= len("0xffff") {
		if lid == 0 || lid >= uint64(mad.MulticastLIDBase) {
			return to, nil, cli.UsageError(cmd,
				fmt.Errorf("LID %d is not a unicast LID: 1 to %d", lid, mad.MulticastLIDBase-1))
		}
		if err := flags.sweepless(cmd, "a ping to a LID"); err != nil {
			return to, nil, err
		}
		to.LID = ib.LID(lid)
		transport, err := openFabric(cmd.Context(), app, flags)
		return to, &fabricView{transport: transport}, err
	}
	if gid, err := ib.ParseGID(target); err == nil {
		if err := flags.sweepless(cmd, "a ping to a GID"); err != nil {
			return to, nil, err
		}
		return pingGID(app, cmd, flags, f, gid)
	}
	s, err := readSubnet(app, cmd, flags, fabric.Options{})
	if err != nil {
		return to, nil, err
	}
	e, err := findEnd(s.Topology, target)
	if err == nil && e.LID == 0 {
		err = cli.WithHints(cli.Exitf(cli.ExitNotFound, "ping %s: %w", target, fabric.ErrNoLID),
			"rdmactl fabric sm lists the subnet managers")
	}
	if err == nil {
		warnSharedLID(app, s.Topology, &e)
	}
	if err == nil && s.transport == nil {
		s.transport, err = openFabric(cmd.Context(), app, flags)
	}
	if err != nil {
		s.Close()
		return to, nil, err
	}
	to.LID = e.LID
	return to, s, nil
}

// warnSharedLID warns if another port has the LID of a ping's target too: it may get the pings.
func warnSharedLID(app *cli.App, t *fabric.Topology, e *fabric.Endpoint) {
	for _, id := range t.PortsWithLID(e.LID) {
		if id != e.Port {
			app.Out.Note("warning: LID %d of %s also belongs to %s: the pings may arrive there",
				uint16(e.LID), endOf(t, e.Port), endOf(t, id))
		}
	}
}

func pingGID(
	app *cli.App, cmd *cobra.Command, flags *fabricFlags, f pingFlags, gid ib.GID,
) (fabric.Address, *fabricView, error) {
	transport, err := openFabric(cmd.Context(), app, flags)
	if err != nil {
		return fabric.Address{}, nil, err
	}
	s := &fabricView{transport: transport}
	client := fabric.Client{Transport: transport, Timeout: time.Duration(f.wait), Keys: flags.keys}
	to, err := client.PingAddress(cmd.Context(), gid, f.gidIndex)
	status, refused := errors.AsType[*fabric.StatusError](err)
	switch {
	case refused && status.Status.ClassSpecific() == mad.StatusSANoRecords, errors.Is(err, fabric.ErrNoSubnetManager):
		err = cli.Exitf(cli.ExitNotFound, "%w", err)
	case errors.Is(err, fabric.ErrNoAnswer):
		err = cli.Exitf(cli.ExitUnreachable, "%w", err)
	}
	if err != nil {
		s.Close()
		return to, nil, err
	}
	to.GID = gid
	return to, s, nil
}

// pingOnce sends one datagram. An interrupted one counts as not sent.
func pingOnce(ctx context.Context, app *cli.App, client *fabric.Client, r *pingReport, flood bool) error {
	server, took, err := client.Ping(ctx, r.to, mad.OUIPing())
	switch {
	case err == nil:
		r.answered(server, took)
		return pingLine(app, flood,
			output.Plain(fmt.Sprintf("%s (%s): %s us", r.Server, r.where(), cli.Figure(microseconds(took)))))
	case ctx.Err() != nil:
		return nil //nolint:nilerr // the loop checks the context
	}
	why := "no answer"
	if status, refused := errors.AsType[*fabric.StatusError](err); refused {
		why = status.Error()
	} else if errors.Is(err, fabric.ErrNoLIDs) {
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "%w", err), "rdmactl show DEVICE lists the GIDs of a port")
	} else if !errors.Is(err, fabric.ErrNoAnswer) {
		return err
	}
	r.Sent++
	r.Lost++
	if r.Lost == 1 && r.LID != 0 {
		_, tableErr := client.LearnPKeys(ctx, r.LID)
		app.Log.Debug("partition table", "lid", uint16(r.LID), "error", tableErr)
		fabric.AddressingOf(client.Transport).Complete(err)
	}
	r.LastError, r.silence, r.Causes = why, err, fabric.Causes(err)
	return pingLine(app, flood, output.Bad(r.where()+": "+why))
}

// where names the target port.
func (r *pingReport) where() string {
	if r.LID == 0 {
		return "GID " + r.GID
	}
	return fmt.Sprintf("LID %d", r.LID)
}

// answered records one round trip.
func (r *pingReport) answered(server string, took time.Duration) {
	r.Sent++
	r.Server = server
	if r.Sent == r.Lost+1 {
		r.least = took
	}
	r.least, r.most = min(r.least, took), max(r.most, took)
	_ = r.histogram.RecordValue(int64(min(max(took, 1), time.Hour))) // within its bounds
}

// pingLine prints one answer as it arrives, if the output is text.
func pingLine(app *cli.App, flood bool, cell output.Cell) error {
	if flood || app.Out.Structured() {
		return nil
	}
	return app.Out.Text(output.Line(cell))
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// finish computes the results from the recorded round trips.
func (r *pingReport) finish() {
	if r.Sent > 0 {
		r.Loss = 100 * float64(r.Lost) / float64(r.Sent)
	}
	if r.Sent == r.Lost {
		return
	}
	// The histogram returns the upper bound of a range, which may exceed the longest round trip.
	at := func(q float64) float64 {
		return microseconds(max(r.least, min(time.Duration(r.histogram.ValueAtPercentile(q)), r.most)))
	}
	r.RoundTrip = &roundTrips{
		Min: microseconds(r.least), P50: at(50), P90: at(90), P99: at(99), Max: microseconds(r.most),
	}
}

func (r *pingReport) blocks() []output.Block {
	loss := output.Good("none lost")
	if r.Lost > 0 {
		loss = output.Bad(fmt.Sprintf("%d lost, %.3g %%", r.Lost, r.Loss))
	}
	blocks := []output.Block{
		output.Line(output.Plain(fmt.Sprintf("%s: %s sent, ", r.where(), english.Count(r.Sent, "datagram"))).Flow(0),
			loss.Flow(0), output.Plain(fmt.Sprintf(", in %.3f s", r.Seconds)).Flow(0)),
	}
	if r.RoundTrip == nil {
		return blocks
	}
	table := output.Table{Columns: cli.Droppable(cli.Figures([]string{"min us", "p50", "p90", "p99", "max us"}), "p90")}
	t := r.RoundTrip
	table.Rows = append(table.Rows,
		cli.Cells(cli.Figure(t.Min), cli.Figure(t.P50), cli.Figure(t.P90), cli.Figure(t.P99), cli.Figure(t.Max)))
	return append(blocks, table)
}

// end returns the error of the measurement. Ctrl-C is a normal end unless it came before the first
// answer; --timeout is an error.
func (r *pingReport) end(ctx context.Context) error {
	_, timeout := errors.AsType[*cli.TimeoutError](context.Cause(ctx))
	switch {
	case timeout:
		return context.Cause(ctx)
	case r.Sent == 0:
		return context.Cause(ctx)
	case r.Sent == r.Lost:
		sent := english.Count(r.Sent, "datagram")
		err := cli.Exitf(cli.ExitUnreachable, "%s: %s without an answer", r.where(), sent)
		hints := sentHints(r.silence)
		if len(r.Causes) > 0 {
			hints = append(hints, "this could mean: "+strings.Join(r.Causes, ", or "))
		}
		return cli.WithHints(err, hints...)
	case r.Lost > 0:
		return cli.ExitSilently(cli.ExitFault)
	}
	return nil
}

// servePings answers until the context ends.
func servePings(app *cli.App, cmd *cobra.Command, flags *fabricFlags) error {
	if err := flags.check(cmd); err != nil {
		return err
	}
	if flags.from != "" {
		return cli.UsageError(cmd, errors.New("--server and --from can't be combined"))
	}
	if err := flags.sweepless(cmd, "--server"); err != nil {
		return err
	}
	ctx := cmd.Context()
	transport, err := openFabric(ctx, app, flags)
	if err != nil {
		return err
	}
	defer transport.Close()
	server, ok := transport.(fabric.Server)
	if !ok {
		return cli.Exitf(cli.ExitNotFound, "this transport can't receive requests")
	}
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "unknown"
	}
	pings := 0
	askers := map[ib.LID]int{}
	at := localLID(ctx, transport, flags.keys)
	pinged := fabric.PingServer{
		OUI: mad.OUIPing(), Name: name,
		Ready: func() { app.Out.Note("answering pings as %s%s until interrupted", name, at) },
		OnPing: func(from fabric.Address) {
			pings++
			askers[from.LID]++
			app.Log.Debug("ping", "lid", uint16(from.LID))
		},
	}
	err = pinged.Serve(ctx, server)
	if pings > 0 || ctx.Err() != nil {
		app.Out.Note("%s answered, of %s", english.Count(pings, "ping"), english.Count(len(askers), "port"))
	}
	_, interrupted := errors.AsType[*cli.SignalError](err)
	if interrupted {
		return nil
	}
	if strings.Contains(fmt.Sprint(err), "SIM_SET_ISSM") {
		return cli.Exitf(cli.ExitNotFound, "%w", err)
	}
	return err
}

// localLID returns the text " at LID N" for the local port, "" if the LID is unknown.
func localLID(ctx context.Context, t fabric.Transport, keys fabric.Keys) string {
	client := fabric.Client{Transport: t, Timeout: 200 * time.Millisecond, Retries: -1, Keys: keys}
	data, err := client.SMP(ctx, fabric.Target{}, mad.MethodGet, mad.AttributePortInfo, 0, nil)
	if err != nil {
		return ""
	}
	var info mad.PortInfo
	info.Decode(data) //nolint:errcheck // the client has the length
	if info.LID == 0 {
		return ""
	}
	return fmt.Sprintf(" at LID %d", info.LID)
}
