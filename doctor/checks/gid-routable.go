package checks

import (
	"context"
	"fmt"
	"strconv"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

func gidRoutable() doctor.Check {
	return doctor.Check{
		ID:       "gid-routable",
		Title:    "RoCE port without a routable IPv4 GID",
		Severity: doctor.OutcomeFail,
		Group:    doctor.GroupAddressing,
		Numbers:  []int{61},
		Needs:    doctor.NeedDevices,
		Reads: []string{
			portFiles("gids"),
			portFiles("gids/*"),
			portFiles("gid_attrs/types/*"),
		},
		Explanation: prose.Join(`
			RoCE v2 packets use the IP address of the port's GID. If the network device of a port
			has no IP address, the port has only link-local GIDs: queue pairs connect within one
			subnet at best; across a router they time out (NCCL: "transport retry counter exceeded",
			status 12) or never connect.`),
		Remedy: "Give the port's network device an IP address, and make that permanent in the network " +
			"configuration; in Kubernetes that is the IPAM section of the network attachment.",
		Sources: []string{
			"InfiniBand Architecture Specification, annex A17 (RoCE v2)",
			"drivers/infiniband/core/roce_gid_mgmt.c, drivers/infiniband/core/cache.c (gid_type_str)",
		},
		Run: runGIDRoutable,
	}
}

// gidClass is the reach of a port's best GID, in ascending order.
type gidClass uint8

const (
	gidNone      gidClass = iota // no filled slot
	gidLinkLocal                 // fe80::/10 only
	gidV1                        // an IP address, but RoCE v1 only: not beyond the subnet
	gidUntyped                   // an IP address, but the kernel does not report the GID type
	gidAutoIP                    // 169.254.0.0/16 only
	gidULA                       // IPv6 unique local (fc00::/7) only
	gidIPv6                      // global IPv6
	gidIPv4
)

func runGIDRoutable(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	roce, checked, routable := 0, 0, 0
	for p := range ownPorts(in.Snapshot) {
		if !p.roce() {
			continue
		}
		roce++
		if !p.active() {
			continue // port-active reports it; the port has GIDs only while the link is up
		}
		checked++
		best, class := bestGID(p)
		if class <= gidUntyped && unreadGIDs(in, p) {
			continue // the runner reports it; the entry that could not be read may be a routable one
		}
		if class == gidIPv4 || class == gidIPv6 || class == gidULA {
			routable++
			good = append(good, gidEvidence(p, best)...)
		}
		if why := accelerated(in.Snapshot, p); why != "" && class <= gidLinkLocal {
			findings = append(findings, doctor.NotApplicable(p.object(), "%s", why))
			continue
		}
		if f, ok := checkGIDs(in, p, best, class); ok {
			findings = append(findings, f)
		}
	}
	switch {
	case roce == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no RoCE port on this node")}
	case checked == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no RoCE port is active")}
	case worst(findings).Compare(doctor.OutcomeInfo) <= 0 && len(good) > 0:
		ports := english.Count(checked, "active RoCE port")
		text := fmt.Sprintf("%d of %s with a routable RoCE v2 GID", routable, ports)
		pass := doctor.Passed(doctor.ObjectNode, text, good...)
		return append([]doctor.Finding{pass}, findings...)
	}
	if len(findings) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no GID table could be read")}
	}
	return findings
}

// unreadGIDs reports whether part of the port's GID table could not be read.
func unreadGIDs(in *doctor.Input, p portRef) bool {
	_, gids := in.ProblemUnder(p.evidence("gids", "").Path)
	_, types := in.ProblemUnder(p.evidence("gid_attrs", "").Path)
	return gids || types
}

// bestGID returns the entry with the highest class, the first if several have it.
func bestGID(p portRef) (best inventory.GIDEntry, class gidClass) {
	for _, g := range p.port.GIDs {
		if c := classify(g); c > class {
			best, class = g, c
		}
	}
	return best, class
}

func classify(g inventory.GIDEntry) gidClass {
	a := g.GID.Addr()
	switch {
	case g.GID.IsZero():
		return gidNone
	case g.GID.IsLinkLocal() || g.GID.HasZeroInterfaceID():
		return gidLinkLocal
	case g.Type == inventory.GIDTypeUnknown:
		return gidUntyped
	case g.Type != inventory.GIDTypeRoCEv2:
		return gidV1
	case a.Is4() && a.IsLinkLocalUnicast():
		return gidAutoIP
	case a.Is4():
		return gidIPv4
	case a.IsPrivate():
		return gidULA
	}
	return gidIPv6
}

// checkGIDs returns the finding for a port; false if there is none.
func checkGIDs(in *doctor.Input, p portRef, best inventory.GIDEntry, class gidClass) (doctor.Finding, bool) {
	s := in.Snapshot
	f := doctor.Finding{Object: p.object(), Outcome: doctor.OutcomeWarn, Evidence: gidEvidence(p, best)}
	switch class {
	case gidIPv4:
		return f, false
	case gidLinkLocal:
		if p.port.FirstGIDOnly() {
			f.Outcome = doctor.OutcomeUnknown
			f.Summary = "only the first entry of the GID table was recorded, and it is link-local: whether the " +
				"port has an address is not known"
			return f, true
		}
		unroutable(in, p, class, &f)
	case gidNone:
		if p.port.GIDTableSize == 0 {
			f.Outcome, f.Evidence = doctor.OutcomeUnknown, nil
			f.Summary = "no GID table was recorded: whether the port has an address is not known"
			return f, true
		}
		unroutable(in, p, class, &f)
	case gidV1:
		f.Summary = fmt.Sprintf("GID %d (%v) is RoCE v1: it does not leave the subnet", best.Index, best.GID.Addr())
		f.Explanation = "RoCE v1 is an Ethernet frame without IP: switches forward it within one VLAN and routers " +
			"drop it. Libraries look for RoCE v2 first and find none here."
		f.Remedy = []string{
			"# if all nodes share one VLAN: allow v1",
			"export NCCL_IB_ROCE_VERSION_NUM=1 NVSHMEM_IB_ROCE_VERSION_NUM=1",
			"# else: update driver and firmware of the card until gid_attrs/types shows RoCE v2",
		}
	case gidUntyped:
		f.Outcome = doctor.OutcomeUnknown
		f.Summary = fmt.Sprintf("the kernel does not report the type of GID %d (%v), so it may be RoCE v1 or v2",
			best.Index, best.GID.Addr())
	case gidAutoIP:
		f.Summary = fmt.Sprintf("only a self-assigned address (%v): it does not leave the subnet", best.GID.Addr())
		f.Remedy = addressRemedy(in, p)
	case gidULA, gidIPv6:
		f.Summary = fmt.Sprintf("IPv6 only: the routable GID is %d (%v)", best.Index, best.GID.Addr())
		f.Explanation = prose.Join(`
			By default NCCL looks for an IPv4 GID and, if there is none, uses GID 0, which is
			link-local: connections time out. NCCL and NVSHMEM must be configured for IPv6. UCX
			selects the GID automatically since releases of late 2025.`)
		f.Remedy = []string{
			"export NCCL_IB_ADDR_FAMILY=AF_INET6 NVSHMEM_IB_ADDR_FAMILY=AF_INET6",
			"# or let rdmactl print all variables",
			`vars=$(rdmactl env --format sh) && eval "$vars"`,
		}
	}
	if f.Outcome == doctor.OutcomeWarn && !p.carriesJobs(s) {
		f.Outcome = doctor.OutcomeInfo
		f.Summary += fmt.Sprintf(" (%s port, not for jobs)", p.kind())
	}
	return f, true
}

func unroutable(in *doctor.Input, p portRef, class gidClass, f *doctor.Finding) {
	s := in.Snapshot
	f.Outcome = doctor.OutcomeFail
	f.Remedy = addressRemedy(in, p)
	switch n := p.netdev(s); {
	case class == gidLinkLocal && n == nil:
		f.Summary = english.Count(len(p.port.GIDs), "GID") +
			", all link-local: the port's network device is not visible"
	case class == gidLinkLocal:
		f.Summary = fmt.Sprintf("%s, all link-local: the network device has no IP address",
			english.Count(len(p.port.GIDs), "GID"))
	case n == nil && inContainer(s):
		f.Summary = fmt.Sprintf("no GID in %s: the network device is in another network namespace",
			english.Count(p.port.GIDTableSize, "slot"))
		f.Explanation = "In shared RDMA namespace mode a container sees every RDMA device, but only the GIDs of " +
			"devices whose network device is in its network namespace. A job in this container can't use this port."
	case n == nil:
		f.Summary = fmt.Sprintf("no GID in %s: the port's network device is not visible",
			english.Count(p.port.GIDTableSize, "slot"))
	default:
		f.Summary = fmt.Sprintf("no GID in %s: network device %s has no IP address",
			english.Count(p.port.GIDTableSize, "slot"), n.Name)
	}
	switch twin := routableTwin(s, p); {
	case twin != "" && p.carriesJobs(s):
		f.Outcome = doctor.OutcomeWarn
		f.Explanation = twin + " on the same card has an address, so jobs can use the card, but with one port less. " +
			"Without NCCL_IB_HCA NCCL would use this port too, and its connections would fail."
	case !p.carriesJobs(s):
		f.Outcome = doctor.OutcomeInfo
		f.Summary += fmt.Sprintf(" (%s port, not for jobs)", p.kind())
	}
}

// routableTwin returns a port of the same card at the same rate that has a routable GID, ""
// for none.
func routableTwin(s *inventory.Snapshot, p portRef) string {
	for q := range ports(s) {
		if _, class := bestGID(q); p.port != q.port && p.dev.SameCard(q.dev) && q.active() &&
			q.carriesJobs(s) && !q.handedOut(s) && class >= gidULA &&
			p.port.Rate != nil && q.port.Rate != nil && p.port.Rate.GbPerSecond == q.port.Rate.GbPerSecond {
			return q.object()
		}
	}
	return ""
}

// gidEvidence returns the entry as evidence, or that the table is empty.
func gidEvidence(p portRef, g inventory.GIDEntry) []doctor.Evidence {
	if (g.GID == ib.GID{}) {
		if len(p.port.GIDs) == 0 {
			return []doctor.Evidence{p.evidence("gids/*", fmt.Sprintf("%v (all %d)", ib.GID{}, p.port.GIDTableSize))}
		}
		g = p.port.GIDs[0]
	}
	i := strconv.Itoa(g.Index)
	ev := []doctor.Evidence{p.evidence("gids/"+i, g.GID.String())}
	switch g.Type {
	case inventory.GIDTypeUnknown:
	case inventory.GIDTypeRoCEv2:
		ev = append(ev, p.evidence("gid_attrs/types/"+i, string(g.Type)))
	default:
		ev = append(ev, p.evidence("gid_attrs/types/"+i, "IB/RoCE v1"))
	}
	if g.Netdev != "" {
		ev = append(ev, p.evidence("gid_attrs/ndevs/"+i, g.Netdev))
	}
	return ev
}

// accelerated returns why a port needs no address: its network device is the direct path of a
// virtual machine's synthetic device of Hyper-V, which has the address. Azure's networks carry no
// RoCE packets there (Accelerated Networking).
func accelerated(s *inventory.Snapshot, p portRef) string {
	n := p.netdev(s)
	if n == nil || n.Master == "" {
		return ""
	}
	if m := s.Netdev(n.Master); m == nil || m.Driver != "hv_netvsc" {
		return ""
	}
	return fmt.Sprintf("%s is the accelerated path of %s (hv_netvsc), which has the address; it carries no RoCE",
		n.Name, n.Master)
}

// addressRemedy returns the commands that give the port an IP address. The members of a bond have
// none: the address belongs to the bond.
func addressRemedy(in *doctor.Input, p portRef) []string {
	s := in.Snapshot
	n := p.netdev(s)
	if n == nil {
		return []string{
			"# the port's network device is not in this network namespace: move it here (YOUR_NETNS),",
			"# by a network attachment (SR-IOV, macvlan, host-device) in Kubernetes, or on the host",
			"rdma link show " + quote(fmt.Sprintf("%s/%d", p.dev.Name, p.port.Number)),
			"ip link set dev YOUR_NETDEV netns YOUR_NETNS",
		}
	}
	target := n.Name
	var lines []string
	if n.Master != "" {
		target = n.Master
		lines = append(lines,
			fmt.Sprintf("# %s belongs to %s, so the address goes there", quote(n.Name), quote(n.Master)))
	}
	if inContainer(s) {
		return append(lines,
			"# in Kubernetes: add an ipam section to the network attachment that gives the pod "+quote(target)+
				"; or manually on the host:",
			"ip addr add YOUR_ADDRESS/YOUR_PREFIX dev "+quote(target))
	}
	if vendor := cloud(in); vendor != "" {
		return append(lines,
			"# "+printable(vendor)+" gives each interface its address and drops packets with another one: configure "+
				quote(target)+" with DHCP or the provider's network agent")
	}
	return append(lines, "ip addr add YOUR_ADDRESS/YOUR_PREFIX dev "+quote(target))
}
