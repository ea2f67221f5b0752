package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Sources of UCC.
var (
	uccBasic = source{Libfabric, "openucx/ucc, src/components/cl/basic"}
	uccUCP   = source{Libfabric, "openucx/ucc, src/components/tl/ucp"}
	uccShm   = source{Libfabric, "openucx/ucc 1.3, src/components/tl/shm/tl_shm_team.c"}
	uccCUDA  = source{Libfabric, "openucx/ucc, src/components/tl/cuda"}
)

func uccSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-780", Name: "ucc-team", Title: "UCC could not make a team of the ranks",
			Explanation: "Contexts of its transport layers are there, but none takes the team. A layer that failed " +
				"says why in its own line; layers leave out teams of a size that they don't support, and a team of " +
				"one needs the layer self.",
			Sources: []string{
				"openucx/ucc#567", "openucx/ucc#1041", "openucx/ucc, src/components/cl/basic/cl_basic_team.c",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				uccBasic.says("ucc-no-tl-teams", "no tl teams were created"),
				uccCore.says("ucc-no-teams", "o CL teams were created"),
				uccCore.says("ucc-size", "min supported team size is ").speaks("library-defect").
					as(evidence.Failed),
				uccCore.says("ucc-size-max", "max supported team size is ").speaks("launcher-ranks").
					as(evidence.Failed),
				uccCore.says("ucc-epilog", "ctx create epilog for ", " failed").speaks("environment-differs").
					as(evidence.Failed),
			},
			Causes: []Cause{
				{
					Slug:   "library-defect",
					Title:  "the team has one rank only, which releases without the layer self refuse",
					Weight: Usual, Clues: []Clue{onLine(Hint, "ucc-no-tl-teams", "")},
					Decide: "the number of ranks; UCC_LOG_LEVEL=debug: why each layer refuses",
					Remedy: "a release of UCC with the layer self (1.1 or later), or no UCC for communicators of one",
					Sources: []string{
						"openucx/ucc#567",
					},
				},
				{
					Slug: "environment-differs", Title: "a layer could be opened on some ranks only", Weight: Usual,
					Clues:  []Clue{onSeen("libfabric/ucc-tl-context", "a layer could not be opened here")},
					Decide: "UCC_LOG_LEVEL=debug on all ranks: the layers of each",
					Remedy: "leave the layer out everywhere: UCC_CL_BASIC_TLS=^mlx5",
					Sources: []string{
						"openucx/ucc#1041",
					},
				},
				{
					Slug: "setting-invalid", Title: "UCC_TLS or UCC_CLS leave no layer that suits the team",
					Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Variable: "UCC_TLS"}, {Weight: Strong, Variable: "UCC_CLS"}},
					Decide: "env | grep UCC_", Remedy: "without UCC_TLS and UCC_CLS",
				},
				{
					Slug: "launcher-ranks", Title: "the team is larger than the layer supports", Weight: Rare,
					Decide: "the sizes in the line", Remedy: "fewer ranks, or another layer",
				},
			},
		},
		{
			ID: "RDX-781", Name: "ucc-layer", Title: "a transport layer of UCC failed",
			Explanation: "UCC's layers are UCX (TL_UCP), shared memory (TL_SHM), NCCL, CUDA. Open MPI goes on " +
				"without UCC if it is told so: --mca coll_ucc_enable 0.",
			Sources: []string{
				"openucx/ucx#10055", "NVIDIA/nccl-tests#218", "openucx/ucc, src/components/tl",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				uccShm.says("ucc-shm-attach", "Child failed to attach to shmseg").speaks("ipc-namespace"),
				uccShm.says("ucc-shmat", "failed to shmat ", "errno"),
				uccCUDA.says("ucc-shmget", "failed to shmget with IPC_PRIVATE").speaks("shm-limit"),
				uccShm.says("ucc-shmdt", "TL_SHM ERROR shmdt failed").as(evidence.Echo),
				uccUCP.says("ucc-connect", "ucp returned connect error: ").speaks("interface-choice"),
				uccUCP.says("ucc-connect-team", "failed to connect team ep").as(evidence.Echo).
					speaks("interface-choice"),
				uccUCP.says("ucc-message", "TL_UCP ERROR tag ", "errmsg ").as(evidence.Echo).
					speaks("dead-peer"),
				uccCUDA.says("ucc-device", "CUDA device mismatch, ").decides("local-rank"),
			},
			Causes: []Cause{
				{
					Slug:   "ipc-namespace",
					Title:  "ranks on one host are in different containers, and take each other for neighbours",
					Weight: Usual, Clues: []Clue{onLine(Hint, "ucc-shmat", "")},
					Decide: "ls -l /proc/PID/ns/ipc of both ranks; the host's name in both containers",
					Remedy: "one container for all ranks of a node, or --ipc=host; else UCC_TLS=ucp, or " +
						"--mca coll_ucc_enable 0, and UCX_TLS without shm",
					Sources: []string{"openucx/ucx#10055"},
				},
				{
					Slug: "interface-choice", Title: "UCX takes a device or address that doesn't lead to the peer",
					Weight: Usual,
					Decide: "UCX_LOG_LEVEL=info: the device of the inter-node configuration",
					Remedy: "UCX_NET_DEVICES with the device that all nodes reach (also for tcp: eth0)",
				},
				{
					Slug: "dead-peer", Title: "the peer has ended", Weight: Rare,
					Decide: "the first rank that ends", Remedy: "what ended it",
				},
				{
					Slug: "shm-limit", Title: "limits of System V shared memory", Weight: Rare,
					Decide: "ipcs -l; ipcs -m", Remedy: "kernel.shmmax, kernel.shmall, kernel.shmmni; ipcrm leftovers",
				},
				{
					Slug: "local-rank", Title: "the program changed the GPU after UCC was started, or ranks share one",
					Weight: Rare,
					Decide: "cudaSetDevice in the program", Remedy: "set the device before MPI_Init or the group",
				},
			},
		},
	}
}
