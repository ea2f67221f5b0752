//go:build cluster

package cluster

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/integration/cluster/lab"
)

// endLimit is how long workers may outlive their leader.
const endLimit = 10 * time.Second

// workersLeft returns the processes of workers that still run after a while.
func workersLeft(t *testing.T, l *lab.Lab) (left []string) {
	t.Helper()
	for end := time.Now().Add(endLimit); ; time.Sleep(100 * time.Millisecond) {
		left = nil
		for _, n := range l.Nodes {
			pids, err := n.Processes("cluster", "worker")
			if err != nil {
				t.Fatal(err)
			}
			for _, pid := range pids {
				left = append(left, fmt.Sprintf("%s: %d", n.Name, pid))
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// TestLeaderEnds ends the leader of workers that were started by ssh, by Ctrl-C and by SIGKILL, and
// the ssh of one host: nothing is left on the nodes.
func TestLeaderEnds(t *testing.T) {
	l := cluster(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), verifyLimit)
			defer cancel()
			v := measuring(ctx, t, l, nil, append(short("reach,pairs"), "--journal", journal(t))...)
			if err := v.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			o := v.end(t)
			if left := workersLeft(t, l); len(left) > 0 {
				t.Errorf("workers that are left after %v: %q\n%v", signal, left, o)
			}
			if signal == syscall.SIGINT && !strings.Contains(o.said, "to continue: rdmactl cluster verify --resume") {
				t.Errorf("an interrupted leader doesn't say how to continue: %v", o)
			}
		})
	}
	t.Run("ssh", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), verifyLimit)
		defer cancel()
		v := measuring(ctx, t, l, nil, append(short("reach,pairs"), "--journal", journal(t))...)
		victim := l.Nodes[3]
		if n, err := l.Leader.Kill(syscall.SIGKILL, "ssh", victim.Name); n == 0 || err != nil {
			t.Fatalf("killed %d ssh of %s: %v", n, victim.Name, err)
		}
		o := v.end(t)
		if o.summary.Missing != 1 || o.exit != 1 && o.exit != 7 || !strings.Contains(o.String(), victim.Name) {
			t.Errorf("want %s missing: %v", victim.Name, o)
		}
		if left := workersLeft(t, l); len(left) > 0 {
			t.Errorf("workers that are left: %q\n%v", left, o)
		}
	})
}

// TestHostsThatFail starts workers on hosts of which two can't take part: each is named with its
// reason, and the others are measured.
func TestHostsThatFail(t *testing.T) {
	l := cluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), verifyLimit)
	defer cancel()
	out, err := l.Leader.Command(ctx, program(), "cluster", "verify", "--hosts", hosts(l.Nodes[:2])+",nosuch,192.0.2.1",
		"--ssh", "ssh -o ConnectTimeout=2", "--stages", "reach", "--journal", "none").CombinedOutput()
	for _, want := range []string{
		"start worker on nosuch: unknown host name", "start worker on 192.0.2.1: ", "2 hosts of 4 joined",
		"stage reach: ", "nosuch: it never reported",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it doesn't say %q: %v\n%s", want, err, out)
		}
	}
	// A machine with two names is refused before anything is measured.
	name, addr := l.Nodes[0].Name, l.Nodes[0].Card(1).Addr().String()
	out, err = l.Leader.Command(ctx, program(), "cluster", "verify", "--hosts", hosts(l.Nodes[:2])+","+addr,
		"--ssh", "ssh -o StrictHostKeyChecking=no", "--stages", "reach", "--journal", "none").CombinedOutput()
	want := "the same machine by two names: " + addr + " is " + name
	if !strings.Contains(string(out), want) || err == nil {
		t.Errorf("it doesn't say %q: %v\n%s", want, err, out)
	}
	if strings.Contains(string(out), "stage reach") {
		t.Errorf("it measures one machine with itself:\n%s", out)
	}
}

// TestPasted lets workers join by a pasted line, and a stranger try it too late.
func TestPasted(t *testing.T) {
	l := cluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), verifyLimit)
	defer cancel()
	v := verification{lab: l, nodes: l.Nodes, start: bySSH, args: append(short("reach"), "--journal", journal(t))}
	v.begin(ctx, t)
	o := v.end(t)
	if o.exit != 0 || !o.summary.Complete {
		t.Errorf("want exit status 0: %v", o)
	}
	for i, err := range o.workers {
		if err != nil {
			t.Errorf("worker of %s: %v", l.Nodes[i].Name, err)
		}
	}
	invitation := invitationLine.FindStringSubmatch(o.said)[1]
	out, err := l.Nodes[0].Command(ctx, "timeout", "5", program(), "cluster", "worker", "--join", invitation).
		CombinedOutput()
	if err == nil || !strings.Contains(string(out), "reach") && !strings.Contains(string(out), "refused") {
		t.Errorf("a worker after the end: %v, %s", err, out)
	}
}

// TestBusy leaves a fabric in use alone, unless it is told not to.
func TestBusy(t *testing.T) {
	l := cluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), verifyLimit)
	defer cancel()
	busy := l.Nodes[1]
	traffic := l.Leader.Command(ctx, "sh", "-c", "ssh "+busy.Name+" 'cat >/dev/null' </dev/zero")
	if err := traffic.Start(); err != nil {
		t.Fatal(err)
	}
	verify := func(args ...string) (string, error) {
		args = append([]string{
			"cluster", "verify", "--hosts", hosts(l.Nodes), "--stages", "reach", "--journal", "none",
		}, args...)
		out, err := l.Leader.Command(ctx, program(), args...).CombinedOutput()
		return string(out), err
	}
	out, err := verify()
	if want := "the fabric is in use: " + busy.Name + " roce@eth0 sends "; !strings.Contains(out, want) || err == nil {
		t.Errorf("it doesn't say %q: %v\n%s", want, err, out)
	}
	if strings.Contains(out, "stage reach") {
		t.Errorf("it measures on a fabric in use:\n%s", out)
	}
	if out, err := verify("--force"); !strings.Contains(out, "stage reach") {
		t.Errorf("it doesn't measure with --force: %v\n%s", err, out)
	}
	if _, err := l.Leader.Kill(syscall.SIGKILL, "ssh", busy.Name); err != nil {
		t.Error(err)
	}
	_ = traffic.Wait() // killed
}
