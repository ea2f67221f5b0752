package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
)

// TestQuantiles checks that the quantiles of any intervals are in order.
func TestQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s := newIntervals()
		for range 1 + rng.IntN(50) {
			s.add(time.Duration(1 + rng.Int64N(1<<(1+rng.IntN(38)))))
		}
		p := s.point(2, s.n, 2)
		if !(p.Min <= p.P50 && p.P50 <= p.P90 && p.P90 <= p.P99 && p.P99 <= p.P999 && p.P999 <= p.Max) {
			t.Fatalf("point of %d intervals out of order: %+v", s.n, p)
		}
	}
}

// TestHugeReport gets reports whose values, or the products of these, JSON does not have: they must
// not make the result unprintable.
func TestHugeReport(t *testing.T) {
	const size = MaxSize
	inf, nan := math.Inf(1), math.NaN()
	for _, tt := range []struct {
		rate, peak, average float64
		hasRate, hasPeak    bool
	}{
		{1, 2, 1, true, true},
		{1e12, 1e12, 1, true, true},
		{1e305, 2, 1, false, false},
		{inf, 2, 1, false, false},
		{nan, 2, 1, false, false},
		{-1, 2, 1, false, false},
		{1, 1e300, 1e-300, true, false},
		{1, 2, 0, true, false},
		{1, 2, -1, true, false},
		{1, -2, -1, true, false},
		{1, inf, inf, true, false},
		{1, nan, 1, true, false},
	} {
		p := fromReport(perftest.Report{Size: size, Rate: tt.rate, Peak: tt.peak, Average: tt.average, Iterations: 1})
		if (p.MessageRate > 0 && p.AverageGbps > 0) != tt.hasRate || (p.PeakGbps > 0 && p.PeakMBps > 0) != tt.hasPeak {
			t.Errorf("fromReport(%+v) = %+v", tt, p)
		}
		if _, err := json.Marshal(p); err != nil {
			t.Errorf("the result of %+v: %v", tt, err)
		}
	}
}

// TestWatchdog stalls after 20 seconds: the limit counts from then on.
func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{rig: &rig{cfg: Config{TxDepth: 1, QueuePairs: 1, StepTimeout: 30 * time.Second}}}
		began := time.Now()
		ctx, stop := r.watchdog(t.Context(), 2)
		defer stop()
		for range 20 {
			time.Sleep(time.Second)
			r.moved.Add(1)
		}
		<-ctx.Done()
		err := context.Cause(ctx)
		if took := time.Since(began); !errors.Is(err, ErrStalled) || took < 50*time.Second || took > 52*time.Second {
			t.Errorf("watchdog = %v after %v, want it 30 s after the last message", err, took)
		}
		if want := "no progress with the peer for 30s"; err.Error() != want {
			t.Errorf("watchdog = %q, want %q", err, want)
		}
	})
}

func TestUnderWay(t *testing.T) {
	tests := []struct {
		size, n int
		want    time.Duration
	}{
		{1 << 20, 1, time.Second},
		{64 << 10, 128, 8 * time.Second},
		{1 << 30, 128, maxInterval}, // as nanoseconds beyond 64 bits
		{1 << 30, 15000 * 1024, maxInterval},
	}
	for _, tt := range tests {
		if got := underWay(tt.size, tt.n); got != tt.want {
			t.Errorf("underWay(%d, %d) = %v, want %v", tt.size, tt.n, got, tt.want)
		}
	}
}

// TestExplain checks the reasons for failed requests on connections that end or don't.
func TestExplain(t *testing.T) {
	failed := func(status verbs.WCStatus) error {
		return fmt.Errorf("measure: %w", &verbs.CompletionError{ID: 1, QPN: 2, Status: status})
	}
	const retries, ended, hint = verbs.WCRetryExceeded, "the peer ended: measure: ", "same test with the same size"
	unsent := func(cause error) error {
		return fmt.Errorf("measure: %w", &verbs.CompletionError{ID: 1, QPN: 2, Status: retries, Cause: cause})
	}
	other := errors.New("other")
	tests := []struct {
		name       string
		err        error
		goneAfter  time.Duration // negative for never
		want, hint string
		took       time.Duration
	}{
		{"gone", failed(retries), 0, ended, "", 0},
		{"gone soon", failed(verbs.WCFlushed), 400 * time.Millisecond, ended, "", 400 * time.Millisecond},
		{"gone late", failed(verbs.WCRemoteAccess), 600 * time.Millisecond, "measure: request 1", hint, endDelay},
		{"siw, gone", failed(verbs.WCLocalQPError), 0, ended, "", 0},
		{"inconsistent", failed(verbs.WCLocalQPError), -1, "measure: request 1", "", endDelay},
		{"stays", failed(verbs.WCRemoteInvalid), -1, "measure: request 1", hint, endDelay},
		{"refused, then gone", failed(verbs.WCRemoteInvalid), 0, ended, hint, 0},
		{"too long for us", failed(verbs.WCLocalLengthError), -1, "measure: request 1", hint, 0},
		{"not the peer's fault", failed(verbs.WCLocalProtection), 0, "measure: request 1", "", 0},
		{"too long", unsent(syscall.EMSGSIZE), -1, "measure: request 1 of qp 0x000002: transport retry", "--mtu", 0},
		{"firewall", unsent(syscall.EPERM), 0, "measure: request 1", "firewall", 0},
		{"no route", unsent(syscall.EHOSTUNREACH), -1, "measure: request 1", "no route", 0},
		{"another cause", unsent(syscall.ENOBUFS), -1, "measure: request 1", "", 0},
		{"no request", other, 0, "other", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gone := make(chan struct{})
				if tt.goneAfter == 0 {
					close(gone)
				} else if tt.goneAfter > 0 {
					time.AfterFunc(tt.goneAfter, func() { close(gone) })
				}
				began := time.Now()
				err := explain(tt.err, gone)
				took := time.Since(began)
				var got string
				if h, ok := err.(interface{ Hints() []string }); ok {
					got = strings.Join(h.Hints(), " ")
				}
				if !strings.HasPrefix(err.Error(), tt.want) || !errors.Is(err, tt.err) ||
					!strings.Contains(got, tt.hint) || tt.hint == "" && got != "" || took != tt.took {
					t.Errorf("explain = %v with hint %q after %v, want %q, %q, %v",
						err, got, took, tt.want, tt.hint, tt.took)
				}
			})
		})
	}
	if err := explain(nil, nil); err != nil {
		t.Errorf("explain(nil) = %v", err)
	}
}
