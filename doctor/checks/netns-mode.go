package checks

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func netnsMode() doctor.Check {
	return doctor.Check{
		ID: "netns-mode", Title: "network namespace mode that does not suit virtual functions",
		Severity: doctor.OutcomeInfo,
		Group:    doctor.GroupInventory, Numbers: []int{19}, Needs: doctor.NeedDevices,
		Reads: []string{pciFiles("sriov_numvfs")},
		Explanation: prose.Join(`
			In the mode shared every network namespace sees all RDMA devices, in the mode exclusive only its own. The
			RDMA CNI plugin, which moves the RDMA device of a virtual function into a pod together with its network
			device, needs exclusive; the shared device plugin, with several pods on one device, needs shared.`),
		Remedy: "Set the mode at boot, before containers start: options ib_core netns_mode=0 for exclusive.",
		Sources: []string{
			"rdma-system(8)", "drivers/infiniband/core/device.c (ib_devices_shared_netns)",
			"k8snetworkplumbingwg/rdma-cni",
		},
		Run: runNetnsMode,
	}
}

func runNetnsMode(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	mode := s.Host.NetnsMode
	if p, ok := in.ProblemAt(inventory.PathRDMASystem); ok && mode == inventory.NetnsModeUnknown {
		return []doctor.Finding{doctor.Unknown(doctor.ObjectNode, "the kernel did not tell the mode: %s", p.Error)}
	}
	if mode == inventory.NetnsModeUnknown {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"the kernel did not tell the mode (rdma system)")}
	}
	ev := doctor.Evidence{Path: "rdma system:netns", Value: string(mode)}
	var vfs []string
	for i := range s.Devices {
		if d := &s.Devices[i]; d.VF != nil && d.VF.ParentDevice != "" && !d.VF.SubFunction {
			vfs = append(vfs, d.Name)
		}
	}
	if mode == inventory.NetnsModeExclusive || len(vfs) == 0 || inContainer(s) {
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode,
			"the network namespace mode of RDMA is "+string(mode), ev)}
	}
	return []doctor.Finding{{
		Outcome: doctor.OutcomeInfo, Object: doctor.ObjectNode, Evidence: []doctor.Evidence{ev},
		Summary: fmt.Sprintf("containers see all RDMA devices (netns shared), though the node has %s for them",
			english.Count(len(vfs), "virtual function")),
		Actions: []doctor.Action{
			doctor.Note("only if pods get virtual functions through the RDMA CNI plugin, and before they start:"),
			doctor.Note("rdma system set netns exclusive, or options ib_core netns_mode=0 in a file of " +
				"/etc/modprobe.d and a reboot; the shared device plugin needs the mode shared"),
		},
	}}
}
