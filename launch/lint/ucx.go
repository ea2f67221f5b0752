package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
)

// ucxRules returns the rules about UCX's devices and transports.
func ucxRules() []Rule {
	return []Rule{
		{
			ID: "ucx-no-tcp", Title: "UCX_NET_DEVICES without a device for TCP", Severity: SeverityWarn,
			Variables: []string{"UCX_NET_DEVICES"}, On: "47_gpu_switches",
			Wrong: []string{"UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1"},
			Right: []string{"UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,eno1np0"},
			Explanation: prose.Join(`
				The list applies to all network devices of UCX, including those for TCP. If it
				contains only RDMA ports, UCX has no tcp transport: it can't connect to a listener,
				or to a peer that is not reachable over RDMA, and NIXL and the programs that use it
				fail to start.`),
			Remedy:  "add the network device that reaches the other nodes over TCP",
			Reports: []string{"sgl-project/sglang PR#40641"}, Sources: []string{srcUCX}, check: checkUCXTCP,
		},
		{
			ID: "ucx-tls", Title: "UCX_TLS and UCX_NET_DEVICES together allow no network", Severity: SeverityError,
			Variables: []string{"UCX_TLS", "UCX_NET_DEVICES"}, On: "47_gpu_switches",
			Wrong: []string{"UCX_TLS=tcp,cuda_copy", "UCX_NET_DEVICES=mlx5_0:1"},
			Right: []string{"UCX_TLS=rc,tcp,cuda_copy", "UCX_NET_DEVICES=mlx5_0:1,eno1np0"},
			Explanation: prose.Join(`
				UCX uses a transport on a device only if both lists allow it. RDMA transports (rc,
				dc, ud, ib, srd) run on RDMA ports, tcp runs on network devices. If one list allows
				only RDMA and the other only TCP, UCX has no network.`),
			Remedy:  "remove UCX_TLS, so that UCX chooses, or allow a transport that fits the devices",
			Sources: []string{srcUCX}, check: checkUCXTLS,
		},
		{
			ID: "ucx-tls-no-rdma", Title: "UCX_TLS excludes RDMA", Severity: SeverityWarn,
			Variables: []string{"UCX_TLS"}, On: "47_gpu_switches",
			Wrong: []string{"UCX_TLS=tcp,sm,cuda"}, Right: []string{"UCX_TLS=rc,tcp,sm,cuda"},
			Explanation: "UCX_TLS lists all transports that UCX may use. Without rc, dc, ud or ib in it, " +
				"UCX and NIXL use TCP, although this node has RDMA ports.",
			Remedy: "remove UCX_TLS, or add rc", Sources: []string{srcUCX}, check: checkUCXNoRDMA,
		},
	}
}

func checkUCXTCP(l *linter) {
	d, ok := l.ucxDevices()
	if !ok || d.not || l.foreign {
		return
	}
	rdma := false
	for _, e := range d.entries {
		if slices.Contains(l.netdevs(), e.text) {
			return
		}
		rdma = rdma || l.hasDevice(e.device)
	}
	// An unknown name could be a network device of another node.
	if !rdma || len(l.dead(d)) > 0 {
		return
	}
	severity := SeverityNote
	if l.plan.Socket != nil {
		severity = SeverityWarn
	}
	f := l.report(d.setting, severity, "the list has only RDMA ports, so UCX has no tcp transport")
	if s := l.plan.Socket; s != nil {
		f.set("UCX_NET_DEVICES", d.setting.Value+","+s.Netdev)
		for _, file := range s.Files {
			f.evidence(Evidence{Path: file, Value: s.Reason + ": " + s.Netdev})
		}
	}
}

func (l *linter) ucxDevices() (deviceList, bool) {
	for _, s := range listSyntaxes() {
		if s.netdevs {
			return l.list(s)
		}
	}
	return deviceList{}, false
}

// transports reports the kinds of transport in UCX_TLS; known is false if it is not set, allows
// all, or excludes transports.
func (l *linter) transports() (rdma, tcp, known bool) {
	value := l.value("UCX_TLS")
	if value == "" || strings.HasPrefix(value, "^") {
		return false, false, false
	}
	for word := range strings.SplitSeq(value, ",") {
		word = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(word), `\`))
		switch {
		case word == "all":
			return false, false, false
		case word == "tcp":
			tcp = true
		case slices.Contains(
			[]string{
				"ib", "rc", "rc_v", "rc_x", "rc_verbs", "rc_mlx5", "rc_gda", "ud", "ud_v", "ud_x", "ud_verbs",
				"ud_mlx5", "dc", "dc_x", "dc_mlx5", "gga", "gga_mlx5", "srd",
			}, word):
			rdma = true
		}
	}
	return rdma, tcp, true
}

func checkUCXTLS(l *linter) {
	rdma, tcp, known := l.transports()
	d, listed := l.ucxDevices()
	if !known || !listed || d.not {
		return
	}
	var ports, netdevs int
	for _, e := range d.entries {
		switch {
		case l.hasDevice(e.device):
			ports++
		case slices.Contains(l.netdevs(), e.text):
			netdevs++
		default:
			return
		}
	}
	s := l.get("UCX_TLS")
	switch {
	case ports > 0 && netdevs == 0 && !rdma && tcp:
		l.report(s, SeverityError,
			"it allows only TCP, but UCX_NET_DEVICES=%s has only RDMA ports: UCX has no network",
			d.setting.Value).unset("UCX_TLS")
	case ports == 0 && netdevs > 0 && rdma && !tcp:
		f := l.report(s, SeverityError,
			"it allows only RDMA, but UCX_NET_DEVICES=%s has no RDMA port: UCX has no network",
			d.setting.Value)
		l.derive(f, "UCX_NET_DEVICES")
	}
}

func checkUCXNoRDMA(l *linter) {
	rdma, tcp, known := l.transports()
	if !known || rdma || !tcp || !l.usable() {
		return
	}
	if d, ok := l.ucxDevices(); ok && !d.not &&
		!slices.ContainsFunc(d.entries, func(e listEntry) bool { return slices.Contains(l.netdevs(), e.text) }) {
		return // ucx-tls reports it
	}
	l.report(l.get("UCX_TLS"), SeverityWarn, "UCX uses TCP only, though %s can be used",
		join(portNames(l.usablePorts()))).unset("UCX_TLS").
		evidence(l.usablePorts()[0].stateEvidence())
}
