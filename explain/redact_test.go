package explain_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
)

// lined is a report with one finding, whose headline and lines are given.
func lined(what string, lines ...string) explain.Document {
	f := explain.FindingDocument{What: what}
	for i, l := range lines {
		f.Lines = append(f.Lines, explain.LineDocument{Place: evidence.Place{File: "acme.log", Line: i + 1}, Text: l})
	}
	return explain.Document{
		Findings: []explain.FindingDocument{f},
		Inputs:   []explain.InputDocument{{Name: "acme.log"}},
	}
}

// redacted returns the headline and the lines of a redacted report, one below the other.
func redacted(t *testing.T, d explain.Document) string {
	t.Helper()
	r, err := bundle.NewRedactor([]byte("a secret for tests 0123456789"))
	if err != nil {
		t.Fatal(err)
	}
	d.Redact(r.Text)
	out := d.Findings[0].What
	for _, l := range d.Findings[0].Lines {
		out += "\n" + l.Text
	}
	return out
}

// Names of nodes and other things of a site, in the lines of the programs that print them. The
// headline has the name without the form by which it is found.
func TestRedactNamesInLines(t *testing.T) {
	for _, c := range []struct{ secrets, line, want string }{
		{"node07", "node07: [rank44]: torch.AcceleratorError: CUDA error", "node-1: [rank44]: torch.Acc"},
		{"n2", "socketProgress: Connection closed by remote peer n2<43001>", "remote peer node-1<43001>"},
		{
			"trainer-master-0", "[c10d] The IPv6 network addresses of (trainer-master-0, 23456) cannot be retrieved",
			"of (node-1, 23456) cannot",
		},
		{
			"head-0.head", "[c10d] The client socket has failed to connect to [head-0.head]:29500 (errno: 110)",
			"connect to [node-1]:29500 (errno: 110)",
		},
		{
			"w1", "recvValue failed on SocketImpl(fd=80, addr=[w1]:36000, remote=[w0]:29500)",
			"addr=[node-1]:36000, remote=[node-2]:29500",
		},
		{"rdzv.acme.svc.cluster.local", "connect to rdzv.acme.svc.cluster.local failed", "connect to node-1 failed"},
		{
			"train-0", `name="multus-cni-network" failed (add): [default/train-0:sriov-rdma]: error`,
			"[default/pod-1:sriov-rdma]",
		},
		{
			"acme train-0", `failed (add): [acme/train-0/0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f:net1]: error`,
			"[namespace-1/pod-1/",
		},
		{"acme train-0 n17", "Successfully assigned acme/train-0 to n17", "assigned namespace-1/pod-1 to node-1"},
		{
			"n1", "slurmstepd: error: *** JOB 991 ON n1 CANCELLED AT 2026-11-27T10:00:00 DUE TO TIME LIMIT ***",
			"JOB 991 ON node-1 CANCELLED",
		},
		{"n2", "srun: error: n2: tasks 2: Exited with exit code 1", "srun: error: node-1: tasks 2"},
		{"n[2-4]", "srun: error: n[2-4]: tasks 2-9: Exited with exit code 1", "srun: error: node-1: tasks 2-9"},
		{"c07", "process rank 3 with PID 4123 on node c07 exited on signal 9", "on node node-1 exited"},
		{
			"leaf7", "Unknown remote side for node 0x98039b0300a1b2c3 (MF0;leaf7:MQM8700/U1) port 21",
			"(MF0;switch-1:MQM8700/U1)",
		},
		{"n12", `duplicated node "n12 HCA-1" port 1`, `"node-1 HCA-1"`},
		{"i-0123456789abcdef0", "My host id: i-0123456789abcdef0 Peer", "My host id: instance-1 Peer"},
		{"scratch", "Connection to scratch-OST0003 (at 10.9.8.7@o2ib) was lost", "Connection to fs-1-OST0003 (at"},
		{"nqn.2014-08.com.acme:disk7", `nvme nvme1: new ctrl: NQN "nqn.2014-08.com.acme:disk7"`, `NQN "subsystem-1"`},
		{"acme", "NCCL_COMM_ID set by environment to acme:29500", "environment to node-1:29500"},
		{"gpu-a", "[gpu-a:4711 :0:4712] Caught signal 11", "[node-1:4711 :0:4712] Caught"},
	} {
		for secret := range strings.FieldsSeq(c.secrets) {
			got := redacted(t, lined("no answer from "+secret+", twice", c.line))
			if strings.Contains(strings.ReplaceAll(got, "node-1", "#"), secret) || !strings.Contains(got, c.want) {
				t.Errorf("%s is left, or no %q, in\n%s", secret, c.want, got)
			}
		}
	}
}

func TestRedactUsers(t *testing.T) {
	got := redacted(t, lined("x", "UserId=jane(1000) in /home/jane/x"))
	if got != "x\nUserId=user(1000) in /home/user/x" {
		t.Errorf("got %s", got)
	}
}

// Names of archives, and of inputs that could not be opened, are in messages only.
func TestRedactInputs(t *testing.T) {
	d := lined("x")
	d.Inputs = []explain.InputDocument{
		{Name: "acme/a.zip:acme/n1.log"},
		{Error: "read input acme/a.zip: zip: not a valid zip file"},
		{Error: "read input: stat acme/n2.log: no such file or directory"},
		{Error: "read input acme/empty: no files in this folder"},
		{Name: "acme/n3.log", Error: "read acme/n3.log: unexpected EOF"},
	}
	redacted(t, d)
	for i, want := range []explain.InputDocument{
		{Name: "input-1.log"},
		{Error: "read input archive-1.zip: zip: not a valid zip file"},
		{Error: "read input: stat input-3.log: no such file or directory"},
		{Error: "read input input-4: no files in this folder"},
		{Name: "input-5.log", Error: "read input-5.log: unexpected EOF"},
	} {
		if got := d.Inputs[i]; got.Name != want.Name || got.Error != want.Error {
			t.Errorf("input %d = %q, %q, want %q, %q", i+1, got.Name, got.Error, want.Name, want.Error)
		}
	}
}

// What lines have where others have names: it says what happened.
func TestRedactKeeps(t *testing.T) {
	for _, line := range []string{
		"[E1127 04:00:00.0 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught a timeout",
		"ERROR 11-20 10:02:28 [multiproc_executor.py:671] RuntimeError: NCCL error",
		"[../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error",
		"Failed to create pod sandbox: rpc error: code = Unknown",
		"network device 'mlx5_7:1' is not available, please use one or more of: 'eth0'(tcp)",
		"connect to localhost:29500 failed, tensor of (rank, 2)",
		"8 Insufficient vpc.amazonaws.com/efa",
		"Could not create endpoint: [psm2_shm:11:12] failed",
		"wr_id 0x7f00deadbeef, kernel 0xffff888100000000, at 1764216000000000",
		"torch.distributed.DistNetworkError: the server socket has failed on node 3",
	} {
		if got := redacted(t, lined("x", line)); got != "x\n"+line {
			t.Errorf("%q became %q", line, got)
		}
	}
}

// An address has one replacement, however it stands in a line.
func TestRedactGlued(t *testing.T) {
	got := redacted(t, lined("no answer from ::ffff:10.5.0.3 and fe80::a288:c203:34:1",
		"localGid ::ffff:10.5.0.9 remoteGids::ffff:10.5.0.3 hca mlx5_3",
		"localGid fe80::a250:4403:e8:415b remoteGidsfe80::a288:c203:34:1",
		"MGC9.8.7.6@o2ib: Connection lost", "port 0xa288c20300340001", "H-a288c20300340001"))
	for _, secret := range []string{"10.5.0", "c203:34:1", "e8:415b", "9.8.7.6", "340001"} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is left in\n%s", secret, got)
		}
	}
	lines := strings.Split(got, "\n")
	peer, link, _ := strings.Cut(strings.TrimPrefix(lines[0], "no answer from "), " and ")
	if !strings.Contains(lines[1], "remoteGids"+peer+" ") || !strings.HasSuffix(lines[2], "remoteGids"+link) {
		t.Errorf("the headline's addresses aren't those of the lines:\n%s", got)
	}
	if guid := strings.TrimPrefix(lines[4], "port 0x"); len(guid) != 16 || lines[5] != "H-"+guid {
		t.Errorf("a GUID has two replacements:\n%s", got)
	}
}

// The address of a node stands for it, but others of its subnet are no nodes, nor are plain words
// behind "node".
func TestRedactAddressOfNode(t *testing.T) {
	d := lined("10.2.0.8 lost 10.2.0.7 on node alpha and beta")
	d.Facts.Nodes = []explain.NodeDocument{{Name: "10.2.0.8"}}
	got := redacted(t, d)
	if !strings.HasPrefix(got, "node-1 lost 10.") || strings.Contains(got, "10.2.0.7") ||
		!strings.HasSuffix(got, " on node alpha and beta") {
		t.Errorf("got %q", got)
	}
}

// Nodes that are called as others are after redaction stay apart, and so do names of one stem.
func TestRedactKeepsApart(t *testing.T) {
	d := lined("node-2 waits for node-1 and gpu-03, gpu-07.acme.org and gpu-11", "gpu-03: [rank0]: error", "gpu-071")
	d.Facts.Nodes = []explain.NodeDocument{{Name: "node-2"}, {Name: "node-1"}}
	d.Facts.Nodes[0].Environment = []explain.SettingDocument{{Name: "MASTER_ADDR", Values: []string{"acme"}}}
	want := "node-1 waits for node-2 and node-4, node-5 and node-6\nnode-4: [rank0]: error\ngpu-071"
	if got := redacted(t, d); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := d.Facts.Nodes[0].Environment[0].Values[0]; got != "node-3" {
		t.Errorf("MASTER_ADDR = %s, want node-3", got)
	}
}
