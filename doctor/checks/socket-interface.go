package checks

import (
	"cmp"
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

func socketInterface() doctor.Check {
	return doctor.Check{
		ID: "socket-interface", Title: "network device for the bootstrap of a job that does not lead to other nodes",
		Severity: doctor.OutcomeFail, Group: doctor.GroupAddressing, Numbers: []int{72}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindEnvironment}, Reads: []string{netFiles("flags"), netFiles("ifindex")},
		Explanation: prose.Join(`
			NCCL and Gloo exchange their addresses over TCP before they use RDMA. NCCL_SOCKET_IFNAME
			selects devices by the beginning of the name (after "=" by the whole name, after "^" all
			others), GLOO_SOCKET_IFNAME by the whole name only. If nothing fits, the job ends at
			once; if the device is that of containers of this node, the ranks of other nodes can't
			connect, and it hangs. Without a setting NCCL takes names that begin with ib, then the
			first device that is neither lo nor docker nor virbr.`),
		Remedy: "Set NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME to the device of the network that the nodes share.",
		Sources: []string{
			"NCCL src/misc/socket.cc (ncclFindInterfaces)", "gloo/transport/tcp/device.cc",
			"reports: NVIDIA/nccl issues 913 and 1837, aws-samples/aws-do-eks pull request 51",
		},
		Run: runSocketInterface,
	}
}

// localDevices are prefixes of the names of devices for containers and virtual machines.
var localDevices = []string{
	"docker", "virbr", "br-", "veth", "cni", "cali", "flannel", "cilium", "lxc", "vnet", "tap", "kube-", "nerdctl",
	"podman",
}

func isLocalDevice(name string) bool {
	return name == "lo" || slices.ContainsFunc(localDevices, func(p string) bool { return strings.HasPrefix(name, p) })
}

func runSocketInterface(_ context.Context, in *doctor.Input) []doctor.Finding {
	usable := socketDevices(in.Snapshot)
	if len(usable) == 0 {
		return []doctor.Finding{doctor.Unknown(doctor.ObjectNode, "the addresses of network devices are not known")}
	}
	var findings []doctor.Finding
	var good []doctor.Evidence
	var words []string
	for _, name := range []string{"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"} {
		value := in.Facts.Environment.Value[name]
		chosen := chosenDevices(name, value, usable)
		if value == "" && name != "NCCL_SOCKET_IFNAME" {
			continue // Gloo takes the address of the host's name: host-name
		}
		f, text := judgeSocket(name, value, chosen)
		if f.Outcome != doctor.OutcomePass {
			findings = append(findings, f)
			continue
		}
		good, words = append(good, f.Evidence...), append(words, text)
	}
	if len(findings) == 0 {
		findings = append(findings, doctor.Passed(doctor.ObjectNode, strings.Join(words, "; "), good...))
	}
	return findings
}

// socketDevices returns the devices that are up and have an address, in the order of their indices,
// which is that of getifaddrs.
func socketDevices(s *inventory.Snapshot) []*inventory.Netdev {
	var usable []*inventory.Netdev
	for i := range s.Netdevs {
		if n := &s.Netdevs[i]; n.AdminUp && len(n.Addresses) > 0 {
			usable = append(usable, n)
		}
	}
	slices.SortStableFunc(usable, func(a, b *inventory.Netdev) int { return cmp.Compare(a.Index, b.Index) })
	return usable
}

// chosenDevices returns the names that a variable selects.
func chosenDevices(variable, value string, usable []*inventory.Netdev) []string {
	if value == "" {
		for _, list := range []string{"ib", "^docker,lo,virbr", "docker", "lo"} {
			if chosen := chosenDevices(variable, list, usable); len(chosen) > 0 {
				return chosen
			}
		}
		return nil
	}
	not, exact := false, true
	if variable == "NCCL_SOCKET_IFNAME" {
		value, not = strings.CutPrefix(value, "^")
		value, exact = strings.CutPrefix(value, "=")
	}
	entries := strings.Split(value, ",")
	var chosen []string
	for _, n := range usable {
		match := slices.ContainsFunc(entries, func(e string) bool {
			e, _, _ = strings.Cut(strings.TrimSpace(e), ":") // a port may follow
			return e != "" && (n.Name == e || !exact && strings.HasPrefix(n.Name, e))
		})
		if match != not {
			chosen = append(chosen, n.Name)
		}
	}
	return chosen
}

// judgeSocket returns the finding for a variable; if it passes, with what it selects.
func judgeSocket(variable, value string, chosen []string) (f doctor.Finding, text string) {
	shown := "not set"
	if value != "" {
		shown = printable(value)
	}
	f = doctor.Finding{
		Outcome: doctor.OutcomePass, Object: doctor.ObjectNode,
		Evidence: []doctor.Evidence{{Path: "environment:" + variable, Value: shown}},
		Actions: []doctor.Action{
			doctor.Shell("ip -br address"),
			doctor.Shell("export %s=YOUR_NETDEV   # the device of the network that all nodes share", variable),
		},
	}
	if len(chosen) == 0 {
		f.Outcome = doctor.OutcomeFail
		f.Summary = fmt.Sprintf("%s=%s selects no network device that is up and has an address", variable, shown)
		if variable == "GLOO_SOCKET_IFNAME" && strings.ContainsAny(value, "^=") {
			f.Summary += "; Gloo knows neither ^ nor ="
		}
		return f, ""
	}
	first := chosen[0]
	if isLocalDevice(first) {
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("%s=%s selects %s, which leads to no other node", variable, shown, first)
		if value == "" {
			f.Summary = fmt.Sprintf("without %s NCCL takes %s for its bootstrap, which leads to no other node",
				variable, first)
		}
	}
	return f, fmt.Sprintf("%s (%s) selects %s", variable, shown, english.List(chosen, 3))
}
