package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

const ncclSocketFile = "misc/socket.cc"

//nolint:funlen // a table
func ncclVerbsSymptoms() []Symptom {
	return []Symptom{
		{
			ID:    "RDX-700",
			Name:  "post-request",
			Title: "the driver refused a request of NCCL",
			Explanation: "ibv_post_send and ibv_post_recv fail at once if the queue is full, the request isn't " +
				"valid for it, or the device is gone; a queue pair in the error state takes requests and flushes " +
				"them. ibv_poll_cq itself fails only with the device or its queue.",
			Sources:  []string{"NVIDIA/nccl, src/include/ibvwrap.h", "rdma-core, ibv_post_send(3)"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("post-send", "include/ibvwrap.h", "ibv_post_send() failed with error"),
				nccl("post-receive", "include/ibvwrap.h", "ibv_post_recv() failed with error"),
				nccl("poll-queue", "include/ibvwrap.h", "Call to ibv_poll_cq() returned"),
			},
			Causes: []Cause{
				{
					Slug: "resource-limit", Title: "the queue is full: it is smaller on this device than NCCL " +
						"expects, or completions are missing",
					Weight: Usual,
					Clues:  []Clue{onErrno(Strong, "the queue has no room", "12")},
					Decide: "ibv_devinfo -v: max_qp_wr; NCCL_IB_QPS_PER_CONNECTION, NCCL_BUFFSIZE",
					Remedy: "a newer driver and firmware; NCCL_IB_QPS_PER_CONNECTION=1",
				},
				{
					Slug: "device-limit", Title: "the device can't do what is asked: inline data, atomics or so " +
						"many entries",
					Weight: Usual,
					Clues:  []Clue{onErrno(Strong, "the request isn't valid for this queue", "22", "95")},
					Decide: "ibv_devinfo -v: max_sge, atomic_cap; NCCL_IB_USE_INLINE",
					Remedy: "NCCL_IB_USE_INLINE=0; another NCCL",
				},
				{
					Slug: "card-firmware", Title: "the device was reset, or its firmware stopped", Weight: Usual,
					Clues:  []Clue{onErrno(Strong, "the device doesn't answer", "5", "19")},
					Decide: "dmesg of the node; rdmactl doctor", Remedy: "reset the card; newer firmware",
				},
				{
					Slug: "dead-peer", Title: "the connection had failed before", Weight: Rare,
					Decide: "the first failure of all ranks", Remedy: "what failed there",
				},
			},
		},
		{
			ID:    "RDX-701",
			Name:  "device-open",
			Title: "NCCL could not open a device of the node, and does without it",
			Explanation: "NCCL leaves out devices that it can't open or query. Ranks then have different devices, " +
				"or use TCP.",
			Sources: []string{"NVIDIA/nccl, src/transport/net_ib/init.cc"},
			Lines: []Line{
				nccl("open-device", "transport/net_ib/init.cc", "NET/IB : Unable to open device").
					with("device", "open device "),
				nccl("query-device", "transport/net_ib/init.cc", "NET/IB : Unable to query device").
					with("device", "query device "),
				nccl("query-port", "transport/net_ib/init.cc", "NET/IB : Unable to query port"),
				nccl("data-direct", "transport/net_ib/init.cc", "Error in mlx5dv_get_data_direct_sysfs_path").
					as(evidence.Harmless),
			},
			Causes: []Cause{
				{
					Slug: "no-device-node", Title: "the container doesn't have the device's /dev/infiniband/uverbsN",
					Weight: Common,
					Decide: "ls -l /dev/infiniband in the container, against ls /sys/class/infiniband",
					Remedy: "the device files of all cards that /sys shows, or NCCL_IB_HCA without the others",
				},
				{
					Slug:   "driver-userspace-mismatch",
					Title:  "rdma-core in the image doesn't fit the kernel's driver",
					Weight: Usual,
					Decide: "ibv_devinfo in the container and on the host",
					Remedy: "the same release of rdma-core or MLNX_OFED",
				},
				{
					Slug: "foreign-device", Title: "the device belongs to another network namespace", Weight: Usual,
					Decide: "rdma system; rdma link in the container", Remedy: "NCCL_IB_HCA with the pod's devices",
				},
			},
		},
		{
			ID: "RDX-702", Name: "socket-accept", Title: "NCCL could not accept a connection",
			Explanation: "accept fails if the process has no descriptor left, if its descriptors were closed by " +
				"something else, or if the other side gave up before.",
			Sources:  []string{"NVIDIA/nccl, src/misc/socket.cc", "NVIDIA/nccl, src/os/linux.cc", "NVIDIA/nccl#1757"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("accept-failed", ncclSocketFile, "ocketTryAccept: Accept failed"),
				nccl("accept-retries", ncclSocketFile, "ocketTryAccept: exceeded error retry count"),
				nccl("accept-errno", ncclSocketFile, "ocketTryAccept: get errno"),
				nccl("accept-old", "include/socket.h", "Call to accept failed"),
			},
			Causes: []Cause{
				fileLimit(Usual, onErrno(Decisive, "the process has no descriptor left", "24", "23"),
					onErrno(-Usual, "", "4", "9", "103")),
				{
					Slug: "program-fault", Title: "something closed NCCL's descriptors: a fork, a second end, " +
						"another library",
					Weight: Usual,
					Clues:  []Clue{onErrno(Strong, "the descriptor isn't open any more", "9", "22")},
					Decide: "strace -f -e close; close_fds of subprocesses; threads that end communicators",
					Remedy: "the program",
				},
				{
					Slug: "signal-interrupts", Title: "a signal interrupts the call, and this release doesn't try " +
						"again",
					Weight: Usual,
					Clues:  []Clue{onErrno(Strong, "a signal came", "4")},
					Decide: "profilers and timers that send signals", Remedy: "a newer NCCL; no interval timers",
				},
				{
					Slug: "dead-peer", Title: "the other side gave up before", Weight: Usual,
					Clues:  []Clue{onErrno(Strong, "the connection was aborted", "103", "104")},
					Decide: "the log of the other rank", Remedy: "what ended it",
				},
			},
		},
		{
			ID: "RDX-703", Name: "subnet-interface", Title: "no interface is in the subnet of the address where " +
				"the ranks meet",
			Explanation: "With NCCL_COMM_ID, and for a root on another network, NCCL looks for an interface in the " +
				"subnet of that address.",
			Sources:  []string{"NVIDIA/nccl, src/misc/socket.cc"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("subnet-none", ncclSocketFile, "No interface found in the same subnet as remote address").
					speaks("interface-choice").with("address", "remote address "),
				nccl("family-unsupported", ncclSocketFile, "nsupported ", "Net : ").warning().any("IP family",
					"address family"),
				nccl("socket-interface", "transport/net_socket.cc", "NET/Socket : no interface found").warning().
					speaks("interface-choice"),
			},
			Causes: []Cause{
				{
					Slug: "interface-choice", Title: "this node has no interface in that network, or " +
						"NCCL_SOCKET_IFNAME names none", Weight: Common,
					Decide: "ip -br address on this node, against the address in the line",
					Remedy: "NCCL_COMM_ID (MASTER_ADDR) with an address of the common network; NCCL_SOCKET_IFNAME " +
						"with the interface in it",
				},
				{
					Slug: "setting-invalid", Title: "NCCL_COMM_ID or NCCL_SOCKET_FAMILY is wrong", Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Variable: "NCCL_COMM_ID"},
						{Weight: Hint, Variable: "NCCL_SOCKET_FAMILY"},
						{Weight: Hint, Line: "family-unsupported"},
					},
					Decide: "env | grep NCCL_", Remedy: "unset them under PyTorch and MPI",
				},
			},
		},
	}
}
