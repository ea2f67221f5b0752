package perftest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
)

func pair(t *testing.T) (client, server *Session) {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return NewSession(a, Config{Role: RoleClient}), NewSession(b, Config{Role: RoleServer})
}

func ordinary() Hello { return Hello{CycleBuffer: 4096, CacheLine: 64, MTU: ib.MTU1024} }

func TestHelloAgrees(t *testing.T) {
	client, server := pair(t)
	result := make(chan Agreed, 1)
	go func() {
		got, err := server.Hello(t.Context(), Hello{CycleBuffer: 65536, CacheLine: 32, MTU: ib.MTU4096})
		if err != nil {
			t.Error(err)
		}
		result <- got
	}()
	got, err := client.Hello(t.Context(), ordinary())
	want := Agreed{Hello{65536, 64, ib.MTU1024}, VersionAnnounced}
	if other := <-result; err != nil || got != want || other != want {
		t.Errorf("Hello = %+v and %+v, %v, want %+v", got, other, err, want)
	}
}

// TestHelloErrors lets the peer send invalid data.
func TestHelloErrors(t *testing.T) {
	version, four, line := string(VersionAnnounced.Append(nil)), "\x00\x00\x10\x00", "\x00\x00\x00\x40"
	tests := []struct {
		name string
		says []string
		want string
	}{
		{
			"older",
			[]string{"5.33\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
			"exchange versions with the server: peer has version 5.33, which is older than 5.70",
		},
		{
			"no perftest",
			[]string{"SSH-2.0-OpenSSH_9"[:16]},
			`exchange versions with the server: it is neither rdmactl bench nor perftest: it sent "SSH-2.0-OpenSSH_"`,
		},
		{"closes", nil, "exchange versions with the server: the peer closed the connection"},
		{
			"closes later",
			[]string{version, "\x00\x00"},
			"exchange cycle buffer sizes with the server: the peer closed the connection",
		},
		{
			"huge buffer",
			[]string{version, "\x7f\xff\xff\xff"},
			"exchange cycle buffer sizes with the server: 2147483647 is not 1 to 1073741824",
		},
		{
			"negative line",
			[]string{version, four, "\xff\xff\xff\xff"},
			"exchange cache line sizes with the server: 4294967295 is not 1 to 4096",
		},
		{"no line", []string{version, four, "\x00\x00\x00\x00"}, "exchange cache line sizes with the server: 0 is not"},
		{"MTU 6", []string{version, four, line, "6\x00"}, `exchange MTUs with the server: "6\x00" is not 1 to 5`},
		{"MTU 50", []string{version, four, line, "50"}, `exchange MTUs with the server: "50" is not 1 to 5`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := net.Pipe()
			defer a.Close()
			go func() {
				defer b.Close()
				buf := make([]byte, 64)
				_, _ = b.Read(buf)
				for i, text := range tt.says {
					if i > 0 {
						_, _ = b.Read(buf)
					}
					if _, err := io.WriteString(b, text); err != nil {
						return
					}
				}
			}()
			_, err := NewSession(a, Config{Role: RoleClient}).Hello(t.Context(), ordinary())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Hello = %v, want %q", err, tt.want)
			}
			var step *StepError
			if !errors.As(err, &step) || step.Peer != RoleServer {
				t.Fatalf("Hello = %#v, want a StepError of the server", err)
			}
			hints := strings.Join(step.Hints(), "; ")
			if want := hintsOfHello()[tt.name]; !strings.Contains(hints, want) || want == "" && hints != "" {
				t.Errorf("hints on %v: %q, want %q", err, hints, want)
			}
		})
	}
	if _, err := NewSession(nil, Config{}).Hello(t.Context(), Hello{}); err == nil {
		t.Error("Hello without an MTU succeeded")
	}
}

// hintsOfHello are parts of the hints on errors of TestHelloErrors.
func hintsOfHello() map[string]string {
	return map[string]string{
		"no perftest": "start the same test there", "closes": "start the same test there",
		"closes later": "see what the program at the other end printed",
	}
}

// TestReset has a peer that closes the connection while data is there that it hasn't read: TCP
// resets the connection then.
func TestReset(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, _ = conn.Read(make([]byte, 1))
			_ = conn.Close()
		}
	}()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = NewSession(conn, Config{Role: RoleClient}).Hello(t.Context(), ordinary())
	const want = "exchange versions with the server: the peer reset the connection"
	if err == nil || err.Error() != want || !errors.Is(err, ErrReset) || errors.Is(err, ErrClosed) {
		t.Errorf("Hello = %v, want %q", err, want)
	}
}

func TestSilentPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := pair(t)
		start := time.Now()
		_, err := client.Hello(t.Context(), ordinary())
		if want := "exchange versions with the server: it sent nothing for 30s"; err == nil || err.Error() != want {
			t.Errorf("Hello = %v, want %q", err, want)
		}
		if step, ok := errors.AsType[*StepError](err); !ok || len(step.Hints()) != 1 {
			t.Errorf("Hello = %v, want a hint", err)
		}
		if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != 30*time.Second {
			t.Errorf("Hello = %v after %v, want a deadline after 30 s", err, took)
		}
		client, _ = pair(t)
		start = time.Now()
		err = client.Sync(t.Context(), "begin", Destination{})
		if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != 30*time.Second {
			t.Errorf("Sync = %v after %v, want a deadline after 30 s", err, took)
		}
		client, _ = pair(t)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errors.New("an hour is over"))
		defer cancel()
		start = time.Now()
		err = client.Await(ctx, "end of test", Destination{})
		if took := time.Since(start); err == nil ||
			!strings.Contains(err.Error(), "end of test with the server: an hour is over") || took != time.Hour {
			t.Errorf("Await = %v after %v, want it to wait for its context", err, took)
		}
	})
}

func TestBadKeys(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	go func() {
		defer b.Close()
		buf := make([]byte, keyGIDLen)
		_, _ = io.ReadFull(b, buf)
		_, _ = io.WriteString(b, strings.Repeat("?", keyGIDLen))
	}()
	_, err := NewSession(a, Config{Role: RoleClient}).ExchangeKeys(t.Context(), []Destination{captured()})
	if !errors.Is(err, ErrKeyLine) ||
		!strings.Contains(err.Error(), "exchange keys of queue pair 1 of 1 with the server") {
		t.Errorf("ExchangeKeys = %v, want the step and ErrKeyLine", err)
	}
}

// FuzzSession feeds both ends of an exchange with arbitrary data: they must end, and not agree on a
// value out of bounds.
func FuzzSession(f *testing.F) {
	for _, p := range plans() {
		for _, role := range []Role{RoleClient, RoleServer} {
			var all []byte
			for _, m := range capture(f, p.test) {
				if m.from == role {
					all = append(all, m.data...)
				}
			}
			f.Add(all, role == RoleServer)
		}
	}
	f.Fuzz(func(t *testing.T, input []byte, client bool) {
		role := RoleServer
		if client {
			role = RoleClient
		}
		s := NewSession(&script{input: input}, Config{Role: role})
		ctx := t.Context()
		agreed, err := s.Hello(ctx, ordinary())
		if err != nil {
			return
		}
		if agreed.MTU > ib.MTU1024 || agreed.MTU < ib.MTU256 || agreed.CycleBuffer < 4096 ||
			agreed.CycleBuffer > maxCycleBuffer || agreed.CacheLine < 64 || agreed.CacheLine > maxCacheLine {
			t.Errorf("Hello = %+v: out of bounds", agreed)
		}
		if _, err := s.Negotiate(ctx, agreed.Peer, sample()); err != nil {
			return
		}
		keys, err := s.ExchangeKeys(ctx, []Destination{captured()})
		if err == nil && (keys[0].QPN > 0xffffff || keys[0].PSN > 0xffffff) {
			t.Errorf("ExchangeKeys = %+v: out of bounds", keys)
		}
		for range 3 {
			_ = s.Sync(ctx, "sync", captured())
		}
		_, _ = s.ExchangeReports(ctx, Report{})
		_ = s.Finish(ctx, captured())
	})
}

// script is a connection whose peer ignores all input.
type script struct{ input []byte }

func (s *script) Write(b []byte) (int, error) { return len(b), nil }

func (s *script) Read(b []byte) (int, error) {
	if len(s.input) == 0 {
		return 0, io.EOF
	}
	n := copy(b, s.input)
	s.input = s.input[n:]
	return n, nil
}

func (s *script) SetDeadline(time.Time) error { return nil }

// TestByeStopped ends the last step while the peer reads nothing: that is no success.
func TestByeStopped(t *testing.T) {
	client, _ := pair(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := client.Bye(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Bye = %v, want %v", err, context.Canceled)
	}
}
