package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
)

// The rules about UCX's choice of devices and transports.
func ucxRules() []Rule {
	return []Rule{
		{
			ID: "ucx-no-tcp", Title: "UCX_NET_DEVICES without a device for TCP", Severity: SeverityWarn,
			Variables: []string{"UCX_NET_DEVICES"}, On: "47_gpu_switches",
			Wrong: []string{"UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1"},
			Right: []string{"UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,eno1np0"},
			Explanation: prose.Join(`
				The list covers all network devices of UCX, those of TCP included. With RDMA ports
				alone in it, UCX has no tcp transport, and with it no way to connect to a listener
				or to a peer that RDMA doesn't reach; NIXL and what stands on it then fail to start.`),
			Remedy:  "add the network device that leads to the other nodes over TCP",
			Reports: []string{"sgl-project/sglang PR#40641"}, Sources: []string{srcUCX}, check: checkUCXTCP,
		},
		{
			ID: "ucx-tls", Title: "UCX_TLS and UCX_NET_DEVICES leave nothing together", Severity: SeverityError,
			Variables: []string{"UCX_TLS", "UCX_NET_DEVICES"}, On: "47_gpu_switches",
			Wrong: []string{"UCX_TLS=tcp,cuda_copy", "UCX_NET_DEVICES=mlx5_0:1"},
			Right: []string{"UCX_TLS=rc,tcp,cuda_copy", "UCX_NET_DEVICES=mlx5_0:1,eno1np0"},
			Explanation: prose.Join(`
				UCX uses a transport on a device where both lists allow it. RDMA transports (rc, dc,
				ud, ib, srd) run on RDMA ports, tcp on network devices; lists that allow only the
				one kind of transport and only the other kind of device leave no network at all.`),
			Remedy:  "take UCX_TLS away, which lets UCX choose, or allow what fits the devices",
			Sources: []string{srcUCX}, check: checkUCXTLS,
		},
		{
			ID: "ucx-tls-no-rdma", Title: "UCX_TLS leaves RDMA out", Severity: SeverityWarn,
			Variables: []string{"UCX_TLS"}, On: "47_gpu_switches",
			Wrong: []string{"UCX_TLS=tcp,sm,cuda"}, Right: []string{"UCX_TLS=rc,tcp,sm,cuda"},
			Explanation: "UCX_TLS is the list of all transports that UCX may use. Without rc, dc, ud or ib in it, " +
				"UCX and NIXL use TCP, though this node has ports for RDMA.",
			Remedy: "take UCX_TLS away, or add rc", Sources: []string{srcUCX}, check: checkUCXNoRDMA,
		},
	}
}

func checkUCXTCP(l *linter) {
	d, ok := l.ucxDevices()
	if !ok || d.not {
		return
	}
	rdma := false
	for _, e := range d.entries {
		if slices.Contains(l.netdevs(), e.text) {
			return
		}
		rdma = rdma || l.hasDevice(e.device)
	}
	// A name that is no device of any kind could be a network device of another node.
	if !rdma || len(l.dead(d)) > 0 {
		return
	}
	severity := SeverityNote
	if l.plan.Socket != nil {
		severity = SeverityWarn
	}
	f := l.report(d.setting, severity, "the list has RDMA ports only, so UCX has no tcp")
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

// transports is UCX_TLS by kind; known is false where it is not set, allows all, or excludes.
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
			"the transports are TCP's, and UCX_NET_DEVICES=%s has RDMA ports only: UCX has no network",
			d.setting.Value).unset("UCX_TLS")
	case ports == 0 && netdevs > 0 && rdma && !tcp:
		f := l.report(s, SeverityError,
			"the transports are those of RDMA, and UCX_NET_DEVICES=%s has no RDMA port: UCX has no network",
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
		return // ucx-tls tells
	}
	l.report(l.get("UCX_TLS"), SeverityWarn, "UCX uses TCP only, though %s can be used",
		join(portNames(l.usablePorts()))).unset("UCX_TLS").
		evidence(l.usablePorts()[0].stateEvidence())
}
