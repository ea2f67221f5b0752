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

func mtu() doctor.Check {
	return doctor.Check{
		ID:       "mtu",
		Title:    "RoCE port with an active MTU below 4096",
		Severity: doctor.OutcomeWarn,
		Group:    doctor.GroupAddressing,
		Numbers:  []int{63, 64},
		Needs:    doctor.NeedDevices,
		Reads:    []string{netFiles("mtu")},
		Explanation: prose.Join(`
			The active MTU of a RoCE port is the largest of 256, 512, 1024, 2048 and 4096 bytes that
			fits into the MTU of its network device together with 96 bytes of headers. With the
			usual network MTU of 1500 it is 1024: the same data needs four times the packets of
			4096, which costs bandwidth where the packet rate is the limit. If the two ends differ,
			a connection uses the smaller MTU, or fails if a program requests the larger one.`),
		Remedy: "Set the MTU of the network device to 4200 or 9000 (4096 needs at least 4192), the same on every " +
			"node and rail. First configure the switch ports to accept frames of that size, or large packets are " +
			"dropped silently.",
		Sources: []string{
			"include/rdma/ib_addr.h (iboe_get_mtu)",
			"reports: NVIDIA/nccl issues 1524 (unequal) and 1957 (a library that takes 4096 for granted)",
		},
		Run: runMTU,
	}
}

func runMTU(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	var findings []doctor.Finding
	var good []doctor.Evidence
	var hidden []portRef
	roce, checked := 0, 0
	for p := range ownPorts(s) {
		if !p.roce() || !p.active() && !p.carriesJobs(s) {
			continue // the MTU of a spare port does not matter
		}
		roce++
		n := p.netdev(s)
		if n == nil || n.MTU == 0 {
			hidden = append(hidden, p)
			continue
		}
		checked++
		if n.MTU >= ib.MTU4096.NetdevMTU() {
			good = append(good, netEvidence(n, "mtu", fmt.Sprint(n.MTU)))
			continue
		}
		findings = append(findings, smallMTU(s, p, n))
	}
	switch {
	case roce == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"no RoCE port on this node; on InfiniBand the subnet manager sets the MTU")}
	case checked == 0:
		return []doctor.Finding{
			doctor.NotApplicable(doctor.ObjectNode, "no RoCE port has a network device whose MTU is visible here"),
		}
	case len(hidden) > 0:
		findings = append(findings, doctor.NotApplicable(doctor.ObjectNode,
			"the MTU of the network device of %s is not visible here", objects(hidden, 4)))
	}
	if worst(findings).Compare(doctor.OutcomeInfo) <= 0 && len(good) > 0 {
		pass := doctor.Passed(doctor.ObjectNode,
			english.Count(len(good), "RoCE port")+" can use an MTU of 4096", good...)
		return append([]doctor.Finding{pass}, findings...)
	}
	return findings
}

func smallMTU(s *inventory.Snapshot, p portRef, n *inventory.Netdev) doctor.Finding {
	active := "none"
	if m := ib.MTUFromNetdev(n.MTU); m > 0 {
		active = fmt.Sprintf("%d", m)
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeWarn,
		Object:  p.object(),
		Summary: fmt.Sprintf("active MTU %s: network device %s has MTU %d, but 4096 needs %d",
			active, n.Name, n.MTU, ib.MTU4096.NetdevMTU()),
		Evidence: []doctor.Evidence{netEvidence(n, "mtu", fmt.Sprint(n.MTU))},
		Remedy:   mtuRemedy(s, p, n),
	}
	switch {
	case !p.active():
		f.Outcome = doctor.OutcomeInfo // port-active reports what comes first
	case !p.carriesJobs(s):
		f.Outcome, f.Remedy = doctor.OutcomeInfo, []string{"# nothing, as long as jobs don't use the port"}
		f.Summary += fmt.Sprintf(" (%s port, not for jobs)", p.kind())
	}
	return f
}

// mtuRemedy sets the MTU of the devices in the order that the kernel accepts: lower devices first.
func mtuRemedy(s *inventory.Snapshot, p portRef, n *inventory.Netdev) []string {
	const want = 9000
	set := func(name string) string {
		// A comment: before the first step large packets are dropped, and the change stops traffic.
		return fmt.Sprintf("# ip link set dev %s mtu %d", quote(name), want)
	}
	lines := []string{
		"# first let the switch ports accept frames of 9216 bytes; then, while no job runs, on every node, and " +
			"in the configuration of its network (netplan, NetworkManager), or the next boot undoes it:",
	}
	if p.dev.VF != nil {
		for _, pf := range s.Netdevs {
			if pf.PCI == p.dev.VF.ParentAddress && pf.PCI != "" && pf.MTU < want {
				lines = append(lines, set(pf.Name))
				break
			}
		}
	}
	if n.Lower != "" {
		lines = append(lines, set(n.Lower))
	}
	target := n.Name
	if n.Master != "" && isBond(s, n.Master) {
		target = n.Master // a bond sets the MTU of its members
	}
	lines = append(lines, set(target))
	if inContainer(s) {
		return append(lines, "# in Kubernetes set it in the object that creates the interface: spec.mtu: 9000 in its "+
			"SriovNetworkNodePolicy, or \"mtu\": 9000 in its network attachment")
	}
	return lines
}

func isBond(s *inventory.Snapshot, name string) bool {
	n := s.Netdev(name)
	return n != nil && n.Bond != nil
}
