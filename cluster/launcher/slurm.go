package launcher

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/hostlist"
)

// maxStep is the largest number of a step that srun starts (SLURM_MAX_NORMAL_STEP_ID of slurm.h).
// Larger ones are batch scripts, interactive steps and others.
const maxStep = 0xfffffff0

// inStep reports whether this process is a task of a step of srun.
func inStep(v *variables) bool {
	name, text := v.first("SLURM_STEP_ID", "SLURM_STEPID")
	if name == "" {
		return false
	}
	step, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		v.fail(name, text, errors.New("not the number of a step"))
	}
	return step <= maxStep
}

// slurm reads what srun and slurmstepd set for the tasks of a step (srun(1), output environment
// variables). Variables of the step are preferred to those of the job, which have the same meaning
// in a step, but not in a shell.
func slurm(v *variables) Task {
	x := numbers{
		rank: v.needed("SLURM_PROCID"), size: v.needed("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
		localRank: v.needed("SLURM_LOCALID"),
		node:      v.needed("SLURM_NODEID"), nodes: v.needed("SLURM_STEP_NUM_NODES", "SLURM_NNODES"),
	}
	v.below(x.node, x.nodes)
	if v.err == nil {
		x.localSize = v.localSize(x)
	}
	t := v.task(x)
	v.equal(x.rank, v.number("PMI_RANK")) // --mpi=pmi2
	v.equal(x.size, v.number("PMI_SIZE"))
	v.equal(x.rank, v.number("PMIX_RANK")) // --mpi=pmix
	_, job := v.first("SLURM_JOB_ID", "SLURM_JOBID")
	_, step := v.first("SLURM_STEP_ID", "SLURM_STEPID")
	t.Job = job + "." + step
	t.LeaderHost = v.leader(x.nodes)
	return t
}

// localSize reads from the list of tasks per node how many this node has.
func (v *variables) localSize(x numbers) value {
	name, text := v.first("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE")
	if name == "" {
		return value{}
	}
	tasks, nodes, total, err := tasksPerNode(text, x.node.n)
	switch {
	case err != nil:
		v.fail(name, text, err)
	case nodes != x.nodes.n:
		v.fail(name, text, fmt.Errorf("%d nodes contradict %v", nodes, x.nodes))
	case total != x.size.n:
		v.fail(name, text, fmt.Errorf("%d tasks contradict %v", total, x.size))
	case tasks == 0:
		v.fail(name, text, fmt.Errorf("no tasks for %v", x.node))
	}
	return value{name, tasks}
}

// tasksPerNode reads a list as 3,1(x2): how many tasks a node has, how many nodes there are, and
// how many tasks they have together.
func tasksPerNode(list string, node int) (tasks, nodes, total int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		count, times, repeated := strings.Cut(text, "(x")
		n, err := strconv.ParseUint(count, 10, 24)
		repeat := uint64(1)
		if err == nil && repeated {
			times, repeated = strings.CutSuffix(times, ")")
			repeat, err = strconv.ParseUint(times, 10, 24)
			if !repeated {
				err = strconv.ErrSyntax
			}
		}
		if err != nil {
			return 0, 0, 0, fmt.Errorf("%q is neither a number nor one with its repetitions, as 2(x3)", text)
		}
		if node >= nodes {
			tasks = int(n)
		}
		nodes += int(repeat)
		total += int(n) * int(repeat)
	}
	return tasks, nodes, total, nil
}

// leader returns the host of rank 0: the first one of the step. It returns "" for the distribution
// arbitrary, where the order comes from a host file that tasks can't see.
func (v *variables) leader(nodes value) string {
	const name = "SLURM_STEP_NODELIST"
	list := v.env(name)
	if list == "" {
		return ""
	}
	hosts, err := hostlist.Parse(list)
	switch {
	case err != nil:
		v.fail(name, list, err)
		return ""
	case len(hosts) != nodes.n:
		v.fail(name, list, fmt.Errorf("%d nodes contradict %v", len(hosts), nodes))
		return ""
	case strings.HasPrefix(v.env("SLURM_DISTRIBUTION"), "arbitrary"):
		return ""
	}
	return hosts[0]
}
