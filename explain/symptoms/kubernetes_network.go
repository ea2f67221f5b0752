package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// podNetworkSymptoms are about Multus, other CNI plugins, and addresses.
func podNetworkSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-660", Name: "cni-version",
			Title:       "a network plugin doesn't speak the version of its configuration",
			Explanation: "cniVersion in the configuration must be one that the plugin's binary supports.",
			Sources:     []string{"containernetworking/cni, pkg/version", "k8snetworkplumbingwg/sriov-cni#35"},
			Standing:    evidence.Origin,
			Lines: []Line{
				cniLibrary.says("cni-versions", "incompatible CNI versions; config is").decides("cni-version"),
				cniLibrary.says("cni-result-version", "unsupported CNI result version").decides("cni-version"),
				multusCNI.says("delegate-version", "delegate cni version is ", "while top level cni version is").
					decides("cni-version"),
			},
			Causes: []Cause{
				{
					Slug:   "cni-version",
					Title:  "cniVersion of the NetworkAttachmentDefinition doesn't fit the plugin's binary",
					Weight: Common,
					Decide: "cniVersion in the definition; the plugin's version in /opt/cni/bin",
					Remedy: "a version from the list of the message, or a newer binary of the plugin",
				},
			},
		},
		{
			ID: "RDX-661", Name: "cni-binary", Title: "the binary of a network plugin isn't on the node",
			Explanation: "The type of a configuration is the name of a file in the CNI folder of that node.",
			Sources:     []string{"containernetworking/cni, pkg/invoke/find.go"}, Standing: evidence.Origin,
			Lines: []Line{
				cniLibrary.says("plugin-not-found", "failed to find plugin ", " in path [").decides("cni-binary"),
				cniLibrary.says("network-not-ready", "NetworkPluginNotReady message:", "cni").as(evidence.Vague).
					speaks("cni-not-ready"),
			},
			Causes: []Cause{
				{
					Slug:  "cni-binary",
					Title: "the plugin named by type isn't installed in the CNI folder of this node", Weight: Common,
					Decide: "ls /opt/cni/bin on that node",
					Remedy: "the plugin's DaemonSet on this node, or the package containernetworking-plugins",
				},
				{
					Slug: "cni-not-ready", Title: "the cluster's default network isn't configured on this node yet",
					Weight: Rare,
					Decide: "ls /etc/cni/net.d; the pods of the default network on that node",
					Remedy: "what their logs say",
				},
			},
		},
		{
			ID:    "RDX-662",
			Name:  "multus-network-missing",
			Title: "Multus doesn't find a NetworkAttachmentDefinition",
			Explanation: "A network in a pod's annotation is searched for in the pod's namespace, unless another " +
				"one is given.",
			Sources:  []string{"k8snetworkplumbingwg/multus-cni, pkg/k8sclient"},
			Standing: evidence.Failed,
			Lines: []Line{
				multusCNI.says("no-network-event", "NoNetworkFound").as(evidence.Vague),
				multusCNI.says("no-network", "cannot find a network-attachment-definition ("),
				multusCNI.says("network-permission", "namespace isolation enabled, annotation violates permission").
					speaks("nad-namespace"),
			},
			Causes: []Cause{
				{
					Slug: "nad-missing", Title: "there is no such NetworkAttachmentDefinition in that namespace",
					Weight: Common,
					Decide: "kubectl get net-attach-def -A; rdmactl k8s lint",
					Remedy: "create it in the pod's namespace (networkNamespace of the " +
						"SriovNetwork), or NAMESPACE/NAME in the annotation",
				},
				{
					Slug:   "nad-namespace",
					Title:  "it is in another namespace, which Multus may not use",
					Weight: Usual,
					Decide: "kubectl get net-attach-def -A",
					Remedy: "the same namespace, or globalNamespaces of Multus",
				},
			},
		},
		{
			ID: "RDX-663", Name: "multus", Title: "Multus itself doesn't work on the node",
			Explanation: "The small plugin asks the daemon on the node, which asks the API server.",
			Sources:     []string{"k8snetworkplumbingwg/multus-cni, pkg/multus"}, Standing: evidence.Failed,
			Lines: []Line{
				multusCNI.says("readiness-file", "still waiting for readinessindicatorfile").as(evidence.Origin).
					speaks("cni-not-ready"),
				multusCNI.says("multus-socket", "/run/multus/socket/multus.sock: connect: ").speaks("multus-daemon"),
				multusCNI.says("multus-unauthorized", "error getting pod", "Unauthorized", "Multus: ").
					speaks("multus-token"),
				multusCNI.says("multus-wait-pod", "error waiting for pod: ", "Multus: ").speaks("multus-token"),
				multusCNI.says("multus-kubeconfig", "GetK8sClient: failed to get context for the kubeconfig").
					speaks("multus-token"),
			},
			Causes: []Cause{
				{
					Slug: "cni-not-ready", Title: "the cluster's default network isn't ready on this node",
					Weight: Usual,
					Decide: "the pods of the default network (Calico, Cilium, OVN) on that node",
					Remedy: "what their logs say",
				},
				{
					Slug: "multus-daemon", Title: "the daemon of Multus isn't running on the node", Weight: Usual,
					Decide: "kubectl get pods -n kube-system -o wide | grep multus",
					Remedy: "its log; more memory if it was killed",
				},
				{
					Slug: "multus-leftover", Title: "Multus was removed, and its configuration is still on the node",
					Weight:  Rare,
					Decide:  "ls /etc/cni/net.d; kubectl get pods -A | grep multus",
					Remedy:  "delete 00-multus.conf and multus.d there",
					Sources: []string{"k8snetworkplumbingwg/multus-cni#1094"},
				},
				{
					Slug: "multus-token", Title: "the token of Multus has expired, or the API server isn't reachable",
					Weight: Usual,
					Decide: "the date of /etc/cni/net.d/multus.d/multus.kubeconfig",
					Remedy: "restart Multus; a release that renews the token",
				},
			},
		},
		{
			ID:    "RDX-664",
			Name:  "cni-host-interface",
			Title: "a network plugin doesn't find the interface of the host",
			Explanation: "macvlan, ipvlan, ipoib and host-device name an interface of the node, which must exist " +
				"under that name on each node.",
			Sources:  []string{"containernetworking/plugins, plugins/main", "Mellanox/ipoib-cni"},
			Standing: evidence.Origin,
			Lines: []Line{
				cniPlugins.says("master-lookup", "failed to lookup master ", "ot found"),
				cniPlugins.says("host-device-find", "failed to find host device: "),
				cniPlugins.says("host-device-pci", "no net directory under pci device").not("GetNetName").
					speaks("no-netdev"),
				cniPlugins.says("host-device-path", "failed to find network device in path "),
				cniPlugins.says("host-device-gone", "error with host device: ").speaks("vf-gone"),
				cniPlugins.says("pci-gone", "lstat /sys/bus/pci/devices/", "no such file or directory",
					"error adding container to network").not("physfn", "/net:").speaks("vf-gone"),
				cniPlugins.says("host-device-move", "failed to move link ").speaks("interface-name-taken"),
				cniPlugins.says("host-device-rename", "failed to rename host device ").speaks("interface-name-taken"),
				cniPlugins.says("physical-interface", "failed to find physical interface"),
				ipoibCNI.says("ipoib-type", "master device is (", "not of type ipoib").speaks("port-link-type"),
			},
			Causes: []Cause{
				{
					Slug: "host-interface", Title: "this node has no interface of that name", Weight: Common,
					Decide: "ip -br link on that node",
					Remedy: "the node's name in master; altnames or udev rules so that all nodes have the same one",
				},
				{
					Slug: "host-device-taken", Title: "the interface is already in another pod", Weight: Usual,
					Decide: "lsns -t net: where the interface is",
					Remedy: "one pod per interface, or virtual functions",
				},
				{
					Slug: "port-link-type", Title: "the port is Ethernet, not InfiniBand", Weight: Rare,
					Decide: "ibstat: Link layer; mstconfig -d ADDRESS q LINK_TYPE_P1",
					Remedy: "macvlan for Ethernet; LINK_TYPE_P1=1 for InfiniBand",
				},
				{
					Slug: "no-netdev",
					Title: "the PCI device has no network interface: bound to vfio-pci or no driver, or a " +
						"virtio device, " +
						"whose interface lies one folder deeper",
					Weight: Rare,
					Clues:  []Clue{onText(Decisive, "no net directory under pci device", "")},
					Decide: "lspci -k -s ADDRESS; find /sys/bus/pci/devices/ADDRESS/ -name net",
					Remedy: "bind the network driver; for virtio a host-device plugin of CNI plugins 0.8.2 or later",
				},
				{
					Slug:   "vf-gone",
					Title:  "the PCI device is no longer there: the node restarted, or functions were made again",
					Weight: Rare,
					Clues: []Clue{
						onText(Decisive, "no such file or directory", "the device's folder isn't there"),
						onText(-Decisive, "no net directory under pci device", "the device is there"),
					},
					Decide: "lspci -D | grep ADDRESS on the node; the age of pod and device plugin against " +
						"the node's start",
					Remedy: "restart the device plugin, then delete the pod (and its stale checkpoint in the kubelet)",
				},
				{
					Slug: "interface-name-taken", Title: "an interface of that name is already in the pod",
					Weight: Rare,
					Clues: []Clue{
						onText(Strong, "file exists", "the name is taken"),
						onText(Strong, "link exists", "the name is taken"),
					},
					Decide: "the interface of the default network (eth0) against device and name of this network",
					Remedy: "another interface of the host than the default network's, or another name in the " +
						"annotation",
				},
			},
		},
		{
			ID: "RDX-665", Name: "cni-create-interface",
			Title: "a network plugin can't create its interface on the host's interface",
			Explanation: "macvlan works on Ethernet, IPoIB needs ipoib children; macvlan and ipvlan exclude each " +
				"other on one interface.",
			Sources:  []string{"containernetworking/plugins, plugins/main/macvlan", "Linux, drivers/net/macvlan.c"},
			Standing: evidence.Failed,
			Lines: []Line{
				cniPlugins.says("macvlan-create", "failed to create macvlan: "),
				cniPlugins.says("ipvlan-create", "failed to create ipvlan: "),
				cniPlugins.says("macvlan-mtu", "invalid MTU ", "must be [0, master MTU("),
				ipoibCNI.says("ipoib-create", "failed to create interface: ", "ipoib"),
			},
			Causes: []Cause{
				{
					Slug:   "interface-taken",
					Title:  "the interface is part of a bond or bridge, or has links of the other kind",
					Weight: Common,
					Clues:  []Clue{{Weight: Strong, Contains: "resource busy"}},
					Decide: "ip -d link show: master, and its upper interfaces",
					Remedy: "the bond as master; one kind of links per interface",
				},
				{
					Slug: "port-link-type", Title: "the interface is IPoIB, which macvlan doesn't support",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Contains: "operation not supported"},
						{Weight: Strong, Contains: "invalid argument"},
					},
					Decide: "ip -br link: an address of 20 bytes is InfiniBand", Remedy: "the ipoib CNI",
				},
				{
					Slug: "mtu-too-small", Title: "the MTU is larger than that of the host's interface", Weight: Rare,
					Clues:  []Clue{{Weight: Decisive, Line: "macvlan-mtu"}},
					Decide: "ip link show MASTER", Remedy: "the host's MTU first, then the network's",
				},
			},
		},
		{
			ID:          "RDX-666",
			Name:        "ipam-exhausted",
			Title:       "no address is free for the pod's network",
			Explanation: "The range of the network, or the node's part of it, is used up, often by pods that are gone.",
			Sources: []string{
				"containernetworking/plugins, plugins/ipam/host-local", "k8snetworkplumbingwg/whereabouts, " +
					"pkg/allocate/allocate.go",
				"Mellanox/nvidia-k8s-ipam, pkg/ipam-node/handlers/allocate.go",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				cniPlugins.says("host-local-full", "no IP addresses available in range set: "),
				whereabouts.says("whereabouts-full", "Could not allocate IP in range: "),
				nvIPAM.says("nv-ipam-full", "no free addresses in the pool "),
				nvIPAM.says("nv-ipam-range-full", "no free addresses in the allocated range"),
				nvIPAM.says("nv-ipam-no-ranges", "no free IP ranges available"),
				cniPlugins.says("host-local-duplicate", "duplicate allocation is not allowed").speaks("ipam-leak"),
			},
			Causes: []Cause{
				{
					Slug: "ipam-leak", Title: "addresses of pods that are gone weren't given back", Weight: Common,
					Decide: "the reservations (kubectl get ippools.whereabouts.cni.cncf.io; ls " +
						"/var/lib/cni/networks) against the pods",
					Remedy: "whereabouts' reconciler, or delete the stale reservations; a newer release",
				},
				{
					Slug:   "ipam-range",
					Title:  "the range is smaller than the number of pods, or perNodeBlockSize too small",
					Weight: Common,
					Decide: "the range, and the pods of the network", Remedy: "a larger range or block",
				},
			},
		},
		{
			ID: "RDX-667", Name: "ipam-daemon", Title: "the address plugin can't reach its daemon or store",
			Explanation: "whereabouts keeps reservations in the API server, nv-ipam asks a daemon on the node.",
			Sources: []string{
				"Mellanox/nvidia-k8s-ipam, pkg/cni",
				"k8snetworkplumbingwg/whereabouts, pkg/storage/kubernetes",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				nvIPAM.says("nv-ipam-connect", "failed to connect to IPAM daemon"),
				nvIPAM.says("nv-ipam-no-pool", `configuration for pool`, "poolType", "not found").speaks("ipam-pool"),
				whereabouts.says("whereabouts-leader", "time limit exceeded while waiting to become leader").
					speaks("ipam-contention"),
				whereabouts.says("whereabouts-store", "error at storage engine: ").
					any("IP", "k8s").speaks("ipam-contention"),
				whereabouts.says("whereabouts-client", "IPAM client initialization error: "),
				cniPlugins.says("dhcp-daemon", "error dialing DHCP daemon: "),
				ibSRIOVCNI.says("ib-dhcp", "ipam type dhcp is not supported").speaks("ipam-type"),
				ipoibCNI.says("ipoib-dhcp", "ipam dhcp type is not supported").speaks("ipam-type"),
			},
			Causes: []Cause{
				{
					Slug: "ipam-daemon", Title: "the daemon of the address plugin isn't running on the node",
					Weight: Common,
					Decide: "the plugin's pods on that node (nv-ipam-node, whereabouts, dhcp daemon)",
					Remedy: "start it; what its log says",
				},
				{
					Slug:   "ipam-pool",
					Title:  "the pool named in the network has no block for this node",
					Weight: Usual,
					Decide: "kubectl get ippools,cidrpools -A -o yaml: allocations, nodeSelector",
					Remedy: "a pool of that name with room for all nodes",
				},
				{
					Slug:   "ipam-contention",
					Title:  "many pods start at once and wait for each other, or the API server is slow",
					Weight: Usual,
					Decide: "the time of the errors against the number of pods",
					Remedy: "retry; a newer whereabouts, or nv-ipam; fewer pods per range",
				},
				{
					Slug: "ipam-type", Title: "the plugin doesn't support addresses by DHCP", Weight: Usual,
					Decide: "ipam.type of the network", Remedy: "whereabouts, nv-ipam or static",
				},
			},
		},
	}
}
