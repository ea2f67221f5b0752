package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func oldUserSpace(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug:   "driver-userspace-mismatch",
		Title:  "rdma-core here doesn't fit the kernel's driver: too old, or the one of another OFED than the host's",
		Weight: weight, Clues: clues,
		Decide: "ofed_info -s on the host; rpm -q rdma-core (dpkg -l rdma-core, libibverbs1) in the container; " +
			"rdmactl doctor --only verbs-abi",
		Remedy: "a current rdma-core, or the user space of the same OFED in the image; meanwhile UCX_TLS=rc,ud (no " +
			"DC), UCX_IB_MLX5_DEVX=n",
		Sources: []string{"openucx/ucx#5749"},
	}
}

func ucxDeviceSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-439", Name: "ucx-mlx5-objects",
			Title: "the card or its library refuses an object that UCX makes for mlx5",
			Explanation: "UCX makes DC queue pairs and other objects through the mlx5 provider of rdma-core and " +
				"DevX. An old or foreign provider, or firmware without DC, refuses them though the port works.",
			Sources: []string{"openucx/ucx, src/uct/ib/mlx5/dc/dc_mlx5.c", "openucx/ucx#5749", "openucx/ucx#5351"},
			Lines: []Line{
				{
					Name: "dct", Program: UCX, All: []string{"mlx5dv_create_qp(", "DCT", "failed"},
					Source: "openucx/ucx, src/uct/ib/mlx5/dc/dc_mlx5.c",
				},
				{
					Name: "dci", Program: UCX, All: []string{"mlx5dv_create_qp(", "DCI", "failed"},
					Source: "openucx/ucx, src/uct/ib/mlx5/dc/dc_mlx5.c",
				},
				{
					Name: "dct-modify", Program: UCX, All: []string{"error modifying DCT to "},
					Source: "openucx/ucx, src/uct/ib/mlx5/dc/dc_mlx5.c",
				},
				{
					Name: "devx-missing", Program: UCX, All: []string{"DEVX requested but not supported"},
					Source: "openucx/ucx, src/uct/ib/mlx5/dv/ib_mlx5dv_md.c",
				},
				{
					Name: "devx-uar", Program: UCX, All: []string{"UAR allocation types are not supported"},
					Source: "openucx/ucx, src/uct/ib/mlx5/dv/ib_mlx5dv_md.c",
				},
				{
					Name: "mlx5-parameters", Program: UCX,
					All:    []string{"mlx5 device parameters not suitable for transport "},
					Source: "openucx/ucx, src/uct/ib/mlx5/ib_mlx5.c",
				},
				{
					Name: "exp-verbs", Program: UCX, All: []string{"undefined symbol: ibv_exp_"},
					Source: "glibc, elf/dl-lookup.c", Standing: evidence.Origin,
					Speaks: []string{"driver-userspace-mismatch"},
				},
				{
					Name: "rc-qp", Program: UCX, All: []string{"rc_iface.c:", "failed to create qp: "},
					Source: "openucx/ucx 1.4, src/uct/ib/rc/base/rc_iface.c",
				},
				{
					Name: "exp-qp", Program: UCX, All: []string{"ibv_exp_create_qp(", "failed"},
					Source: "openucx/ucx 1.6, src/uct/ib/base/ib_iface.c",
				},
				{
					Name: "mlx5-symbol", Program: UCX, All: []string{"undefined symbol: mlx5dv_"},
					Source: "glibc, elf/dl-lookup.c", Standing: evidence.Origin,
					Speaks: []string{"driver-userspace-mismatch"},
				},
				{
					Name: "ibv-symbol", Program: UCX, All: []string{"symbol lookup error", "undefined symbol: ibv_"},
					Source: "glibc, elf/dl-lookup.c", Standing: evidence.Origin,
					Speaks: []string{"driver-userspace-mismatch"},
				},
			},
			Standing: evidence.Failed,
			Causes: []Cause{
				oldUserSpace(Common, Clue{Weight: Hint, Field: "errno", Is: []string{"22", "95", "38", "71"}}),
				{
					Slug: "memlock", Title: "the limit of locked memory (memlock) of the process is too low",
					Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"12"}}},
					Decide: "ulimit -l in the job; rdmactl doctor --only memlock",
					Remedy: "memlock unlimited for the service that starts the job",
				},
				{
					Slug: "resource-limit", Title: "the card or virtual function has no more queue pairs",
					Weight: Rare,
					Clues: []Clue{
						{Weight: Hint, Field: "errno", Is: []string{"12", "28"}}, onErrno(Strong, "", "11"),
					},
					Decide: "rdma resource show",
					Remedy: "fewer processes; UCX_TLS=dc or ud, which need fewer queue pairs; UCX_DC_MLX5_NUM_DCI",
				},
				{
					Slug: "not-privileged", Title: "the container may not use DevX", Weight: Rare,
					Clues: []Clue{
						{
							Weight: Hint, Line: "devx-missing",
						}, {
							Weight: Strong, Field: "errno", Is: []string{"1", "13"},
						},
					},
					Decide: "CapEff of /proc/self/status: NET_RAW", Remedy: "CAP_NET_RAW, or UCX_IB_MLX5_DEVX=n",
				},
				{
					Slug: "card-firmware", Title: "the card's firmware lacks the feature, or has it disabled",
					Weight: Rare,
					Decide: "ibv_devinfo -v | grep -i fw_ver; mlxconfig -d DEVICE q",
					Remedy: "current firmware; UCX_TLS=rc,ud",
				},
			},
		},
		{
			ID: "RDX-440", Name: "ucx-open-device", Title: "UCX can't open or query the RDMA device",
			Explanation: "The device is listed in /sys, but its file in /dev/infiniband is missing, not permitted, " +
				"or of a driver that the library doesn't know.",
			Sources: []string{"openucx/ucx, src/uct/ib/base/ib_md.c", "openucx/ucx, src/uct/ib/base/ib_device.c"},
			Lines: []Line{
				{
					Name: "open-device", Program: UCX, All: []string{"ibv_open_device(", " failed: "},
					Fields: []Field{{Name: "device", After: "ibv_open_device("}},
					Source: "openucx/ucx, src/uct/ib/base/ib_md.c",
				},
				{
					Name: "query-device", Program: UCX, All: []string{"ibv_query_device", ") returned "},
					Source: "openucx/ucx, src/uct/ib/base/ib_verbs.h",
				},
				{
					Name: "comp-channel", Program: UCX, All: []string{"ibv_create_comp_channel() failed: "},
					Source: "openucx/ucx, src/uct/ib/base/ib_iface.c",
				},
			},
			Standing: evidence.Failed,
			Causes: []Cause{
				ucxNoDevice(Common, Clue{Weight: Hint, Field: "errno", Is: []string{"2", "6", "19"}}),
				{
					Slug: "not-privileged", Title: "the process may not open /dev/infiniband/uverbs*", Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"1", "13"}}},
					Decide: "ls -l /dev/infiniband; the device cgroup of the container",
					Remedy: "the device's permission (0666), --device /dev/infiniband, or the RDMA device plugin",
				},
				oldUserSpace(Usual, Clue{Weight: Hint, Field: "errno", Is: []string{"22", "95", "38", "71"}}),
				{
					Slug:    "resource-limit",
					Title:   "the card has no contexts (pages of its BAR) left for so many processes of the node",
					Weight:  Usual,
					Clues:   []Clue{onErrno(Strong, "", "12", "11", "28")},
					Decide:  "the same with fewer ranks per node; dmesg: alloc_uar or lines of mlx5_core",
					Remedy:  "fewer ranks per node; UCX_TLS=rc_verbs or ud_verbs; a larger PF_LOG_BAR_SIZE (mstconfig)",
					Sources: []string{"openucx/ucx#2963"},
				},
				fileLimit(Rare, onErrno(Strong, "", "24", "23")),
			},
		},
		{
			ID: "RDX-438", Name: "ucx-gid", Title: "UCX can't use the GID of the port",
			Explanation: "The index of UCX_IB_GID_INDEX is beyond the table or empty, or no GID lies in " +
				"UCX_IB_ROCE_SUBNET_LIST. In a container the table is empty where the interface is elsewhere.",
			Sources: []string{"openucx/ucx, src/uct/ib/base/ib_device.c"}, Standing: evidence.Failed,
			Lines: []Line{
				{
					Name: "gid-subnet", Program: UCX, All: []string{"failed to find a gid which matches/unmatches"},
					Source: "openucx/ucx, src/uct/ib/base/ib_device.c", Speaks: []string{"setting-invalid"},
				},
				{
					Name: "gid-invalid", Program: UCX, All: []string{"invalid gid[", "] on "},
					Fields: []Field{{Name: "gidIndex", After: "invalid gid["}},
					Source: "openucx/ucx, src/uct/ib/base/ib_device.c",
				},
				{
					Name: "gid-query", Program: UCX, All: []string{"ibv_query_gid(dev=", ") failed: "},
					Fields: []Field{{Name: "device", After: "(dev="}, {Name: "gidIndex", After: "index="}},
					Source: "openucx/ucx, src/uct/ib/base/ib_device.c",
				},
			},
			Causes: []Cause{
				{
					Slug: "gid-index", Title: "UCX_IB_GID_INDEX doesn't fit this port", Weight: Common,
					Clues:  []Clue{{Weight: Strong, Variable: "UCX_IB_GID_INDEX"}},
					Decide: "rdmactl show DEVICE: the table; rdmactl doctor --only gid-index",
					Remedy: "UCX_IB_GID_INDEX=auto, or the index of the RoCE v2 GID with IPv4",
				},
				{
					Slug: "gid-empty", Title: "the entry of the GID table is empty", Weight: Usual,
					Decide: "rdmactl show DEVICE",
					Remedy: "an IP address on the interface, in the same network namespace",
				},
				{
					Slug: "foreign-device", Title: "the card's interface is in another network namespace",
					Weight: Usual,
					Decide: "rdmactl detect in the container", Remedy: "the interface in the pod, or host networking",
				},
				{
					Slug: "setting-invalid", Title: "UCX_IB_ROCE_SUBNET_LIST names no subnet of this port",
					Weight: Rare,
					Decide: "env | grep UCX_IB_ROCE; ip -br addr", Remedy: "the subnet of the rail, or unset it",
				},
			},
		},
		{
			ID: "RDX-444", Name: "ucx-async-event", Title: "UCX saw an error event of the RDMA device",
			Explanation: "The driver reports it: a port that went down, a fatal error of the card, or a queue that " +
				"failed.",
			Sources: []string{"openucx/ucx, src/uct/ib/base/ib_device.c"}, Standing: evidence.Failed,
			Lines: []Line{
				{
					Name: "event-port", Program: UCX, All: []string{"IB Async event on ", "port error"},
					Fields: []Field{{Name: "device", After: "IB Async event on "}},
					Source: "openucx/ucx, src/uct/ib/base/ib_device.c", Speaks: []string{"link-flap"},
				},
				{
					Name: "event-fatal", Program: UCX,
					All:    []string{"IB Async event on ", "local catastrophic error"},
					Fields: []Field{{Name: "device", After: "IB Async event on "}}, Standing: evidence.Origin,
					Source: "openucx/ucx, src/uct/ib/base/ib_device.c", Speaks: []string{"card-firmware"},
				},
				{
					Name: "event-queue", Program: UCX, All: []string{"IB Async event on ", "access violation"},
					Fields: []Field{{Name: "device", After: "IB Async event on "}},
					Source: "openucx/ucx, src/uct/ib/base/ib_device.c", Speaks: []string{"stale-rkey"},
				},
			},
			Causes: []Cause{
				{
					Slug: "link-flap", Title: "the link went down", Weight: Common,
					Decide: "dmesg of the node; rdmactl doctor --only link-downed,port-active",
					Remedy: "cable, transceiver, switch",
				},
				{
					Slug: "card-firmware", Title: "the card's firmware stopped", Weight: Rare,
					Decide: "dmesg | grep mlx5_core: health; rdmactl doctor --only devlink-health",
					Remedy: "reset, firmware",
				},
				{
					Slug: "stale-rkey", Title: "a peer accessed memory that isn't registered any more", Weight: Rare,
					Decide: "the program's lifetime of buffers", Remedy: "deregister after the last access",
				},
			},
		},
	}
}
