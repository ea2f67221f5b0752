package bench_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/internal/testkit/connectors"
	"github.com/rdmakit/rdmakit/internal/testkit/race"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// openIWARP opens an engine that has the limits of iWARP.
func openIWARP(t *testing.T, address string) *verbs.Device {
	t.Helper()
	return openWith(t, address, connectors.IWARP{Provider: roce.Provider{}})
}

// TestIWARP runs the tests on devices that have the limits of iWARP. A SEND that finds no receive
// request fails there: the sender must not be ahead of its credits.
func TestIWARP(t *testing.T) {
	client, server := openIWARP(t, "127.0.63.31"), openIWARP(t, "127.0.63.32")
	for _, test := range bench.Tests() {
		variants := map[string]bench.Config{
			"small": {Size: 64, Iterations: 300},
			"all":   {AllSizes: true, Iterations: 5},
			"606":   {Size: 512, Iterations: 50, Version: 606},
		}
		if !test.IsLatency() {
			variants["3 queue pairs"] = bench.Config{Size: 4096, Iterations: 200, QueuePairs: 3, RxDepth: 9}
			variants["one receive request"] = bench.Config{Size: 100, Iterations: 200, RxDepth: 1}
			variants["post list"] = bench.Config{
				Size: 100, Iterations: 240, PostList: 8, RxDepth: 15, TxDepth: 16, QueuePairs: 2,
			}
			variants["moderation"] = bench.Config{
				Size: 100, Iterations: 400, CQModeration: 100, TxDepth: 200, RxDepth: 10,
			}
			variants["duration"] = bench.Config{Size: 1000, Duration: time.Second, RxDepth: 20}
		}
		for name, cfg := range variants {
			t.Run(fmt.Sprintf("%v/%s", test, name), func(t *testing.T) {
				if race.Enabled && test == bench.SendBW {
					t.Skip("the engine writes credits to memory that the sender reads, as a card does: the race " +
						"detector reports that")
				}
				cfg.Test, cfg.RDMACM = test, bench.RDMACMConnect
				a, b := pair(t, client, server, "127.0.63.32", 18606, cfg, cfg)
				if a.err != nil || b.err != nil {
					t.Fatalf("client: %v; server: %v", a.err, b.err)
				}
				check(t, cfg, a.result, true)
				check(t, cfg, b.result, false)
				if a.result.Transport != bench.TransportIWARP || b.result.Transport != bench.TransportIWARP {
					t.Errorf("transport %q, %q", a.result.Transport, b.result.Transport)
				}
			})
		}
	}
}

// TestIWARPNotes says that an MTU has no effect.
func TestIWARPNotes(t *testing.T) {
	client, server := openIWARP(t, "127.0.63.33"), openIWARP(t, "127.0.63.34")
	cfg := bench.Config{Iterations: 20, RDMACM: bench.RDMACMConnect, MTU: 1024}
	a, b := pair(t, client, server, "127.0.63.34", 18607, cfg, cfg)
	for _, end := range []ended{a, b} {
		if end.err != nil || !strings.Contains(strings.Join(end.result.Notes, "; "), "MTU has no effect on iWARP") {
			t.Errorf("%v, notes %q", end.err, end.result.Notes)
		}
	}
}

// TestIWARPRefused rejects what iWARP hasn't before a server waits, and says what works.
func TestIWARPRefused(t *testing.T) {
	d := openIWARP(t, "127.0.63.35")
	for _, tt := range []struct {
		cfg        bench.Config
		want, hint string
	}{
		{
			bench.Config{},
			"write_bw with roce@127.0.63.35: an iWARP device: its queue pairs connect only by rdma_cm", "-R",
		},
		{bench.Config{RDMACM: bench.RDMACMExchange}, "its queue pairs connect only by rdma_cm", "-R"},
		{
			bench.Config{Test: bench.SendLat, QPType: verbs.QPTypeUD, RDMACM: bench.RDMACMConnect},
			"an iWARP device: its queue pairs are connections (RC), it has none of type UD",
			"type RC",
		},
		{
			bench.Config{Test: bench.SendBW, PostList: 10, RxDepth: 18, Iterations: 100, RDMACM: bench.RDMACMConnect},
			"a post list of 10 is more than half of the rx depth 18", "at most 9",
		},
	} {
		err := bench.Check(t.Context(), d, tt.cfg)
		e, ok := errors.AsType[*bench.IWARPError](err)
		if !ok || !errors.Is(err, verbs.ErrNotSupported) || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(strings.Join(e.Hints(), "; "), tt.hint) {
			t.Errorf("Check(%+v) = %v, want %q", tt.cfg, err, tt.want)
		}
	}
	for _, host := range []string{"", "127.0.63.36"} {
		cfg := bench.Config{Role: perftest.RoleServer}
		_, err := bench.Meet(t.Context(), d, host, 18608, cfg, func() { t.Error("it waits") })
		if _, ok := errors.AsType[*bench.IWARPError](err); !ok {
			t.Errorf("Meet with %q = %v", host, err)
		}
	}
	without, err := verbs.Open(t.Context(), "roce@127.0.63.37",
		connectors.Without{Provider: connectors.IWARP{Provider: roce.Provider{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer without.Close()
	err = bench.Check(t.Context(), without, bench.Config{RDMACM: bench.RDMACMConnect})
	missing, ok := errors.AsType[*bench.NoConnectorError](err)
	if !ok || !missing.IWARP || !strings.Contains(strings.Join(missing.Hints(), ""), "needs librdmacm") {
		t.Errorf("without librdmacm: %v", err)
	}
}
