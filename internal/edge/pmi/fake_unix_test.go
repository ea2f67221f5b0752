//go:build unix

package pmi_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/internal/edge/pmi"
)

// silence stands for an answer that never comes, hangup for a server that closes the connection.
const (
	silence = "silence"
	hangup  = "hangup"
)

// hydra answers as mpiexec.hydra of MPICH 4.0.2 does, in a job of one task.
func hydra() map[string]string {
	return map[string]string{
		"init":           "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
		"get_maxes":      "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n",
		"get_my_kvsname": "cmd=my_kvsname kvsname=kvs_17617_0_1769464978_vm\n",
		"put":            "cmd=put_result rc=0 msg=success\n",
		"barrier_in":     "cmd=barrier_out\n",
		"get":            "cmd=get_result rc=-1 msg=key_nope_not_found value=unknown\n",
		"finalize":       "cmd=finalize_ack\n",
	}
}

// with returns the answers of [hydra] with one changed.
func with(command, answer string) map[string]string {
	m := hydra()
	m[command] = answer
	return m
}

// serve answers on a socket that it returns as the environment of a task, and returns what it was
// asked. Both are for one client.
func serve(t *testing.T, answers map[string]string) (getenv func(string) string, asked <-chan string) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fds[0]), "server")
	conn, err := net.FileConn(file)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(lines)
		defer conn.Close()
		r := bufio.NewReader(conn)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			lines <- line
			command, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "cmd="), " ")
			switch answer := answers[command]; answer {
			case silence:
			case hangup:
				return
			default:
				_, _ = io.WriteString(conn, answer)
			}
		}
	}()
	t.Cleanup(func() { <-ended })
	env := map[string]string{"PMI_FD": strconv.Itoa(fds[1]), "PMI_RANK": "0", "PMI_SIZE": "1"}
	t.Cleanup(func() { _ = unix.Close(fds[1]) }) // if Open failed
	return func(name string) string { return env[name] }, lines
}

// TestMalformed checks answers that are none of PMI-1.
func TestMalformed(t *testing.T) {
	for _, q := range []struct{ name, command, answer, want string }{
		{"another command", "init", "cmd=maxes rc=0\n", "maxes instead of response_to_init"},
		{"no command", "init", "rc=0\n", "does not begin with a command"},
		{"empty line", "init", "\n", "no command"},
		{"empty command", "init", "cmd= rc=0\n", "no command"},
		{"no value", "init", "cmd=response_to_init pmi_version\n", "no new name with a value"},
		{"no name", "init", "cmd=response_to_init =1\n", "no new name with a value"},
		{"twice", "init", "cmd=response_to_init rc=1 rc=0\n", "no new name with a value"},
		{"second command", "init", "cmd=response_to_init cmd2=1 rc=0 cmd=x\n", "no new name with a value"},
		{"control character", "init", "cmd=response_to_init pmi_version=1\x00\n", "control character"},
		{"version", "init", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n", `version "2", not 1`},
		{"no version", "init", "cmd=response_to_init rc=0\n", "pmi_version of response_to_init"},
		{"code", "init", "cmd=response_to_init pmi_version=1 rc=x\n", "is no number"},
		{"refused", "init", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n", "with rc=-1"},
		{"long", "init", "cmd=" + strings.Repeat("x", 9000), "longer than 8192 bytes"},
		{"hangup", "init", hangup, "closed the connection"},
		{"no limit", "get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64\n", "vallen_max of maxes"},
		{"negative limit", "get_maxes", "cmd=maxes kvsname_max=256 keylen_max=-1 vallen_max=9\n", "keylen_max"},
		{"huge limit", "get_maxes", "cmd=maxes kvsname_max=99999999 keylen_max=9 vallen_max=9\n", "kvsname_max"},
		{"no name of the space", "get_my_kvsname", "cmd=my_kvsname\n", "a name of 0 bytes"},
		{"long name", "get_my_kvsname", "cmd=my_kvsname kvsname=" + strings.Repeat("k", 256) + "\n", "of 256 bytes"},
	} {
		env, _ := serve(t, with(q.command, q.answer))
		c, err := pmi.Open(t.Context(), env)
		if err == nil || !strings.Contains(err.Error(), q.want) || !strings.HasPrefix(err.Error(), "open PMI: ") {
			t.Errorf("%s: %v, want %q", q.name, err, q.want)
		}
		if err == nil {
			_ = c.Close(t.Context())
		}
	}
}

// open returns a client of a server with these answers.
func open(t *testing.T, answers map[string]string) (*pmi.Client, <-chan string) {
	t.Helper()
	env, asked := serve(t, answers)
	c, err := pmi.Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	for range 3 {
		<-asked // init, get_maxes, get_my_kvsname
	}
	return c, asked
}

// TestPut checks what is sent for a value: never more than the server takes, and no character that
// ends a word.
func TestPut(t *testing.T) {
	c, asked := open(t, with("get_maxes", "cmd=maxes kvsname_max=256 keylen_max=20 vallen_max=12\n"))
	if err := c.Put(t.Context(), "a b=c\n", "0123456789 =\n"); err != nil {
		t.Fatal(err)
	}
	// The text is MDEyMzQ1Njc4OSA9Cg, of 18 characters; 11 may be in a value, of which 3 are for
	// the number.
	for _, want := range []string{
		"cmd=put kvsname=kvs_17617_0_1769464978_vm key=a+b%3Dc%0A.0 value=2.MDEyMzQ1\n",
		"cmd=put kvsname=kvs_17617_0_1769464978_vm key=a+b%3Dc%0A.1 value=1.Njc4OSA9\n",
		"cmd=put kvsname=kvs_17617_0_1769464978_vm key=a+b%3Dc%0A.2 value=0.Cg\n",
	} {
		if got := <-asked; got != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	}
	for _, key := range []string{"", strings.Repeat("k", 17)} {
		if err := c.Put(t.Context(), key, "x"); err == nil || !strings.Contains(err.Error(), "not of 1 to 19") {
			t.Errorf("Put(%q): %v", key, err)
		}
	}
	if err := c.Put(t.Context(), strings.Repeat("k", 16), ""); err != nil {
		t.Errorf("the longest key: %v", err)
	}
	if err := c.Put(t.Context(), "k", strings.Repeat("x", 385)); err == nil ||
		!strings.Contains(err.Error(), "more than 64 keys of 8 bytes") {
		t.Errorf("a value of too many parts: %v", err)
	}
	if err := c.Put(t.Context(), "k", strings.Repeat("x", 384)); err != nil {
		t.Errorf("the largest value: %v", err)
	}
	c, asked = open(t, hydra())
	if err := c.Put(t.Context(), "k", strings.Repeat("x", 5000)); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; len(got) > 1024 || len(got) < 1000 { // PMIU_MAXLINE
		t.Errorf("a line of %d bytes, want at most 1024 and nearly so", len(got))
	}
	c, _ = open(t, with("get_maxes", "cmd=maxes kvsname_max=256 keylen_max=20 vallen_max=4\n"))
	if err := c.Put(t.Context(), "k", ""); err == nil || !strings.Contains(err.Error(), "no room for a value") {
		t.Errorf("a server without room: %v", err)
	}
}

// TestGet checks values that this package hasn't stored, and an error of the server with spaces.
func TestGet(t *testing.T) {
	for _, q := range []struct{ answer, want string }{
		{"cmd=get_result rc=0 value=hello\n", "not one of this program"},
		{"cmd=get_result rc=0\n", "not one of this program"},
		{"cmd=get_result rc=0 value=x.aGk\n", "not one of this program"},
		{"cmd=get_result rc=0 value=-1.aGk\n", "not one of this program"},
		{"cmd=get_result rc=0 value=1.aGk\n", "not one of this program"}, // the second says 1, too
		{"cmd=get_result rc=0 value=0.a*k\n", "not one of this program"},
		{"cmd=get_result rc=1 errmsg=Keys with PMI_ prefix are reserved\n", "rc=1: Keys with PMI_ prefix are reserved"},
		{"cmd=get_result rc=1 msg=one errmsg=two\n", "rc=1: one"},
	} {
		c, _ := open(t, with("get", q.answer))
		v, err := c.Get(t.Context(), "k")
		if err == nil || !strings.HasSuffix(err.Error(), q.want) && !strings.Contains(err.Error(), q.want+": ") ||
			errors.Is(err, pmi.ErrNotFound) {
			t.Errorf("%s: %q, %v, want %q", strings.TrimSpace(q.answer), v, err, q.want)
		}
	}
	c, _ := open(t, with("get", "cmd=get_result rc=1\n")) // of Slurm
	if _, err := c.Get(t.Context(), "nope"); !errors.Is(err, pmi.ErrNotFound) {
		t.Errorf("no such key, by Slurm: %v", err)
	}
	c, _ = open(t, hydra())
	if _, err := c.Get(t.Context(), "nope"); !errors.Is(err, pmi.ErrNotFound) {
		t.Errorf("no such key: %v", err)
	}
	if err := c.Barrier(t.Context()); err != nil {
		t.Errorf("after an error of the server: %v", err)
	}
}

// TestContext checks that each wait ends with its context, and what is left of the client then.
func TestContext(t *testing.T) {
	ended := errors.New("ended")
	env, _ := serve(t, with("init", silence))
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, ended)
	defer cancel()
	if _, err := pmi.Open(ctx, env); !errors.Is(err, ended) {
		t.Errorf("Open: %v", err)
	}
	c, _ := open(t, with("barrier_in", silence))
	if err := c.Barrier(ctx); !errors.Is(err, ended) {
		t.Errorf("Barrier after the end: %v", err)
	}
	ctx, cancel = context.WithTimeoutCause(t.Context(), 20*time.Millisecond, ended)
	defer cancel()
	if err := c.Barrier(ctx); !errors.Is(err, ended) {
		t.Errorf("Barrier: %v", err)
	}
	if err := c.Put(t.Context(), "k", "v"); err == nil || !strings.Contains(err.Error(), "unusable") {
		t.Errorf("Put after an answer that is still on its way: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
	// The answer to barrier_in comes after all.
	answers := with("barrier_in", silence)
	answers["finalize"] = "cmd=barrier_out\ncmd=finalize_ack\n"
	c, _ = open(t, answers)
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := c.Barrier(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Barrier: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Errorf("Close with a late answer: %v", err)
	}
}

// TestClose checks that it says goodbye once, that the server notices the end, and that nothing
// works afterwards.
func TestClose(t *testing.T) {
	c, asked := open(t, hydra())
	for range 2 {
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for line := range asked { // until the server sees the end
		got = append(got, line)
	}
	if strings.Join(got, "") != "cmd=finalize\n" {
		t.Errorf("Close sent %q", got)
	}
	if err := c.Barrier(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Barrier of a closed client: %v", err)
	}
}

// TestEnvironment checks variables without a server behind them.
func TestEnvironment(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null := strconv.Itoa(int(file.Fd()))
	for _, q := range []struct{ env, want string }{
		{"", "neither PMI_FD nor PMI_PORT"},
		{"PMI_FD=x", "PMI_FD="},
		{"PMI_FD=-1", "PMI_FD="},
		{"PMI_FD=3", "PMI_RANK="},
		{"PMI_FD=3 PMI_RANK=0", "PMI_SIZE="},
		{"PMI_FD=3 PMI_RANK=0 PMI_SIZE=99999999999", "PMI_SIZE="},
		{"PMI_FD=1000000 PMI_RANK=0 PMI_SIZE=1", "bad file descriptor"},
		{"PMI_RANK=0 PMI_SIZE=1 PMI_FD=" + null, "not a socket"},
		{"PMI_PORT=127.0.0.1:1", "PMI_ID="},
		{"PMI_PORT=127.0.0.1:1 PMI_ID=0", "connection refused"},
		{"PMI_PORT=nonsense PMI_ID=0", "missing port"},
	} {
		env := map[string]string{}
		for word := range strings.FieldsSeq(q.env) {
			name, value, _ := strings.Cut(word, "=")
			env[name] = value
		}
		_, err := pmi.Open(t.Context(), func(name string) string { return env[name] })
		if err == nil || !strings.Contains(err.Error(), q.want) {
			t.Errorf("%s: %v, want %q", q.env, err, q.want)
		}
		none := q.env == "" || strings.Contains(q.want, "descriptor") || strings.Contains(q.want, "socket")
		if errors.Is(err, pmi.ErrNone) != none {
			t.Errorf("%s: %v is ErrNone: %t, want %t", q.env, err, !none, none)
		}
	}
	if _, err := file.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a descriptor that is no PMI server was closed: %v", err)
	}
	env, _ := serve(t, hydra())
	_, err = pmi.Open(t.Context(), func(name string) string {
		if name == "PMI_RANK" {
			return "1"
		}
		return env(name)
	})
	if err == nil || !strings.Contains(err.Error(), "rank 1 of 1 tasks") {
		t.Errorf("a rank beyond the size: %v", err)
	}
}

// TestPort checks answers on a TCP connection that don't say which task this is.
func TestPort(t *testing.T) {
	for _, q := range []struct{ answer, want string }{
		{"cmd=initack\ncmd=set size=2\ncmd=set rank=2\ncmd=set debug=0\n", "rank 2 of 2 tasks"},
		{"cmd=initack\ncmd=set rank=1\n", "size of set"},
		{"cmd=initack\ncmd=put_result rc=0\n", "put_result instead of set"},
		{"cmd=initack rc=-1\n", "initack with rc=-1"},
	} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = io.Copy(conn, iotest.OneByteReader(strings.NewReader(q.answer)))
			_ = conn.Close()
		}()
		env := map[string]string{"PMI_PORT": l.Addr().String(), "PMI_ID": "1"}
		_, err = pmi.Open(t.Context(), func(name string) string { return env[name] })
		if err == nil || !strings.Contains(err.Error(), q.want) {
			t.Errorf("%q: %v, want %q", q.answer, err, q.want)
		}
		_ = l.Close()
	}
}
