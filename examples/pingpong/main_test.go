package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Addresses that only this package uses: tests of other packages run at the same time.
const (
	clientDevice = "roce@127.0.41.1"
	serverDevice = "roce@127.0.41.2"
)

func flags(t *testing.T, args ...string) options {
	t.Helper()
	o, err := parse(append([]string{"-client", clientDevice, "-server", serverDevice, "-n", "50"}, args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// output matches the output of the command; the numbers differ between runs.
var output = regexp.MustCompile(`^(?:(?:client  roce@127\.0\.41\.1|server  roce@127\.0\.41\.2), qp 0x[0-9a-f]{6}, ` +
	`path MTU at most 4096\n){2}ping 0: round trip [0-9.]+ µs\nping 1: round trip [0-9.]+ µs\nping 2: ` +
	`round trip [0-9.]+ µs\n50 round trips of (\d+) bytes, every byte checked\nround trip: min [0-9.]+ µs, ` +
	`median [0-9.]+ µs, p99 [0-9.]+ µs, max [0-9.]+ µs \(software, not line rate\)\n$`)

func TestBoth(t *testing.T) {
	for _, wait := range []string{"hybrid", "event", "busy"} {
		for _, size := range []string{"1", "64", "10000"} {
			var out bytes.Buffer
			if err := run(t.Context(), flags(t, "-wait", wait, "-size", size), &out); err != nil {
				t.Fatalf("-wait %s -size %s: %v\n%s", wait, size, err, &out)
			}
			if m := output.FindStringSubmatch(out.String()); len(m) != 2 || m[1] != size {
				t.Errorf("-wait %s -size %s prints\n%s", wait, size, &out)
			}
		}
	}
}

// TestTwoProcesses runs the two ends separately, with -listen and -connect.
func TestTwoProcesses(t *testing.T) {
	o := flags(t, "-listen", "127.0.0.1:0")
	l, err := listen(t.Context(), o.listen)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	var serverOut, clientOut bytes.Buffer
	go func() { served <- server(t.Context(), o, l, &printer{w: &serverOut}) }()
	if err := run(t.Context(), flags(t, "-connect", l.Addr().String(), "-size", "5000"), &clientOut); err != nil {
		t.Errorf("client: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("server: %v", err)
	}
	if !strings.Contains(clientOut.String(), "50 round trips of 5000 bytes") ||
		!strings.Contains(serverOut.String(), "waiting for a client at "+l.Addr().String()) {
		t.Errorf("client prints\n%sserver prints\n%s", &clientOut, &serverOut)
	}
}

// TestWrongAnswer checks that the client detects a response with one wrong bit.
func TestWrongAnswer(t *testing.T) {
	o := flags(t)
	l, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- wrongServer(t.Context(), o, l) }()
	err = client(t.Context(), o, l.Addr().String(), &printer{w: io.Discard})
	if want := "response to ping 3: byte 7 of 64 is 0x"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("client = %v, want %q", err, want)
	}
	if err := <-served; err == nil || !strings.Contains(err.Error(), "the peer closed the connection") {
		t.Errorf("server = %v, want that the peer closed the connection", err)
	}
}

// wrongServer is a server that changes one bit of a response.
func wrongServer(ctx context.Context, o options, l net.Listener) (err error) {
	e, err := open(ctx, o.server, o.wait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	return e.session(ctx, conn, func(ctx context.Context, theirs hello) error {
		out, in := e.mr.Bytes()[:theirs.Size], e.mr.Bytes()[theirs.Size:]
		for round := range theirs.Rounds {
			if err := e.await(ctx, theirs.Size, idReceive); err != nil {
				return err
			}
			for i, b := range in {
				out[i] = b ^ pong
			}
			if round == 3 {
				out[7] ^= 0x20
			}
			if err := errors.Join(e.receive(theirs.Size), e.send(theirs.Size),
				e.await(ctx, theirs.Size, idSend)); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestPeerGone cancels the client during the round trips: both ends must notice it long before any
// timeout.
func TestPeerGone(t *testing.T) {
	o := flags(t, "-n", "1000000")
	l, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { gone <- client(ctx, o, l.Addr().String(), &printer{w: io.Discard}) }()
	time.AfterFunc(300*time.Millisecond, cancel)
	start := time.Now()
	err = server(t.Context(), o, l, &printer{w: io.Discard})
	if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "the peer closed the connection") ||
		took > 10*time.Second {
		t.Errorf("server = %v after %v, want that the peer closed the connection", err, took)
	}
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("client = %v, want %v", err, context.Canceled)
	}
}

func TestStrangers(t *testing.T) {
	tests := []struct{ says, want string }{
		{"", "the peer closed the connection: EOF"},
		{"GET / HTTP/1.0\r\n\r\n", "read from the peer: invalid character"},
		{strings.Repeat("x", 5000), "read from the peer: line longer than 1024 bytes"},
		{"{}\n", "the client requests 0 round trips of 0 bytes"},
		{`{"Rounds":1,"Size":1000000000000}` + "\n", "the client requests 1 round trips of 1000000000000 bytes"},
		{`{"Rounds":1,"Size":1}` + "\n", "INIT→RTR"},
	}
	for _, tt := range tests {
		o := flags(t)
		l, err := listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- server(t.Context(), o, l, &printer{w: io.Discard}) }()
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, tt.says) // the server may already have closed the connection
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		if err := <-served; err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("server that receives %.20q = %v, want %q", tt.says, err, tt.want)
		}
		_ = conn.Close()
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"extra"}, `unexpected argument "extra"`},
		{[]string{"-wait", "now"}, "-wait now: not hybrid, event or busy"},
		{[]string{"-n", "0"}, "0 round trips of 64 bytes: at least 1 of each, at most 1000000 and 1048576"},
		{[]string{"-size", "1048577"}, "1000 round trips of 1048577 bytes"},
		{[]string{"-timeout", "0s"}, "-timeout 0s: not positive"},
		{[]string{"-listen", ":1", "-connect", ":1"}, "-listen and -connect are mutually exclusive"},
		{[]string{"-client", serverDevice, "-server", serverDevice}, "UDP port 4791 of 127.0.41.2 is taken"},
		{
			[]string{"-client", clientDevice, "-server", "roce@203.0.113.7"},
			"203.0.113.7: no such address of this machine",
		},
		{
			[]string{"-client", "roce@203.0.113.7", "-server", serverDevice},
			"203.0.113.7: no such address of this machine",
		},
		{[]string{"-client", clientDevice, "-connect", "127.0.0.1:1"}, "connection refused"},
		{
			[]string{"-server", serverDevice, "-listen", "127.0.0.1:0", "-timeout", "100ms"},
			"not finished after 100ms (-timeout)",
		},
		{
			[]string{"-client", clientDevice, "-server", serverDevice, "-n", "1000000", "-timeout", "300ms"},
			"not finished after 300ms (-timeout)",
		},
	}
	for _, tt := range tests {
		o, err := parse(tt.args, io.Discard)
		if err == nil {
			err = run(t.Context(), o, io.Discard)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("pingpong %q = %v, want %q", tt.args, err, tt.want)
		}
	}
}

func TestCheck(t *testing.T) {
	b := make([]byte, 3000)
	fill(b, 7)
	if err := check(b, 7, ping); err != nil {
		t.Error(err)
	}
	for _, other := range []struct {
		round int
		mask  byte
	}{{8, ping}, {6, ping}, {7, pong}} {
		if check(b, other.round, other.mask) == nil {
			t.Errorf("check(message of round 7, %d, 0x%x) = nil, want an error", other.round, other.mask)
		}
	}
	for i := range b {
		b[i] ^= 1
		if check(b, 7, ping) == nil {
			t.Fatalf("check with byte %d changed = nil, want an error", i)
		}
		b[i] ^= 1
	}
}

func TestExplain(t *testing.T) {
	var b strings.Builder
	explain(&b, fs.ErrNotExist)
	if !strings.Contains(b.String(), "hint: a device is roce@ADDRESS") {
		t.Errorf("explain = %q", b.String())
	}
}

// TestFullDisk checks the error of an output that can't be written.
func TestFullDisk(t *testing.T) {
	r, w := io.Pipe()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), flags(t), w); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("run = %v, want %v", err, io.ErrClosedPipe)
	}
}

// TestExample checks that the help ends with examples that parse.
func TestExample(t *testing.T) {
	var help bytes.Buffer
	if _, err := parse([]string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) ||
		!strings.HasSuffix(help.String(), "\n"+example) {
		t.Errorf("parse(-h) = %v, prints %q, want an example at its end", err, &help)
	}
	commands := 0
	for line := range strings.Lines(example) {
		if args, ok := strings.CutPrefix(line, "  pingpong "); ok {
			commands++
			if _, err := parse(strings.Fields(args), io.Discard); err != nil {
				t.Errorf("parse(%q) = %v", args, err)
			}
		}
	}
	if commands == 0 {
		t.Errorf("no command in %q", example)
	}
}
