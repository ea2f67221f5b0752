package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// devicePluginSymptoms are about device plugins for network cards.
func devicePluginSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-668", Name: "device-plugin-no-rdma",
			Title: "a device plugin finds no RDMA device of a network card",
			Explanation: "The shared device plugin wants issm, umad, uverbs and rdma_cm of each device, so the " +
				"modules ib_umad, ib_uverbs and rdma_ucm must be loaded. Lines about cards without RDMA are harmless.",
			Sources: []string{
				"Mellanox/k8s-rdma-shared-dev-plugin, pkg/resources/pci_net_device.go",
				"Mellanox/k8s-rdma-shared-dev-plugin#94",
				"Mellanox/k8s-rdma-shared-dev-plugin#192", "Mellanox/k8s-rdma-shared-dev-plugin#103",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				sharedPlugin.says("missing-rdma-spec", "missing RDMA device spec for device ").
					with("device", "for device "),
				sharedPlugin.says("non-rdma-device", "Warning: non-Rdma Device ").as(evidence.Vague),
				sriovPlugin.says("rdma-resources", "RDMA resources for ", "not found. Are RDMA modules loaded?").
					with("device", "RDMA resources for "),
				sriovPlugin.says("rdma-required",
					"rdma is required in the configuration but the device is not rdma device"),
				sriovPlugin.says("rdma-unavailable", "No RDMA devices available for RDMA capable device: "),
			},
			Causes: []Cause{
				{
					Slug: "module-missing",
					Title: "a module is missing: rdma_ucm for rdma_cm, ib_umad for issm and umad, " +
						"ib_uverbs for uverbs",
					Weight: Common, Clues: []Clue{
						{Weight: Hint, Contains: "rdma_cm", Text: "rdma_cm belongs to the module rdma_ucm"},
						{Weight: Hint, Contains: "uverbs", Text: "uverbs belongs to the module ib_uverbs"},
					},
					Decide: "rdmactl doctor --only rdma-modules; ls /dev/infiniband",
					Remedy: "modprobe ib_umad ib_uverbs rdma_ucm (package rdma-core), then restart the plugin",
				},
				{
					Slug: "plugin-selectors",
					Title: "the line is about a card without RDMA: the selectors match too much, or not the " +
						"right card",
					Weight: Usual, Clues: []Clue{{Weight: Hint, Contains: "issm"}},
					Decide: "lspci -s ADDRESS; rdma link",
					Remedy: "vendors, deviceIDs and ifNames of the RDMA cards in the ConfigMap",
				},
				{
					Slug: "roce-off", Title: "RoCE is off for the device, or the function has no RDMA", Weight: Usual,
					Decide: "devlink dev param show pci/ADDRESS name enable_roce; rdma link",
					Remedy: "enable_roce=true and a reload",
				},
				{
					Slug:  "plugin-before-driver",
					Title: "the plugin started before the driver, or while it was reloaded", Weight: Rare,
					Decide: "the time of the driver pod against that of the plugin", Remedy: "restart the plugin",
				},
			},
		},
		{
			ID: "RDX-669", Name: "device-plugin-empty", Title: "a device plugin offers no device for a resource",
			Explanation: "The selectors of a resource must match devices of this node: vendor, device ID (that of " +
				"the function, not of the card), driver, interface.",
			Sources: []string{
				"Mellanox/k8s-rdma-shared-dev-plugin#44",
				"k8snetworkplumbingwg/sriov-network-device-plugin#189",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				sharedPlugin.says("empty-pool", "no devices in device pool, creating empty resource server for"),
				sharedPlugin.says("no-rdma-devices", "no Rdma Devices were found for resource"),
				sriovPlugin.says("pool-skipped", "no devices in device pool, skipping creating resource server for ").
					with("resource", "server for "),
				sriovPlugin.says("no-pci-device", "no PCI network device found"),
				sriovPlugin.says("filter-error", "initServers(): error getting filtered devices"),
				sriovPlugin.says("already-allocated", "Cannot add device [", "Already allocated.").as(evidence.Vague),
				sriovPlugin.says("config-invalid", "Exiting.. one or more invalid configuration(s) given").
					speaks("plugin-config"),
				sriovPlugin.says("config-json", "please make sure the config is in json format").
					speaks("plugin-config").
					as(evidence.Origin),
				sriovPlugin.says("config-none", "no resource configuration; exiting").speaks("plugin-config"),
				oldRDMAPlugin.says("old-plugin", "No devices found.", "main.go").not("Waiting indefinitely").
					speaks("software-device"),
				efaPlugin.says("efa-none", "No valid EFA devices found").speaks("no-efa"),
				sharedPlugin.says("exposing-none", `exposing "0" devices`).as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug:   "plugin-selectors",
					Title:  "the selectors match no device of this node",
					Weight: Common,
					Decide: "lspci -nnk on the node against vendors, devices, drivers and pfNames in the ConfigMap; " +
						"rdmactl k8s lint --nodes",
					Remedy: "the device ID and driver of the functions, and names of interfaces of this node",
				},
				{
					Slug: "vf-not-created", Title: "no virtual functions are there yet", Weight: Usual,
					Decide: "cat /sys/class/net/PF/device/sriov_numvfs",
					Remedy: "create them, or a policy of the SR-IOV operator",
				},
				{
					Slug: "plugin-config", Title: "the plugin's configuration is wrong", Weight: Usual,
					Decide: "the lines above; rdmactl k8s lint", Remedy: "the ConfigMap",
				},
				{
					Slug:  "software-device",
					Title: "the only RDMA device is software (rxe, siw), which the plugin doesn't take", Weight: Rare,
					Clues:  []Clue{{Weight: Hint, Line: "old-plugin"}},
					Decide: "rdma link; ls -l /sys/class/infiniband/*/device",
					Remedy: "a card with RDMA; /dev/infiniband by hostPath for tests",
				},
				{
					Slug: "no-efa", Title: "the instance has no EFA interface, or the driver efa isn't loaded",
					Weight: Rare,
					Decide: "lspci | grep EFA; lsmod | grep efa",
					Remedy: "an instance type and launch template with EFA; a nodeSelector for the plugin",
				},
			},
		},
		{
			ID: "RDX-670", Name: "device-plugin-skipped", Title: "a device plugin skips a PCI device",
			Explanation: "Devices without driver or network interface are left out. That is a fault only if the " +
				"device is the wanted one; else look at the selectors.",
			Sources: []string{
				"k8snetworkplumbingwg/sriov-network-device-plugin, pkg/utils",
				"k8snetworkplumbingwg/sriov-network-device-plugin#153",
				"k8snetworkplumbingwg/sriov-network-device-plugin#189",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				sriovPlugin.says("no-net-folder", "open /sys/bus/pci/devices/", "/net: no such file or directory").
					as(evidence.Failed).speaks("no-netdev"),
				sriovPlugin.says("get-net-name", "GetNetName(): no net directory under pci device").
					speaks("no-netdev"),
				sriovPlugin.says("driver-info", "error getting driver info for device").speaks("plugin-selectors"),
			},
			Causes: []Cause{
				{
					Slug:   "no-netdev",
					Title:  "the device has no network interface: it is bound to vfio-pci or a userspace driver",
					Weight: Usual,
					Decide: "lspci -k -s ADDRESS: driver in use",
					Remedy: "leave the physical function on its kernel driver; selectors without pfNames " +
						"for passed-through devices",
				},
				{
					Slug: "plugin-selectors", Title: "the selectors of the resource don't match the wanted functions",
					Weight: Usual,
					Decide: "ethtool -i of the functions: driver, against drivers in the ConfigMap",
					Remedy: "the driver and device ID in the selectors",
				},
				{
					Slug: "driver-unbound", Title: "the device that the line names has no driver", Weight: Rare,
					Decide: "ls -l /sys/bus/pci/devices/ADDRESS/driver",
					Remedy: "nothing, if it isn't the wanted one; else bind it",
				},
			},
		},
		{
			ID: "RDX-671", Name: "device-plugin-kubelet", Title: "a device plugin can't register with the kubelet",
			Explanation: "Plugins make a socket in the kubelet's folder, which must be mounted from the host.",
			Sources:     []string{"k8snetworkplumbingwg/sriov-network-device-plugin, pkg/resources/server.go"},
			Standing:    evidence.Failed,
			Lines: []Line{
				sriovPlugin.says("register", "device plugin unable to register with Kubelet"),
				sriovPlugin.says("connect", "device plugin unable connect to Kubelet"),
				sharedPlugin.says("registered-failed", "failed to be registered at Kubelet"),
				sriovPlugin.says("endpoint", "error starting ", "device plugin endpoint"),
			},
			Causes: []Cause{
				{
					Slug:   "kubelet-folder",
					Title:  "the kubelet's folder isn't mounted, or is another one in this distribution",
					Weight: Common,
					Decide: "ls /var/lib/kubelet/device-plugins /var/lib/kubelet/plugins_registry in the pod",
					Remedy: "hostPath volumes; the folder of k0s, microk8s or RKE2",
				},
				{
					Slug:   "resource-name",
					Title:  "the name of the resource isn't valid, or registered twice",
					Weight: Usual,
					Decide: "the kubelet's log",
					Remedy: "a name of letters, digits, - and _; one plugin per resource",
				},
			},
		},
		{
			ID: "RDX-672", Name: "device-plugin-restart", Title: "a device plugin restarts because the kubelet did",
			Explanation: "The kubelet removes all sockets when it starts; plugins make them again.",
			Sources:     []string{"k8snetworkplumbingwg/sriov-network-device-plugin, pkg/resources/server.go"},
			Standing:    evidence.Harmless,
			Lines: []Line{
				sriovPlugin.says("kubelet-restarted", "most likely Kubelet restarted"),
				sriovPlugin.says("endpoint-gone", "server endpoint not found"),
			},
		},
	}
}
