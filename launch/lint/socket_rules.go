package lint

import "github.com/rdmakit/rdmakit/internal/text/prose"

// The rules about network devices for TCP.
func socketRules() []Rule {
	return []Rule{
		{
			ID: "socket-pattern", Title: "pattern where only a name is understood", Severity: SeverityError,
			Variables: plainSockets(), On: "47_gpu_switches",
			Wrong: []string{"GLOO_SOCKET_IFNAME=^lo,docker0"}, Right: []string{"GLOO_SOCKET_IFNAME=eno1np0"},
			Explanation: prose.Join(`
				Gloo and TensorPipe take the name of a network device, or several with commas. They
				know neither ^ nor = nor beginnings of names, which NCCL_SOCKET_IFNAME does: the
				value is looked up as it stands, and is not found.`),
			Remedy: "write the full name of one device", Reports: []string{"aws-samples/aws-do-eks PR#51"},
			Sources: []string{srcLaunch}, check: checkSocketPattern,
		},
		{
			ID: "socket-unknown", Title: "network device that this node doesn't have", Severity: SeverityError,
			Variables: allSockets(), On: "47_gpu_switches",
			Wrong: []string{"NCCL_SOCKET_IFNAME=bond1"}, Right: []string{"NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: "NCCL finds what the variable names or fails: \"no socket interface found\". Gloo " +
				"and TensorPipe fail too.",
			Remedy: "name a network device of this node", Sources: []string{srcNCCLNet}, check: checkSocketUnknown,
		},
		{
			ID: "socket-long", Title: "name longer than a network device's can be", Severity: SeverityError,
			Variables: allSockets(), On: "47_gpu_switches",
			Wrong: []string{"NCCL_SOCKET_IFNAME==ens1f0np0management"}, Right: []string{"NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: "Linux knows names of 15 characters at most, and NCCL cuts longer ones off there. Longer " +
				"names are mostly altnames, which the libraries don't know.",
			Remedy: "write the name that `ip link` shows in front", Sources: []string{srcKernel, srcNCCL},
			check: checkSocketLong,
		},
		{
			ID: "socket-prefix", Title: "name that is the beginning of other network devices' names",
			Severity: SeverityWarn, Variables: patternSockets()[:1], On: "67_subfunction",
			Wrong: []string{"NCCL_SOCKET_IFNAME=ens1"}, Right: []string{"NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: prose.Join(`
				Without = NCCL takes an entry for the beginning of a name, and uses all devices that
				match: eth1 is eth10 too. Addresses on rails, virtual functions or representors are
				mostly not reachable from the other nodes.`),
			Remedy: "put = in front of the name", Sources: []string{srcNCCLNet}, check: checkSocketPrefix,
		},
		{
			ID: "socket-ipoib", Title: "bootstrap over IPoIB by the prefix ib", Severity: SeverityWarn,
			Variables: patternSockets()[:1], On: "61_ib_vfs_host",
			Wrong: []string{"NCCL_SOCKET_IFNAME=ib"}, Right: []string{"NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: prose.Join(`
				NCCL_SOCKET_IFNAME chooses the device for TCP, not the rails. ib and ibp match IP
				over InfiniBand: bootstrap then depends on the rails and on their IP addresses,
				which peers may not have. The name in full, with =, counts as meant.`),
			Remedy:  "name the device that leads to the other nodes over TCP",
			Sources: []string{srcNCCLNet, srcLaunch}, check: checkSocketIPoIB,
		},
		{
			ID: "ipoib-trap", Title: "NCCL takes IPoIB for bootstrap by itself", Severity: SeverityWarn,
			Variables: patternSockets()[:1], On: "61_ib_vfs_host",
			Wrong: []string{"NCCL_DEBUG=INFO"}, Right: []string{"NCCL_DEBUG=INFO", "NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: "Where NCCL_SOCKET_IFNAME is not set, NCCL takes devices whose names begin with ib before " +
				"all others. That is IP over InfiniBand, whatever the default route says.",
			Remedy:  "name the device that leads to the other nodes over TCP",
			Sources: []string{srcNCCLNet, srcLaunch}, check: checkIPoIBTrap,
		},
		{
			ID: "socket-local", Title: "network device that leads to no other node", Severity: SeverityError,
			Variables: allSockets(), On: "46_usb_thunderbolt",
			Wrong: []string{"GLOO_SOCKET_IFNAME=docker0"}, Right: []string{"GLOO_SOCKET_IFNAME=wlp0s20f3"},
			Explanation: prose.Join(`
				lo, docker0 and other bridges of containers and virtual machines have addresses that
				mean another machine, or none, on the other nodes: ranks there wait until they give
				up. On one node alone lo is right.`),
			Remedy: "name the device that leads to the other nodes", Reports: []string{"vllm-project/vllm#7074"},
			Sources: []string{srcLaunch}, check: checkSocketLocal,
		},
		{
			ID: "socket-down", Title: "network device that is down", Severity: SeverityError, Variables: allSockets(),
			On:    "47_gpu_switches",
			Wrong: []string{"GLOO_SOCKET_IFNAME=eno2np0"}, Right: []string{"GLOO_SOCKET_IFNAME=eno1np0"},
			Explanation: "NCCL passes over devices that are not up, and fails when none is left; " +
				"Gloo can't listen there.",
			Remedy: "bring it up, or name another", Sources: []string{srcNCCLNet}, check: checkSocketDown,
		},
		{
			ID: "socket-no-address", Title: "network device without an IP address", Severity: SeverityError,
			Variables: allSockets(), On: "61_ib_vfs_host", Wrong: []string{"NCCL_SOCKET_IFNAME=ib"},
			Right:       []string{"NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: "The libraries look for the address of the device, and don't find one.",
			Remedy:      "assign an address, or name another device", Sources: []string{srcNCCLNet},
			check: checkSocketAddress,
		},
		{
			ID: "socket-rail", Title: "bootstrap over a rail", Severity: SeverityNote, Variables: allSockets(),
			On:    "56_mtu_1500",
			Wrong: []string{"NCCL_SOCKET_IFNAME==ens1np0"}, Right: []string{"NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: "Control traffic shares the rail then, and stops with it. Where each rail is a subnet of " +
				"its own, peers reach it only from the same rail.",
			Remedy: "name the device of the default route, unless the rail is meant", Sources: []string{srcLaunch},
			check: checkSocketRail,
		},
	}
}
