package explain_test

import (
	"fmt"
	"strings"
	"testing"
)

// Processes of Lightning wait for those that the launcher didn't start: the log of rank 0 shows it,
// and nothing in it is an error.
func TestMembersOfLightning(t *testing.T) {
	began := func(world int, ranks ...int) string {
		var b strings.Builder
		for _, rank := range ranks {
			fmt.Fprintf(&b, "Initializing distributed: GLOBAL_RANK: %d, MEMBER: %d/%d\n", rank, rank+1, world)
		}
		return b.String()
	}
	const all = "distributed_backend=nccl\nAll distributed processes registered. Starting with 4 processes\n"
	for _, c := range []struct{ name, log, want string }{
		{"one node of two", began(4, 0, 1), "launcher-ranks"},
		{"ranks twice", began(4, 0, 1, 0, 1), "launcher-ranks"},
		{"all ranks", began(4, 0, 1, 2, 3), "interface-choice"},
		{"all ranks in two attempts", began(4, 0, 1, 2, 3) + began(4, 0, 1, 2, 3), "interface-choice"},
		{"healthy", began(4, 0, 1, 2, 3) + all, ""},
		{"two runs, both healthy", began(4, 0, 1, 2, 3) + all + began(4, 0, 1, 2, 3) + all, ""},
		{"the second node", began(4, 2, 3), ""},
		{"one process", began(1, 0), ""},
	} {
		d := explainAll(t, "job.log", c.log)
		switch {
		case c.want == "" && len(d.Findings) > 0:
			t.Errorf("%s: found %+v", c.name, d.Findings)
		case c.want == "":
		case len(d.Findings) == 0 || d.Findings[0].Rule != "RDX-749" || d.Findings[0].Causes[0].Cause != c.want:
			t.Errorf("%s: found %+v, want RDX-749 with %s", c.name, d.Findings, c.want)
		}
	}
	twice := explainAll(t, "job.log", began(4, 0, 1, 0, 1))
	if f := twice.Findings[0]; len(f.Causes[0].For) != 2 || !strings.Contains(f.Causes[0].For[1].Text, "began twice") {
		t.Errorf("ranks that began twice aren't named: %+v", f.Causes[0].For)
	}
	oom := began(4, 0, 1) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
	for _, f := range explainAll(t, "job.log", oom).Findings {
		if f.Rule == "RDX-749" {
			t.Errorf("a rank failed, and the others are said to wait: %+v", f)
		}
	}
}

// The file of NCCL's line says which call of CUDA was refused.
func TestInvalidArgumentByFile(t *testing.T) {
	for _, c := range [][3]string{
		{"transport/p2p.cc:298", "2.26.2", "environment-differs"},
		{"enqueue.cc:1500", "2.25.1", "defect:nccl-shared-memory-size"},
		{"enqueue.cc:1500", "2.27.3", "gpu-p2p"},
		{"include/alloc.h:230", "2.26.2", "defect:nccl-cumem-host"},
	} {
		log := "gpu-a:10:10 [0] NCCL INFO NCCL version " + c[1] + "+cuda12.2\ngpu-a:10:10 [0] " + c[0] +
			" NCCL WARN Cuda failure 'invalid argument'\n"
		if _, cause := ptr(explainAll(t, "job.log", log)); cause == nil || cause.Cause != c[2] {
			t.Errorf("%s of %s: first cause = %+v, want %s", c[0], c[1], cause, c[2])
		}
	}
}

// A rank whose number of parameters didn't arrive has a network or a GPU that gives wrong data; one
// with another number has another model.
func TestModelsOfRanks(t *testing.T) {
	for number, want := range map[string]string{"0": "gpu-p2p", "361": "program-fault"} {
		log := "RuntimeError: DDP expects same model across all ranks, but Rank 2 has 363 params, while rank 0 has " +
			"inconsistent " + number + " params.\n"
		if _, cause := ptr(explainAll(t, "job.log", log)); cause == nil || cause.Cause != want {
			t.Errorf("%s parameters: first cause = %+v, want %s", number, cause, want)
		}
	}
}

// If torchrun's own store can't be reached, mostly no node has taken the endpoint for its own.
func TestRendezvousEndpoint(t *testing.T) {
	const timeout = "[E socket.cpp:860] [c10d] The client socket has timed out after 60s while trying to connect to " +
		"(10.2.0.7, 29400).\n"
	const elastic = "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d " +
		"store has failed. See inner exception for details.\n"
	for log, want := range map[string]string{timeout: "interface-choice", timeout + elastic: "nobody-listens"} {
		if _, cause := ptr(explainAll(t, "job.log", log)); cause == nil || cause.Cause != want {
			t.Errorf("first cause = %+v, want %s", cause, want)
		}
	}
}
