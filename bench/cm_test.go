package bench_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// ended is what an end of a test returns.
type ended struct {
	result bench.Result
	err    error
}

// end runs one end of a test; waiting is closed when a server waits.
func end(ctx context.Context, d *verbs.Device, host string, port int, cfg bench.Config, waiting chan struct{}) ended {
	if host != "" {
		cfg.Role = perftest.RoleClient
	}
	conn, err := bench.Meet(ctx, d, host, port, cfg, func() { close(waiting) })
	if err != nil {
		return ended{err: err}
	}
	defer conn.Close()
	r, err := bench.Run(ctx, d, conn, cfg)
	return ended{r, err}
}

// pair runs both ends of a test that meet on a port.
func pair(
	t *testing.T, client, server *verbs.Device, host string, port int, cfg, own bench.Config,
) (ofClient, ofServer ended) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	waiting, done := make(chan struct{}), make(chan ended, 1)
	go func() { done <- end(ctx, server, "", port, own, waiting) }()
	select {
	case <-waiting:
	case o := <-done:
		return ended{err: errors.New("not tried")}, o
	}
	ofClient = end(ctx, client, host, port, cfg, nil)
	if ofClient.err != nil { // the server may wait for another one
		select {
		case ofServer = <-done:
			return ofClient, ofServer
		case <-time.After(5 * time.Second):
			cancel()
		}
	}
	return ofClient, <-done
}

// cmGoodbye is how long an end waits for another one that doesn't end.
const cmGoodbye = 2 * time.Second

func TestRDMACM(t *testing.T) {
	client, server := open(t, "127.0.63.1"), open(t, "127.0.63.2")
	for _, test := range bench.Tests() {
		variants := map[string]bench.Config{
			"-R":     {Size: 64, Iterations: 100, RDMACM: bench.RDMACMConnect},
			"-R all": {AllSizes: true, Iterations: 5, RDMACM: bench.RDMACMConnect},
			"-z":     {Size: 4096, Iterations: 50, RDMACM: bench.RDMACMExchange, MTU: ib.MTU1024},
			"-R 606": {Size: 512, Iterations: 50, RDMACM: bench.RDMACMConnect, Version: 606},
		}
		if !test.IsLatency() {
			variants["-R 8 queue pairs"] = bench.Config{
				Size: 4096, Iterations: 60, QueuePairs: 8, RDMACM: bench.RDMACMConnect,
			}
			variants["-z 3 queue pairs"] = bench.Config{
				Size: 4096, Iterations: 60, QueuePairs: 3, RDMACM: bench.RDMACMExchange,
			}
		}
		if test.Op() == verbs.SendOpSend {
			variants["-R UD"] = bench.Config{
				Size: 256, Iterations: 100, QPType: verbs.QPTypeUD, RDMACM: bench.RDMACMConnect,
			}
		}
		for name, cfg := range variants {
			t.Run(fmt.Sprintf("%v/%s", test, name), func(t *testing.T) {
				cfg.Test = test
				var took time.Duration
				var a, b ended
				for range 2 { // a busy machine may delay one run
					began := time.Now()
					a, b = pair(t, client, server, "127.0.63.2", 18600, cfg, cfg)
					if a.err != nil || b.err != nil {
						t.Fatalf("client: %v; server: %v", a.err, b.err)
					}
					took = time.Since(began)
					if took < cmGoodbye || cfg.AllSizes {
						break
					}
				}
				if took >= cmGoodbye && !cfg.AllSizes {
					t.Errorf("took %v: an end has waited for the other's end", took)
				}
				check(t, cfg, a.result, true)
				check(t, cfg, b.result, false)
			})
		}
	}
}

// TestRDMACMVersions tests ends that announce different versions, and so expect different layouts.
func TestRDMACMVersions(t *testing.T) {
	client, server := open(t, "127.0.63.15"), open(t, "127.0.63.16")
	for _, versions := range [][2]perftest.Version{{606, 0}, {0, 606}, {628, 0}, {0, 628}, {628, 606}, {606, 628}} {
		for _, test := range []bench.Test{bench.WriteBW, bench.SendLat} {
			t.Run(fmt.Sprintf("%v %v", test, versions), func(t *testing.T) {
				cfg := bench.Config{Test: test, Iterations: 20, RDMACM: bench.RDMACMConnect, Version: versions[0]}
				own := cfg
				own.Version = versions[1]
				a, b := pair(t, client, server, "127.0.63.16", 18605, cfg, own)
				if a.err != nil || b.err != nil {
					t.Fatalf("client: %v; server: %v", a.err, b.err)
				}
			})
		}
	}
	cfg := bench.Config{Iterations: 20, RDMACM: bench.RDMACMConnect} // they compare their parameters
	own := cfg
	own.QueuePairs = 2
	a, b := pair(t, client, server, "127.0.63.16", 18605, cfg, own)
	for _, end := range []ended{a, b} {
		if end.err == nil || !strings.Contains(end.err.Error(), "the ends differ: number of queue pairs") {
			t.Errorf("different numbers: %v", end.err)
		}
	}
}

// TestRDMACMPairing tests ends that don't meet in the same way.
func TestRDMACMPairing(t *testing.T) {
	client, server := open(t, "127.0.63.3"), open(t, "127.0.63.4")
	const off, z, r = bench.RDMACMOff, bench.RDMACMExchange, bench.RDMACMConnect
	for _, tt := range []struct {
		client, server     bench.RDMACM
		ofClient, ofServer string // texts
	}{
		{
			r, off, "the server exchanges over TCP, and this end connects queue pairs by rdma_cm (-R)",
			"asks for a connection by rdma_cm",
		},
		{
			z, off, "the server exchanges over TCP, and this end exchanges over rdma_cm",
			"asks for a connection by rdma_cm",
		},
		{
			off, r, "the server connects by rdma_cm (-R or -z), and this end doesn't",
			"exchanges over TCP, and this end connects queue pairs by rdma_cm (-R)",
		},
		{r, z, "", "the peer connects queue pairs by rdma_cm (-R), and this end exchanges over rdma_cm"},
		{z, r, "", "the peer exchanges over rdma_cm and connects queue pairs itself (-z), and this end connects"},
	} {
		t.Run(fmt.Sprintf("%v %v", tt.client, tt.server), func(t *testing.T) {
			cfg, own := bench.Config{RDMACM: tt.client}, bench.Config{RDMACM: tt.server}
			a, b := pair(t, client, server, "127.0.63.4", 18601, cfg, own)
			for _, end := range []struct {
				name, want string
				err        error
			}{{"client", tt.ofClient, a.err}, {"server", tt.ofServer, b.err}} {
				if end.err == nil || !strings.Contains(end.err.Error(), end.want) {
					t.Errorf("%s: %v, want %q", end.name, end.err, end.want)
				}
			}
		})
	}
}

// TestRDMACMRefused tests servers that can't be reached.
func TestRDMACMRefused(t *testing.T) {
	client := open(t, "127.0.63.5")
	_ = open(t, "127.0.63.6")
	cfg := bench.Config{RDMACM: bench.RDMACMConnect}
	_, err := bench.Meet(t.Context(), client, "127.0.63.6", 18602, cfg, nil)
	if !errors.Is(err, verbs.ErrNobodyListens) || !strings.Contains(err.Error(), "nobody listens on port 18602") {
		t.Errorf("nobody listens: %v", err)
	}
	refused, ok := errors.AsType[*bench.RefusedError](err)
	if !ok || len(refused.Hints()) != 1 || !strings.Contains(refused.Hints()[0], "with -R and the same -p") {
		t.Errorf("hints of %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := bench.Meet(ctx, client, "127.0.63.7", 18602, cfg, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no device there: %v", err)
	}
	if _, err := bench.Meet(t.Context(), client, "::1", 18602, cfg, nil); err == nil ||
		!strings.Contains(err.Error(), "not of the same family") {
		t.Errorf("IPv6: %v", err)
	}
	cfg.QPType = verbs.QPTypeUC
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "UC is not connected by rdma_cm") {
		t.Errorf("UC: %v", err)
	}
	cfg = bench.Config{RDMACM: bench.RDMACMExchange, TrafficClass: 104}
	const want = "only for queue pairs that rdma_cm connects"
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("traffic class without -R: %v", err)
	}
}

// TestRDMACMClientEnds tests a server whose client ends in the middle.
func TestRDMACMClientEnds(t *testing.T) {
	client, server := open(t, "127.0.63.8"), open(t, "127.0.63.9")
	cfg := bench.Config{Test: bench.ReadLat, RDMACM: bench.RDMACMConnect, Iterations: 100_000_000}
	ctx, cancel := context.WithCancel(t.Context())
	waiting, done := make(chan struct{}), make(chan ended, 1)
	go func() { done <- end(t.Context(), server, "", 18603, cfg, waiting) }()
	<-waiting
	time.AfterFunc(500*time.Millisecond, cancel)
	if o := end(ctx, client, "127.0.63.9", 18603, cfg, nil); !errors.Is(o.err, context.Canceled) {
		t.Errorf("client: %v", o.err)
	}
	select {
	case o := <-done:
		if !errors.Is(o.err, perftest.ErrClosed) {
			t.Errorf("server: %v", o.err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the server still waits")
	}
}
