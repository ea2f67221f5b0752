//go:build cluster

package cluster

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/report"
	"github.com/rdmakit/rdmakit/integration/cluster/lab"
)

// starter starts the workers of a verification. It returns when all of them are started; wait waits
// for their end and returns what they say.
type starter func(ctx context.Context, l *lab.Lab, nodes []*lab.Node, invitation string) (wait func() []error)

// bySSH starts a worker on each node as the leader's user would, by ssh with a pasted line.
func bySSH(ctx context.Context, l *lab.Lab, nodes []*lab.Node, invitation string) func() []error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			out, err := l.Leader.Command(ctx, "ssh", n.Name, program()+" cluster worker --join '"+invitation+"'").
				CombinedOutput()
			if err != nil {
				errs[i] = fmt.Errorf("worker of %s: %w: %s", n.Name, err, strings.TrimSpace(string(out)))
			}
		})
	}
	return func() []error {
		wg.Wait()
		return errs
	}
}

// verification is a run of rdmactl cluster verify at the leader.
type verification struct {
	lab   *lab.Lab
	nodes []*lab.Node
	start starter  // nil: --hosts starts them
	args  []string // further arguments

	began  time.Time
	cmd    *lab.Cmd
	stdout bytes.Buffer
	said   bytes.Buffer
	lines  *bufio.Scanner
	wait   func() []error // for the workers
}

// outcome is what became of it.
type outcome struct {
	exit    int
	summary report.Summary
	workers []error // by node
	said    string  // at standard error
	took    time.Duration
}

var invitationLine = regexp.MustCompile(`--join '?([^' ]+#[^' ]+)'?`)

// verifyLimit is how long a verification may take.
const verifyLimit = 2 * time.Minute

// begin starts the leader and the workers.
func (v *verification) begin(ctx context.Context, t *testing.T) {
	t.Helper()
	v.began = time.Now()
	addr := v.lab.Leader.Card(0).Addr().String() + ":7700"
	args := []string{"cluster", "verify", "--wait", "60s", "-o", "json"}
	if v.start == nil {
		args = append(args, "--hosts", hosts(v.nodes))
	} else {
		args = append(args, "--workers", fmt.Sprint(len(v.nodes)), "--listen", addr)
	}
	v.cmd = v.lab.Leader.Command(ctx, program(), append(args, v.args...)...)
	v.cmd.Stdout = &v.stdout
	stderr, err := v.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v.lines = bufio.NewScanner(stderr)
	if v.wait = func() []error { return nil }; v.start == nil {
		return
	}
	line, ok := v.until(invitationLine)
	if !ok {
		t.Fatalf("rdmactl cluster verify prints no invitation: %s (%v)", v.said.String(), v.cmd.Wait())
	}
	v.wait = v.start(ctx, v.lab, v.nodes, invitationLine.FindStringSubmatch(line)[1])
}

// until reads what the leader says until a line matches.
func (v *verification) until(want *regexp.Regexp) (string, bool) {
	for v.lines.Scan() {
		v.said.WriteString(v.lines.Text() + "\n")
		if want.MatchString(v.lines.Text()) {
			return v.lines.Text(), true
		}
	}
	return "", false
}

// end waits for the end of the verification.
func (v *verification) end(t *testing.T) (o outcome) {
	t.Helper()
	for v.lines.Scan() {
		v.said.WriteString(v.lines.Text() + "\n")
	}
	o = outcomeOf(t, v.began, v.cmd.Wait(), v.stdout.Bytes())
	o.said, o.workers = v.said.String(), v.wait()
	return o
}

// outcomeOf is what a leader that has ended left: its error and what it printed.
func outcomeOf(t *testing.T, began time.Time, err error, stdout []byte) (o outcome) {
	t.Helper()
	o.took = time.Since(began)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		o.exit = exit.ExitCode()
	} else if err != nil {
		t.Fatalf("rdmactl cluster verify: %v", err)
	}
	if len(stdout) > 0 {
		if err := json.Unmarshal(stdout, &o.summary); err != nil {
			t.Fatalf("rdmactl cluster verify: %v: %s", err, stdout)
		}
	}
	return o
}

// measuring begins a verification of the given stages and returns it when it measures pairs.
func measuring(ctx context.Context, t *testing.T, l *lab.Lab, start starter, args ...string) *verification {
	t.Helper()
	v := &verification{lab: l, nodes: l.Nodes, start: start, args: args}
	v.begin(ctx, t)
	if _, ok := v.until(stagePairs); !ok {
		t.Fatalf("no stage of pairs: %v", v.end(t))
	}
	return v
}

// hosts is a list of nodes for --hosts.
func hosts(nodes []*lab.Node) string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	return strings.Join(names, ",")
}

// verify runs a verification with the given arguments, whose workers are started by ssh. Its
// journal is an artifact of the test.
func verify(t *testing.T, l *lab.Lab, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), verifyLimit)
	defer cancel()
	v := verification{lab: l, nodes: l.Nodes, args: append(args, "--journal", journal(t))}
	v.begin(ctx, t)
	return v.end(t)
}

// journal returns the path of a new journal.
func journal(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.ArtifactDir(), fmt.Sprintf("%d.journal", time.Now().UnixNano()))
}

// short are the arguments of a verification that takes seconds.
func short(stages string) []string {
	return []string{"--stages", stages, "--step", "500ms"}
}

// String describes an outcome for the log of a test.
func (o outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit status %d after %.1f s", o.exit, o.took.Seconds())
	for _, r := range o.summary.Rails {
		fmt.Fprintf(&b, "\n  rail %d: %d of %d pairs, %d failed, bandwidth %+v", r.Rail, r.Measured, r.Pairs, r.Failed,
			r.Bandwidth)
	}
	for _, v := range o.summary.Verdicts.Verdicts {
		fmt.Fprintf(&b, "\n  %s: %s: %s (confidence %.2f)", v.Cause, v.Where, v.Words, v.Confidence)
		for _, e := range v.Evidence {
			fmt.Fprintf(&b, "\n    %s", e.Text)
		}
	}
	for _, g := range o.summary.Verdicts.NotJudged {
		fmt.Fprintf(&b, "\n  not judged: %s: %s", g.What, g.Why)
	}
	for _, err := range o.workers {
		if err != nil {
			fmt.Fprintf(&b, "\n  %v", err)
		}
	}
	return b.String() + "\n" + o.said
}

// brief describes the verdicts of an outcome in a line.
func (o outcome) brief() string {
	list := make([]string, len(o.summary.Verdicts.Verdicts))
	for i, v := range o.summary.Verdicts.Verdicts {
		list[i] = fmt.Sprintf("%s: %s: %s", v.Cause, v.Where, v.Words)
	}
	return fmt.Sprintf("exit status %d after %.1f s: %s", o.exit, o.took.Seconds(),
		cmp.Or(strings.Join(list, "; "), "no verdict"))
}
