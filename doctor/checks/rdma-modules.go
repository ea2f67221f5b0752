package checks

import (
	"context"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func rdmaModules() doctor.Check {
	return doctor.Check{
		ID: "rdma-modules", Title: "kernel module of RDMA that is not loaded", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupInventory, Numbers: []int{14}, Needs: doctor.NeedDevices,
		Reads: []string{"/" + sysfs.ProcModules},
		Explanation: prose.Join(`
			Programs open RDMA devices through ib_uverbs, connect through rdma_ucm (librdmacm: storage clients,
			rping, libfabric), and talk to the subnet manager through ib_umad (ibstat, perfquery, opensm). Drivers
			load only what they need themselves.`),
		Remedy:  "Load the module, and name it in /etc/modules-load.d.",
		Sources: []string{"drivers/infiniband/core/Makefile", "rdma-core, kernel-boot"},
		Run:     runRDMAModules,
	}
}

func runRDMAModules(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	switch {
	case inContainer(s):
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "modules are the host's, not this container's")}
	case len(s.Host.Modules) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no module was recorded")}
	}
	var findings []doctor.Finding
	var good []doctor.Evidence
	for _, m := range []struct {
		name    string
		outcome doctor.Outcome
		works   bool // what it offers is there, as with a module that is built in
		needed  bool
	}{
		{"ib_uverbs", doctor.OutcomeWarn, s.Host.VerbsVisible, true},
		{"rdma_ucm", doctor.OutcomeWarn, s.Host.RDMACM != nil, true},
		{"ib_umad", doctor.OutcomeInfo, hasUMAD(s), hasInfiniBand(s)},
	} {
		switch {
		case !m.needed:
		case m.works || !missingModule(s, m.name):
			if !missingModule(s, m.name) {
				good = append(good, moduleEvidence(s, m.name))
			}
		default:
			findings = append(findings, doctor.Finding{
				Outcome: m.outcome, Object: m.name, Kind: doctor.KindOther, Summary: "the module " + m.name +
					" is not loaded",
				Evidence: []doctor.Evidence{moduleEvidence(s, m.name)},
				Actions: []doctor.Action{
					{Do: doctor.DoModule, Object: m.name},
					doctor.Shell("echo %s > /etc/modules-load.d/%s.conf", m.name, m.name),
				},
			})
		}
	}
	if worst(findings).Compare(doctor.OutcomeInfo) > 0 {
		return findings
	}
	if len(good) == 0 {
		return append(findings, doctor.NotApplicable(doctor.ObjectNode, "the modules are built into the kernel"))
	}
	return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode, "the modules that programs need are loaded",
		good...)},
		findings...)
}

// missingModule reports whether modules are known, and a module is not among them.
func missingModule(s *inventory.Snapshot, name string) bool {
	return len(s.Host.Modules) > 0 &&
		!slices.ContainsFunc(s.Host.Modules, func(m inventory.Module) bool { return m.Name == name })
}

func hasUMAD(s *inventory.Snapshot) bool {
	return slices.ContainsFunc(s.Devices, func(d inventory.Device) bool {
		return slices.ContainsFunc(d.Chars, func(c inventory.CharDevice) bool {
			return strings.HasPrefix(c.Name,
				"umad")
		})
	})
}

func hasInfiniBand(s *inventory.Snapshot) bool {
	for p := range ownPorts(s) {
		if p.port.LinkLayer == inventory.LinkLayerInfiniBand && p.dev.NodeType == inventory.NodeTypeCA {
			return true
		}
	}
	return false
}
