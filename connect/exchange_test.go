package connect

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// standIn accepts one connection and answers as do says.
func standIn(t *testing.T, do func(net.Conn)) (port int) {
	t.Helper()
	l, port := listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept(t.Context())
		if err != nil {
			return
		}
		defer conn.Close()
		do(conn)
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return port
}

// answer reads a line and writes one.
func answer(text string) func(net.Conn) {
	return func(conn net.Conn) {
		r := bufio.NewReaderSize(conn, maxLine)
		if _, err := r.ReadSlice('\n'); err == nil {
			_, _ = conn.Write([]byte(text))
			_, _ = r.ReadSlice('\n') // until the client closes
		}
	}
}

// TestStandIns dials peers that aren't rdmactl connect, or another version, or silent.
func TestStandIns(t *testing.T) {
	tests := []struct {
		name  string
		do    func(net.Conn)
		code  Code
		cause string
	}{
		{"SSH", answer("SSH-2.0-OpenSSH_9.2\r\n"), CodeProtocol, `it sends "SSH-2.0-OpenSSH_9.2"`},
		{
			"newer", answer(`{"kind":"hello","hello":{"protocol":"rdmakit-connect","version":2,"node":{"host":"b","software":"v9"}}}` + "\n"),
			CodeProtocol, `"rdmakit-connect" version 2 at the peer ("v9")`,
		},
		{
			"a long version", answer(`{"kind":"hello","hello":{"protocol":"` + strings.Repeat("p", 50000) +
				`","version":2,"node":{"software":"` + strings.Repeat("s", 50000) + `"}}}` + "\n"),
			CodeProtocol, strings.Repeat("s", 40) + `"…)`,
		},
		{"closed", func(net.Conn) {}, CodePeerEnded, "closed the connection"},
		{"cut off", answer(`{"kind":"hel`), CodeExchangeSilent, "no message"},
		{"endless", answer(strings.Repeat("x", maxLine+1)), CodeProtocol, "without a newline"},
		{"incomplete", answer(`{"kind":"hello"}` + "\n"), CodeExchange, `message "hello": incomplete`},
		{"wrong turn", answer(`{"kind":"bye"}` + "\n"), CodeExchange, `message "bye" from the peer instead of "hello"`},
		{
			"silent", func(net.Conn) { time.Sleep(600 * time.Millisecond) }, CodeExchangeSilent,
			`no message "hello" from the peer within 300ms`,
		},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := quick("node1")
			cfg.StepTimeout = 300 * time.Millisecond
			port := standIn(t, tt.do)
			r := dial(t, "127.0.0.1", port, []Port{enginePort("roce@127.0.65.20")}, false, cfg)
			if len(r.Attempts) != 1 || r.Attempts[0].Failure == nil {
				t.Fatalf("%d: attempts %+v", i, r.Attempts)
			}
			f := r.Attempts[0].Failure
			if f.Code != tt.code || f.Stage != StageExchange || !strings.Contains(f.Cause, tt.cause) ||
				len(f.Cause) > 300 {
				t.Errorf("failure %s at %q: %s, want %s: %s", f.Code, f.Stage, f.Cause, tt.code, tt.cause)
			}
			other := fmt.Sprintf("another program listens on TCP port %d", port)
			if got, want := slices.Contains(f.Possible, other), !strings.Contains(tt.name, "version") &&
				tt.name != "newer"; got != want {
				t.Errorf("possible %q, want %q: %t", f.Possible, other, want)
			}
		})
	}
}

// signalError is the cause of a context that Ctrl-C ends.
type signalError struct{}

func (signalError) Error() string   { return "interrupted" }
func (signalError) Hints() []string { return []string{"a hint of the signal"} }

// TestInterrupted ends a run by its context while the peer is silent: the stage is named, and what
// can't be known isn't guessed.
func TestInterrupted(t *testing.T) {
	l, port := listen(t)
	for _, all := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(signalError{}) })
		r, err := Dial(ctx, "127.0.0.1", port, []Port{enginePort("roce@127.0.65.25")}, all, quick("node1"))
		if err != nil || len(r.Attempts) != 1 || r.Attempts[0].Failure == nil {
			t.Fatalf("Dial = %+v, %v", r, err)
		}
		end := map[bool]string{false: "node1 roce@127.0.65.25", true: "node1"}[all]
		f := r.Attempts[0].Failure
		if f.Code != CodeInterrupted || f.Stage != StageExchange || f.End != end || len(f.Possible) != 0 ||
			!slices.Equal(f.Remedies, signalError{}.Hints()) || f.Cause != "interrupted" {
			t.Errorf("all %t: failure %+v, want %s of %q", all, f, CodeInterrupted, end)
		}
	}
	_ = l.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signalError{})
	r, err := Dial(ctx, "127.0.0.1", port, []Port{enginePort("roce@127.0.65.25")}, true, quick("node1"))
	if err != nil || r.Attempts[0].Failure.Code != CodeInterrupted {
		t.Errorf("Dial with a context that has ended = %+v, %v", r, err)
	}
}

// TestUnreached dials where nothing listens and a name that doesn't resolve.
func TestUnreached(t *testing.T) {
	l, port := listen(t)
	_ = l.Close()
	for _, tt := range []struct {
		host  string
		code  Code
		stage Stage
	}{
		{"127.0.0.1", CodeRefused, StageExchange},
		{"nosuch.invalid", CodeName, StageResolve},
	} {
		r := dial(t, tt.host, port, []Port{enginePort("roce@127.0.65.21")}, false, quick("node1"))
		if f := r.Attempts[0].Failure; f == nil || f.Code != tt.code || f.Stage != tt.stage {
			t.Errorf("Dial(%s) = %+v, want %s at %q", tt.host, f, tt.code, tt.stage)
		}
	}
}

// TestStranger connects to a listener without being a client: it is noted, and the next one served.
func TestStranger(t *testing.T) {
	l, port := listen(t)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	noted := make(chan string, 1)
	s := quick("node2")
	s.Progress = func(format string, args ...any) {
		if strings.HasPrefix(format, "note: ignored") {
			noted <- fmt.Sprintf(format, args...)
		}
	}
	done := make(chan Report)
	go func() {
		r, err := Serve(t.Context(), l, []Port{enginePort("roce@127.0.65.22")}, false, s)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if got := <-noted; !strings.Contains(got, `it sends "GET / HTTP/1.1"`) {
		t.Errorf("noted %q", got)
	}
	_ = conn.Close()
	checkGood(t, dial(t, "127.0.0.1", port, []Port{enginePort("roce@127.0.65.23")}, false, quick("node1")), 1)
	checkGood(t, <-done, 1)
}

// TestSilentStrangers has connections that say nothing before the client's.
func TestSilentStrangers(t *testing.T) {
	l, port := listen(t)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for range 2 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	done := make(chan Report)
	go func() {
		r, err := Serve(t.Context(), l, []Port{enginePort("roce@127.0.65.22")}, false, quick("node2"))
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	checkGood(t, dial(t, "127.0.0.1", port, []Port{enginePort("roce@127.0.65.23")}, false, quick("node1")), 1)
	checkGood(t, <-done, 1)
}

// TestRails pairs the ports of a rail, and names those without partner.
func TestRails(t *testing.T) {
	rail := func(n int) *int { return &n }
	own := []Port{{Name: "a", Rail: rail(0)}, {Name: "b", Rail: rail(1)}, {Name: "c", Rail: rail(7)}, {Name: "d"}}
	peer := []PortFacts{
		{Name: "x", Rail: rail(1), Offered: true},
		{Name: "y", Rail: rail(0)},
		{Name: "z", Rail: rail(0), Offered: true},
		{Name: "s", Offered: true},
		{Name: "u", Rail: rail(3), Offered: true},
	}
	pairs, skipped := pairRails(own, peer)
	var got []string
	for _, p := range pairs {
		got = append(got, p.port.Name+p.listener)
	}
	if diff := cmp.Diff([]string{"az", "bx", "ds"}, got); diff != "" {
		t.Errorf("pairs differ (-want +got):\n%s", diff)
	}
	want := []string{"c: the peer offers no port of rail 7", "u of the peer: this end has no other port of rail 3"}
	if diff := cmp.Diff(want, skipped); diff != "" {
		t.Errorf("skipped differ (-want +got):\n%s", diff)
	}
}

// TestRailsWithoutNumber pairs ports without a rail one to one.
func TestRailsWithoutNumber(t *testing.T) {
	pairs, skipped := pairRails([]Port{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		[]PortFacts{{Name: "x", Offered: true}, {Name: "y", Offered: true}})
	if len(pairs) != 2 || pairs[0].listener != "x" || pairs[1].listener != "y" {
		t.Errorf("pairs = %+v, want a with x, b with y", pairs)
	}
	if diff := cmp.Diff([]string{"c: the peer offers no port without a rail"}, skipped); diff != "" {
		t.Errorf("skipped differ (-want +got):\n%s", diff)
	}
}

// TestAll tries two rails with a peer; a port that fails doesn't keep the other from being tried.
func TestAll(t *testing.T) {
	rail := func(p Port, n int) Port { p.Rail = &n; return p }
	facts := func(list []Port) (out []PortFacts) {
		for _, p := range list {
			out = append(out, PortFacts{Name: p.Name, Rail: p.Rail, Offered: true})
		}
		return out
	}
	client := []Port{rail(enginePort("roce@127.0.65.30"), 0), rail(enginePort("roce@127.0.65.31"), 1)}
	listener := []Port{rail(enginePort("roce@127.0.65.32"), 0), rail(enginePort("roce@127.0.65.33"), 1)}
	numbers := func(c, s *Config) { c.Node.Ports, s.Node.Ports = facts(client), facts(listener) }
	a, b := pairUp(t, client, listener, true, numbers)
	checkGood(t, a, 2)
	checkGood(t, b, 2)
	if got := a.Attempts[1]; got.Rail == nil || *got.Rail != 1 || got.Remote.Port != "roce@127.0.65.33" {
		t.Errorf("second attempt = %+v", got)
	}
	listener[0].PKey = 0x8001
	a, b = pairUp(t, client, listener, true, numbers)
	for _, r := range []Report{a, b} {
		if len(r.Attempts) != 2 || r.Attempts[0].Failure == nil || r.Attempts[0].Failure.Code != CodePKey ||
			r.Attempts[1].Failure != nil {
			t.Errorf("attempts %+v, want the first to fail", r.Attempts)
		}
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "1 of 2 connections failed") {
			t.Errorf("Err = %v", err)
		}
	}
}

// TestNotOffered asks for a port that the listener doesn't offer.
func TestNotOffered(t *testing.T) {
	zero := 0
	p := enginePort("roce@127.0.65.34")
	p.Rail = &zero
	a, _ := pairUp(t, []Port{p}, nil, true, func(_, s *Config) {
		s.Node.Ports = []PortFacts{{Name: "mlx5_0:1", Rail: &zero, Offered: true}}
	})
	if f := a.Attempts[0].Failure; f == nil || f.Code != CodeNoPort || f.End != "node2 mlx5_0:1" {
		t.Errorf("failure = %+v", f)
	}
}

// TestChoose checks which entries are chosen, and the reasons.
func TestChoose(t *testing.T) {
	entry := func(index int, kind Kind) GIDChoice { return GIDChoice{Index: index, GID: ib.GID{15: 1}, Kind: kind} }
	end := func(host string, list ...GIDChoice) *Endpoint {
		return &Endpoint{
			Host: host, Port: "p", LinkLayer: "Ethernet", MTU: 1024, ActiveMTU: 1024, PKey: 0xffff, GIDs: list,
		}
	}
	tests := []struct {
		name             string
		client, listener *Endpoint
		want             [2]int
		reason           string
	}{
		{
			"the best of both", end("a", entry(3, KindV2IPv4), entry(5, KindV2IPv6)), end("b", entry(1, KindV2IPv4)),
			[2]int{3, 1},
			"RoCE v2 over IPv4: the best of 2 entries",
		},
		{
			"the peer has only IPv6",
			end("a", entry(3, KindV2IPv4), entry(5, KindV2IPv6)), end("b", entry(1, KindV2IPv6)),
			[2]int{5, 1},
			"RoCE v2 over IPv6: the best kind that both ends have; the other end has no RoCE v2 over IPv4",
		},
		{
			"pinned", end("a", entry(7, KindV1IPv4)), end("b", entry(1, KindV2IPv4), entry(2, KindV1IPv4)),
			[2]int{7, 2},
			"RoCE v1 over IPv4: the only usable entry",
		},
	}
	for _, tt := range tests {
		a, f := agree(tt.client, tt.listener)
		if f != nil || a.client.Index != tt.want[0] || a.listener.Index != tt.want[1] || a.clientReason != tt.reason {
			t.Errorf("%s: agree = %d and %d, %q, %v, want %v, "+
				"%q", tt.name, a.client.Index, a.listener.Index, a.clientReason,
				f, tt.want, tt.reason)
		}
	}
}

// validEndpoint returns an endpoint that the peer accepts.
func validEndpoint() *Endpoint {
	return &Endpoint{
		LinkLayer: "Ethernet", MTU: 1024, ActiveMTU: 4096, PKey: 0xffff, Timeout: 14,
		GIDs: []GIDChoice{{GID: ib.GID{15: 1}}},
	}
}

// FuzzDecode decodes lines of a peer.
func FuzzDecode(f *testing.F) {
	for _, m := range []Message{
		{Kind: KindHello, Hello: &Hello{Protocol: Protocol, Version: Version}},
		{Kind: KindAttempt, Attempt: &Proposal{Pings: 1, Writes: 1}},
		{Kind: KindPort, Port: validEndpoint()},
		{Kind: KindStatus, Status: &Status{Stage: StageData}, Failure: &Failure{Code: CodeRNR}},
		{Kind: KindBye},
	} {
		line, err := encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := decode(line)
		if err != nil {
			return
		}
		again, err := encode(m)
		if err != nil {
			t.Skip("too long")
		}
		n, err := decode(again)
		if err != nil {
			t.Fatalf("decode of %s = %v", again, err)
		}
		if diff := cmp.Diff(toJSON(t, m), toJSON(t, n)); diff != "" {
			t.Error(diff)
		}
	})
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
