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
			ID:    "RDX-120",
			Name:  "register-memory",
			Title: "memory could not be registered",
			Explanation: "Registering pins memory, which the limit of locked memory bounds; for a GPU's memory " +
				"the kernel also needs nvidia-peermem or DMA-BUF.",
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
	gpu := x.Event.Fields["gpu"] != "" || x.Event.Fields["call"] == "ibv_reg_dmabuf_mr"
	if errno == "12" || errno == "" && !gpu {
		memoryCauses(f, c, list)
	}
	if errno != "12" || gpu {
		peermem(f, c, x)
	}
	return []Finding{
		{
			What: fmt.Sprintf(
				"%s could not register memory%s",
				where(x),
				errnoText(errno),
			),
			Failure: x,
			Events:  events(list),
			Causes:  c.causes(),
		},
	}
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
	lock.todo("ulimit -l inside the launcher and the container, not in a shell of the host; rdmactl doctor --only "+
		"memlock",
		"memlock unlimited for the service that starts the job (slurmd, containerd): limits.conf doesn't reach "+
			"services").
		from("NVIDIA/nccl-tests#206", "ai4d-iasc/trixie#81", "NVIDIA/nvidia-container-toolkit#2037")
	size, err := strconv.Atoi(x.Event.Fields["size"])
	cma := c.add("no-cma", "the kernel has no memory to pin: no CMA, or too little memory", rare)
	cma.supportsIf(err == nil && size < smallRegistration && large, strong, "the size is small, and memlock is not "+
		"the limit", x.Event.Place).
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
	p.supportsIf(x.Event.Fields["errno"] == "14", strong, "errno 14: the kernel can't pin that address", x.Event.Place).
		todo("lsmod | grep peermem; rdmactl doctor --only gpudirect", "modprobe nvidia-peermem, or the open kernel "+
			"modules with DMA-BUF").
		from("Mellanox/nv_peer_memory#36", "Mellanox/gpu_direct_rdma_access#5")
	b := c.add("peermem-build", "the module was built for another OFED", rare)
	if e := firstOf(f, evidence.KernelSymbol, ""); e != nil {
		b.supports(decisive, e.Text, e.Place)
	}
	b.todo("dmesg | grep peer", "reinstall the driver after OFED").from("Mellanox/nv_peer_memory#79")
	kind := c.add("gdr-off", "this GPU memory can't be registered: an allocator with virtual addresses "+
		"(expandable_segments), or a virtual GPU", rare)
	if v, places, ok := variable(f, "PYTORCH_CUDA_ALLOC_CONF"); ok && strings.Contains(v, "expandable_segments") {
		kind.supports(decisive, "PYTORCH_CUDA_ALLOC_CONF="+v, places...)
	}
	fault := x.Event.Fields["errno"] == "14"
	kind.supportsIf(fault, usual, "errno 14: the kernel can't pin that address", x.Event.Place).
		todo("echo $PYTORCH_CUDA_ALLOC_CONF; the program with host memory",
			"no expandable_segments, DMA-BUF, or no GPU Direct").
		from("kvcache-ai/Mooncake#351")
}

func findCreate(f *facts.Facts) []Finding {
	list := with(
		of(f, verbKinds...),
		"call",
		"ibv_create_cq",
		"ibv_create_qp",
		"ibv_create_qp_ex",
		"ibv_create_cq_ex",
		"ibv_alloc_pd",
		"ibv_create_srq",
		"mlx5dv_create_qp",
	)
	list = append(list, of(f, evidence.UCXDevX)...)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	memoryCauses(f, c, list)
	for _, y := range c.list {
		if y.Slug == "resource-limit" {
			y.Title = "the card, or its virtual function, has no more queues"
			y.Weight += usual
			y.supportsIf(x.Event.Kind == evidence.UCXDevX, strong, "the firmware refused the object", x.Event.Place)
			y.todo("rdma resource show; ibv_devinfo -v: max_qp", "fewer queue pairs and channels")
			y.from("NVIDIA/nccl#1191", "deepseek-ai/DeepEP#649", "openucx/ucx#5351")
		}
	}
	return []Finding{
		{
			What: fmt.Sprintf(
				"%s could not create %s%s",
				where(x),
				x.Event.Fields["call"],
				errnoText(x.Event.Fields["errno"]),
			),
			Failure: x,
			Events:  events(list),
			Causes:  c.causes(),
		},
	}
}
