package rules

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// slowRules are about jobs that work and are slow, and about lines that only look like faults.
func slowRules() []Rule {
	return []Rule{
		{
			ID:    "RDX-180",
			Name:  "bond-one-flow",
			Title: "a bond is used with one flow",
			Explanation: "A bond distributes flows, and NCCL opens one queue pair for each connection: it uses one " +
				"of the links.",
			Sources: []string{"NVIDIA/nccl#1015"},
			Find:    findBond,
		},
		{
			ID: "RDX-181", Name: "gdr-off", Title: "GPU Direct RDMA is off",
			Explanation: "Data goes through host memory, which costs bandwidth.",
			Sources:     []string{"NVIDIA/nccl#1939", "NVIDIA/nccl, src/graph/paths.cc"},
			Find:        findGDROff,
		},
		{
			ID: "RDX-190", Name: "harmless", Title: "lines that look like faults and are none",
			Explanation: "They are printed by releases that look for something optional.",
			Sources:     []string{"NVIDIA/nccl#1866", "vllm-project/vllm#42750", "NVIDIA/nccl#902"},
			Find:        findHarmless,
		},
	}
}

func findBond(f *facts.Facts) []Finding {
	for _, n := range f.Nodes {
		for _, d := range n.Devices {
			if !strings.Contains(d.Name, "bond") || len(f.Failures) > 0 {
				continue
			}
			if v, _, ok := variable(f, "NCCL_IB_QPS_PER_CONNECTION"); ok && v != "1" {
				return nil
			}
			c := &candidates{}
			b := c.add("one-link-of-bond", "one queue pair for each connection uses one link of the bond", common)
			b.supports(usual, d.Name+" of "+n.Name+" is a bond", d.Places...).
				todo("the counters of both ports while the job runs",
					"NCCL_IB_QPS_PER_CONNECTION=2 or more, and a hash with UDP ports").
				from("NVIDIA/nccl#1015")
			return []Finding{
				{
					What:   "the RDMA device is a bond, and connections have one queue pair",
					Events: eventsAt(f, evidence.NCCLDevices),
					Causes: c.causes(),
				},
			}
		}
	}
	return nil
}

// eventsAt returns the first event of a kind as a list.
func eventsAt(f *facts.Facts, kind evidence.Kind) []*evidence.Event {
	if e := firstOf(f, kind, ""); e != nil {
		return []*evidence.Event{e}
	}
	return nil
}

func findGDROff(f *facts.Facts) []Finding {
	if len(f.Failures) > 0 {
		return nil
	}
	off := firstOf(f, evidence.NCCLConnected, "gdr", "0")
	disabled := firstOf(f, evidence.NCCLGDR, "enabled", "no")
	on := firstOf(f, evidence.NCCLGDR, "enabled", "yes")
	used := firstOf(f, evidence.NCCLChannel, "gdr", "yes")
	if off == nil && disabled == nil || on != nil || used != nil {
		return nil
	}
	if e := firstOf(f, evidence.NCCLNetwork, "network", "Socket"); e != nil {
		return nil // RDX-130
	}
	e := disabled
	if e == nil {
		e = off
	}
	c := &candidates{}
	far := disabled != nil && disabled.Fields["distance"] != ""
	c.add("gdr-off", "GPU and card are too far apart in the PCIe tree", usual).
		supportsIf(far, strong, fmt.Sprintf("distance %s, limit %s", e.Fields["distance"], e.Fields["limit"]), e.Place).
		todo("nvidia-smi topo -m; rdmactl detect", "the card next to the GPU; NCCL_NET_GDR_LEVEL")
	_, amd := f.Library("rccl")
	title, remedy := "nvidia-peermem isn't loaded, and DMA-BUF isn't available", "modprobe nvidia-peermem"
	if amd {
		title = "amdgpu has not registered with the RDMA subsystem (peer memory of amdkfd), and DMA-BUF isn't used"
		remedy = "amdgpu-dkms of ROCm with MLNX_OFED; or DMA-BUF: NCCL_DMABUF_ENABLE=1 and a kernel with it"
	}
	c.add("peermem-missing", title, usual).
		supportsIf(!far && disabled != nil, strong, textOf(disabled), placeOf(disabled)...).
		opposesIf(far, usual, "the distance is given as the reason", e.Place).
		todo("lsmod | grep peermem; ls /sys/kernel/mm/memory_peers", remedy).
		from("NVIDIA/nccl#1939", "ROCm/rccl, src/transport/net_ib.cc")
	c.add("peermem-build", "nvidia-peermem is loaded but not registered", rare).
		todo("ls /sys/kernel/mm/memory_peers", "reinstall the driver after OFED").from("NVIDIA/nccl#1939")
	return []Finding{
		{
			What:   "GPU Direct RDMA is off, so data goes through host memory",
			Events: []*evidence.Event{e},
			Causes: c.causes(),
		},
	}
}

// textOf returns the text of an event, "" for nil.
func textOf(e *evidence.Event) string {
	if e == nil {
		return ""
	}
	return e.Text
}

// leftover returns a completion with an error that prints an opcode.
func leftover(f *facts.Facts) *evidence.Event {
	for _, kind := range completionKinds {
		for e := range f.Store.Of(kind) {
			if strings.Contains(e.Text, "opcode") {
				return e
			}
		}
	}
	return nil
}

// findHarmless names lines that users take for the cause.
func findHarmless(f *facts.Facts) []Finding {
	var out []Finding
	if e := firstOf(f, evidence.NCCLHarmless, "what", "dlvsym", "libmlx5"); e != nil {
		out = append(out, Finding{
			Harmless: true,
			Events:   []*evidence.Event{e},
			What: fmt.Sprintf(
				"%s: rdma-core of the image is older than NCCL's Data Direct needs; only that is lost",
				e.Place,
			),
		})
	}
	if e := leftover(f); e != nil {
		out = append(out, Finding{
			Harmless: true, Note: "opcode-leftover",
			Events: []*evidence.Event{e},
			What: fmt.Sprintf(
				"%s: opcode and len of a completion with an error are leftovers and mean nothing",
				e.Place,
			),
		})
	}
	out = append(append(out, retracted(f)...), socketsChosen(f)...)
	if e := firstOf(f, evidence.NCCLHint, ""); e != nil {
		out = append(out, Finding{
			Harmless: true,
			Events:   []*evidence.Event{e},
			What: fmt.Sprintf(
				"%s: NCCL's hints fall through from one error to the next; those about other errors are wrong",
				e.Place,
			),
		})
	}
	return out
}

// retracted returns what other lines take back, for each kind once.
func retracted(f *facts.Facts) []Finding {
	var out []Finding
	for _, kind := range [...]struct {
		kind       evidence.Kind
		note, what string
	}{
		{evidence.VLLMBroadcast, "wait-over", "vLLM waited for a worker, and went on later"},
		{evidence.KernelLink, "short-flap", "the link was up again within seconds, and nothing failed"},
		{evidence.NCCLEnd, "abort-at-end", "communicators that had worked were aborted, as programs do at their end"},
	} {
		for e := range f.Store.Of(kind.kind) {
			if e.Standing == evidence.Harmless {
				out = append(out, Finding{
					Harmless: true, Note: kind.note, Events: []*evidence.Event{e},
					What: fmt.Sprintf("%s: %s", e.Place, kind.what),
				})
				break
			}
		}
	}
	return out
}

// socketsChosen notes that a setting keeps the nodes of a job from using RDMA.
func socketsChosen(f *facts.Facts) []Finding {
	e := firstOf(f, evidence.NCCLNetwork, "network", "Socket")
	if e == nil || oneNode(f) || firstOf(f, evidence.NCCLNetwork, "network", "IB") != nil {
		return nil
	}
	why := ""
	for _, s := range [...]struct{ name, value string }{{"NCCL_NET", "socket"}, {"NCCL_IB_DISABLE", "1"}} {
		if v, _, ok := variable(f, s.name); ok && strings.EqualFold(v, s.value) {
			why = s.name + "=" + v
		}
	}
	if why == "" {
		return nil // RDX-130
	}
	return []Finding{{
		Harmless: true, Note: "sockets-chosen", Events: []*evidence.Event{e},
		What: fmt.Sprintf("%s: NCCL uses TCP and not RDMA, as %s demands: slow between nodes, if it isn't meant",
			e.Place, why),
	}}
}
