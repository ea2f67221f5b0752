package rping_test

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/internal/sim/engines"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestIdle leaves a connection idle for minutes, which must not end it, and then lets the client
// vanish: the server notices, though no message tells it.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := packetnet.New(packetnet.Faults{Delay: time.Millisecond})
		open := func(addr string) *verbs.Device {
			d, err := verbs.Open(t.Context(), roce.Prefix+addr, engines.Provider{Network: n, MTU: ib.MTU4096})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		a, b := open("10.0.0.1"), open("10.0.0.2")
		defer a.Close()
		defer b.Close()
		s, err := rping.Listen(t.Context(), b, netip.AddrPort{}, rping.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ended := make(chan error, 1)
		go func() {
			session, err := s.Accept(t.Context())
			for err == nil {
				err = session.Next(t.Context())
			}
			if session != nil {
				_ = session.Close() // before its device's
			}
			ended <- err
		}()
		c, err := rping.Dial(t.Context(), a, s.Addr(), rping.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			rping.Fill(c.Source(), i)
			if err := c.Ping(t.Context()); err != nil {
				t.Fatalf("ping %d: %v", i, err)
			}
			time.Sleep(5 * time.Minute)
		}
		one, other := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
		n.Cut(one, other, true)
		n.Cut(other, one, true)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		gone := time.Now()
		err = <-ended
		var completion *verbs.CompletionError
		if !errors.As(err, &completion) || completion.Status != verbs.WCRetryExceeded {
			t.Errorf("the session ends with %v, want %v", err, verbs.WCRetryExceeded)
		}
		if took := time.Since(gone); took > time.Minute {
			t.Errorf("the server notices after %v", took)
		}
	})
}
