package checks

import (
	"context"
	"fmt"
	"strconv"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

const verbsABIFile = verbsClass + "/abi_version"

func verbsABI() doctor.Check {
	return doctor.Check{
		ID: "verbs-abi", Title: "kernel interface that libibverbs does not know", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupInventory, Numbers: []int{15}, Needs: doctor.NeedDevices,
		Reads: []string{verbsABIFile, verbsClass + "/uverbs*/abi_version"},
		Explanation: prose.Join(`
			libibverbs and its provider libraries work with certain versions of the kernel's interface. With another
			they leave the device out ("does not support the kernel ABI of 6 (supports 1 to 1)"), and programs find
			no device. The versions of rdma-core have not changed for years: another one comes from a driver that was
			built for something else.`),
		Remedy: "Use the kernel driver and rdma-core of one source: both of the distribution, or both of OFED.",
		Sources: []string{
			"rdma-core, libibverbs/init.c (match_driver, check_abi_version)",
			"rdma-core, providers/*/ (match_min_abi_version)",
			"k8snetworkplumbingwg/sriov-cni#348",
		},
		Run: runVerbsABI,
	}
}

// Versions of the interface that libibverbs knows (libibverbs/kern-abi.h).
const (
	verbsABILeast = 3
	verbsABIMost  = 6
)

// providerABI are the versions that the providers of rdma-core know, by kernel driver. Those of
// cxgb4, hfi1 and hns know all.
var providerABI = map[string][2]int{
	"mlx5_core": {1, 1}, "mlx4_core": {2, 4}, "bnxt_en": {1, 1}, "ice": {0, 5}, "i40e": {0, 5}, "idpf": {0, 5},
	"qede": {8, 8}, "efa": {1, 1}, "ionic": {1, 1}, "mana": {1, 1}, "erdma": {0, 1}, "vmw_pvrdma": {3, 3},
	"rxe": {1, 2},
	"siw": {1, 1},
}

func runVerbsABI(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	judge := func(object, file string, version int, known [2]int) {
		ev := doctor.Evidence{Path: file, Value: strconv.Itoa(version)}
		if known[0] <= version && version <= known[1] {
			good = append(good, ev)
			return
		}
		findings = append(findings, doctor.Finding{
			Outcome: doctor.OutcomeWarn, Object: object, Evidence: []doctor.Evidence{ev},
			Summary: fmt.Sprintf("the kernel's interface has version %d; rdma-core supports %d to %d", version,
				known[0], known[1]),
			Actions: []doctor.Action{
				doctor.Shell("ibv_devinfo 2>&1 | grep -i abi"),
				doctor.Note("install kernel driver and rdma-core from one source, in containers too"),
			},
		})
	}
	if text, err := in.Facts.Files.Text(verbsABIFile[1:]); err == nil {
		if version, err := strconv.Atoi(text); err == nil {
			judge(doctor.ObjectNode, verbsABIFile, version, [2]int{verbsABILeast, verbsABIMost})
		}
	}
	for i := range in.Snapshot.Devices {
		d := &in.Snapshot.Devices[i]
		c := verbsOf(d)
		known, ok := providerABI[d.Driver]
		if !ok || c == nil || c.ABI == nil {
			continue
		}
		judge(d.Name, verbsClass+"/"+c.Name+"/abi_version", *c.ABI, known)
	}
	switch {
	case len(findings) > 0:
		return findings
	case len(good) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no version of an interface is known")}
	}
	return []doctor.Finding{doctor.Passed(doctor.ObjectNode, "rdma-core supports the versions of "+
		english.Count(len(good), "interface"), good...)}
}
