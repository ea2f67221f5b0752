//go:build cluster

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/integration/cluster/lab"
)

// run runs a command at the leader that starts leader and workers by itself.
func run(t *testing.T, l *lab.Lab, name string, args ...string) (o outcome) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), verifyLimit)
	defer cancel()
	began := time.Now()
	cmd := l.Leader.Command(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	o = outcomeOf(t, began, err, stdout.Bytes())
	o.said = stderr.String()
	for _, n := range l.Nodes {
		for _, command := range []string{"worker", "verify"} {
			if list, err := n.Processes("cluster", command); err != nil || len(list) > 0 {
				t.Errorf("processes %v of %s are left behind: %v", list, n.Name, err)
			}
		}
	}
	return o
}

// startedSlow is the fault of the tests that start the workers in other ways.
func startedSlow(l *lab.Lab) planted {
	return planted{"", l.Nodes[1].Card(1), rate(lab.Both), "", []verdict.Cause{verdict.CauseSlow}}
}

// TestHosts has the leader start its workers by ssh, with a copy of itself.
func TestHosts(t *testing.T) {
	l := cluster(t)
	f := startedSlow(l)
	plant(t, l, f)
	args := append([]string{"cluster", "verify", "--hosts", fmt.Sprintf("node-[1-%d]", labNodes), "-o", "json"},
		short("reach,pairs")...)
	o := run(t, l, program(), append(args, "--journal", journal(t))...)
	t.Log(o.brief())
	checkNamed(t, o, f)
}

// TestSrun runs the verification as a job of Slurm, whose first task leads. Its tasks trust each
// other by MUNGE, and by the key-value space of PMI.
func TestSrun(t *testing.T) {
	l := cluster(t)
	if err := l.StartSlurm(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := startedSlow(l)
	plant(t, l, f)
	for _, mpi := range []string{"none", "pmi2"} {
		args := append([]string{
			"-N", fmt.Sprint(labNodes), "--mpi=" + mpi, program(), "cluster", "verify", "--journal", "none",
			"-o", "json",
		}, short("reach,pairs")...)
		o := run(t, l, "srun", args...)
		t.Logf("--mpi=%s: %s", mpi, o.brief())
		checkNamed(t, o, f)
	}
}
