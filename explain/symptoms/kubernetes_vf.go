package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// virtualFunctionSymptoms are about the CNI plugins that give a virtual function to a pod.
func virtualFunctionSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-650", Name: "cni-no-physical-function",
			Title: "the SR-IOV CNI finds no physical function for the device",
			Explanation: "The plugin sets VLAN, MAC and link state of a virtual function through its physical " +
				"function. A device without link physfn in sysfs is a physical function itself, or a virtual one " +
				"that was passed through into a virtual machine.",
			Sources: []string{
				"k8snetworkplumbingwg/sriov-cni, pkg/config/config.go", "k8snetworkplumbingwg/sriov-cni#206",
				"k8snetworkplumbingwg/sriov-network-device-plugin#127",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				sriovCNI.says("sriov-cni-physfn", "failed to get VF information", "physfn"),
				ibSRIOVCNI.says("ib-cni-physfn", "infiniBand SRI-OV CNI failed to load netconf", "physfn"),
				sriovCNI.says("sriov-cni-vf-id", "unable to get VF ID with PF: "),
				sriovCNI.says("sriov-cni-no-pf", "PF network device not found"),
			},
			Causes: []Cause{
				{
					Slug:   "vf-in-vm",
					Title:  "the node is a virtual machine with functions passed through: it has no physical function",
					Weight: Common,
					Clues:  []Clue{{Weight: Hint, Contains: "physfn"}},
					Decide: "systemd-detect-virt; ls -l /sys/bus/pci/devices/ADDRESS/physfn",
					Remedy: "the host-device CNI instead of sriov",
				},
				{
					Slug: "device-is-pf",
					Title: "the device plugin offers physical functions: the selectors match them, or no " +
						"virtual ones are there",
					Weight: Common,
					Decide: "cat /sys/bus/pci/devices/ADDRESS/sriov_numvfs: the file is there for a physical function",
					Remedy: "selectors with the device ID of the virtual functions; sriov_numvfs; or the host-device " +
						"CNI",
				},
				{
					Slug:   "vf-gone",
					Title:  "the virtual functions were removed or made again since the pool was built",
					Weight: Rare,
					Decide: "sriov_numvfs, and the age of the device plugin's pod",
					Remedy: "restart the device plugin",
				},
			},
		},
		{
			ID: "RDX-651", Name: "cni-vf-vlan", Title: "the driver refuses the VLAN of a virtual function",
			Explanation: "The SR-IOV CNI sets a VLAN for each function, 0 if none is configured. The error number " +
				"says why it was refused: not supported for InfiniBand, not permitted next to a trunk, invalid for " +
				"the kernel's check.",
			Sources: []string{
				"k8snetworkplumbingwg/sriov-cni, pkg/sriov/sriov.go", "k8snetworkplumbingwg/sriov-cni#208",
				"k8snetworkplumbingwg/sriov-cni#285", "k8snetworkplumbingwg/sriov-cni#291",
				"k8snetworkplumbingwg/sriov-cni#303",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				sriovCNI.says("vf-vlan", "failed to set vf ", " vlan"),
			},
			Causes: []Cause{
				{
					Slug: "cni-for-ethernet", Title: "the port is InfiniBand: the SR-IOV CNI is for Ethernet",
					Weight: Common,
					Clues: []Clue{
						{
							Weight: Strong, Contains: "operation not supported",
							Text: "the driver has no such operation for this port",
						},
						{Weight: -Strong, Contains: "invalid argument"},
						{Weight: -Strong, Contains: "operation not permitted"},
					},
					Decide:  "ibstat or rdma link: the link layer of the port",
					Remedy:  "the ib-sriov CNI (SriovIBNetwork), or linkType: eth",
					Sources: []string{"k8snetworkplumbingwg/sriov-cni#208", "k8snetworkplumbingwg/bond-cni#30"},
				},
				{
					Slug: "defect:sriov-cni-netlink-length",
					Title: "the netlink library of this sriov-cni sends a length that newer kernels " +
						"refuse", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Contains: "invalid argument", Text: "the kernel finds the request invalid"},
						{Weight: -Strong, Contains: "operation not supported"},
						{Weight: -Strong, Contains: "operation not permitted"},
					},
					Decide:  "ip link set PF vf N vlan ID proto 802.1Q by hand: it works",
					Remedy:  "a sriov-cni after #309",
					Sources: []string{"k8snetworkplumbingwg/sriov-cni#303"},
				},
				{
					Slug:   "vlan-trunk",
					Title:  "the function has a VLAN trunk or another policy that excludes a single VLAN",
					Weight: Usual,
					Clues: []Clue{
						{
							Weight: Strong, Contains: "operation not permitted",
							Text: "the driver doesn't permit it on this function",
						},
						{Weight: -Strong, Contains: "operation not supported"},
						{Weight: -Strong, Contains: "invalid argument"},
					},
					Decide:  "cat /sys/class/net/PF/device/sriov/N/trunk",
					Remedy:  "remove the trunk, or a sriov-cni that leaves VLAN 0 alone",
					Sources: []string{"k8snetworkplumbingwg/sriov-cni#291"},
				},
				{
					Slug: "switchdev", Title: "the card is in switchdev mode, where representors carry the VLAN",
					Weight: Rare,
					Decide: "devlink dev eswitch show pci/ADDRESS", Remedy: "legacy mode, or VLANs in Open vSwitch",
				},
				{
					Slug: "not-privileged", Title: "the plugin lacks CAP_NET_ADMIN", Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Contains: "operation not permitted"}},
					Decide: "the privileges of the CNI's caller", Remedy: "run it as root on the host",
				},
			},
		},
		{
			ID: "RDX-652", Name: "cni-vf-setting", Title: "the driver refuses a setting of a virtual function",
			Explanation: "Link state, trust, spoof check, rates and MAC are set through the physical function.",
			Sources: []string{"k8snetworkplumbingwg/sriov-cni, " +
				"pkg/sriov/sriov.go", "k8snetworkplumbingwg/sriov-cni#119"},
			Standing: evidence.Failed,
			Lines: []Line{
				sriovCNI.says("vf-link-state", "failed to set vf ", " link state"),
				sriovCNI.says("vf-trust", "failed to set vf ", " trust flag"),
				sriovCNI.says("vf-spoofchk", "failed to set vf ", " spoofchk flag"),
				sriovCNI.says("vf-rate", "failed to set vf ", " min_tx_rate"),
				sriovCNI.says("vf-mac", "failed to set MAC address to ", "VF"),
				sriovCNI.says("vf-netlink-mac", "failed to set netlink MAC address to "),
				sriovOperator.says("vf-admin-mac", "fail to configure VF admin mac"),
			},
			Causes: []Cause{
				{
					Slug:   "driver-refuses",
					Title:  "the driver of this card doesn't have that setting",
					Weight: Common,
					Clues:  []Clue{{Weight: Hint, Contains: "operation not supported"}},
					Decide: "the same by hand: ip link set PF vf N state auto",
					Remedy: "leave the setting out of the network's definition",
				},
				{
					Slug:  "cni-for-ethernet",
					Title: "the port is InfiniBand, where functions have no MAC, VLAN or trust", Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Line: "vf-admin-mac"}, {Weight: Hint, Contains: "operation not supported"},
					},
					Decide:  "rdma link: the link layer",
					Remedy:  "SriovIBNetwork with the ib-sriov CNI; linkType: ib in the policy",
					Sources: []string{"k8snetworkplumbingwg/sriov-network-operator#274"},
				},
				{
					Slug: "switchdev", Title: "the card is in switchdev mode", Weight: Rare,
					Decide: "devlink dev eswitch show pci/ADDRESS", Remedy: "set it on the representor",
				},
			},
		},
		{
			ID: "RDX-653", Name: "cni-vf-without-driver",
			Title: "the virtual function has neither interface nor DPDK driver",
			Explanation: "The plugin needs a network interface of the function in the host's namespace, or a " +
				"userspace driver.",
			Sources: []string{"k8snetworkplumbingwg/sriov-cni, pkg/config/config.go"}, Standing: evidence.Failed,
			Lines: []Line{
				sriovCNI.says("vf-no-interface", "does not have a interface name or a dpdk driver"),
				ibSRIOVCNI.says("ib-vf-name", "load config: failed to detect VF ", " name with error"),
				sriovCNI.says("vf-no-entries", "VF device ", "has no entries"),
				sriovCNI.says("vf-not-found", "failed to get original vf information"),
			},
			Causes: []Cause{
				{
					Slug: "driver-unbound", Title: "the function isn't bound to its driver", Weight: Common,
					Decide: "ls -l /sys/bus/pci/devices/ADDRESS/driver",
					Remedy: "echo ADDRESS > /sys/bus/pci/drivers/mlx5_core/bind; deviceType: netdevice in the policy",
				},
				{
					Slug: "vf-leaked", Title: "the function is still in the namespace of a former pod", Weight: Usual,
					Decide: "ip netns; lsns -t net: where the interface is",
					Remedy: "end the old sandbox; restart the node's kubelet",
				},
				{
					Slug: "old-card", Title: "the card's driver doesn't report its functions (ConnectX-3: mlx4)",
					Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Line: "vf-not-found"}},
					Decide: "ip link show PF: the functions are listed", Remedy: "the ib-sriov CNI, or host-device",
					Sources: []string{"k8snetworkplumbingwg/sriov-network-device-plugin#503"},
				},
			},
		},
		{
			ID: "RDX-654", Name: "cni-vf-in-use", Title: "the virtual function is still in use by another pod",
			Explanation: "The plugin keeps a file for each function that it gave away.",
			Sources:     []string{"k8snetworkplumbingwg/sriov-cni, pkg/utils/pci_allocator.go"},
			Standing:    evidence.Failed,
			Lines: []Line{
				sriovCNI.says("vf-allocated", "pci address ", "is already allocated"),
				sriovCNI.says("vf-lock", "time out while waiting to acquire exclusive lock on"),
				sriovCNI.says("vf-rename", "failed to set up pod interface", "file exists"),
				sriovCNI.says("vf-move", "failed to move vf ", " to netns: file exists"),
				sriovCNI.says("vf-busy", "failed to set up pod interface", "device or resource busy"),
			},
			Causes: []Cause{
				{
					Slug: "vf-leaked", Title: "the function of a former pod wasn't given back", Weight: Common,
					Decide: "ls /var/lib/cni/sriov/pci; lsns -t net",
					Remedy: "delete the file of a pod that is gone; end its sandbox",
				},
				{
					Slug: "same-device-twice", Title: "two pools, or two networks of a pod, use the same functions",
					Weight: Usual,
					Decide: "rdmactl k8s lint", Remedy: "selectors that don't overlap; one device per network",
				},
			},
		},
		{
			ID: "RDX-697", Name: "cni-teardown", Title: "a network plugin can't undo what wasn't set up",
			Explanation: "After a failed set-up the runtime takes the sandbox down, and the plugin finds no record " +
				"of it. The set-up's own error is the one that counts.",
			Sources: []string{"k8snetworkplumbingwg/sriov-cni, pkg/config/config.go"}, Standing: evidence.Echo,
			Lines: []Line{
				sriovCNI.says("cached-netconf", "error reading cached NetConf in").not("GUID is not valid"),
				multusCNI.says("teardown-plugins", "in tearing down failed plugins").
					not("delegate add", "Delegate add"),
			},
			Causes: []Cause{{
				Slug: "elsewhere", Title: "the set-up failed before", Weight: Common,
				Decide: "the first error of that sandbox in the kubelet's log", Remedy: "what it says",
			}},
		},
		{
			ID: "RDX-656", Name: "cni-no-device-id", Title: "the network plugin got no device for the pod",
			Explanation: "Multus asks the kubelet for the devices of the pod and gives the plugin the address of " +
				"one, of the resource that the network's annotation k8s.v1.cni.cncf.io/resourceName names.",
			Sources: []string{
				"k8snetworkplumbingwg/sriov-cni, pkg/config/config.go",
				"k8snetworkplumbingwg/sriov-network-device-plugin#258",
				"k8snetworkplumbingwg/sriov-network-device-plugin#310",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				sriovCNI.says("pci-address-required", "VF pci addr is required"),
				ibSRIOVCNI.says("ib-pci-address-required", "vf pci addr is required"),
				ibSRIOVCNI.says("ib-device-id", "deviceID is required", "network"),
				rdmaCNI.says("rdma-device-id", "network configuration attribute is required for rdma CNI"),
				rdmaCNI.says("rdma-chain", "RDMA-CNI is expected to be called as part of a plugin chain"),
				multusCNI.says("pod-resources", "GetPodResourceMap: "),
				cniPlugins.says("device-id-unsupported", "runtime config DeviceID", "not found or unsupported"),
				cniPlugins.says("host-device-attribute",
					`specify either "device", "hwaddr", "kernelpath" or "pciBusID"`),
			},
			Causes: []Cause{
				{
					Slug: "resource-annotation",
					Title: "the NetworkAttachmentDefinition has no resourceName, or another one than the pod " +
						"asks for", Weight: Common,
					Decide: "rdmactl k8s lint; kubectl get net-attach-def -o yaml: k8s.v1.cni.cncf.io/resourceName",
					Remedy: "the annotation with the resource's full name, and the same resource in the pod's limits",
				},
				{
					Slug:   "resource-not-requested",
					Title:  "the pod doesn't ask for the resource, or for fewer devices than networks",
					Weight: Usual, Decide: "resources.limits of the pod",
					Remedy: "one device per attached network in the limits",
				},
				{
					Slug:   "pod-resources-socket",
					Title:  "Multus can't reach the kubelet's pod-resources socket, or its cache is stale",
					Weight: Usual, Decide: "ls /var/lib/kubelet/pod-resources in Multus' pod; its log",
					Remedy: "mount the folder into the thick plugin's pod; a newer Multus",
				},
			},
		},
		{
			ID: "RDX-657", Name: "ib-cni-guid",
			Title:       "GUID or partition key of a virtual function of InfiniBand can't be set",
			Explanation: "The plugin writes node and port GUID of the function.",
			Sources:     []string{"k8snetworkplumbingwg/ib-sriov-cni, pkg/sriov/sriov.go"}, Standing: evidence.Failed,
			Lines: []Line{
				ibKubernetes.says("pkey-guids", "failed to add guids ", "to PKey").speaks("ib-subnet-manager"),
				ibKubernetes.says("pkey-config", "failed to config pKey with subnet manager").
					speaks("ib-subnet-manager"),
				ibKubernetes.says("ufm-connect", "failed to connect to ufm subnet manager").speaks("ib-subnet-manager"),
				ibKubernetes.says("pkey-form", "invalid pkey ", "should be leading by 0x").as(evidence.Origin).
					speaks("policy-mismatch"),
				ibKubernetes.says("guid-taken", "failed to allocate requested guid ", "already allocated"),
				ibSRIOVCNI.says("ib-guid-form", "infiniBand SRI-OV CNI failed to configure VF", "invalid guid"),
				ibSRIOVCNI.says("ib-guid-node", "failed to add node guid"),
				ibSRIOVCNI.says("ib-guid-port", "failed to add port guid"),
				sriovOperator.says("operator-guid", "no guid allocation found for VF id"),
				ibSRIOVCNI.says("ib-configure", "infiniBand SRI-OV CNI failed to configure VF").
					not("GUID is not valid"),
			},
			Causes: []Cause{
				{
					Slug:  "ib-subnet-manager",
					Title: "ib-kubernetes can't reach UFM, or UFM refuses the partition key", Weight: Rare,
					Decide: "the log of ib-kubernetes; the secret ib-kubernetes-ufm-secret; the partition keys in UFM",
					Remedy: "address, user and certificate of UFM; the noop plugin without UFM",
				},
				{
					Slug: "policy-mismatch", Title: "pkey or guid of the network has a wrong form", Weight: Rare,
					Decide: "rdmactl k8s lint", Remedy: "pkey as 0x7fff; a GUID of eight pairs of digits",
				},
				{
					Slug:   "vf-guid",
					Title:  "no GUID, or one of a wrong form, is given to the function",
					Weight: Common,
					Decide: "the pod's annotation mellanox.infiniband.app; ip link show PF",
					Remedy: "ib-kubernetes with a pool of GUIDs, or guid in cni-args; GUIDs with eight pairs of digits",
				},
				{
					Slug: "driver-refuses", Title: "the driver doesn't take the setting", Weight: Usual,
					Decide: "ip link set PF vf N node_guid GUID by hand",
					Remedy: "a newer driver; MLNX_OFED's sysfs files",
				},
			},
		},
		{
			ID:    "RDX-658",
			Name:  "rdma-cni-netns-mode",
			Title: "the namespace mode of the RDMA subsystem doesn't fit, or can't be read",
			Explanation: "Only in exclusive mode can an RDMA device be moved into a network namespace. In shared " +
				"mode all namespaces see all devices.",
			Sources: []string{
				"k8snetworkplumbingwg/rdma-cni, cmd/rdma/main.go",
				"k8snetworkplumbingwg/ib-sriov-cni, pkg/utils/rdma.go",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				rdmaCNI.says("netns-exclusive", "RDMA subsystem namespace awareness mode is set to").
					decides("netns-mode"),
				sharedPlugin.says("netns-shared-read", "can not get RDMA subsystem network namespace mode").
					speaks("module-missing"),
				sharedPlugin.says("netns-kernel", "too old kernel to get RDMA subsystem").as(evidence.Vague).
					speaks("module-missing"),
				rdmaCNI.says("netns-read", "failed to get RDMA subsystem namespace awareness mode"),
			},
			Causes: []Cause{
				{
					Slug:   "netns-mode",
					Title:  "the RDMA subsystem of the node is in shared mode",
					Weight: Common,
					Decide: "rdma system",
					Remedy: "options ib_core netns_mode=0 in /etc/modprobe.d and a reboot; or rdma system set netns " +
						"exclusive before any pod has a device; rdmaMode: exclusive of a SriovNetworkPoolConfig",
				},
				{
					Slug: "module-missing", Title: "ib_core isn't loaded, or the kernel is too old for modes",
					Weight: Rare,
					Decide: "lsmod | grep ib_core; uname -r", Remedy: "modprobe ib_core; Linux 5.1 or later",
				},
			},
		},
		{
			ID: "RDX-659", Name: "rdma-cni-no-device",
			Title:       "the RDMA CNI finds no RDMA device of the virtual function",
			Explanation: "The network function must have an RDMA device in the host's namespace when the pod starts.",
			Sources:     []string{"k8snetworkplumbingwg/rdma-cni, cmd/rdma/main.go"}, Standing: evidence.Failed,
			Lines: []Line{
				rdmaCNI.says("no-rdma-for-id", "failed to get RDMA device for device ID"),
				ibSRIOVCNI.says("no-rdma-for-pci", "failed to get RDMA devices for PCI device"),
				rdmaCNI.says("more-rdma", "discovered more than one RDMA device"),
				rdmaCNI.says("rdma-move", "failed to move RDMA device ", "to namespace"),
				rdmaCNI.says("rdma-link", "cannot find RDMA link from name: "),
			},
			Causes: []Cause{
				{
					Slug:   "module-missing",
					Title:  "the function has no RDMA device: the module isn't loaded, or RoCE is off for it",
					Weight: Common,
					Decide: "rdma link on the host; lsmod | grep -E 'mlx5_ib|ib_uverbs'; devlink dev param show: " +
						"enable_roce",
					Remedy: "modprobe mlx5_ib ib_uverbs; isRdma: true and deviceType: netdevice in the policy",
				},
				{
					Slug: "vf-leaked", Title: "the RDMA device is still in the namespace of a former pod",
					Weight: Usual,
					Decide: "lsns -t net; rdma link in each", Remedy: "end the old sandbox",
				},
				{
					Slug: "netns-mode", Title: "the RDMA subsystem is in shared mode", Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Line: "rdma-move"}},
					Decide: "rdma system", Remedy: "rdma system set netns exclusive",
				},
			},
		},
	}
}
