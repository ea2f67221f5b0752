package checks

import (
	"context"
	"slices"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func cardDriver() doctor.Check {
	return doctor.Check{
		ID:       "card-driver",
		Title:    "RDMA card without a driver or without its user-space library",
		Severity: doctor.OutcomeFail,
		Group:    doctor.GroupInventory, Numbers: []int{1, 2},
		Reads: []string{pciFiles("class"), pciFiles("driver"), "/" + sysfs.ClassInfiniBand + "/*"},
		Explanation: prose.Join(`
			A card needs its driver and the driver's RDMA module to become an RDMA device, and
			programs need libibverbs and the provider library of the card to use it. If one of them
			is missing, a job can't use the card: it runs with fewer rails than its peers, or over
			TCP.`),
		Remedy: "Load the driver or module that the finding names, or install libibverbs and its providers. Cards " +
			"that are bound to vfio-pci, for virtual machines, are not checked.",
		Sources: []string{"rdma-core, libibverbs/init.c"},
		Run:     runCardDriver,
	}
}

// cardObstacles are the obstacles that no other check reports.
var cardObstacles = []string{
	inventory.ObstacleUnbound, inventory.ObstacleNoModule, inventory.ObstacleNoDevice, inventory.ObstacleLibibverbs,
	inventory.ObstacleProvider,
}

func runCardDriver(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	var findings []doctor.Finding
	reason := "no RDMA card on the PCI bus, or the PCI bus is not visible"
	for _, o := range s.Obstacles() {
		switch {
		case slices.Contains(cardObstacles, o.ID):
			findings = append(findings, doctor.Finding{
				Outcome: doctor.OutcomeFail, Object: o.Object, Summary: o.Text,
				Evidence: []doctor.Evidence{{Path: o.Path, Value: o.Value}}, Actions: obstacleActions(s, o),
			})
		case o.ID == inventory.ObstacleNoCard || o.ID == inventory.ObstacleNoPCIAccess:
			reason = "no RDMA device on this node: " + o.Text
		}
	}
	switch {
	case len(findings) > 0:
		return findings
	case len(s.Cards) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", reason)}
	}
	if !slices.ContainsFunc(s.Cards, func(c inventory.Card) bool { return c.PCI.Driver != "" }) {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "the drivers of the cards were not recorded")}
	}
	pass := doctor.Passed(doctor.ObjectNode,
		"no driver, module or library is missing for "+english.Count(len(s.Cards), "RDMA card function"))
	for _, c := range s.Cards {
		pass.Evidence = append(pass.Evidence, doctor.Evidence{Path: c.PCI.Path + "/class", Value: c.PCI.Class.String()})
	}
	return []doctor.Finding{pass}
}

// obstacleActions are the steps against an obstacle, each command in a line of its own.
func obstacleActions(s *inventory.Snapshot, o inventory.Obstacle) []doctor.Action {
	i := slices.IndexFunc(s.Cards, func(c inventory.Card) bool { return c.PCI.Address == o.Object })
	if o.ID != inventory.ObstacleNoDevice || i < 0 {
		return []doctor.Action{doctor.Note("%s", o.Remedy)}
	}
	c := s.Cards[i]
	actions := []doctor.Action{
		{Do: doctor.DoModule, Object: c.Module},
		doctor.Note("if that doesn't help: the kernel's log, and whether RoCE is disabled (enable_roce false)"),
		doctor.Shell("dmesg | grep -iE %s", quote(c.PCI.Driver+"|infiniband")),
		doctor.Shell("devlink dev param show pci/%s name enable_roce", quote(c.PCI.Address)),
	}
	if inContainer(s) {
		return append([]doctor.Action{doctor.Note("on the host, not in this container:")}, actions...)
	}
	return actions
}
