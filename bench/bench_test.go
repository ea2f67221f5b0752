package bench_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
	"github.com/rdmakit/rdmakit/wire/ib"
)

func open(t testing.TB, address string) *verbs.Device {
	t.Helper()
	return openWith(t, address, builtin.All()...)
}

// openWith opens an engine that one of these providers has.
func openWith(t testing.TB, address string, providers ...provider.Provider) *verbs.Device {
	t.Helper()
	d, err := verbs.Open(t.Context(), "roce@"+address, providers...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// both runs both ends of a test.
func both(t testing.TB, client, server *verbs.Device, cfg bench.Config) (ofClient, ofServer bench.Result) {
	t.Helper()
	return bothWith(t, client, server, cfg, cfg)
}

// bothWith is like both, with a configuration of the server's own.
func bothWith(
	t testing.TB, client, server *verbs.Device, cfg, own bench.Config,
) (ofClient, ofServer bench.Result) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	own.Role = perftest.RoleServer
	done := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			defer conn.Close()
			ofServer, err = bench.Run(ctx, server, conn, own)
		}
		done <- err
	}()
	//nolint:errcheck,forcetypeassert // a TCP listener has no other
	conn, err := bench.Dial(ctx, "127.0.0.1", l.Addr().(*net.TCPAddr).Port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cfg.Role = perftest.RoleClient
	if ofClient, err = bench.Run(ctx, client, conn, cfg); err != nil {
		t.Errorf("client: %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("server: %v", err)
	}
	return ofClient, ofServer
}

func TestRun(t *testing.T) {
	client, server := open(t, "127.0.1.1"), open(t, "127.0.1.2")
	for _, test := range bench.Tests() {
		variants := map[string]bench.Config{
			"small":    {Size: 64, Iterations: 100, WarmUp: true},
			"odd":      {Size: 12345, Iterations: 50, MTU: ib.MTU1024},
			"all":      {AllSizes: true, Iterations: 5},
			"duration": {Size: 4096, Duration: time.Second}, // a lost packet stops the transfer for 67 ms
		}
		if !test.IsLatency() {
			variants["8 queue pairs"] = bench.Config{Size: 4096, Iterations: 60, QueuePairs: 8, MTU: ib.MTU1024}
			variants["post list"] = bench.Config{Size: 512, Iterations: 64, PostList: 8, QueuePairs: 2}
			variants["shallow"] = bench.Config{Size: 1, Iterations: 33, TxDepth: 1, RxDepth: 1}
		}
		for name, cfg := range variants {
			t.Run(fmt.Sprintf("%v/%s", test, name), func(t *testing.T) {
				cfg.Test = test
				a, b := both(t, client, server, cfg)
				check(t, cfg, a, true)
				check(t, cfg, b, false)
			})
		}
	}
}

// check checks the properties of every result.
func check(t *testing.T, cfg bench.Config, r bench.Result, client bool) {
	t.Helper()
	if r.Scale != bench.ScaleSoftware || len(r.Local) != max(1, cfg.QueuePairs) || len(r.Remote) != len(r.Local) ||
		cfg.MTU != 0 && r.MTU != cfg.MTU {
		t.Errorf("setup = %+v", r.Setup)
	}
	points := 1
	if cfg.AllSizes {
		points = 23
	}
	if cfg.Test.IsLatency() {
		if cfg.Test == bench.ReadLat && !client {
			points = 0
		}
		if len(r.Latency) != points {
			t.Fatalf("%d lines of latency, want %d", len(r.Latency), points)
		}
		for _, p := range r.Latency {
			checkLatency(t, cfg, p)
		}
		return
	}
	if cfg.Test != bench.SendBW && !client {
		points = 1 // the client sends the result at the end
	}
	if len(r.Bandwidth) != points {
		t.Fatalf("%d lines of bandwidth, want %d", len(r.Bandwidth), points)
	}
	for _, p := range r.Bandwidth {
		checkBandwidth(t, cfg, p)
	}
}

func checkLatency(t *testing.T, cfg bench.Config, p bench.LatencyPoint) {
	t.Helper()
	if cfg.Duration == 0 && p.Iterations != uint64(cfg.Iterations) || p.Iterations == 0 {
		t.Errorf("%d iterations, want %d", p.Iterations, cfg.Iterations)
	}
	const slack = 1.002 // of the histogram
	if !(p.Min > 0 && p.Min <= p.P50*slack && p.P50 <= p.P90 && p.P90 <= p.P99 && p.P99 <= p.P999 &&
		p.P999 <= p.Max*slack) {
		t.Errorf("percentiles out of order: %+v", p)
	}
	if p.Average < p.Min || p.Average > p.Max || p.StdDev < 0 || p.Typical != p.P50 || p.Jitter != p.P999-p.P50 {
		t.Errorf("latency = %+v", p)
	}
}

func checkBandwidth(t *testing.T, cfg bench.Config, p bench.BandwidthPoint) {
	t.Helper()
	if cfg.Duration == 0 && p.Iterations != uint64(cfg.Iterations*max(1, cfg.QueuePairs)) || p.Iterations == 0 {
		t.Errorf("%d iterations, want %d of each queue pair", p.Iterations, cfg.Iterations)
	}
	if want := p.MessageRate * 1e6 * float64(p.Bytes) * 8 / 1e9; math.Abs(want-p.AverageGbps) > 1e-6*want || want <= 0 {
		t.Errorf("average %v Gb/s, but the message rate says %v", p.AverageGbps, want)
	}
	if p.PeakGbps != 0 && p.PeakGbps < p.AverageGbps*0.999 {
		t.Errorf("peak %v Gb/s is less than the average %v", p.PeakGbps, p.AverageGbps)
	}
}

func TestConfigErrors(t *testing.T) {
	d := open(t, "127.0.1.1")
	tests := []struct {
		cfg  bench.Config
		want string
	}{
		{bench.Config{Test: 9}, "unknown test 9"},
		{bench.Config{Size: -1}, "size -1 is not 1 to"},
		{bench.Config{Iterations: 4}, "iterations 4 is not 5 to"},
		{bench.Config{QueuePairs: 2000}, "queue pairs 2000"},
		{bench.Config{MTU: 1500}, "MTU 1500 is not 256"},
		{bench.Config{Test: bench.ReadLat, QueuePairs: 2}, "only bandwidth tests support"},
		{bench.Config{Test: bench.SendLat, PostList: 2}, "only bandwidth tests support"},
		{bench.Config{PostList: 3, Iterations: 100}, "not a multiple of the post list 3"},
		{bench.Config{PostList: 200, Iterations: 1000}, "larger than the tx depth 128"},
		{bench.Config{Duration: time.Second, AllSizes: true}, "can't be combined with all sizes"},
		{bench.Config{Duration: time.Second, Margin: time.Second}, "leaves nothing between margins"},
		{bench.Config{GIDIndex: 3}, "GID index 3"},
		{bench.Config{Size: 1 << 30, QueuePairs: 100}, "bytes of memory"},
		{bench.Config{Port: 2}, "has port 1 only"},
	}
	for _, tt := range tests {
		if _, err := bench.Run(t.Context(), d, nil, tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Run(%+v) = %v, want %q", tt.cfg, err, tt.want)
		}
	}
}

// TestPeerVanishes ends the peer in the middle of a test: nothing may hang or leak.
func TestPeerVanishes(t *testing.T) {
	client, server := open(t, "127.0.1.1"), open(t, "127.0.1.2")
	for _, test := range bench.Tests() {
		t.Run(test.String(), func(t *testing.T) {
			a, b := net.Pipe()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cfg := bench.Config{Test: test, Duration: time.Hour}
			done := make(chan error, 2)
			for _, end := range []struct {
				d    *verbs.Device
				conn net.Conn
				role perftest.Role
			}{{client, a, perftest.RoleClient}, {server, b, perftest.RoleServer}} {
				own := cfg
				own.Role = end.role
				own.Observer.Started = func(*bench.Setup) {
					if end.role == perftest.RoleServer {
						time.AfterFunc(50*time.Millisecond, cancel)
					}
				}
				go func() {
					_, err := bench.Run(ctx, end.d, end.conn, own)
					_ = end.conn.Close()
					done <- err
				}()
			}
			for range 2 {
				select {
				case err := <-done:
					if err == nil {
						t.Error("a run that was cancelled has succeeded")
					}
				case <-time.After(20 * time.Second):
					t.Fatal("it hangs")
				}
			}
		})
	}
}
