package launcher

import "strings"

// torchrun reads what the agent of torchrun sets for its workers
// (torch/distributed/elastic/agent/server/local_elastic_agent.py). A group is the workers of an
// agent, and there is one agent on each node.
func torchrun(v *variables) Task {
	t := v.task(numbers{
		rank: v.needed("RANK"), size: v.needed("WORLD_SIZE"),
		localRank: v.needed("LOCAL_RANK"), localSize: v.needed("LOCAL_WORLD_SIZE"),
		node: v.needed("GROUP_RANK"), nodes: v.needed("GROUP_WORLD_SIZE"),
	})
	if id := v.env("TORCHELASTIC_RUN_ID"); id != "none" { // the default of --rdzv-id
		t.Job = id
	}
	t.LeaderHost = v.host("MASTER_ADDR")
	return t
}

// openMPI reads what mpirun documents ("Environment variables set for MPI applications").
// OMPI_COMM_WORLD_NODE_RANK is no number of a node, but a rank among the tasks of all jobs on it.
func openMPI(v *variables) Task {
	rank := v.needed("OMPI_COMM_WORLD_RANK")
	t := v.task(numbers{
		rank: rank, size: v.needed("OMPI_COMM_WORLD_SIZE"),
		localRank: v.number("OMPI_COMM_WORLD_LOCAL_RANK"), localSize: v.number("OMPI_COMM_WORLD_LOCAL_SIZE"),
	})
	v.equal(rank, v.number("PMIX_RANK"))
	t.Job = v.env("PMIX_NAMESPACE")
	return t
}

// hydra reads what mpiexec of MPICH and Intel MPI set.
func hydra(v *variables) Task {
	return v.task(numbers{
		rank: v.needed("PMI_RANK"), size: v.needed("PMI_SIZE"),
		localRank: v.number("MPI_LOCALRANKID"), localSize: v.number("MPI_LOCALNRANKS"),
	})
}

// pmix reads what a server of PMIx sets for its clients (PMIx_server_setup_fork). They get all
// other information by asking it.
func pmix(v *variables) Task {
	t := v.task(numbers{rank: v.needed("PMIX_RANK")})
	t.Job = v.env("PMIX_NAMESPACE")
	return t
}

// ofSlurm reports whether srun --mpi=pmix has set a namespace of PMIx: slurm.pmix.JOB.STEP.
func ofSlurm(namespace string) bool { return strings.HasPrefix(namespace, "slurm.pmix.") }

// pmi reads what launchers for MPICH set; HPE's PALS also has the local ones.
func pmi(v *variables) Task {
	t := v.task(numbers{
		rank: v.needed("PMI_RANK"), size: v.needed("PMI_SIZE"),
		localRank: v.number("PMI_LOCAL_RANK"), localSize: v.number("PMI_LOCAL_SIZE"),
	})
	t.Job = v.env("PMI_JOBID")
	return t
}
