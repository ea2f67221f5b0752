package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// podSymptoms are about pods that the scheduler or the kubelet doesn't let start.
func podSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-683", Name: "pod-admission", Title: "the kubelet can't give the pod its devices",
			Explanation: "The scheduler saw enough devices, the kubelet has fewer: they became unhealthy, are in " +
				"use, or the plugin is away.",
			Sources: []string{"kubernetes/kubernetes, " +
				"pkg/kubelet/cm/devicemanager/manager.go", "kubernetes/kubernetes#97131"},
			Standing: evidence.Failed,
			Lines: []Line{
				kubelet.says("devices-unavailable", "requested number of devices unavailable for ").
					with("resource", "unavailable for "),
				kubelet.says("devices-unhealthy", "cannot allocate unhealthy devices ").speaks("device-unhealthy"),
				kubelet.says("devices-unregistered", "cannot allocate unregistered device ").speaks("plugin-away"),
				kubelet.says("preferred", "device plugin GetPreferredAllocation rpc failed").not("nvml: ").
					speaks("plugin-away"),
				kubelet.says("preferred-gpu", "device plugin GetPreferredAllocation rpc failed", "nvml: ").
					speaks("gpu-hardware"),
				kubelet.says("allocate", "Allocate failed due to ", "which is unexpected"),
			},
			Causes: []Cause{
				{
					Slug: "plugin-away", Title: "the device plugin isn't running, or restarted just then",
					Weight: Common,
					Clues: []Clue{
						{Weight: Strong, Contains: "transport is closing"},
						{Weight: Strong, Contains: "code = Unavailable"},
					},
					Decide: "kubectl get pods -o wide: the plugin on that node, and its age",
					Remedy: "delete the failed pod when the plugin is back; the plugin's log",
				},
				{
					Slug:   "device-unhealthy",
					Title:  "the plugin reports devices as unhealthy: a port is down, a function or GPU is gone",
					Weight: Usual,
					Decide: "kubectl get node -o yaml: allocatable against capacity; the plugin's log",
					Remedy: "the port or the GPU",
				},
				{
					Slug: "gpu-hardware", Title: "a GPU of the node has failed or fallen off the bus", Weight: Rare,
					Clues:  []Clue{onText(Decisive, "GPU is lost", "a GPU is lost")},
					Decide: "nvidia-smi; dmesg | grep -i xid",
					Remedy: "a reboot; drain the node, and reset or replace the GPU",
				},
				{
					Slug:  "resource-in-use",
					Title: "other pods have the devices, and two schedulers or fixed nodeName compete", Weight: Usual,
					Decide: "kubectl describe node: Allocated resources; nodeName in the pod",
					Remedy: "no nodeName; wait for terminating pods",
				},
			},
		},
		{
			ID: "RDX-684", Name: "pod-topology", Title: "the topology manager refuses the pod",
			Explanation: "With policy single-numa-node or restricted, all devices and CPUs of a pod must come from " +
				"one NUMA node.",
			Sources: []string{"kubernetes/kubernetes, pkg/kubelet/cm/topologymanager"}, Standing: evidence.Origin,
			Lines: []Line{
				kubelet.says("topology-locality", "Resources cannot be allocated with Topology locality").
					decides("topology-manager"),
				kubelet.says("topology-affinity", "TopologyAffinityError").speaks("topology-manager"),
			},
			Causes: []Cause{
				{
					Slug:   "topology-manager",
					Title:  "no NUMA node of this node has all devices and CPUs that the pod asks for",
					Weight: Common,
					Decide: "topologyManagerPolicy in the kubelet's configuration; rdmactl detect: NUMA nodes of " +
						"cards and GPUs",
					Remedy: "policy best-effort, scope pod, or fewer devices per pod; excludeTopology for resources " +
						"that may be far",
				},
			},
		},
		{
			ID:    "RDX-685",
			Name:  "pod-unschedulable",
			Title: "no node has the devices that the pod asks for",
			Explanation: "The scheduler counts what device plugins offer. Zero on all nodes means that the resource " +
				"isn't offered at all, or under another name.",
			Sources: []string{
				"kubernetes/kubernetes, pkg/scheduler/framework/plugins/noderesources/fit.go",
				"k8snetworkplumbingwg/sriov-network-device-plugin#189",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				scheduler.says("insufficient-rdma", "Insufficient rdma/", "nodes are available").
					with("resource", "Insufficient "),
				scheduler.says("insufficient-openshift", "Insufficient openshift.io/", "nodes are available").
					with("resource", "Insufficient "),
				scheduler.says("insufficient-mellanox", "Insufficient mellanox.com/", "nodes are available").
					with("resource", "Insufficient "),
				scheduler.says("insufficient-intel", "Insufficient intel.com/", "nodes are available").
					with("resource", "Insufficient "),
				scheduler.says("insufficient-efa", "Insufficient vpc.amazonaws.com/efa", "nodes are available").
					with("resource", "Insufficient "),
				scheduler.says("insufficient-gke", "Insufficient networking.gke.io", "nodes are available").
					with("resource", "Insufficient "),
				scheduler.says("insufficient-nvidia", "Insufficient nvidia.com/", "nodes are available").
					with("resource", "Insufficient "),
				scheduler.says("insufficient-amd", "Insufficient amd.com/", "nodes are available").
					with("resource", "Insufficient "),
				scheduler.says("insufficient-hugepages", "Insufficient hugepages-", "nodes are available").
					speaks("no-hugepages"),
				scheduler.says("claims", "cannot allocate all claims").speaks("resource-not-offered"),
			},
			Causes: []Cause{
				{
					Slug: "resource-not-offered",
					Title: "no node offers the resource: the device plugin isn't running, its selectors match " +
						"nothing, or the name differs",
					Weight: Common,
					Decide: "kubectl get nodes -o yaml | grep the resource under allocatable; rdmactl k8s lint --nodes",
					Remedy: "the plugin's log and selectors; virtual functions; the resource's full name with its " +
						"prefix",
				},
				{
					Slug:  "resource-in-use",
					Title: "other pods have all devices, or the pod asks for more than a node has", Weight: Usual,
					Decide: "kubectl describe node: Allocated resources",
					Remedy: "fewer devices per pod, or more nodes",
				},
				{
					Slug:  "no-hugepages",
					Title: "no huge pages are reserved on the nodes (the EFA images ask for them)", Weight: Usual,
					Decide: "grep Huge /proc/meminfo; allocatable of the node",
					Remedy: "vm.nr_hugepages before the kubelet starts",
				},
			},
		},
		{
			ID:    "RDX-686",
			Name:  "compute-domain",
			Title: "a ComputeDomain isn't ready: IMEX doesn't run on its nodes",
			Explanation: "For NVLink between nodes the DRA driver starts an IMEX daemon on each node of the domain, " +
				"and lets pods start when all are connected.",
			Sources: []string{
				"NVIDIA/k8s-dra-driver-gpu, cmd/compute-domain-daemon", "kubernetes-sigs/dra-driver-nvidia-gpu#524",
				"kubernetes-sigs/dra-driver-nvidia-gpu#289",
			},
			Standing: evidence.Waiting,
			Lines: []Line{
				draDriver.says("domain-not-ready", "current node not ready in ComputeDomain"),
				draDriver.says("imex-not-ready", "IMEX daemon not ready: "),
				draDriver.says("imex-check", "IMEX daemon check failed: "),
				draDriver.says("fabric-not-attached", "NVLink fabric not attached (device ").as(evidence.Origin).
					speaks("fabric-manager"),
				draDriver.says("fabric-registration", "NVLink fabric registration error (device ").
					as(evidence.Origin).
					speaks("fabric-manager"),
				draDriver.says("domain-full", "no available indices within maxNodesPerIMEXDomain").
					as(evidence.Failed),
				draDriver.says("cdi-off", "CDI container edits did not apply").as(evidence.Origin).speaks("cdi-off"),
				imexDaemon.says("imex-interface",
					"No matching network interface found for any IP addresses in the node configuration").
					as(evidence.Failed).speaks("interface-choice"),
				imexDaemon.says("imex-session", "Failed to allocate Imex session").as(evidence.Failed).
					speaks("imex-on-host"),
			},
			Causes: []Cause{
				{
					Slug:   "imex-on-host",
					Title:  "the service nvidia-imex of the host has the session",
					Weight: Common,
					Decide: "systemctl status nvidia-imex on each node",
					Remedy: "systemctl disable --now nvidia-imex; systemctl mask nvidia-imex",
				},
				{
					Slug: "missing-workers", Title: "fewer pods of the job are placed than numNodes says",
					Weight: Usual,
					Decide: "kubectl get computedomain -o yaml: nodes; the pods of the job",
					Remedy: "numNodes of the real number, or 0 with newer drivers; place all pods",
				},
				{
					Slug:   "fabric-manager",
					Title:  "the GPUs of a node aren't part of the NVLink fabric",
					Weight: Usual,
					Decide: "nvidia-smi -q | grep -A4 Fabric: State, Status, CliqueId",
					Remedy: "the fabric manager of the NVLink switches; the node's partition",
				},
				{
					Slug:   "interface-choice",
					Title:  "the IMEX daemons can't reach each other: wrong addresses, or blocked ports",
					Weight: Usual,
					Decide: "nvidia-imex-ctl -N in the daemon's pod",
					Remedy: "the pod network, and port 50000 between the nodes",
				},
				{
					Slug: "cdi-off", Title: "the container runtime doesn't apply CDI", Weight: Rare,
					Decide: "enable_cdi in the configuration of containerd", Remedy: "enable_cdi = true",
				},
			},
		},
		{
			ID: "RDX-687", Name: "rdma-device-file", Title: "a device file of /dev/infiniband isn't on the host",
			Explanation: "Runtimes refuse to start a container with a device that isn't there. uverbs needs " +
				"ib_uverbs, rdma_cm needs rdma_ucm, umad and issm need ib_umad.",
			Sources: []string{"moby/moby, daemon/oci_linux.go", "kubernetes/kubernetes, " +
				"pkg/volume/hostpath", "containerd/containerd, oci"},
			Standing: evidence.Origin,
			Lines: []Line{
				dockerDaemon.says("custom-device",
					"error gathering device information while adding custom device", "/dev/infiniband"),
				kubelet.says("host-path", "hostPath type check failed: /dev/infiniband"),
				containerd.says(
					"generate-spec",
					"/dev/infiniband",
					"no such file or directory",
					"failed to generate",
				),
				containerd.says("stat-device", "stat /dev/infiniband", "no such file or directory"),
			},
			Causes: []Cause{
				{
					Slug: "module-missing", Title: "the module of that file isn't loaded on the host", Weight: Common,
					Decide: "ls /dev/infiniband on the host; rdmactl doctor --only rdma-modules",
					Remedy: "modprobe ib_uverbs rdma_ucm ib_umad",
				},
				{
					Slug: "card-without-rdma", Title: "the node has no RDMA card, or its driver isn't loaded",
					Weight: Usual,
					Decide: "lspci | grep -iE 'mellanox|infiniband'; rdma link",
					Remedy: "a node with a card (nodeSelector), or the driver",
				},
			},
		},
	}
}
