package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
)

// enginePort is a port of an engine on an address of the loopback device.
func enginePort(name string) Port {
	return Port{
		Name: name, Software: true,
		Open: func(ctx context.Context) (*verbs.Device, error) { return verbs.Open(ctx, name, builtin.All()...) },
	}
}

// quick is a configuration for tests.
func quick(host string) Config {
	return Config{
		Host: host, Pings: 20, Writes: 2, Timeout: 12, StepTimeout: 5 * time.Second,
		Route: KernelRoute,
	}
}

// listen returns a listener on a free port of 127.0.0.1.
func listen(t *testing.T) (l *bench.Listener, port int) {
	t.Helper()
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, _ := netip.ParseAddrPort(free.Addr().String())
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	l, err = bench.Listen(t.Context(), "127.0.0.1", int(address.Port()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, int(address.Port())
}

// dial runs Dial with a configuration that is right.
func dial(t *testing.T, host string, port int, ports []Port, all bool, cfg Config) Report {
	t.Helper()
	r, err := Dial(t.Context(), host, port, ports, all, cfg)
	if err != nil {
		t.Errorf("Dial = %v", err)
	}
	return r
}

func local(t *testing.T, a, b Port) Report {
	t.Helper()
	r, err := Local(t.Context(), a, b, quick("node"))
	if err != nil {
		t.Errorf("Local = %v", err)
	}
	return r
}

// pairUp runs Serve and Dial and returns the reports of client and listener.
func pairUp(
	t *testing.T, client, listener []Port, all bool, change func(client, listener *Config),
) (ofClient, ofListener Report) {
	t.Helper()
	c, s := quick("node1"), quick("node2")
	if change != nil {
		change(&c, &s)
	}
	l, port := listen(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if ofListener, err = Serve(t.Context(), l, listener, all, s); err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	ofClient = dial(t, "127.0.0.1", port, client, all, c)
	wg.Wait()
	return ofClient, ofListener
}

// checkGood checks the report of a run whose attempts all succeeded.
func checkGood(t *testing.T, r Report, attempts int) {
	t.Helper()
	if err := r.Err(); err != nil || len(r.Attempts) != attempts {
		t.Fatalf("report with %d attempts, %v, want %d: %+v", len(r.Attempts), err, attempts, r)
	}
	for _, a := range r.Attempts {
		var names []Stage
		for _, s := range a.Stages {
			if !s.OK {
				t.Errorf("stage %s failed", s.Stage)
			}
			names = append(names, s.Stage)
		}
		other := map[Stage]bool{StageCM: true}
		if slices.Contains(names, StageCM) {
			other = map[Stage]bool{StageRTR: true, StageRTS: true}
		}
		want := slices.DeleteFunc(Stages(), func(s Stage) bool { return other[s] })
		if !slices.Equal(names, want) {
			t.Errorf("stages %v, want %v", names, want)
		}
		if a.Ping == nil || a.Ping.Iterations == 0 || a.Ping.P50 <= 0 || a.Ping.P999 < a.Ping.P50 {
			t.Errorf("ping = %+v", a.Ping)
		}
		if len(a.Writes) != 2 || a.Writes[0].Direction != ToPeer || a.Writes[1].Direction != FromPeer {
			t.Errorf("writes = %+v, want both directions", a.Writes)
		}
		for _, w := range a.Writes {
			if w.Verified != 2 || w.Gbps <= 0 || w.Bytes != 8<<20 {
				t.Errorf("write = %+v", w)
			}
		}
		if a.PathMTU == 0 || a.MTUReason == "" || a.Local.GID == nil || a.Local.Reason == "" || a.Remote.GID == nil {
			t.Errorf("attempt = %+v", a)
		}
		if a.Scale != ScaleSoftware || len(a.CountersUnknown) != 0 {
			t.Errorf("scale %q, without counters: %v", a.Scale, a.CountersUnknown)
		}
	}
}

func TestLocalWithItself(t *testing.T) {
	p := enginePort("roce@127.0.65.1")
	checkGood(t, local(t, p, p), 1)
}

func TestLocalTwoPorts(t *testing.T) {
	checkGood(t, local(t, enginePort("roce@127.0.65.2"), enginePort("roce@127.0.65.3")), 1)
}

// TestLocalProgress says once what begins, in the caller's goroutine.
func TestLocalProgress(t *testing.T) {
	var texts []string // without a lock: the race detector sees another goroutine
	cfg := quick("node")
	cfg.AllowTCP = true
	cfg.Progress = func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	p := enginePort("roce@127.0.65.6")
	r, err := Local(t.Context(), p, p, cfg)
	if err != nil || r.Err() != nil || r.TCP == nil || r.Peer != nil {
		t.Fatalf("Local = %+v, %v", r, err)
	}
	if want := []string{"connecting roce@127.0.65.6", "measuring over TCP"}; !slices.Equal(texts, want) {
		t.Errorf("progress %q, want %q", texts, want)
	}
}

// TestLocalOneDevice opens a device once that has two names.
func TestLocalOneDevice(t *testing.T) {
	a, b := enginePort("roce@127.0.65.7"), Port{Name: "roce@other", Software: true}
	a.Device, b.Device = "roce@127.0.65.7", "roce@127.0.65.7"
	b.Open = func(context.Context) (*verbs.Device, error) { return nil, errors.New("opened twice") }
	r := local(t, a, b)
	checkGood(t, r, 1)
	if got := r.Attempts[0].Remote.Port; got != b.Name {
		t.Errorf("the other end is %s, want %s", got, b.Name)
	}
	for p, want := range map[*Port]string{
		{Name: "mlx5_0:1"}: "mlx5_0", {Name: "roce@::1"}: "roce@::1", {Name: "x:1", Device: "y"}: "y",
		{Name: "rxe0"}: "rxe0",
	} {
		if got := p.device(); got != want {
			t.Errorf("device of %+v = %s, want %s", p, got, want)
		}
	}
}

// TestTCPNotAllowed checks that the end that allows a measurement over TCP reports that the other
// one doesn't.
func TestTCPNotAllowed(t *testing.T) {
	a, b := enginePort("roce@127.0.65.21"), enginePort("roce@127.0.65.22")
	client, listener := pairUp(t, []Port{a}, []Port{b}, false, func(c, _ *Config) { c.AllowTCP = true })
	want := []string{"the measurement over TCP, which node2 doesn't allow"}
	if !slices.Equal(client.Skipped, want) || client.TCP != nil || len(listener.Skipped) != 0 || listener.TCP != nil {
		t.Errorf("skipped %q and %q, want %q at the client only", client.Skipped, listener.Skipped, want)
	}
}

// TestTCPInsisted checks that a client can't make a listener measure over TCP against its will.
func TestTCPInsisted(t *testing.T) {
	l, port := listen(t)
	done := make(chan Report)
	go func() {
		r, err := Serve(t.Context(), l, []Port{enginePort("roce@127.0.65.24")}, false, quick("node2"))
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	conn, err := bench.Dial(t.Context(), "127.0.0.1", port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, m := range []Message{
		{Kind: KindHello, Hello: &Hello{Protocol: Protocol, Version: Version, AllowTCP: true}}, {Kind: KindTCP},
	} {
		if _, err := conn.Write([]byte(toJSON(t, m) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	r := <-done
	if r.TCP != nil || len(r.Attempts) != 1 || r.Attempts[0].Failure == nil ||
		!strings.Contains(r.Attempts[0].Failure.Cause, "doesn't allow") {
		t.Errorf("report %+v, want a failure", r)
	}
}

func TestPeer(t *testing.T) {
	a, b := enginePort("roce@127.0.65.4"), enginePort("roce@127.0.65.5")
	allow := func(c, s *Config) { c.AllowTCP, s.AllowTCP = true, true }
	client, listener := pairUp(t, []Port{a}, []Port{b}, false, allow)
	for _, r := range []Report{client, listener} {
		checkGood(t, r, 1)
		if r.TCP == nil || r.TCP.Failure != nil || r.TCP.Scale != ScaleTCP || len(r.TCP.Writes) != 2 {
			t.Errorf("over TCP: %+v", r.TCP)
			continue
		}
		if r.TCP.Ping == nil || r.TCP.Writes[0].Direction != ToPeer || r.TCP.Writes[0].Gbps <= 0 ||
			r.TCP.Writes[1].Gbps <= 0 {
			t.Errorf("figures over TCP: %+v", r.TCP)
		}
	}
	if got := client.Attempts[0].Remote; got.Host != "node2" || got.Port != b.Name {
		t.Errorf("remote of the client = %+v", got)
	}
	if client.Peer == nil || client.Peer.Host != "node2" || listener.Peer.Host != "node1" {
		t.Errorf("peers %+v, %+v", client.Peer, listener.Peer)
	}
}
