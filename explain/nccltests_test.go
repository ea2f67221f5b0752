package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
)

// testsRanks is the beginning of the output of nccl-tests with two ranks.
func testsRanks(second string) string {
	return "# Using devices\n#  Rank  0 Group  0 Pid   10 on   gpu-a device  0 [0x21] NVIDIA GeForce RTX 4090\n" +
		fmt.Sprintf("#  Rank  1 Group  0 Pid   11 on   %s device  1 [0x61] NVIDIA GeForce RTX 4090\n", second)
}

// Within a node (NVIDIA/nccl#257) peer to peer is the first suspect, and no network is missing.
func TestTestsWithoutResult(t *testing.T) {
	silent := "gpu-a:10:10 [0] NCCL INFO Failed to open libibverbs.so[.1]\n" +
		"gpu-a:10:10 [0] NCCL INFO NET/Socket : Using [0]eth0:10.2.3.32<0>\n" +
		"gpu-a:10:10 [0] NCCL INFO Using network Socket\n"
	result := "           8             2     float     sum      -1    32.90    0.00    0.00      0    32.41\n"
	for _, c := range []struct{ name, text, rule, cause string }{
		{"one node", testsRanks("gpu-a") + silent, "RDX-357", "gpu-p2p"},
		{"without peer to peer", testsRanks("gpu-a") + silent +
			"gpu-a:10:10 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n", "RDX-357", "gpu-hardware"},
		{"two nodes", testsRanks("gpu-b"), "RDX-357", "interface-choice"},
		{"two nodes, no device", testsRanks("gpu-b") + silent + result, "RDX-130", "missing-library"},
	} {
		f, cause := ptr(explainAll(t, "job.log", c.text))
		if f == nil || f.Rule != c.rule || cause.Cause != c.cause {
			t.Errorf("%s: %+v, want %s with %s first", c.name, f, c.rule, c.cause)
		}
	}
	d := explainAll(t, "job.log", testsRanks("gpu-a")+silent+result)
	if len(d.Findings) > 0 || d.Verdict != explain.VerdictHealthy {
		t.Errorf("with a result: verdict = %s, findings = %+v", d.Verdict, d.Findings)
	}
}

// NCCL 2.27 goes on without the interface that NCCL_SOCKET_IFNAME names, and the address that
// others get is empty (src/misc/socket.cc).
func TestInterfaceThatIsNotThere(t *testing.T) {
	log := "gpu-a:10:10 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth7\n"
	end := "Last error:\nncclSocketInit: connecting to address  with family 31744 is neither AF_INET(2) nor " +
		"AF_INET6(10)\n"
	if _, c := ptr(explainAll(t, "job.log", log+end)); c == nil || c.Cause != "interface-choice" {
		t.Errorf("first cause = %+v, want interface-choice", c)
	}
	chosen := log + strings.Replace(log, "NCCL_SOCKET_IFNAME set by environment to eth7",
		"Bootstrap: Using eth7:10.0.0.1<0>", 1)
	if _, c := ptr(explainAll(t, "job.log", chosen+end)); c == nil || c.Cause != "version-mismatch" {
		t.Errorf("with an interface: first cause = %+v, want version-mismatch", c)
	}
	if _, c := ptr(explainAll(t, "job.log", end)); c == nil || c.Confidence != "possible" {
		t.Errorf("the line alone: first cause = %+v, want a possible one", c)
	}
}

// PyTorch prints NCCL's last warning without its prefix in the line after "Last error:", XLA in the
// same line; engines put their own prefix before both.
func TestLastError(t *testing.T) {
	const torch = "RuntimeError: NCCL error in: ../NCCLUtils.hpp:219, invalid argument, NCCL version 2.14.3\n"
	const engine = "(RayWorkerWrapper pid=9) ERROR 05-06 08:55:19 worker_base.py:145] "
	for name, c := range map[string]struct{ text, rule, cause string }{
		"torch": {
			torch + "Last error:\nInvalid config blocking attribute value -2147483648\n", "RDX-325", "version-mismatch",
		},
		"prefixed": {
			engine + "Last error:\n" + engine + "Invalid config blocking attribute value 7\n", "RDX-325",
			"program-usage",
		},
		"later": {
			engine + "Last error:\n" + strings.Replace(engine, ":19", ":20", 1) +
				"Invalid config blocking attribute value 7\n", "RDX-325", "program-usage",
		},
		"another process": {
			engine + "Last error:\n" + strings.Replace(engine, "pid=9", "pid=8", 1) + "nothing new here\n" + engine +
				"Invalid config blocking attribute value 7\n", "RDX-325", "program-usage",
		},
		"xla": {
			"XlaRuntimeError: INTERNAL: NCCL operation ncclCommInitRank(a) failed: unhandled cuda error. Last NCCL " +
				"warning(error) log entry (may be unrelated) 'Cuda failure 'out of memory''.\n", "RDX-304",
			"gpu-memory",
		},
	} {
		f, cause := ptr(explainAll(t, "job.log", c.text))
		if f == nil || f.Rule != c.rule || cause.Cause != c.cause {
			t.Errorf("%s: %+v, want %s with %s first", name, f, c.rule, c.cause)
		}
	}
	d := explainAll(t, "job.log", torch)
	if l := d.Facts.Libraries; len(l) != 1 || !slices.Contains(l[0].Versions, "2.14.3") {
		t.Errorf("libraries = %+v, want NCCL 2.14.3", l)
	}
	other := strings.Replace(engine, "pid=9", "pid=8", 1) + "nothing new here\n"
	far := engine + "Last error:\n" + strings.Repeat(other, 4) + engine +
		"Invalid config blocking attribute value 7\n"
	if d := explainAll(t, "job.log", far); len(d.Findings) > 0 {
		t.Errorf("a line far below is taken for the last error: %+v", d.Findings)
	}
}

// A watchdog at a barrier, in which all wait for one value, is mostly of a rank that works on
// something else.
func TestWatchdogAtBarrier(t *testing.T) {
	log := func(rank, seq, elements int) string {
		return fmt.Sprintf("[rank%d]:[E604 10:00:00.1 ProcessGroupNCCL.cpp:629] [Rank %[1]d] Watchdog caught "+
			"collective operation timeout: WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=%d, NumelOut=%[3]d, "+
			"Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n", rank, seq, elements)
	}
	for want, text := range map[string]string{
		"process-blocked": log(1, 5, 1) + log(2, 5, 1),
		"program-fault":   log(1, 5, 1) + log(2, 6, 1),
	} {
		f, cause := ptr(explainAll(t, "job.log", text))
		if cause == nil || cause.Cause != want {
			t.Errorf("first cause = %+v, want %s", cause, want)
			continue
		}
		for _, other := range f.Causes[1:] {
			if other.Cause == "process-blocked" && len(other.For) > 0 {
				t.Errorf("%s isn't for %s: the operations differ", other.For[0].Text, other.Cause)
			}
		}
	}
	if _, cause := ptr(explainAll(t, "job.log", log(1, 5, 4096))); cause == nil || cause.Cause != "program-fault" {
		t.Errorf("with 4096 elements: first cause = %+v, want program-fault", cause)
	}
}

// A hang of the first operations within a node is mostly peer to peer (NVIDIA/nccl#2079); later
// ones and those between nodes have other causes first.
func TestHangWithinNode(t *testing.T) {
	log := func(nodes, seq int) string {
		return fmt.Sprintf(
			"gpu-a:10:10 [0] NCCL INFO comm 0x55d0 rank 0 nRanks 2 nNodes %d localRanks 2 localRank 0 "+
				"MNNVL 0\ngpu-a:10:10 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n"+
				"[rank0]:[E604 10:00:00.1 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation "+
				"timeout: WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for "+
				"600029 milliseconds before timing out.\n",
			nodes,
			seq,
		)
	}
	for _, c := range []struct {
		nodes, seq int
		want       string
	}{{1, 1, "gpu-p2p"}, {1, 900, "program-fault"}, {2, 1, "program-fault"}} {
		if _, cause := ptr(explainAll(t, "job.log", log(c.nodes, c.seq))); cause == nil || cause.Cause != c.want {
			t.Errorf("%d nodes, operation %d: first cause = %+v, want %s", c.nodes, c.seq, cause, c.want)
		}
	}
}

// A network that isn't NCCL's own is a plugin's (src/plugin/net.cc).
func TestNetworkOfPlugin(t *testing.T) {
	for network, want := range map[string]string{"gIB": "external-plugin", "IB": "no-device-node"} {
		log := "gpu-a:10:10 [0] plugin/net.cc:300 NCCL WARN Error: network " + network + " not found.\n"
		if f, c := ptr(explainAll(t, "job.log", log)); f.Rule != "RDX-130" || c.Cause != want {
			t.Errorf("%s: %s with %s first, want RDX-130 with %s", network, f.Rule, c.Cause, want)
		}
	}
}

// Processes of nccl-tests that don't know of each other are all rank 0. Groups of one job are no
// such processes, and neither are runs after each other.
func TestTestsAlone(t *testing.T) {
	const head = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20\n# Using " +
		"devices\n"
	rank := func(rank, group, pid int) string {
		return fmt.Sprintf("#  Rank  %d Group  %d Pid %d on gpu-a device  0 [0x0f] NVIDIA H800\n", rank, group, pid)
	}
	const result = "           8             2     float     sum      -1    32.90    0.00    0.00      0    32.41 " +
		"   0.00    0.00      0\n"
	for _, c := range []struct{ name, log, rule string }{
		{"two heads", head + head + rank(0, 0, 7) + rank(1, 0, 7), "RDX-721"},
		{"two processes", head + rank(0, 0, 7) + rank(0, 0, 8), "RDX-721"},
		{"with results", head + head + rank(0, 0, 7) + rank(0, 0, 8) + result + result, "RDX-721"},
		{"groups", head + rank(0, 0, 7) + rank(0, 1, 8) + result, ""},
		{
			"after each other", head + rank(0, 0, 7) + rank(1, 0, 8) + result + result + head + rank(0, 0, 9) + result,
			"",
		},
	} {
		d := explainAll(t, "job.log", c.log)
		switch {
		case c.rule == "" && len(d.Findings) > 0:
			t.Errorf("%s: findings %+v, want none", c.name, d.Findings)
		case c.rule != "" && (slugOf(d) != "launcher-ranks" || d.Findings[0].Rule != c.rule):
			t.Errorf("%s: findings %+v, want %s", c.name, d.Findings, c.rule)
		}
	}
}
