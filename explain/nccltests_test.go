package explain_test

import (
	"fmt"
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
}
