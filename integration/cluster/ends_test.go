//go:build cluster

package cluster

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/integration/cluster/lab"
)

var stagePairs = regexp.MustCompile(`^stage pairs:`)

// TestKilledWorker kills a worker during the stage of pairs: the verdict names its node, and the
// others are measured to the end.
func TestKilledWorker(t *testing.T) {
	l := cluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), verifyLimit)
	defer cancel()
	v := measuring(ctx, t, l, bySSH, append(short("reach,pairs,permutation"), "--journal", journal(t))...)
	victim := l.Nodes[2]
	if n, err := victim.Kill(syscall.SIGKILL, "cluster", "worker"); n != 1 || err != nil {
		t.Fatalf("killed %d workers of %s: %v", n, victim.Name, err)
	}
	o := v.end(t)
	t.Log(o.brief())
	list := o.summary.Verdicts.Verdicts
	if o.exit != 1 && o.exit != 7 || len(list) != 1 || o.summary.Complete || o.summary.Missing != 1 {
		t.Fatalf("want exit status 1 or 7, one verdict, and a missing node: %v", o)
	}
	if !strings.Contains(o.said, "warning: "+list[0].Where.Name+" vanished: ") {
		t.Errorf("nothing was said when the node vanished: %s", o.said)
	}
	if list[0].Cause != verdict.CauseLost || !slices.Equal(list[0].Where.Nodes, []string{victim.Name}) {
		t.Errorf("%s of %s, want %s of %s: %v", list[0].Cause, list[0].Where, verdict.CauseLost, victim.Name, o)
	}
	for _, s := range o.summary.Stages {
		if s.Done != s.Planned {
			t.Errorf("stage %s: %d of %d rounds: %v", s.Name, s.Done, s.Planned, o)
		}
	}
	for i, err := range o.workers {
		if (err != nil) != (l.Nodes[i] == victim) {
			t.Errorf("worker of %s: %v", l.Nodes[i].Name, err)
		}
	}
}

// TestResumedLeader kills the leader during the stage of pairs, and resumes its journal with new
// workers: a fault that was there all the time is named, as in one run.
func TestResumedLeader(t *testing.T) {
	l := cluster(t)
	f := planted{"", l.Nodes[1].Card(1), rate(lab.Both), "", []verdict.Cause{verdict.CauseSlow}}
	plant(t, l, f)
	ctx, cancel := context.WithTimeout(t.Context(), verifyLimit)
	defer cancel()
	file := journal(t)
	args := short("reach,pairs")
	v := measuring(ctx, t, l, bySSH, append(args, "--journal", file)...)
	if err := v.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, n := range l.Nodes { // they would wait for the leader for a while, and keep the port of RoCE
		if k, err := n.Kill(syscall.SIGTERM, "cluster", "worker"); k != 1 || err != nil {
			t.Fatalf("ended %d workers of %s: %v", k, n.Name, err)
		}
	}
	killed := v.end(t)
	if killed.exit == 0 || len(killed.summary.Stages) > 0 {
		t.Fatalf("the leader was not killed: %v", killed)
	}
	v = &verification{lab: l, nodes: l.Nodes, start: bySSH, args: append(args, "--resume", file)}
	v.begin(ctx, t)
	o := v.end(t)
	t.Log(o.brief())
	checkNamed(t, o, f)
	for _, s := range o.summary.Stages {
		if s.Done != s.Planned {
			t.Errorf("stage %s: %d of %d rounds: %v", s.Name, s.Done, s.Planned, o)
		}
	}
	if n := slices.IndexFunc(o.workers, func(err error) bool { return err != nil }); n >= 0 {
		t.Errorf("%v", o.workers[n])
	}
}
