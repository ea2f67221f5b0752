package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// verbKinds are events of calls of libibverbs.
var verbKinds = []evidence.Kind{
	evidence.NCCLVerb, evidence.UCXVerb, evidence.MooncakeVerb, evidence.VerbsError, evidence.NVSHMEMError,
}

// memoryRules are about memory and other resources that were refused.
func memoryRules() []Rule {
	return []Rule{
		{
			ID: "RDX-120", Name: "register-memory", Title: "memory could not be registered",
			Explanation: "Registering pins memory, which the limit of locked memory bounds; for a GPU's memory the " +
				"kernel also needs nvidia-peermem or DMA-BUF.",
			Sources: []string{"ibv_reg_mr(3)", "NVIDIA/nccl-tests#206", "ai4d-iasc/trixie#81"},
			Find:    findRegister,
		},
		{
			ID:          "RDX-121",
			Name:        "create-resource",
			Title:       "a completion queue or queue pair could not be created",
			Explanation: "Queues are pinned memory too, and cards and virtual functions have limited numbers of them.",
			Sources:     []string{"NVIDIA/cudf-spark#7632", "deepseek-ai/DeepEP#649"},
			Find:        findCreate,
		},
	}
}

func registerCalls() []string {
	return []string{"ibv_reg_mr", "ibv_reg_mr_iova", "ibv_reg_mr_iova2", "ibv_reg_dmabuf_mr", "mlx5dv_reg_dmabuf_mr"}
}

func findRegister(f *facts.Facts) []Finding {
	list := with(of(f, verbKinds...), "call", registerCalls()...)
	list = append(list, of(f, evidence.PerftestMemory)...)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	errno := x.Event.Fields["errno"]
	gpu := x.Event.Fields["gpu"] != "" || x.Event.Fields["call"] == "ibv_reg_dmabuf_mr" ||
		x.Event.Kind == evidence.PerftestMemory && firstOf(f, evidence.Setting, "name", "GPU memory") != nil
	if errno == "12" || errno == "" && !gpu {
		memoryCauses(f, c, list)
	}
	if errno != "12" || gpu {
		peermem(f, c, x)
	}
	registerRefused(c, x)
	return []Finding{{
		What: fmt.Sprintf("%s could not register memory%s", where(x), errnoText(errno)), Failure: x,
		Events: events(list), Causes: c.causes(),
	}}
}

func errnoText(n string) string {
	if n == "" {
		return ""
	}
	return ": errno " + n
}

// smallRegistration is a size in bytes that any limit of locked memory allows.
const smallRegistration = 64 << 10

// memoryCauses are the causes of "cannot allocate memory".
func memoryCauses(f *facts.Facts, c *candidates, list []*facts.Failure) {
	x := list[0]
	lock := c.add("memlock", "the limit of locked memory (memlock) of the process is too low", common)
	lock.supportsIf(x.Event.Fields["errno"] == "12", hint, "errno 12", x.Event.Place)
	large := false
	if e := firstOf(f, evidence.Setting, "name", "memlock"); e != nil {
		kib, err := strconv.Atoi(e.Fields["value"])
		large = e.Fields["value"] == "unlimited" || err == nil && kib > 1<<20
		lock.supportsIf(!large, decisive, "the limit is "+e.Fields["value"]+" KiB", e.Place).
			opposesIf(large, strong, "the limit is "+e.Fields["value"], e.Place)
	}
	if l := x.Event.Fields["limit"]; l != "" {
		lock.supports(strong, "the line names the limit: "+l, x.Event.Place)
	}
	lock.todo(
		"ulimit -l inside the launcher and the container, not in a shell of the host; rdmactl doctor --only memlock",
		"memlock unlimited for the service that starts the job (slurmd, containerd): limits.conf doesn't reach "+
			"services").
		from("NVIDIA/nccl-tests#206", "ai4d-iasc/trixie#81", "NVIDIA/nvidia-container-toolkit#2037")
	size, err := strconv.Atoi(x.Event.Fields["size"])
	cma := c.add("no-cma", "the kernel has no memory to pin: no CMA, or too little memory", rare)
	cma.supportsIf(err == nil && size < smallRegistration && large, strong,
		"the size is small, and memlock is not the limit", x.Event.Place).
		todo("grep -i cma /proc/meminfo; free -m", "a kernel with CMA; more memory")
	if e := firstOf(f, evidence.Setting, "name", "CmaTotal"); e != nil && e.Fields["value"] == "0" {
		cma.supports(decisive, "CmaTotal is 0", e.Place)
	}
	cma.from("luxingcom/aicad-nccl-optimization#1")
	c.add("resource-limit", "the card has no more memory regions", rare).
		todo("rdma resource show", "fewer and larger registrations")
}

// peermem are the causes of GPU memory that can't be registered.
func peermem(f *facts.Facts, c *candidates, x *facts.Failure) {
	p := c.add("peermem-missing", "no way to GPU memory: nvidia-peermem isn't loaded, and DMA-BUF isn't used", common)
	if e := firstOf(f, evidence.NCCLGDR, "enabled", "no"); e != nil {
		p.supports(strong, e.Text, e.Place)
	}
	if e := firstOf(f, evidence.NVSHMEMPeermem, ""); e != nil {
		p.supports(strong, e.Text, e.Place)
	}
	other := x.Event.Kind == evidence.VerbsError && x.Event.Fields["gpu"] == "" // a program of which nothing is known
	fault := x.Event.Fields["errno"] == "14"
	if other && fault {
		c.add("memory-range", "the range isn't ordinary memory: not mapped, beyond the end, or mapped from a device",
			rare).
			supports(usual+hint, "errno 14: the kernel can't pin that address", x.Event.Place).
			todo("/proc/PID/maps: the line with the address", "memory of malloc or mmap; DMA-BUF for that of a device").
			from("ibv_reg_mr(3)")
	}
	p.supportsIf(fault && !other, strong, "errno 14: the kernel can't pin that address", x.Event.Place).
		supportsIf(fault && other, hint, "errno 14: the kernel can't pin that address", x.Event.Place).
		todo("lsmod | grep peermem; rdmactl doctor --only gpudirect",
			"modprobe nvidia-peermem, or the open kernel modules with DMA-BUF").
		from("Mellanox/nv_peer_memory#36", "Mellanox/gpu_direct_rdma_access#5")
	n := x.Event.Fields["errno"]
	c.add("driver-refuses", "the card's driver or this rdma-core has no DMA-BUF for memory regions", rare).
		supportsIf(n == "93" || n == "95", strong+strong, "errno "+n+": not supported", x.Event.Place).
		todo("uname -r (5.12 or later); ofed_info -s; the rdma-core in the container",
			"nvidia-peermem without DMA-BUF, or a kernel, OFED and rdma-core (34) with it")
	b := c.add("peermem-build", "the module was built for another OFED", rare)
	if e := firstOf(f, evidence.KernelSymbol, ""); e != nil {
		b.supports(decisive, e.Text, e.Place)
	}
	b.todo("dmesg | grep peer", "reinstall the driver after OFED").from("Mellanox/nv_peer_memory#79")
	virtualMemory(f, c, x)
	c.add("gdr-off", "GPU Direct isn't supported here: a virtual GPU, or a GPU without it", rare).
		todo("the program with host memory", "no GPU Direct")
}

// lowestUVA is below the addresses that cudaMalloc returns on Linux (0x7f…). Memory that CUDA's
// virtual memory management maps is often far below.
const lowestUVA = 0x7000_0000_0000

// virtualMemory is about GPU memory of allocators with virtual addresses, such as the expandable
// segments of PyTorch, which nvidia-peermem can't pin.
func virtualMemory(f *facts.Facts, c *candidates, x *facts.Failure) {
	v := c.add("gpu-memory-kind", "the memory is of an allocator with virtual addresses, such as PyTorch's "+
		"expandable segments, which can't be pinned", rare)
	v.supportsIf(x.Event.Fields["errno"] == "14", hint+usual,
		"errno 14: the kernel can't pin that address", x.Event.Place)
	address, err := strconv.ParseUint(strings.TrimPrefix(x.Event.Fields["memory"], "0x"), 16, 64)
	below := err == nil && address > 0xffff && address < lowestUVA
	v.supportsIf(below, strong, fmt.Sprintf(
		"the address 0x%x is below those of cudaMalloc, as mapped virtual memory is", address), x.Event.Place)
	for _, name := range [...]string{"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"} {
		value, places, ok := variable(f, name)
		on := ok && strings.Contains(strings.ToLower(value), "expandable_segments:t")
		v.supportsIf(on, decisive, name+"="+value, places...)
	}
	v.todo("env | grep -e PYTORCH_CUDA_ALLOC_CONF -e PYTORCH_ALLOC_CONF of the process",
		"no expandable_segments:True in PYTORCH_CUDA_ALLOC_CONF; or DMA-BUF, which can register such memory").
		from("kvcache-ai/Mooncake#351", "sgl-project/sglang#6193")
}

// registerRefused are the causes of errors other than out of memory and bad address.
func registerRefused(c *candidates, x *facts.Failure) {
	switch n := x.Event.Fields["errno"]; n {
	case "5", "11", "28":
		c.add("resource-limit",
			"the card has no more memory keys, or the region is larger than it can register", usual).
			supports(strong, "errno "+n+" comes from the card or its driver", x.Event.Place).
			todo("dmesg | grep -i -e mkey -e mr; rdma resource show; ibv_devinfo -v: max_mr_size",
				"smaller and fewer regions, MC_MAX_MR_SIZE with Mooncake; a restart of the node if ended jobs "+
					"leaked keys").
			from("kvcache-ai/Mooncake, docs/source/troubleshooting/troubleshooting.md")
	case "1", "13":
		c.add("not-privileged", "the process isn't allowed to register memory", common).
			supports(strong, "errno "+n, x.Event.Place).
			todo("CapEff of /proc/self/status; the control group's rdma.max", "CAP_IPC_LOCK, or a privileged container")
	}
}

// unknownToDriver reports whether a request of DevX failed without an answer of the firmware,
// because the kernel's driver doesn't have it.
func unknownToDriver(x *facts.Failure) bool {
	if x.Event.Kind != evidence.UCXDevX || strings.Trim(x.Event.Fields["syndrome"], "0x") != "" {
		return false
	}
	switch x.Event.Fields["errno"] {
	case "38", "71", "93", "95":
		return true
	}
	return false
}

func findCreate(f *facts.Facts) []Finding {
	list := with(of(f, verbKinds...), "call", createCalls()...)
	list = append(list, of(f, evidence.UCXDevX)...)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	memoryCauses(f, c, list)
	if n := x.Event.Fields["errno"]; n != "" && n != "12" && !unknownToDriver(x) {
		c.add("device-limit",
			"more inline data, depth or scatter entries than the device has, or a transport that it doesn't have",
			usual).
			supportsIf(n == "22", strong, "errno 22: an attribute was refused", x.Event.Place).
			todo("ibv_devinfo -v: max_qp_wr, max_sge, max_cqe", "smaller queues and inline data")
		refusedCauses(c, x, n)
	}
	if call := x.Event.Fields["call"]; x.Event.Kind == evidence.VerbsError && x.Event.Fields["errno"] == "12" &&
		strings.HasPrefix(call, "ibv_create_qp") {
		c.add("device-limit",
			"the program asks for a longer queue than the device has: libmlx5 returns errno 12 for that, too", usual).
			todo("ibv_devinfo -v: max_qp_wr against the program's max_send_wr", "smaller queues").
			from("jcxue/RDMA-Tutorial#6")
	}
	for _, y := range c.list {
		if y.Slug == "resource-limit" {
			y.Title = "the card, or its virtual function, has no more queues"
			y.Weight += usual
			refused := x.Event.Kind == evidence.UCXDevX && !unknownToDriver(x)
			y.supportsIf(refused, strong, "the firmware refused the object", x.Event.Place)
			y.todo("rdma resource show; ibv_devinfo -v: max_qp", "fewer queue pairs and channels")
			y.from("NVIDIA/nccl#1191", "deepseek-ai/DeepEP#649", "openucx/ucx#5351")
		}
	}
	if unknownToDriver(x) {
		c.add("driver-userspace-mismatch",
			"rdma-core or MLNX_OFED of the container doesn't fit the driver of the host", common).
			supports(strong, "the kernel's driver doesn't know the request", x.Event.Place).
			todo("ofed_info -s, or the release of rdma-core, in the container and on the host",
				"user space of the host's release or an older one; UCX_IB_MLX5_DEVX=n").
			from("openucx/ucx#6906")
	}
	what := fmt.Sprintf("%s: %s failed%s", where(x), x.Event.Fields["call"],
		errnoText(x.Event.Fields["errno"]))
	return []Finding{{What: what, Failure: x, Events: events(list), Causes: c.causes()}}
}
