package checks

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/provider/roce/window"
	"github.com/rdmakit/rdmakit/wire/ib"
)

func receiveBuffer() doctor.Check {
	return doctor.Check{
		ID: "receive-buffer", Title: "small socket buffers for RDMA in software", Severity: doctor.OutcomeInfo,
		Group: doctor.GroupHost,
		Reads: []string{
			"/" + sysfs.ProcReceiveBuffer, "/" + sysfs.ProcSendBuffer, "/" + sysfs.ProcTCPReceive, netFiles("mtu"),
		},
		Thresholds: []doctor.Threshold{{
			Name: "tcp-buffer-least", Value: 4 << 20, Unit: "bytes", What: "smaller maximum of net.ipv4.tcp_rmem",
			Source: "to be calibrated; 4 MiB hold what 100 Gb/s send in 0.3 ms",
		}},
		Explanation: prose.Join(`
			On a node without RDMA devices rdmactl's engine does RDMA over a UDP socket. The kernel limits
			the buffers of that socket to net.core.rmem_max and net.core.wmem_max unless the process has
			CAP_NET_ADMIN. The engine keeps no more packets in flight than the receive buffer holds, and
			waits whenever the send buffer is full. Soft-iWARP (siw) carries RDMA over TCP, of which
			net.ipv4.tcp_rmem limits the window. Cards and rxe need none of them.`),
		Remedy: "Raise the limit, also in a file of /etc/sysctl.d for the next boot.",
		Sources: []string{
			"socket(7), SO_RCVBUF and SO_RCVBUFFORCE", "tcp(7), tcp_rmem", "Linux drivers/infiniband/sw/siw",
			"package verbs/provider/roce/window of rdmakit",
		},
		Run: runReceiveBuffer,
	}
}

// bufferLimit is a limit of the kernel for what a socket may hold.
type bufferLimit struct {
	sysctl, file string
	field        int // of the file, from 0
	least, want  uint64
	// small describes a limit below least: the setting and its value are filled in.
	small string
	// perNamespace reports that each network namespace has a value of its own.
	perNamespace bool
	why          []doctor.Evidence // what least depends on
}

func runReceiveBuffer(_ context.Context, in *doctor.Input) []doctor.Finding {
	if p, ok := unreadDevices(in.Snapshot); ok {
		return []doctor.Finding{doctor.Unknown(doctor.ObjectNode, "no usable value in %s: %s", p.Path, p.Error)}
	}
	limits, why := socketLimits(in)
	if why != "" {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", why)}
	}
	var findings []doctor.Finding
	var good []doctor.Evidence
	judged := true
	for _, l := range limits {
		f := l.finding(in)
		if f.Outcome == doctor.OutcomePass {
			good = append(good, f.Evidence...)
			continue
		}
		judged = judged && f.Outcome == doctor.OutcomeInfo
		findings = append(findings, f)
	}
	if judged && len(findings) == 0 {
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode,
			"sockets may have the buffers that RDMA in software needs", good...)}
	}
	return findings
}

// unreadDevices returns the reason why it is not known whether the node has RDMA devices.
func unreadDevices(s *inventory.Snapshot) (inventory.Problem, bool) {
	i := slices.IndexFunc(s.Problems, func(p inventory.Problem) bool {
		return strings.HasPrefix(p.Path, "/"+sysfs.ClassInfiniBand)
	})
	if len(s.Devices) > 0 || i < 0 {
		return inventory.Problem{}, false
	}
	return s.Problems[i], true
}

// socketLimits returns the limits of the sockets that RDMA in software uses on the node, or why it
// uses none.
func socketLimits(in *doctor.Input) (limits []bufferLimit, why string) {
	s := in.Snapshot
	if len(s.Devices) == 0 {
		if n := engineNetdev(s); n != nil {
			return engineLimits(n), ""
		}
		return nil, "no network device that rdmactl's engine could use"
	}
	siw := false
	for p := range ports(s) {
		switch {
		case !p.carriesJobs(s):
		case p.dev.Software == "":
			return nil, "cards do RDMA, and need no sockets"
		default:
			siw = siw || p.dev.Software == "siw"
		}
	}
	if !siw {
		return nil, "no RDMA device of the node needs sockets"
	}
	least := in.Threshold("tcp-buffer-least")
	return []bufferLimit{{
		sysctl: "net.ipv4.tcp_rmem", file: sysfs.ProcTCPReceive, field: 2, least: uint64(least), want: uint64(least),
		small: "%s allows receive buffers of %s, so soft-iWARP has less data in flight than " +
			inventory.Limit{Bytes: uint64(least)}.String(),
		perNamespace: true,
	}}, ""
}

// engineLimits are those of the engine's UDP socket on a network device. The window goes through
// both buffers; the engine computes it from the receive buffer.
func engineLimits(n *inventory.Netdev) []bufferLimit {
	mtu := ib.MTUFromNetdev(n.MTU)
	least := uint64(window.Buffer(mtu)) //nolint:gosec // positive
	need := fmt.Sprintf("%d packets of %d bytes, the largest window of rdmactl's engine, need %s", window.Most, mtu,
		inventory.Limit{Bytes: least})
	why := []doctor.Evidence{netEvidence(n, "mtu", strconv.Itoa(n.MTU))}
	return []bufferLimit{
		{
			sysctl: "net.core.rmem_max", file: sysfs.ProcReceiveBuffer, least: least, want: udpio.WantedBuffer,
			small: "%s allows receive buffers of %s; " + need, why: why,
		},
		{
			sysctl: "net.core.wmem_max", file: sysfs.ProcSendBuffer, least: least, want: udpio.WantedBuffer,
			small: "%s allows send buffers of %s; " + need, why: why,
		},
	}
}

// engineNetdev returns the network device with the largest path MTU of those that the engine can
// use: up, with an address; any that are up if no address was recorded. It returns nil if there is
// none.
func engineNetdev(s *inventory.Snapshot) *inventory.Netdev {
	addressed := func(n inventory.Netdev) bool {
		return slices.ContainsFunc(n.Addresses, func(a netip.Prefix) bool {
			return a.Addr().Is4() || !a.Addr().IsLinkLocalUnicast()
		})
	}
	usable := func(n inventory.Netdev) bool {
		return n.Type != inventory.ARPHRDLoopback && n.Master == "" && (n.AdminUp || n.AdminUnknown) &&
			ib.MTUFromNetdev(n.MTU) > 0
	}
	known := slices.ContainsFunc(s.Netdevs, func(n inventory.Netdev) bool { return usable(n) && addressed(n) })
	var best *inventory.Netdev
	for i, n := range s.Netdevs {
		if usable(n) && (addressed(n) || !known) &&
			(best == nil || ib.MTUFromNetdev(n.MTU) > ib.MTUFromNetdev(best.MTU)) {
			best = &s.Netdevs[i]
		}
	}
	return best
}

func (l bufferLimit) finding(in *doctor.Input) doctor.Finding {
	text, err := in.Facts.Files.Text(l.file)
	if err != nil {
		return doctor.Because(doctor.ObjectNode, err)
	}
	fields := strings.Fields(text)
	if len(fields) <= l.field {
		return doctor.Unknown(doctor.ObjectNode, "/%s: %q has no field %d", l.file, printable(text), l.field+1)
	}
	size, err := strconv.ParseUint(fields[l.field], 10, 63)
	if err != nil {
		return doctor.Unknown(doctor.ObjectNode, "/%s: %q is not a number", l.file, printable(fields[l.field]))
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomePass, Object: doctor.ObjectNode,
		Evidence: append([]doctor.Evidence{fileEvidence(l.file, text)}, l.why...),
	}
	if size < l.least {
		f.Outcome = doctor.OutcomeInfo
		f.Summary = fmt.Sprintf(l.small, l.sysctl, inventory.Limit{Bytes: size})
		fields[l.field] = strconv.FormatUint(l.want, 10)
		f.Actions = l.raise(in.Snapshot, strings.Join(fields, " "))
	}
	return f
}

// raise returns the actions that set the limit now and at every boot.
func (l bufferLimit) raise(s *inventory.Snapshot, value string) []doctor.Action {
	if l.perNamespace && inContainer(s) {
		return []doctor.Action{doctor.Note("start the container with the setting. Docker: --sysctl %s; Kubernetes: "+
			"spec.securityContext.sysctls of the pod", quote(l.sysctl+"="+value))}
	}
	actions := []doctor.Action{
		doctor.Sysctl(l.sysctl, value),
		doctor.Shell("printf '%%s\\n' %s > %s   # for the next boot", quote(l.sysctl+" = "+value),
			"/etc/sysctl.d/90-"+strings.ReplaceAll(l.sysctl, ".", "-")+".conf"),
	}
	if inContainer(s) {
		return append([]doctor.Action{doctor.Note("on the host, not in this container:")}, actions...)
	}
	return actions
}
