package rules

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// subsystemRule is about warnings of NCCL of no known form: see [unknownWarning].
func subsystemRule() Rule {
	return Rule{
		ID: "RDX-720", Name: "unknown-warning", Title: "NCCL warns of something that isn't known here",
		Explanation: "The text is of no form that is known here. The source file in the line tells which part of " +
			"NCCL failed, and what mostly fails there.",
		Sources: []string{"NVIDIA/nccl, src"},
		Find:    func(*facts.Facts) []Finding { return nil },
	}
}

// subsystem is a part of NCCL, by a text in the names of its source files, and what its warnings
// mostly come from.
type subsystem struct {
	part, what string
	causes     []Cause
}

func subsystems() []subsystem {
	defect := Cause{
		Slug: "library-defect", Title: "a defect of this release of NCCL", Weight: rare,
		Decide: "the same with another release", Remedy: "the last patch release of the series",
	}
	view := Cause{
		Slug: "topology-view", Title: "the VM or container shows a PCI topology that is hidden, incomplete or odd",
		Weight: usual, Decide: "ls -l /sys/class/pci_bus in the container; lspci -tv; NCCL_TOPO_DUMP_FILE=topo.xml",
		Remedy: "mount the host's /sys; the NCCL_TOPO_FILE of the cloud or VM; a newer NCCL",
	}
	return []subsystem{
		{"nvls", "NVLink SHARP (NVLS)", []Cause{
			{
				Slug: "fabric-manager", Title: "the Fabric Manager or the NVSwitches aren't in order on this node",
				Weight: usual, Decide: "systemctl status nvidia-fabricmanager; NCCL_NVLS_ENABLE=0 to test",
				Remedy: "reset the GPUs and restart nvidia-fabricmanager, or reboot",
			},
			defect,
		}},
		{
			"coll_net",
			"CollNet (SHARP)",
			[]Cause{
				{
					Slug:   "sharp",
					Title:  "the aggregation manager (sharp_am) doesn't run, is full, or the fabric has no SHARP",
					Weight: usual,
					Decide: "systemctl status sharp_am; NCCL_COLLNET_ENABLE=0 to test",
					Remedy: "sharp_am",
				},
				defect,
			},
		},
		{
			"transport/p2p",
			"peer to peer between GPUs",
			[]Cause{
				{
					Slug:   "gpu-p2p",
					Title:  "peer to peer between these GPUs doesn't work: IOMMU, ACS, a VM, or their kind",
					Weight: usual,
					Decide: "NCCL_P2P_DISABLE=1 to test; nvidia-smi topo -p2p r",
					Remedy: "IOMMU and ACS off on bare metal, else NCCL_P2P_DISABLE=1",
				},
				{
					Slug:   "gpu-ipc",
					Title:  "memory of a GPU can't be shared between these processes",
					Weight: rare,
					Decide: "do the ranks run in different containers or users?",
					Remedy: "a common IPC and PID namespace",
				},
				defect,
			},
		},
		{"shm", "shared memory", []Cause{{
			Slug: "shm-too-small", Title: "/dev/shm is too small, or full", Weight: usual,
			Decide: "df -h /dev/shm in the container", Remedy: "--shm-size=16g, or --ipc=host",
		}, defect}},
		{"graph/", "the topology of the machine", []Cause{view, {
			Slug: "topology-defect", Title: "this release of the library doesn't know such a machine", Weight: rare,
			Decide: "NCCL_TOPO_DUMP_FILE=topo.xml; a newer release", Remedy: "a newer NCCL or RCCL",
		}}},
		{"/gin", "GPU-initiated networking", []Cause{{
			Slug: "gin-unsupported", Title: "cards, driver or CUDA lack what GPU-initiated networking needs",
			Weight: usual,
			Decide: "NCCL_GIN_ENABLE=0 to test; the release of rdma-core and of the card's firmware",
			Remedy: "newer firmware, driver and rdma-core, or NCCL_GIN_ENABLE=0",
		}, defect}},
		{"proxy", "the proxy threads", []Cause{{
			Slug: "dead-peer", Title: "another rank ended or was aborted before", Weight: usual,
			Decide: "the first failure in the logs of all ranks", Remedy: "what ended it",
		}, defect}},
	}
}

// unknownWarning returns a finding for the first warning of no known form that no other finding
// has, by the part of NCCL that printed it; none for parts that say too little.
func unknownWarning(f *facts.Facts, findings []Finding) []Finding {
	explained := map[*evidence.Event]bool{}
	for _, x := range findings {
		if len(x.Causes) > 0 && x.Failure != nil && !x.Failure.Weak() {
			return nil // something is known, and tells more
		}
		for _, e := range x.Events {
			explained[e] = true
		}
	}
	list := subsystems()
	for _, x := range of(f, evidence.NCCLWarn) {
		for _, part := range list {
			if explained[x.Event] || !strings.Contains("/"+x.Event.Fields["source"], part.part) {
				continue
			}
			c := &candidates{}
			for _, cause := range part.causes {
				c.add(cause.Slug, cause.Title, cause.Weight).todo(cause.Decide, cause.Remedy)
			}
			return []Finding{{
				What: where(x) + ": " + part.what + ": " + x.Event.Text, Failure: x,
				Events: []*evidence.Event{x.Event}, Causes: c.causes(),
			}}
		}
	}
	return nil
}
