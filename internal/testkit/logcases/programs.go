package logcases

import (
	"fmt"
	"strings"
)

// train adds the progress of a training: n=10 step=100.
func (x *expander) train(a args) error {
	n, err := a.number("n", 10)
	if err != nil {
		return err
	}
	step, err := a.number("step", 10)
	for i := range n {
		x.add(fmt.Sprintf("step %6d | loss %.4f | grad norm %.3f | tokens/s %d", step+i, 3.1-0.004*float64(i),
			1.2+0.01*float64(i%7), 41200+13*i))
	}
	return err
}

// torchStart adds what torchrun prints first.
func (x *expander) torchStart(args) error {
	s := x.session
	x.add("W0603 08:00:00.118000 1 torch/distributed/run.py:792] ",
		"W0603 08:00:00.118000 1 torch/distributed/run.py:792] *****************************************",
		"W0603 08:00:00.118000 1 torch/distributed/run.py:792] Setting OMP_NUM_THREADS environment variable for each "+
			"process to be 1 in default, to avoid your system being overloaded, please further tune the variable for "+
			"optimal performance in your application as needed. ",
		"W0603 08:00:00.118000 1 torch/distributed/run.py:792] *****************************************")
	for r := range s.ranks() {
		x.add(fmt.Sprintf("[rank%d]:[W603 08:00:09.3%02d112907 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank %d] "+
			"using GPU %d to perform barrier as devices used by this process are currently unknown.", r, r, r,
			r%s.gpus))
	}
	return nil
}

// torchTimeout adds the watchdog's lines: ranks, seq, op, ms, done (last completed), enqueued.
func (x *expander) torchTimeout(a args) error {
	s := x.session
	ranks, err := a.numbers("ranks", nil)
	if err != nil {
		return err
	}
	seq, err := a.number("seq", 1580)
	if err != nil {
		return err
	}
	ms, err := a.number("ms", 600000)
	if err != nil {
		return err
	}
	x.clock.seconds += ms / 1000
	done, err := a.number("done", seq-1)
	for _, r := range ranks {
		stamp := s.at(x.clock).Format("15:04:05") + fmt.Sprintf(".%09d", 408271257+r*1013)
		x.add(fmt.Sprintf("[rank%d]:[E603 %s ProcessGroupNCCL.cpp:607] [Rank %d] Watchdog caught collective operation "+
			"timeout: WorkNCCL(SeqNum=%d, OpType=%s, NumelIn=%s, NumelOut=%s, Timeout(ms)=%d) ran for %d milliseconds "+
			"before timing out.", r, stamp, r, seq, a.get("op", "ALLREDUCE"), a.get("numel", "8388608"),
			a.get("out", "8388608"), ms, ms+60+r))
		x.add(fmt.Sprintf("[rank%d]:[E603 %s ProcessGroupNCCL.cpp:1709] [PG ID %s PG GUID %s Rank %d] Exception "+
			"(either an error or timeout) "+
			"detected by watchdog at work: %d, last enqueued NCCL work: %s, last completed NCCL "+
			"work: %d.", r, stamp, a.get("pg", "0"), a.get("guid", "0(default_pg)"), r, seq,
			a.get("enqueued", fmt.Sprint(seq+2)), done))
	}
	return err
}

// torchError adds the Python traceback of an NCCL error: rank, error, and the last WARN after
// " | ".
func (x *expander) torchError(a args) error {
	s := x.session
	rank, err := a.number("rank", 0)
	if err != nil || rank >= s.ranks() {
		return fmt.Errorf("want rank=N: %w", err)
	}
	_, n := s.nodeOf(rank)
	kind := a.get("error", "ncclRemoteError")
	explanation := map[string][2]string{
		"ncclRemoteError": {
			"remote process exited or there was a network error",
			"A call failed possibly due to a network error or a remote process exiting prematurely.",
		},
		"ncclSystemError": {
			"unhandled system error (run with NCCL_DEBUG=INFO for details)",
			"System call (e.g. socket, malloc) or external library call failed or device error. ",
		},
		"ncclInternalError": {
			"internal error - please report this issue to the NCCL developers", "Internal check failed.",
		},
		"ncclInvalidUsage": {
			"invalid usage (run with NCCL_DEBUG=WARN for details)",
			"This usually reflects invalid usage of NCCL library.",
		},
	}[kind]
	if explanation[0] == "" {
		return fmt.Errorf("unknown error %q", kind)
	}
	p := fmt.Sprintf("[rank%d]: ", rank)
	x.add(p+"Traceback (most recent call last):",
		p+`  File "/workspace/train.py", line 212, in <module>`,
		p+"    main()",
		p+`  File "/usr/local/lib/python3.12/dist-packages/torch/distributed/c10d_logger.py", line 81, in wrapper`,
		p+"    return func(*args, **kwargs)",
		p+fmt.Sprintf("torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/"+
			"ProcessGroupNCCL.cpp:3356, %s, NCCL version %s", explanation[0], n.version),
		p+kind+": "+explanation[1],
		p+"Last error:",
		p+a.text)
	return nil
}

// elastic adds the end of torchrun: rank is the first one that failed.
func (x *expander) elastic(a args) error {
	s := x.session
	rank, err := a.number("rank", 0)
	if err != nil || rank >= s.ranks() {
		return fmt.Errorf("want rank=N: %w", err)
	}
	_, n := s.nodeOf(rank)
	x.add(fmt.Sprintf("E0603 08:20:41.912000 1 torch/distributed/elastic/multiprocessing/api.py:869] failed "+
		"(exitcode: %s) "+
		"local_rank: %d (pid: %d) of binary: /usr/bin/python3", a.get("exit", "-6"), rank%s.gpus, s.pid(rank)),
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
		"============================================================",
		"/workspace/train.py FAILED",
		"------------------------------------------------------------",
		"Root Cause (first observed failure):",
		"[0]:",
		"  time      : 2025-06-03_08:20:41",
		"  host      : "+n.name,
		fmt.Sprintf("  rank      : %d (local_rank: %d)", rank, rank%s.gpus),
		fmt.Sprintf("  exitcode  : %s (pid: %d)", a.get("exit", "-6"), s.pid(rank)),
		"  error_file: <N/A>",
		fmt.Sprintf("  traceback : Signal 6 (SIGABRT) received by PID %d", s.pid(rank)),
		"============================================================")
	return nil
}

// ncclTests adds the head of an nccl-tests run.
func (x *expander) ncclTests(a args) error {
	s := x.session
	x.add("# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "+
		"validation: 1 graph: 0", "#", "# Using devices")
	for r := range s.ranks() {
		_, n := s.nodeOf(r)
		x.add(fmt.Sprintf("#  Rank %2d Group  0 Pid %6d on %10s device %2d [0x%s] %s", r, s.pid(r), n.name, r%s.gpus,
			s.busID(r)[:2], a.get("gpu", "NVIDIA-H100-80GB-HBM3")))
	}
	return nil
}

// perf adds the rows of an nccl-tests run up to a bus bandwidth: bw=48.1 rows=8.
func (x *expander) perf(a args) error {
	rows, err := a.number("rows", 8)
	if err != nil {
		return err
	}
	var bw float64
	if _, err := fmt.Sscanf(a.get("bw", "48.1"), "%g", &bw); err != nil {
		return fmt.Errorf("bw=%s: not a number", a.get("bw", ""))
	}
	x.add("#", "#       size         count      type   redop    root     time   algbw   busbw #wrong",
		"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       ")
	for i := range rows {
		size := 1 << (20 + i)
		rate := bw * float64(i+1) / float64(rows)
		x.add(fmt.Sprintf("%12d %13d     float     sum      -1 %8.1f %7.2f %7.2f      0", size, size/4,
			float64(size)/rate/1000, rate/1.5, rate))
	}
	x.add("# Out of bounds values : 0 OK", fmt.Sprintf("# Avg bus bandwidth    : %g ", bw/2), "#")
	return nil
}

// vllm adds what a vLLM server with Ray prints first: version, nccl.
func (x *expander) vllm(a args) error {
	nccl := a.get("nccl", "2.21.5")
	x.add("INFO 07-20 17:27:11 api_server.py:219] vLLM API server version "+a.get("version", "0.6.3"),
		"INFO 07-20 17:27:12 config.py:890] Defaulting to use ray for distributed inference",
		"INFO 07-20 17:27:16 ray_utils.py:96] Waiting for creating a placement group of specs for 0 seconds.",
		"INFO 07-20 17:27:20 utils.py:737] Found nccl from library libnccl.so.2",
		"INFO 07-20 17:27:20 pynccl.py:63] vLLM is using nccl=="+nccl)
	return nil
}

// rayDied adds the end of a Ray worker: node=INDEX.
func (x *expander) rayDied(a args) error {
	i, err := a.number("node", 0)
	if err != nil || i >= len(x.session.nodes) {
		return fmt.Errorf("want node=INDEX: %w", err)
	}
	n := x.session.nodes[i]
	x.add("ERROR 07-20 17:31:02 worker_base.py:464] Error executing method init_device. This might cause deadlock in "+
		"distributed execution.",
		"ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.",
		"\tclass_name: RayWorkerWrapper",
		fmt.Sprintf("\tactor_id: %08x5b2d4c1f9a7e3301000000", x.session.seed),
		fmt.Sprintf("\tpid: %d", x.session.pid(i*x.session.gpus)),
		"\tip: "+n.ip,
		"The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: "+
			"Worker unexpectedly exits with a connection error code 2. End of file.")
	return nil
}

// shmBroadcast adds vLLM's complaint that a worker doesn't answer: n times.
func (x *expander) shmBroadcast(a args) error {
	n, err := a.number("n", 3)
	for i := range n {
		x.add(fmt.Sprintf("INFO 07-20 17:%02d:20 [shm_broadcast.py:466] No available shared memory broadcast block "+
			"found in 60 seconds. "+
			"This typically happens when some processes are hanging or doing some time-consuming work "+
			"(e.g. compilation, weight/kv cache quantization).", 40+i))
	}
	return err
}

// mpirun adds Open MPI's notice of a failed process.
func (x *expander) mpirun(a args) error {
	x.add(strings.Repeat("-", 74), "Primary job  terminated normally, but 1 process returned",
		"a non-zero exit code. Per user-direction, the job has been aborted.", strings.Repeat("-", 74),
		strings.Repeat("-", 74), "mpirun detected that one or more processes exited with non-zero status, thus causing",
		"the job to be terminated. The first process to do so was:", "",
		fmt.Sprintf("  Process name: [[48211,1],%s]", a.get("rank", "0")), "  Exit code:    "+a.get("exit", "3"),
		strings.Repeat("-", 74))
	return nil
}
