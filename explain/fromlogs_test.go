package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
)

// causeOf explains a log and returns its headline, the first cause, and all of it as text.
func causeOf(t *testing.T, log string) (what, cause, all string) {
	t.Helper()
	d := explainAll(t, "job.log", log)
	var b strings.Builder
	for _, f := range d.Findings {
		b.WriteString(f.What + "\n")
		for _, c := range f.Causes {
			b.WriteString(c.Cause + ": " + c.Title + "; " + c.Decide + "; " + c.Remedy + "\n")
			for _, e := range c.For {
				b.WriteString("for " + e.Text + "\n")
			}
			for _, e := range c.Against {
				b.WriteString("against " + e.Text + "\n")
			}
		}
	}
	f, c := d.First()
	if f == nil || c == nil {
		t.Fatalf("no cause: %s", b.String())
	}
	return f.What, c.Cause, b.String()
}

const noDevice = `n1:1:90 [0] NCCL INFO NCCL version 2.21.5+cuda12.4
n1:1:90 [0] NCCL INFO NET/IB : No device found.
n1:1:90 [0] NCCL INFO Using network Socket
`

// What else is in the log decides why no device was found.
func TestNoDeviceByOtherLines(t *testing.T) {
	const tcpOnly = "[1732694473.123456] [c01:77   :0]     ucp_context.c:1146 UCX  WARN  network device 'mlx5_0:1' " +
		"is not available, please use one or more of: 'eth0'(tcp), 'lo'(tcp)\n"
	ibstat := func(state, link string) string {
		return "CA 'mlx5_0'\n\tPort 1:\n\t\tState: " + state + "\n\t\tBase lid: 65535\n\t\tSM lid: 0\n\t\tLink " +
			"layer: " +
			link + "\n"
	}
	for _, c := range []struct{ name, log, want string }{
		{"filter", "n1:1:90 [0] NCCL INFO NCCL_IB_HCA set to mlx5_bond_0\n" + noDevice, "environment-differs"},
		{"provider", "libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so': libmlx5-rdmav34.so: " +
			"cannot open " +
			"shared object file: No such file or directory\n" + noDevice, "missing-library"},
		{"left-over provider", "libibverbs: Warning: couldn't load driver 'libcxgb3-rdmav34.so': " +
			"libcxgb3-rdmav34.so: " +
			"cannot open shared object file: No such file or directory\n" + noDevice, "no-device-node"},
		{"no subnet manager", ibstat("Initializing", "InfiniBand") + noDevice, "subnet-manager"},
		{"port down", ibstat("Down", "InfiniBand") + noDevice, "port-down"},
		{"port down, UCX", ibstat("Down", "InfiniBand") + tcpOnly, "port-down"},
		{"container without devices", "n1:1:90 [0] NCCL INFO NCCL_IB_HCA set to rocep1s0f1\n" + noDevice +
			"            \"Devices\": [],\n            \"Privileged\": false,\n", "no-device-node"},
		{"privileged container", "n1:1:90 [0] NCCL INFO NCCL_IB_HCA set to rocep1s0f1\n" + noDevice +
			"            \"Devices\": [],\n            \"Privileged\": true,\n", "environment-differs"},
		{"active port", ibstat("Active", "InfiniBand") + noDevice, "no-device-node"},
		{"UCX alone", tcpOnly, "missing-library"},
	} {
		_, got, all := causeOf(t, c.log)
		if got != c.want {
			t.Errorf("%s: first cause = %s, want %s", c.name, got, c.want)
		}
		if c.name == "provider" && !strings.Contains(all, "ibverbs-providers") {
			t.Errorf("no word of the provider's package: %s", all)
		}
		if c.name == "provider" && strings.Contains(all, "providers that aren't installed") {
			t.Errorf("the line about the missing provider is called harmless: %s", all)
		}
	}
}

// Settings and causes are those of the program that failed.
func TestOwnSettings(t *testing.T) {
	perftest := "Couldn't connect to 10.1.0.12:18515\nUnable to open file descriptor for socket connection " +
		"Unable to init the socket connection\n"
	for _, c := range []struct{ name, log, want, never string }{
		{"perftest's server", perftest, "nobody-listens", "NCCL_"},
		{"devices of perftest", "No IB devices found\n Unable to find the Infiniband/RoCE device\n", "", "NCCL_"},
		{"GID of NCCL", header + "gpu-a:77:140 [0] misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with " +
			"error Invalid argument errno 22\n", "gid-index", "-R"},
		{"PyTorch's store", "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms " +
			"while " +
			"trying to connect to (10.2.0.7, 41733).\n", "", "NCCL_"},
		{"seven of eight", "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 7/8 " +
			"clients joined.\n", "dead-peer", "NCCL_"},
	} {
		what, got, all := causeOf(t, c.log)
		if c.want != "" && got != c.want {
			t.Errorf("%s: first cause = %s, want %s", c.name, got, c.want)
		}
		if strings.Contains(all, c.never) {
			t.Errorf("%s: %s is of another program:\n%s", c.name, c.never, all)
		}
		if c.name == "seven of eight" && !strings.Contains(what, "only 7 of 8 processes joined") {
			t.Errorf("headline: %s", what)
		}
	}
	if _, _, all := causeOf(t, "No IB devices found\n"); !strings.Contains(all, "module-missing") {
		t.Errorf("no word of a driver that isn't loaded: %s", all)
	}
}

// UCX names the peer's GID in the line below that of the completion.
func TestGIDOfUCX(t *testing.T) {
	log := func(gid string) string {
		return "[1732694473.123456] [dn1:2231 :0]      ib_mlx5_log.c:171  UCX  ERROR Transport retry count " +
			"exceeded on " +
			"mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)\n" +
			"[1732694473.123456] [dn1:2231 :0]      ib_mlx5_log.c:171  UCX  ERROR RC QP 0x2b5 wqe[4]: RDMA_READ s-- " +
			"[rva 0x7f3c96000000 rkey 0x183a00] [va 0x7f6f44000000 len 8192 lkey 0x1ff5be] [rqpn 0x13d dgid=" + gid +
			" sgid_index=3 traffic_class=106]\n"
	}
	if _, got, all := causeOf(t, log("::ffff:10.10.1.2")); got == "gid-index" {
		t.Errorf("wrong GID comes first, although the peer's is routable:\n%s", all)
	}
	if _, got, all := causeOf(t, log("fe80::5ea7:21ff:fe41:8a1b")); got != "gid-index" {
		t.Errorf("first cause = %s, want gid-index for a link-local GID:\n%s", got, all)
	}
}

// Two nodes' queue pairs have different MTUs, and no list of devices is in the log.
func TestMTUsOfQueuePairs(t *testing.T) {
	log := func(mtu string) string {
		return "n1:10:90 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n" +
			"n1:10:95 [0] NCCL INFO NET/IB: IbDev 0 Port 1 qpn 900 mtu 5 GID 3 (0/100000AFFFF0000)\n" +
			"n2:10:95 [0] NCCL INFO NET/IB: IbDev 0 Port 1 qpn 901 mtu " + mtu + " GID 3 (0/200000AFFFF0000)\n" +
			"n1:10:95 [0] transport/net_ib.cc:1914 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<51000> with " +
			"status=9 opcode=0 len=0 vendor err 137 (Send) localGid ::ffff:10.0.0.1 remoteGids::ffff:10.0.0.2\n"
	}
	const differ = "4096 on n1; 1024 on n2"
	if what, _, _ := causeOf(t, log("3")); what != "n1 and n2 (::ffff:10.0.0.2) disagree about a request" {
		t.Errorf("headline: %s; want n2 by the GID of its queue pair", what)
	}
	if _, got, all := causeOf(t, log("3")); got != "mtu-differs" || !strings.Contains(all, differ) {
		t.Errorf("first cause = %s, want mtu-differs by %q:\n%s", got, differ, all)
	}
	if _, _, all := causeOf(t, log("5")); strings.Contains(all, " on n2") {
		t.Errorf("equal MTUs differ:\n%s", all)
	}
}

// What channels show of GPU Direct RDMA isn't called hidden.
func TestHiddenFacts(t *testing.T) {
	hidden := func(log string) string { return strings.Join(explainAll(t, "job.log", log).Facts.Hidden, "\n") }
	channel := "gpu-a:100:150 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
	if text := hidden(header + channel); !strings.Contains(text, "MTU") || strings.Contains(text, "GPU Direct") {
		t.Errorf("hidden with a channel: %s", text)
	}
	if text := hidden(header); !strings.Contains(text, "GPU Direct RDMA") {
		t.Errorf("hidden without a channel: %s", text)
	}
}

func TestHeadlines(t *testing.T) {
	completion := func(status string) string {
		return "hgx1:10:95 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\nhgx1:10:95 [0] transport/net_ib.cc:1914 " +
			"NCCL WARN " +
			"NET/IB: Got completion from peer 10.0.0.2<51000> with status=" + status + " opcode=0 len=0 vendor " +
			"err 136 " +
			"(Send)\n"
	}
	for _, c := range []struct{ log, want string }{
		{completion("4"), "the card of hgx1 was refused access to its own node's memory"},
		{completion("10"), "hgx1 was refused access to the memory of 10.0.0.2"},
		{"n1:10:95 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\nn1:10:95 [0] misc/ibvwrap.cc:284 NCCL WARN Call to " +
			"ibv_create_qp failed with error Cannot allocate memory\n", "n1: ibv_create_qp failed: errno 12"},
		{"[rank1]: RuntimeError: Gloo connectFullMesh failed with " +
			"[../third_party/gloo/gloo/transport/tcp/pair.cc:144] " +
			"no error\n[rank1]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:798] connect " +
			"[127.0.1.1]:18242: Connection refused\n", "Gloo could not connect to 127.0.1.1"},
		{"[rank1]: RuntimeError: Gloo connectFullMesh failed with " +
			"[../third_party/gloo/gloo/transport/tcp/pair.cc:144] " +
			"no error\n", "Gloo could not connect to its peer"},
	} {
		if what, _, _ := causeOf(t, c.log); what != c.want {
			t.Errorf("headline = %q, want %q", what, c.want)
		}
	}
}

// NodeInfo is answered by every node, of whatever generation.
func TestNodeInfoTimeout(t *testing.T) {
	const log = "Nov 27 09:10:00 100700 [7D00B700] 0x01 -> sm_mad_ctrl_send_err_cb: ERR 3113: MAD completed in error " +
		"(IB_TIMEOUT): SubnGet(%s), attr_mod 0x0, TID 0x5e10c\n"
	if _, got, _ := causeOf(t, strings.Replace(log, "%s", "NodeInfo", 1)); got == "subnet-manager" {
		t.Error("a subnet manager that asks too much comes first")
	}
}

// Slurm's line names the node that prints it; the failed one is that to which connections broke.
func TestNodeFailure(t *testing.T) {
	const slurm = "slurmstepd: error: *** JOB 991 ON n1 CANCELLED AT 2026-11-27T10:00:00 DUE TO NODE FAILURE, SEE " +
		"SLURMCTLD LOG FOR DETAILS ***\n"
	closed := func(node, peer string) string {
		return node + ":10:95 [0] misc/socket.cc:50 NCCL WARN socketProgress: Connection " +
			"closed by remote peer " + peer +
			"<43001>\n"
	}
	for _, c := range []struct{ log, want string }{
		{
			closed("n1", "n7.cluster") + closed("n2", "n7.cluster") + slurm,
			"a node of the job failed, probably n7.cluster",
		},
		{closed("n1", "n7.cluster") + closed("n2", "n8.cluster") + slurm, "a node of the job failed"},
		{slurm, "a node of the job failed"},
	} {
		if what, cause, all := causeOf(t, c.log); what != c.want || cause != "dead-node" {
			t.Errorf("headline = %q, cause %s, want %q, dead-node\n%s", what, cause, c.want, all)
		}
	}
}

// Remedies for programs other than NCCL name no setting of NCCL.
func TestRemediesOfOtherPrograms(t *testing.T) {
	for name, log := range map[string]string{
		"UCX": "[1732694473.123456] [dn1:2231 :0]      ib_mlx5_log.c:171  UCX  ERROR Transport retry count " +
			"exceeded on " +
			"mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)\n",
		"perftest": " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n",
		"modify":   " Failed to modify QP 296 to RTR\n Unable to Connect the HCA's through the link\n",
		"Mooncake": "E0101 10:00:00.000000  100 worker_pool.cpp:282] Worker: Process failed for slice (opcode: 1, " +
			"source_addr: 0x7f0, length: 65536, dest_addr: 0x7f1, local_nic: mlx5_1, peer_nic: " +
			"10.0.0.2:12001@mlx5_1, " +
			"dest_rkey: 0x1, retry_cnt: 0): transport retry counter exceeded\n",
		"verbs": "[3] unexpected completion: id=8589934611 status=IBV_WC_RETRY_EXC_ERR opcode=IBV_WC_RECV " +
			"vendor_err=129\n",
	} {
		if _, _, all := causeOf(t, log); strings.Contains(all, "NCCL_") {
			t.Errorf("%s:\n%s", name, all)
		}
	}
}

// The functions in a backtrace say whose crash it is.
func TestFramesOfNCCL(t *testing.T) {
	const crash = "[n1:10   :0:40] Caught signal 11 (Segmentation fault: address not mapped to object at " +
		"address 0x8)\n" +
		"==== backtrace (tid:     40) ====\n 0  /usr/lib/libucs.so.0(ucs_handle_error+0x2e4) [0x7f0001]\n"
	const nccl = " 1  /usr/lib/libnccl.so.2(ncclTopoGetNetDev+0x10) [0x7f0002]\n"
	if _, got, _ := causeOf(t, crash+nccl); got != "library-defect" {
		t.Errorf("first cause = %s, want library-defect", got)
	}
	if _, got, _ := causeOf(t, crash+" 1  /home/u/prog(main+0x10) [0x7f0002]\n"); got == "library-defect" {
		t.Error("library-defect without a frame of NCCL")
	}
}

// A line that speaks for a cause in two ways is quoted once.
func TestEvidenceOnce(t *testing.T) {
	_, _, all := causeOf(t, "I0520 10:03:24.137327   30847 main.go:39] No devices found.\n")
	if n := strings.Count(all, "for I0520 10:03:24.137327   30847 main.go:39] No devices found."); n != 1 {
		t.Errorf("the line is quoted %d times:\n%s", n, all)
	}
}

// Settings of UCX count as those of the job: protocols that differ between hosts are a finding, and
// other variables, ranks of one host, and equal values are none.
func TestProtocolsOfUCX(t *testing.T) {
	line := func(host, variables string) string {
		return "[1742569326.865301] [" + host + ":53558:0]  parser.c:2335 UCX  INFO  UCX_* env variables: " +
			variables + "\n"
	}
	for _, c := range []struct {
		name, log string
		want      bool
	}{
		{"one without", line("n1", "UCX_PROTO_ENABLE=n UCX_TLS=rc") + line("n2", "UCX_TLS=rc"), true},
		{"two values", line("n1", "UCX_PROTO_ENABLE=n") + line("n2", "UCX_PROTO_ENABLE=y"), true},
		{"equal", line("n1", "UCX_PROTO_ENABLE=n") + line("n2", "UCX_PROTO_ENABLE=n"), false},
		{
			"second without host", line("n1", "UCX_PROTO_ENABLE=n") +
				"parser.c:2335 UCX  INFO  UCX_* env variables: UCX_TLS=rc\n", false,
		},
		{"one host", line("n1", "UCX_PROTO_ENABLE=n") + line("n1", "UCX_TLS=rc"), false},
		{
			"an unknown host",
			"parser.c:2335 UCX  INFO  UCX_* env variables: UCX_TLS=rc\n" + line("n1", "UCX_PROTO_ENABLE=n"), false,
		},
		{"other variables", line("n1", "UCX_NET_DEVICES=mlx5_0:1") + line("n2", "UCX_NET_DEVICES=mlx5_1:1"), false},
	} {
		d := explainAll(t, "job.log", c.log)
		if got := len(d.Findings) > 0 &&
			d.Findings[0].Rule == "RDX-798"; got != c.want ||
			!got && len(d.Findings) > 0 {
			t.Errorf("%s: findings %v, want RDX-798: %v", c.name, d.Findings, c.want)
		}
	}
	d := explainAll(t, "job.log", line("n1", "UCX_TLS=rc UCX_MAX_EAGER_LANES=1")+line("n2", "UCX_TLS=tcp"))
	if !slices.ContainsFunc(d.Facts.Differences, func(x explain.DifferenceDocument) bool {
		return strings.Contains(x.What, "UCX_TLS")
	}) {
		t.Errorf("differences %v, want UCX_TLS", d.Facts.Differences)
	}
}
