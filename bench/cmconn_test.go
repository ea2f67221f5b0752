package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/testkit/connectors"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// cmPair returns both ends of a connection over rdma_cm.
func cmPair(t *testing.T) (client, server *cmConn) {
	t.Helper()
	var devices [2]*verbs.Device
	for i, name := range []string{"roce@127.0.63.11", "roce@127.0.63.12"} {
		d, err := verbs.Open(t.Context(), name, connectors.Checked{Provider: roce.Provider{}, T: t})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		devices[i] = d
	}
	cfg := Config{RDMACM: RDMACMExchange}
	waiting, done := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		server, err = acceptCM(t.Context(), devices[1], 18604, cfg, func() { close(waiting) })
		done <- err
	}()
	select {
	case <-waiting:
	case err := <-done:
		t.Fatal(err)
	}
	client, err := dialCM(t.Context(), devices[0], "127.0.63.12", 18604, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}

func TestCMConn(t *testing.T) {
	client, server := cmPair(t)
	b := make([]byte, 100)
	for i, n := range []int{1, 64, cmSlot} {
		if m, err := client.Write(make([]byte, n)); err != nil || m != n {
			t.Fatalf("Write of %d bytes = %d, %v", n, m, err)
		}
		if err := client.tryPeer(); err != nil {
			t.Errorf("tryPeer = %v", err)
		}
		got := 0
		for {
			m, err := server.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			if got += m; server.Rest() == 0 {
				break
			}
		}
		if got != n {
			t.Errorf("message %d has %d bytes, want %d", i, got, n)
		}
	}
	for _, n := range []int{0, cmSlot + 1} { // an empty message is the end
		if _, err := client.Write(make([]byte, n)); err == nil {
			t.Errorf("Write of %d bytes succeeds", n)
		}
	}
	_ = server.SetDeadline(time.Now().Add(time.Millisecond))
	if _, err := server.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read after the deadline = %v", err)
	}
	_ = server.SetDeadline(time.Time{})
	time.AfterFunc(20*time.Millisecond, func() { _ = server.SetDeadline(time.Unix(1, 0)) })
	if _, err := server.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read while the deadline moves = %v", err)
	}
	_ = server.SetDeadline(time.Time{})
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it stays so
		if _, err := server.Read(b); !errors.Is(err, io.EOF) {
			t.Errorf("Read after CloseWrite = %v", err)
		}
	}
	if _, err := server.Write([]byte("still")); err != nil {
		t.Error(err)
	}
	if n, err := client.Read(b); err != nil || string(b[:n]) != "still" {
		t.Errorf("Read = %q, %v", b[:n], err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	<-server.gone
	if _, err := server.Write([]byte("x")); err == nil {
		t.Error("Write to an end that has closed succeeds")
	}
}

func TestNoConnector(t *testing.T) {
	d, err := verbs.Open(t.Context(), "roce@127.0.63.13", connectors.Without{Provider: roce.Provider{}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, m := range []RDMACM{RDMACMExchange, RDMACMConnect} {
		cfg := Config{RDMACM: m}
		_, met := Meet(t.Context(), d, "127.0.63.14", 0, cfg, nil)
		for _, err := range []error{Check(t.Context(), d, cfg), met} {
			missing, ok := errors.AsType[*NoConnectorError](err)
			if !ok || !errors.Is(err, verbs.ErrNotSupported) || missing.Mode != m || len(missing.Hints()) == 0 {
				t.Errorf("%v: %v", m, err)
			}
		}
	}
}

// TestCMRefused tells who doesn't answer from who doesn't listen.
func TestCMRefused(t *testing.T) {
	for _, tt := range []struct {
		err     error
		iwarp   bool
		refused bool
		hint    string // "" is none
	}{
		{&unansweredError{time.Second}, false, false, "UDP port 4791"},
		{&unansweredError{time.Second}, true, false, "the TCP port of -p"},
		{&verbs.RejectedError{NobodyListens: true}, false, true, "with -z and the same -p"},
		{&verbs.RejectedError{}, false, false, ""},
	} {
		err := refused(fmt.Errorf("dial: %w", tt.err), RDMACMExchange, tt.iwarp)
		r, ok := errors.AsType[*RefusedError](err)
		if !ok || errors.Is(err, syscall.ECONNREFUSED) != tt.refused ||
			!strings.Contains(strings.Join(r.Hints(), "; "), tt.hint) || len(r.Hints()) > 0 != (tt.hint != "") {
			t.Errorf("refused(%v) = %v", tt.err, err)
		}
	}
	four, six := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	mapped := netip.MustParseAddr("::ffff:192.0.2.1")
	for _, tt := range []struct {
		list []netip.Addr
		is4  bool
		want netip.Addr
	}{
		{[]netip.Addr{six, four}, true, four},
		{[]netip.Addr{six, mapped}, true, four},
		{[]netip.Addr{four, six}, false, six},
		{[]netip.Addr{four}, false, four},
	} {
		if got := fitting(tt.list, tt.is4); got != tt.want {
			t.Errorf("fitting(%v, %t) = %v, want %v", tt.list, tt.is4, got, tt.want)
		}
	}
}

// starved is an engine that can't allocate protection domains.
type starved struct{ *roce.Engine }

func (starved) AllocatePD() (provider.ProtectionDomain, error) { return nil, syscall.ENOMEM }

type starvedProvider struct{ roce.Provider }

func (p starvedProvider) Open(ctx context.Context, name string) (provider.Device, error) {
	d, err := p.Provider.Open(ctx, name)
	if e, ok := d.(*roce.Engine); ok && err == nil {
		return starved{e}, nil
	}
	return nil, errors.Join(err, errors.ErrUnsupported)
}

// TestStarvedCM closes the listener of a server that has no resources.
func TestStarvedCM(t *testing.T) {
	d, err := verbs.Open(t.Context(), "roce@127.0.63.17", connectors.Checked{Provider: starvedProvider{}, T: t})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := Meet(t.Context(), d, "", 18606, Config{RDMACM: RDMACMConnect}, nil); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("Meet = %v, want ENOMEM", err)
	}
}
