package checks

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// lastUnicastLID is the last LID of a port; those above are of multicast groups.
const lastUnicastLID = 0xbfff

func subnetManager() doctor.Check {
	return doctor.Check{
		ID: "subnet-manager", Title: "InfiniBand port without subnet manager or LID, or with two managers",
		Severity: doctor.OutcomeFail, Group: doctor.GroupAddressing, Numbers: []int{74}, Needs: doctor.NeedDevices,
		Reads: []string{portFiles("state"), portFiles("sm_lid"), portFiles("lid"), portFiles("gids/0")},
		Explanation: prose.Join(`
			The subnet manager gives each port its LID and the paths through the switches. Without
			one, or without a LID, no packet leaves the port. If ports with one subnet prefix have
			different managers, they are in different subnets that only look like one: libraries
			connect ports that can't reach each other, and connections time out. It can also mean
			that two managers fight for one subnet.`),
		Remedy: "Start one subnet manager for each subnet (and standbys with lower priority), and give each subnet a " +
			"prefix of its own (subnet_prefix in opensm.conf).",
		Sources: []string{
			"InfiniBand Architecture Specification, volume 1, sections 14.4 (master and standby) and 4.1.1 (prefix)",
			"reports: Mellanox/network-operator issue 1366, openucx/ucx issue 605",
		},
		Run: runSubnetManager,
	}
}

func runSubnetManager(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	var findings []doctor.Finding
	var good []portRef
	var evidence []doctor.Evidence
	infiniband := 0
	for p := range ownPorts(s) {
		if p.port.LinkLayer != inventory.LinkLayerInfiniBand || p.dev.Software != "" || !p.carriesJobs(s) ||
			p.port.PhysState != inventory.PhysStateLinkUp && !p.active() {
			continue
		}
		infiniband++
		if f, ok := managed(in, p); !ok {
			findings = append(findings, f)
			continue
		}
		good = append(good, p)
		evidence = append(evidence, p.evidence("sm_lid", hexLID(*p.port.SMLID)), p.evidence("lid", hexLID(*p.port.LID)))
	}
	if infiniband == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", noneOf(s, "no InfiniBand port for "+
			"jobs has a link"))}
	}
	findings = append(mergeAbsent(findings), differentManagers(good)...)
	if len(good) > 0 && worst(findings).Compare(doctor.OutcomeInfo) <= 0 {
		text := english.Count(len(good), "InfiniBand port") + " with a LID and a subnet manager"
		return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode, text, evidence...)}, findings...)
	}
	return findings
}

// hexLID writes a LID as sysfs does.
func hexLID(l ib.LID) string { return fmt.Sprintf("%#x", uint16(l)) }

// managed reports whether the port has a subnet manager and a LID, and otherwise the finding.
func managed(in *doctor.Input, p portRef) (doctor.Finding, bool) {
	for _, file := range []struct {
		name string
		lid  *ib.LID
	}{{"sm_lid", p.port.SMLID}, {"lid", p.port.LID}} {
		if file.lid != nil {
			continue
		}
		_, err := in.Facts.Files.Text(p.evidence(file.name, "").Path[1:])
		if err == nil {
			err = fmt.Errorf("no usable value in %s", p.evidence(file.name, "").Path)
		}
		return doctor.Because(p.object(), err), false
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeFail, Object: p.object(),
		Evidence: []doctor.Evidence{
			p.evidence("sm_lid", hexLID(*p.port.SMLID)), p.evidence("lid", hexLID(*p.port.LID)),
		},
		Actions: []doctor.Action{
			doctor.Shell("sminfo -C %s -P %d", quote(p.dev.Name), p.port.Number),
			{
				Do: doctor.DoNote, Risk: doctor.RiskOthers,
				Text: "if the subnet has no manager: start it on the switch or UFM, or opensm on one node",
			},
		},
	}
	f.Evidence = append(f.Evidence, p.stateEvidence()...)
	switch lid := *p.port.LID; {
	case *p.port.SMLID == 0:
		f.Summary = "sm_lid is 0: no subnet manager has configured the port"
	case lid == 0 || lid > lastUnicastLID:
		f.Summary = fmt.Sprintf("LID %v is not one of a port, although there is a subnet manager", lid)
	default:
		return f, true
	}
	return f, false
}

// differentManagers returns a finding for each subnet prefix whose ports have several managers.
func differentManagers(ports []portRef) []doctor.Finding {
	var findings []doctor.Finding
	byPrefix := groupBy(ports, func(p portRef) string {
		if p.port.Fabric == nil {
			return ""
		}
		return p.port.Fabric.SubnetPrefix.String()
	})
	for _, g := range byPrefix {
		managers := groupBy(g.members, func(p portRef) ib.LID { return *p.port.SMLID })
		if g.value == "" || len(managers) < 2 {
			continue
		}
		f := doctor.Finding{
			Outcome: doctor.OutcomeWarn, Object: doctor.ObjectNode,
			Summary: fmt.Sprintf("ports with the subnet prefix %s have %d subnet managers", g.value, len(managers)),
			Actions: []doctor.Action{
				doctor.Note("if these are different networks: give each a subnet_prefix of its own in its manager's " +
					"configuration, and restart it"),
				doctor.Note("if it is one network: find with sminfo which managers are master, and stop all but one"),
			},
		}
		for _, m := range managers {
			f.Summary += fmt.Sprintf("; %s: LID %v", objects(m.members, 3), m.value)
			p := m.members[0]
			f.Evidence = append(f.Evidence, p.evidence("sm_lid", hexLID(m.value)))
			if len(p.port.GIDs) > 0 {
				f.Evidence = append(f.Evidence, p.evidence("gids/0", p.port.GIDs[0].GID.String()))
			}
		}
		findings = append(findings, f)
	}
	return findings
}
