package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Sources of the process managers of MPI.
var (
	pmix     = source{Libfabric, "openpmix/openpmix, src/util/pmix_error.h"}
	pmixHelp = source{Libfabric, "openpmix/openpmix, src/runtime/help-pmix-runtime.txt, src/hwloc, src/mca/ptl"}
	mpichPMI = source{Libfabric, "pmodels/mpich, src/pmi/src"}
)

// mpiVersions is the cause that the MPI that starts a job isn't the one of its ranks.
func mpiVersions(weight Weight, clues ...Clue) Cause {
	return Cause{
		Slug:   "version-mismatch",
		Title:  "what starts the job and what the ranks were built with differ: host and container, or two PMIx",
		Weight: weight, Clues: clues,
		Decide: "ompi_info --version and ompi_info | grep -i pmix, on the host and in the container",
		Remedy: "the same release of Open MPI and PMIx in both; one installation in PATH and LD_LIBRARY_PATH",
		Sources: []string{
			"open-mpi/ompi#4848", "apptainer/singularity#3678",
		},
	}
}

func pmiSymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-799", Name: "pmix-error", Title: "PMIx, by which ranks and launcher talk, reports an error",
			Explanation: "Ranks fetch the addresses of others from the server that started them. Client and server " +
				"of different releases can fail in the shared store (dstore, gds) or in the connection (ptl). Some " +
				"releases print a few such lines in jobs that run well.",
			Sources: []string{
				"open-mpi/ompi#4848", "apptainer/singularity#5203", "apptainer/singularity#3678",
				"openpmix/openpmix, src/util/pmix_error.h",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				pmix.says("pmix-lock", "PMIX ERROR: ERROR in file gds_ds", "_lock_").as(evidence.Harmless),
				pmix.says("pmix-unavailable", "PMIX TEMPORARILY UNAVAILABLE in file").speaks("version-mismatch"),
				pmix.says("pmix-store", "PMIX ERROR: ", " in file ").any("dstore/", "gds_ds", "gds_shmem").
					not("_lock_"),
				pmix.says("pmix-resources", "PMIX ERROR: OUT-OF-RESOURCE in file ").not("dstore/", "gds_ds").
					speaks("shm-too-small"),
				pmix.says("pmix-unpack", "PMIX ERROR: UNPACK-").speaks("version-mismatch"),
				pmix.says("pmix-pack", "PMIX ERROR: PACK-MISMATCH").speaks("version-mismatch"),
				pmix.says("pmix-support", "PMIX ERROR: NOT-SUPPORTED"),
				pmix.says("pmix-bad-parameter", "PMIX ERROR: BAD-PARAM"),
				pmixHelp.says("pmix-init", "It looks like pmix_init failed for some reason"),
				pmixHelp.says("pmix-backing-file", "PMIx was unable to create a shared memory backing file").
					as(evidence.Failed).speaks("shm-too-small"),
				pmixHelp.says("pmix-plugins", "We were unable to find any usable plugins for the ").
					as(evidence.Failed).speaks("missing-library"),
				pmixHelp.says("pmix-interface", "WARNING: An invalid value was given for pmix_ptl_base_if_").
					speaks("host-interface"),
			},
			Causes: []Cause{
				mpiVersions(Common, onLine(Hint, "pmix-store", "")),
				shmTooSmall(Rare),
				{
					Slug: "launcher", Title: "the ranks were started by something that isn't their PMIx server",
					Weight: Usual, Decide: "srun --mpi=list; env | grep PMIX",
					Remedy: "srun --mpi=pmix, or mpirun of the same installation",
				},
				{
					Slug: "missing-library", Title: "components of PMIx aren't found", Weight: Rare,
					Decide: "echo $PMIX_PREFIX $OPAL_PREFIX; ls of lib/pmix",
					Remedy: "the whole installation at its place, or PMIX_PREFIX; unset those of another one",
				},
				{
					Slug: "host-interface", Title: "an interface is named that this node doesn't have", Weight: Rare,
					Decide: "ip -br addr", Remedy: "--pmixmca ptl_base_if_include with one that it has",
				},
			},
		},
		{
			ID: "RDX-800", Name: "pmi-none",
			Title: "ranks of MPICH or Intel MPI found no process manager that suits them",
			Explanation: "srun offers PMI-1, PMI-2 or PMIx, as --mpi says, and the library must speak the same. A " +
				"rank that finds none runs alone, as 0 of 1.",
			Sources: []string{
				"pmodels/mpich#6924", "openpmix/openpmix#1115", "hpc/charliecloud#197", "pmodels/mpich, src/pmi/src",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				mpichPMI.says("pmi-singleton", "PMII_singinit: "),
				mpichPMI.says("pmi-attempted", "This singleton init program attempted to access some feature"),
				mpichPMI.says("pmi-mpiexec", "But the necessary mpiexec is not in your path"),
				mpichPMI.says("pmi-launcher", "launcher not compatible with PMI"),
				mpichPMI.says("pmi-init", "PMI_Init returned ").speaks("launcher"),
				mpichPMI.says("pmi2-init", "PMI2_Init returned ").speaks("launcher"),
				mpichPMI.says("pmi-failed", "PMI_Init failed"),
				mpichPMI.says("pmi-appnum", "PMI_Get_appnum returned ").speaks("launcher"),
				mpichPMI.says("pmi-line", "write_line error; fd=", "buf=:cmd=").as(evidence.Echo),
				mpichPMI.says("pmi-host", " not supported by PMIx Host"),
			},
			Causes: []Cause{
				{
					Slug: "launcher", Title: "srun and the library speak different PMI (PMI-1, PMI-2, PMIx)",
					Weight: Common,
					Decide: "srun --mpi=list; scontrol show config | grep MpiDefault; echo $I_MPI_PMI_LIBRARY",
					Remedy: "srun --mpi=pmi2 (MPICH built with Slurm's PMI-2), I_MPI_PMI_LIBRARY of Intel MPI with " +
						"libpmi2.so and not libpmix.so; or mpiexec; SLURM_MPI_TYPE=pmi2 for containers",
				},
				mpiVersions(Rare, onText(Hint, "returned -1", "")),
			},
		},
	}
}
