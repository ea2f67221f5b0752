package launcher

import "fmt"

// Names of launchers.
const (
	Torchrun = "torchrun" // PyTorch's
	OpenMPI  = "Open MPI" // mpirun
	Hydra    = "Hydra"    // mpiexec of MPICH and Intel MPI
	PMIx     = "PMIx"     // prun and others
	Slurm    = "Slurm"    // srun
	PMI      = "PMI"      // others that start MPICH programs
)

// Task describes this process as a task of a launcher's job.
type Task struct {
	Launcher string // Torchrun, OpenMPI, Hydra, PMIx, Slurm or PMI

	Rank int // from 0
	Size int // tasks; 0 if unknown, with PMIx

	LocalRank int // among the tasks of this node, from 0; -1 if unknown, with PMIx and PMI
	LocalSize int // tasks on this node; 0 if unknown

	Node  int // index of this node, from 0; -1 if unknown, with MPI on several nodes
	Nodes int // 0 if unknown

	// Job identifies the job, and the step if the launcher has steps, to people: 4711.0, or "" if
	// unknown. It is no secret.
	Job string
	// LeaderHost is the host of rank 0, a name or an address, "" if unknown.
	LeaderHost string
}

// First reports whether the task is the first one of its node. It is false for all tasks if the
// launcher sets no local ranks; LocalRank is -1 then.
func (t Task) First() bool { return t.LocalRank == 0 }

// Detect returns the task that the environment describes, or false if no launcher has started this
// process. env returns the value of a variable, "" if it is not set, as [os.Getenv] does. Values
// that are missing, out of range, or contradict each other are errors, which name them.
func Detect(env func(string) string) (Task, bool, error) {
	for _, l := range launchers() {
		v := &variables{env: env}
		present := l.present(v)
		if v.err == nil && !present {
			continue
		}
		task := Task{LocalRank: -1, Node: -1}
		if v.err == nil {
			task = l.read(v)
		}
		if v.err != nil {
			return Task{}, false, fmt.Errorf("detect launcher: %s: %w", l.name, v.err)
		}
		task.Launcher = l.name
		return task, true, nil
	}
	return Task{}, false, nil
}

// launcher is a kind of launcher.
type launcher struct {
	name    string
	present func(*variables) bool
	read    func(*variables) Task
}

// launchers returns all of them, those first that are started by others.
func launchers() []launcher {
	return []launcher{
		{Torchrun, func(v *variables) bool { return v.env("TORCHELASTIC_RUN_ID") != "" }, torchrun},
		{OpenMPI, func(v *variables) bool { return v.any("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE") }, openMPI},
		// srun --mpi=pmi2 sets the first two as well.
		{Hydra, func(v *variables) bool { return v.any("PMI_RANK", "PMI_SIZE") && v.any("MPI_LOCALRANKID") }, hydra},
		{PMIx, func(v *variables) bool { return v.any("PMIX_RANK") && !ofSlurm(v.env("PMIX_NAMESPACE")) }, pmix},
		{Slurm, inStep, slurm},
		{PMI, func(v *variables) bool { return v.any("PMI_RANK", "PMI_SIZE") }, pmi},
	}
}
