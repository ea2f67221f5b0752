//go:build kernel

package kernel

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/integration/guest"
)

const clusterLimit = 3 * time.Minute

var invitation = regexp.MustCompile(`--join '([^']+)'`)

// clusterNode is a node of a verification: command runs rdmactl there.
type clusterNode struct {
	name    string
	command func(ctx context.Context, args ...string) (string, error)
}

// inGuest is the node in the guest, with the kernel's rxe through libibverbs.
func inGuest(g *guest.Guest) clusterNode {
	return clusterNode{"in-guest", func(ctx context.Context, args ...string) (string, error) {
		out, err := g.Output(ctx, rdmactl+" '"+strings.Join(args, "' '")+"' 2>&1")
		return out, err
	}}
}

// inNamespace is a node of this machine, with the engine.
func inNamespace(name, netns, bin string) clusterNode {
	return clusterNode{name, func(ctx context.Context, args ...string) (string, error) {
		args = append([]string{"netns", "exec", netns, bin}, args...)
		out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
		return string(out), err
	}}
}

// verifyNodes runs a leader in a network namespace, at the given address, and a worker on each
// node, and returns the run, with what the leader said.
func verifyNodes(t *testing.T, bin, netns, address string, nodes []clusterNode, args ...string) (*result.Run, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clusterLimit)
	defer cancel()
	file := filepath.Join(t.TempDir(), "run.json")
	leader := exec.CommandContext(ctx, "ip", append([]string{
		"netns", "exec", netns, bin, "cluster", "verify", "--workers", strconv.Itoa(len(nodes)), "--listen",
		address + ":7700", "--wait", "60s", "--journal", "none", "--save", file,
	}, args...)...)
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
	workers := make(chan error, len(nodes))
	for _, n := range nodes {
		go func() {
			out, err := n.command(ctx, "cluster", "worker", "--name", n.name, "--join", join)
			if err != nil {
				err = fmt.Errorf("rdmactl cluster worker on %s: %w: %s", n.name, err, out)
			}
			workers <- err
		}()
	}
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
	}
	err = leader.Wait()
	for range nodes {
		if err := <-workers; err != nil {
			t.Error(err)
		}
	}
	said.Write(stdout.Bytes())
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("rdmactl cluster verify: %v: %s", err, said.String())
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	run, err := result.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return run, said.String()
}

// TestClusterVerify verifies a cluster of two nodes: a worker in the guest, with the kernel's rxe
// through libibverbs, and one at the host's end of the cable, with the engine. On a busy machine,
// packets are lost, so that a verdict is no failure.
func TestClusterVerify(t *testing.T) {
	r := newConnectRig(t)
	nodes := []clusterNode{inGuest(r.g), inNamespace("at-host", r.g.Netns(), r.bin)}
	run, _ := verifyNodes(t, r.bin, r.g.Netns(), guest.HostAddress, nodes, "--stages", "reach,pairs,jitter",
		"--step", "500ms")
	checkClusterRun(t, run)
}

// TestClusterVerifyLoss plants a loss of what the guest's card sends, by netem, in a cluster of
// three nodes behind a bridge: the kernel's rxe, and two with the engine. The verdict about it is
// the only one about a card; the guest's clock may differ from this machine's, too.
func TestClusterVerifyLoss(t *testing.T) {
	r := newConnectRig(t)
	nodes := append([]clusterNode{inGuest(r.g)}, bridged(t, r, "second", "third")...)
	output(t, r.g, "modprobe sch_netem && tc qdisc add dev eth0 root netem limit 20000 loss 3%")
	t.Cleanup(func() {
		if _, err := r.g.Output(context.Background(), "tc qdisc del dev eth0 root"); err != nil {
			t.Errorf("restore the guest's link: %v", err)
		}
	})
	run, said := verifyNodes(t, r.bin, r.g.Netns()+"-second", bridgedAddress(0), nodes, "--stages", "reach,pairs",
		"--step", "500ms", "--flows", "1")
	list := slices.DeleteFunc(verdict.Find(run, verdict.Options{}).Verdicts, func(v verdict.Verdict) bool {
		return v.Cause == verdict.CauseClock
	})
	if len(list) != 1 || list[0].Where.String() != "in-guest rxe0:1 (what it sends)" && list[0].Where.String() !=
		"in-guest rxe0:1" || list[0].Cause != verdict.CauseLoss && list[0].Cause != verdict.CauseLossSend {
		t.Errorf("want the loss of what in-guest sends and nothing else: %s", said)
	}
}

// bridgedAddress is the address of a node behind the bridge.
func bridgedAddress(i int) string { return fmt.Sprintf("192.0.2.%d", 101+i) }

// bridged joins new network namespaces to the guest's first link by a bridge until the end of the
// test. Meanwhile, the host's address on that link is not reachable.
func bridged(t *testing.T, r *connectRig, names ...string) (nodes []clusterNode) {
	t.Helper()
	ip := func(line string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", line, err, out)
		}
	}
	host := r.g.Netns()
	t.Cleanup(func() { // a namespace takes its links with it
		for _, n := range nodes {
			_ = exec.CommandContext(context.Background(), "ip", "netns", "del", host+"-"+n.name).Run()
		}
		if out, err := exec.CommandContext(context.Background(), "ip", "-n", host, "link", "del",
			"br0").CombinedOutput(); err != nil {
			t.Errorf("remove the bridge: %v: %s", err, out)
		}
	})
	ip("-n " + host + " link add br0 up type bridge")
	ip("-n " + host + " link set tap0 master br0")
	for i, name := range names {
		netns := host + "-" + name
		nodes = append(nodes, inNamespace(name, netns, r.bin))
		ip("netns add " + netns)
		ip(fmt.Sprintf("-n %s link add br0-%d up master br0 txqueuelen 20000 type veth peer name eth0 netns %s",
			host, i, netns))
		ip("-n " + netns + " link set lo up")
		ip("-n " + netns + " addr add " + bridgedAddress(i) + "/24 dev eth0")
		ip("-n " + netns + " link set eth0 up")
	}
	return nodes
}

// checkClusterRun checks what was measured: each direction of the pair, and the round trips.
func checkClusterRun(t *testing.T, run *result.Run) {
	t.Helper()
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
