package classic

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
)

func open(ctx context.Context, name string, _ bool) (*verbs.Device, error) {
	return verbs.Open(ctx, name, builtin.All()...)
}

// awaited is a writer that signals when a text has been written.
type awaited struct {
	bytes.Buffer
	text string
	seen chan struct{}
}

func (a *awaited) Write(b []byte) (int, error) {
	n, err := a.Buffer.Write(b)
	if a.seen != nil && strings.Contains(a.String(), a.text) {
		close(a.seen)
		a.seen = nil
	}
	return n, err
}

// TestMainBothEnds runs the program of each test against itself.
func TestMainBothEnds(t *testing.T) {
	for _, test := range bench.Tests() {
		t.Run(test.String(), func(t *testing.T) {
			port := freePort(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seen := make(chan struct{})
			serverOut, clientOut := &awaited{text: "Waiting for client", seen: seen}, &awaited{}
			var serverErr, clientErr bytes.Buffer
			code := make(chan int, 1)
			args := []string{"-n", "20", "-s", "1000", "-p", port}
			go func() {
				code <- Main(ctx, test, args,
					Env{Stdout: serverOut, Stderr: &serverErr, Open: open, Device: "roce@127.0.3.1"})
			}()
			<-seen
			if got := Main(ctx, test, append(args, "-d", "roce@127.0.3.2", "127.0.0.1"),
				Env{Stdout: clientOut, Stderr: &clientErr, Open: open}); got != 0 {
				t.Errorf("client: exit code %d: %s", got, &clientErr)
			}
			if got := <-code; got != 0 {
				t.Errorf("server: exit code %d: %s", got, &serverErr)
			}
			for role, out := range map[string]string{"client": clientOut.String(), "server": serverOut.String()} {
				has := regexp.MustCompile(`(?m)^ 1000 +20 `).MatchString(out)
				if want := test != bench.ReadLat || role == "client"; has != want || !strings.HasSuffix(out, line) {
					t.Errorf("%s printed a line of figures: %t, want %t:\n%s", role, has, want, out)
				}
			}
			if want := "roce@127.0.3.2: software, not line rate\n"; clientErr.String() != want {
				t.Errorf("standard error of the client = %q, want %q", &clientErr, want)
			}
		})
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port) //nolint:errcheck,forcetypeassert // a TCP listener has no other
}

func TestMainErrors(t *testing.T) {
	noDevice := func(_ context.Context, name string, _ bool) (*verbs.Device, error) {
		return nil, fmt.Errorf("open device %s: gone", cmp.Or(name, "any"))
	}
	tests := []struct {
		args        string
		env         Env
		code        int
		out, errOut string
	}{
		{"-V", Env{}, 1, "Version: 6.30\n", ""},
		{"--help", Env{}, 0, "  -x, --gid-index=N ", ""},
		{"--nosuch", Env{}, 1, "", "ib_send_bw: unknown option --nosuch\n"},
		{"-a host", Env{Open: noDevice}, 1, "", "ib_send_bw: open device any: gone\n"}, // the first, as perftest does
		{"-a host", Env{Open: noDevice, Device: "y"}, 1, "", "ib_send_bw: open device y: gone\n"},
		{
			"-d x",
			Env{Name: "/x/ib_send_bw", Open: noDevice},
			1, "",
			"/x/ib_send_bw: open device x: gone\nhint: find it\n",
		},
		{"-d x", Env{}, 1, "", "recorded node"},
		{"-d x -n 2", Env{Open: noDevice}, 1, "", "ib_send_bw: iterations 2 is not 5 to"},
		{"-d roce@127.0.3.1 -p 1 127.0.0.1", Env{Open: open}, 1, "", "ib_send_bw: connect to 127.0.0.1:1: "},
		{"-d roce@127.0.3.1 -p 99999", Env{Open: open}, 1, "", "port 99999 is not 1 to 65535"},
	}
	for _, tt := range tests {
		var out, errOut bytes.Buffer
		env := tt.env
		env.Stdout, env.Stderr = &out, &errOut
		env.Hints = func(err error) []string {
			if strings.HasSuffix(err.Error(), "gone") {
				return []string{"find it"}
			}
			return nil
		}
		code := Main(t.Context(), bench.SendBW, strings.Fields(tt.args), env)
		if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errOut.String(), tt.errOut) {
			t.Errorf("Main(%q) = %d, %q, %q, want %d, %q, %q", tt.args, code, &out, &errOut, tt.code, tt.out, tt.errOut)
		}
	}
}

// signalled is the cause of an end by a signal.
type signalled int

func (s signalled) Error() string { return "signal" }
func (s signalled) ExitCode() int { return 128 + int(s) }

// TestMainEndsAsToldTo ends a server that waits.
func TestMainEndsAsToldTo(t *testing.T) {
	for _, tt := range []struct {
		cause error
		code  int
	}{{signalled(2), 130}, {signalled(15), 143}, {context.DeadlineExceeded, 1}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		seen := make(chan struct{})
		go func() {
			<-seen
			cancel(tt.cause)
		}()
		var errOut bytes.Buffer
		out := &awaited{text: "Waiting for client", seen: seen}
		code := Main(ctx, bench.WriteBW, []string{"-d", "roce@127.0.3.3", "-p", freePort(t)},
			Env{Stdout: out, Stderr: &errOut, Open: open})
		if code != tt.code || !strings.HasSuffix(errOut.String(), ": "+tt.cause.Error()+"\n") {
			t.Errorf("Main ended by %v = %d, %q, want %d", tt.cause, code, &errOut, tt.code)
		}
		cancel(nil)
	}
}

// TestMainChecksFirst checks that clients whose device doesn't support the requested test never
// connect, so that they don't use up a server.
func TestMainChecksFirst(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan bool, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_ = conn.Close()
		}
		came <- err == nil
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for args, want := range map[string]string{
		"-x 7": "GID index 7: port 1 has no such GID, but GID index 0",
		"-i 2": "has port 1 only",
	} {
		var out, errOut bytes.Buffer
		code := Main(t.Context(), bench.SendBW, strings.Fields(args+" -d roce@127.0.3.1 -p "+port+" 127.0.0.1"),
			Env{Stdout: &out, Stderr: &errOut, Open: open})
		if code != 1 || !strings.Contains(errOut.String(), want) {
			t.Errorf("Main(%q) = %d, %q, want 1, %q", args, code, &errOut, want)
		}
	}
	_ = l.Close()
	if <-came {
		t.Error("a client has connected before it looked at its device")
	}
}
