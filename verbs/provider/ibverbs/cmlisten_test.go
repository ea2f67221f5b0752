//go:build linux && (amd64 || arm64) && !nodl

package ibverbs

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// TestListenStandIn checks a listener and its requests.
func TestListenStandIn(t *testing.T) {
	s := openCMStandIn(t)
	for step, errno := range map[int]syscall.Errno{
		cmStepBind: syscall.EADDRINUSE, cmStepListen: syscall.EADDRINUSE, cmStepCreate: syscall.EMFILE,
	} {
		s.failStep(t, step, errno)
		_, err := s.Listen(t.Context(), cmLocal, provider.ListenOptions{})
		if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, errno) || e.Remedy == "" ||
			!strings.Contains(err.Error(), "listen on 192.0.2.1:7174 on good0") {
			t.Errorf("Listen with step %d failing = %v, want %v", step, err, errno)
		}
		s.failStep(t, step, 0)
	}
	s.call(t, "fake_cm_device", 1)
	if _, err := s.Listen(t.Context(), cmLocal, provider.ListenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "belongs to device old0") {
		t.Errorf("Listen on an address of another device = %v", err)
	}
	for transport, want := range map[provider.TransportType]string{
		provider.TransportTypeInfiniBand: "[::]:7174", provider.TransportTypeIWARP: "0.0.0.0:7174",
	} {
		d := &openDevice{transport: transport}
		got := d.wildcard(netip.AddrPortFrom(netip.Addr{}, 7174))
		if got.String() != want || d.wildcard(cmLocal) != cmLocal {
			t.Errorf("wildcard of %v = %v, want %s", transport, got, want)
		}
	}
	without, err := s.Listen(t.Context(), netip.AddrPort{}, provider.ListenOptions{})
	if err != nil {
		t.Fatalf("Listen without an address = %v", err)
	}
	if err := without.Close(); err != nil {
		t.Error(err)
	}
	any4 := netip.MustParseAddrPort("0.0.0.0:0")
	l, err := s.Listen(t.Context(), any4, provider.ListenOptions{Backlog: 3})
	if err != nil || l.Addr().Port() != 4711 || s.call(t, "fake_cm_backlog", 0) != 3 {
		t.Fatalf("Listen = %v, %v, want port 4711 and a backlog of 3", l, err)
	}
	s.call(t, "fake_cm_request", 0) // at another device: rejected
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Next(ctx); !errors.Is(err, context.DeadlineExceeded) || s.call(t, "fake_cm_rejected", 0) != 1 {
		t.Errorf("Next = %v, want the request at another device rejected", err)
	}
	s.call(t, "fake_cm_device", 0)
	s.failStep(t, cmStepMigrate, syscall.EMFILE)
	s.call(t, "fake_cm_request", 0)
	if _, err := l.Next(t.Context()); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("Next that can't take the request = %v", err)
	}
	s.failStep(t, cmStepMigrate, 0)
	s.failStep(t, cmStepFD, syscall.EBADF) // after the request was moved, so that it must be freed once
	s.call(t, "fake_cm_request", 0)
	if _, err := l.Next(t.Context()); !errors.Is(err, syscall.EBADF) {
		t.Errorf("Next without a file of the request's events = %v", err)
	}
	s.failStep(t, cmStepFD, 0)
	s.testRequests(t, l)
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}

// testRequests answers requests.
func (s *cmStandIn) testRequests(t *testing.T, l provider.Listener) {
	t.Helper()
	next := func() *request {
		s.call(t, "fake_cm_request", 0)
		r, err := l.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return as[*request](t, r)
	}
	r := next()
	if o := r.Options(); r.Remote().String() != "192.0.2.9:999" || o.ReadAtomic != 5 || o.DestReadAtomic != 2 {
		t.Errorf("request from %v with %+v", r.Remote(), o)
	}
	qp := s.cmQP(t, provider.QPTypeRC)
	conn, err := r.Accept(t.Context(), qp, provider.ConnectOptions{ReadAtomic: 9, DestReadAtomic: 9, Timeout: 14})
	if err != nil {
		t.Fatal(err)
	}
	if got := qp.attr; got.MaxReadAtomic != 2 || got.MaxDestReadAtomic != 5 || got.Timeout != 14 {
		t.Errorf("accepted with %d and %d reads, want what the peer takes and offers: 2 and 5",
			got.MaxReadAtomic, got.MaxDestReadAtomic)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	for _, step := range []int{cmStepAccept, cmStepAttr} {
		r, qp := next(), s.cmQP(t, provider.QPTypeRC)
		s.failStep(t, step, syscall.EINVAL)
		if _, err := r.Accept(t.Context(), qp, provider.ConnectOptions{}); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("Accept with step %d failing = %v", step, err)
		}
		s.failStep(t, step, 0)
		if err := r.Reject(nil); !errors.Is(err, provider.ErrClosed) {
			t.Errorf("Reject after Accept = %v, want ErrClosed", err)
		}
	}
	r, qp = next(), s.cmQP(t, provider.QPTypeRC)
	s.lead(t, cmStepAccept, cmNoEvent, 0) // the peer doesn't confirm
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.Accept(ctx, qp, provider.ConnectOptions{}); !errors.Is(err, context.DeadlineExceeded) ||
		qp.State() != provider.QPStateError {
		t.Errorf("Accept without confirmation = %v, state %v", err, qp.State())
	}
	r = next()
	if err := r.Reject(make([]byte, 149)); err == nil || !strings.Contains(err.Error(), "at most 148") {
		t.Errorf("Reject with 149 bytes = %v", err)
	}
	if err := r.Reject([]byte("no")); err != nil {
		t.Error(err)
	}
	s.call(t, "fake_cm_request", 0) // Close frees it
}
