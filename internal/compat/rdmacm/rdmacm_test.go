package rdmacm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/compat/rdmacm"
	"github.com/rdmakit/rdmakit/internal/testkit/connectors"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// output is a stream that several goroutines use.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// program is a run of a program.
type program struct {
	out, err output
	code     chan int
}

// start runs a command line with the engine of an address, none for "".
func start(ctx context.Context, t *testing.T, engine, line string) *program {
	t.Helper()
	words := strings.Fields(line)
	p, ok := rdmacm.Find(words[0])
	if !ok {
		t.Fatalf("no program %s", words[0])
	}
	r := &program{code: make(chan int, 1)}
	host := rdmacm.Host{
		Name: words[0], Args: words[1:], Stdout: &r.out, Stderr: &r.err,
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		},
	}
	if engine != "" {
		host.Open = func(ctx context.Context, local, _ netip.Addr) (*verbs.Device, error) {
			if local.IsValid() && local != netip.MustParseAddr(engine) {
				return nil, fmt.Errorf("open roce@%v: %w", local, os.ErrNotExist)
			}
			return verbs.Open(ctx, roce.Prefix+engine, connectors.Checked{Provider: roce.Provider{}, T: t})
		}
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		r.code <- p.Run(ctx, host)
	}()
	t.Cleanup(func() { <-finished })
	return r
}

// wait returns the exit code.
func (p *program) wait(t *testing.T) int {
	t.Helper()
	select {
	case code := <-p.code:
		return code
	case <-time.After(20 * time.Second):
		t.Fatalf("the program goes on; stdout %q, stderr %q", p.out.String(), p.err.String())
		return 0
	}
}

// withoutHints removes the lines that the C programs don't have.
func withoutHints(s string) string {
	return regexp.MustCompile(`(?m)^hint: .*\n`).ReplaceAllString(s, "")
}

func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestOptions compares with what the C programs print: see testdata/record.sh.
func TestOptions(t *testing.T) {
	recorded, err := os.ReadFile("testdata/options.txt")
	if err != nil {
		t.Fatal(err)
	}
	runs := strings.Split(strings.TrimPrefix(string(recorded), "$ "), "\n$ ")
	if len(runs) < 30 {
		t.Fatalf("only %d recorded runs", len(runs))
	}
	for _, run := range runs {
		line, want, _ := strings.Cut(run, "\n")
		want = strings.TrimSuffix(want, "\n") + "\n"
		p := start(limit(t), t, "", line)
		code := p.wait(t)
		var got strings.Builder
		for _, stream := range []struct{ name, text string }{
			{"stdout", p.out.String()}, {"stderr", withoutHints(p.err.String())},
		} {
			for l := range strings.Lines(stream.text) {
				got.WriteString(stream.name + ": " + l)
			}
		}
		fmt.Fprintf(&got, "exit code %d\n", code)
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("%s: -C program +this one:\n%s", line, diff)
		}
	}
}

// retry runs a client until the server listens.
func retry(t *testing.T, engine, line string) (*program, int) {
	t.Helper()
	for range 50 {
		p := start(limit(t), t, engine, line)
		code := p.wait(t)
		if !strings.Contains(p.err.String(), "nobody listens") {
			return p, code
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the server doesn't listen")
	return nil, 0
}

func TestRping(t *testing.T) {
	server := start(limit(t), t, "127.0.62.70", "rping -s -v -a 127.0.62.70 -S 1000")
	client, code := retry(t, "127.0.62.71", "rping -c -a 127.0.62.70 -C 2 -v -V")
	want := "ping data: rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr\n" +
		"ping data: rdma-ping-1: BCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrs\n"
	if code != 0 || client.out.String() != want || client.err.String() != "client DISCONNECT EVENT...\n" {
		t.Errorf("client: exit code %d, stdout %q, stderr %q", code, client.out.String(), client.err.String())
	}
	code = server.wait(t)
	if code != 0 || server.out.String() != strings.ReplaceAll(want, "ping data", "server ping data") ||
		server.err.String() != "server DISCONNECT EVENT...\nwait for RDMA_READ_ADV state 10\n" {
		t.Errorf("server: exit code %d, stdout %q, stderr %q", code, server.out.String(), server.err.String())
	}
}

// pointers replaces or removes what differs from run to run: acknowledgements, which complete a
// SEND, come before or after the answer of the peer.
func pointers(s string) string {
	s = strings.ReplaceAll(s, "send completion\n", "")
	s = regexp.MustCompile(`0x[0-9a-f]+`).ReplaceAllString(s, "P")
	return regexp.MustCompile(`(l?key|l?addr) [0-9a-f]+`).ReplaceAllString(s, "$1 N")
}

// TestRpingDebug holds the lines of -d to those of the C program's source. The device is a stray
// word, in the server's case too.
func TestRpingDebug(t *testing.T) {
	server := start(limit(t), t, "127.0.62.72", "rping -d -s -v mlx5_21")
	client, code := retry(t, "127.0.62.73", "rping -c -a 127.0.62.72 -C 1 -v -d mlx5_21")
	want := `created cm_id P
cma_event type RDMA_CM_EVENT_ADDR_RESOLVED cma_id P (parent)
cma_event type RDMA_CM_EVENT_ROUTE_RESOLVED cma_id P (parent)
rdma_resolve_addr - rdma_resolve_route successful
created pd P
created cq P
created qp P
rping_setup_buffers called on cb P
allocated & registered buffers...
cq_thread started.
cma_event type RDMA_CM_EVENT_ESTABLISHED cma_id P (parent)
ESTABLISHED
rdma_connect successful
RDMA addr N rkey N len 64
recv completion
RDMA addr N rkey N len 64
recv completion
ping data: rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_` + "`" + `abcdefghijklmnopqr
cma_event type RDMA_CM_EVENT_DISCONNECTED cma_id P (parent)
destroy cm_id P
`
	if diff := cmp.Diff(want, pointers(client.out.String())); code != 0 || diff != "" {
		t.Errorf("client: exit code %d, -want +got:\n%s", code, diff)
	}
	want = `server
verbose
created cm_id P
rdma_bind_addr successful
rdma_listen
cma_event type RDMA_CM_EVENT_CONNECT_REQUEST cma_id P (child)
child cma P
created pd P
created cq P
created qp P
rping_setup_buffers called on cb P
allocated & registered buffers...
cq_thread started.
accepting client connection request
cma_event type RDMA_CM_EVENT_ESTABLISHED cma_id P (child)
ESTABLISHED
recv completion
Received rkey N addr N len 64 from peer
server received sink adv
server posted rdma read req 
rdma read completion
server received read complete
server ping data: rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_` + "`" + `abcdefghijklmnopqr
server posted go ahead
recv completion
Received rkey N addr N len 64 from peer
server received sink adv
rdma write from lkey N laddr N len 64
rdma write completion
server rdma write complete 
server posted go ahead
cma_event type RDMA_CM_EVENT_DISCONNECTED cma_id P (child)
destroy cm_id P
`
	code = server.wait(t)
	if diff := cmp.Diff(want, pointers(server.out.String())); code != 0 || diff != "" {
		t.Errorf("server: exit code %d, -want +got:\n%s", code, diff)
	}
}

// signalError ends a run as Ctrl-C does.
type signalError struct{ error }

func (signalError) ExitCode() int { return 130 }

func TestRpingPersistent(t *testing.T) {
	ctx, cancel := context.WithCancelCause(limit(t))
	server := start(ctx, t, "127.0.62.74", "rping -s -P -v")
	for range 3 {
		if p, code := retry(t, "127.0.62.75", "rping -c -a 127.0.62.74 -C 2 -V -S 23"); code != 0 {
			t.Errorf("client: exit code %d: %s", code, p.err.String())
		}
	}
	endless := start(ctx, t, "127.0.62.76", "rping -c -a 127.0.62.74")
	time.Sleep(100 * time.Millisecond)
	cancel(signalError{errors.New("interrupted")})
	if s, c := server.wait(t), endless.wait(t); s != 130 || c != 130 {
		t.Errorf("exit codes of the server and an endless client after Ctrl-C: %d, %d, want 130", s, c)
	}
	if n := strings.Count(server.out.String(), "server ping data: rdma-ping-1: "); n < 3 {
		t.Errorf("the server printed %d second pings, want 3 or more", n)
	}
	if n := strings.Count(server.err.String(), "server DISCONNECT EVENT...\nwait for RDMA_READ_ADV state 10\n"); n < 3 {
		t.Errorf("the server saw %d ends, want 3 or more: %s", n, server.err.String())
	}
}

func TestUcmatose(t *testing.T) {
	for _, options := range []string{"", " -c 3 -C 20 -S 5000 -m -t 0x20 -a 14", " -P ib -p 7472", " -C 0", " -S 0"} {
		t.Run(options, func(t *testing.T) {
			server := start(limit(t), t, "127.0.62.77", "ucmatose -b 127.0.62.77"+options)
			client, code := retry(t, "127.0.62.78", "ucmatose -s 127.0.62.77"+options)
			data := func(s string) string {
				if strings.Contains(options, " 0") && !strings.Contains(options, "-m") {
					return ""
				}
				return s
			}
			migrating := ""
			if strings.Contains(options, "-m") {
				migrating = "migrating to new event channel\n"
			}
			want := "cmatose: starting client\ncmatose: connecting\n" +
				data("receiving data transfers\nsending replies\ndata transfers complete\n") + migrating +
				"test complete\nreturn status 0\n"
			if diff := cmp.Diff(want, client.out.String()); code != 0 || diff != "" || client.err.String() != "" {
				t.Errorf("client: exit code %d, stderr %q, -want +got:\n%s", code, client.err.String(), diff)
			}
			want = "cmatose: starting server\n" + data("initiating data transfers\ncompleting sends\n"+
				"receiving data transfers\ndata transfers complete\n") + migrating +
				"cmatose: disconnecting\ndisconnected\ntest complete\nreturn status 0\n"
			code = server.wait(t)
			if diff := cmp.Diff(want, server.out.String()); code != 0 || diff != "" || server.err.String() != "" {
				t.Errorf("server: exit code %d, stderr %q, -want +got:\n%s", code, server.err.String(), diff)
			}
		})
	}
}

// TestFailures holds what the programs print when they can't connect: the C program's lines, and
// the stage, the cause and what to do.
func TestFailures(t *testing.T) {
	other, err := verbs.Open(t.Context(), roce.Prefix+"127.0.62.80", roce.Provider{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	l, err := other.Listen(t.Context(), netip.MustParseAddrPort("127.0.62.80:7471"), verbs.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, tt := range []struct {
		line     string
		code     int
		out, err string
		hint     string
	}{
		{
			"rping -c -a 127.0.62.80 -C 1", 255, "",
			"cma event RDMA_CM_EVENT_REJECTED, error 8\nwait for CONNECTED state 4\nconnect error -1\n",
			"hint: connect: dial 127.0.62.80:7174 from roce@127.0.62.79: nobody listens on port 7174",
		},
		{
			"rping -c -I 127.0.62.99 -a 127.0.62.80", 255, "",
			"cma event RDMA_CM_EVENT_ADDR_ERROR, error -99\nwaiting for addr/route resolution state 1\n",
			"hint: open: open roce@127.0.62.99",
		},
		{
			"rping -c", 255, "",
			"cma event RDMA_CM_EVENT_ADDR_ERROR, error -19\nwaiting for addr/route resolution state 1\n", "-a ADDRESS",
		},
		{
			"rping -s -a 127.0.62.99", 255, "", "rdma_bind_addr: Cannot assign requested address\n",
			"hint: open: open roce@127.0.62.99",
		},
		{
			"rping -c -S -5 -a 127.0.62.80", 255, "", "rdma_buf malloc failed\n", "",
		},
		{
			"rping -c -S 5 -a 127.0.62.80", 22, "", "Invalid size 5 (valid range is 23 to 65536)\n", "",
		},
		{
			"ucmatose -s 127.0.62.80 -p 7000", 8, "cmatose: starting client\ncmatose: connecting\n" +
				"cmatose: event: RDMA_CM_EVENT_REJECTED, error: 8\ntest complete\nreturn status 8\n", "",
			"hint: connect: dial 127.0.62.80:7000 from roce@127.0.62.79: nobody listens on port 7000",
		},
		{ // the listener is in another port space
			"ucmatose -s 127.0.62.80 -P ib", 8, "cmatose: starting client\ncmatose: connecting\n" +
				"cmatose: event: RDMA_CM_EVENT_REJECTED, error: 8\ntest complete\nreturn status 8\n", "",
			"with the same -p and -P: the port space is IB",
		},
		{
			"ucmatose -P ib -s 127.0.62.80", 8, "cmatose: starting client\ncmatose: connecting\n" +
				"cmatose: event: RDMA_CM_EVENT_REJECTED, error: 8\ntest complete\nreturn status 8\n", "",
			"hint: start the server there first: ucmatose without -s, with the same -p and -P: the port space is IB\n",
		},
		{
			"ucmatose -s 127.0.62.80 -p nosuchservice", 248, "cmatose: starting client\ncmatose: getaddrinfo error: " +
				"Servname not supported for ai_socktype\ntest complete\nreturn status -8\n", "", "",
		},
		{
			"ucmatose -s nosuch.invalid", 254, "cmatose: starting client\ncmatose: getaddrinfo error: Name or " +
				"service not known\ntest complete\nreturn status -2\n", "", "",
		},
		{
			"ucmatose -b nosuch.invalid", 254, "cmatose: starting server\ncmatose: getrdmaaddr error: Name or " +
				"service not known\ntest complete\nreturn status -2\n", "", "",
		},
		{
			"ucmatose -b 127.0.62.99", 255, "cmatose: starting server\ntest complete\nreturn status -1\n",
			"cmatose: bind address failed: Cannot assign requested address\n", "hint: open: ",
		},
		{
			"ucmatose -s 127.0.62.80 -S -1", 255, "cmatose: starting client\ncmatose: connecting\nfailed message " +
				"allocation\ncmatose: failed to create messages: -1\ntest complete\nreturn status -1\n", "", "",
		},
	} {
		p := start(limit(t), t, "127.0.62.79", tt.line)
		code := p.wait(t)
		errs := p.err.String()
		if code != tt.code || p.out.String() != tt.out || withoutHints(errs) != tt.err ||
			!strings.Contains(errs, tt.hint) ||
			!strings.HasPrefix(tt.line, "rping") && strings.Contains(errs, "or rping -s") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %d, %q, %q with %q", tt.line, code, p.out.String(),
				errs, tt.code, tt.out, tt.err, tt.hint)
		}
	}
}
