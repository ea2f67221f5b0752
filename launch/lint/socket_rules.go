package lint

import "github.com/rdmakit/rdmakit/internal/text/prose"

// socketRules returns the rules about network devices for TCP.
func socketRules() []Rule {
	return []Rule{
		{
			ID: "socket-pattern", Title: "pattern in a variable that accepts only names", Severity: SeverityError,
			Variables: plainSockets(), On: "47_gpu_switches",
			Wrong: []string{"GLOO_SOCKET_IFNAME=^lo,docker0"}, Right: []string{"GLOO_SOCKET_IFNAME=eno1np0"},
			Explanation: prose.Join(`
				Gloo and TensorPipe expect the name of a network device, or several names separated
				by commas. Unlike NCCL_SOCKET_IFNAME they don't support ^, = or prefixes: they look
				for a device with exactly this name, and find none.`),
			Remedy: "write the full name of one device", Reports: []string{"aws-samples/aws-do-eks PR#51"},
			Sources: []string{srcLaunch}, check: checkSocketPattern,
		},
		{
			ID: "socket-unknown", Title: "network device that this node doesn't have", Severity: SeverityError,
			Variables: allSockets(), On: "47_gpu_switches",
			Wrong: []string{"NCCL_SOCKET_IFNAME=bond1"}, Right: []string{"NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: "If no device matches the variable, NCCL fails with \"no socket interface found\". Gloo " +
				"and TensorPipe fail too.",
			Remedy: "use a network device of this node", Sources: []string{srcNCCLNet}, check: checkSocketUnknown,
		},
		{
			ID: "socket-long", Title: "name that is too long for a network device", Severity: SeverityError,
			Variables: allSockets(), On: "47_gpu_switches",
			Wrong: []string{"NCCL_SOCKET_IFNAME==ens1f0np0management"}, Right: []string{"NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: "Names of network devices have at most 15 characters, and NCCL truncates longer names. " +
				"Longer names are usually altnames, which the libraries don't support.",
			Remedy: "use the name that `ip link` shows first", Sources: []string{srcKernel, srcNCCL},
			check: checkSocketLong,
		},
		{
			ID: "socket-prefix", Title: "name that is also the prefix of other network devices' names",
			Severity: SeverityWarn, Variables: patternSockets()[:1], On: "67_subfunction",
			Wrong: []string{"NCCL_SOCKET_IFNAME=ens1"}, Right: []string{"NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: prose.Join(`
				Without = NCCL matches an entry as a prefix and uses all devices that match: eth1
				also matches eth10. Addresses on rails, virtual functions or representors are
				usually not reachable from other nodes.`),
			Remedy: "put = in front of the name", Sources: []string{srcNCCLNet}, check: checkSocketPrefix,
		},
		{
			ID: "socket-ipoib", Title: "bootstrap over IPoIB because of the prefix ib", Severity: SeverityWarn,
			Variables: patternSockets()[:1], On: "61_ib_vfs_host",
			Wrong: []string{"NCCL_SOCKET_IFNAME=ib"}, Right: []string{"NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: prose.Join(`
				NCCL_SOCKET_IFNAME selects the network device for TCP, not the rails. ib and ibp
				match IPoIB devices: bootstrap then depends on the rails and on their IP addresses,
				which peers may not have. The rule does not report a full name after =, because that
				is intended.`),
			Remedy:  "set the network device that reaches the other nodes over TCP",
			Sources: []string{srcNCCLNet, srcLaunch}, check: checkSocketIPoIB,
		},
		{
			ID: "ipoib-trap", Title: "NCCL uses IPoIB for bootstrap by default", Severity: SeverityWarn,
			Variables: patternSockets()[:1], On: "61_ib_vfs_host",
			Wrong: []string{"NCCL_DEBUG=INFO"}, Right: []string{"NCCL_DEBUG=INFO", "NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: "If NCCL_SOCKET_IFNAME is not set, NCCL prefers devices whose names begin with ib, that is " +
				"IPoIB, whatever the default route is.",
			Remedy:  "set the network device that reaches the other nodes over TCP",
			Sources: []string{srcNCCLNet, srcLaunch}, check: checkIPoIBTrap,
		},
		{
			ID: "socket-local", Title: "network device that reaches no other node", Severity: SeverityError,
			Variables: allSockets(), On: "46_usb_thunderbolt",
			Wrong: []string{"GLOO_SOCKET_IFNAME=docker0"}, Right: []string{"GLOO_SOCKET_IFNAME=wlp0s20f3"},
			Explanation: prose.Join(`
				The addresses of lo, docker0 and other bridges of containers and virtual machines
				are valid only on this node. On another node the same address belongs to that node
				or to no machine, so its ranks wait until they time out. lo is correct for a job on
				a single node.`),
			Remedy: "set the network device that reaches the other nodes", Reports: []string{"vllm-project/vllm#7074"},
			Sources: []string{srcLaunch}, check: checkSocketLocal,
		},
		{
			ID: "socket-down", Title: "network device that is down", Severity: SeverityError, Variables: allSockets(),
			On:    "47_gpu_switches",
			Wrong: []string{"GLOO_SOCKET_IFNAME=eno2np0"}, Right: []string{"GLOO_SOCKET_IFNAME=eno1np0"},
			Explanation: "NCCL ignores devices that are not up, and fails if no device is left; " +
				"Gloo can't listen on them.",
			Remedy: "bring the device up, or set another", Sources: []string{srcNCCLNet}, check: checkSocketDown,
		},
		{
			ID: "socket-no-address", Title: "network device without an IP address", Severity: SeverityError,
			Variables: allSockets(), On: "61_ib_vfs_host", Wrong: []string{"NCCL_SOCKET_IFNAME=ib"},
			Right:       []string{"NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: "The libraries need the device's address, and it has none.",
			Remedy:      "assign an address, or set another device", Sources: []string{srcNCCLNet},
			check: checkSocketAddress,
		},
		{
			ID: "socket-rail", Title: "bootstrap over a rail", Severity: SeverityNote, Variables: allSockets(),
			On:    "56_mtu_1500",
			Wrong: []string{"NCCL_SOCKET_IFNAME==ens1np0"}, Right: []string{"NCCL_SOCKET_IFNAME==eno1np0"},
			Explanation: "Control traffic shares the rail and fails if the rail fails. If each rail is a separate " +
				"subnet, peers reach it only from the same rail.",
			Remedy: "set the device of the default route, unless the rail is intended", Sources: []string{srcLaunch},
			check: checkSocketRail,
		},
	}
}
