package codes

// errnoMeaning is what an error number means for an operation.
type errnoMeaning struct {
	op      Operation
	number  int
	link    Link // only for this one
	meaning string
	causes  []string
	sources []string
}

// anyNumber stands for every number that has no row.
const anyNumber = -1

// Files of the kernel that set the numbers.
const (
	addrC  = "Linux, drivers/infiniband/core/addr.c"
	cacheC = "Linux, drivers/infiniband/core/cache.c"
	umemC  = "Linux, drivers/infiniband/core/umem.c"
)

var (
	neighbourCauses = []string{
		"the two ports are on networks that aren't connected to each other, such as two rails",
		"the GID is a link-local one or that of another interface: wrong GID index",
		"VLAN or mode of the switch port, or a cable in another port",
	}
	routeCauses = []string{
		"no route from that interface to the peer: a gateway or rule for the rail is missing",
		"the GID belongs to another network: wrong GID index",
	}
	namespaceCauses = []string{
		"the container sees an RDMA device whose network interface is in another network namespace",
		"the device has no network interface, or it has been removed",
	}
	invalidCauses = []string{
		"the GID index is beyond the table, empty (kernels before 5.11), or of another kind than the peer's GID " +
			"(IPv4 and IPv6)",
		"the path MTU is larger than the port's active MTU",
		"the port isn't active, or a LID is set on RoCE or left out on InfiniBand",
		"the driver refuses this change of state",
	}
	memlockCauses = []string{
		"the limit of locked memory (ulimit -l) of the process: that of its service or container, not of your shell",
		"no memory for the registration itself, or the card's limit of memory regions",
	}
	limitCauses = []string{
		"the limit of locked memory (ulimit -l)",
		"the card's or virtual function's limit of queues is reached",
	}
	permissionCauses = []string{
		"the container lacks a capability (IPC_LOCK, NET_RAW) or the device cgroup denies the device",
	}
)

// errnoMeanings are looked up in order. The first block is what the kernel does on RoCE when it
// looks for the peer: rdma_addr_find_l2_eth_by_grh in addr.c asks for the GID's interface, a route
// and a neighbour within one second; rdma_get_gid_attr in cache.c reads the GID table.
var errnoMeanings = []errnoMeaning{
	{
		op: ModifyQPToRTR, number: 110, link: LinkRoCE, causes: neighbourCauses,
		meaning: "On RoCE: the peer's address was not answered (ARP or neighbour discovery) within a second.",
		sources: []string{addrC, "NVIDIA/nccl#769", "NVIDIA/nccl#2013"},
	},
	{
		op: ModifyQPToRTR, number: 101, link: LinkRoCE, causes: routeCauses,
		meaning: "On RoCE: the GID's interface has no route to the peer's address.",
		sources: []string{addrC, "NVIDIA/nccl-tests#185"},
	},
	{
		op: ModifyQPToRTR, number: 113, link: LinkRoCE, causes: routeCauses,
		meaning: "On RoCE: the route to the peer's address is marked unreachable.",
		sources: []string{addrC},
	},
	{
		op: ModifyQPToRTR, number: 19, link: LinkRoCE, causes: namespaceCauses,
		meaning: "On RoCE: the GID's network interface is gone, or not in this network namespace.",
		sources: []string{addrC, cacheC, "NVIDIA/nccl#925", "NVIDIA/nccl#799"},
	},
	{
		op: ModifyQPToRTR, number: 61, link: LinkRoCE,
		meaning: "The entry of the GID table is empty (kernels before 5.11 return EINVAL here).",
		causes: []string{
			"a GID index is forced, and the table has changed after a link or address event",
			"the interface has no address, so the table has only the default GIDs",
		},
		sources: []string{cacheC},
	},
	{
		op: ModifyQPToRTR, number: 61, meaning: "The entry of the GID table is empty.",
		causes: []string{"the GID index is wrong"}, sources: []string{cacheC},
	},
	{
		op: ModifyQPToRTR, number: 22, causes: invalidCauses, meaning: "An attribute of the queue pair was refused.",
		sources: []string{cacheC, addrC, "NVIDIA/nccl#622", "kvcache-ai/Mooncake#721"},
	},
	{
		op: ModifyQPToRTR, number: 12, causes: limitCauses, meaning: "The kernel or the card is out of a resource.",
	},
	{
		op: ModifyQPToRTR, number: 1, causes: permissionCauses, meaning: "The process isn't permitted to do this.",
		sources: []string{"sgl-project/sglang#12533"},
	},
	{
		op: ModifyQPToRTR, number: 13, causes: permissionCauses, meaning: "The process has no access to the device.",
		sources: []string{"sgl-project/sglang#12533"},
	},
	{
		op: ModifyQPToRTR, number: 110, link: LinkInfiniBand, sources: []string{addrC},
		meaning: "On InfiniBand the kernel looks for no peer in this step: a wrong LID shows as status 12 later. The " +
			"device that failed is probably another one, of RoCE, or the command to the card timed out.",
		causes: []string{
			"another port, of RoCE, is used than the one that was meant",
			"the card's firmware didn't answer: look in the kernel's log",
		},
	},
	{
		op: ModifyQPToRTR, number: 101, link: LinkInfiniBand, sources: []string{addrC},
		meaning: "On InfiniBand the kernel looks for no route: the device that failed is probably another one, " +
			"of RoCE.",
		causes: []string{"another port, of RoCE, is used than the one that was meant"},
	},
	{
		op: ModifyQPToRTR, number: 113, link: LinkInfiniBand, sources: []string{addrC},
		meaning: "On InfiniBand the kernel looks for no route: the device that failed is probably another one, " +
			"of RoCE.",
		causes: []string{"another port, of RoCE, is used than the one that was meant"},
	},
	{
		op: ModifyQPToRTR, number: 19, link: LinkInfiniBand,
		meaning: "The device is gone or being reset.",
		causes:  []string{"the card was removed or reset: look in the kernel's log"},
	},
	{
		op: ModifyQPToRTR, number: anyNumber, link: LinkIWARP,
		meaning: "On iWARP queue pairs are connected by rdma_cm over TCP; a program that moves them to RTR itself " +
			"doesn't support iWARP.",
		causes: []string{"the program exchanges addresses itself and was written for InfiniBand or RoCE"},
	},

	{
		op: CreateAH, number: 110, link: LinkRoCE, causes: neighbourCauses,
		meaning: "On RoCE: the peer's address was not answered (ARP or neighbour discovery) within a second.",
		sources: []string{addrC, "openucx/ucx#9971"},
	},
	{op: CreateAH, number: 101, link: LinkRoCE, causes: routeCauses, sources: []string{addrC}, meaning: "No route."},
	{op: CreateAH, number: 113, link: LinkRoCE, causes: routeCauses, sources: []string{addrC}, meaning: "No route."},
	{
		op: CreateAH, number: 19, link: LinkRoCE, causes: namespaceCauses, sources: []string{addrC},
		meaning: "The GID's network interface is gone, or not in this network namespace.",
	},
	{
		op: CreateAH, number: 22, causes: []string{
			"the GID index is beyond the table or empty, or the GIDs of the two ends are of different kinds",
			"no GRH is given on RoCE", "a port that isn't configured is used",
		},
		meaning: "An attribute of the address handle was refused.", sources: []string{cacheC, "openucx/ucx#9970"},
	},
	{op: CreateAH, number: 12, causes: limitCauses, meaning: "The kernel or the card is out of a resource."},

	{
		op: RegisterMemory, number: 12, causes: memlockCauses, sources: []string{umemC, "NVIDIA/nccl-tests#206"},
		meaning: "The memory could not be locked.",
	},
	{
		op: RegisterMemory, number: 14, sources: []string{umemC, "Mellanox/nv_peer_memory#36"},
		meaning: "The address isn't memory of this process that can be pinned.",
		causes: []string{
			"it is GPU memory, and no module for peer memory (nvidia-peermem) claims it",
			"the memory was freed or never mapped", "memory mapped without write permission",
		},
	},
	{
		op: RegisterMemory, number: 22, sources: []string{umemC, "Mellanox/gpu_direct_rdma_access#5"},
		meaning: "Address, length or access rights were refused.",
		causes: []string{
			"GPU memory of an allocator that the module for peer memory doesn't support",
			"remote write or atomics without local write", "length 0, or a range that wraps around",
		},
	},
	{
		op: RegisterMemory, number: 1, sources: []string{umemC},
		meaning: "The process may not lock memory: its limit is 0 and it lacks the capability IPC_LOCK.",
		causes:  []string{"ulimit -l is 0", "the container lacks IPC_LOCK"},
	},
	{
		op: RegisterMemory, number: 95, sources: []string{umemC},
		meaning: "The kind of registration isn't supported.", causes: []string{"on-demand paging is not available"},
	},

	{
		op: RegisterDMABuf, number: 95, meaning: "The driver doesn't support registering a DMA-BUF.",
		causes: []string{"an older kernel or driver than the feature", "a device without on-demand paging or DMA-BUF"},
	},
	{
		op: RegisterDMABuf, number: 93, meaning: "The kernel doesn't know this call.",
		causes: []string{"an older kernel or driver than the feature"}, sources: []string{"linux-rdma/perftest#346"},
	},
	{
		op: RegisterDMABuf, number: 22, meaning: "File descriptor, offset, length or access rights were refused.",
		causes: []string{
			"the exporter (GPU driver) refuses to be mapped by this device",
			"the range isn't aligned to pages",
		},
	},
	{op: RegisterDMABuf, number: 12, causes: memlockCauses[1:], meaning: "Out of memory or of memory regions."},

	{
		op: CreateCQ, number: 12, causes: limitCauses, meaning: "Not enough memory for the queue, or no queue left.",
		sources: []string{"NVIDIA/nccl#1191"},
	},
	{
		op: CreateCQ, number: 22, meaning: "The size or the completion vector was refused.",
		causes: []string{"more entries than max_cqe of the device", "a vector beyond num_comp_vectors"},
	},
	{
		op: CreateQP, number: 12, causes: limitCauses,
		meaning: "Not enough memory for the queues, or no queue pair left.",
		sources: []string{"NVIDIA/nccl#1191", "deepseek-ai/DeepEP#649"},
	},
	{
		op: CreateQP, number: 22, meaning: "A capability was refused.",
		causes: []string{
			"more requests, entries or inline data than the device allows",
			"a type that it doesn't support",
		},
	},
	{
		op: CreateQP, number: 95, meaning: "The device doesn't support this type of queue pair or option.",
		causes: []string{"a type of queue pair that the driver lacks"},
	},

	{
		op: OpenDevice, number: 2, meaning: "The device file /dev/infiniband/uverbsN doesn't exist here.",
		causes: []string{"the container wasn't given /dev/infiniband", "the module ib_uverbs isn't loaded"},
	},
	{op: OpenDevice, number: 13, causes: permissionCauses, meaning: "No permission for the device file."},
	{op: OpenDevice, number: 1, causes: permissionCauses, meaning: "The device cgroup denies the device."},
	{
		op: OpenDevice, number: 19, meaning: "The device is gone, or no library for its driver was found.",
		causes: []string{"the provider library of rdma-core is missing in the image", "the card was reset or removed"},
	},
	{op: OpenDevice, number: 12, causes: limitCauses, meaning: "Out of memory or of doorbell pages."},
	{
		op: OpenDevice, number: 5, meaning: "The device didn't answer.",
		causes: []string{"the card is in an error state: look in the kernel's log"},
	},

	{
		op: PostSend, number: 12, meaning: "The send queue is full.",
		causes: []string{"more requests are posted than completions are polled", "the queue is too short"},
	},
	{
		op: PostSend, number: 22, meaning: "The request was refused.",
		causes: []string{
			"the queue pair isn't in the state RTS", "too many elements or too much inline data",
			"an operation that the queue pair's type doesn't have",
		},
	},
	{
		op: PostSend, number: 14, meaning: "The request points to an invalid address.",
		causes: []string{"a defect of the program"},
	},
	{
		op: PostSend, number: 5, meaning: "The device can't take requests.",
		causes: []string{"the card is in an error state: look in the kernel's log"},
	},

	{
		op: SocketConnect, number: 111, meaning: "The host answered that nothing listens on the port.",
		causes: []string{
			"the peer's process has ended or not started",
			"the address is that of another interface (docker0, a private " +
				"network): NCCL_SOCKET_IFNAME", "a firewall that rejects",
		},
		sources: []string{"connect(2)", "NVIDIA/nccl-tests#162"},
	},
	{
		op: SocketConnect, number: 113, meaning: "There is no way to the host, or a firewall says so (ICMP).",
		causes: []string{
			"a firewall between the nodes or on the peer", "the address is on a network that this node isn't on",
			"the host is down: its neighbour address wasn't answered",
		},
		sources: []string{"connect(2)"},
	},
	{
		op: SocketConnect, number: 101, meaning: "No route to the peer's network.",
		causes:  []string{"a missing route", "an address of a private network, such as that of a container"},
		sources: []string{"connect(2)"},
	},
	{
		op: SocketConnect, number: 110, meaning: "No answer at all.",
		causes:  []string{"a firewall that drops", "the wrong interface or address", "the host is down"},
		sources: []string{"connect(2)"},
	},
	{
		op: SocketConnect, number: 104, meaning: "The peer has closed the connection abruptly: its process has ended.",
		causes: []string{"the peer failed before: look at its log"}, sources: []string{"connect(2)"},
	},
	{
		op: SocketConnect, number: 115, meaning: "Not an error: a connection of a non-blocking socket is under way.",
		sources: []string{"connect(2)"},
	},
	{
		op: SocketConnect, number: 99, meaning: "The local address isn't one of this node, or no local port is free.",
		causes:  []string{"the interface has no address of this family", "local ports used up"},
		sources: []string{"connect(2)"},
	},

	{
		op: ResolveAddress, number: 19, causes: []string{
			"the address belongs to an interface without an RDMA device in this network namespace",
			"the RDMA device is in another network namespace",
		},
		meaning: "No RDMA device goes with the interface that leads to the address.",
		sources: []string{"Mellanox/k8s-rdma-sriov-dev-plugin#18"},
	},
	{
		op: ResolveAddress, number: 110, causes: neighbourCauses, sources: []string{addrC},
		meaning: "The peer's neighbour address was not answered in time.",
	},
	{
		op: ResolveAddress, number: 99, causes: []string{"the source address isn't one of this node"},
		meaning: "The source address could not be used.",
	},
	{
		op: ResolveAddress, number: 101, causes: routeCauses, sources: []string{addrC},
		meaning: "No route to the address.",
	},
	{
		op: ResolveAddress, number: 113, causes: routeCauses, sources: []string{addrC},
		meaning: "No route to the address.",
	},

	{
		op: AnyOperation, number: 1, meaning: "Not permitted: a capability or the device cgroup.",
		causes: permissionCauses,
	},
	{op: AnyOperation, number: 2, meaning: "A file or device doesn't exist in this mount namespace."},
	{op: AnyOperation, number: 5, meaning: "The device or the kernel failed: the kernel's log says more."},
	{op: AnyOperation, number: 11, meaning: "Not now: try again. Usually handled by the program."},
	{
		op: AnyOperation, number: 12, meaning: "Out of memory, of locked memory, or of a resource of the card.",
		causes: limitCauses,
	},
	{
		op: AnyOperation, number: 13, meaning: "No access by file permissions or security policy.",
		causes: permissionCauses,
	},
	{op: AnyOperation, number: 14, meaning: "An address that isn't mapped or can't be pinned."},
	{op: AnyOperation, number: 16, meaning: "In use by somebody else."},
	{op: AnyOperation, number: 19, meaning: "The device or network interface is gone, or not in this namespace."},
	{op: AnyOperation, number: 22, meaning: "An argument was refused. The number doesn't say which one."},
	{op: AnyOperation, number: 61, meaning: "An entry is empty; for RDMA, that of a GID table."},
	{op: AnyOperation, number: 93, meaning: "The kernel doesn't know the protocol or call."},
	{op: AnyOperation, number: 95, meaning: "Kernel, driver or device don't support this."},
	{op: AnyOperation, number: 98, meaning: "The address or port is in use by another socket."},
	{op: AnyOperation, number: 99, meaning: "The address isn't one of this node."},
	{op: AnyOperation, number: 101, meaning: "No route to the network."},
	{op: AnyOperation, number: 103, meaning: "The connection was given up by this side's software."},
	{op: AnyOperation, number: 104, meaning: "The peer has closed the connection abruptly: its failure comes first."},
	{op: AnyOperation, number: 107, meaning: "The socket isn't connected any more: the peer's failure comes first."},
	{op: AnyOperation, number: 110, meaning: "No answer in time: of a host, a neighbour, or the card's firmware."},
	{op: AnyOperation, number: 111, meaning: "The host answered that nothing listens on the port."},
	{op: AnyOperation, number: 113, meaning: "No way to the host, or a firewall says so."},
	{
		op: AnyOperation, number: 121,
		meaning: "A command was refused by the device: with mlx5 DevX, by the firmware; its syndrome says more.",
		sources: []string{"openucx/ucx#8687", "NVIDIA/nvshmem#45"},
	},
}
