package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// initRule is about communicators of NCCL that were begun and not finished.
func initRule() Rule {
	return Rule{
		ID:    "RDX-159",
		Name:  "init-incomplete",
		Title: "NCCL's initialization began and didn't end",
		Explanation: "Each rank prints Init START and then Init COMPLETE. It waits in between until all ranks of the " +
			"communicator have come, without a message of its own. No line reports an error, so the log may also " +
			"end too early.",
		Sources: []string{"NVIDIA/nccl, src/init.cc", "NVIDIA/nccl, src/bootstrap.cc"},
		Find:    findInit,
	}
}

// findInit reports ranks that began to initialize and didn't finish, if nothing failed.
func findInit(f *facts.Facts) []Finding {
	s := f.Store
	if len(f.Failures) > 0 || s.Dropped(evidence.NCCLInitStart)+s.Dropped(evidence.NCCLInitComplete) > 0 {
		return nil
	}
	key := func(e *evidence.Event) string {
		return e.Process.Host + " " + strconv.Itoa(e.Process.PID) + " " + e.Fields["comm"] + " " + e.Fields["rank"]
	}
	done := map[string]bool{}
	for e := range s.Of(evidence.NCCLInitComplete) {
		done[key(e)] = true
	}
	var missing []*evidence.Event
	seen := map[string]bool{}
	for e := range s.Of(evidence.NCCLInitStart) {
		if k := key(e); !done[k] && !seen[k] {
			seen[k] = true
			missing = append(missing, e)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	first := missing[0]
	who := fmt.Sprintf("%d ranks", len(missing))
	if len(missing) == 1 {
		who = "rank " + first.Fields["rank"]
	}
	what := who + " began to initialize NCCL and didn't finish"
	if len(done) > 0 {
		what += ", while others did"
	}
	c := &candidates{}
	nranks, _ := first.Fields.Int("nranks")
	came := len(missing) + len(done)
	c.add("dead-peer", "a rank of the communicator was never started, has died, or is stuck before", usual).
		supportsIf(came < nranks, rare, fmt.Sprintf("%d of %d ranks began in these logs", came, nranks), first.Place).
		todo("the logs of all ranks: which one has no Init START; py-spy dump there", "what keeps or ended it")
	odd, places := oddBootstrap(f)
	c.add("interface-choice", "the ranks can't reach each other at the address that NCCL chose for its set-up", usual).
		supportsIf(odd != "", strong, odd, places...).
		todo("ip -br address on all nodes, against the line Bootstrap: Using",
			"NCCL_SOCKET_IFNAME with the interface on the nodes' common network")
	c.add("firewall", "a firewall or security group drops the ports", rare).
		todo("nc -vz ADDRESS PORT between the nodes", "open the ports between the nodes")
	c.add("elsewhere", "the log ends before the initialization did", rare).
		todo("the end of the log: was the job still running?", "the whole log")
	return []Finding{{What: what, Events: missing[:min(len(missing), 3)], Causes: c.causes()}}
}

// oddBootstrap returns what is wrong with the address that a node has for NCCL's set-up, "" if
// nothing is.
func oddBootstrap(f *facts.Facts) (string, []evidence.Place) {
	for _, n := range f.Nodes {
		for _, v := range n.Bootstrap {
			_, address, _ := strings.Cut(v.Text, ":")
			if why := oddAddress(address); why != "" {
				return n.Name + " uses " + v.Text + ", " + why, v.Places
			}
		}
	}
	return "", nil
}
