package explain_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
)

// What no form knows is not healthy: a warning of NCCL, an error of UCX or Mooncake.
func TestUnknownErrorsAreNotHealthy(t *testing.T) {
	for _, line := range []string{
		"gpu-a:100:140 [0] init.cc:1 NCCL WARN Some entirely new warning",
		"[1719157763.321281] [gpu-a:19381:0]     x.c:100 UCX  ERROR something new",
		"[1719157763.321281] [gpu-a:19381:0]     x.c:100 UCX  FATAL something new",
		"E0331 12:03:04.222625 56060 rdma_transport.cpp:90] something new",
	} {
		d := explainAll(t, "job.log", header+line+"\n")
		if d.Verdict != explain.VerdictUnknown || len(d.Unexplained) != 1 ||
			!strings.Contains(d.Unexplained[0].Text, "new") {
			t.Errorf("%s: verdict = %s, unexplained %v", line, d.Verdict, d.Unexplained)
		}
	}
}

// The source file of a warning of no known form limits the causes, if nothing else is known.
func TestUnknownWarningBySource(t *testing.T) {
	const text = " NCCL WARN Some entirely new warning\n"
	for file, want := range map[string]string{
		"transport/nvls.cc:7": "fabric-manager", "graph/topo.cc:7": "topology-view",
		"misc/shmutils.cc:7": "shm-too-small",
		"transport/p2p.cc:7": "gpu-p2p", "proxy.cc:7": "dead-peer", "init.cc:7": "",
	} {
		if got := slugOf(explainAll(t, "job.log", header+"gpu-a:100:140 [0] "+file+text)); got != want {
			t.Errorf("%s: first cause = %q, want %q", file, got, want)
		}
	}
	known := "gpu-a:100:140 [0] init.cc:9 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA " +
		"device 1000\n"
	d := explainAll(t, "job.log", header+"gpu-a:100:140 [0] transport/nvls.cc:7"+text+known)
	if len(d.Findings) != 1 || d.Findings[0].Causes[0].Cause != "local-rank" {
		t.Errorf("beside a known failure: findings %+v", d.Findings)
	}
}

// slugOf returns the slug of the first cause, "" for none.
func slugOf(d explain.Document) string {
	if len(d.Findings) == 0 || len(d.Findings[0].Causes) == 0 {
		return ""
	}
	return d.Findings[0].Causes[0].Cause
}

// Programs quote the last warning of NCCL without its prefix.
func TestQuotedWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"[rank0]: Last error:\n[rank0]: Bootstrap : no socket interface found\n":               "interface-choice",
		"init failed: Last NCCL warning(error): 'Bootstrap : no socket interface found'\n":     "interface-choice",
		"Last error:\n\nError while creating shared memory segment /dev/shm/nccl-1 (size 9)\n": "shm-too-small",
		"Last error: Cuda failure 'out of memory'\n":                                           "gpu-memory",
		"ncclCommInitRank failed: unhandled system error. Last NCCL warning(error) log entry (may be unrelated) " +
			"'Call to socket failed: Too many open files'.\n": "file-limit",
		"NCCL version 2.21.5\nLast error:\nException raised from create at NCCLUtils.hpp:275\n": "",
		"The job ends.\nLast error:\n[rank1]: Traceback (most recent call last)\n":              "",
	} {
		d := explainAll(t, "job.log", text)
		if got := slugOf(d); got != want {
			t.Errorf("%q: first cause = %q, want %q", text, got, want)
		}
		for _, line := range d.Unexplained {
			if strings.Contains(line.Text, "Exception raised") {
				t.Errorf("%q: %q is no warning", text, line.Text)
			}
		}
	}
}

// A quoted warning of no known form is shown.
func TestQuotedUnknownWarning(t *testing.T) {
	const quote = "Last error:\nSome entirely new warning\n"
	d := explainAll(
		t,
		"job.log",
		"RuntimeError: NCCL error in: NCCLUtils.hpp:9, internal error, NCCL version 2.21.5\n"+
			quote,
	)
	if len(d.Unexplained) != 1 || d.Unexplained[0].Text != "Some entirely new warning" {
		t.Errorf("unexplained = %+v, want the warning", d.Unexplained)
	}
	if d := explainAll(t, "backup.log", "The backup has failed.\n"+quote); len(d.Unexplained) != 0 {
		t.Errorf("of another program: unexplained = %+v", d.Unexplained)
	}
}

// The provider that libfabric chose tells whether EFA's devices are there.
func TestProviderOfPlugin(t *testing.T) {
	for provider, want := range map[string]string{"tcp": "likely", "efa": "possible"} {
		_, c := ptr(explainAll(t, "job.log", "gpu-a:10:12 [0] NCCL INFO NET/OFI Selected Provider is "+provider+
			" (found 1 nics)\ngpu-a:10:12 [0] init:309 NCCL WARN NET/OFI Disabling shared memory failed: Protocol not "+
			"available\n"))
		if c.Cause != "no-device-node" || string(c.Confidence) != want {
			t.Errorf("%s: first cause = %s %s, want no-device-node %s", provider, c.Cause, c.Confidence, want)
		}
	}
}

// PyTorch's line has the result of NCCL and its version; interfaces that others can't reach tell
// more.
func TestResultWithVersion(t *testing.T) {
	const result = "RuntimeError: NCCL error in: /pytorch/torch/lib/c10d/ProcessGroupNCCL.cpp:410, unhandled system " +
		"error, NCCL version 2.12.10\n"
	d := explainAll(t, "job.log", result)
	if slugOf(d) != "shm-too-small" || len(d.Facts.Libraries) != 1 || d.Facts.Libraries[0].Versions[0] != "2.12.10" {
		t.Errorf("findings %+v, libraries %+v", d.Findings, d.Facts.Libraries)
	}
	const bridge = "gpu-a:10:10 [0] NCCL INFO NET/Socket : Using [0]bond0:10.0.0.7<0> [1]br-05ab815f:172.19.0.1<0>\n"
	if got := slugOf(explainAll(t, "job.log", bridge+result)); got != "interface-choice" {
		t.Errorf("with a bridge: first cause = %q", got)
	}
	remote := strings.Replace(
		result,
		"unhandled system error",
		"remote process exited or there was a network error",
		1,
	)
	if got := slugOf(explainAll(t, "job.log", remote)); got != "dead-peer" {
		t.Errorf("remote error: first cause = %q", got)
	}
}

// The address of a bridge means another machine on each node, if there are several.
func TestConnectToBridge(t *testing.T) {
	const (
		start = "gpu-a:10:10 [3] NCCL INFO NET/Socket : Using [0]bond0:10.0.0.7<0> [1]br-05ab815f:192.168.203.1<0>\n"
		fails = "gpu-a:10:12 [3] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 192.168.203.1<45763> " +
			"failed : Connection refused\n"
		single = "gpu-a:10:10 [3] NCCL INFO comm 0x1c2ea230 rank 3 nRanks 4 nNodes 1 localRanks 4 localRank 3 MNNVL 0\n"
	)
	if got := slugOf(explainAll(t, "job.log", start+fails)); got != "interface-choice" {
		t.Errorf("first cause = %q", got)
	}
	if got := slugOf(explainAll(t, "job.log", start+single+fails)); got != "dead-peer" {
		t.Errorf("on one node: first cause = %q", got)
	}
	other := strings.ReplaceAll(fails, "192.168.203.1", "10.0.0.8")
	if got := slugOf(explainAll(t, "job.log", start+other)); got != "dead-peer" {
		t.Errorf("of another address: first cause = %q", got)
	}
}

// The bootstrap has sizes of its own: settings of transfers don't matter.
func TestTruncatedBootstrap(t *testing.T) {
	const text = " NCCL WARN Message truncated : received 256 bytes instead of 4\n"
	for file, want := range map[string]string{
		"bootstrap.cc:77": "library-defect", "transport/net_socket.cc:488": "environment-differs",
	} {
		d := explainAll(t, "job.log", header+"gpu-a:100:140 [0] "+file+text)
		if got := slugOf(d); got != want {
			t.Errorf("%s: first cause = %q, want %q", file, got, want)
		}
		for _, c := range d.Findings[0].Causes {
			if c.Cause == "environment-differs" && (len(c.For) > 0) != (want == c.Cause) {
				t.Errorf("%s: evidence for %s: %+v", file, c.Cause, c.For)
			}
		}
	}
}

// The warning is shown, not the backtrace below it.
func TestWarningBeforeBacktrace(t *testing.T) {
	d := explainAll(t, "job.log", header+"gpu-a:100:140 [0] NCCL INFO include/new.h:41 -> 2\n"+
		"gpu-a:100:140 [0] include/new.h:28 NCCL WARN Some entirely new warning\n")
	if len(d.Unexplained) != 1 || !strings.Contains(d.Unexplained[0].Text, "new warning") {
		t.Errorf("unexplained = %v, want the warning", d.Unexplained)
	}
}

func TestCleanEnd(t *testing.T) {
	d := explainAll(t, "job.log", header+
		"gpu-a:100:140 [0] NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 1b000 - Destroy COMPLETE\n")
	if d.Verdict != explain.VerdictHealthy {
		t.Errorf("verdict = %s, want healthy", d.Verdict)
	}
}

func TestNegativeDevice(t *testing.T) {
	explainAll(t, "job.log", header+"gpu-a:100:140 [0] NCCL INFO NET/IB: Dev -1 Port 1 qpn 600 mtu 5 GID 3 (0/1)\n")
}

// The order of failures doesn't depend on a failure in another file.
func TestOriginWithOtherFiles(t *testing.T) {
	one := header + "gpu-a:100:140 [0] net_ib.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got async event : device fatal\n" +
		timeout("mlx5_0", 2)
	two := strings.ReplaceAll(header+timeout("mlx5_0", 3), "gpu-a", "gpu-b")
	a, b := explainAll(t, "1.log", one), explainAll(t, "1.log", one, "2.log", two)
	if a.Findings[0].Rule != b.Findings[0].Rule {
		t.Errorf("first rule = %s alone, %s with another node's log", a.Findings[0].Rule, b.Findings[0].Rule)
	}
}

func TestMarkdownIsClean(t *testing.T) {
	d := explainAll(t, "job.log", header+"gpu-a:100:140 [0] x.cc:1 NCCL WARN \x1b]0;owned\a new\u202e ``` @all\n")
	page := string(d.Markdown())
	if strings.ContainsAny(page, "\x1b\a\u202e") || strings.Count(page, "```") != 2 {
		t.Errorf("page = %q", page)
	}
}

// Names of nodes are replaced as words only, and not in what the rules say.
func TestRedactWords(t *testing.T) {
	log := strings.ReplaceAll(header+timeout("mlx5_0", 2), "gpu-a", "fault")
	d := explainAll(t, "job.log", log+"fault:1:2 [0] NCCL INFO NCCL_X set by environment to default\n")
	d.Redact(func(s string) string { return s })
	if d.Verdict != explain.VerdictFault || d.Facts.Nodes[0].Name != "node-1" {
		t.Errorf("verdict = %s, node %s", d.Verdict, d.Facts.Nodes[0].Name)
	}
	environment := d.Facts.Nodes[0].Environment
	named := func(s explain.SettingDocument) bool { return s.Name == "NCCL_X" }
	if i := slices.IndexFunc(environment, named); i < 0 || environment[i].Values[0] != "default" {
		t.Errorf("environment = %v", environment)
	}
}

// A hole of zero bytes in a log is no reason to give it up.
func TestHole(t *testing.T) {
	d := explainAll(t, "job.log", header+strings.Repeat("\x00", 300)+"\n"+timeout("mlx5_0", 2))
	if d.Verdict != explain.VerdictFault {
		t.Errorf("verdict = %s, want a fault", d.Verdict)
	}
}

// The default index of old releases is no evidence against GIDs that the line shows: index 0 is
// link-local. With link-local ones it is.
func TestDefaultIndexAgainstGIDs(t *testing.T) {
	for _, c := range []struct {
		name, local string
		first       bool
	}{
		{"IPv4", "::ffff:10.0.0.1", false},
		{"link-local", "fe80::5ea7:21ff:fe41:8a1a", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := explainAll(t, "job.log", "gpu-a:100:100 [0] NCCL INFO NCCL version 2.18.5+cuda12.2\n"+
				"gpu-a:100:140 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"+
				"gpu-a:100:140 [0] net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<45678> with "+
				"status=12 opcode=0 len=0 vendor err 129 (Recv) localGid "+c.local+" remoteGids::ffff:10.0.0.2\n")
			if len(d.Findings) == 0 || (d.Findings[0].Causes[0].Cause == "gid-index") != c.first {
				t.Fatalf("first cause is not right in %+v; gid-index first: %v", d.Findings, c.first)
			}
			reasons := d.Findings[0].Causes[0].For
			version := func(e explain.EvidenceDocument) bool { return strings.HasPrefix(e.Text, "NCCL before 2.21") }
			if slices.ContainsFunc(reasons, version) != c.first {
				t.Errorf("evidence = %+v, the release's default index among it: %v", reasons, c.first)
			}
		})
	}
}

// A form of a later release contradicts a version, but not if another node has a later version.
func TestVersionContradiction(t *testing.T) {
	const (
		oldVersion = "gpu-a:100:100 [0] NCCL INFO NCCL version 2.18.5+cuda12.2\n"
		newVersion = "gpu-b:100:100 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n"
		newForm    = "gpu-b:100:140 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n" // since 2.24
	)
	for _, c := range []struct {
		name, log string
		want      bool
	}{
		{"old version and new form", oldVersion + newForm, true},
		{"two versions", oldVersion + newVersion + newForm, false},
		{"two versions in the other order", newVersion + oldVersion + newForm, false},
	} {
		d := explainAll(t, "job.log", c.log)
		if got := d.Facts.Libraries[0].Contradiction; (got != "") != c.want {
			t.Errorf("%s: contradiction = %q, want one: %v", c.name, got, c.want)
		}
	}
}

// Names of inputs and users are hidden, too, and stay apart from each other.
func TestRedactNames(t *testing.T) {
	text := header + "gpu-a:100:140 [0] new.cc:1 NCCL WARN new of /home/alice/run failed: Too many open files\n"
	d := explainAll(t, "/data/secret/gpu-a.log", text, "/data/secret/gpu-a.log.1", text)
	d.Redact(func(s string) string { return s })
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"secret", "alice", "gpu-a"} {
		if strings.Contains(string(data), secret) {
			t.Errorf("the redacted document contains %s: %s", secret, data)
		}
	}
	for _, name := range []string{`"file":"input-1.log"`, `"name":"input-2"`, "/home/user/run", "node-1"} {
		if !strings.Contains(string(data), name) {
			t.Errorf("the redacted document lacks %s: %s", name, data)
		}
	}
}

// A log with a line of an unknown program that says that something failed isn't healthy, and the
// line is shown; a log of unknown programs only stays unknown.
func TestTroublesAreNotHealthy(t *testing.T) {
	for _, line := range []string{
		"Segmentation fault (core dumped)", "make: *** [Makefile:20: all] Error: new", "panic: new",
		"2026-03-01 10:00:00 ERROR new",
	} {
		if d := explainAll(t, "job.log", header+line+"\n"); d.Verdict != explain.VerdictUnknown ||
			len(d.Unexplained) != 1 || !strings.HasSuffix(line, d.Unexplained[0].Text) {
			t.Errorf("%s: verdict = %s, unexplained %v", line, d.Verdict, d.Unexplained)
		}
		if d := explainAll(t, "job.log", line+"\n"); d.Verdict != explain.VerdictNothing {
			t.Errorf("%s alone: verdict = %s, want nothing", line, d.Verdict)
		}
	}
	if d := explainAll(t, "job.log", header+"0 errors, no error: fine\n"); d.Verdict != explain.VerdictHealthy {
		t.Errorf("no errors: verdict = %s, want healthy", d.Verdict)
	}
}

// The example of the documentation.
func TestExample(t *testing.T) {
	text, err := os.ReadFile("../examples/job.log")
	if err != nil {
		t.Fatal(err)
	}
	d := explainAll(t, "job.log", string(text))
	f, c := d.First()
	if !strings.HasPrefix(f.What, "mlx5_bond_0 of node1 ") || c.Cause != "gid-index" || c.Confidence != "likely" {
		t.Errorf("first = %s: %s %s, want mlx5_bond_0 of node1, likely gid-index", f.What, c.Confidence, c.Cause)
	}
}

// A node without a name has that of its input, and keeps it when names are hidden; consequences are
// a finding only if nothing else failed.
func TestNodeOfInput(t *testing.T) {
	const echo = "RuntimeError: Broken pipe\n"
	d := explainAll(t, "/x/rank0.log", "[1719157763.3] x.c:1 UCX  ERROR new\n"+echo)
	d.Redact(func(s string) string { return s })
	for _, n := range d.Facts.Nodes {
		if n.Name != "input-1.log" {
			t.Errorf("node %s, want input-1.log", n.Name)
		}
	}
	const closed = "gpu-a:100:140 [0] socket.cc:1 NCCL WARN socketProgress: Connection closed by remote peer b<1>\n"
	if d := explainAll(t, "job.log", header+closed); d.Findings[0].Rule != "RDX-174" {
		t.Errorf("consequences only: %s, want RDX-174", d.Findings[0].Rule)
	}
	d = explainAll(t, "job.log", header+timeout("mlx5_0", 2)+closed)
	for _, f := range d.Findings {
		if f.Rule == "RDX-174" {
			t.Errorf("RDX-174 beside %s", d.Findings[0].Rule)
		}
	}
}
