package rules

import (
	"fmt"
	"strconv"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// membersRule is about processes of Lightning that wait for others at the start.
func membersRule() Rule {
	return Rule{
		ID:    "RDX-749",
		Name:  "members-missing",
		Title: "processes of a Lightning job wait for others at the start",
		Explanation: "Each process prints its number and that of all before it waits for the others; rank 0 prints " +
			"a line once all have come. No line reports an error, so the log may also end too early.",
		Sources: []string{
			"Lightning-AI/pytorch-lightning, fabric/utilities/distributed.py", "Lightning-AI/pytorch-lightning#8707",
			"Lightning-AI/pytorch-lightning#6206",
		},
		Find: findMembers,
	}
}

// findMembers reports processes that wait, if rank 0 is among them and nothing else failed: logs of
// other nodes don't show whether all have come.
func findMembers(f *facts.Facts) []Finding {
	s := f.Store
	zero := firstOf(f, evidence.TorchMember, "rank", "0")
	if zero == nil || !waiting(f) || s.Dropped(evidence.TorchMember) > 0 ||
		firstOf(f, evidence.TorchMember, "registered", "yes") != nil {
		return nil
	}
	world, _ := zero.Fields.Int("world")
	times := map[string]int{}
	var lines []*evidence.Event
	twice := ""
	for e := range s.Of(evidence.TorchMember) {
		lines = append(lines, e)
		if times[e.Fields["rank"]]++; times[e.Fields["rank"]] > 1 && twice == "" {
			twice = e.Fields["rank"]
		}
	}
	if world < 2 {
		return nil
	}
	c := &candidates{}
	came := fmt.Sprintf("%d of %d ranks began in these logs", len(times), world)
	c.add("launcher-ranks", "the launcher started the processes of one node, or gave two of them one rank", usual).
		supportsIf(len(times) < world, usual, came, zero.Place).
		supportsIf(len(times) < world && twice != "", strong, "rank "+twice+" began twice", zero.Place).
		todo("srun in the batch script; SLURM_NTASKS, NODE_RANK and RANK in each process",
			"srun python …, with --ntasks-per-node as devices and --nodes as num_nodes of the Trainer")
	c.add("interface-choice", "the ranks don't reach MASTER_ADDR, or NCCL's address", usual).
		supportsIf(len(times) == world, usual, "all "+strconv.Itoa(world)+" ranks began", zero.Place).
		todo("MASTER_ADDR and ip -br address on all nodes; NCCL_DEBUG=INFO",
			"MASTER_ADDR and NCCL_SOCKET_IFNAME of the nodes' common network")
	c.add("dead-peer", "a process ended before", rare).
		todo("the logs of all nodes: a rank without a line, or with an error", "what ended it")
	c.add("elsewhere", "the log ends before the others came", rare).
		todo("the end of the log: was the job still running?", "the whole log")
	return []Finding{{
		What:   "processes of Lightning wait for others at the start: " + came,
		Events: lines[:min(len(lines), 3)], Causes: c.causes(),
	}}
}
