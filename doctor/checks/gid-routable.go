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
		Title:    "routable GIDs of RoCE ports",
		Severity: doctor.OutcomeFail,
		Needs:    doctor.NeedDevices,
		Reads: []string{
			portFiles("gids"),
			portFiles("gids/*"),
			portFiles("gid_attrs/types/*"),
		},
		Explanation: prose.Join(`
			A RoCE v2 packet carries the IP address of its GID. A port whose network device has no
			IP address offers only link-local GIDs: queue pairs connect on one switch at best, and
			across a router they time out (NCCL: "transport retry counter exceeded", status 12) or
			never connect.`),
		Remedy: "Give the port's network device an IP address, and make that permanent in the network " +
			"configuration; in Kubernetes that is the IPAM section of the network attachment.",
		Sources: []string{
			"catalogue 61",
			"InfiniBand Architecture Specification, annex A17 (RoCE v2)",
			"drivers/infiniband/core/roce_gid_mgmt.c, drivers/infiniband/core/cache.c (gid_type_str)",
		},
		Run: runGIDRoutable,
	}
}

// gidClass says how far the best GID of a port reaches, farthest last.
type gidClass uint8

const (
	gidNone      gidClass = iota // no filled slot
	gidLinkLocal                 // fe80::/10 only
	gidV1                        // an IP address, but RoCE v1 only: not beyond the subnet
	gidUntyped                   // an IP address whose type the kernel doesn't tell
	gidAutoIP                    // 169.254.0.0/16 only
	gidULA                       // IPv6 unique local (fc00::/7) only
	gidIPv6                      // global IPv6
	gidIPv4
)

func runGIDRoutable(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	roce, judged, routable := 0, 0, 0
	for p := range ownPorts(in.Snapshot) {
		if !p.roce() {
			continue
		}
		roce++
		if !p.active() {
			continue // port-active tells; its addresses come and go with the link
		}
		judged++
		best, class := bestGID(p)
		if class <= gidUntyped && unreadGIDs(in, p) {
			continue // the runner tells; what was lost may have been the good one
		}
		if class == gidIPv4 || class == gidIPv6 || class == gidULA {
			routable++
			good = append(good, gidEvidence(p, best)...)
		}
		if f, ok := judgeGIDs(in.Snapshot, p, best, class); ok {
			findings = append(findings, f)
		}
	}
	switch {
	case roce == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no RoCE port on this node")}
	case judged == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no RoCE port is active")}
	case worst(findings).Compare(doctor.OutcomeInfo) <= 0 && len(good) > 0:
		ports := english.Count(judged, "active RoCE port")
		text := fmt.Sprintf("%d of %s with a routable RoCE v2 GID", routable, ports)
		pass := doctor.Passed(doctor.ObjectNode, text, good...)
		return append([]doctor.Finding{pass}, findings...)
	}
	if len(findings) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no GID table could be read")}
	}
	return findings
}

// unreadGIDs reports that part of the port's table could not be read.
func unreadGIDs(in *doctor.Input, p portRef) bool {
	_, gids := in.ProblemUnder(p.evidence("gids", "").Path)
	_, types := in.ProblemUnder(p.evidence("gid_attrs", "").Path)
	return gids || types
}

// bestGID returns the entry that reaches farthest, the first of equals.
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

// judgeGIDs returns false when there is nothing to say.
func judgeGIDs(s *inventory.Snapshot, p portRef, best inventory.GIDEntry, class gidClass) (doctor.Finding, bool) {
	f := doctor.Finding{Object: p.object(), Outcome: doctor.OutcomeWarn, Evidence: gidEvidence(p, best)}
	switch class {
	case gidIPv4:
		return f, false
	case gidNone, gidLinkLocal:
		judgeUnroutable(s, p, class, &f)
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
		f.Summary = fmt.Sprintf("the kernel does not tell the type of GID %d (%v), so it may be RoCE v1 or v2",
			best.Index, best.GID.Addr())
	case gidAutoIP:
		f.Summary = fmt.Sprintf("only a self-assigned address (%v): it does not leave the subnet", best.GID.Addr())
		f.Remedy = addressRemedy(s, p)
	case gidULA, gidIPv6:
		f.Outcome = doctor.OutcomeInfo
		if class == gidULA && p.dev.Driver == "bnxt_en" {
			f.Outcome = doctor.OutcomeWarn
		}
		f.Summary = fmt.Sprintf("IPv6 only: the routable GID is %d (%v)", best.Index, best.GID.Addr())
		f.Explanation = prose.Join(`
			By itself NCCL looks for IPv4 and, finding none, takes GID 0, which is link-local:
			connections time out. It and NVSHMEM must be told to use IPv6. UCX finds the GID by
			itself from releases of late 2025 on.`)
		f.Remedy = []string{
			"export NCCL_IB_ADDR_FAMILY=AF_INET6 NVSHMEM_IB_ADDR_FAMILY=AF_INET6",
			"# or let rdmactl work out the whole environment",
			`eval "$(rdmactl env --format sh)"`,
		}
	}
	return f, true
}

func judgeUnroutable(s *inventory.Snapshot, p portRef, class gidClass, f *doctor.Finding) {
	f.Outcome = doctor.OutcomeFail
	f.Remedy = addressRemedy(s, p)
	switch n := p.netdev(s); {
	case class == gidLinkLocal:
		f.Summary = fmt.Sprintf("%s, all link-local: the network device has no IP address",
			english.Count(len(p.port.GIDs), "GID"))
	case n == nil && inContainer(s):
		f.Summary = fmt.Sprintf("no GID in %s: the network device is in another network namespace",
			english.Count(p.port.GIDTableSize, "slot"))
		f.Explanation = "In the shared mode a container sees every RDMA device, but the GIDs only of those whose " +
			"network device was given to its network namespace. A job here can't use this port."
	default:
		f.Summary = fmt.Sprintf("no GID in %s", english.Count(p.port.GIDTableSize, "slot"))
	}
	if !p.carriesJobs(s) {
		f.Outcome = doctor.OutcomeInfo
		f.Summary += fmt.Sprintf(" (%s port, not for jobs)", p.kind())
	}
}

// gidEvidence quotes the entry, or the emptiness of the table.
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

// addressRemedy tells how to give the port an address. A member of a bond must
// have none: it belongs on the bond.
func addressRemedy(s *inventory.Snapshot, p portRef) []string {
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
				"; by hand on the host:",
			"ip addr add YOUR_ADDRESS/YOUR_PREFIX dev "+quote(target))
	}
	return append(lines, "ip addr add YOUR_ADDRESS/YOUR_PREFIX dev "+quote(target))
}
