package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// sriovOperatorSymptoms are about the SR-IOV network operator, and tools of the firmware.
func sriovOperatorSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-673", Name: "mstconfig", Title: "the tool for the card's firmware can't open the card",
			Explanation: "The operator reads and writes SRIOV_EN, NUM_OF_VFS and LINK_TYPE by mstconfig in its own " +
				"image.",
			Sources: []string{
				"Mellanox/mstflint, mlxconfig", "k8snetworkplumbingwg/sriov-network-operator#317",
				"openshift/sriov-network-operator#43", "Mellanox/mstflint#1371",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				mstTools.says("mst-open", "-E- Failed to open the device"),
				mstTools.says("mst-unsupported", "-E- Failed to identify the device"),
				sriovOperator.says("mst-fw-data", "mellanox-plugin getMlnxNicFwData(): failed"),
				sriovOperator.says("lockdown", "mellanox device detected when in lockdown mode").
					decides("kernel-lockdown").
					as(evidence.Origin),
				sriovOperator.says("mst-config", "mellanox-plugin configFW(): failed"),
			},
			Causes: []Cause{
				{
					Slug:   "firmware-tool-old",
					Title:  "mstconfig (of the operator's image) is too old for this card",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Seen: "kubernetes/mst-fw-data"},
						{Weight: Strong, Seen: "kubernetes/mst-config"},
					},
					Decide: "mstconfig -v in the config daemon; the same query with a newer mstflint on the host",
					Remedy: "a newer image of the operator's config daemon",
				},
				{
					Slug:   "kernel-lockdown",
					Title:  "the kernel is locked down (secure boot): PCI configuration space is closed",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Line: "mst-open", Text: "the device's name isn't enough, either"},
						{Weight: Strong, Seen: "linux/lockdown"},
					},
					Decide: "cat /sys/kernel/security/lockdown; mokutil --sb-state; dmesg: lockdown",
					Remedy: "a release of the tool that goes through the driver (mstflint 4.32 did, 4.33 not); " +
						"configure the firmware before, and an externally managed policy; or secure boot off",
				},
				{
					Slug: "not-privileged", Title: "not root, or a pod without privileges or the host's /sys",
					Weight: Rare,
					Decide: "ls /sys/bus/pci/devices in the pod", Remedy: "a privileged pod with the host's /sys",
				},
			},
		},
		{
			ID: "RDX-674", Name: "vf-count", Title: "the card can't have as many virtual functions as asked for",
			Explanation: "The largest number is set in the firmware (SRIOV_EN, NUM_OF_VFS); BIOS and kernel must " +
				"have room for their addresses.",
			Sources: []string{
				"k8snetworkplumbingwg/sriov-network-operator, pkg/host/internal/sriov/sriov.go",
				"k8snetworkplumbingwg/sriov-network-operator#672",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				sriovOperator.says("total-vfs-zero", "is larger than TotalVfs (0)").decides("sriov-off"),
				sriovOperator.says("total-vfs", "is larger than TotalVfs ("),
				sriovOperator.says("numvfs-refused", "sriov_numvfs: ").
					any("annot allocate memory", "o space left on device", "peration not supported"),
				sriovOperator.says("numvfs-write", "fail to set NumVfs file"),
				sriovOperator.says("numvfs-device", "fail to set NumVfs for device"),
				sriovWebhook.says("numvfs-limit", "exceed the maximum allowed value", "numVfs("),
				sriovWebhook.says("numvfs-external",
					"is higher than the virtual functions allocated for the PF externally").
					speaks("policy-mismatch"),
				dockerSRIOV.says("docker-sriov-off", "SRIOV is disabled [").as(evidence.Failed).
					speaks("vf-not-created"),
				dockerSRIOV.says("docker-sriov-write", "Fail to enable sriov: ", "sriov_numvfs").as(evidence.Failed),
			},
			Causes: []Cause{
				{
					Slug: "sriov-off", Title: "SR-IOV is off in firmware or BIOS, or NUM_OF_VFS too small",
					Weight: Common,
					Clues: []Clue{
						{
							Weight:   -Hint,
							Contains: "no space left",
						},
						{Weight: -Hint, Contains: "cannot allocate memory"},
					},
					Decide: "cat /sys/class/net/PF/device/sriov_totalvfs; mstconfig -d ADDRESS q SRIOV_EN NUM_OF_VFS",
					Remedy: "mstconfig -d ADDRESS set SRIOV_EN=1 NUM_OF_VFS=16 and a cold start; SR-IOV in the BIOS",
				},
				{
					Slug: "pci-resources", Title: "no address space or bus numbers for the functions", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Contains: "cannot allocate memory"},
						{Weight: Strong, Contains: "no space left"},
					},
					Decide: "dmesg | grep -iE 'BAR .* no space|not enough MMIO'",
					Remedy: "MMIO above 4 GB and SR-IOV in the BIOS; pci=realloc",
				},
				{
					Slug:   "vf-not-created",
					Title:  "the driver hasn't made any: on ConnectX-3 that is num_vfs and probe_vf of mlx4_core",
					Weight: Usual,
					Decide: "cat /sys/class/net/PF/device/sriov_numvfs; lspci | grep 'Virtual Function'",
					Remedy: "echo N > sriov_numvfs; options mlx4_core num_vfs=N probe_vf=N for ConnectX-3",
				},
				{
					Slug: "policy-mismatch", Title: "numVfs of the policy is more than the node has", Weight: Usual,
					Decide: "rdmactl k8s lint --nodes", Remedy: "a smaller numVfs",
				},
			},
		},
		{
			ID: "RDX-675", Name: "sriov-policy", Title: "an object of an operator for networks doesn't fit the nodes",
			Explanation: "The webhook checks selectors, ranges and combinations against the states of the nodes.",
			Sources:     []string{"k8snetworkplumbingwg/sriov-network-operator, pkg/webhook/validate.go"},
			Standing:    evidence.Origin,
			Lines: []Line{
				sriovWebhook.says("policy-no-nic", "no supported NIC is selected by the nicSelector in CR"),
				sriovWebhook.says("policy-no-node", "no matched node is selected by the nodeSelector in CR"),
				sriovWebhook.says("policy-vendor", "vendor/device ", " is not supported").not("found unsupported"),
				sriovWebhook.says("policy-vfio-rdma", "conflicts with 'isRdma: true'"),
				sriovWebhook.says("policy-overlap", "VF index range in ", "is overlapped with existing policy"),
				sriovWebhook.says("policy-selector", "has to be defined in nicSelector in CR"),
				sriovWebhook.says("policy-mtu", "is higher than the MTU for the PF externally"),
				sriovWebhook.says("policy-link", "is not equal to the LinkType for the PF externally"),
				sriovOperator.says("policy-external", "checkExternallyManagedPF(): "),
				nicOperator.says("nic-templates", "device matches several configuration templates"),
				nicOperator.says("nic-baremetal", "GpuDirectOptimized supports only Baremetal env"),
				nicOperator.says("nic-firmware-source", "requested firmware source (", "has no image for this"),
				nicOperator.says("nic-read-request", "unsupported maxReadRequestSize ("),
				nicOperator.says("nic-qos", "cannot validate QoS settings for device port"),
				nicOperator.says("nic-psid", "couldn't find FW binary file for the "),
				sriovOperator.says("policy-link-change", "does not support link type change"),
				sriovOperator.says("policy-virtual", "in a virtual environment, only one VF per interface"),
			},
			Causes: []Cause{
				{
					Slug: "policy-mismatch", Title: "the policy names what no node has, or contradicts another one",
					Weight: Common,
					Decide: "rdmactl k8s lint --nodes; kubectl get sriovnetworknodestates -o yaml",
					Remedy: "the selectors and values of the policy",
				},
				{
					Slug: "card-unsupported", Title: "the operator's list doesn't have this card", Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Line: "policy-vendor"}},
					Decide: "kubectl get cm supported-nic-ids -o yaml",
					Remedy: "add vendor, device and VF ID to supported-nic-ids; a newer operator",
				},
			},
		},
		{
			ID: "RDX-676", Name: "operator-rdma-modules", Title: "the operator finds no RDMA modules on the node",
			Explanation: "The operator asks the host whether ib_uverbs, rdma_cm and their like are loaded.",
			Sources:     []string{"k8snetworkplumbingwg/sriov-network-operator, pkg/host/internal/kernel/kernel.go"},
			Standing:    evidence.Failed,
			Lines: []Line{
				sriovOperator.says("operator-modules",
					"RDMA modules are not loaded, you may need to install rdma-core package"),
				sriovOperator.says("operator-no-rdma", "CheckRDMAEnabled(): no RDMA capable devices"),
			},
			Causes: []Cause{
				{
					Slug:   "module-missing",
					Title:  "rdma-core isn't installed on the host, so its modules aren't loaded",
					Weight: Common,
					Decide: "rdmactl doctor --only rdma-modules",
					Remedy: "the package rdma-core on the host; modprobe ib_uverbs rdma_ucm",
				},
				{
					Slug: "card-without-rdma", Title: "the node's cards have no RDMA", Weight: Rare,
					Decide: "rdma link", Remedy: "isRdma: false",
				},
			},
		},
		{
			ID: "RDX-677", Name: "operator-configure", Title: "the SR-IOV operator could not configure the node",
			Explanation: "The lines above, of the same device, say what failed.",
			Sources:     []string{"k8snetworkplumbingwg/sriov-network-operator, pkg/host/internal/sriov/sriov.go"},
			Standing:    evidence.Vague,
			Lines: []Line{
				sriovOperator.says("operator-interfaces", "cannot configure sriov interfaces"),
				sriovOperator.says("operator-interface", "fail to configure sriov interface"),
				sriovOperator.says("operator-vf-driver", "unable to parse device driver after ").as(evidence.Failed).
					speaks("driver-unbound"),
				sriovOperator.says("operator-link", "VF link is not ready").as(evidence.Failed).
					speaks("driver-unbound"),
				sriovOperator.says("operator-bind", "bindDriver(): failed to bind driver").as(evidence.Failed).
					speaks("driver-unbound"),
				sriovOperator.says("operator-eswitch-mode", "can't set eSwitch mode to [").as(evidence.Failed).
					speaks("switchdev"),
				dockerSRIOV.says("docker-sriov-device", "Fail to enable sriov: ", "not found").as(evidence.Origin).
					speaks("policy-mismatch"),
				sriovOperator.says("old-plugin-vfs", "Fail to configure sriov; error = ").as(evidence.Failed),
				sriovOperator.says("operator-eswitch", "falied to switch Eswitch mode to legacy").as(evidence.Failed).
					speaks("switchdev"),
				sriovOperator.says("operator-drain", "failed to handle drain").speaks("drain-blocked"),
				sriovOperator.says("operator-webhook", "failed calling webhook ", "operator-webhook.sriovnetwork").
					as(evidence.Failed).speaks("webhook-down"),
				nicOperator.says("dpu-mode", "is in DPU mode. Firmware configuration changes are not supported").
					as(evidence.Origin).speaks("dpu-mode"),
			},
			Causes: []Cause{
				{
					Slug: "sriov-off", Title: "SR-IOV is off in firmware or BIOS", Weight: Usual,
					Decide: "cat /sys/class/net/*/device/sriov_totalvfs",
					Remedy: "SR-IOV in the BIOS; mstconfig SRIOV_EN=1",
				},
				{
					Slug:   "driver-unbound",
					Title:  "a function could not be bound to its driver",
					Weight: Rare,
					Decide: "dmesg; ls -l /sys/bus/pci/devices/ADDRESS/driver",
					Remedy: "the driver; a newer operator",
				},
				{
					Slug: "policy-mismatch", Title: "the policy doesn't fit the node", Weight: Usual,
					Decide: "rdmactl k8s lint --nodes", Remedy: "the policy",
				},
				{
					Slug: "switchdev", Title: "the card refuses the change of its e-switch", Weight: Rare,
					Decide: "devlink dev eswitch show; dmesg", Remedy: "no functions in use; newer firmware",
				},
				{
					Slug:   "drain-blocked",
					Title:  "the node can't be drained: a disruption budget or a pod without controller",
					Weight: Rare,
					Decide: "kubectl drain NODE --dry-run=server",
					Remedy: "the budget; disableDrain on a single node",
				},
				{
					Slug:   "webhook-down",
					Title:  "the operator's webhook isn't reachable, or its certificate is wrong",
					Weight: Rare,
					Decide: "kubectl get pods: network-resources-injector, operator-webhook",
					Remedy: "their logs; cert-manager",
				},
				{
					Slug: "dpu-mode", Title: "the BlueField is in DPU mode, in which the host can't configure it",
					Weight: Rare,
					Decide: "rdmactl doctor --only dpu-mode",
					Remedy: "NIC mode (INTERNAL_CPU_OFFLOAD_ENGINE=1), or configure it on the DPU",
				},
			},
		},
	}
}
