package rping_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/internal/testkit/connectors"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

func TestRun(t *testing.T) {
	a, b := engine(t, "127.0.62.20"), engine(t, "127.0.62.21")
	for _, flood := range []bool{true, false} {
		t.Run(fmt.Sprintf("flood %t", flood), func(t *testing.T) { testRun(t, a, b, flood) })
	}
}

func testRun(t *testing.T, a, b *verbs.Device, flood bool) {
	t.Helper()
	addr, done := serve(t, b)
	var seen []int
	r, err := rping.Run(limit(t), a, addr, rping.Config{
		Count: 20, Flood: flood, Interval: time.Millisecond, Options: rping.Options{Size: 1000}, Late: time.Minute,
		Sent: func(s rping.Sample) { seen = append(seen, s.N) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Sent != 20 || r.Received != 20 || r.Lost+r.Late+r.Wrong != 0 || r.Failure != nil || r.Connections != 1 ||
		r.Scale != bench.ScaleSoftware || r.Bytes != 1000 || !r.Check || r.Remote != addr.String() ||
		!strings.HasPrefix(r.Local, "127.0.62.20:") || len(seen) != 20 || !slices.IsSorted(seen) {
		t.Errorf("Run = %+v, saw %v", r, seen)
	}
	if p := r.Time; p == nil || p.Iterations != 20 || p.Min <= 0 || p.P50 < p.Min || p.Max < p.P999 || p.Bytes != 1000 {
		t.Errorf("times = %+v", p)
	}
	if !flood && r.Seconds < 0.019 {
		t.Errorf("20 pings with an interval of 1 ms took %g s", r.Seconds)
	}
	if err := <-done; !errors.Is(err, io.EOF) {
		t.Errorf("the session ended with %v, want EOF", err)
	}
}

// TestRunLate counts pings that take longer than a limit.
func TestRunLate(t *testing.T) {
	a, b := engine(t, "127.0.62.22"), engine(t, "127.0.62.23")
	addr, _ := serve(t, b)
	r, err := rping.Run(limit(t), a, addr, rping.Config{Count: 5, Flood: true, Late: time.Nanosecond})
	if err != nil || r.Late != 5 || r.Received != 5 || r.Failure != nil {
		t.Errorf("Run = %+v, %v, want 5 late pings", r, err)
	}
}

// TestRunLost loses a ping and goes on with another connection.
func TestRunLost(t *testing.T) {
	a, b := engine(t, "127.0.62.24"), engine(t, "127.0.62.25")
	s, err := rping.Listen(t.Context(), b, netip.AddrPort{}, rping.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, finished := limit(t), make(chan struct{})
	go func() {
		defer close(finished)
		deaf, err := s.Accept(ctx)
		if err != nil {
			return
		}
		defer deaf.Close()
		session, err := s.Accept(ctx)
		for err == nil {
			err = session.Next(ctx)
		}
		if session != nil {
			_ = session.Close()
		}
	}()
	r, err := rping.Run(limit(t), a, s.Addr(), rping.Config{
		Count: 4, Interval: time.Millisecond, Patience: 300 * time.Millisecond, Late: time.Minute,
	})
	_ = s.Close()
	<-finished
	if err != nil || r.Sent != 4 || r.Lost != 1 || r.Received != 3 || r.Connections != 2 || r.Failure == nil ||
		r.Failure.Code != rping.CodeStalled || r.Failure.Stage != rping.StageData {
		t.Errorf("Run = %+v, %v", r, err)
	}
}

func TestRunFailures(t *testing.T) {
	a, b := engine(t, "127.0.62.26"), engine(t, "127.0.62.27")
	deafen := func(*stranger) {}
	for _, tt := range []struct {
		name  string
		serve func(*stranger)
		stage rping.Stage
		code  rping.Code
		wrong uint64
		lost  uint64
	}{
		{"nobody listens", nil, rping.StageConnect, rping.CodeNobodyListens, 0, 0},
		{"stalled", deafen, rping.StageData, rping.CodeStalled, 0, 2},
		{"no rping", func(s *stranger) { s.send([]byte("hi")) }, rping.StageData, rping.CodeProtocol, 0, 1},
		{"closes", func(s *stranger) { _ = s.conn.Close() }, rping.StageData, rping.CodePeerEnded, 0, 1},
		{"other data", idle, rping.StageData, rping.CodeData, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := netip.MustParseAddrPort("127.0.62.27:7999")
			cfg := rping.Config{Count: 1, Flood: true, Patience: 300 * time.Millisecond}
			if tt.serve != nil {
				addr = listenAs(t, b, tt.serve)
			}
			if tt.code == rping.CodeStalled {
				cfg.Count, cfg.Interval = 2, time.Millisecond
			}
			r, err := rping.Run(limit(t), a, addr, cfg)
			if err != nil {
				t.Fatal(err)
			}
			f := r.Failure
			if f == nil || f.Stage != tt.stage || f.Code != tt.code || r.Wrong != tt.wrong || r.Lost != tt.lost {
				t.Errorf("Run = %+v, failure %+v, want %s at %s", r, f, tt.code, tt.stage)
			}
		})
	}
}

// TestRunEnds ends a run by its context: that is no failure.
func TestRunEnds(t *testing.T) {
	a, b := engine(t, "127.0.62.28"), engine(t, "127.0.62.29")
	addr, _ := serve(t, b)
	ctx, cancel := context.WithCancel(limit(t))
	n := 0
	r, err := rping.Run(ctx, a, addr, rping.Config{Flood: true, Sent: func(rping.Sample) {
		if n++; n == 10 {
			cancel()
		}
	}})
	if err != nil || r.Failure != nil || r.Sent != 10 || r.Lost != 0 {
		t.Errorf("Run = %+v, %v", r, err)
	}
	for _, cfg := range []rping.Config{{Count: -1}, {Interval: -1}, {Late: -1}, {Options: rping.Options{Size: 5}}} {
		if _, err := rping.Run(t.Context(), a, addr, cfg); err == nil {
			t.Errorf("Run accepts %+v", cfg)
		}
	}
}

// idle answers pings without reading or writing.
func idle(s *stranger) {
	for {
		s.send(make([]byte, rping.BufferLen))
		var wc [8]verbs.WorkCompletion
		if _, err := s.cq.Wait(s.t.Context(), wc[:]); err != nil || wc[0].Err() != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestRunNoCheck doesn't compare the data.
func TestRunNoCheck(t *testing.T) {
	a, b := engine(t, "127.0.62.32"), engine(t, "127.0.62.33")
	r, err := rping.Run(limit(t), a, listenAs(t, b, idle), rping.Config{
		Count: 1, Flood: true, NoCheck: true, Late: time.Minute,
	})
	if err != nil || r.Failure != nil || r.Check || r.Received != 1 || r.Wrong != 0 {
		t.Errorf("Run = %+v, failure %+v, %v, want other data unnoticed", r, r.Failure, err)
	}
}

// TestRunEndsInPing counts the ping that comes back when the run ends.
func TestRunEndsInPing(t *testing.T) {
	a, b := engine(t, "127.0.62.34"), engine(t, "127.0.62.35")
	addr, _ := serve(t, b)
	ctx, cancel := context.WithCancel(limit(t))
	answers := 0
	r, err := rping.Run(ctx, a, addr, rping.Config{Flood: true, Options: rping.Options{Observer: func(e rping.Event) {
		if e.Step == rping.StepReceived {
			if answers++; answers == 6 { // the second one of the third ping
				cancel()
			}
		}
	}}})
	if err != nil || r.Failure != nil || r.Sent != 3 || r.Received != 3 {
		t.Errorf("Run = %+v, %v, want 3 pings", r, err)
	}
}

// TestPingCause returns the cause of the end of a ping's context.
func TestPingCause(t *testing.T) {
	a, b := engine(t, "127.0.62.36"), engine(t, "127.0.62.37")
	c, err := rping.Dial(limit(t), a, listenAs(t, b, func(*stranger) {}), rping.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(limit(t), 20*time.Millisecond, cause)
	defer cancel()
	if err := c.Ping(ctx); !errors.Is(err, cause) || err.Error() != cause.Error() {
		t.Errorf("Ping = %v, want the cause alone", err)
	}
}

// starved is an engine that can't allocate protection domains.
type starved struct{ *roce.Engine }

func (starved) AllocatePD() (provider.ProtectionDomain, error) { return nil, syscall.ENOMEM }

type starvedProvider struct{ roce.Provider }

func (p starvedProvider) Open(ctx context.Context, name string) (provider.Device, error) {
	d, err := p.Provider.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	e, ok := d.(*roce.Engine)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return starved{e}, nil
}

// TestStarvedServer rejects a client for which it has no resources.
func TestStarvedServer(t *testing.T) {
	a := engine(t, "127.0.62.38")
	b, err := verbs.Open(t.Context(), "roce@127.0.62.39", connectors.Checked{Provider: starvedProvider{}, T: t})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := rping.Listen(t.Context(), b, netip.AddrPort{}, rping.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, accepted := limit(t), make(chan error, 1)
	go func() {
		_, err := s.Accept(ctx)
		accepted <- err
	}()
	r, err := rping.Run(ctx, a, s.Addr(), rping.Config{Count: 1})
	if err != nil || r.Failure == nil || r.Failure.Code != rping.CodeRejected {
		t.Errorf("Run = %+v, %v, want a rejection", r, err)
	}
	if err := <-accepted; !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("Accept = %v, want ENOMEM", err)
	}
}

func TestExplain(t *testing.T) {
	addr := netip.MustParseAddrPort("192.0.2.1:7174")
	for _, tt := range []struct {
		stage rping.Stage
		err   error
		code  rping.Code
		want  string
	}{
		{rping.StageOpen, syscall.EADDRINUSE, rping.CodeDeviceInUse, "rdma_rxe"},
		{rping.StageOpen, errors.New("gone"), rping.CodeOpen, "open: open roce@eth0: gone"},
		{rping.StageListen, syscall.EADDRINUSE, rping.CodePortInUse, "port 7174 is in use"},
		{rping.StageListen, verbs.ErrNotSupported, rping.CodeNoConnector, "rdmactl connect"},
		{rping.StageListen, errors.New("192.0.2.1 is not mine"), rping.CodeNoDevice, "rdmactl detect"},
		{
			rping.StageConnect, &verbs.RejectedError{Reason: "nobody listens on port 7174", NobodyListens: true},
			rping.CodeNobodyListens, "start the server there first",
		},
		{rping.StageConnect, &verbs.RejectedError{Reason: "no resources"}, rping.CodeRejected, "no resources"},
		{rping.StageConnect, context.DeadlineExceeded, rping.CodeNoAnswer, "UDP port 4791"},
		{rping.StageConnect, syscall.ENETUNREACH, rping.CodeNoRoute, "ip route get"},
		{rping.StageConnect, context.Canceled, rping.CodeInterrupted, "canceled"},
		{rping.StageConnect, errors.New("::1 and 192.0.2.1 are not of the same family"), rping.CodeFamily, "-d DEVICE"},
		{
			rping.StageConnect, errors.New("fe80::2%ll1 is on another link than roce@ll0"), rping.CodeNoRoute,
			"after the %",
		},
		{
			rping.StageConnect, errors.New("fe80::2 is a link-local address, and ::1 is none"), rping.CodeFamily,
			"roce@ADDRESS%NETDEV",
		},
		{rping.StageResolve, errors.New("no route"), rping.CodeNoRoute, "no route"},
		{rping.StageData, io.EOF, rping.CodePeerEnded, "rping -s -P"},
		{rping.StageData, &rping.MismatchError{N: 3, At: 7, Bytes: 2}, rping.CodeData, "ping 3 came back"},
		{rping.StageData, &verbs.CompletionError{Status: verbs.WCRetryExceeded}, rping.CodeUnacknowledged, "ip route"},
		{rping.StageData, &verbs.CompletionError{Status: verbs.WCRNRRetryExceeded}, rping.CodeRNR, "stopped"},
		{rping.StageData, &verbs.CompletionError{Status: verbs.WCRemoteInvalid}, rping.CodeRefused, "no rping"},
		{rping.StageData, &verbs.CompletionError{Status: verbs.WCResponseTimeout}, rping.CodeUnacknowledged, "MTU"},
		{
			rping.StageData, &verbs.CompletionError{Status: verbs.WCRetryExceeded, Cause: syscall.EPERM},
			rping.CodeUnacknowledged, "this machine didn't send the packets: operation not permitted",
		},
		{rping.StageData, &verbs.CompletionError{Status: verbs.WCRemoteAccess}, rping.CodeRefused, "no rping"},
		{rping.StageData, &verbs.CompletionError{Status: verbs.WCRemoteOperation}, rping.CodeRefused, "no rping"},
		{
			rping.StageConnect, errors.New("192.0.2.9 is not the address of roce@eth0"), rping.CodeNoDevice,
			"rdmactl detect",
		},
		{
			rping.StageConnect, &silence{}, rping.CodeNoAnswer,
			"no answer to the connection request: 16 messages",
		},
		{rping.StageData, &verbs.CompletionError{Status: verbs.WCFlushed}, rping.CodeTransfer, "dmesg"},
	} {
		f := rping.Explain(fmt.Errorf("wrapped: %w", tt.err), tt.stage, "roce@eth0", addr)
		text := f.Error() + "\n" + strings.Join(append(f.Possible, f.Hints()...), "\n")
		if strings.HasPrefix(tt.want, "open: ") {
			text = strings.ReplaceAll(text, "wrapped: ", "")
		}
		if f.Code != tt.code || f.Stage != tt.stage || !strings.Contains(text, tt.want) || !errors.Is(f, tt.err) {
			t.Errorf("Explain(%v, %s) = %s: %s, want %s with %q", tt.err, tt.stage, f.Code, text, tt.code, tt.want)
		}
	}
}

// silence is the error of a peer that doesn't answer.
type silence struct{}

func (*silence) Error() string   { return "16 messages in 47 s" }
func (*silence) Timeout() bool   { return true }
func (*silence) Temporary() bool { return true }

// TestExplainTexts has no text that says nothing: that connecting took too long is not its own
// reason, and an error of the listener at any address isn't one of the address.
func TestExplainTexts(t *testing.T) {
	a, b := engine(t, "127.0.62.40"), netip.MustParseAddrPort("127.0.62.41:7174")
	r, err := rping.Run(limit(t), a, b, rping.Config{Count: 1, Patience: 100 * time.Millisecond})
	if err != nil || r.Failure == nil || r.Failure.Cause != "no answer to the connection request" {
		t.Errorf("Run = %+v, %v", r.Failure, err)
	}
	for addr, want := range map[string]rping.Code{
		"192.0.2.1:7174": rping.CodeNoDevice, "0.0.0.0:7174": rping.CodeConnect, "[::]:7174": rping.CodeConnect,
	} {
		f := rping.Explain(errors.New("other"), rping.StageListen, "d", netip.MustParseAddrPort(addr))
		if f.Code != want {
			t.Errorf("an error of listening at %s: %s, want %s", addr, f.Code, want)
		}
	}
}

// TestWindowLimits drops a ping after a minute, and takes one that took longer for a minute.
func TestWindowLimits(t *testing.T) {
	w, start := rping.NewWindow(), time.Unix(1_000_000, 0)
	w.Add(rping.Sample{At: start, Time: 2 * time.Minute})
	r := w.Recent(start.Add(59 * time.Second))
	if r.Sent != 1 || r.Max != 120e6 || r.P50 < 59e6 || r.P50 > 61e6 {
		t.Errorf("a slow ping: %+v", r)
	}
	if r := w.Recent(start.Add(time.Minute)); r.Sent != 0 {
		t.Errorf("after a minute: %+v", r)
	}
}

func TestWindow(t *testing.T) {
	w := rping.NewWindow()
	start := time.Unix(1_000_000, 0)
	if r := w.Recent(start); r.Sent != 0 || r.P50 != 0 || r.Max != 0 {
		t.Errorf("empty window: %+v", r)
	}
	for i := range 180 { // one a second, the first minute slower
		s := rping.Sample{N: i, At: start.Add(time.Duration(i) * time.Second), Time: 10 * time.Microsecond}
		switch {
		case i < 60:
			s.Time = time.Second
		case i%30 == 0:
			s.Time, s.Err = 0, io.EOF
		case i%31 == 0:
			s.Late = true
		case i == 170:
			s.Err = &rping.MismatchError{}
		}
		w.Add(s)
	}
	r := w.Recent(start.Add(179 * time.Second))
	if r.Sent != 60 || r.Lost != 2 || r.Late != 2 || r.Wrong != 1 || r.Min != 10 || r.Max != 10 || r.P50 < 9.9 ||
		r.P50 > 10.1 {
		t.Errorf("the last minute: %+v", r)
	}
	if r := w.Recent(start.Add(time.Hour)); r.Sent != 0 {
		t.Errorf("an hour later: %+v", r)
	}
}
