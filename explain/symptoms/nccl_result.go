package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

const ncclFirstLine = "the first NCCL WARN line of all ranks; NCCL_DEBUG=INFO if there is none"

//nolint:funlen // a table
func ncclResultSymptoms() []Symptom {
	return []Symptom{
		{
			ID:    "RDX-356",
			Name:  "wrong-results",
			Title: "the collectives return wrong data",
			Explanation: "nccl-tests compares results. Wrong values come from transfers that corrupt data, not " +
				"from the program.",
			Sources:  []string{"NVIDIA/nccl-tests, src/util.cu", "NVIDIA/nccl, release 2.18.3"},
			Standing: evidence.Origin,
			Lines: []Line{
				{
					Name: "out-of-bounds", Program: NCCL, All: []string{"Out of bounds values", " FAILED"},
					Source: "NVIDIA/nccl-tests, src/util.cu",
				},
			},
			Causes: []Cause{
				{
					Slug:   "gpu-p2p",
					Title:  "peer to peer between GPUs corrupts data: IOMMU, ACS, or a patched driver",
					Weight: Common,
					Decide: "the same with NCCL_P2P_DISABLE=1; then NCCL_NET_GDR_LEVEL=0, NCCL_PROTO=Simple: what " +
						"ends the errors",
					Remedy: "IOMMU off or iommu=pt, ACS off; no P2P on GPUs without it",
				},
				{
					Slug: "gpu-hardware", Title: "a GPU or link is faulty", Weight: Usual,
					Decide: "the test on each pair of GPUs; dcgmi diag -r 3; nvidia-smi -q -d ECC",
					Remedy: "replace the GPU",
				},
				{
					Slug: "acs", Title: "GPU Direct RDMA goes through the CPU or an IOMMU, or without ordering",
					Weight: Usual,
					Clues: []Clue{
						{
							Weight: Hint, Seen: "nccl.gdr", SeenField: "enabled", SeenIs: []string{"yes"},
							Text: "GPU Direct RDMA is used",
						},
					},
					Decide: "NCCL_NET_GDR_LEVEL=LOC to test; rdmactl doctor --only acs,iommu",
					Remedy: "ACS off on the switches between GPU and card",
				},
				{
					Slug: "library-defect", Title: "a defect of the release (LL128, CollNet or symmetric kernels)",
					Weight: Rare,
					Decide: "NCCL_PROTO=Simple, NCCL_ALGO=Ring to test", Remedy: "the last patch release",
				},
			},
		},
		{
			ID: "RDX-358", Name: "proxy-echo", Title: "another rank of the node ended, and NCCL's proxy noticed",
			Explanation: "The proxy threads of the ranks of a node talk to each other. What they report follows " +
				"from a rank that ended or aborted.",
			Sources:  []string{"NVIDIA/nccl, src/proxy.cc"},
			Standing: evidence.Echo,
			Lines: []Line{
				nccl("proxy-type", "proxy.cc", "[Service thread] Could not receive type from localRank"),
				nccl("proxy-accept", "proxy.cc", "[Service thread] Accept failed"),
				nccl("proxy-recv", "proxy.cc", "Socket recv failed while polling for opId="),
				nccl("proxy-command", "proxy.cc", "[Service thread] Unknown command"),
				nccl("proxy-poll", "proxy.cc", "[Proxy Service] Poll failed"),
				nccl("proxy-unlink", "proxy.cc", "[Service thread] shm "),
				nccl("proxy-device", "proxy.cc", "] Failed to set CUDA device "),
				nccl("proxy-context", "proxy.cc", "] Failed to set CUDA context on device"),
				nccl("proxy-destroy", "proxy.cc", "ncclProxyStop: comm"),
				nccl("proxy-post", "proxy.cc", "Unable to post incomplete proxy op chain"),
			},
			Causes: []Cause{
				{
					Slug: "dead-peer", Title: "a rank of the node ended or aborted", Weight: Common,
					Decide: "the log of the rank that ended first", Remedy: "what ended it",
				},
				{
					Slug: "version-mismatch", Title: "ranks run different copies of the library", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Line: "proxy-command"}},
					Decide: "the version lines of all ranks", Remedy: "one version",
				},
			},
		},
		{
			ID: "RDX-359", Name: "result-only", Title: "a call of NCCL failed, and the lines don't say why",
			Explanation: "The result says only which kind of call failed. NCCL writes the reason in a line NCCL " +
				"WARN before, if NCCL_DEBUG is WARN or INFO.",
			Sources: []string{
				"NVIDIA/nccl, src/init.cc", "pytorch/pytorch, torch/csrc/distributed/c10d/NCCLUtils.cpp",
			},
			Standing: evidence.Echo,
			Lines: []Line{
				nccl("result-system", "init.cc", "unhandled system error"),
				nccl("result-cuda", "init.cc", "unhandled cuda error"),
				nccl(
					"result-internal",
					"init.cc",
					"internal error - please report this issue to the NCCL developers",
				),
				nccl("result-usage", "init.cc", "invalid usage (run with NCCL_DEBUG"),
				nccl("result-argument", "init.cc", "invalid argument (run with NCCL_DEBUG"),
				nccl("result-remote", "init.cc", "remote process exited or there was a network error"),
			},
			Causes: []Cause{
				{
					Slug: "shm-too-small", Title: "/dev/shm of the container is too small", Weight: Rare,
					Clues:  []Clue{{Weight: Usual, Line: "result-system", Text: "a call of the system failed"}},
					Decide: "df -h /dev/shm in the container; " + ncclFirstLine, Remedy: "--shm-size=16g",
				},
				{
					Slug: "gpu-memory", Title: "the GPU has no memory left", Weight: Rare,
					Clues:  []Clue{{Weight: Usual, Line: "result-cuda", Text: "a call of CUDA failed"}},
					Decide: "nvidia-smi during the start; " + ncclFirstLine,
					Remedy: "leave memory to NCCL; end stale processes",
				},
				{
					Slug: "gpu-p2p", Title: "peer to peer between the GPUs doesn't work", Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Line: "result-cuda", Text: "a call of CUDA failed"}},
					Decide: "NCCL_P2P_DISABLE=1 to test; " + ncclFirstLine,
					Remedy: "IOMMU and ACS off; NCCL_P2P_DISABLE=1",
				},
				{
					Slug: "interface-choice", Title: "no or the wrong interface for TCP", Weight: Rare,
					Clues: []Clue{
						{Weight: Hint, Line: "result-system", Text: "a call of the system failed"},
						{Weight: Usual, Line: "result-internal", Text: "a check of NCCL failed"},
						{Weight: Hint, Variable: "NCCL_SOCKET_IFNAME"},
					},
					Decide: "NCCL_SOCKET_IFNAME against ip -br address; " + ncclFirstLine,
					Remedy: "NCCL_SOCKET_IFNAME with the nodes' common interface",
				},
				{
					Slug: "local-rank", Title: "two ranks use one GPU", Weight: Rare,
					Clues:  []Clue{{Weight: Usual, Line: "result-usage", Text: "NCCL calls the usage invalid"}},
					Decide: "LOCAL_RANK and CUDA_VISIBLE_DEVICES of all ranks; " + ncclFirstLine,
					Remedy: "one GPU for each rank",
				},
				programUsage(Rare, "the program calls NCCL with wrong arguments", ncclFirstLine, "the program",
					Clue{Weight: Strong, Line: "result-argument", Text: "NCCL refuses an argument"}),
				{
					Slug: "dead-peer", Title: "another rank ended", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Line: "result-remote", Text: "the other end is gone"}},
					Decide: "the first failure of all ranks: " + ncclFirstLine, Remedy: "what ended it",
				},
			},
		},
	}
}

func ncclHarmlessSymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-322", Name: "nccl-fallbacks",
			Title: "NCCL does without a feature that isn't there: no fault by itself",
			Explanation: "NCCL probes features and goes on without those that the platform lacks. The lines are of " +
				"jobs that work.",
			Sources: []string{
				"NVIDIA/nccl, src/misc/cudawrap.cc", "NVIDIA/nccl, src/transport/p2p.cc",
				"NVIDIA/nccl, src/transport/nvls.cc",
			},
			Standing: evidence.Harmless,
			Lines: []Line{
				nccl("cumem-host-fallback", "misc/cudawrap.cc",
					"cuMem host allocations do not appear to be working; falling back"),
				nccl("p2p-not-enabled", "transport/p2p.cc", "Could not enable P2P between dev"),
				nccl("nvls-none", "transport/nvls.cc", "NVLS multicast support is not available on dev"),
				nccl("ras-continue", "bootstrap.cc", "Continuing in spite of a RAS initialization error"),
				nccl("ras-terminating", "ras/ras.cc", "RAS thread terminating"),
				nccl("shm-retry", "os/linux.cc", "Failed to extend /dev/shm", "retrying"),
				nccl("proxy-context-old", "proxy.cc", "Unable to create thread context due to old driver"),
				rcclLine("numa-balancing", "init.cc", "NUMA auto balancing enabled which can lead to variability"),
				rcclLine("msccl-files", "misc/msccl/msccl_lifecycle.cc",
					"MSCCL Internal Scheduler: Unable to find algorithm files"),
				nccl(
					"fastsocket-cpu",
					"",
					"Cannot get incoming CPU",
				).from("google/nccl-fastsocket, net_fastsocket.cc"),
				nccl("fastsocket-retry", "", "Maximum retry reached for ").warning().
					from("google/nccl-fastsocket, net_fastsocket.cc"),
			},
		},
	}
}
