package checks

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func vfCount() doctor.Check {
	return doctor.Check{
		ID: "vf-count", Title: "card with fewer virtual functions than its like", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupInventory, Numbers: []int{12}, Needs: doctor.NeedDevices,
		Reads: []string{pciFiles("sriov_numvfs"), pciFiles("sriov_totalvfs")},
		Explanation: prose.Join(`
			Virtual functions are created at each boot, by the SR-IOV operator, a unit or udev. If that failed on one
			card, the node offers fewer devices than its peers: pods that want one on each rail stay pending.`),
		Remedy: "Create them again, and look into the log of what should have created them.",
		Sources: []string{
			"Documentation/ABI/testing/sysfs-bus-pci (sriov_numvfs)", "k8snetworkplumbingwg/sriov-network-operator",
		},
		Run: runVFCount,
	}
}

func runVFCount(_ context.Context, in *doctor.Input) []doctor.Finding {
	var pfs []portRef
	for _, p := range computePorts(in.Snapshot) {
		if p.dev.SRIOV != nil && p.dev.VF == nil &&
			!slices.ContainsFunc(pfs, func(q portRef) bool { return q.dev.PCI.Address == p.dev.PCI.Address }) {
			pfs = append(pfs, p)
		}
	}
	if len(pfs) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s",
			noneOf(in.Snapshot, "no compute card can have virtual functions"))}
	}
	var findings []doctor.Finding
	var good []doctor.Evidence
	for _, model := range groupBy(pfs, func(p portRef) string {
		return p.dev.BoardID +
			fmt.Sprint(p.dev.PCI.DeviceID)
	}) {
		counts := groupBy(model.members, func(p portRef) int { return p.dev.SRIOV.NumVFs })
		// Among few cards nobody can say which is right; and one card with virtual functions among
		// others without is a choice.
		odd := majority(counts) && len(model.members) >= 3 && counts[0].value > 0
		for i, c := range counts {
			for _, p := range c.members {
				if i == 0 || !odd || c.value > counts[0].value {
					good = append(good, vfEvidence(p.dev))
					continue
				}
				findings = append(findings, fewVFs(p, counts[0].value, len(counts[0].members)))
			}
		}
	}
	if len(findings) > 0 {
		return findings
	}
	return []doctor.Finding{doctor.Passed(doctor.ObjectNode,
		"no card has fewer virtual functions than most of its model: "+
			english.Count(len(good), "compute card"), good...)}
}

func vfEvidence(d *inventory.Device) doctor.Evidence {
	return doctor.Evidence{Path: path.Join(d.PCI.Path, "sriov_numvfs"), Value: strconv.Itoa(d.SRIOV.NumVFs)}
}

func fewVFs(p portRef, want, others int) doctor.Finding {
	file := path.Join(p.dev.PCI.Path, "sriov_numvfs")
	f := doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: p.dev.Name, Evidence: []doctor.Evidence{vfEvidence(p.dev)},
		Summary: fmt.Sprintf("the card has %s, %d others of its model have %d each",
			english.Count(p.dev.SRIOV.NumVFs, "virtual function"), others, want),
		Actions: []doctor.Action{
			doctor.Note("if the SR-IOV operator manages the node: kubectl get sriovnetworknodestates -A -o yaml"),
			doctor.Shell("dmesg | grep -i sriov"),
			{Do: doctor.DoWrite, Object: file, Value: strconv.Itoa(want)},
		},
	}
	if p.dev.SRIOV.NumVFs > 0 {
		f.Actions = slices.Insert(f.Actions, 2, doctor.Action{
			Do: doctor.DoWrite, Object: file, Value: "0", Risk: doctor.RiskTraffic,
		})
	}
	return f
}
