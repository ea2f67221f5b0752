package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/connect"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/inventory"
)

// isSoftware reports whether a device is software: an engine, or rxe and siw of the kernel.
func isSoftware(ctx context.Context, name string) bool {
	if isEngine(name) {
		return true
	}
	local, err := sources.Local()
	if err != nil {
		return false
	}
	defer local.Close()
	snap, _ := inventory.Scan(ctx, local.Sources)
	d := snap.Device(name)
	return d != nil && d.Software != ""
}

// pingLines prints a line for each ping.
type pingLines struct {
	app  *cli.App
	addr netip.AddrPort
}

func (l *pingLines) add(s rping.Sample) {
	text := []output.Cell{output.Plain(fmt.Sprintf("%v: ping %d: ", l.addr, s.N))}
	switch {
	case s.Time == 0 && errors.Is(s.Err, io.EOF):
		text = append(text, output.Bad("lost"), output.Plain(": the server has disconnected"))
	case s.Time == 0:
		text = append(text, output.Bad("lost"), output.Plain(": "+s.Err.Error()))
	case s.Err != nil:
		text = append(text, output.Plain(micros(s.Time)+" us, "), output.Bad("other data"))
	case s.Late:
		text = append(text, output.Plain(micros(s.Time)+" us, "), output.Warn("late"))
	default:
		text = append(text, output.Plain(micros(s.Time)+" us"))
	}
	_ = l.app.Out.Text(output.Line(text...)) // the summary reports it
}

func micros(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Nanoseconds())/1e3, 'f', 1, 64)
}

// pingBlocks shows the summary.
func pingBlocks(r *rping.Result) []output.Block {
	if r.Connections == 0 && r.Failure != nil {
		return []output.Block{pingFailureBlock(r.Failure)}
	}
	line := []output.Cell{output.Plain(fmt.Sprintf("%s to %s: %s of %d bytes, ", r.Device, r.Remote,
		english.Count(int(r.Sent), "ping"), r.Bytes)).Flow(0)} //nolint:gosec // a count of pings
	line = append(line, counted("lost", r.Lost, output.Bad), output.Plain(", "),
		counted("late", r.Late, output.Warn), output.Plain(fmt.Sprintf(" (after %g ms), ", r.LateMs)).Flow(0))
	switch {
	case !r.Check:
		line = append(line, output.Plain("data not compared").Flow(0))
	case r.Wrong > 0:
		line = append(line, output.Bad(fmt.Sprintf("%d with other data", r.Wrong)).Flow(0))
	default:
		line = append(line, output.Good("data correct").Flow(0))
	}
	if r.Scale != "" {
		line = append(line, output.Plain("; ").Flow(0), output.Warn(r.Scale).Flow(0))
	}
	out := []output.Block{output.Line(line...)}
	if r.Time != nil {
		out = append(out, pingTable(r.Time))
	}
	if r.Failure != nil {
		out = append(out, pingFailureBlock(r.Failure))
	}
	return out
}

func counted(what string, n uint64, style func(string) output.Cell) output.Cell {
	text := fmt.Sprintf("%d %s", n, what)
	if n == 0 {
		return output.Plain(text).Flow(0)
	}
	return style(text).Flow(0)
}

func pingTable(p *bench.LatencyPoint) output.Table {
	names := []string{"came back", "min us", "p50", "p99", "p99.9", "max us", "jitter"}
	t := output.Table{Columns: cli.Droppable(cli.Figures(names, "average us", "stddev us", "per second"), "jitter")}
	row := []string{strconv.FormatUint(p.Iterations, 10)}
	for _, v := range []float64{p.Min, p.P50, p.P99, p.P999, p.Max, p.Jitter, p.Average, p.StdDev, p.PerSecond} {
		row = append(row, cli.Figure(v))
	}
	t.Rows = [][]output.Cell{cli.Cells(row...)}
	return t
}

// pingFailureBlock shows a failure as rdmactl connect does.
func pingFailureBlock(f *rping.Failure) output.Block {
	return failureBlock(&connect.Failure{
		Stage: connect.Stage(f.Stage), Operation: f.Operation, Object: f.Object, Cause: f.Cause, Possible: f.Possible,
		Remedies: f.Remedies,
	})
}

// pingWatch shows the last minute until it is stopped.
type pingWatch struct {
	app      *cli.App
	every    time.Duration
	describe rping.Recent // what doesn't change
	stopOnce sync.Once
	stopping chan struct{}
	stopped  chan struct{}

	mu      sync.Mutex
	window  *rping.Window
	problem string
}

func newPingWatch(app *cli.App, device string, addr netip.AddrPort, software bool) *pingWatch {
	w := &pingWatch{
		app: app, every: time.Minute, window: rping.NewWindow(), stopping: make(chan struct{}),
		stopped: make(chan struct{}), describe: rping.Recent{Device: device, Remote: addr.String()},
	}
	if app.IsTerminal(app.Stdout) && !app.Out.Structured() {
		w.every = time.Second
	}
	if software {
		w.describe.Scale = bench.ScaleSoftware
	}
	return w
}

func (w *pingWatch) add(s rping.Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.window.Add(s)
	if w.problem = ""; s.Err != nil {
		w.problem = s.Err.Error()
	}
}

func (w *pingWatch) run() {
	defer close(w.stopped)
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		select {
		case <-w.stopping:
			if w.every == time.Minute { // the last minute, which is not over
				w.show(time.Now())
			}
			return
		case now := <-tick.C:
			w.show(now)
		}
	}
}

// show prints the last minute. The summary reports an error of the output.
func (w *pingWatch) show(now time.Time) {
	r := w.recent(now)
	if w.every == time.Second || w.app.Out.Structured() {
		_ = w.app.Out.Frame(r, recentLine(&r))
	} else {
		_ = w.app.Out.Text(recentLine(&r))
	}
}

func (w *pingWatch) recent(now time.Time) rping.Recent {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.window.Recent(now)
	r.Device, r.Remote, r.Scale, r.Problem = w.describe.Device, w.describe.Remote, w.describe.Scale, w.problem
	return r
}

func (w *pingWatch) stop() {
	w.stopOnce.Do(func() { close(w.stopping) })
	<-w.stopped
}

// recentLine is the line of a minute.
func recentLine(r *rping.Recent) output.Block {
	loss := 0.0
	if r.Sent > 0 {
		loss = 100 * float64(r.Lost) / float64(r.Sent)
	}
	line := []output.Cell{
		output.Plain(fmt.Sprintf("%s %s: last minute %s, ", r.At.Local().Format(time.TimeOnly), r.Remote,
			english.Count(int(r.Sent), "ping"))).Flow(0), //nolint:gosec // a count of pings
		counted(fmt.Sprintf("lost (%.2f %%)", loss), r.Lost, output.Bad), output.Plain(", ").Flow(0),
		counted("late", r.Late, output.Warn),
	}
	if r.Wrong > 0 {
		line = append(line, output.Plain(", ").Flow(0), output.Bad(fmt.Sprintf("%d with other data", r.Wrong)).Flow(0))
	}
	line = append(line, output.Plain(fmt.Sprintf(", min %s p50 %s p99 %s p99.9 %s max %s us", cli.Figure(r.Min),
		cli.Figure(r.P50), cli.Figure(r.P99), cli.Figure(r.P999), cli.Figure(r.Max))).Flow(0))
	if r.Scale != "" {
		line = append(line, output.Plain("; ").Flow(0), output.Warn(r.Scale).Flow(0))
	}
	if r.Problem != "" {
		line = append(line, output.Plain("; ").Flow(0), output.Bad("last ping").Flow(0),
			output.Plain(": "+r.Problem).Flow(0))
	}
	return output.Line(line...)
}

// servedSchema is the version of the JSON form of ping --listen.
const servedSchema = "rdmakit.ping-server/v1"

// served is what ping --listen prints at its end.
type served struct {
	Schema  string         `json:"schema"`
	Device  string         `json:"device"`
	Address string         `json:"address"` // with the port
	Clients int            `json:"clients"` // that were accepted
	Pings   uint64         `json:"pings"`   // that were answered
	Failure *rping.Failure `json:"failure,omitempty"`
}

func (s *served) block() output.Block {
	if s.Failure != nil {
		return pingFailureBlock(s.Failure)
	}
	return output.Line(output.Plain(fmt.Sprintf("%s on %s: %s, %s answered", s.Address, s.Device,
		english.Count(s.Clients, "client"), english.Count(int(s.Pings), "ping")))) //nolint:gosec // a count of pings
}

// isEnd reports whether an error is the end of the command by its user.
func isEnd(err error) bool {
	_, signal := errors.AsType[*cli.SignalError](err)
	return signal
}
