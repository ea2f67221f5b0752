package connect

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// TestPingExitCode derives the exit code from the kind of failure.
func TestPingExitCode(t *testing.T) {
	for code, want := range map[rping.Code]int{
		rping.CodeName: cli.ExitUnreachable, rping.CodeNoRoute: cli.ExitUnreachable,
		rping.CodeNobodyListens: cli.ExitUnreachable, rping.CodeNoAnswer: cli.ExitTimeout,
		rping.CodeNoConnector: cli.ExitNotFound, rping.CodeNoDevice: cli.ExitNotFound,
		rping.CodeFamily: cli.ExitNotFound, rping.CodeRejected: cli.ExitFault, rping.CodeData: cli.ExitFault,
		rping.CodePeerEnded: cli.ExitFault, rping.CodePortInUse: cli.ExitFault, rping.CodeStalled: cli.ExitFault,
	} {
		if got := pingExitCode(&rping.Failure{Code: code}); got != want {
			t.Errorf("exit code of %s = %d, want %d", code, got, want)
		}
	}
	denied := rping.Explain(os.ErrPermission, rping.StageOpen, "mlx5_0", netip.AddrPort{})
	if got := pingExitCode(denied); got != cli.ExitPermission {
		t.Errorf("exit code of %v = %d, want %d", denied, got, cli.ExitPermission)
	}
}

// TestPingVerdict makes Ctrl-C the orderly end of a run in which pings came back.
func TestPingVerdict(t *testing.T) {
	end := func(s os.Signal) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&cli.SignalError{Signal: s})
		return ctx
	}
	for _, tt := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // an argument
		r    rping.Result
		want int
	}{
		{"count reached", t.Context(), rping.Result{Received: 1}, 0},
		{"Ctrl-C", end(os.Interrupt), rping.Result{Received: 1}, 0},
		{"Ctrl-C before an answer", end(os.Interrupt), rping.Result{}, exitInterrupted},
		{"terminated", end(syscall.SIGTERM), rping.Result{Received: 1}, 143},
		{"lost", end(os.Interrupt), rping.Result{Received: 1, Failure: &rping.Failure{}}, cli.ExitFault},
	} {
		err := pingVerdict(tt.ctx, &tt.r)
		got := 0
		if err != nil {
			got = cli.ExitCode(err)
		}
		if got != tt.want {
			t.Errorf("%s: %v, exit code %d, want %d", tt.name, err, got, tt.want)
		}
	}
}

// TestRecent shows the last minute, with the problem of the last ping only.
func TestRecent(t *testing.T) {
	addr := netip.MustParseAddrPort("192.0.2.1:7174")
	w := &pingWatch{window: rping.NewWindow(), describe: rping.Recent{Device: "rxe0", Remote: addr.String()}}
	now := time.Now()
	line := func() string {
		r := w.recent(now)
		text, err := output.New(output.Options{}).Render(r, recentLine(&r))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(text)), " ")
	}
	w.add(rping.Sample{At: now, Time: time.Millisecond, Late: true})
	w.add(rping.Sample{At: now, Err: errors.New("gone")})
	got := line()
	if !strings.Contains(got, "192.0.2.1:7174: last minute 2 pings, 1 lost (50.00 %), 1 late, min 1000") ||
		!strings.HasSuffix(got, "; last ping: gone") {
		t.Errorf("line %q", got)
	}
	w.add(rping.Sample{At: now, Time: time.Millisecond})
	if got := line(); !strings.Contains(got, "3 pings, 1 lost (33.33 %), 1 late") || strings.Contains(got, "gone") {
		t.Errorf("line %q after another ping", got)
	}
}

// TestPingSummary shows each number under its name.
func TestPingSummary(t *testing.T) {
	r := rping.Result{
		Device: "rxe0", Remote: "192.0.2.1:7174", Sent: 9, Received: 8, Lost: 1, Late: 2, Wrong: 3, Check: true,
		LateMs: 5, Bytes: 64, Connections: 1,
		Time: &bench.LatencyPoint{Iterations: 8, Min: 10, P50: 20, P99: 30, P999: 40, Max: 50, Jitter: 60},
	}
	text, err := output.New(output.Options{}).Render(r, pingBlocks(&r)...)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(string(text)), " ")
	for _, want := range []string{
		"rxe0 to 192.0.2.1:7174: 9 pings of 64 bytes, 1 lost, 2 late (after 5 ms), 3 with other data",
		"CAME BACK MIN US P50 P99 P99.9 MAX US JITTER 8 10.00 20.00 30.00 40.00 50.00 60.00",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("summary %q, want %q", got, want)
		}
	}
}
