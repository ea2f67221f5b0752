package launcher_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/launcher"
)

// environments returns those of a file of testdata by their names: "srun 4" is rank 4 of srun.
func environments(t *testing.T, name string) map[string]map[string]string {
	t.Helper()
	out := map[string]map[string]string{}
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var env map[string]string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if section, ok := strings.CutPrefix(line, "== "); ok {
			env = map[string]string{}
			out[section] = env
		} else if key, value, ok := strings.Cut(line, "="); ok && env != nil {
			env[key] = value
		}
	}
	return out
}

// detect is Detect with the variables of a map.
func detect(env map[string]string) (launcher.Task, bool, error) {
	return launcher.Detect(func(name string) string { return env[name] })
}

// jobs returns the forms of Task.Job by launcher: the numbers differ in each recording.
func jobs() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		launcher.Slurm:   regexp.MustCompile(`^\d+\.\d$`),
		launcher.OpenMPI: regexp.MustCompile(`^\d{6,}$`),
		launcher.Hydra:   regexp.MustCompile(`^$`),
	}
}

// launch is what testdata/record.sh started: tasks by rank, each with its node.
type launch struct {
	name, launcher string
	nodes          []int // of the tasks
	unknown        bool  // whether the launcher leaves the nodes unknown
	leader         string
}

func launches() []launch {
	return []launch{
		{name: "mpirun", launcher: launcher.OpenMPI, nodes: []int{0, 0, 0, 0}},
		{name: "mpiexec", launcher: launcher.Hydra, nodes: []int{0, 0, 0, 0}},
		{name: "srun", launcher: launcher.Slurm, nodes: []int{0, 0, 0, 1, 2}, leader: "n1"},
		{name: "srun-pmi2", launcher: launcher.Slurm, nodes: []int{0, 0, 0, 1, 2}, leader: "n1"},
		{name: "srun-pmix", launcher: launcher.Slurm, nodes: []int{0, 0, 0}, leader: "n1"},
		{name: "srun-cyclic", launcher: launcher.Slurm, nodes: []int{0, 1, 0, 1, 0, 0}, leader: "n1"},
		{name: "srun-arbitrary", launcher: launcher.Slurm, nodes: []int{2, 0, 0, 1}}, // hosts of a file, n3 first
		{name: "srun-hostfile", launcher: launcher.Slurm, nodes: []int{2, 0, 0, 1}},
		{name: "srun-het", launcher: launcher.Slurm, nodes: []int{0, 0, 1, 1, 2}, leader: "n1"},
		{name: "srun-pty", launcher: launcher.Slurm, nodes: []int{0}, leader: "n1"},
		{name: "batch-srun", launcher: launcher.Slurm, nodes: []int{0, 0, 0, 1, 2}, leader: "n1"},
		{name: "batch-srun-part", launcher: launcher.Slurm, nodes: []int{0, 0, 1}, leader: "n1"},
		{name: "batch-mpirun", launcher: launcher.OpenMPI, nodes: []int{0, 0, 0, 1, 2}, unknown: true},
		{name: "batch-mpiexec", launcher: launcher.Hydra, nodes: []int{0, 0, 0, 1, 2}, unknown: true},
		{name: "batch-srun-mpiexec", launcher: launcher.Hydra, nodes: []int{0, 0}},
	}
}

// want returns the task of a rank.
func (l launch) want(rank int) launcher.Task {
	task := launcher.Task{
		Launcher: l.launcher, Rank: rank, Size: len(l.nodes), Node: l.nodes[rank], LeaderHost: l.leader,
	}
	for r, node := range l.nodes {
		if node == task.Node {
			task.LocalSize++
			if r < rank {
				task.LocalRank++
			}
		}
		task.Nodes = max(task.Nodes, node+1)
	}
	if l.unknown {
		task.Node, task.Nodes = -1, 0
	}
	return task
}

// TestRecorded compares recorded environments with what was launched. One task of each node is the
// first.
func TestRecorded(t *testing.T) {
	t.Parallel()
	recorded := environments(t, "recorded.env")
	tasks := 0
	for _, l := range launches() {
		firsts, nodes := 0, map[int]bool{}
		for rank, node := range l.nodes {
			name := l.name + " " + string(rune('0'+rank))
			env, found := recorded[name]
			if !found {
				t.Fatalf("%s was not recorded", name)
			}
			got, ok, err := detect(env)
			if !jobs()[l.launcher].MatchString(got.Job) {
				t.Errorf("%s: job %q", name, got.Job)
			}
			got.Job = ""
			if diff := cmp.Diff(l.want(rank), got); !ok || err != nil || diff != "" {
				t.Errorf("Detect(%s) = %v, %v; (-want +got)\n%s", name, ok, err, diff)
			}
			if got.First() {
				firsts++
			}
			nodes[node] = true
			tasks++
		}
		if firsts != len(nodes) {
			t.Errorf("%s: %d first tasks on %d nodes", l.name, firsts, len(nodes))
		}
	}
	for _, name := range []string{"batch 0", "salloc 0", "salloc-interactive 0"} {
		env, found := recorded[name]
		if got, ok, err := detect(env); !found || len(env) < 10 || ok || err != nil {
			t.Errorf("Detect(%s) = %+v, %v, %v; want no task", name, got, ok, err)
		}
		tasks++
	}
	if tasks != len(recorded) {
		t.Errorf("%d of %d recorded environments were compared", tasks, len(recorded))
	}
}

func TestTorchrun(t *testing.T) {
	t.Parallel()
	envs := environments(t, "torchrun.env")
	for name, want := range map[string]launcher.Task{
		"torchrun 3": {
			Launcher: "torchrun", Rank: 3, Size: 4, LocalRank: 1, LocalSize: 2, Node: 1, Nodes: 2,
			Job: "4711", LeaderHost: "gpu1.example.org",
		},
		"torchrun-standalone 1": {
			Launcher: "torchrun", Rank: 1, Size: 2, LocalRank: 1, LocalSize: 2, Node: 0, Nodes: 1,
			LeaderHost: "localhost",
		},
		"srun-torchrun 2": {
			Launcher: "torchrun", Rank: 2, Size: 4, LocalRank: 0, LocalSize: 2, Node: 1, Nodes: 2,
			LeaderHost: "10.0.0.1",
		},
	} {
		got, ok, err := detect(envs[name])
		if diff := cmp.Diff(want, got); !ok || err != nil || diff != "" {
			t.Errorf("Detect(%s) = %v, %v; (-want +got)\n%s", name, ok, err, diff)
		}
	}
}

// TestDetect has environments that were not recorded.
func TestDetect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		env  string
		want launcher.Task // none if it has no launcher
	}{
		{"", launcher.Task{}},
		{"RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=gpu1", launcher.Task{}}, // set by a script
		{"SLURM_JOB_ID=1 SLURM_NTASKS=2", launcher.Task{}},
		{"SLURM_JOB_ID=1 SLURM_PROCID=0 SLURM_STEP_ID=4294967291", launcher.Task{}}, // SLURM_BATCH_SCRIPT
		{"MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1", launcher.Task{}},
		{"PMIX_NAMESPACE=prterun-gpu1-42@1", launcher.Task{}},
		{
			"PMI_RANK=1 PMI_SIZE=4",
			launcher.Task{Launcher: "PMI", Rank: 1, Size: 4, LocalRank: -1, Node: -1},
		},
		{
			"PMI_RANK=0 PMI_SIZE=1 PMI_JOBID=7",
			launcher.Task{Launcher: "PMI", Size: 1, LocalSize: 1, Nodes: 1, Job: "7"},
		},
		{
			"PMI_RANK=5 PMI_SIZE=8 PMI_LOCAL_RANK=1 PMI_LOCAL_SIZE=4",
			launcher.Task{Launcher: "PMI", Rank: 5, Size: 8, LocalRank: 1, LocalSize: 4, Node: -1},
		},
		{
			"PMIX_RANK=2 PMIX_NAMESPACE=prterun-gpu1-42@1 PMIX_HOSTNAME=gpu2",
			launcher.Task{Launcher: "PMIx", Rank: 2, LocalRank: -1, Node: -1, Job: "prterun-gpu1-42@1"},
		},
		{ // prun, whose daemons are a step of Slurm
			"PMIX_RANK=2 PMIX_NAMESPACE=prterun-gpu1-42@1 SLURM_PROCID=0 SLURM_STEP_ID=0 " +
				"SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NTASKS=1 SLURM_NNODES=1",
			launcher.Task{Launcher: "PMIx", Rank: 2, LocalRank: -1, Node: -1, Job: "prterun-gpu1-42@1"},
		},
		{
			"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2",
			launcher.Task{Launcher: "Open MPI", Rank: 1, Size: 2, LocalRank: -1, Node: -1},
		},
		{ // old names
			"SLURM_JOBID=3 SLURM_STEPID=1 SLURM_PROCID=1 SLURM_NTASKS=3 SLURM_LOCALID=1 " +
				"SLURM_NODEID=0 SLURM_NNODES=2 SLURM_TASKS_PER_NODE=2,1",
			launcher.Task{
				Launcher: "Slurm", Rank: 1, Size: 3, LocalRank: 1, LocalSize: 2, Node: 0, Nodes: 2, Job: "3.1",
			},
		},
		{ // the last step that srun can have
			step("SLURM_STEP_ID=4294967280"),
			launcher.Task{
				Launcher: "Slurm", Rank: 3, Size: 5, LocalRank: 1, LocalSize: 2, Node: 1, Nodes: 3,
				Job: "7.4294967280", LeaderHost: "gpu08",
			},
		},
		{
			step("SLURM_STEP_TASKS_PER_NODE=2(x2),1"),
			launcher.Task{
				Launcher: "Slurm", Rank: 3, Size: 5, LocalRank: 1, LocalSize: 2, Node: 1, Nodes: 3,
				Job: "7.0", LeaderHost: "gpu08",
			},
		},
		{
			step("SLURM_DISTRIBUTION=arbitrary,pack"),
			launcher.Task{
				Launcher: "Slurm", Rank: 3, Size: 5, LocalRank: 1, LocalSize: 2, Node: 1, Nodes: 3, Job: "7.0",
			},
		},
	}
	for _, test := range tests {
		got, ok, err := detect(parse(test.env))
		if diff := cmp.Diff(test.want, got); err != nil || ok != (test.want.Launcher != "") || diff != "" {
			t.Errorf("Detect(%s) = %v, %v; (-want +got)\n%s", test.env, ok, err, diff)
		}
	}
}

// step returns the environment of a task of Slurm, with changes.
func step(changes string) string {
	return "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=5 SLURM_LOCALID=1 SLURM_NODEID=1 " +
		"SLURM_STEP_NUM_NODES=3 SLURM_STEP_TASKS_PER_NODE=2(x2),1 SLURM_STEP_NODELIST=gpu[08-10] " + changes
}

// parse reads variables that blanks separate; later ones win, and NAME= is not set.
func parse(text string) map[string]string {
	env := map[string]string{}
	for field := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(field, "=")
		env[key] = value
	}
	return env
}

func TestFirst(t *testing.T) {
	t.Parallel()
	for rank, want := range map[int]bool{-1: false, 0: true, 1: false} {
		if got := (launcher.Task{LocalRank: rank}).First(); got != want {
			t.Errorf("First() with local rank %d = %v", rank, got)
		}
	}
}

func TestDetectErrors(t *testing.T) {
	t.Parallel()
	const torch = "TORCHELASTIC_RUN_ID=1 RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 " +
		"GROUP_RANK=1 GROUP_WORLD_SIZE=2 "
	const ompi = "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 "
	tests := []struct{ env, want string }{
		{"OMPI_COMM_WORLD_RANK=3", "Open MPI: OMPI_COMM_WORLD_SIZE is not set"},
		{"OMPI_COMM_WORLD_SIZE=3", "Open MPI: OMPI_COMM_WORLD_RANK is not set"},
		{ompi + "OMPI_COMM_WORLD_SIZE=3", "Open MPI: OMPI_COMM_WORLD_RANK=3 is not below OMPI_COMM_WORLD_SIZE=3"},
		{ompi + "OMPI_COMM_WORLD_SIZE=0", `Open MPI: OMPI_COMM_WORLD_SIZE="0": not a number from 1`},
		{ompi + "OMPI_COMM_WORLD_RANK=-1", `Open MPI: OMPI_COMM_WORLD_RANK="-1": not a number from 0 to 16777216`},
		{ompi + "OMPI_COMM_WORLD_RANK=+1", `Open MPI: OMPI_COMM_WORLD_RANK="+1": not a number from 0 to 16777216`},
		{
			ompi + "OMPI_COMM_WORLD_SIZE=16777217",
			`Open MPI: OMPI_COMM_WORLD_SIZE="16777217": not a number from 0 to 16777216`,
		},
		{ompi + "OMPI_COMM_WORLD_SIZE=4x", `Open MPI: OMPI_COMM_WORLD_SIZE="4x": not a number from 0 to 16777216`},
		{
			ompi + "OMPI_COMM_WORLD_LOCAL_RANK=2 OMPI_COMM_WORLD_LOCAL_SIZE=2",
			"Open MPI: OMPI_COMM_WORLD_LOCAL_RANK=2 is not below OMPI_COMM_WORLD_LOCAL_SIZE=2",
		},
		{
			ompi + "OMPI_COMM_WORLD_LOCAL_RANK=4",
			"Open MPI: OMPI_COMM_WORLD_LOCAL_RANK=4 is not below OMPI_COMM_WORLD_SIZE=4",
		},
		{
			ompi + "OMPI_COMM_WORLD_LOCAL_SIZE=5",
			"Open MPI: OMPI_COMM_WORLD_LOCAL_SIZE=5 is more than OMPI_COMM_WORLD_SIZE=4",
		},
		{ompi + "OMPI_COMM_WORLD_LOCAL_SIZE=0", `Open MPI: OMPI_COMM_WORLD_LOCAL_SIZE="0": not a number from 1`},
		{ompi + "PMIX_RANK=2", "Open MPI: OMPI_COMM_WORLD_RANK=3 contradicts PMIX_RANK=2"},
		{"MPI_LOCALRANKID=0 PMI_RANK=1", "Hydra: PMI_SIZE is not set"},
		{"MPI_LOCALRANKID=0 PMI_SIZE=1", "Hydra: PMI_RANK is not set"},
		{
			"MPI_LOCALRANKID=1 MPI_LOCALNRANKS=1 PMI_RANK=1 PMI_SIZE=2",
			"Hydra: MPI_LOCALRANKID=1 is not below MPI_LOCALNRANKS=1",
		},
		{"PMI_RANK=1", "PMI: PMI_SIZE is not set"},
		{"PMIX_RANK=x", `PMIx: PMIX_RANK="x": not a number from 0 to 16777216`},
		{torch + "RANK=", "torchrun: RANK is not set"},
		{torch + "LOCAL_RANK=", "torchrun: LOCAL_RANK is not set"},
		{torch + "WORLD_SIZE=", "torchrun: WORLD_SIZE is not set"},
		{torch + "LOCAL_WORLD_SIZE=", "torchrun: LOCAL_WORLD_SIZE is not set"},
		{torch + "GROUP_RANK=", "torchrun: GROUP_RANK is not set"},
		{torch + "GROUP_WORLD_SIZE=", "torchrun: GROUP_WORLD_SIZE is not set"},
		{torch + "RANK=4", "torchrun: RANK=4 is not below WORLD_SIZE=4"},
		{torch + "GROUP_RANK=2", "torchrun: GROUP_RANK=2 is not below GROUP_WORLD_SIZE=2"},
		{torch + "GROUP_WORLD_SIZE=5", "torchrun: GROUP_WORLD_SIZE=5 is more than WORLD_SIZE=4"},
		{
			torch + "MASTER_ADDR=-oA",
			`torchrun: MASTER_ADDR="-oA": host -oA: name -oA begins with a hyphen, as an option does`,
		},
		{torch + "MASTER_ADDR=gpu[1-2]", `torchrun: MASTER_ADDR="gpu[1-2]": host gpu[1-2]: ` +
			"character '[' is not allowed in a name"},
		{"SLURM_STEP_ID=x", `Slurm: SLURM_STEP_ID="x": not the number of a step`},
		{step("SLURM_STEP_ID=99999999999"), `Slurm: SLURM_STEP_ID="99999999999": not the number of a step`},
		{step("SLURM_PROCID="), "Slurm: SLURM_PROCID is not set"},
		{step("SLURM_PROCID=5"), "Slurm: SLURM_PROCID=5 is not below SLURM_STEP_NUM_TASKS=5"},
		{step("SLURM_STEP_NUM_TASKS="), "Slurm: SLURM_STEP_NUM_TASKS is not set"},
		{step("SLURM_LOCALID="), "Slurm: SLURM_LOCALID is not set"},
		{step("SLURM_LOCALID=2"), "Slurm: SLURM_LOCALID=2 is not below SLURM_STEP_TASKS_PER_NODE=2"},
		{step("SLURM_NODEID=3"), "Slurm: SLURM_NODEID=3 is not below SLURM_STEP_NUM_NODES=3"},
		{step("SLURM_NODEID="), "Slurm: SLURM_NODEID is not set"},
		{step("SLURM_STEP_NUM_NODES="), "Slurm: SLURM_STEP_NUM_NODES is not set"},
		{
			step("SLURM_STEP_TASKS_PER_NODE=2(x2)"),
			`Slurm: SLURM_STEP_TASKS_PER_NODE="2(x2)": 2 nodes contradict SLURM_STEP_NUM_NODES=3`,
		},
		{
			step("SLURM_STEP_TASKS_PER_NODE=2(x3)"),
			`Slurm: SLURM_STEP_TASKS_PER_NODE="2(x3)": 6 tasks contradict SLURM_STEP_NUM_TASKS=5`,
		},
		{
			step("SLURM_STEP_TASKS_PER_NODE=4,0,1"),
			`Slurm: SLURM_STEP_TASKS_PER_NODE="4,0,1": no tasks for SLURM_NODEID=1`,
		},
		{
			step("SLURM_STEP_TASKS_PER_NODE=16777215(x16777215),16777215(x16777215)"),
			`Slurm: SLURM_STEP_TASKS_PER_NODE="16777215(x16777215),16777215(x16777215)": ` +
				"33554430 nodes contradict SLURM_STEP_NUM_NODES=3",
		},
		{
			step("SLURM_STEP_TASKS_PER_NODE=2(x2"),
			`Slurm: SLURM_STEP_TASKS_PER_NODE="2(x2": "2(x2" is neither a number nor one with its ` +
				`repetitions, as 2(x3)`,
		},
		{
			step("SLURM_STEP_TASKS_PER_NODE=2,,1"),
			`Slurm: SLURM_STEP_TASKS_PER_NODE="2,,1": "" is neither a number nor one with its repetitions, as 2(x3)`,
		},
		{
			step("SLURM_STEP_TASKS_PER_NODE=2(xa)"),
			`Slurm: SLURM_STEP_TASKS_PER_NODE="2(xa)": "2(xa)" is neither a number nor one with its ` +
				`repetitions, as 2(x3)`,
		},
		{
			step("SLURM_STEP_NODELIST=gpu[08-10"),
			`Slurm: SLURM_STEP_NODELIST="gpu[08-10": parse host list: column 4: gpu[08-10: bracket is not closed`,
		},
		{
			step("SLURM_STEP_NODELIST=gpu[08-11]"),
			`Slurm: SLURM_STEP_NODELIST="gpu[08-11]": 4 nodes contradict SLURM_STEP_NUM_NODES=3`,
		},
		{step("PMI_RANK=2 PMI_SIZE=5"), "Slurm: SLURM_PROCID=3 contradicts PMI_RANK=2"},
		{step("PMI_RANK=3 PMI_SIZE=4"), "Slurm: SLURM_STEP_NUM_TASKS=5 contradicts PMI_SIZE=4"},
		{step("PMIX_NAMESPACE=slurm.pmix.7.0 PMIX_RANK=1"), "Slurm: SLURM_PROCID=3 contradicts PMIX_RANK=1"},
		{
			step("SLURM_NODEID=" + strings.Repeat("1", 200)),
			`Slurm: SLURM_NODEID="` + strings.Repeat("1", 100) + `...": not a number from 0 to 16777216`,
		},
	}
	for _, test := range tests {
		got, ok, err := detect(parse(test.env))
		if err == nil || ok || got != (launcher.Task{}) || err.Error() != "detect launcher: "+test.want {
			t.Errorf("Detect(%s) = %+v, %v, %v; want error\ndetect launcher: %s", test.env, got, ok, err, test.want)
		}
	}
}

// FuzzSlurm reads hostile lists of tasks per node and of nodes.
func FuzzSlurm(f *testing.F) {
	f.Add("2(x2),1", "gpu[08-10]", "3", "5")
	f.Add("16777215(x16777215)", "[0-99999999]", "16777215", "16777215")
	f.Fuzz(func(t *testing.T, tasks, nodes, numNodes, numTasks string) {
		env := parse(step(""))
		env["SLURM_STEP_TASKS_PER_NODE"], env["SLURM_STEP_NODELIST"] = tasks, nodes
		env["SLURM_STEP_NUM_NODES"], env["SLURM_STEP_NUM_TASKS"] = numNodes, numTasks
		task, ok, err := detect(env)
		if ok == (err != nil) {
			t.Fatalf("Detect = %v, %v", ok, err)
		}
		if ok && (task.Rank >= task.Size || task.LocalSize > 0 && task.LocalRank >= task.LocalSize ||
			task.Node >= task.Nodes || task.Nodes > task.Size) {
			t.Fatalf("Detect = %+v", task)
		}
	})
}
