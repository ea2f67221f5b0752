package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func portActive() doctor.Check {
	return doctor.Check{
		ID:       "port-active",
		Title:    "RDMA port that is not active",
		Severity: doctor.OutcomeFail,
		Group:    doctor.GroupInventory, Numbers: []int{4, 5, 8},
		Needs: doctor.NeedDevices, Uses: []facts.Kind{facts.KindLinks, facts.KindKernelLog},
		Reads: []string{
			portFiles("state"), portFiles("phys_state"), netFiles("operstate"), netFiles("carrier"), netFiles("flags"),
		},
		Explanation: prose.Join(`
			Only an active port carries RDMA traffic. Collective libraries skip the others without
			an error: the job runs with fewer rails than its peers, hangs because ranks chose
			different ports, or falls back to TCP if no port is active.`),
		Remedy: prose.Join(`
			INIT on InfiniBand: the port waits for a subnet manager. Start one, or find out why it
			doesn't reach the port. Polling: no signal; check the cable, the transceiver and the
			port at the other end. Disabled: the port is switched off; on RoCE a port is also
			Disabled when its network device is down or has no carrier. Since when a network device has
			had no link is in the kernel's log, if its driver writes it there.`),
		Sources: []string{
			"InfiniBand Architecture Specification volume 1, PortInfo.PortState and PortInfo.PortPhysicalState",
			"drivers/infiniband/core/sysfs.c (state_show, phys_state_show)",
			"drivers/infiniband/hw/mana/main.c (mana_ib_query_port of older kernels leaves all properties 0)",
		},
		Run: runPortActive,
	}
}

func runPortActive(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	var findings []doctor.Finding
	var good []doctor.Evidence
	total := 0
	for p := range ownPorts(s) {
		total++
		f, ok := checkState(in, p)
		switch {
		case !ok:
		case f.Outcome == doctor.OutcomePass:
			good = append(good, f.Evidence...)
		default:
			findings = append(findings, f)
		}
	}
	if total == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no RDMA device has a port")}
	}
	if n := countActive(s); n > 0 && worst(findings).Compare(doctor.OutcomeInfo) <= 0 {
		pass := doctor.Passed(doctor.ObjectNode,
			fmt.Sprintf("%d of %s active", n, english.Count(total, "port")), good...)
		return append([]doctor.Finding{pass}, findings...)
	}
	if len(findings) == 0 { // no state could be read; the runner reports each of them
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "the state of no port could be read")}
	}
	return findings
}

func worst(findings []doctor.Finding) doctor.Outcome {
	w := doctor.OutcomeNotApplicable
	for _, f := range findings {
		if f.Outcome.Compare(w) > 0 {
			w = f.Outcome
		}
	}
	return w
}

func countActive(s *inventory.Snapshot) int {
	n := 0
	for p := range ownPorts(s) {
		if p.active() {
			n++
		}
	}
	return n
}

// checkState returns the finding for one port; false if its state could not be read, which the
// runner reports.
func checkState(in *doctor.Input, p portRef) (doctor.Finding, bool) {
	f := doctor.Finding{Object: p.object(), Evidence: p.stateEvidence()}
	switch p.port.State {
	case inventory.PortStateActive:
		f.Outcome = doctor.OutcomePass
	case inventory.PortStateActiveDefer:
		f.Outcome = doctor.OutcomeWarn
		f.Summary = "the physical link has just failed and may recover (ACTIVE_DEFER)"
		f.Explanation = "A port is in state ACTIVE_DEFER when its physical link has just failed: it becomes active " +
			"again if the link recovers in time, and down if not. NCCL does not use a port in this state."
		f.Remedy = linkRemedy(p)
	case inventory.PortStateInit, inventory.PortStateArmed:
		checkInit(in.Snapshot, p, &f)
	case inventory.PortStateDown:
		checkDown(in, p, &f)
	default:
		if _, unreadable := in.ProblemAt(p.evidence("state", "").Path); unreadable {
			return f, false
		}
		f.Outcome = doctor.OutcomeUnknown
		f.Summary = fmt.Sprintf("the kernel reports the unknown state %s", p.port.State)
		if p.port.State == inventory.PortStateNoChange && p.dev.Driver == "mana" {
			f.Outcome, f.Evidence = doctor.OutcomeNotApplicable, nil
			f.Summary = "Azure's driver mana_ib of this kernel reports no state of the port (NOP)"
		}
	}
	return f, true
}

// checkInit checks a port that has a link and waits for its subnet manager. While another port of
// the node is active, the subnet manager may just not have configured this one yet, so it is a
// warning; with no active port the node can't run a job.
func checkInit(s *inventory.Snapshot, p portRef, f *doctor.Finding) {
	f.Outcome = doctor.OutcomeWarn
	if countActive(s) == 0 && p.carriesJobs(s) {
		f.Outcome = doctor.OutcomeFail
	}
	if p.port.LinkLayer != inventory.LinkLayerInfiniBand {
		f.Summary = fmt.Sprintf("state %s: the driver has not brought the port up", p.port.State)
		f.Explanation = "A RoCE port needs no subnet manager: it is ACTIVE or DOWN like its network device. It is in " +
			"another state only while the driver brings it up, or if that failed. NCCL does not use it."
		f.Remedy = bounceRemedy(s, p)
		return
	}
	if p.port.SMLID != nil {
		f.Evidence = append(f.Evidence, p.evidence("sm_lid", fmt.Sprintf("0x%x", uint16(*p.port.SMLID))))
	}
	f.Summary = fmt.Sprintf("state %s: the link is up, but no subnet manager has configured the port", p.port.State)
	f.Explanation = prose.Join(`
		The physical link is up. Until a subnet manager assigns the port's address (LID) and routes,
		no queue pair can connect. After a cable was plugged in or a switch restarted this takes
		seconds; if the state persists, no subnet manager runs on this subnet, or it can't reach the
		port.`)
	dev, port := quote(p.dev.Name), p.port.Number
	f.Remedy = []string{
		"# on a node with an active port: does a subnet manager answer?",
		"sminfo",
		"# if not: start one on a managed switch or on exactly one node, where all nodes agree which " +
			"(systemctl enable --now opensm); a second one disturbs the whole subnet",
		"# if it does: look at the state of this port",
		fmt.Sprintf("ibstat %s %d", dev, port),
	}
}

// checkDown checks a port that is down. The outcome depends on whether the port is meant to be up.
func checkDown(in *doctor.Input, p portRef, f *doctor.Finding) {
	s := in.Snapshot
	n := p.netdev(s)
	reason, advice := downReason(s, p, n)
	f.Summary = "port is down: " + reason
	if n != nil {
		if n.OperState != "" {
			f.Evidence = append(f.Evidence, netEvidence(n, "operstate", n.OperState))
		}
		if n.Carrier != nil {
			f.Evidence = append(f.Evidence, netEvidence(n, "carrier", fmt.Sprint(btoi(*n.Carrier))))
		}
	}
	f.Remedy = downRemedy(s, p, n)
	switch sibling, port := s.SpareOf(p.dev, p.port); {
	case sibling != nil:
		f.Outcome = doctor.OutcomeInfo
		f.Summary += "; " + portRef{sibling, port}.object() +
			" on the same card has a link, so this port is probably spare"
		f.Explanation = "A second port without a cable does no harm. It matters only if it is meant to be used, or " +
			"if NCCL_IB_HCA names it."
	case p.carriesJobs(s):
		f.Outcome = doctor.OutcomeFail
	case p.port.Role == inventory.RoleUnused:
		f.Outcome = doctor.OutcomeInfo
		f.Summary = "spare " + f.Summary
		f.Explanation = "The ports that jobs use are others, and this one has no link. It matters only if it is " +
			"meant to be used, or if NCCL_IB_HCA names it."
	case p.port.Role == inventory.RoleUncertain:
		f.Outcome = doctor.OutcomeInfo
		f.Summary = fmt.Sprintf("%s %s", p.kind(), f.Summary)
		f.Explanation = "Whether jobs should use this port is not known: rdmactl detect says why, and what decides."
	case n != nil && n.AdminUp:
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("%s %s", p.kind(), f.Summary)
		f.Explanation = "Jobs don't use this port, but its network device is switched on, so it is " +
			"expected to work."
	case n != nil && !n.AdminUnknown:
		f.Outcome = doctor.OutcomeInfo
		f.Summary = fmt.Sprintf("%s %s", p.kind(), f.Summary)
		f.Explanation = "Jobs don't use this port, and its network device is switched off."
	default:
		f.Outcome = doctor.OutcomeInfo
		f.Summary = fmt.Sprintf("%s %s", p.kind(), f.Summary)
		f.Explanation = "Jobs don't use this port."
	}
	switch {
	case f.Outcome != doctor.OutcomeInfo:
		since, ev := downSince(in, n)
		f.Summary += advice + since
		f.Evidence = append(f.Evidence, ev...)
	case strings.Contains(f.Summary, "spare"):
		f.Remedy = []string{"# nothing, unless this port is meant to be used"}
	default:
		f.Remedy = append([]string{"# nothing, unless this port is meant to be used; then:"}, f.Remedy...)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// member returns the network device of the port's own PCI function if n is its bond.
func member(s *inventory.Snapshot, p portRef, n *inventory.Netdev) *inventory.Netdev {
	if n.Bond == nil || p.dev.PCI == nil {
		return nil
	}
	i := slices.IndexFunc(s.Netdevs, func(m inventory.Netdev) bool {
		return m.Master == n.Name && m.PCI == p.dev.PCI.Address
	})
	if i < 0 {
		return nil
	}
	return &s.Netdevs[i]
}

// downReason returns why a port is down, and what to look at, for ports that are meant to be up.
func downReason(s *inventory.Snapshot, p portRef, n *inventory.Netdev) (reason, advice string) {
	const cable = ": check the cable, the transceiver and the switch port"
	if p.port.LinkLayer == inventory.LinkLayerEthernet && n != nil {
		if n.AdminUnknown {
			return fmt.Sprintf("network device %s has no link or is switched off", n.Name), ""
		}
		if !n.AdminUp {
			return fmt.Sprintf("network device %s is switched off", n.Name), ""
		}
		if dead := deadMembers(s, n); len(dead) > 0 && n.Carrier != nil && !*n.Carrier {
			return fmt.Sprintf("bond %s has no carrier, because none of its members has one (%s)", n.Name,
				strings.Join(dead, ", ")), ": check their cables, and whether the switch ports are enabled"
		}
		if n.Carrier != nil && !*n.Carrier {
			return fmt.Sprintf("network device %s has no carrier", n.Name), cable
		}
		m := member(s, p, n)
		if m != nil && !m.AdminUp && !m.AdminUnknown {
			return fmt.Sprintf("network device %s, a member of %s, is switched off", m.Name, n.Name), ""
		}
		if m != nil && m.Carrier != nil && !*m.Carrier {
			return fmt.Sprintf("network device %s, a member of %s, has no carrier", m.Name, n.Name), cable
		}
		if contradicted(n) {
			return fmt.Sprintf("network device %s has a link, but the driver does not bring the RDMA port up",
				n.Name), ""
		}
	}
	switch p.port.PhysState {
	case inventory.PhysStatePolling:
		return "Polling, no signal from the other end", ": check the cable, the transceiver and the port there"
	case inventory.PhysStateDisabled:
		if p.port.LinkLayer == inventory.LinkLayerEthernet {
			return "Disabled: its network device is switched off or has no carrier", ""
		}
		return "Disabled, switched off on this side", ""
	case inventory.PhysStateTraining:
		return "link training does not finish", ": check the cable and the transceiver"
	case inventory.PhysStateErrorRecovery:
		return "the link is in error recovery", ": check the cable and the transceiver"
	case inventory.PhysStateSleep:
		return "the link is in sleep state", ""
	case inventory.PhysStateLinkUp:
		return "the physical link is up, but the port is not", ": check the driver and the firmware"
	}
	return "the kernel reports no reason", ""
}

// deadMembers returns the names of a bond's members if all of them are known to have no carrier.
func deadMembers(s *inventory.Snapshot, bond *inventory.Netdev) []string {
	if bond.Bond == nil {
		return nil
	}
	for _, name := range bond.Bond.Slaves {
		if m := s.Netdev(name); m == nil || m.Carrier == nil || *m.Carrier {
			return nil
		}
	}
	return bond.Bond.Slaves
}

// contradicted reports whether the network device is up although its RDMA port is down.
func contradicted(n *inventory.Netdev) bool { return n.AdminUp && n.Carrier != nil && *n.Carrier }

func downRemedy(s *inventory.Snapshot, p portRef, n *inventory.Netdev) []string {
	if vf := vfRemedy(s, p); vf != nil {
		return vf
	}
	if p.port.LinkLayer == inventory.LinkLayerEthernet && n != nil {
		switch {
		case !n.AdminUp:
			return onHost(s, "ip link set dev "+quote(n.Name)+" up")
		case len(deadMembers(s, n)) > 0:
			return memberRemedy(s, n)
		case member(s, p, n) != nil && !member(s, p, n).AdminUp:
			return onHost(s, "ip link set dev "+quote(member(s, p, n).Name)+" up")
		case member(s, p, n) != nil && !contradicted(member(s, p, n)):
			return []string{
				"# this member of the bond has no link: check its cable, and whether the switch port is enabled",
				"ethtool " + quote(member(s, p, n).Name),
			}
		case contradicted(n):
			return bounceRemedy(s, p)
		}
	}
	if infiniband := p.port.LinkLayer == inventory.LinkLayerInfiniBand; (infiniband || n == nil) &&
		p.port.PhysState == inventory.PhysStateDisabled {
		return enableRemedy(s, p)
	}
	return linkRemedy(p)
}

// enableRemedy returns the commands that switch a port on. Its cable is not the reason.
func enableRemedy(s *inventory.Snapshot, p portRef) []string {
	switch {
	case p.port.LinkLayer != inventory.LinkLayerInfiniBand:
		return onHost(s, "# find its network device, and see whether it is switched on and has a carrier",
			fmt.Sprintf("rdma link show %s", quote(fmt.Sprintf("%s/%d", p.dev.Name, p.port.Number))), "ip -br link")
	case mellanox(p.dev):
		return onHost(s, fmt.Sprintf("mlxlink -d %s -p %d --port_state UP", p.tool(), p.port.Number))
	}
	return onHost(s, fmt.Sprintf("ibportstate -C %s -P %d -D 0 %d enable", quote(p.dev.Name), p.port.Number,
		p.port.Number))
}

// vfRemedy returns the commands that let a VF's link follow the physical port; nil if the port is
// not a VF's.
func vfRemedy(s *inventory.Snapshot, p portRef) []string {
	vf := p.dev.VF
	if vf == nil {
		return nil
	}
	netdev, index := "YOUR_PF_NETDEV", "YOUR_VF_INDEX"
	for _, n := range s.Netdevs {
		if n.PCI == vf.ParentAddress && n.PCI != "" {
			netdev = quote(n.Name)
			break
		}
	}
	if vf.Index != nil {
		index = fmt.Sprint(*vf.Index)
	}
	return []string{
		"# a virtual function: on the host, let its link follow the physical port " + quote(vf.ParentAddress),
		fmt.Sprintf("ip link set dev %s vf %s state auto", netdev, index),
	}
}

// linkRemedy returns the commands that show the physical link.
func linkRemedy(p portRef) []string {
	lines := []string{fmt.Sprintf(
		"# reseat the cable of %s, or swap it with the cable of a good port, then check both ends",
		printable(p.object()))}
	switch {
	case mellanox(p.dev):
		lines = append(lines, fmt.Sprintf("mlxlink -d %s -p %d --show_module", p.tool(), p.port.Number))
	case p.port.Netdev != "" && p.port.LinkLayer == inventory.LinkLayerEthernet:
		lines = append(lines, "ethtool -m "+quote(p.port.Netdev))
	default:
		lines = append(lines, fmt.Sprintf("rdma link show %s", quote(fmt.Sprintf("%s/%d", p.dev.Name, p.port.Number))))
	}
	if p.port.Netdev != "" && p.port.LinkLayer == inventory.LinkLayerEthernet {
		lines = append(lines, "ethtool "+quote(p.port.Netdev))
	}
	return lines
}

// memberRemedy returns the commands for a bond without a link: a fault that all members have in
// common is more likely at the switch than in each cable.
func memberRemedy(s *inventory.Snapshot, bond *inventory.Netdev) []string {
	lines := []string{"# all members at once: first see whether the switch ports are enabled, then reseat the cables"}
	for _, name := range deadMembers(s, bond) {
		lines = append(lines, "ethtool "+quote(name))
	}
	return lines
}

func bounceRemedy(s *inventory.Snapshot, p portRef) []string {
	if p.port.Netdev == "" {
		return onHost(s, "rdma link show "+quote(fmt.Sprintf("%s/%d", p.dev.Name, p.port.Number)))
	}
	n := quote(p.port.Netdev)
	if s.DefaultRouteOf(p.port) != nil {
		return []string{
			"# " + printable(p.port.Netdev) + " carries the default route: set it down and up from the console only",
			"dmesg | tail -n 50   # messages of the driver",
		}
	}
	return onHost(s, "dmesg | tail -n 50   # messages of the driver",
		"# then set it down and up, while no job runs and from a login that doesn't come through it:",
		"# ip link set dev "+n+" down && ip link set dev "+n+" up")
}

// onHost puts a comment before commands that a container may not run.
func onHost(s *inventory.Snapshot, lines ...string) []string {
	if !inContainer(s) {
		return lines
	}
	return append([]string{"# on the host, not in this container, or in a pod with CAP_NET_ADMIN"},
		lines...)
}
