package connect

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
)

// TestDecide checks which of two failures both ends report: both must choose the same one.
func TestDecide(t *testing.T) {
	of := func(c Code) *Failure {
		if c == "" {
			return nil
		}
		return &Failure{Code: c}
	}
	tests := []struct{ client, listener, want Code }{
		{"", "", ""},
		{CodeRNR, "", CodeRNR},
		{"", CodeRNR, CodeRNR},
		{CodeRNR, CodePKey, CodeRNR},
		{CodeStalled, CodeRNR, CodeRNR},
		{CodeRNR, CodeStalled, CodeRNR},
		{CodeStalled, CodePeerEnded, CodePeerEnded},
		{CodePeerEnded, CodeUnacknowledged, CodeUnacknowledged},
		{CodeUnacknowledged, CodeTransfer, CodeUnacknowledged},
		{CodeStalled, CodeTransfer, CodeStalled},
	}
	for _, tt := range tests {
		for name, got := range map[string]*Failure{
			"client":   decide(true, of(tt.client), of(tt.listener)),
			"listener": decide(false, of(tt.listener), of(tt.client)),
		} {
			if (got == nil) != (tt.want == "") || got != nil && got.Code != tt.want {
				t.Errorf("%s: decide(client %q, listener %q) = %v, want %q", name, tt.client, tt.listener, got, tt.want)
			}
		}
	}
}

// TestBarrierStage lets the peer be at another stage.
func TestBarrierStage(t *testing.T) {
	a, b := net.Pipe()
	s, peer := newSession(a, true, 5*time.Second), newSession(b, false, 5*time.Second)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = peer.barrier(t.Context(), 5*time.Second, Status{Stage: StageData}, nil)
	}()
	_, f, err := s.barrier(t.Context(), 5*time.Second, Status{Stage: StageRTS}, nil)
	if want := `the peer is at stage "data", not "RTS"`; f != nil || err == nil || err.Error() != want {
		t.Errorf("barrier = %v, %v, want %s", f, err, want)
	}
	<-done
	_, _ = s.close(), peer.close()
}

// TestStall ends a phase without progress, and not before.
func TestStall(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	s := newSession(a, true, time.Second)
	defer func() { _ = s.close() }()
	const limit = 50 * time.Millisecond
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- s.watch(t.Context(), func() uint64 { return 0 }, limit) }()
	select {
	case err := <-ended:
		if took := time.Since(began); took < limit || !strings.Contains(err.Error(), "nothing has completed for 50ms") {
			t.Errorf("watch = %v after %v", err, took)
		}
	case <-time.After(20 * time.Second):
		t.Error("watch goes on without progress")
	}
}

// TestTimeoutInText checks the timeout that errors name.
func TestTimeoutInText(t *testing.T) {
	tests := []struct {
		code uint8
		want time.Duration
	}{
		{verbs.TimeoutInfinite, 0},
		{1, 8192 * time.Nanosecond},
		{14, 67108864 * time.Nanosecond},
	}
	for _, tt := range tests {
		if got := timeoutOf(Config{Timeout: tt.code}); got != tt.want {
			t.Errorf("timeoutOf(%d) = %v, want %v", tt.code, got, tt.want)
		}
	}
}

// TestNoPorts has no port to try.
func TestNoPorts(t *testing.T) {
	if _, err := Dial(t.Context(), "127.0.0.1", 1, nil, false, quick("node1")); !errors.Is(err, ErrNothing) {
		t.Errorf("Dial = %v", err)
	}
	l, _ := listen(t)
	if _, err := Serve(t.Context(), l, nil, false, quick("node1")); !errors.Is(err, ErrNothing) {
		t.Errorf("Serve = %v", err)
	}
}

// TestBothCloses ends a run of two ports before it begins: both devices must be closed.
func TestBothCloses(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left, right := net.Pipe()
	var open atomic.Int32
	counted := func(name string) Port {
		p := enginePort(name)
		begin := p.Open
		p.Open = func(context.Context) (*verbs.Device, error) {
			open.Add(1)
			d, err := begin(t.Context())
			cancel()
			return d, err
		}
		p.close = func(d *verbs.Device) error { open.Add(-1); return d.Close() }
		return p
	}
	var r Report
	both(ctx, left, right, counted("roce@127.0.65.60"), counted("roce@127.0.65.61"), quick("node1").withDefaults(), &r)
	if len(r.Attempts) != 1 || r.Attempts[0].Failure == nil || open.Load() != 0 {
		t.Errorf("both = %+v, %d devices still open", r.Attempts, open.Load())
	}
}

// TestTCPStops ends a measurement between two messages: a later deadline must not revive it.
func TestTCPStops(t *testing.T) {
	a, b := net.Pipe()
	s := newSession(a, true, time.Second)
	defer func() { _ = s.close() }()
	defer b.Close()
	flow := &tcpFlow{ended: func() error { return context.Canceled }, s: s, limit: 20 * time.Second}
	if err := flow.read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("read = %v", err)
	}
	if err := flow.write(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("write = %v", err)
	}
}

// TestGrown compares counters: one that was not known before has no growth.
func TestGrown(t *testing.T) {
	before := map[string]uint64{"same": 4, "more": 5, "less": 9, "gone": 1}
	after := map[string]uint64{"same": 4, "more": 7, "less": 2, "new": 3}
	names := []string{"same", "more", "less", "new", "gone", "never"}
	for _, all := range []bool{false, true} {
		got := grown(names, before, after, all)
		_, same := got["same"]
		if want := map[bool]int{false: 1, true: 2}[all]; got["more"] != 2 || same != all || len(got) != want {
			t.Errorf("grown(all %t) = %v", all, got)
		}
	}
}

// TestBarrierLimit has a peer that never sends its status: the barrier waits for its own limit, not
// for that of the session.
func TestBarrierLimit(t *testing.T) {
	a, b := net.Pipe()
	s := newSession(a, true, time.Hour)
	defer func() { _ = s.close() }()
	defer b.Close()
	go func() { _, _ = io.Copy(io.Discard, b) }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, f, err := s.barrier(ctx, 50*time.Millisecond, Status{Stage: StageData}, nil)
	if f != nil || err == nil || ctx.Err() != nil {
		t.Errorf("barrier = %v, %v, context %v; want an error at the limit", f, err, ctx.Err())
	}
}
