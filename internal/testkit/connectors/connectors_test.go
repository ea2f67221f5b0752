package connectors

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// failures records the failures of a test.
type failures struct {
	testing.TB
	texts []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

func open(t *testing.T, name string, p provider.Provider) *verbs.Device {
	t.Helper()
	d, err := verbs.Open(t.Context(), name, p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newQP(t *testing.T, d *verbs.Device) *verbs.QueuePair {
	t.Helper()
	pd, err := d.AllocatePD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.CreateCQ(verbs.CQConfig{})
	if err != nil {
		t.Fatal(err)
	}
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq})
	if err != nil {
		t.Fatal(err)
	}
	return qp
}

// TestChecked leaves a listener, a connection and a request open at one end, and nothing at the
// other.
func TestChecked(t *testing.T) {
	seen := &failures{TB: t}
	a := open(t, "roce@127.0.72.1", Checked{roce.Provider{}, seen})
	b := open(t, "roce@127.0.72.2", Checked{roce.Provider{}, t})
	l, err := b.Listen(t.Context(), netip.AddrPort{}, verbs.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Listen(t.Context(), netip.AddrPort{}, verbs.ListenOptions{}); err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() {
		r, err := l.Next(t.Context())
		if err != nil {
			accepted <- err
			return
		}
		conn, err := r.Accept(t.Context(), newQP(t, b), verbs.ConnectOptions{})
		if err == nil {
			err = conn.Close()
		}
		accepted <- err
	}()
	if _, err := a.Dial(t.Context(), newQP(t, a), l.Addr(), verbs.ConnectOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	_, _ = b.Close(), a.Close() // queue pairs are open
	slices.Sort(seen.texts)
	want := "roce@127.0.72.1 is closed with an open connection to " + l.Addr().String()
	if len(seen.texts) != 2 || seen.texts[0] != want {
		t.Errorf("failures %q, want a connection and a listener", seen.texts)
	}
}

// TestCheckedRequest leaves a request without an answer, and answers another one.
func TestCheckedRequest(t *testing.T) {
	seen := &failures{TB: t}
	a := open(t, "roce@127.0.72.3", roce.Provider{})
	defer a.Close()
	b := open(t, "roce@127.0.72.4", Checked{roce.Provider{}, seen})
	l, err := b.Listen(t.Context(), netip.AddrPort{}, verbs.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		dialled := make(chan error, 1)
		go func() {
			_, err := a.Dial(ctx, newQP(t, a), l.Addr(), verbs.ConnectOptions{})
			dialled <- err
		}()
		r, err := l.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if answer {
			if err := r.Reject(nil); err != nil {
				t.Error(err)
			}
		}
		cancel()
		if <-dialled == nil {
			t.Error("Dial succeeds")
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	_ = b.Close()
	if len(seen.texts) != 1 {
		t.Errorf("failures %q, want one request", seen.texts)
	}
}

func TestWithout(t *testing.T) {
	d := open(t, "roce@127.0.72.5", Without{roce.Provider{}})
	defer d.Close()
	if d.Capabilities().Has(verbs.CapConnector) || !d.Capabilities().Has(verbs.CapRC) {
		t.Errorf("capabilities %v", d.Capabilities())
	}
	if _, err := verbs.Open(t.Context(), "roce@203.0.113.7", Without{roce.Provider{}}); err == nil {
		t.Error("a device that doesn't exist can be opened")
	}
}
