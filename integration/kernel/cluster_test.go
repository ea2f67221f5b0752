//go:build kernel

package kernel

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/integration/guest"
)

const clusterLimit = 3 * time.Minute

var invitation = regexp.MustCompile(`--join '([^']+)'`)

// TestClusterVerify verifies a cluster of two nodes: a worker in the guest, with the kernel's rxe
// through libibverbs, and one at the host's end of the cable, with the engine.
func TestClusterVerify(t *testing.T) {
	r := newConnectRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), clusterLimit)
	defer cancel()
	file := filepath.Join(t.TempDir(), "run.json")
	leader := r.g.HostCommand(ctx, r.bin, "cluster", "verify", "--workers", "2", "--listen",
		guest.HostAddress+":7700", "--wait", "60s", "--stages", "reach,pairs,jitter", "--step", "500ms", "--journal",
		"none", "--save", file, "-o", "json")
	var stdout, said bytes.Buffer
	leader.Stdout = &stdout
	stderr, err := leader.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	join := ""
	for join == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if m := invitation.FindStringSubmatch(lines.Text()); m != nil {
			join = m[1]
		}
	}
	if join == "" {
		t.Fatalf("no invitation: %s (%v)", said.String(), leader.Wait())
	}
	workers := make(chan string, 2)
	go func() {
		out, err := r.g.Output(ctx, rdmactl+" cluster worker --name in-guest --join '"+join+"' 2>&1")
		workers <- workerText(out, err)
	}()
	go func() {
		out, err := r.g.HostCommand(ctx, r.bin, "cluster", "worker", "--name", "at-host", "--join",
			join).CombinedOutput()
		workers <- workerText(string(out), err)
	}()
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
	}
	err = leader.Wait()
	for range 2 {
		if text := <-workers; text != "" {
			t.Error(text)
		}
	}
	// On a busy machine, packets are lost: that is a verdict.
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("rdmactl cluster verify: %v: %s%s", err, said.String(), stdout.String())
	}
	checkClusterRun(t, file)
}

func workerText(out string, err error) string {
	if err == nil {
		return ""
	}
	return "rdmactl cluster worker: " + err.Error() + ": " + out
}

// checkClusterRun checks what was measured: each direction of the pair, and the round trips.
func checkClusterRun(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	run, err := result.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if !run.Software() {
		t.Errorf("scale = %+v, want SOFTWARE", run.Scale)
	}
	for _, n := range run.Nodes {
		if n.State != result.NodeReady {
			t.Errorf("node %+v is not ready", n)
		}
	}
	sent, trips := map[string]bool{}, 0
	for _, s := range run.Samples {
		if s.From.Node == s.To.Node {
			continue
		}
		switch run.Stages[s.Stage].Name {
		case plan.StagePairs:
			if s.Gbps > 0 {
				sent[run.Name(s.From)] = true
			}
		case plan.StageJitter:
			if s.Detail != nil && s.Detail.Latency != nil && s.Detail.Latency.P50 > 0 {
				trips++
			}
		}
	}
	// On a busy machine, one direction may lose too much to be measured.
	if !sent["in-guest rxe0:1"] && !sent["at-host roce@tap0"] || trips == 0 {
		t.Errorf("%v sent, and %d measurements have latencies; want a card of the cable, and latencies", sent, trips)
	}
}
