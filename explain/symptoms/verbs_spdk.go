package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func spdkSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-536", Name: "spdk-connect", Title: "SPDK's NVMe-oF initiator could not connect over RDMA",
			Explanation: "The address must be one of the target's RDMA interface and reachable from an RDMA " +
				"interface of this node.",
			Sources:  []string{vbNVMe, "spdk/spdk#2604", "spdk/spdk#2356", "spdk/spdk#2686"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "spdk-address", vbNVMe, "RDMA address resolution error").speaks("overlay-address"),
				says(Verbs, "spdk-host-devices", vbNVMe, "rdma_get_devices() failed", "nvme_rdma").
					speaks("driver-not-loaded"),
				says(Verbs, "spdk-route", vbNVMe, "RDMA route resolution error").speaks("rails-not-connected"),
				says(Verbs, "spdk-event", vbNVMe, "Expected RDMA_CM_EVENT_",
					" but received RDMA_CM_EVENT_").with("event", "but received "),
				says(Verbs, "spdk-connect-error", vbNVMe, "nvme rdma connect error").as(evidence.Echo),
				says(Verbs, "spdk-connect-number", vbNVMe, "RDMA connect error "),
				says(Verbs, "spdk-resolve", vbNVMe, "nvme_rdma_resolve_addr() failed").as(evidence.Echo),
				says(Verbs, "spdk-rqpair", vbNVMe, "Failed to connect rqpair=").as(evidence.Echo),
				says(Verbs, "spdk-stale", vbNVMe, "give up stale connection to qpair").speaks("dead-peer"),
				says(Verbs, "spdk-trtype", "spdk/spdk, lib/nvme/nvme.c", "NVMe trtype ",
					" not available").decides("missing-library"),
				says(Verbs, "spdk-transport", "spdk/spdk, lib/nvmf/transport.c",
					"Transport type 'RDMA' unavailable").decides("missing-library"),
			},
			Causes: []Cause{
				maybe(Usual, "overlay-address",
					"the target's address, or the way to it, isn't on an RDMA interface of this node",
					"ip route get ADDRESS; rdma link",
					"the address of the target's RDMA interface; a route over the RDMA interface",
					Clue{
						Weight: Strong, Field: "event", Is: []string{"RDMA_CM_EVENT_ADDR_ERROR"},
						Text: "the address was not resolved",
					}),
				maybe(Usual, "nobody-listens", "the target doesn't listen there, or rejects the connection",
					"the target's log and nvmf_subsystem_get_listeners",
					"start the listener on that address and port",
					Clue{
						Weight: Strong, Field: "event", Is: []string{"RDMA_CM_EVENT_REJECTED"},
						Text: "the target rejected it",
					}),
				maybe(
					Rare,
					"driver-not-loaded",
					"this node has no RDMA device: no driver, no soft RDMA, no provider",
					"rdma link; ibv_devices",
					"load the card's driver, rdma link add for rxe or siw, or use NVMe/TCP",
				),
				maybe(Rare, "udp-blocked", "the target doesn't answer", "rdmactl doctor --probe PEER",
					"the path between the ports",
					Clue{
						Weight: Strong, Field: "event", Is: []string{"RDMA_CM_EVENT_UNREACHABLE"},
						Text: "no answer",
					}),
				maybe(Rare, "rails-not-connected", "no path from this interface to the target",
					"ping -I INTERFACE ADDRESS", "address, VLAN and route",
					Clue{
						Weight: Strong, Field: "event", Is: []string{"RDMA_CM_EVENT_ROUTE_ERROR"},
						Text: "no route",
					}),
				maybe(Rare, "dead-peer", "the target ended the connection or restarted", "the target's log",
					"what it says",
					Clue{
						Weight: Strong, Field: "event", Is: []string{"RDMA_CM_EVENT_DISCONNECTED"},
						Text: "the target disconnected",
					}),
				maybe(Rare, "bad-nic", "the device was removed or reset", "dmesg of this node", "what dmesg says",
					Clue{
						Weight: Decisive, Field: "event", Is: []string{"RDMA_CM_EVENT_DEVICE_REMOVAL"},
						Text: "the device went away",
					}),
				maybe(Rare, "missing-library", "SPDK was built without RDMA", "configure's options",
					"./configure --with-rdma, with rdma-core's headers"),
			},
		},
		{
			ID: "RDX-537", Name: "spdk-memory", Title: "SPDK could not register memory or make queues",
			Explanation: "SPDK registers its huge pages with each device. Queues also lock memory, and devices " +
				"have limits of regions and queues.",
			Sources:  []string{vbUtils, vbNVMf, "spdk/spdk#902", "spdk/spdk#1258", "spdk/spdk#1747"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "spdk-reg-mr", vbUtils, "*ERROR*: ibv_reg_mr() failed"),
				says(Verbs, "spdk-translation", vbUtils, "No translation for ptr ").speaks("program-usage"),
				says(Verbs, "spdk-translation-rc", vbNVMe, "memory translation failed, rc ").as(evidence.Echo),
				says(Verbs, "spdk-map", vbNVMe, "Unable to register RDMA memory translation map"),
				says(Verbs, "spdk-create-qp", "spdk/spdk, lib/rdma_provider", "rdma_create_qp failed: errno "),
				says(Verbs, "spdk-create-qpair", "spdk/spdk, lib/rdma_provider", "Failed to create qp", ", errno "),
				says(Verbs, "spdk-create-cq", vbNVMe, "Unable to create completion queue"),
				says(
					Verbs,
					"spdk-create-srq",
					vbNVMf,
					"Unable to create shared receive queue, errno ",
				).speaks("device-limit"),
				says(Verbs, "spdk-resize-cq", vbNVMf, "RDMA CQ resize failed: errno "),
				says(Verbs, "spdk-resize", vbNVMf, "Failed to resize the completion queue"),
				says(Verbs, "spdk-cqe", vbNVMf, "RDMA CQE requirement (",
					"exceeds device max_cqe").decides("device-limit"),
				says(Verbs, "spdk-iwarp", vbNVMf, "iWARP doesn't support CQ resize").speaks("driver-refuses"),
				says(Verbs, "spdk-qpair", vbNVMf, "Failed to initialize nvmf_rdma_qpair").as(evidence.Echo),
				says(Verbs, "spdk-attributes", vbNVMe, "Failed to query RDMA device attributes").speaks("bad-nic"),
			},
			Causes: []Cause{
				maybe(Usual, "memlock", "the limit of locked memory is too low", "ulimit -l where SPDK runs",
					"ulimit -l unlimited",
					onErrno(Strong, "errno 12: cannot allocate memory", "12"), onSeen("verbs/memlock-warning",
						"libibverbs warns of the limit")),
				maybe(Usual, "resource-limit",
					"the device has no more memory regions or queues: DPDK's memory comes in many pieces",
					"rdma resource show; ibv_devinfo -v: max_mr, max_qp",
					"memory in one piece (-s SIZE with --single-file-segments, or 1 GiB pages); fewer queue pairs",
					onErrno(Hint, "errno 12", "12"), onLine(Strong, "spdk-reg-mr", "a registration was refused")),
				maybe(Rare, "device-limit", "queues are deeper than the device allows",
					"ibv_devinfo -v: max_qp_wr, max_cqe, max_srq_wr",
					"nvmf_create_transport with smaller -q, -s, and -r or no SRQ", onErrno(Strong,
						"errno 22: an attribute was refused", "22")),
				maybe(Rare, "program-usage",
					"a buffer isn't in SPDK's memory: it was allocated with malloc, or is freed",
					"the program's buffers",
					"spdk_dma_malloc or spdk_mem_register"),
				maybe(Rare, "driver-refuses",
					"the device can't do what SPDK needs: iWARP and some drivers can't resize a completion queue",
					"ibv_devinfo: transport; the driver (cxgb4, irdma, i40iw)",
					"nvmf_create_transport --num-cqe large enough from the start; fewer queue pairs per poll group, "+
						"or a "+
						"RoCE device", onLine(Strong, "spdk-resize", "a completion queue can't be resized"),
					onLine(Strong, "spdk-resize-cq", "a completion queue can't be resized")),
				maybe(Rare, "bad-nic", "the device is gone or its interface was restarted", "ibv_devinfo; dmesg",
					"restart the program after the network"),
			},
		},
		{
			ID: "RDX-538", Name: "nvmf-keep-alive",
			Title: "the target refuses the keep-alive timeout of a discovery controller",
			Explanation: "RDMA works: the target refuses the Connect command. Older targets accept no keep-alive " +
				"timeout on discovery controllers, and newer kernels and nvme-cli send one.",
			Sources: []string{"spdk/spdk#1089", "linux-nvme/nvme-cli#867"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Verbs, "spdk-kato", vbNVMfC, "iscovery controller",
					"keep-alive timeout").decides("version-mismatch"),
			},
			Causes: []Cause{
				maybe(Common, "version-mismatch", "the host's kernel or nvme-cli sends a keep-alive timeout to a "+
					"discovery controller of a target that is too old to accept it",
					"the releases of target, kernel and nvme-cli",
					"a newer target (SPDK 20.01 or later), or discovery without keep-alive (nvme discover -k 0)"),
			},
		},
		{
			ID: "RDX-539", Name: "nvmf-refused", Title: "the NVMe-oF target refuses the host",
			Explanation: "The RDMA connection works; the target's configuration doesn't let the host in, or the " +
				"command doesn't fit it.",
			Sources: []string{vbNVMfC, "spdk/spdk, lib/nvmf/subsystem.c", "spdk/spdk#173"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Verbs, "spdk-host", vbNVMfC, " does not allow host 'nqn."),
				says(Verbs, "spdk-no-subsystem", vbNVMfC, "Could not find subsystem 'nqn."),
				says(Verbs, "spdk-listener", vbNVMfC, "I/O connect is on a listener different from admin connect"),
				says(Verbs, "spdk-qid", vbNVMfC, "Requested QID ", "but Max QID is "),
				says(Verbs, "spdk-sqsize", vbNVMfC, "Invalid SQSIZE ").
					speaks("setting-invalid", "library-defect"),
				says(Verbs, "spdk-recfmt", vbNVMfC, "Connect command unsupported RECFMT").speaks("version-mismatch"),
				says(Verbs, "spdk-unknown-ctrlr", vbNVMfC, "*ERROR*: Unknown controller ID ").speaks("dead-peer"),
				says(Verbs, "spdk-before-enabled", vbNVMfC, "Got I/O connect before ctrlr was enabled").
					speaks("version-mismatch"),
				says(Verbs, "spdk-duplicate-qid", vbNVMfC, "Got I/O connect with duplicate QID").speaks("dead-peer"),
				says(Verbs, "spdk-nqn", "spdk/spdk, lib/nvmf/subsystem.c", "Invalid NQN \""),
				says(Verbs, "spdk-capsule", vbNVMf, "In-capsule data length ", "exceeds capsule length"),
				says(Verbs, "spdk-read", vbNVMf,
					"doesn't support RDMA_READ or atomic operations").speaks("driver-refuses"),
				says(Verbs, "spdk-ctrlr-create", vbNVMfC, "nvmf_ctrlr_create() failed").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Common, "target-refuses", "the target's configuration doesn't accept the host: its NQN, the "+
					"subsystem's name, or the listener",
					"rpc.py nvmf_get_subsystems on the target; /etc/nvme/hostnqn on the host",
					"nvmf_subsystem_add_host, or -a (any host); the right subsystem and listener"),
				maybe(Rare, "setting-invalid", "the host asks for deeper queues than the target's transport has",
					"the number after max in the line; max_queue_depth of the target's transport",
					"nvme connect --queue-size below it; nvmf_create_transport -q with more"),
				maybe(
					Rare,
					"library-defect",
					"host and target count the size from 0 and from 1: a defect of old "+
						"SPDK or Linux",
					"is the size in the line the one after max?",
					"a newer target; nvme connect --queue-size one less",
				),
				maybe(Rare, "version-mismatch", "host and target are of too different releases",
					"the releases of both", "a newer target or host"),
				maybe(Rare, "dead-peer", "the earlier controller is gone: the target was restarted, or keep-alive "+
					"ran out", "the target's log before that", "disconnect and connect again"),
				maybe(Rare, "driver-refuses", "the host's device takes no RDMA reads",
					"ibv_devinfo -v: max_qp_rd_atom", "another device or driver"),
			},
		},
	}
}
