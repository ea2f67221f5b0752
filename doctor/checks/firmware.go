package checks

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func firmware() doctor.Check {
	return doctor.Check{
		ID:       "firmware",
		Title:    "different firmware versions on cards of the same model",
		Severity: doctor.OutcomeWarn,
		Group:    doctor.GroupInventory,
		Needs:    doctor.NeedDevices,
		Reads:    []string{deviceFiles("fw_ver"), deviceFiles("board_id")},
		Explanation: prose.Join(`
			Cards of the same model (same board ID, PSID) with different firmware versions can
			differ in defaults, congestion control and known bugs. A job runs as slowly as its
			slowest rail, and a rail that is slow because of its firmware is easily mistaken for a
			bad cable.`),
		Remedy: prose.Join(`
			Install the same firmware version on all cards of a model, the one that the rest of the
			cluster runs. New firmware takes effect only after a reset of the card or a cold start,
			so a card with a different version may only need a reset.`),
		Sources: []string{
			"class/infiniband attributes fw_ver and board_id (drivers/infiniband/core/sysfs.c and the drivers)",
		},
		Run: runFirmware,
	}
}

func runFirmware(_ context.Context, in *doctor.Input) []doctor.Finding {
	cards := firmwareCards(in.Snapshot)
	if len(cards) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"no card reports both its board ID (board_id) and its firmware version (fw_ver)")}
	}
	boards := groupBy(cards, func(d *inventory.Device) string { return d.BoardID })
	var findings []doctor.Finding
	var good []doctor.Evidence
	compared := 0
	for _, b := range boards {
		if len(b.members) < 2 {
			continue
		}
		compared++
		versions := groupBy(b.members, func(d *inventory.Device) string { return d.Firmware })
		if len(versions) == 1 {
			for _, d := range b.members {
				good = append(good, firmwareEvidence(d))
			}
			continue
		}
		findings = append(findings, unequalFirmware(b.value, versions)...)
	}
	switch {
	case compared == 0:
		return []doctor.Finding{
			doctor.NotApplicable(doctor.ObjectNode, "no two cards have the same board ID: nothing to compare"),
		}
	case len(findings) == 0:
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode, firmwareSummary(boards), good...)}
	}
	return findings
}

// firmwareCards returns one device for each card. The functions and VFs of a card share its
// firmware, and counting each of them would distort the majority.
func firmwareCards(s *inventory.Snapshot) []*inventory.Device {
	var cards []*inventory.Device
	for i := range s.Devices {
		d := &s.Devices[i]
		if d.BoardID == "" || d.Firmware == "" {
			continue
		}
		if d.VF != nil && d.VF.ParentDevice != "" {
			continue
		}
		known := slices.ContainsFunc(cards,
			func(c *inventory.Device) bool { return c.SameCard(d) && c.Firmware == d.Firmware })
		if !known {
			cards = append(cards, d)
		}
	}
	return cards
}

func firmwareSummary(boards []group[string, *inventory.Device]) string {
	var parts []string
	for _, b := range boards {
		if len(b.members) > 1 {
			parts = append(parts,
				fmt.Sprintf("%d cards of board %s have firmware %s", len(b.members), b.value, b.members[0].Firmware))
		}
	}
	return strings.Join(parts, "; ")
}

// unequalFirmware returns a finding for each card that differs from the most frequent version, or
// for all cards if no version is the most frequent.
func unequalFirmware(board string, versions []group[string, *inventory.Device]) []doctor.Finding {
	var findings []doctor.Finding
	odd := versions[1:]
	against := fmt.Sprintf("most cards of board %s have %s", board, versions[0].value)
	if !majority(versions) {
		odd = versions
		against = fmt.Sprintf("the cards of board %s have %s", board, listVersions(versions))
	}
	for _, v := range odd {
		for _, d := range v.members {
			f := doctor.Finding{
				Outcome: doctor.OutcomeWarn, Object: d.Name,
				Summary: fmt.Sprintf("firmware %s, but %s", d.Firmware, against),
				Evidence: []doctor.Evidence{
					firmwareEvidence(d), {Path: path.Join(d.Path, "board_id"), Value: d.BoardID},
				},
				Remedy: firmwareRemedy(d),
			}
			if d != versions[0].members[0] {
				f.Evidence = append(f.Evidence, firmwareEvidence(versions[0].members[0]))
			}
			findings = append(findings, f)
		}
	}
	return findings
}

func listVersions(versions []group[string, *inventory.Device]) string {
	var names []string
	for _, v := range versions {
		names = append(names, v.value)
	}
	return strings.Join(names, ", ")
}

func firmwareEvidence(d *inventory.Device) doctor.Evidence {
	return doctor.Evidence{Path: path.Join(d.Path, "fw_ver"), Value: d.Firmware}
}

func firmwareRemedy(d *inventory.Device) []string {
	if d.PCI == nil {
		return []string{"rdma dev show " + quote(d.Name), "devlink dev info"}
	}
	a := quote(d.PCI.Address)
	if !mellanox(d) {
		return []string{
			"devlink dev info " + quote("pci/"+d.PCI.Address),
			fmt.Sprintf("# with the vendor's file for this board: devlink dev flash %s file YOUR_FIRMWARE_FILE",
				quote("pci/"+d.PCI.Address)),
		}
	}
	return []string{
		"# if the flash has a newer version than the one that runs, only the reset is needed",
		"mstflint -d " + a + " query full",
		"# with the vendor's file for this board: mstflint -d " + a + " -i YOUR_FIRMWARE_FILE burn",
		"# with no job on the node, for it interrupts all ports of the card: mstfwreset -d " + a + " reset",
	}
}
