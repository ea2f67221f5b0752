package checks

import (
	"cmp"
	"context"
	"fmt"
	"math"
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
		Title:    "which active ports are for jobs",
		Severity: doctor.OutcomeWarn,
		Group:    doctor.GroupInventory,
		Needs:    doctor.NeedDevices,
		Reads: []string{
			portFiles("state"),
			"/proc/net/route",
		},
		Explanation: prose.Join(`
			By default NCCL uses every active RDMA port, and a pattern such as mlx5_* matches all of
			them. A storage or management port among the compute ports then carries a share of the
			collectives: at a lower rate, through another network, or without a route to the peers.
			Ranks that choose different ports hang.`),
		Remedy: "List the compute ports in NCCL_IB_HCA, after a \"=\" so that mlx5_1 does not match mlx5_10 too; " +
			"`rdmactl env` prints the setting. A port of their board and rate with another link layer, which is a " +
			"warning, is set to the wrong one (LINK_TYPE), unless it is for storage: then give it that role in the " +
			"setting roles.",
		Sources: []string{"NCCL and UCX device selection (docs/env.md)"},
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
				doctor.Unknown(p.object(), "its link layer is not known, and so not which libraries can use it"))
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
	strays := 0
	for _, p := range others {
		switch {
		case !nccl(p) || p.dev.SMIOf != "" || p.port.RoleRule == inventory.RuleAcceleratorLink ||
			s.Host.DevVisible && !p.dev.UverbsNode():
			// no library can use it
		case p.handedOut(s) && p.dev.VF != nil && p.dev.VF.ParentDevice != "":
			vfs = append(vfs, p)
		default:
			strays++
			findings = append(findings, strayPort(s, p, compute))
		}
	}
	findings = append(findings, strayVFs(vfs, compute)...)
	findings = append(findings, mixedLayers(compute)...)
	findings = append(findings, defaultRoute(s, compute)...)
	if worst(findings).Compare(doctor.OutcomeInfo) > 0 { // a role isn't known
		return findings
	}
	text := english.Count(len(compute), "compute port")
	if strays += len(vfs); strays == 0 {
		text += ", and no other port that a library would use for collectives"
	} else {
		text += fmt.Sprintf("; `rdmactl env` leaves out %s", english.Count(strays, "other active port"))
	}
	pass := doctor.Passed(doctor.ObjectNode, text)
	for _, p := range compute {
		pass.Evidence = append(pass.Evidence, roleEvidence(p))
	}
	return append([]doctor.Finding{pass}, findings...)
}

// noCompute names the active ports by role. A management port is never proposed for jobs.
func noCompute(others []portRef) []doctor.Finding {
	others = slices.DeleteFunc(others, func(p portRef) bool {
		return p.port.Role == inventory.RoleUnknown || p.dev.SMIOf != ""
	})
	if len(others) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no active port whose role is known")}
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeInfo, Object: doctor.ObjectNode, Summary: "no active compute port",
		Explanation: "By default a library uses these ports for collectives; `rdmactl env` lists none of them. First " +
			"repair the ports that were meant for jobs. If others are meant, name them.",
		Remedy: []string{"# what every port is, and why", "rdmactl detect -o wide"},
	}
	var include []string
	for _, g := range groupBy(others, func(p portRef) inventory.Role { return p.port.Role }) {
		f.Summary += fmt.Sprintf("; %s: %s", g.value, objects(g.members, 4))
		if g.value != inventory.RoleUncertain && g.value != inventory.RoleStorage {
			continue
		}
		if g.value == inventory.RoleUncertain {
			f.Summary += " (" + g.members[0].port.RoleReason + ")"
		}
		for _, p := range g.members {
			include = append(include, p.object())
		}
	}
	if len(include) > 0 {
		f.Remedy = append(f.Remedy, "# if jobs may use these",
			"rdmactl env --include "+quote(strings.Join(include, ",")))
	}
	for _, p := range others {
		f.Evidence = append(f.Evidence, roleEvidence(p))
	}
	return []doctor.Finding{f}
}

// nccl reports whether NCCL uses the port by default: it is active, and InfiniBand or Ethernet.
// NCCL skips EFA because of its link layer; it uses iWARP, and fails on it.
func nccl(p portRef) bool {
	return p.port.State == inventory.PortStateActive && p.port.LinkLayer != inventory.LinkLayerUnknown
}

func strayPort(s *inventory.Snapshot, p portRef, compute []portRef) doctor.Finding {
	what := p.kind() + " port"
	if what == "spare port" { // such as that of a representor
		what = "port without a role"
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeInfo, Object: p.object(),
		Summary:  fmt.Sprintf("%s that a library would use for collectives: %s", what, p.port.RoleReason),
		Evidence: []doctor.Evidence{roleEvidence(p)},
		Remedy:   exactRemedy(compute),
	}
	if p.port.Rate != nil {
		f.Evidence = append(f.Evidence, p.evidence("rate", rawRate(p.port.Rate)))
	}
	if r := s.DefaultRouteOf(p.port); r != nil {
		f.Evidence = append(f.Evidence, routeEvidence(r))
	}
	if p.port.RoleRule == inventory.RuleOtherLinkLayer {
		f.Outcome, f.Remedy = doctor.OutcomeWarn, otherLayerRemedy(s, p, compute)
		f.Explanation = "A port of the compute ports' board and rate is probably a rail. InfiniBand and RoCE ports " +
			"can't reach each other, so `rdmactl env` leaves this one out, and jobs run with fewer rails, unless it " +
			"is meant for storage."
	}
	return f
}

// otherLayerRemedy returns the commands for a port that has another link layer than the compute
// ports of its board: only the owner knows whether that is meant so.
func otherLayerRemedy(s *inventory.Snapshot, p portRef, compute []portRef) []string {
	var roles []string
	for q := range ports(s) {
		if q.port.RoleRule == inventory.RuleOtherLinkLayer {
			roles = append(roles, q.object()+"=storage")
		}
	}
	remedy := []string{
		"# if these ports are not for jobs: say so, here or in the setting roles",
		"export RDMAKIT_ROLES=" + quote(strings.Join(roles, ",")),
	}
	if mellanox(p.dev) {
		remedy = append(remedy, "# if it is for jobs: give it the link layer of the others (1 InfiniBand, 2 Ethernet)",
			"mstconfig -d "+p.tool()+" query | grep LINK_TYPE   # set LINK_TYPE_P1 or _P2, then reset the card")
	}
	return append(remedy, exactRemedy(compute)...)
}

// strayVFs returns one finding for all active VFs of a PF.
func strayVFs(vfs, compute []portRef) []doctor.Finding {
	var findings []doctor.Finding
	for _, g := range groupBy(vfs, func(p portRef) string { return p.dev.VF.ParentDevice }) {
		f := doctor.Finding{
			Outcome: doctor.OutcomeInfo, Object: g.value,
			Summary: fmt.Sprintf("%s that a library on this host would use for collectives: %s",
				english.Count(len(g.members), "active virtual function"), objects(g.members, 4)),
			Explanation: "A virtual function shares the port and the bandwidth of its physical function. On the " +
				"host NCCL uses both as rails, and the virtual function usually has no address.",
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
	return []string{
		exactList(compute),
		"# or set all variables that NCCL, UCX and NVSHMEM need",
		`vars=$(rdmactl env --format sh) && eval "$vars"`,
	}
}

// roleEvidence returns the link layer, on which the role mainly depends.
func roleEvidence(p portRef) doctor.Evidence {
	if p.port.LinkLayerOfClass {
		return doctor.Evidence{Path: p.dev.PCI.Path + "/class", Value: p.dev.PCI.Class.String()}
	}
	layer := string(p.port.LinkLayer)
	if layer == "" {
		layer = "Unknown"
	}
	return p.evidence("link_layer", layer)
}

// exactList returns the setting that limits NCCL to the given ports of one link layer, that of
// most, in the order of their rails.
func exactList(compute []portRef) string {
	layers := groupBy(compute, func(p portRef) string { return string(p.port.LinkLayer) })
	compute = slices.Clone(layers[0].members)
	slices.SortStableFunc(compute, func(a, b portRef) int { return cmp.Compare(railOf(a), railOf(b)) })
	names := make([]string, 0, len(compute))
	for _, p := range compute {
		names = append(names, p.object())
	}
	return "export NCCL_IB_HCA=" + quote("="+strings.Join(names, ","))
}

func railOf(p portRef) int {
	if p.port.Rail == nil {
		return math.MaxInt
	}
	return *p.port.Rail
}

// mixedLayers returns a finding if there are compute ports on InfiniBand and on Ethernet.
func mixedLayers(compute []portRef) []doctor.Finding {
	layers := groupBy(compute, func(p portRef) string { return string(p.port.LinkLayer) })
	if len(layers) < 2 {
		return nil
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeInfo, Object: doctor.ObjectNode,
		Summary: "compute ports on different link layers",
		Explanation: "InfiniBand and RoCE ports can't reach each other, and one GID index does not suit both. A rank " +
			"that uses an InfiniBand port can't connect to a peer that uses a RoCE port.",
	}
	var parts []string
	for _, l := range layers {
		parts = append(parts, fmt.Sprintf("%s (%s)", l.value, objects(l.members, 4)))
		f.Evidence = append(f.Evidence, roleEvidence(l.members[0]))
	}
	f.Summary += ": " + strings.Join(parts, " and ")
	f.Remedy = []string{"# use the ports of one link layer only", exactList(layers[0].members)}
	return []doctor.Finding{f}
}

// defaultRoute returns a finding for each compute port that has the default route.
func defaultRoute(s *inventory.Snapshot, compute []portRef) []doctor.Finding {
	var findings []doctor.Finding
	for _, p := range compute {
		r := s.DefaultRouteOf(p.port)
		if r == nil {
			continue
		}
		f := doctor.Finding{
			Outcome: doctor.OutcomeInfo, Object: p.object(),
			Summary: fmt.Sprintf("the default route uses this compute port (%s)", r.Netdev),
			Explanation: "Image pulls, storage and logins share the link with the collectives: at times the rail " +
				"is slower than the others, which looks like network jitter.",
			Evidence: []doctor.Evidence{routeEvidence(r)},
			Remedy: []string{
				"# find another network device for the default route", "ip route show default",
				"rdmactl detect",
			},
		}
		if len(compute) == 1 {
			f.Explanation = "This is the node's only compute port, as on many virtual machines; other traffic takes " +
				"a share of its bandwidth."
			f.Remedy = nil
		}
		findings = append(findings, f)
	}
	return findings
}

// routeEvidence returns a default route as `ip route` prints it.
func routeEvidence(r *inventory.DefaultRoute) doctor.Evidence {
	path, via := "/proc/net/route", ""
	if r.Family == "ipv6" {
		path = "/proc/net/ipv6_route"
	}
	if r.Gateway != "" {
		via = "via " + r.Gateway + " "
	}
	return doctor.Evidence{Path: path, Value: fmt.Sprintf("default %sdev %s metric %d", via, r.Netdev, r.Metric)}
}
