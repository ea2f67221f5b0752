package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func perftestQueues() []Symptom {
	return []Symptom{
		{
			ID: "RDX-511", Name: "perftest-create-qp", Title: "perftest could not create its queue pair",
			Explanation: "Before any packet is sent the driver refused the queue pair. Latency tests ask for 220 " +
				"or 236 bytes of inline data by default, which devices such as irdma, siw or rxe may not have; " +
				"many queue pairs or a deep queue exceed limits or locked memory.",
			Sources: []string{ptResources, "linux-rdma/perftest#139"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Perftest, "unable-create-qp", ptResources, "Unable to create QP."),
				says(Perftest, "qp-too-big", ptResources, "Requested QP size might be too big").as(evidence.Origin),
				says(Perftest, "qp-depth", ptResources, "Current TX depth is ", "inline size is ").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Common, "device-limit",
					"the queue pair asks for more than the device has: inline data, depth, or scatter entries",
					"again with -I 0 -t 64; ibv_devinfo -v: max_qp_wr, max_sge",
					"-I 0, or an inline size that the device has; a smaller -t",
					onLine(Strong, "qp-too-big", "perftest says that the size may be too big"),
					Clue{Weight: Hint, Driver: "irdma", Text: "irdma has about 100 bytes of inline data"}),
				maybe(Usual, "memlock", "the limit of locked memory (memlock) is too low for the queues",
					"ulimit -l where perftest runs; rdmactl doctor --only memlock", "ulimit -l unlimited",
					onSeen("verbs/memlock-warning", "libibverbs warns of the limit")),
				maybe(Usual, "driver-refuses",
					"the device doesn't have this transport: iWARP has RC only, EFA SRD and UD only",
					"ibv_devinfo: transport; again with -c RC", "a transport that the device has (-c)"),
				maybe(Rare, "missing-library", "perftest was built with an rdma-core that is too old for this "+
					"device: EFA needs the ibv_wr_* calls", "the line 'ibv_wr* API' of the header; perftest's build",
					"build perftest against the rdma-core (EFA installer) in use", Clue{
						Weight: Strong,
						Driver: "efa", Text: "the device is EFA",
					}),
				maybe(Rare, "resource-limit", "the card or its virtual function has no more queue pairs",
					"rdma resource show; ibv_devinfo -v: max_qp", "fewer queue pairs (-q)"),
			},
		},
		{
			ID: "RDX-512", Name: "perftest-create-cq",
			Title:       "perftest could not create a completion queue or its memory",
			Explanation: "Queues are pinned memory.",
			Sources:     []string{ptResources}, Standing: evidence.Failed,
			Lines: []Line{
				says(Perftest, "create-srq", ptResources, "Couldn't create SRQ").not("XRC"),
				says(Perftest, "create-cqs", ptResources, "Failed to create CQs"),
				says(Perftest, "allocate-pd", ptResources, "Couldn't allocate PD"),
				says(Perftest, "work-buffer", ptResources, "Couldn't allocate work buf"),
			},
			Causes: []Cause{
				maybe(Common, "memlock", "the limit of locked memory (memlock) is too low",
					"ulimit -l where perftest runs; rdmactl doctor --only memlock", "ulimit -l unlimited",
					onSeen("verbs/memlock-warning", "libibverbs warns of the limit")),
				maybe(Usual, "resource-limit", "the device has no more of them", "rdma resource show",
					"fewer queue pairs, a smaller -t and -r"),
				maybe(Rare, "driver-refuses", "the device has no shared receive queues", "again without --use-srq",
					"without --use-srq", onLine(Strong, "create-srq", "a shared receive queue was refused")),
			},
		},
		{
			ID: "RDX-513", Name: "perftest-post", Title: "a work request could not be posted",
			Explanation: "The queue is full, or an earlier error has moved the queue pair to the error state.",
			Sources:     []string{ptResources}, Standing: evidence.Failed,
			Lines: []Line{
				says(Perftest, "post-send-failed", ptResources, "Couldn't post send"),
				says(Perftest, "post-recv-failed", ptResources, "Couldn't post recv"),
				says(Perftest, "post-recv-wqes", ptResources, "Failed to post receive recv_wqes"),
				says(Perftest, "warm-up", ptResources, "Problems with warm up").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Common, "device-limit",
					"more requests than the queue has: the depth, inline size or -l don't fit the device",
					"again with the default -t, -r and -I 0",
					"a smaller -t, -r, -l or inline size",
					onErrno(Strong, "errno 12: the queue is full", "12"),
					onErrno(Hint, "errno 22: an attribute of the request is wrong", "22")),
				maybe(Usual, "driver-refuses", "the driver can't do this operation on this transport",
					"again with ib_send_bw -c RC", "another operation or driver"),
			},
		},
	}
}

func perftestOthers() []Symptom {
	return []Symptom{
		{
			ID: "RDX-514", Name: "perftest-multicast", Title: "perftest could not join a multicast group",
			Explanation: "With -g perftest talks to the subnet manager itself over umad, as root.",
			Sources:     []string{"linux-rdma/perftest, src/multicast_resources.c"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Perftest, "mcast-register", ptResources, "Couldn't Register the Mcast group on the SM"),
				says(Perftest, "mcast-umad", "linux-rdma/perftest, src/multicast_resources.c",
					"failed to open UMAD port ").
					speaks("not-privileged"),
				says(Perftest, "mcast-attach", ptResources, "Couldn't attach QP to MultiCast group").as(evidence.Vague),
				says(Perftest, "mcast-join", ptComm, "Unable to Join Sender to Mcast gid").as(evidence.Vague),
			},
			Causes: []Cause{
				maybe(Usual, "not-privileged", "the user may not open /dev/infiniband/umad*, or ib_umad isn't loaded",
					"ls -l /dev/infiniband/umad*", "as root, with ib_umad loaded"),
				maybe(Usual, "subnet-manager", "the subnet manager refused the group or doesn't answer",
					"rdmactl fabric sm; saquery -g", "a subnet manager that makes the group"),
			},
		},
		{
			ID: "RDX-515", Name: "perftest-data-check", Title: "completions or data were not what perftest expected",
			Explanation: "Flags of a completion, or the contents of a buffer, differ.",
			Sources:     []string{ptResources}, Standing: evidence.Failed,
			Lines: []Line{
				says(Perftest, "completion-flags", ptResources, "A completion with flags mismatch in"),
				says(Perftest, "validation", ptResources, "VALIDATION: FAILED (", "error(s)"),
			},
			Causes: []Cause{
				maybe(Common, "version-mismatch", "the two sides run different releases or options",
					"the releases and options",
					"the same on both sides"),
				maybe(Usual, "card-hardware", "data was damaged on its way",
					"again between other nodes; AER errors in dmesg",
					"replace the part that all bad pairs share", onLine(Strong, "validation", "the contents differ")),
			},
		},
	}
}

func perftestMemory() []Symptom {
	return []Symptom{
		{
			ID: "RDX-516", Name: "perftest-hugepages", Title: "perftest got no huge pages",
			Explanation: "--use_hugepages needs pages that are reserved and free. perftest doesn't say why shmget " +
				"refused.",
			Sources: []string{ptHost, "linux-rdma/perftest#395"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Perftest, "hugepages", ptHost, "Failed to allocate hugepages. Please configure hugepages"),
				says(Perftest, "hugepage-region", ptHost, "Failed to allocate hugepage region").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Common+Usual, "no-hugepages", "no huge pages are reserved, or too few are free",
					"grep Huge /proc/meminfo",
					"sysctl vm.nr_hugepages=N, or without --use_hugepages"),
				maybe(Rare, "shm-limit",
					"no more segments of shared memory are allowed: each queue pair has one with --mr_per_qp",
					"ipcs -lm; sysctl kernel.shmmni against -q; HugePages_Free is above 0",
					"sysctl -w kernel.shmmni=N above the number of queue pairs, or without --mr_per_qp",
					Clue{Weight: Decisive, Seen: "perftest/option-mr-per-qp", Text: "each queue pair takes a segment"}),
			},
		},
		{
			ID: "RDX-517", Name: "perftest-gpu", Title: "perftest could not use the GPU",
			Explanation: "The GPU, its driver or CUDA can't be opened, before any network is concerned.",
			Sources:     []string{ptCUDA}, Standing: evidence.Origin,
			Lines: []Line{
				says(Perftest, "gpu-id", ptCUDA, "No such device ID (", "exists in system"),
				says(Perftest, "gpu-none", ptCUDA, "There are no available device(s) that support"),
				says(Perftest, "gpu-init", ptCUDA, "cuInit(0) returned ").with("cuda", "returned "),
				says(Perftest, "gpu-context", ptResources, "Couldn't init GPU context").as(evidence.Echo),
				says(Perftest, "gpu-ctx-create", ptCUDA, "cuCtxCreate", "() error=").with("cuda", "error="),
				says(Perftest, "gpu-alloc", ptCUDA, "cuMemAlloc", " error=").with("cuda", "error="),
				says(Perftest, "gpu-cudart", ptCUDA, "Failed to load CUDA ", "library").as(evidence.Origin),
			},
			Causes: []Cause{
				maybe(Usual, "gpu-missing",
					"no GPU in this container or job, a wrong index, or a driver that doesn't fit CUDA",
					"nvidia-smi where perftest runs; --use_cuda=INDEX",
					"the GPU in the container (--gpus all), the index, the driver and fabric manager",
					Clue{
						Weight: Strong, Field: "cuda", Is: []string{"100", "101", "802", "803", "999"},
						Text: "CUDA has no usable device",
					},
					onLine(Strong, "gpu-none", "CUDA lists no device"), onLine(Strong, "gpu-id",
						"the index doesn't exist")),
				maybe(Rare, "gpu-memory", "the GPU has no free memory", "nvidia-smi",
					"end other jobs, or smaller sizes",
					Clue{Weight: Strong, Field: "cuda", Is: []string{"2"}, Text: "CUDA error 2: out of memory"}),
				maybe(Rare, "missing-library", "libcuda or libcudart can't be loaded", "ldconfig -p | grep libcuda",
					"the driver's and CUDA's libraries", onLine(Strong, "gpu-cudart", "the library can't be loaded")),
			},
		},
		{
			ID: "RDX-518", Name: "perftest-dmabuf", Title: "DMA-BUF can't be used for the GPU's memory",
			Explanation: "DMA-BUF needs the open kernel modules of NVIDIA's driver, CUDA 11.7 and a kernel of 5.12 " +
				"or later.",
			Sources: []string{ptCUDA}, Standing: evidence.Origin,
			Lines: []Line{
				says(Perftest, "dmabuf-gpu", ptCUDA, "DMA-BUF is not supported on this "),
				says(Perftest, "dmabuf-build", ptHost, "DMABUF requested but not supported in this build"),
				says(Perftest, "dmabuf-handle", ptCUDA, "cuMemGetHandleForAddressRange error="),
				says(Perftest, "dmabuf-export", "linux-rdma/perftest, src/rocm_memory.c",
					"Failed to export dmabuf. "),
				says(Perftest, "dmabuf-cuda-type", ptCUDA,
					"CUDA Memory type is not supported with no odp MR or with dmabuf"),
			},
			Causes: []Cause{
				maybe(Common, "gdr-off", "the GPU's driver can't export memory: proprietary kernel modules, an "+
					"old driver, or CUDA before 11.7",
					"modinfo nvidia | grep license (Dual MIT/GPL is open); rdmactl doctor --only gpudirect",
					"the open kernel modules, or nvidia-peermem without --use_cuda_dmabuf"),
				maybe(Usual, "missing-library", "perftest or rdma-core was built without DMA-BUF",
					"ib_write_bw --help | grep dmabuf",
					"rebuild with rdma-core 34 or later", onLine(Strong+Strong, "dmabuf-build",
						"the build doesn't have it")),
			},
		},
	}
}
