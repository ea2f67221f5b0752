package connect

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/internal/testkit/connectors"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
)

func byCM(c, _ *Config) { c.CM = true }

// checkedPort is a port of an engine that must be left without connections and listeners.
func checkedPort(t *testing.T, name string) Port {
	t.Helper()
	p := enginePort(name)
	p.Open = func(ctx context.Context) (*verbs.Device, error) {
		return verbs.Open(ctx, name, connectors.Checked{Provider: roce.Provider{}, T: t})
	}
	return p
}

func TestCM(t *testing.T) {
	a, b := []Port{checkedPort(t, "roce@127.0.64.31")}, []Port{checkedPort(t, "roce@127.0.64.32")}
	for range 2 {
		ofClient, ofListener := pairUp(t, a, b, false, byCM)
		checkGood(t, ofClient, 1)
		checkGood(t, ofListener, 1)
		for _, r := range []Report{ofClient, ofListener} {
			first := r.Attempts[0]
			if !slices.ContainsFunc(first.Stages, func(s StageResult) bool { return s.Stage == StageCM }) ||
				first.MTUReason != "chosen by rdma_cm" || first.PathMTU != 4096 {
				t.Errorf("attempt %+v", first)
			}
		}
	}
	small := func(c, _ *Config) { c.CM, c.MTU = true, 1024 }
	for _, r := range bothReports(pairUp(t, a, b, false, small)) {
		if got := r.Attempts[0]; got.PathMTU != 4096 ||
			got.MTUReason != "chosen by rdma_cm, which doesn't know the limit of 1024" {
			t.Errorf("path MTU %d: %s", got.PathMTU, got.MTUReason)
		}
	}
	cfg := quick("node")
	cfg.CM = true
	for _, other := range []string{"roce@127.0.64.33", "roce@127.0.64.34"} { // the first with itself
		r, err := Local(t.Context(), checkedPort(t, "roce@127.0.64.33"), checkedPort(t, other), cfg)
		if err != nil {
			t.Fatal(err)
		}
		checkGood(t, r, 1)
	}
}

// bothReports returns the reports of both ends.
func bothReports(a, b Report) []Report { return []Report{a, b} }

// TestCMFaults tests that both ends print the same about each fault of the stage.
func TestCMFaults(t *testing.T) {
	tests := []struct {
		name             string
		client, listener func(context.Context, *trial)
		code             Code
		cause, observed  string
	}{
		{
			name: "nobody listens", listener: func(ctx context.Context, t *trial) {
				_ = t.listener.Close()
				<-ctx.Done()
			},
			code: CodeCMRefused, cause: "nobody listens on port",
		},
		{
			name: "rejected", listener: func(ctx context.Context, t *trial) {
				if r, err := t.listener.Next(ctx); err == nil {
					_ = r.Reject([]byte("not today"))
				}
			},
			code: CodeCMRejected, cause: "rejected with reason 28: rejected by the program",
			observed: `private data of the rejection: "not today"`,
		},
		{
			name: "no answer", client: func(_ context.Context, t *trial) {
				astray := *t.out.Remote.GID
				astray.GID = ib.GID{10: 0xff, 0xff, 127, 0, 64, 99}
				t.out.Remote.GID = &astray
			},
			code: CodeCMSilent, cause: "no answer to the connection request (REQ), which was repeated for 500ms",
			observed: "no connection request (REQ) has arrived at node2 roce@127.0.64.36",
		},
		{
			name: "listener doesn't accept", listener: func(ctx context.Context, _ *trial) { <-ctx.Done() },
			code: CodeCMSilent, cause: "no answer to the connection request (REQ)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := []Port{checkedPort(t, "roce@127.0.64.35")}, []Port{checkedPort(t, "roce@127.0.64.36")}
			ofClient, ofListener := pairUp(t, a, b, false, func(c, l *Config) {
				c.CM, c.plant.cm, l.plant.cm = true, tt.client, tt.listener
				c.StepTimeout, l.StepTimeout = 500*time.Millisecond, 500*time.Millisecond
			})
			for _, r := range []Report{ofClient, ofListener} {
				if len(r.Attempts) != 1 || r.Attempts[0].Failure == nil {
					t.Fatalf("report %+v", r)
				}
				f := r.Attempts[0].Failure
				if f.Code != tt.code || f.Stage != StageCM || !strings.Contains(f.Cause, tt.cause) ||
					!strings.Contains(strings.Join(f.Observed, "; "), tt.observed) {
					t.Errorf("failure %s at %q: %s; observed %q", f.Code, f.Stage, f.Cause, f.Observed)
				}
				if tt.code == CodeCMSilent && (len(f.Possible) == 0 || len(f.Remedies) == 0) {
					t.Errorf("failure without possible reasons and remedies: %+v", f)
				}
			}
		})
	}
}

// TestCMForeign rejects the request of another program while the listener waits for the client's.
func TestCMForeign(t *testing.T) {
	a, b := []Port{checkedPort(t, "roce@127.0.64.39")}, []Port{checkedPort(t, "roce@127.0.64.40")}
	foreign := func(ctx context.Context, tr *trial) {
		r := tr.p.rig
		qp, err := r.pd.CreateQP(verbs.QPConfig{SendCQ: r.sends, RecvCQ: r.recvs})
		if err != nil {
			t.Error(err)
			return
		}
		defer qp.Close()
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		options := verbs.ConnectOptions{PrivateData: []byte("another program")}
		conn, err := tr.p.device.Dial(ctx, qp, tr.target(), options)
		if _, ok := errors.AsType[*verbs.RejectedError](err); !ok {
			t.Errorf("Dial of another program = %v, %v, want a RejectedError", conn, err)
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
	for _, r := range bothReports(pairUp(t, a, b, false, func(c, _ *Config) { c.CM, c.plant.cm = true, foreign })) {
		checkGood(t, r, 1)
	}
}

// TestCMInfiniBand refuses ports of InfiniBand, whose GIDs are no IP addresses.
func TestCMInfiniBand(t *testing.T) {
	n := planted{network: packetnet.New(packetnet.Faults{}), port: func(a *provider.PortAttributes) {
		a.LinkLayer = provider.LinkLayerInfiniBand
	}}
	a, b := []Port{plantedPort(clientName, n)}, []Port{plantedPort(listenerName, n)}
	ofClient, ofListener := pairUp(t, a, b, false, byCM)
	for _, r := range []Report{ofClient, ofListener} {
		if len(r.Attempts) != 1 || r.Attempts[0].Failure == nil {
			t.Fatalf("report %+v", r)
		}
		f := r.Attempts[0].Failure
		if f.Code != CodeNoCM || f.Stage != StageCM ||
			!strings.Contains(f.Cause, "the GID of an InfiniBand port is none") ||
			!strings.Contains(strings.Join(f.Remedies, "\n"), "rdmactl ping ADDRESS") {
			t.Errorf("failure %s at %q: %s; remedies %q", f.Code, f.Stage, f.Cause, f.Remedies)
		}
	}
}

func TestNoCM(t *testing.T) {
	a, b := []Port{enginePort("roce@127.0.64.37")}, []Port{enginePort("roce@127.0.64.38")}
	b[0].Open = func(ctx context.Context) (*verbs.Device, error) {
		return verbs.Open(ctx, "roce@127.0.64.38", connectors.Without{Provider: roce.Provider{}})
	}
	ofClient, ofListener := pairUp(t, a, b, false, byCM)
	for _, r := range []Report{ofClient, ofListener} {
		if len(r.Attempts) != 1 || r.Attempts[0].Failure == nil {
			t.Fatalf("report %+v", r)
		}
		f := r.Attempts[0].Failure
		if f.Code != CodeNoCM || f.Stage != StageCM || f.End != "node2 roce@127.0.64.38" || len(f.Remedies) == 0 {
			t.Errorf("failure %+v", f)
		}
	}
}
