package explain_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
)

// Lines of one rank whose program fails, as torchrun and srun print them.
const (
	raised = "Traceback (most recent call last):\n  File \"train.py\", line 9, in collate\nKeyError: 'text'\n"

	closed = "0: n1:10:95 [0] misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer " +
		"n2<43001>\n" +
		"0: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3384, remote process exited or " +
		"there was a network error, NCCL version 2.21.5\n"
	watchdog = "[rank0]:[E1127 04:10:00.000000000 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective " +
		"operation timeout: WorkNCCL(SeqNum=99, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for " +
		"600012 milliseconds before timing out.\n"
	childFailed = "E1127 04:10:04.000000 1 torch/distributed/elastic/multiprocessing/api.py:869] failed " +
		"(exitcode: 1) local_rank: 3 (pid: 203) of binary: /usr/bin/python3\n" +
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
)

// raisedBy puts a rank's prefix before the lines of an exception.
func raisedBy(prefix string) string {
	return prefix + strings.ReplaceAll(strings.TrimSuffix(raised, "\n"), "\n", "\n"+prefix) + "\n"
}

// A rank's own exception is the origin; lost connections, watchdogs and cancelled steps follow.
func TestOwnException(t *testing.T) {
	for name, c := range map[string]struct{ log, what string }{
		"srun": {
			raisedBy("3: ") + closed + "srun: error: n2: task 3: Exited with exit code 1\n" +
				"slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-27T10:00:00 ***\n",
			"rank 3 on n2 raised an exception: KeyError: 'text'",
		},
		"tasks": {
			raisedBy("[rank2]: ") + "srun: error: n7: tasks 0-3,9: Exited with exit code 1\n",
			"rank 2 on n7 raised an exception: KeyError: 'text'",
		},
		"other task": {
			raisedBy("[rank2]: ") + "srun: error: n7: tasks 3,12: Exited with exit code 1\n",
			"rank 2 raised an exception: KeyError: 'text'",
		},
		"watchdog": {
			raisedBy("[rank3]: ") + watchdog + childFailed,
			"rank 3 raised an exception: KeyError: 'text'",
		},
		"launcher": {raised + childFailed, "a process of job.log raised an exception: KeyError: 'text'"},
	} {
		d := explainAll(t, "job.log", c.log)
		if d.Verdict != explain.VerdictFault {
			t.Errorf("%s: verdict = %s, want fault", name, d.Verdict)
			continue
		}
		f, cause := d.First()
		if f.What != c.what || cause.Cause != "program-fault" || cause.Confidence != "likely" {
			t.Errorf("%s: %q, %s %s, want %q", name, f.What, cause.Confidence, cause.Cause, c.what)
		}
		if len(d.Unexplained) > 0 {
			t.Errorf("%s: not explained: %v", name, d.Unexplained)
		}
	}
}

// Nothing says that these are ranks of a job whose own program is at fault.
func TestNotOwnException(t *testing.T) {
	good := header + "gpu-a:100:140 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 - " +
		"Init COMPLETE\n"
	for name, c := range map[string]struct {
		log  string
		want explain.Verdict
	}{
		"other program":     {raised, explain.VerdictNothing},
		"beside NCCL":       {good + raised, explain.VerdictUnknown},
		"without traceback": {good + "KeyError: 'text'\n", explain.VerdictUnknown},
		"child failed":      {good + childFailed, explain.VerdictUnknown},
		"called process": {
			good + "subprocess.CalledProcessError: Command '['python3']' returned non-zero exit status 1.\n",
			explain.VerdictUnknown,
		},
		"of the network": {good + "[rank1]: ValueError: this release of NCCL is too old\n", explain.VerdictUnknown},
		"good":           {good, explain.VerdictHealthy},
	} {
		if d := explainAll(t, "job.log", c.log); d.Verdict != c.want {
			t.Errorf("%s: verdict = %s, want %s: %+v", name, d.Verdict, c.want, d.Findings)
		}
	}
}
