package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

const (
	cpStack = "ceph/ceph, src/msg/async/rdma/RDMAStack.cc"
	cpAsync = "ceph/ceph, src/msg/async/AsyncConnection.cc"
)

// cephRuntime is about Ceph's RDMA messenger after its start.
func cephRuntime() []Symptom {
	return []Symptom{
		{
			ID: "RDX-859", Name: "ceph-assert", Title: "Ceph's RDMA messenger ended its daemon by an assertion",
			Explanation: "The messenger checks what verbs return by assertions: the daemon ends where another " +
				"program would print an error. Each connection takes files: its own and those of its queues.",
			Sources: []string{cpAsync, cpStack, "ceph/ceph#69614"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "ceph-no-socket", cpAsync, "assert(socket.fd() >= 0)", "FAILED ").
					speaks("file-limit", "setting-invalid"),
				says(Verbs, "ceph-assert-channel", cpStack, "/msg/async/rdma/", "FAILED ").any("assert(tx_cc)",
					"assert(rx_cc)").speaks("file-limit"),
				says(Verbs, "ceph-assert-queue", cpStack, "/msg/async/rdma/", "FAILED ").any("assert(tx_cq)",
					"assert(rx_cq)", "assert(m)", "assert(mr").speaks("memlock"),
				says(Verbs, "ceph-assert", cpStack, "/msg/async/rdma/", "FAILED ", "assert(").not("assert(tx_c",
					"assert(rx_c", "assert(m)", "assert(mr"),
			},
			Causes: []Cause{
				maybe(Usual, "file-limit", "the limit of open files is too low for the number of connections",
					"systemctl show ceph-osd@0 -p LimitNOFILE; ls /proc/PID/fd | wc -l", "LimitNOFILE=1048576"),
				maybe(Rare, "setting-invalid", "ms_async_rdma_cm without ms_async_rdma_type = iwarp: the sockets have "+
					"no queue pair", "ceph config show osd.0 | grep ms_async_rdma",
					"ms_async_rdma_cm = false, or ms_async_rdma_type = iwarp"),
				maybe(Rare, "memlock", "the limit of locked memory of the daemon is too low",
					"systemctl show ceph-osd@0 -p LimitMEMLOCK", "LimitMEMLOCK=infinity in the units of ceph-*",
					onSeen("verbs/ceph-memlock", "Ceph warns of the limit")),
				maybe(Usual, "library-defect", "a defect of this release of Ceph's RDMA messenger, which is little "+
					"used",
					"the release; the same without async+rdma", "a later release, or ms_type = async+posix"),
			},
		},
		{
			ID: "RDX-860", Name: "ceph-retries", Title: "Ceph lost RDMA connections to a peer that didn't answer",
			Explanation: "The messenger prints no status for a transport retry error: this line stands for it.",
			Sources:     []string{cpStack}, Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "ceph-retry", cpStack, "connection between server and client not working"),
			},
			Causes: []Cause{
				maybe(Usual, "dead-peer", "the peer's daemon ended or was restarted", "the peer's log at that time",
					"what it says"),
				maybe(Usual, "udp-blocked", "RDMA packets don't arrive: UDP 4791 is dropped, or the networks aren't "+
					"connected", "rdmactl doctor --probe PEER", "the path"),
				maybe(Usual, "gid-index", "the daemons use different or unroutable GIDs",
					"show_gids; ms_async_rdma_local_gid, ms_async_rdma_roce_ver", "the RoCE v2 GID on all nodes"),
				maybe(Rare, "congestion", "packets are dropped under load", "rdmactl counters: out_of_sequence, "+
					"packet_seq_err", "flow control (PFC or ECN) throughout"),
			},
		},
	}
}
