package remote_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/remote"
)

// leaderVariable makes the test program a leader: its value is the configuration of ssh.
const leaderVariable = "RDMAKIT_TEST_REMOTE_LEADER"

// leaderMain starts a program on node1, prints its output, and waits.
func leaderMain() int {
	cfg := remote.Config{
		SSH: []string{"ssh", "-F", os.Getenv(leaderVariable)}, Args: []string{"cat"}, Executable: os.Args[1],
	}
	session, err := start(context.Background(), "node1", cfg)
	if err == nil {
		_, err = io.Copy(os.Stdout, session)
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// alive reports whether a process runs: it exists and is not a zombie.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// TestLeaderKilled kills a leader: its ssh and the program on the host end.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], built.static)
	cmd.Env = append(os.Environ(), leaderVariable+"="+s.file("ssh_config"))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	pid, numErr := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || numErr != nil || !alive(pid) {
		t.Fatalf("the leader printed %q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	eventually(t, "the program on the host ends", func() bool { return !alive(pid) })
	eventually(t, "ssh ends", func() bool { return len(processes(t, s.file("ssh_config"))) == 0 })
}

// TestClose closes a session whose program ends with its input, and one whose program doesn't.
func TestClose(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, verb := range []string{"cat", "stay"} {
		session := s.started(s.config(verb))
		line, err := bufio.NewReader(session).ReadString('\n')
		pid, numErr := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || numErr != nil {
			t.Fatalf("%q, %v", line, err)
		}
		reading := make(chan error)
		go func() {
			_, err := session.Read(make([]byte, 1))
			reading <- err
		}()
		began := time.Now()
		if err := session.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if err := <-reading; err == nil {
			t.Error("Read returned a byte after Close")
		}
		if took := time.Since(began); (took > time.Second) != (verb == "stay") || took > 20*time.Second {
			t.Errorf("%s: closed after %v", verb, took)
		}
		if left := processes(t, s.file("ssh_config")); len(left) > 0 {
			t.Errorf("%s: processes are left: %q", verb, left)
		}
		if verb == "stay" {
			_ = syscall.Kill(pid, syscall.SIGKILL) // by its rules it ends by itself
		}
		eventually(t, "the program ends", func() bool { return !alive(pid) })
	}
}

// TestLost ends the server's process of a session.
func TestLost(t *testing.T) {
	t.Parallel()
	s := newServer(t, `ForceCommand echo $PPID >DIR/pid; exec sh -c "$SSH_ORIGINAL_COMMAND"`)
	session := s.started(s.config("cat"))
	b, err := os.ReadFile(s.file("pid"))
	pid, numErr := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || numErr != nil {
		t.Fatalf("%q, %v", b, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, session); err != nil {
		t.Errorf("Read = %v, want the end", err)
	}
	e, ok := errors.AsType[*remote.Error](session.Wait())
	if !ok || e.Kind != remote.KindLost || e.Status != 255 || len(e.Hints()) != 1 ||
		!strings.HasPrefix(e.Error(), "worker on node1: connection lost: ") {
		t.Errorf("Wait = %v", e)
	}
}

// TestCancel ends the context of running sessions and of one that is starting.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := newServer(t, `ForceCommand if [ -e DIR/hang ]; then exec sleep 60; fi; exec sh -c "$SSH_ORIGINAL_COMMAND"`)
	ctx, cancel := context.WithCancelCause(t.Context())
	session, err := start(ctx, "node1", s.config("cat"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.file("hang"), "")
	cfg := s.config("cat")
	cause := fmt.Errorf("interrupted")
	cfg.Progress = func(remote.Event) {
		time.AfterFunc(200*time.Millisecond, func() { cancel(cause) }) // ssh is somewhere within its login
	}
	_, err = start(ctx, "node2", cfg)
	wantError(t, err, remote.KindCanceled, "start worker on node2: canceled: interrupted")
	<-session.Done()
	if _, err := session.Read(make([]byte, 100)); err == nil {
		_, err = session.Read(make([]byte, 100))
		if err == nil {
			t.Error("the session can be read after the end of its context")
		}
	}
	eventually(t, "ssh ends", func() bool { return len(processes(t, s.file("ssh_config"))) == 0 })
}

// TestDeadline sets the deadlines of a stream.
func TestDeadline(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	session := s.started(s.config("cat"))
	r := bufio.NewReader(session)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := session.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); !os.IsTimeout(err) {
		t.Errorf("Read after the deadline: %v", err)
	}
	if err := session.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Write([]byte("x")); !os.IsTimeout(err) {
		t.Errorf("Write after the deadline: %v", err)
	}
	if err := session.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Write([]byte("y")); err != nil {
		t.Errorf("Write without a deadline: %v", err)
	}
	if b, err := r.ReadByte(); b != 'y' || err != nil {
		t.Errorf("Read without a deadline: %q, %v", b, err)
	}
}
