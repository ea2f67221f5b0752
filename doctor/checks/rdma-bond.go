package checks

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

// lagModes are the modes of a bond that RDMA drivers can follow in hardware.
var lagModes = []string{"active-backup", "balance-xor", "802.3ad"}

func rdmaBond() doctor.Check {
	return doctor.Check{
		ID: "rdma-bond", Title: "RDMA over a bond that the card does not follow", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupAddressing, Numbers: []int{75}, Needs: doctor.NeedDevices,
		Reads: []string{
			netFiles("bonding/mode"), netFiles("bonding/slaves"), portFiles("state"),
			"/" + path.Join(sysfs.DebugMlx5, "*/lag/state"),
		},
		Explanation: prose.Join(`
			RDMA packets bypass the bonding driver. A card sends them over both members only if its
			driver has made a LAG of them in hardware (one RDMA device for both ports, such as
			mlx5_bond_0), which it does for active-backup, balance-xor and 802.3ad, and for ports of
			one card. Otherwise the traffic stays on one member, and when that link fails, the
			connections fail although the bond is up.`),
		Remedy: "Use 802.3ad, balance-xor or active-backup with two ports of one card, or no bond: libraries use " +
			"several " +
			"rails by themselves.",
		Sources: []string{
			"drivers/net/ethernet/mellanox/mlx5/core/lag/lag.c (mlx5_handle_changeupper_event)",
			"drivers/net/bonding/bond_main.c (bond_lag_tx_type)",
			"drivers/infiniband/core/roce_gid_mgmt.c (is_eth_active_slave_of_bonding_rcu)",
		},
		Run: runRDMABond,
	}
}

func runRDMABond(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	var findings []doctor.Finding
	var good []doctor.Evidence
	bonds, seen := 0, map[string]bool{}
	var hidden []portRef
	for p := range ownPorts(s) {
		n := p.netdev(s)
		if !p.roce() || p.dev.Software != "" {
			continue
		}
		if n == nil {
			hidden = append(hidden, p)
			continue
		}
		bond := n
		if n.Bond == nil {
			bond = s.Netdev(n.Master)
		}
		if bond == nil || bond.Bond == nil || seen[p.dev.Name+bond.Name] {
			continue
		}
		seen[p.dev.Name+bond.Name] = true
		bonds++
		f, ok := judgeBond(in, p, n, bond)
		if ok {
			good = append(good, f.Evidence...)
			continue
		}
		if f.Outcome == doctor.OutcomeWarn && !p.carriesJobs(s) {
			f.Outcome = doctor.OutcomeInfo
			f.Summary += fmt.Sprintf(" (%s port, not for jobs)", p.kind())
		}
		findings = append(findings, f)
	}
	switch {
	case bonds == 0 && len(hidden) > 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"the network device of %s, which may be on a bond, is not visible here", objects(hidden, 4))}
	case bonds == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no RDMA port is on a bond")}
	case len(good) > 0 && worst(findings).Compare(doctor.OutcomeInfo) <= 0:
		text := english.Count(bonds-len(findings), "RDMA port") + " on a bond that the card can follow"
		return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode, text, good...)}, findings...)
	}
	return findings
}

// judgeBond returns true and the evidence if the card follows the bond, and otherwise the finding.
// member is the network device of the port: the bond itself in a LAG of the card, and also where
// the kernel names the bond, whose address a member's GIDs have.
func judgeBond(in *doctor.Input, p portRef, member, bond *inventory.Netdev) (doctor.Finding, bool) {
	file := path.Join(sysfs.ClassNet, bond.Name, "bonding/mode")
	text, err := in.Facts.Files.Text(file)
	if err != nil {
		return doctor.Because(p.object(), err), false
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: p.object(),
		Evidence: []doctor.Evidence{{Path: "/" + file, Value: text}},
		Actions: []doctor.Action{
			{
				Do: doctor.DoNote, Risk: doctor.RiskTraffic,
				Text: fmt.Sprintf("on the switch and on the node: make %s an 802.3ad bond (LACP) of two ports of "+
					"one card, or "+
					"take the ports out of it and give each an address", bond.Name),
			},
		},
	}
	mode, _, _ := strings.Cut(text, " ") // "802.3ad 4"
	if !slices.Contains(lagModes, mode) {
		f.Summary = fmt.Sprintf("%s has the mode %s, which cards don't follow in hardware: RDMA stays on one member",
			bond.Name, printable(mode))
		return f, false
	}
	if state, file, ok := lagState(in, p); ok {
		f.Evidence = append(f.Evidence, doctor.Evidence{Path: "/" + file, Value: state})
		if member == bond && state != "active" {
			f.Summary = fmt.Sprintf("the card has no LAG for %s: state %s", bond.Name, printable(state))
			return f, false
		}
	}
	alone := member.Bond == nil || rdmaDevicesOf(in.Snapshot, bond) > 1 // no LAG: it would have one device
	if cards := cardsOf(in.Snapshot, bond); len(cards) > 1 && alone && mode != "active-backup" {
		f.Summary = fmt.Sprintf("%s has members of %d cards (%s): a LAG in hardware needs ports of one card, so "+
			"each RDMA "+
			"device stays on its own link", bond.Name, len(cards), english.List(cards, 3))
		return f, false
	}
	if member.Bond == nil && mode != "active-backup" && len(p.port.GIDs) > 0 {
		if _, class := bestGID(p); class <= gidLinkLocal {
			f.Summary = fmt.Sprintf("%s is a member of %s, but the card has no LAG: the RDMA device has no address "+
				"of the bond",
				member.Name, bond.Name)
			return f, false
		}
	}
	return f, true
}

// lagState returns the state of a LAG as mlx5 has it in debugfs, which only root can read.
func lagState(in *doctor.Input, p portRef) (state, file string, ok bool) {
	if p.dev.PCI == nil {
		return "", "", false
	}
	file = path.Join(sysfs.DebugMlx5, p.dev.PCI.Address, "lag/state")
	state, err := in.Facts.Files.Text(file)
	return state, file, err == nil
}

// rdmaDevicesOf returns how many RDMA devices have the bond or a member of it as network device.
func rdmaDevicesOf(s *inventory.Snapshot, bond *inventory.Netdev) int {
	var names []string
	for p := range ownPorts(s) {
		n := p.netdev(s)
		if n != nil && (n.Name == bond.Name || n.Master == bond.Name) && !slices.Contains(names, p.dev.Name) {
			names = append(names, p.dev.Name)
		}
	}
	return len(names)
}

// cardsOf returns the PCI slots of the members of a bond: the address without the function.
func cardsOf(s *inventory.Snapshot, bond *inventory.Netdev) []string {
	var cards []string
	for _, name := range bond.Bond.Slaves {
		n := s.Netdev(name)
		if n == nil || n.PCI == "" {
			continue
		}
		slot, _, _ := strings.Cut(n.PCI, ".")
		if !slices.Contains(cards, slot) {
			cards = append(cards, slot)
		}
	}
	return cards
}
