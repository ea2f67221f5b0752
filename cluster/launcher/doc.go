// Package launcher finds out from the environment whether a launcher of distributed programs has
// started this process, as which task of how many:
//
//	task, ok, err := launcher.Detect(os.Getenv)
//	switch {
//	case err != nil: // variables that contradict each other
//	case !ok: // started by hand, by a batch script, or in the shell of an allocation
//	case !task.First(): // another task of this node does the work
//	}
//
// It supports torchrun, Open MPI's mpirun, Hydra (mpiexec of MPICH and Intel MPI), PMIx, Slurm's
// srun, and PMI. Launchers start each other, and a process has the variables of all of them. The
// one that started it is the first of this list whose variables are set: mpirun starts its daemons
// as a step of Slurm, whose rank and size are those of the daemons.
//
// A batch script of Slurm has the variables of a task, including SLURM_PROCID=0, but no
// SLURM_STEP_ID. The shell of an allocation has no SLURM_PROCID or, if it runs on a node of the
// allocation, the number of the interactive step. Neither is a task. A shell of srun --pty is one,
// of a step with a size of 1. A batch script that a task of a step has submitted inherits the
// variables of that step, because sbatch passes its environment on; it can't be recognized as a
// script.
//
// The variables are those that PyTorch, Open MPI and Slurm document; those of Hydra, and what Slurm
// sets in which kind of process, were recorded from MPICH 4.0, Open MPI 4.1 and Slurm 22.05
// (testdata).
//
// The package reads nothing but the variables, keeps no state, and is safe for concurrent use.
package launcher
