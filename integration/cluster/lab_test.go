//go:build cluster

package cluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/integration/cluster/lab"
)

// victimVariable makes the test program start a lab in the folder that it names, print the numbers
// of the lab's processes, and wait to be killed: see TestKilledOwner.
const victimVariable = "RDMAKIT_TEST_VICTIM"

// victim is that program.
func victim(dir string) error {
	l, err := lab.New(context.Background(), lab.Options{Size: 2, Dir: dir})
	if err != nil {
		return err
	}
	for _, n := range l.Nodes {
		list, err := n.Processes()
		if err != nil {
			return err
		}
		for _, pid := range append(list, n.PID()) {
			if _, err := fmt.Fprintln(os.Stdout, pid); err != nil {
				return err
			}
		}
	}
	if _, err := fmt.Fprintln(os.Stdout, "up"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// TestKilledOwner kills the process that owns a lab: all processes of the lab end.
func TestKilledOwner(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), victimVariable+"="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe() // it waits as long as this is open
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []string
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "up" {
		pids = append(pids, lines.Text())
	}
	const least = 4 // a first process and an sshd on each of two nodes
	if len(pids) < least {
		t.Errorf("the lab has %d processes, want %d at least", len(pids), least)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	limit := time.Now().Add(10 * time.Second)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(limit) {
				t.Fatalf("process %s of the lab is still there", pid)
			}
			time.Sleep(10 * time.Millisecond) // there is no event for the end of another process's children
		}
	}
}

// alive reports whether a process runs: one that waits for its parent to take its status doesn't.
func alive(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// TestForwarder passes a stream through a forwarder, which lets it pass unchanged and at once, and
// checks that the cable is whole again afterwards.
func TestForwarder(t *testing.T) {
	l := cluster(t)
	const size = 8 << 20
	stream := func() error {
		out, err := l.Leader.Command(t.Context(), "ssh", "node-2", "head -c "+strconv.Itoa(size)+" /dev/zero").Output()
		if err == nil && len(out) != size {
			err = fmt.Errorf("%d bytes arrived, want %d", len(out), size)
		}
		return err
	}
	undo, err := l.Forward(t.Context(), l.Nodes[1].Card(0), lab.Forwarding{Delay: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := stream(); err != nil {
		t.Errorf("through a forwarder: %v", err)
	}
	if err := undo(t.Context()); err != nil {
		t.Error(err)
	}
	if err := stream(); err != nil {
		t.Errorf("after its end: %v", err)
	}
}

// TestNamespaces checks what a node has of its own.
func TestNamespaces(t *testing.T) {
	l := cluster(t)
	n := l.Nodes[0]
	out, err := l.Leader.Command(t.Context(), "ssh", n.Name,
		"hostname; ls /sys/class/net; touch $HOME/mark /dev/shm/mark /run/mark; ls /proc | grep -c '^[0-9]'").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(out))
	if len(f) != 5 || strings.Join(f[:4], " ") != n.Name+" eth0 eth1 lo" {
		t.Errorf("host name, network devices and number of processes: %q", f)
	}
	if most := 30; len(f) == 5 {
		if got, err := strconv.Atoi(f[4]); err != nil || got > most {
			t.Errorf("it sees %s processes, want %d at most", f[4], most)
		}
	}
	for _, name := range []string{"/root/mark", "/dev/shm/mark", "/run/mark"} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s of the node is on this machine, too", name)
		}
	}
	if _, err := os.Stat(n.Dir + "/root/mark"); err != nil {
		t.Error(err)
	}
}
