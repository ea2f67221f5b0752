package rules

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// programRules are about programs above the transport.
func programRules() []Rule {
	return []Rule{
		{
			ID:    "RDX-150",
			Name:  "watchdog",
			Title: "a collective operation didn't finish in time",
			Explanation: "The watchdog of PyTorch sees that a collective takes too long; it doesn't know why. If " +
				"the ranks wait for different operations, the program is at fault; if one rank is missing, look " +
				"there first.",
			Sources: []string{"pytorch/pytorch, ProcessGroupNCCL.cpp", "pytorch/pytorch#118369"},
			Find:    findWatchdog,
		},
		{
			ID:    "RDX-151",
			Name:  "process-blocked",
			Title: "the process of a rank was blocked",
			Explanation: "The heartbeat of the watchdog stopped: the process is stuck in CUDA or in Python's " +
				"lock, which the network doesn't cause.",
			Sources: []string{"snowflakedb/ArcticTraining#219"},
			Find: simple(
				"the process of a rank was blocked",
				evidence.TorchStuck,
				func(c *candidates, x *facts.Failure) {
					c.add("process-blocked", "the process is stuck in CUDA or in Python's lock", common+strong).
						supports(strong, "the watchdog's own heartbeat stopped", x.Event.Place).
						todo("py-spy dump --pid PID", "what the stack shows")
				},
			),
		},
		{
			ID:    "RDX-152",
			Name:  "worker-hangs",
			Title: "a worker of the engine doesn't answer",
			Explanation: "vLLM waits for a worker that doesn't take or give a block of shared memory. Unless " +
				"NCCL has warned before, a GPU kernel or a process hangs and not the network.",
			Sources: []string{"flashinfer-ai/flashinfer#3279", "vllm-project/vllm#48720"},
			Find:    findBroadcast,
		},
		{
			ID:    "RDX-153",
			Name:  "deepep-timeout",
			Title: "DeepEP's dispatch timed out",
			Explanation: "The kernels of DeepEP wait for data of their peers. With NVSHMEM 3.5.19 or later and " +
				"an older DeepEP the two disagree about a layout, and the network is fine.",
			Sources: []string{"deepseek-ai/DeepEP#553", "deepseek-ai/DeepEP#707"},
			Find:    findDeepEP,
		},
		{
			ID:          "RDX-154",
			Name:        "nvshmem",
			Title:       "NVSHMEM could not initialize its transport",
			Explanation: "IBGDA needs DevX, mapping of the card's doorbells into the GPU, and nvidia-peermem.",
			Sources: []string{
				"sgl-project/sglang#12533",
				"deepseek-ai/DeepEP#36",
				"NVIDIA/nvshmem#21",
				"NVIDIA/nvshmem#45",
			},
			Find: findNVSHMEM,
		},
		{
			ID:    "RDX-155",
			Name:  "ucx-unreachable",
			Title: "UCX finds no transport to the peer",
			Explanation: "The two ends have no transport in common that reaches. The line lists each transport and " +
				"device with what it lacks.",
			Sources: []string{
				"openucx/ucx, src/ucp/wireup/select.c", "openucx/ucx#4619", "openucx/ucx#3513", "openucx/ucx#7599",
			},
			Find: findUnreachable,
		},
		{
			ID:          "RDX-156",
			Name:        "nixl",
			Title:       "NIXL's backend failed",
			Explanation: "The lines of UCX above name the cause.",
			Sources:     []string{"PrimeIntellect-ai/prime-rl#2761"},
			Find:        findNIXL,
		},
		exceptionRule(), initRule(), membersRule(),
	}
}

// simple returns the search for failures of one kind, with causes that only need the first one.
func simple(
	what string,
	kind evidence.Kind,
	causes func(c *candidates, x *facts.Failure),
) func(*facts.Facts) []Finding {
	return func(f *facts.Facts) []Finding {
		list := of(f, kind)
		if len(list) == 0 {
			return nil
		}
		c := &candidates{}
		causes(c, list[0])
		return []Finding{{
			What: where(list[0]) + ": " + what, Failure: list[0], Events: events(list), Causes: c.causes(),
		}}
	}
}

// findBroadcast is about workers of vLLM that wait for another one.
func findBroadcast(f *facts.Facts) []Finding {
	list := of(f, evidence.VLLMBroadcast)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	c.add("gpu-hang", "a GPU kernel or a process of a worker hangs", common+strong).
		supports(usual, "vLLM's own processes wait for each other", x.Event.Place).
		todo("nvidia-smi: full utilization at nearly idle power is a spinning kernel; py-spy dump",
			"another release of the library with the kernel").
		from("flashinfer-ai/flashinfer#3279", "vllm-project/vllm#48720")
	nodeHang(f, c, false)
	c.add("dead-peer", "a worker has ended", usual).
		todo("the logs of all workers; dmesg for the OOM killer", "what ended it")
	return []Finding{{
		What: where(x) + ": a worker doesn't answer", Failure: x, Events: events(list), Causes: c.causes(),
	}}
}

// findWatchdog reports a watchdog only if nothing else failed: otherwise it is an echo.
func findWatchdog(f *facts.Facts) []Finding {
	list := append(of(f, evidence.TorchMismatch), of(f, evidence.TorchWatchdog)...)
	if len(list) == 0 || !waiting(f) {
		return nil
	}
	x := list[0]
	c := &candidates{}
	operations := map[string]bool{}
	for e := range f.Store.Of(evidence.TorchWatchdog) {
		if e.Fields["op"] != "" {
			operations[e.Fields["seq"]+" "+e.Fields["op"]] = true
		}
	}
	equal := firstOf(f, evidence.NCCLRAS, "counts", "equal")
	weight := common
	if equal != nil {
		weight = rare
	}
	c.add("program-fault", "the ranks call different collectives, or one rank never comes", weight).
		supportsIf(len(operations) > 1, strong, fmt.Sprintf(
			"the ranks wait for %d different operations", len(operations)), x.Event.Place).
		supportsIf(len(of(f, evidence.TorchMismatch)) > 0, decisive, "PyTorch names the mismatch", x.Event.Place).
		todo("the flight recorder (TORCH_NCCL_TRACE_BUFFER_SIZE=2000, torchfrtrace): the rank that lags",
			"the branch or data loader of that rank")
	one := firstOf(f, evidence.TorchWatchdog, "elements", "1")
	c.add("process-blocked", "a rank works on its CPU or storage for longer than the limit", usual).
		supportsIf(one != nil && len(operations) == 1, hint,
			"all wait in a barrier, or for one value", placeOf(one)...).
		todo("py-spy dump of the rank that isn't there: preprocessing, an index, a checkpoint, compilation",
			"a longer timeout of the process group; the work before, or on all ranks").
		from("stanford-futuredata/ColBERT#318", "NVIDIA-NeMo/Megatron-Bridge#4385")
	dead := c.add("dead-peer", "a rank has died or was never started", usual)
	deadEvidence(f, dead)
	dead.todo("the logs of all ranks: the one that ends first, or that is missing", "what ended it")
	c.add("gpu-hang", "a GPU kernel hangs", rare).
		supportsIf(equal != nil, strong, "all ranks wait for the same operation: "+textOf(equal), placeOf(equal)...).
		todo("nvidia-smi on all nodes", "another release of the library")
	silentHang(f, c)
	seq, numbered := x.Event.Fields.Int("seq")
	nodeHang(f, c, numbered && seq <= firstOperations)
	what := fmt.Sprintf("a collective (%s) of %s didn't finish", x.Event.Fields["op"], where(x))
	switch {
	case x.Event.Kind != evidence.TorchMismatch && x.Event.Fields["op"] == "":
		what = "a collective of " + where(x) + " didn't finish"
	case x.Event.Kind == evidence.TorchMismatch:
		what = "the ranks call different collectives: PyTorch on " + where(x) + " has compared them"
	}
	return []Finding{{What: what, Failure: x, Events: events(list), Causes: c.causes()}}
}

// waiting reports whether all failures are of programs that wait for others.
func waiting(f *facts.Facts) bool {
	for _, x := range f.Failures {
		if x.Event.Standing == evidence.Waiting {
			continue
		}
		switch x.Event.Kind {
		case evidence.TorchWatchdog, evidence.TorchMismatch, evidence.TorchException, evidence.TorchNCCLError,
			evidence.ProgramKilled, evidence.NCCLPeerClosed, evidence.RayError, evidence.PythonTraceback,
			evidence.MPIError,
			evidence.VLLMBroadcast, evidence.NCCLReturn, evidence.NCCLEnd, evidence.KernelOOM, evidence.KernelGPU:
		default:
			return false
		}
	}
	return true
}

func deadEvidence(f *facts.Facts, c *candidate) {
	for _, kind := range [...]evidence.Kind{evidence.ProgramKilled, evidence.KernelOOM, evidence.KernelGPU} {
		if e := firstOf(f, kind, ""); e != nil && !f.OtherTime(e) {
			c.supports(decisive, e.Text, e.Place)
		}
	}
	for _, s := range f.Silent {
		c.supports(hint, s.Node.Name+" "+s.Why, s.Places...)
		break
	}
}

// silentHang adds the defects of NCCL that end in a hang without a message.
func silentHang(f *facts.Facts, c *candidates) {
	l, ok := f.Library("nccl")
	if !ok {
		return
	}
	possible, certain := l.Between("", "2.29.2")
	arm := firstOf(f, evidence.Setting, "name", "machine")
	if !possible {
		return
	}
	d := c.add("defect:nccl-aarch64-hang", "on aarch64 NCCL before 2.29.3 can hang without a message", rare)
	ras := firstOf(f, evidence.NCCLRAS, "counts", "different")
	d.supportsIf(ras != nil, strong+hint, textOf(ras), placeOf(ras)...)
	d.supportsIf(certain, rare, "this version is before 2.29.3", l.Place()...).
		todo("uname -m; ncclras: one rank lags while all GPUs are busy at low power", "NCCL 2.29.3 or later").
		from("NVIDIA/nccl#2353", "sgl-project/sglang#33289")
	if arm != nil && arm.Fields["value"] == "aarch64" {
		d.supports(decisive, "the machine is aarch64", arm.Place)
	}
}

func findDeepEP(f *facts.Facts) []Finding {
	list := of(f, evidence.DeepEPTimeout)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	layout := c.add("defect:nvshmem-deepep-layout", "NVSHMEM 3.5.19 or later with a DeepEP before #564", common+usual)
	if l, ok := f.Library("nvshmem"); ok {
		if possible, certain := l.Between("3.5.19", ""); certain && possible {
			layout.supports(strong, "NVSHMEM is "+l.Versions[0].Text, l.Place()...)
		} else if !possible {
			layout.opposes(decisive, "NVSHMEM is older", l.Place()...)
		}
	}
	layout.todo("the versions: pip show nvidia-nvshmem-cu12 deep_ep", "matching versions").
		from("deepseek-ai/DeepEP#553", "deepseek-ai/DeepEP#707")
	c.add("gid-index", "the GID index of the cards that NVSHMEM uses", usual).
		todo("NVSHMEM_IB_GID_INDEX against show_gids", "the index of the RoCE v2 GID")
	c.add("adaptive-routing", "adaptive routing reorders writes, which DeepEP before March 2025 didn't expect", rare).
		todo("DeepEP's commit; the switches' setting", "a later DeepEP").from("deepseek-ai/DeepEP#74")
	c.add("dead-peer", "a rank has ended, or is stuck elsewhere", usual).
		todo("the logs of all ranks: which one failed first, or is silent", "what it says")
	c.add("not-privileged", "permissions of IBGDA in the container", rare).
		todo("NVSHMEM_DEBUG=INFO", "a privileged container")
	return []Finding{
		{What: "DeepEP waited in vain for its peers", Failure: x, Events: events(list), Causes: c.causes()},
	}
}

func findNVSHMEM(f *facts.Facts) []Finding {
	list := of(f, evidence.NVSHMEMError, evidence.NVSHMEMInit, evidence.NVSHMEMPeermem)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	calls := map[string]*facts.Failure{}
	for _, y := range list {
		calls[y.Event.Fields["call"]] = y
		if y.Event.Kind == evidence.NVSHMEMPeermem {
			calls["peermem"] = y
		}
	}
	if y := calls["mlx5dv_devx_alloc_uar"]; y != nil || len(calls) == 1 && calls[""] != nil {
		a := c.add(
			"not-privileged",
			"the container may not use DevX, or map the card's doorbell into the GPU",
			common,
		)
		if y != nil {
			a.supports(strong, y.Event.Text, y.Event.Place)
		}
		a.todo("run once privileged; PeerMappingOverride=1 of the NVIDIA driver",
			"a privileged container; the driver's option").
			from("sgl-project/sglang#12533")
		if y == nil && strings.Contains(x.Event.Text, "connect") {
			c.add("gid-index", "the GID that NVSHMEM uses can't reach the peers", usual).
				todo("the lines before this one; show_gids", "NVSHMEM_IB_GID_INDEX")
			c.add("rails-not-connected", "cards of different networks are paired", rare).
				todo("rdmactl cluster verify --hosts NODE1,NODE2", "NVSHMEM_HCA_LIST with the cards that are connected")
		}
	}
	if y := calls["mlx5dv_devx_umem_reg"]; y != nil || calls["peermem"] != nil {
		p := c.add("peermem-missing", "nvidia-peermem isn't loaded, or the old nv_peer_mem is instead", common)
		for _, z := range []*facts.Failure{y, calls["peermem"]} {
			if z != nil {
				p.supports(strong, z.Event.Text, z.Event.Place)
			}
		}
		p.todo("lsmod | grep -i peer", "rmmod nv_peer_mem; modprobe nvidia-peermem").from("deepseek-ai/DeepEP#36")
	}
	if y := calls["ibv_create_ah"]; y != nil {
		d := c.add(
			"defect:nvshmem-ah",
			"NVSHMEM up to 3.4.5 leaves an attribute of the address handle unset on RoCE",
			common,
		)
		d.supports(strong, y.Event.Text, y.Event.Place)
		if l, ok := f.Library("nvshmem"); ok {
			if possible, _ := l.Between("", "3.4.5"); !possible {
				d.opposes(decisive, "the version is later", l.Place()...)
			}
		}
		d.todo("the version", "a later NVSHMEM; IBRC meanwhile").from("NVIDIA/nvshmem#21")
		c.add("gid-index", "the GID index is wrong", usual).todo("show_gids", "NVSHMEM_IB_GID_INDEX")
	}
	if y := calls["ibv_modify_qp"]; y != nil {
		nvshmemModify(c, y)
	}
	if e := symptom(f, "nvshmem-other-card"); e != nil && calls[""] != nil {
		c.add("gda-needs-mlx5", "IBGDA supports ConnectX cards only", usual).supports(strong, e.Text, e.Place).
			todo("ibv_devinfo", "NVSHMEM_REMOTE_TRANSPORT=ibrc or libfabric").from("deepseek-ai/DeepEP#202")
	}
	if y := calls["mlx5dv_devx_obj_modify"]; y != nil {
		c.add("traffic-class-on-infiniband", "NVSHMEM_IB_TRAFFIC_CLASS is set on InfiniBand", common).
			supportsIf(y.Event.Fields["syndrome"] == "764216", strong+strong,
				"the syndrome is that of this case", y.Event.Place).
			todo("env | grep NVSHMEM_IB_TRAFFIC_CLASS; the link layer", "unset it on InfiniBand").
			from("NVIDIA/nvshmem#45")
	}
	if len(c.list) == 0 {
		c.add("not-privileged", "permissions of IBGDA in the container", usual).
			todo("NVSHMEM_DEBUG=INFO", "a privileged container")
		c.add("missing-library", "the transport's library is missing", usual).
			todo("ldd of the transport", "install it")
	}
	return []Finding{{
		What: where(x) + ": NVSHMEM failed: " + x.Event.Text, Failure: x, Events: events(list), Causes: c.causes(),
	}}
}

// nvshmemModify weighs why NVSHMEM could not connect a queue pair: ibv_modify_qp returns the error
// number.
func nvshmemModify(c *candidates, x *facts.Failure) {
	n := x.Event.Fields["errno"]
	silent, noRoute := n == "110", n == "101" || n == "113"
	c.add("gid-index", "the GID that NVSHMEM uses can't reach the peer: link-local, RoCE v1, or of another network",
		usual).
		supportsIf(silent || n == "22", strong, "errno "+n, x.Event.Place).
		todo("show_gids on both nodes",
			"NVSHMEM_IB_GID_INDEX with the index of the RoCE v2 GID; NVSHMEM 3.2.5 or later chooses it").
		from("deepseek-ai/DeepEP#38", "deepseek-ai/DeepEP#17")
	c.add("rails-not-connected", "cards of different networks are paired: NVSHMEM connects to all peers", usual).
		supportsIf(noRoute, strong, "errno "+n+": no route from that card to the peer's address", x.Event.Place).
		supportsIf(silent, hint, "errno 110: the peer's address isn't answered", x.Event.Place).
		todo("rdmactl cluster verify --hosts NODE1,NODE2",
			"NVSHMEM_HCA_LIST with the cards that are connected, and NVSHMEM_ENABLE_NIC_PE_MAPPING=1").
		from("deepseek-ai/DeepEP#321")
	c.add("networks-mixed", "InfiniBand on one side, RoCE or another network on the other", rare).
		todo("rdma link on both nodes", "NVSHMEM_HCA_LIST with cards of one kind")
}
