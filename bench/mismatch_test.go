package bench_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/internal/testkit/race"
	"github.com/rdmakit/rdmakit/verbs"
)

// outcome is the result of one end of a test.
type outcome struct {
	result bench.Result
	err    error
	took   time.Duration
}

// ends runs the two ends of a test with separate configurations; each closes its connection when it
// ends, as a program does. Without a version both announce 6.06, and don't compare their
// parameters.
func ends(t *testing.T, client, server bench.Config) (ofClient, ofServer outcome) {
	t.Helper()
	d, e := open(t, "127.3.0.1"), open(t, "127.3.0.2")
	one, two := net.Pipe()
	client.Role, server.Role = perftest.RoleClient, perftest.RoleServer
	client.Version, server.Version = cmp.Or(client.Version, 606), cmp.Or(server.Version, 606)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	done := make(chan outcome, 1)
	go func() {
		r, err := bench.Run(ctx, e, two, server)
		_ = two.Close()
		done <- outcome{r, err, time.Since(began)}
	}()
	r, err := bench.Run(ctx, d, one, client)
	_ = one.Close()
	ofClient, ofServer = outcome{r, err, time.Since(began)}, <-done
	t.Logf("client: %v after %v; server: %v after %v", ofClient.err, ofClient.took, ofServer.err, ofServer.took)
	return ofClient, ofServer
}

// TestNumberAndDuration gives one end a number of messages, which end long before the measured time
// of the other begins.
func TestNumberAndDuration(t *testing.T) {
	for _, test := range []bench.Test{bench.SendBW, bench.WriteLat, bench.SendLat} {
		number := bench.Config{Test: test, Size: 64, Iterations: 20, StepTimeout: 5 * time.Second}
		duration := bench.Config{Test: test, Size: 64, Duration: time.Second, StepTimeout: 5 * time.Second}
		t.Run(test.String()+", client for a time", func(t *testing.T) {
			client, _ := ends(t, duration, number)
			checkNothing(t, client)
		})
		t.Run(test.String()+", server for a time", func(t *testing.T) {
			_, server := ends(t, number, duration)
			checkNothing(t, server)
		})
	}
}

// TestShorterDuration lets the messages end in the middle of the measured time of one end.
func TestShorterDuration(t *testing.T) {
	for _, test := range []bench.Test{bench.SendBW, bench.WriteLat, bench.SendLat} {
		short := bench.Config{Test: test, Size: 64, Duration: 500 * time.Millisecond, StepTimeout: 5 * time.Second}
		// Hardly a margin, so that on a busy machine too the other end's messages are over in time.
		long := bench.Config{
			Test: test, Size: 64, Duration: time.Second, Margin: time.Millisecond, StepTimeout: 5 * time.Second,
		}
		want := func(t *testing.T, got outcome) {
			t.Helper()
			checkNothing(t, got)
			if !errors.Is(got.err, bench.ErrCutShort) {
				t.Errorf("Run = %v, want ErrCutShort", got.err)
			}
		}
		t.Run(test.String()+", server shorter", func(t *testing.T) {
			client, _ := ends(t, long, short)
			want(t, client)
		})
		t.Run(test.String()+", client shorter", func(t *testing.T) {
			_, server := ends(t, short, long)
			want(t, server)
		})
	}
}

// TestPeerGoesOn lets the server's time end while its client still has messages.
func TestPeerGoesOn(t *testing.T) {
	number := bench.Config{
		Test: bench.SendBW, Size: 64, Iterations: 100_000_000, NoPeak: true, StepTimeout: 5 * time.Second,
	}
	duration := bench.Config{Test: bench.SendBW, Size: 64, Duration: 300 * time.Millisecond, StepTimeout: time.Second}
	client, server := ends(t, number, duration)
	if mismatch, ok := errors.AsType[*bench.MismatchError](server.err); !ok || len(mismatch.Hints()) != 1 ||
		!errors.Is(server.err, os.ErrDeadlineExceeded) {
		t.Errorf("server: Run = %v, want a MismatchError for a deadline", server.err)
	}
	if !errors.Is(client.err, bench.ErrPeerEnded) {
		t.Errorf("client: Run = %v, want ErrPeerEnded", client.err)
	}
}

func checkNothing(t *testing.T, got outcome) {
	t.Helper()
	if got.err == nil {
		t.Errorf("Run = %+v %+v without an error", got.result.Bandwidth, got.result.Latency)
	}
	if len(got.result.Bandwidth)+len(got.result.Latency) > 0 {
		t.Errorf("Run = %+v %+v, want no line", got.result.Bandwidth, got.result.Latency)
	}
	if got.took > 10*time.Second {
		t.Errorf("Run took %v", got.took)
	}
}

// TestNothingMeasured checks the text of the error.
func TestNothingMeasured(t *testing.T) {
	client, _ := ends(t, bench.Config{Test: bench.SendBW, Size: 64, Duration: time.Second},
		bench.Config{Test: bench.SendBW, Size: 64, Iterations: 20})
	if want := "no message fell into the measured time: does the other end run with the same -D or -n?"; !errors.Is(
		client.err, bench.ErrNothingMeasured) || !strings.Contains(client.err.Error(), want) {
		t.Errorf("Run = %v, want %q", client.err, want)
	}
}

// TestPeerFinishes lets a server expect more messages than its client sends.
func TestPeerFinishes(t *testing.T) {
	for _, test := range []bench.Test{bench.SendBW, bench.SendLat} {
		t.Run(test.String(), func(t *testing.T) {
			_, server := ends(t, bench.Config{Test: test, Size: 64, Iterations: 20},
				bench.Config{Test: test, Size: 64, Iterations: 1000})
			if !errors.Is(server.err, perftest.ErrAhead) && !errors.Is(server.err, bench.ErrPeerEnded) ||
				server.took > 10*time.Second {
				t.Errorf("Run = %v after %v, want ErrAhead after 2 s", server.err, server.took)
			}
		})
	}
}

// TestOtherSize sends more than the receiver has room for.
func TestOtherSize(t *testing.T) {
	client, server := ends(t, bench.Config{Test: bench.SendBW, Size: 8192, Iterations: 20},
		bench.Config{Test: bench.SendBW, Size: 4096, Iterations: 20})
	for name, got := range map[string]outcome{"client": client, "server": server} {
		if mismatch, ok := errors.AsType[*bench.MismatchError](got.err); !ok || len(mismatch.Hints()) != 1 ||
			!strings.Contains(mismatch.Hints()[0], "same size") {
			t.Errorf("%s: Run = %v, want a MismatchError", name, got.err)
		}
	}
}

// TestEcho has a server that echoes all data.
func TestEcho(t *testing.T) {
	one, two := net.Pipe()
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := two.Read(buf)
			if err != nil {
				return
			}
			if _, err := two.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	defer one.Close()
	_, err := bench.Run(t.Context(), open(t, "127.3.0.1"), one,
		bench.Config{Test: bench.WriteBW, Role: perftest.RoleClient, StepTimeout: 5 * time.Second})
	if !errors.Is(err, bench.ErrEcho) ||
		!strings.Contains(err.Error(), "the other end echoes what it receives: it is not perftest") {
		t.Errorf("Run = %v, want ErrEcho", err)
	}
}

// TestCheck tests the checks that need no peer.
func TestCheck(t *testing.T) {
	d := open(t, "127.3.0.1")
	tests := []struct {
		cfg  bench.Config
		want string
	}{
		{bench.Config{Size: -1}, "write_bw with roce@127.3.0.1: size -1"},
		{bench.Config{GIDIndex: 7}, "GID index 7: port 1 has no such GID, but GID index 0"},
		{bench.Config{Port: 2}, "has port 1 only"},
	}
	for _, tt := range tests {
		if err := bench.Check(t.Context(), d, tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Check(%+v) = %v, want %q", tt.cfg, err, tt.want)
		}
		one, two := net.Pipe()
		_ = two.Close()
		if _, err := bench.Run(t.Context(), d, one, tt.cfg); err == nil || errors.Is(err, io.ErrClosedPipe) ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("Run(%+v) = %v, want %q", tt.cfg, err, tt.want)
		}
	}
	if err := bench.Check(t.Context(), d, bench.Config{}); err != nil {
		t.Errorf("Check of the default = %v", err)
	}
}

// TestNoMemory runs itself in a process that may have 4 GB of address space, and asks
// for 8 GiB there.
func TestNoMemory(t *testing.T) {
	const inside = "BENCH_NO_MEMORY"
	if os.Getenv(inside) != "" {
		noMemory(t)
		return
	}
	if race.Enabled {
		t.Skip("the race detector needs more address space than the limit")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c",
		`ulimit -v 4000000; exec "$0" -test.run='^TestNoMemory$' -test.v`, os.Args[0])
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestNoMemory") {
		t.Errorf("with 4 GB of address space: %v\n%.2000s", err, out)
	}
}

func noMemory(t *testing.T) {
	t.Helper()
	const want = "allocate 8 GiB for 4 queue pairs of 1 GiB: cannot allocate memory"
	cfg := bench.Config{Size: 1 << 30, QueuePairs: 4, Iterations: 5}
	if err := bench.Check(t.Context(), open(t, "127.3.0.3"), cfg); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Check = %v, want %q", err, want)
	}
	client, server := ends(t, cfg, cfg)
	for name, got := range map[string]outcome{"client": client, "server": server} {
		if got.err == nil {
			t.Errorf("%s: Run succeeded", name)
		}
	}
	if text := fmt.Sprint(client.err, server.err); !strings.Contains(text, want) {
		t.Errorf("Run = %s, want %q", text, want)
	}
}

// TestDifferences compares the parameters before the test: both ends must name what differs.
func TestDifferences(t *testing.T) {
	base := bench.Config{Test: bench.SendBW, Size: 4096, Iterations: 20}
	tests := []struct {
		name   string
		change func(*bench.Config) // of the server
		want   string
	}{
		{"test", func(c *bench.Config) { c.Test = bench.WriteBW }, "operation: SEND here, WRITE at the server"},
		{
			"kind", func(c *bench.Config) { c.Test = bench.SendLat },
			"measurement: bandwidth here, latency at the server",
		},
		{"size", func(c *bench.Config) { c.Size = 8192 }, "message size: 4096 here, 8192 at the server"},
		{"sizes", func(c *bench.Config) { c.Size, c.AllSizes = 0, true }, "sizes: one here, all at the server"},
		{"number", func(c *bench.Config) { c.Iterations = 30 }, "number of messages: 20 here, 30 at the server"},
		{
			"duration", func(c *bench.Config) { c.Duration = time.Second },
			"length of the test: number of messages here, duration at the server",
		},
		{"pairs", func(c *bench.Config) { c.QueuePairs = 2 }, "number of queue pairs: 1 here, 2 at the server"},
		{"unit", func(c *bench.Config) { c.ReportGbps = true }, "unit of the reports: MB/s here, Gb/s at the server"},
	}
	for _, version := range []perftest.Version{629, 630} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%v %s", version, tt.name), func(t *testing.T) {
				client, server := base, base
				tt.change(&server)
				client.Version, server.Version = version, version
				atClient, atServer := ends(t, client, server)
				want := "exchange parameters with the server: the ends differ: " + tt.want
				if atClient.err == nil || !strings.HasSuffix(atClient.err.Error(), want) {
					t.Errorf("client: Run = %v, want %q", atClient.err, want)
				}
				different, ok := errors.AsType[*perftest.DifferenceError](atServer.err)
				if !ok || different.Peer != perftest.RoleClient || len(different.Hints()) != 1 {
					t.Errorf("server: Run = %v, want a DifferenceError with a hint", atServer.err)
				}
			})
		}
	}
}

// TestPassiveServer lets a server that takes no part in the measurement have another number of
// messages than its client, and any server another number of requests in flight.
func TestPassiveServer(t *testing.T) {
	base := bench.Config{Size: 64, Iterations: 20, Version: perftest.VersionAnnounced, StepTimeout: time.Second}
	for _, test := range []bench.Test{bench.WriteBW, bench.ReadBW, bench.ReadLat, bench.SendBW} {
		t.Run(test.String(), func(t *testing.T) {
			base.Test = test
			other := base
			if test == bench.SendBW {
				other.TxDepth = 5
			} else {
				other.Duration = time.Hour
			}
			client, server := ends(t, base, other)
			if client.err != nil || server.err != nil || len(client.result.Notes) != 0 {
				t.Errorf("Run = %v and %v, notes %q", client.err, server.err, client.result.Notes)
			}
		})
	}
}

// TestNewerPeer has a server of a version that doesn't exist yet: the test runs, with a note.
func TestNewerPeer(t *testing.T) {
	cfg := bench.Config{
		Test: bench.SendBW, Size: 64, Iterations: 20, Version: perftest.VersionAnnounced, StepTimeout: time.Second,
	}
	newer := cfg
	newer.Version = 799
	client, server := ends(t, cfg, newer)
	if client.err != nil || server.err != nil {
		t.Fatalf("Run = %v and %v", client.err, server.err)
	}
	const want = "the peer's perftest announces version 7.99; rdmakit was tried with versions up to 6.30"
	if got := client.result.Notes; len(got) != 1 || got[0] != want || client.result.PeerVersion != "7.99" {
		t.Errorf("notes of the client = %q, peer %s, want %q", got, client.result.PeerVersion, want)
	}
	if got := server.result.Notes; len(got) != 0 {
		t.Errorf("notes of the server = %q, want none", got)
	}
}

// TestVanishedHints is for a peer that is gone without notice: that comes before other tests.
func TestVanishedHints(t *testing.T) {
	for status, want := range map[verbs.WCStatus]string{
		verbs.WCRetryExceeded: "has ended without notice", verbs.WCRemoteAccess: "same size",
	} {
		e := &bench.MismatchError{Err: &verbs.CompletionError{Status: status}}
		if hints := e.Hints(); !strings.Contains(hints[0], want) ||
			!strings.Contains(hints[len(hints)-1], "queue pairs?") {
			t.Errorf("hints for %v = %q, want %q first", status, hints, want)
		}
	}
}
