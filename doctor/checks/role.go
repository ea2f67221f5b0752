package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func role() doctor.Check {
	return doctor.Check{
		ID:       "role",
		Title:    "storage or management port among the compute ports",
		Severity: doctor.OutcomeWarn,
		Needs:    doctor.NeedDevices,
		Reads: []string{
			portFiles("link_layer"),
			portFiles("state"),
			"/proc/net/route",
		},
		Explanation: prose.Join(`
			NCCL takes every active RDMA port that it finds, and so does a pattern such as mlx5_*. A
			storage or management port among the compute ports then carries a share of the
			collectives: at a quarter of the speed, through another network, or nowhere, and ranks
			that chose different ports hang.`),
		Remedy: "Name the compute ports exactly, with \"=\" in NCCL_IB_HCA so that mlx5_1 does not stand for mlx5_10 " +
			"too; `rdmactl env` prints the lines.",
		Sources: []string{"catalogue 07, 12, 88", "NCCL and UCX device selection (docs/env.md)"},
		Run:     runRole,
	}
}

func runRole(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	var compute, others []portRef
	var findings []doctor.Finding
	for p := range ports(s) {
		switch {
		case !p.active():
		case p.port.Transport == inventory.TransportUnknown:
			findings = append(findings,
				doctor.Unknown(p.object(), "the kernel does not tell its link layer, so its role can't be judged"))
		case p.port.Role == inventory.RoleCompute:
			compute = append(compute, p)
		default:
			others = append(others, p)
		}
	}
	if len(compute) == 0 {
		return append(findings, noCompute(others)...)
	}
	var vfs []portRef
	for _, p := range others {
		switch {
		case !nccl(p) || s.Host.DevVisible && !p.dev.UverbsNode():
			// no library can use it
		case p.handedOut(s) && p.dev.VF != nil && p.dev.VF.ParentDevice != "":
			vfs = append(vfs, p)
		default:
			findings = append(findings, strayPort(s, p, compute))
		}
	}
	findings = append(findings, strayVFs(vfs, compute)...)
	findings = append(findings, mixedLayers(compute)...)
	findings = append(findings, defaultRoute(s, compute)...)
	if worst(findings).Compare(doctor.OutcomeInfo) > 0 {
		return findings
	}
	pass := doctor.Passed(doctor.ObjectNode, fmt.Sprintf("%s, and no other port that a library would take for one",
		english.Count(len(compute), "compute port")))
	for _, p := range compute {
		pass.Evidence = append(pass.Evidence, roleEvidence(p))
	}
	return append([]doctor.Finding{pass}, findings...)
}

func noCompute(others []portRef) []doctor.Finding {
	others = slices.DeleteFunc(others, func(p portRef) bool { return p.port.Role == inventory.RoleUnknown })
	if len(others) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no active port whose role is known")}
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeInfo, Object: doctor.ObjectNode,
		Summary: "no active compute port: " + objects(others, 4) + " serve storage or management",
		Explanation: "A library that is not told otherwise uses these ports for collectives. If that is " +
			"meant, name them yourself.",
		Remedy: []string{"rdmactl env --include " + quote(others[0].dev.Name)},
	}
	for _, p := range others {
		f.Evidence = append(f.Evidence, roleEvidence(p))
	}
	return []doctor.Finding{f}
}

// nccl reports a port that NCCL would take by itself: active, InfiniBand or
// RoCE. It skips EFA for its link layer; iWARP it takes, and fails on it.
func nccl(p portRef) bool {
	return p.port.State == inventory.PortStateActive && p.port.LinkLayer != inventory.LinkLayerUnknown
}

func strayPort(s *inventory.Snapshot, p portRef, compute []portRef) doctor.Finding {
	f := doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: p.object(),
		Summary:  fmt.Sprintf("%s port that a library would use for collectives: %s", p.kind(), p.port.RoleReason),
		Evidence: []doctor.Evidence{roleEvidence(p)},
		Remedy:   exactRemedy(compute),
	}
	if p.port.Rate != nil {
		f.Evidence = append(f.Evidence, p.evidence("rate", rawRate(p.port.Rate)))
	}
	if n := p.netdev(s); n != nil && n.DefaultRoute {
		f.Evidence = append(f.Evidence, routeEvidence(s, n.Name))
	}
	return f
}

// strayVFs puts the active virtual functions of a physical function into one finding.
func strayVFs(vfs, compute []portRef) []doctor.Finding {
	var findings []doctor.Finding
	for _, g := range groupBy(vfs, func(p portRef) string { return p.dev.VF.ParentDevice }) {
		f := doctor.Finding{
			Outcome: doctor.OutcomeWarn, Object: g.value,
			Summary: fmt.Sprintf("%s that a library on this host would use for collectives: %s",
				english.Count(len(g.members), "active virtual function"), objects(g.members, 4)),
			Explanation: "A virtual function and its physical function are one port and share its bandwidth. On the " +
				"host NCCL takes both for rails, and the virtual one mostly has no address.",
			Remedy: exactRemedy(compute),
		}
		for _, p := range g.members {
			f.Evidence = append(f.Evidence, p.stateEvidence()[:1]...)
		}
		findings = append(findings, f)
	}
	slices.SortFunc(findings, func(a, b doctor.Finding) int { return strings.Compare(a.Object, b.Object) })
	return findings
}

func exactRemedy(compute []portRef) []string {
	return []string{exactList(compute), "# or all that NCCL, UCX and NVSHMEM need", `eval "$(rdmactl env --format sh)"`}
}

// roleEvidence quotes the file that told most about the role: the link layer.
func roleEvidence(p portRef) doctor.Evidence {
	layer := string(p.port.LinkLayer)
	if layer == "" {
		layer = "Unknown"
	}
	return p.evidence("link_layer", layer)
}

// exactList is the setting that keeps NCCL to the compute ports.
func exactList(compute []portRef) string {
	names := make([]string, 0, len(compute))
	for _, p := range compute {
		names = append(names, p.object())
	}
	return "export NCCL_IB_HCA=" + quote("="+strings.Join(names, ","))
}

// mixedLayers warns of compute ports on InfiniBand and on Ethernet at once.
func mixedLayers(compute []portRef) []doctor.Finding {
	layers := groupBy(compute, func(p portRef) string { return string(p.port.LinkLayer) })
	if len(layers) < 2 {
		return nil
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: doctor.ObjectNode,
		Summary: "compute ports on different link layers",
		Explanation: "InfiniBand and RoCE ports can't reach each other, and one GID index does not fit both. A rank " +
			"that gets the one kind while its peer gets the other can't connect.",
	}
	var parts []string
	for _, l := range layers {
		parts = append(parts, fmt.Sprintf("%s (%s)", l.value, objects(l.members, 4)))
		f.Evidence = append(f.Evidence, roleEvidence(l.members[0]))
	}
	f.Summary += ": " + strings.Join(parts, " and ")
	f.Remedy = []string{"# keep to one kind", exactList(layers[0].members)}
	return []doctor.Finding{f}
}

// defaultRoute warns of a compute port that also carries the node's ordinary
// traffic, where there are others that could be kept free of it.
func defaultRoute(s *inventory.Snapshot, compute []portRef) []doctor.Finding {
	var findings []doctor.Finding
	for _, p := range compute {
		n := p.netdev(s)
		if n == nil || !n.DefaultRoute {
			continue
		}
		f := doctor.Finding{
			Outcome: doctor.OutcomeWarn, Object: p.object(),
			Summary: fmt.Sprintf("the default route leads through this compute port (%s)", n.Name),
			Explanation: "Image pulls, storage and logins share the link with the collectives: the rail is slower " +
				"than the others at times, which looks like jitter of the network.",
			Evidence: []doctor.Evidence{routeEvidence(s, n.Name)},
			Remedy: []string{
				"# see which network device could carry the default route instead", "ip route show default",
				"rdmactl detect",
			},
		}
		if len(compute) == 1 {
			f.Outcome = doctor.OutcomeInfo
			f.Explanation = "The node has this one port for everything, as many virtual machines do: other traffic " +
				"takes its share of the link."
			f.Remedy = nil
		}
		findings = append(findings, f)
	}
	return findings
}

// routeEvidence quotes the default route as `ip route` would print it.
func routeEvidence(s *inventory.Snapshot, netdev string) doctor.Evidence {
	for _, r := range s.Host.DefaultRoutes {
		if r.Netdev != netdev {
			continue
		}
		path, via := "/proc/net/route", ""
		if r.Family == "ipv6" {
			path = "/proc/net/ipv6_route"
		}
		if r.Gateway != "" {
			via = "via " + r.Gateway + " "
		}
		return doctor.Evidence{Path: path, Value: fmt.Sprintf("default %sdev %s metric %d", via, netdev, r.Metric)}
	}
	return doctor.Evidence{Path: "/proc/net/route", Value: "default dev " + netdev}
}
