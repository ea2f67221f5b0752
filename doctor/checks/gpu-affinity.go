package checks

import (
	"context"
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func gpuAffinity() doctor.Check {
	return doctor.Check{
		ID: "gpu-affinity", Title: "GPU without a compute card nearby", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupHost, Numbers: []int{84},
		Reads: []string{pciFiles("class"), pciFiles("numa_node"), "/" + sysfs.ProcNVIDIA + "/gpus/*/information"},
		Explanation: prose.Join(`
			Data between a GPU and a card on another NUMA node crosses the link between the processors. It is
			slower, competes with other traffic, and NCCL does not use GPUDirect RDMA over that distance by
			default. If the node has a card for each GPU, a GPU without one nearby shows a card that is
			missing or in the wrong slot.`),
		Remedy:  "Compare the slots of the cards with those of another node of the same model.",
		Sources: []string{"NCCL src/graph/topo.cc (PATH_PIX to PATH_SYS)", "nvidia-smi topo -m"},
		Run:     runGPUAffinity,
	}
}

func runGPUAffinity(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	why := noWay(s)
	if why == "" && unsupportedModel(in) == integratedGPU {
		why = "the GPU is integrated with the processor"
	}
	if why != "" {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", why)}
	}
	compute, gpus := computePorts(s), drivenGPUs(s)
	var far []doctor.Finding
	var good []doctor.Evidence
	near := 0
	for _, g := range gpus {
		p, distance := nearest(g, compute)
		ev := affinityEvidence(in, g)
		switch distance {
		case inventory.PCIDistanceUnknown:
			return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
				"the places of GPUs and cards on the PCI bus are not known")}
		case inventory.PCIDistanceSYS:
			far = append(far, doctor.Finding{
				Outcome: doctor.OutcomeWarn, Object: g.PCI.Address, Kind: doctor.KindGPU, Evidence: append(ev,
					affinityEvidence(in, inventory.GPU{PCI: *p.dev.PCI})...),
				Summary: fmt.Sprintf("GPU %d has no compute card on its NUMA node; the nearest, %s, is across the "+
					"link between the processors (SYS)", g.Index, p.object()),
				Actions: []doctor.Action{
					doctor.Shell("nvidia-smi topo -m   # and compare with another node"),
					doctor.Note("look for the card that is missing or in another processor's slot"),
				},
			})
		default:
			near++
			good = append(good, ev...)
		}
	}
	switch built := near <= len(far) || len(groupBy(compute, slot)) < len(gpus); {
	case len(far) > 0 && !built:
		return far
	case len(far) > 0:
		far = []doctor.Finding{fewCards(far, len(gpus))}
	}
	if near == 0 {
		return far
	}
	pass := doctor.Passed(doctor.ObjectNode, fmt.Sprintf("%d of %s with a compute card on the same NUMA node or nearer",
		near, english.Count(len(gpus), "GPU")), good...)
	return append([]doctor.Finding{pass}, far...)
}

// fewCards returns one note for a machine that was built with fewer cards than GPUs.
func fewCards(far []doctor.Finding, gpus int) doctor.Finding {
	f := doctor.Finding{
		Outcome: doctor.OutcomeInfo, Object: doctor.ObjectNode,
		Summary: fmt.Sprintf("%d of %s have no compute card on their NUMA node", len(far), english.Count(gpus, "GPU")),
		Explanation: "The node has fewer compute cards than GPUs. The traffic of these GPUs crosses the link between " +
			"the processors; that is how the node is built, and ranks that use them are slower.",
	}
	for _, one := range far {
		f.Evidence = append(f.Evidence, one.Evidence[0])
	}
	return f
}

// nearest returns the compute port that is nearest to a GPU.
func nearest(g inventory.GPU, compute []portRef) (portRef, inventory.PCIDistance) {
	best, distance := compute[0], inventory.PCIDistanceUnknown
	for _, p := range compute {
		i := slices.IndexFunc(p.port.GPUs, func(d inventory.GPUDistance) bool { return d.GPU == g.Index })
		if i < 0 || p.port.GPUs[i].Distance == inventory.PCIDistanceUnknown {
			continue
		}
		if d := p.port.GPUs[i].Distance; distance == inventory.PCIDistanceUnknown || d < distance {
			best, distance = p, d
		}
	}
	return best, distance
}

// affinityEvidence returns the NUMA node of a function, or its class if that is not recorded.
func affinityEvidence(in *doctor.Input, g inventory.GPU) []doctor.Evidence {
	file := function(g.PCI.Address) + "/numa_node"
	if text, err := in.Facts.Files.Text(file); err == nil {
		return []doctor.Evidence{fileEvidence(file, text)}
	}
	return []doctor.Evidence{{Path: g.PCI.Path + "/class", Value: g.PCI.Class.String()}}
}
