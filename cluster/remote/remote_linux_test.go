package remote_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/remote"
)

// exchange sends a text to a program that returns it, and ends it. It returns the program's process
// number.
func exchange(t *testing.T, s *remote.Session) int {
	t.Helper()
	r := bufio.NewReader(s)
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("read: %v (%s)", err, s.Stderr())
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("all bytes: \x00\xff\r\n~.\n"), 20000)
	go func() {
		_, _ = s.Write(want) // the comparison shows an error
		_ = s.CloseWrite()
	}()
	got, err := io.ReadAll(r)
	if !bytes.Equal(got, want) || err != nil {
		t.Errorf("%d bytes came back, %v; want the %d that were sent", len(got), err, len(want))
	}
	if err := s.Wait(); err != nil {
		t.Errorf("Wait = %v", err)
	}
	return pid
}

// TestStart copies a program to a host, uses its stream, and finds the copy at the second start.
func TestStart(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var copied, steps []string
	cfg := s.config("cat")
	cfg.Progress = func(e remote.Event) {
		if e.Host != "node1" || e.Err != nil {
			t.Errorf("event %+v", e)
		}
		if e.Sent > 0 {
			copied = append(copied, strconv.FormatInt(e.Sent, 10)+" of "+strconv.FormatInt(e.Total, 10))
			return
		}
		steps = append(steps, string(e.Step))
	}
	first := s.started(cfg)
	if first.Version() != "rdmactl v9.8.7 (test, linux) second /*" || first.Host() != "node1" ||
		first.RemoteAddr().String() != "node1" || first.RemoteAddr().Network() != "ssh" {
		t.Errorf("session of %v (%v) with %q", first.Host(), first.RemoteAddr(), first.Version())
	}
	exchange(t, first)
	if diff := cmp.Diff([]string{"connect", "copy", "start", "running"}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	total, now, ok := strings.Cut(copied[len(copied)-1], " of ")
	if len(copied) < 2 || !ok || total != now {
		t.Errorf("progress of the copy: %q", copied)
	}
	copied = nil
	exchange(t, s.started(cfg))
	if len(copied) > 0 {
		t.Errorf("copied again: %q", copied)
	}
	names := s.cached()
	if len(names) != 1 || !strings.HasPrefix(names[0], "rdmactl-") || len(names[0]) != len("rdmactl-")+64 {
		t.Errorf("cache has %q", names)
	}
	cache := filepath.Join(s.home, ".cache", "rdmakit")
	for _, f := range []string{cache, filepath.Join(cache, names[0])} {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v; want mode 0700", f, info.Mode(), err)
		}
	}
	if left := processes(t, s.file("ssh_config")); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}

// TestArguments passes arguments that a shell would change.
func TestArguments(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	args := []string{"", "a  b", "*", "$HOME", "it's", `"`, `\n`, "!!", " x ", "-"}
	session := s.started(s.config(append([]string{"args"}, args...)...))
	got, err := io.ReadAll(session)
	if want := "[" + strings.Join(args, "][") + "]"; string(got) != want || err != nil {
		t.Errorf("program printed %q, %v, want %q", got, err, want)
	}
}

// TestEnd checks the error for a program that ends with a status.
func TestEnd(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	session := s.started(s.config("exit", "3"))
	if b, err := io.ReadAll(session); len(b) > 0 || err != nil {
		t.Errorf("output %q, %v", b, err)
	}
	err := session.Wait()
	e, ok := errors.AsType[*remote.Error](err)
	if !ok || e.Kind != remote.KindEnded || e.Status != 3 || e.Stderr != "first line\nno card" ||
		e.Error() != "worker on node1: the program ended (exit status 3): no card" {
		t.Errorf("Wait = %v", err)
	}
	<-session.Done()
	if err := session.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if _, err := session.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
		t.Errorf("Read after Close = %v", err)
	}
	if _, err := session.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write after Close = %v", err)
	}
}

// TestManyHosts starts on more hosts than at a time, two of which fail.
func TestManyHosts(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	cfg := s.config("cat")
	cfg.Parallel = 2
	var active, most atomic.Int32
	cfg.Progress = func(e remote.Event) {
		switch {
		case e.Step == remote.StepConnect && e.Err == nil:
			most.Store(max(most.Load(), active.Add(1)))
		case e.Step == remote.StepRunning || e.Err != nil:
			active.Add(-1)
		}
	}
	hosts := []string{"node1", "node2", "-oProxyCommand=true", "node3", "node1", "a b"}
	got := map[string]int{}
	var wg sync.WaitGroup
	for host, r := range remote.Start(t.Context(), hosts, cfg) {
		e, _ := errors.AsType[*remote.Error](r.Err)
		if strings.HasPrefix(host, "node") {
			got[host]++
			wg.Go(func() { exchange(t, r.Session) })
			continue
		}
		if r.Session != nil || e == nil || e.Kind != remote.KindConfig || !strings.Contains(e.Error(), "not the name") {
			t.Errorf("%s: %v", host, r.Err)
		}
	}
	wg.Wait()
	if diff := cmp.Diff(map[string]int{"node1": 2, "node2": 1, "node3": 1}, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	if most.Load() != 2 {
		t.Errorf("%d hosts at a time, want 2", most.Load())
	}
	if names := s.cached(); len(names) != 1 {
		t.Errorf("cache has %q, want one file", names)
	}
}

// TestLeaveLoop leaves the loop after the first host: the others end.
func TestLeaveLoop(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var kept *remote.Session
	var running sync.WaitGroup
	running.Add(2)
	cfg := s.config("cat")
	cfg.Progress = func(e remote.Event) {
		if e.Step == remote.StepRunning && e.Host != "node3" {
			running.Done()
		}
	}
	for _, r := range remote.Start(t.Context(), []string{"node1", "node2", "node3"}, cfg) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		kept = r.Session
		running.Wait() // one of them, or node3, is kept
		break
	}
	if left := processes(t, s.file("ssh_config")); len(left) != 1 {
		t.Errorf("processes after the loop: %q, want that of one session", left)
	}
	exchange(t, kept)
}

// TestPanic leaves the loop by a panic while others are starting: they end, and the panic goes on.
// A negative number of hosts at a time stands for the default.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	cfg := s.config("cat")
	cfg.Parallel = -1
	got := make(chan any)
	go func() {
		defer func() { got <- recover() }()
		for _, r := range remote.Start(t.Context(), []string{"node1", "node2", "node3"}, cfg) {
			if r.Err == nil {
				_ = r.Session.Close() // always nil
			}
			panic("a fault of the caller")
		}
	}()
	select {
	case value := <-got:
		if value != "a fault of the caller" {
			t.Errorf("panic %v", value)
		}
	case <-time.After(limit):
		t.Fatal("the panic is stuck")
	}
	if left := processes(t, s.file("ssh_config")); len(left) > 0 {
		t.Errorf("processes after the loop: %q", left)
	}
}

// TestShells logs in by the shells that users have.
func TestShells(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"sh", "bash", "dash", "csh", "tcsh", "fish", "zsh", "mksh", "busybox sh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(shell, " ")
			need(t, name)
			s := newServer(t, `ForceCommand exec `+shell+` -c "$SSH_ORIGINAL_COMMAND"`)
			exchange(t, s.started(s.config("cat")))
			exchange(t, s.started(s.config("cat")))
		})
	}
}

// TestNoise logs in where startup files print to both streams, without a line end at the end.
func TestNoise(t *testing.T) {
	t.Parallel()
	s := newServer(t, "Banner DIR/banner", `ForceCommand . DIR/noise; exec sh -c "$SSH_ORIGINAL_COMMAND"`)
	write(t, s.file("banner"), strings.Repeat("authorized use only\n", 1000))
	write(t, s.file("noise"), "head -c 200000 /dev/zero | tr '\\0' x; echo; echo rdmakit- hello 2; echo noise >&2\n"+
		"printf 'Welcome!'\n")
	exchange(t, s.started(s.config("cat")))
}

// TestOldCopies removes copies that no run has used for a month, after a copy.
func TestOldCopies(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	cache := filepath.Join(s.home, ".cache", "rdmakit")
	for name, age := range map[string]string{"rdmactl-old": "31", "rdmactl-young": "29", "other": "99"} {
		run(t, "touch", "-d", age+" days ago", write(t, filepath.Join(cache, name), ""))
	}
	exchange(t, s.started(s.config("cat")))
	names := s.cached()
	if len(names) != 3 || !slices.Contains(names, "other") || !slices.Contains(names, "rdmactl-young") {
		t.Errorf("cache has %q, want the new copy, rdmactl-young and other", names)
	}
	for _, n := range names {
		if strings.HasPrefix(n, "rdmactl-") {
			run(t, "touch", "-d", "40 days ago", filepath.Join(cache, n))
		}
	}
	exchange(t, s.started(s.config("cat"))) // renews its time
	if err := os.WriteFile(filepath.Join(cache, "rdmactl-older"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := s.config("cat")
	cfg.Executable = built.dynamic
	exchange(t, s.started(cfg))
	if names := s.cached(); len(names) != 4 || slices.Contains(names, "rdmactl-young") {
		t.Errorf("cache has %q, want both copies, rdmactl-older and other", names)
	}
}
