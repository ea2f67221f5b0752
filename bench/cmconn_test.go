package bench

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/testkit/connectors"
	"github.com/rdmakit/rdmakit/verbs"
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
	if _, err := client.Write(make([]byte, cmSlot+1)); err == nil {
		t.Error("Write of too much succeeds")
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
