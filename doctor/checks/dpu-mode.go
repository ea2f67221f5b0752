package checks

import (
	"context"
	"path"
	"regexp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func dpuMode() doctor.Check {
	return doctor.Check{
		ID: "dpu-mode", Title: "BlueField card for jobs in DPU mode", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupInventory, Needs: doctor.NeedDevices, Uses: []facts.Kind{facts.KindDevlink},
		Reads: []string{netFiles("phys_port_name")},
		Explanation: prose.Join(`
			In DPU mode the Arm system of a BlueField manages the card: what the host sends passes its
			virtual switch, and the host's port has a link only while that system runs and forwards. Jobs then
			depend on its software, and are slower. In NIC mode the card is an ordinary adapter. No file of the
			host holds the mode; but in DPU mode the driver refuses to show the mode of the switch, because
			the host's function does not manage it.`),
		Remedy: "Set the card to NIC mode with mlxconfig, and power cycle the node. Ask first who uses the DPU.",
		Sources: []string{
			"NVIDIA BlueField, Modes of Operation",
			"drivers/net/ethernet/mellanox/mlx5/core/eswitch_offloads.c (mlx5_eswitch_check: EPERM)",
			"net/devlink/port.c (phys_port_name of a host's function: c1pf0)",
		},
		Run: runDPUMode,
	}
}

// hostFunction is the phys_port_name of the representor of a host's function, which only the Arm
// system of a DPU has; its usual name is pf0hpf.
var hostFunction = regexp.MustCompile(`^c[1-9][0-9]*pf[0-9]+$`)

func runDPUMode(_ context.Context, in *doctor.Input) []doctor.Finding {
	if f, ok := onDPU(in); ok {
		return []doctor.Finding{f}
	}
	var findings []doctor.Finding
	var good []doctor.Evidence
	cards := 0
	for _, g := range groupBy(computePorts(in.Snapshot), func(p portRef) string { return p.dev.PCI.Address }) {
		p := g.members[0]
		if !p.dev.PCI.BlueField() || p.dev.VF != nil {
			continue
		}
		cards++
		name := "pci/" + g.value
		mode := switchMode(in, name)
		ev := doctor.Evidence{Path: "devlink:" + name + ":eswitch", Value: mode}
		switch mode {
		case "":
		case facts.SwitchForeign:
			findings = append(findings, doctor.Finding{
				Outcome: doctor.OutcomeWarn, Object: p.dev.Name, Evidence: []doctor.Evidence{ev},
				Summary: "the BlueField is in DPU mode: the host does not manage its switch",
				Actions: []doctor.Action{
					doctor.Shell("mlxconfig -d %s -e query INTERNAL_CPU_OFFLOAD_ENGINE   # ENABLED(0) is DPU mode",
						p.tool()),
					{
						Do: doctor.DoNote, Risk: doctor.RiskOthers,
						Text: "if nobody uses the DPU: mlxconfig -d " + p.tool() +
							" set INTERNAL_CPU_OFFLOAD_ENGINE=1, and power cycle the node",
					},
				},
			})
		default:
			good = append(good, ev)
		}
	}
	switch {
	case cards == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s",
			noneOf(in.Snapshot, "no compute port is on a BlueField"))}
	case len(findings) == 0 && len(good) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "the mode of %s is not known: devlink shows "+
			"the switch of Ethernet ports to root only", english.Count(cards, "BlueField card"))}
	case len(good) > 0:
		return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode, "the host manages the switch of "+
			english.Count(len(good), "BlueField card"), good...)}, findings...)
	}
	return findings
}

// switchMode returns the mode of a device's switch, "" if it is not known.
func switchMode(in *doctor.Input, name string) string {
	if !in.Facts.Devlink.Known() {
		return ""
	}
	for _, d := range in.Facts.Devlink.Value {
		if d.Name == name {
			return d.Switch
		}
	}
	return ""
}

// onDPU returns the finding for a node that is the Arm system of a DPU.
func onDPU(in *doctor.Input) (doctor.Finding, bool) {
	for _, name := range in.Facts.Files.Glob(sysfs.ClassNet + "/*/phys_port_name") {
		text, err := in.Facts.Files.Text(name)
		if err != nil || !hostFunction.MatchString(text) {
			continue
		}
		netdev := path.Base(path.Dir(name))
		return doctor.Finding{
			Outcome: doctor.OutcomeInfo, Object: netdev, Evidence: []doctor.Evidence{fileEvidence(name, text)},
			Summary: netdev + " represents a host's function: this is the Arm system of a DPU, which forwards what " +
				"the host's jobs send",
		}, true
	}
	return doctor.Finding{}, false
}
