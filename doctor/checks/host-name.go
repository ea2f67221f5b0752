package checks

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func hostName() doctor.Check {
	return doctor.Check{
		ID: "host-name", Title: "host name that leads to no address of this node", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupAddressing, Numbers: []int{72}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindResolver}, Reads: []string{"/" + sysfs.ProcHostname},
		Explanation: prose.Join(`
			Gloo, which PyTorch uses beside NCCL, and many launchers bind to the address of the
			host's own name and give it to the other ranks. If the name resolves to 127.0.0.1 or
			127.0.1.1, as Debian's and Ubuntu's installers write into /etc/hosts, the other nodes
			connect to themselves: the job hangs at the start, or fails with "connection refused".
			The check asks Go's resolver, which knows /etc/hosts and DNS. If nsswitch.conf lists
			another source (sss, mdns4_minimal, myhostname) that may decide, a fault is unknown.`),
		Remedy: "Let the name resolve to the address of the network that the nodes share, on every node the same, " +
			"or set " +
			"GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME.",
		Sources: []string{
			"hosts(5), nsswitch.conf(5)", "gloo/transport/tcp/device.cc (lookupAddrForHostname)",
			"report: vllm-project/vllm issue 7074",
		},
		Run: runHostName,
	}
}

func runHostName(_ context.Context, in *doctor.Input) []doctor.Finding {
	r := in.Facts.Resolver.Value
	var words []string
	for _, a := range r.Addresses {
		words = append(words, a.String())
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: doctor.ObjectNode,
		Evidence: []doctor.Evidence{{Path: "resolver:" + printable(r.Name), Value: strings.Join(words, ", ")}},
		Actions: []doctor.Action{
			doctor.Shell("getent ahosts %s", quote(r.Name)),
			doctor.Note("in /etc/hosts or DNS: the address of the network that the nodes share for %s",
				printable(r.Name)),
		},
	}
	switch {
	case len(r.Addresses) == 0:
		f.Summary = fmt.Sprintf("the host name %s has no address", printable(r.Name))
		f.Evidence[0].Value = "no address"
	case !slices.ContainsFunc(r.Addresses, func(a netip.Addr) bool { return !a.IsLoopback() }):
		f.Summary = fmt.Sprintf("the host name %s resolves to the loopback address %s", printable(r.Name), words[0])
	case foreign(in, r.Addresses):
		f.Outcome = doctor.OutcomeInfo
		f.Summary = fmt.Sprintf("the host name %s resolves to %s, which no network device of this node has",
			printable(r.Name), words[0])
	default:
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode,
			fmt.Sprintf("the host name %s resolves to %s", printable(r.Name), strings.Join(words, ", ")),
			f.Evidence...)}
	}
	if len(r.Unasked) > 0 {
		f.Outcome = doctor.OutcomeUnknown
		f.Summary += fmt.Sprintf(" by /etc/hosts and DNS; programs also ask %s (nsswitch.conf)",
			printable(strings.Join(r.Unasked, ", ")))
	}
	return []doctor.Finding{f}
}

// foreign reports whether the node has addresses and none of these is one of them.
func foreign(in *doctor.Input, addrs []netip.Addr) bool {
	known := false
	for _, n := range in.Snapshot.Netdevs {
		for _, p := range n.Addresses {
			known = known || p.Bits() < p.Addr().BitLen() && !p.Addr().IsLoopback()
		}
	}
	return known && !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return ownsAddress(in.Snapshot, a) })
}
