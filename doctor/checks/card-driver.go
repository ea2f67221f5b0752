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

func cardDriver() doctor.Check {
	return doctor.Check{
		ID:       "card-driver",
		Title:    "RDMA card or library without what it needs",
		Severity: doctor.OutcomeFail,
		Reads:    []string{"/" + sysfs.BusPCIDevices + "/*/class"},
		Explanation: prose.Join(`
			A card becomes an RDMA device by its driver and the driver's RDMA module; programs reach
			it through libibverbs and the provider library of the card. What lacks on the way is not
			there for a job, which runs with fewer rails than its peers or over TCP.`),
		Remedy: "Load the driver or module that is named, or install libibverbs and its providers. A card that is " +
			"meant for virtual machines is bound to vfio-pci and not judged.",
		Sources: []string{"rdma-core, libibverbs/init.c"},
		Run:     runCardDriver,
	}
}

// cardObstacles are the obstacles that other checks don't judge.
var cardObstacles = []string{
	inventory.ObstacleUnbound, inventory.ObstacleNoModule, inventory.ObstacleNoDevice, inventory.ObstacleLibibverbs,
	inventory.ObstacleProvider,
}

func runCardDriver(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	var findings []doctor.Finding
	reason := "no RDMA card is on the PCI bus, or the bus can't be seen"
	for _, o := range s.Obstacles() {
		switch {
		case slices.Contains(cardObstacles, o.ID):
			findings = append(findings, doctor.Finding{
				Outcome: doctor.OutcomeFail, Object: o.Object, Summary: o.Text,
				Evidence: []doctor.Evidence{{Path: o.Path, Value: o.Value}}, Remedy: []string{o.Remedy},
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
	pass := doctor.Passed(doctor.ObjectNode,
		fmt.Sprintf("nothing lacks for %s", english.Count(len(s.Cards), "RDMA card function")))
	for _, c := range s.Cards {
		pass.Evidence = append(pass.Evidence, doctor.Evidence{Path: c.PCI.Path + "/class", Value: c.PCI.Class.String()})
	}
	return []doctor.Finding{pass}
}
