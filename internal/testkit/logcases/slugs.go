package logcases

import (
	"fmt"
	"slices"
	"strings"
)

// Slug names a cause. The names are stable: programs and cases share them.
type Slug struct {
	Name    string
	Meaning string
	// Note is set for slugs that are a remark about a log and not a cause: they count as found
	// wherever they stand in a result.
	Note bool
}

// Slugs returns all slugs, in the order of SLUGS.md. Slugs that begin with "defect:" are defects of
// one library: the part after the colon is LIBRARY-DEFECT.
func Slugs() []Slug { //nolint:funlen // a table
	return []Slug{
		// addresses
		{Name: "gid-index", Meaning: "GID index wrong, link-local, RoCE v1, or different per node"},
		{Name: "gid-moved", Meaning: "a pinned or cached GID index is stale: the table changed"},
		{Name: "gid-empty", Meaning: "the GID at the index is all zeros"},
		{Name: "roce-version-differs", Meaning: "one side uses RoCE v1, the other v2"},
		{Name: "grh-required", Meaning: "the port demands a GRH, which the program doesn't send"},
		{Name: "loopback-address", Meaning: "the host's name resolves to loopback"},
		{Name: "overlay-address", Meaning: "the address belongs to an overlay interface without RDMA"},
		{Name: "interface-choice", Meaning: "wrong or no interface for bootstrap or sockets"},
		// paths
		{Name: "udp-blocked", Meaning: "a switch or firewall drops UDP port 4791"},
		{Name: "rails-not-connected", Meaning: "ports of different networks are paired"},
		{Name: "link-flap", Meaning: "a link goes down and up"},
		{Name: "cable", Meaning: "bad cable or transceiver"},
		{Name: "bad-nic", Meaning: "one network card fails with all peers"},
		{Name: "dead-peer", Meaning: "the peer's process or node is gone"},
		{Name: "congestion", Meaning: "loss by congestion: PFC or ECN missing"},
		{Name: "mtu-differs", Meaning: "the path MTU differs between the nodes"},
		{Name: "mtu-too-small", Meaning: "packets are larger than a port on the path allows"},
		{Name: "traffic-class", Meaning: "traffic runs in the wrong (lossy) class"},
		{Name: "traffic-class-on-infiniband", Meaning: "a traffic class is set on InfiniBand, where it is refused"},
		{Name: "one-link-of-bond", Meaning: "one flow uses one link of a bond"},
		{Name: "switch-port-mode", Meaning: "the switch port's mode or VLAN is wrong"},
		{Name: "subnet-manager", Meaning: "subnet manager missing, or unfit for the fabric"},
		{Name: "opensm-mlid-leak", Meaning: "OpenSM loses multicast LIDs on partial leaves"},
		{Name: "efa-security-group", Meaning: "the EFA security group doesn't allow traffic to itself"},
		{Name: "firewall", Meaning: "TCP connections of the bootstrap are blocked"},
		// devices and containers
		{Name: "foreign-device", Meaning: "an HCA whose interface is in another network namespace"},
		{Name: "no-rail-interface", Meaning: "no interface of the rail network in the pod"},
		{Name: "no-device-node", Meaning: "container without /dev/infiniband"},
		{Name: "missing-library", Meaning: "image or build without rdma-core or UCX's InfiniBand modules"},
		{Name: "not-privileged", Meaning: "the container lacks a capability"},
		{Name: "netns-mode", Meaning: "RDMA subsystem in the wrong network namespace mode"},
		{Name: "vf-guid", Meaning: "virtual function without GUID"},
		{Name: "vf-in-vm", Meaning: "a virtual function in a virtual machine, which has no physical one"},
		{Name: "vf-not-created", Meaning: "no virtual functions were made"},
		{Name: "device-is-pf", Meaning: "a physical function where a virtual one is expected"},
		{Name: "plugin-selectors", Meaning: "the selectors of a device plugin don't match the devices"},
		{Name: "cni-version", Meaning: "cniVersion doesn't fit the plugin's binary"},
		{Name: "cni-binary", Meaning: "the binary of a network plugin is missing on the node"},
		{Name: "external-plugin", Meaning: "an external network plugin is in use, with settings of its own"},
		{Name: "sockets-used", Meaning: "traffic runs over TCP sockets"},
		{Name: "driver-refuses", Meaning: "the driver refuses a transition or attribute"},
		{Name: "driver-unbound", Meaning: "a device has no driver, or another one than needed"},
		{Name: "driver-firmware", Meaning: "the driver doesn't fit the card's firmware"},
		{Name: "software-device", Meaning: "a software RDMA device where hardware is needed"},
		{Name: "no-netdev", Meaning: "the device has no network interface"},
		{Name: "nic-mapping", Meaning: "ranks are mapped to the wrong cards, or all to one"},
		// GPU memory
		{Name: "acs", Meaning: "ACS or IOMMU between GPU and network card"},
		{Name: "peermem-missing", Meaning: "nvidia-peermem isn't loaded or its service is off"},
		{Name: "peermem-build", Meaning: "the peer memory module doesn't fit ib_core or is the wrong one"},
		{Name: "gdr-off", Meaning: "GPU Direct RDMA isn't used"},
		// resources
		{Name: "memlock", Meaning: "limit of locked memory too small"},
		{Name: "no-cma", Meaning: "the kernel has no contiguous memory area"},
		{Name: "memory-freed", Meaning: "registered memory was freed or unmapped too early, or its key is wrong"},
		{Name: "resource-limit", Meaning: "limit of queue pairs, completion queues, regions or UARs"},
		{Name: "stale-rkey", Meaning: "remote key of a freed region or of another device"},
		{Name: "rnr-timer", Meaning: "RNR timer far too long"},
		{Name: "receiver-not-ready", Meaning: "the receiver posts no buffers"},
		{Name: "buffer-size", Meaning: "a message is larger than the posted buffer"},
		// cards
		{Name: "card-firmware", Meaning: "the card's firmware stopped"},
		{Name: "card-hardware", Meaning: "power, temperature or another fault of the card"},
		{Name: "other-port-event", Meaning: "the event belongs to another port of the card", Note: true},
		{Name: "unknown-event", Meaning: "the release doesn't know this asynchronous event", Note: true},
		{Name: "opcode-leftover", Meaning: "opcode and length of a failed completion mean nothing", Note: true},
		// the job
		{Name: "version-mismatch", Meaning: "releases that must match don't: of nodes, libraries, modules, firmware"},
		{Name: "environment-differs", Meaning: "settings differ between nodes"},
		{Name: "networks-mixed", Meaning: "one node uses InfiniBand or RoCE, another TCP"},
		{Name: "gpu-hang", Meaning: "a GPU kernel hangs"},
		{Name: "program-fault", Meaning: "mismatched collectives, or a rank that never came"},
		{Name: "process-blocked", Meaning: "a process is blocked outside of the network"},
		{Name: "gpu-memory", Meaning: "the memory of a GPU is full"},
		{Name: "gpu-taken", Meaning: "another process uses the memory of the GPU"},
		{Name: "gpu-kernel-fault", Meaning: "a kernel on the GPU read or wrote where it must not"},
		{Name: "gpu-hardware", Meaning: "a GPU, its memory or one of its links has a fault"},
		{Name: "gpu-missing", Meaning: "the process sees no GPU, or can't open it"},
		{Name: "gpu-arch", Meaning: "a library has no code for this GPU"},
		{Name: "gpu-p2p", Meaning: "GPUs of a node have no direct access to each other"},
		{Name: "gpu-peer-limit", Meaning: "more GPUs than CUDA maps as peers of one"},
		{Name: "local-rank", Meaning: "two ranks on one GPU, or a local rank that doesn't fit the GPUs"},
		{Name: "fabric-manager", Meaning: "the fabric manager of NVSwitch isn't running, or doesn't fit"},
		{Name: "driver-too-old", Meaning: "the GPU's driver is older than the CUDA libraries need"},
		{Name: "cuda-build", Meaning: "a library was built for another release of CUDA"},
		{Name: "shm-too-small", Meaning: "/dev/shm is too small or full"},
		{Name: "shm-permissions", Meaning: "the user may not write to /dev/shm"},
		{Name: "gpu-ipc", Meaning: "memory of a GPU can't be shared between processes"},
		{Name: "file-limit", Meaning: "the limit of open files is too small"},
		{Name: "host-memory", Meaning: "the node, or a container's limit, has no memory left, or none in one piece"},
		{Name: "process-crash", Meaning: "a process crashed in native code"},
		{Name: "session-closed", Meaning: "the terminal of the launcher was closed"},
		{Name: "job-cancelled", Meaning: "a scheduler or a person ended the job"},
		{Name: "dead-node", Meaning: "a node of the job failed"},
		{Name: "port-in-use", Meaning: "another process listens on the port of the rendezvous"},
		{Name: "name-resolution", Meaning: "the name of a node has no address"},
		{Name: "not-enough-gpus", Meaning: "the cluster has fewer GPUs than the job asks for"},
		{Name: "wrong-device", Meaning: "a device is named that the node doesn't have"},
		{Name: "no-nvswitch", Meaning: "a machine without NVSwitch, which needs no fabric manager"},
		{Name: "memory-range", Meaning: "the range to register isn't ordinary memory"},
		{Name: "kv-lease", Meaning: "prefill frees blocks of its cache before decode has read them"},
		{Name: "plugin-mtu", Meaning: "a plugin asks for an MTU that the port doesn't have"},
		{Name: "port-down", Meaning: "the port isn't active"},
		{Name: "sriov-off", Meaning: "SR-IOV is off in firmware or BIOS"},
		{Name: "process-limit", Meaning: "the limit of threads or processes is too low"},
		{Name: "shm-not-shared", Meaning: "ranks of one node have different /dev/shm"},
		{Name: "hostname-shared", Meaning: "nodes have the same host name, or processes of one node different ones"},
		{Name: "netns-split", Meaning: "processes of one host in different network namespaces"},
		{Name: "gpu-exclusive", Meaning: "the GPU is in exclusive mode and taken"},
		{Name: "driver-mismatch", Meaning: "the libraries of the GPU's driver don't fit its kernel module"},
		{Name: "hsa-ipc-mode", Meaning: "HSA's legacy IPC mode doesn't work here"},
		{Name: "cumem", Meaning: "CUDA's virtual memory functions don't work here"},
		{Name: "cumem-host-peer", Meaning: "shared host memory by cuMem needs peer access of the GPUs"},
		{Name: "imex", Meaning: "IMEX service or channels are missing"},
		{Name: "gdrcopy", Meaning: "GDRCopy's module is missing or doesn't fit"},
		{Name: "sharp", Meaning: "SHARP's aggregation manager isn't in order"},
		{Name: "sharp-port", Meaning: "SHARP can't use the port"},
		{Name: "efa-setup", Meaning: "EFA driver, libfabric and plugin don't fit together"},
		{Name: "gin-unsupported", Meaning: "no GPU-initiated networking here"},
		{Name: "devices-differ", Meaning: "nodes or ranks see different devices"},
		{Name: "topology-view", Meaning: "the PCI topology is hidden or odd"},
		{Name: "topology-file", Meaning: "a topology file is missing, broken or of another machine"},
		{Name: "topology-defect", Meaning: "the release doesn't know such a machine"},
		{Name: "setting-invalid", Meaning: "a setting is misspelt, or has a value that can't work"},
		{Name: "launcher-ranks", Meaning: "the launcher's ranks, sizes or addresses don't fit"},
		{Name: "program-usage", Meaning: "the program calls a library wrongly"},
		{Name: "library-defect", Meaning: "a defect of the release, without a name"},
		// software around the network
		{Name: "shm-limit", Meaning: "limits of System V shared memory"},
		{Name: "ipc-namespace", Meaning: "ranks of a node in containers without common namespaces"},
		{Name: "ptrace-scope", Meaning: "reading another process's memory (CMA) is not permitted"},
		{Name: "driver-option", Meaning: "an option of a driver is missing"},
		{Name: "driver-userspace-mismatch", Meaning: "rdma-core doesn't fit the kernel's driver"},
		{Name: "library-conflict", Meaning: "libraries of different releases in one process"},
		{Name: "build-options", Meaning: "a library was built without an option that is needed"},
		{Name: "no-cuda-support", Meaning: "the library runs without its CUDA modules"},
		{Name: "gpu-memory-kind", Meaning: "GPU memory of an allocator that can't be registered or shared"},
		{Name: "pkey", Meaning: "partition key missing, or a limited membership"},
		{Name: "fork-unsafe", Meaning: "the program forks without fork support"},
		{Name: "server-unreachable", Meaning: "a metadata server isn't started, or not reachable"},
		{Name: "stale-metadata", Meaning: "a metadata server has old entries, or lost them"},
		{Name: "name-taken", Meaning: "two processes have the same name"},
		{Name: "kernel-config", Meaning: "the kernel was built without an option"},
		{Name: "library-too-old", Meaning: "a library is older than the program needs"},
		{Name: "stale-shm", Meaning: "files of ended jobs in /dev/shm are in the way"},
		{Name: "launcher", Meaning: "the batch system and MPI don't share a process manager"},
		{Name: "openib-unused", Meaning: "Open MPI's openib BTL isn't meant for the device any more"},
		{Name: "openib-queues", Meaning: "receive queues of Open MPI's openib BTL that don't suit the device"},
		{Name: "thread-safety", Meaning: "several threads use what is made for one"},
		{Name: "signal-handler", Meaning: "a library catches a signal that the program's run-time uses"},
		{Name: "signal-interrupts", Meaning: "signals interrupt a call again and again"},
		{Name: "vni", Meaning: "no virtual network on Slingshot, or no resources of its service"},
		{Name: "nobody-listens", Meaning: "nobody listens on that port, or the program refuses the connection"},
		{Name: "device-limit", Meaning: "more inline data, depth or scatter entries than the device has"},
		{Name: "no-hugepages", Meaning: "no huge pages are reserved, or too few"},
		{Name: "module-missing", Meaning: "a kernel module isn't loaded, or the device has another driver"},
		{Name: "fork-support", Meaning: "fork support of libibverbs can't be set up"},
		{Name: "port-link-type", Meaning: "the port is in InfiniBand mode where Ethernet is needed, or the reverse"},
		{Name: "interface-unsupported", Meaning: "the program can't use this kind of interface: VLAN, bond, bridge"},
		{Name: "flow-steering-off", Meaning: "flow steering of the card is off"},
		{Name: "target-refuses", Meaning: "a storage target's configuration refuses the host"},
		{Name: "host-nqn", Meaning: "the host's NQN is missing, or doesn't fit its host ID"},
		{Name: "duplicate-guid", Meaning: "two nodes of the fabric have the same GUID"},
		{Name: "mkey", Meaning: "a management key protects the node"},
		{Name: "sm-conflict", Meaning: "two subnet managers don't agree"},
		{Name: "multicast-group", Meaning: "rate, MTU or other values of a multicast group don't fit the port"},
		{Name: "routing-engine", Meaning: "the subnet manager's routing engine doesn't fit the topology"},
		{Name: "interface-not-ready", Meaning: "the interface isn't there yet, is down, or has no address"},
		{Name: "module-build", Meaning: "a kernel module was built against another RDMA stack or kernel"},
		{Name: "module-signature", Meaning: "a kernel module isn't signed with a trusted key"},
		{Name: "rdma-off", Meaning: "RDMA is switched off in the card's configuration"},
		{Name: "ipv6-off", Meaning: "IPv6 is off, and the driver needs it"},
		{Name: "host-hardware", Meaning: "memory or CPU of the node is defective"},
		// symptoms: programs, containers, Kubernetes
		{Name: "virtualized-gpu", Meaning: "the GPU is virtual, or passed through without that feature"},
		{Name: "gda-needs-mlx5", Meaning: "the GPU drives queues of ConnectX cards only"},
		{Name: "heap-too-small", Meaning: "the symmetric heap is too small"},
		{Name: "gpu-visibility", Meaning: "a process sees only its own GPU of the node"},
		{Name: "deepep-arguments", Meaning: "tensors of a shape, type or size that DeepEP's kernels don't take"},
		{Name: "deepep-rank-count", Meaning: "a number of ranks that DeepEP has no kernels for"},
		// Kubernetes and containers
		{Name: "vf-gone", Meaning: "virtual functions were removed or made again"},
		{Name: "vf-leaked", Meaning: "a virtual function is still in the namespace of a former pod"},
		{Name: "cni-for-ethernet", Meaning: "a network plugin for Ethernet on an InfiniBand port"},
		{Name: "vlan-trunk", Meaning: "a VLAN trunk excludes a single VLAN"},
		{Name: "switchdev", Meaning: "the card is in switchdev mode"},
		{Name: "old-card", Meaning: "a ConnectX-3, whose driver lacks what the program needs"},
		{Name: "same-device-twice", Meaning: "a device is given to two users"},
		{Name: "resource-annotation", Meaning: "a network names no resource, or another one than the pod"},
		{Name: "resource-not-requested", Meaning: "the pod doesn't ask for the device of its network"},
		{Name: "pod-resources-socket", Meaning: "the kubelet's pod-resources socket isn't reachable"},
		{Name: "cni-not-ready", Meaning: "the cluster's default network isn't ready"},
		{Name: "nad-missing", Meaning: "a NetworkAttachmentDefinition is missing"},
		{Name: "nad-namespace", Meaning: "a NetworkAttachmentDefinition is in another namespace"},
		{Name: "multus-daemon", Meaning: "the daemon of Multus isn't running"},
		{Name: "multus-token", Meaning: "the token of Multus has expired"},
		{Name: "host-interface", Meaning: "an interface is named that this node does not have"},
		{Name: "host-device-taken", Meaning: "the interface is already in another pod"},
		{Name: "interface-taken", Meaning: "the interface belongs to a bond, a bridge or links of another kind"},
		{Name: "ipam-leak", Meaning: "addresses of pods that are gone weren't given back"},
		{Name: "ipam-range", Meaning: "the range of addresses is too small"},
		{Name: "ipam-daemon", Meaning: "the daemon of an address plugin isn't running"},
		{Name: "ipam-pool", Meaning: "a pool of addresses is missing for the node"},
		{Name: "ipam-contention", Meaning: "many pods wait for addresses at once"},
		{Name: "ipam-type", Meaning: "an address plugin that the network plugin does not support"},
		{Name: "roce-off", Meaning: "RoCE is off for the device"},
		{Name: "plugin-before-driver", Meaning: "the device plugin started before the driver"},
		{Name: "plugin-config", Meaning: "the configuration of a device plugin is wrong"},
		{Name: "no-efa", Meaning: "the instance has no EFA interface"},
		{Name: "kubelet-folder", Meaning: "the kubelet's folder isn't mounted"},
		{Name: "resource-name", Meaning: "the name of a resource is invalid or taken"},
		{Name: "firmware-tool-old", Meaning: "the tool for the firmware is too old for the card"},
		{Name: "kernel-lockdown", Meaning: "the kernel is locked down by secure boot"},
		{Name: "pci-resources", Meaning: "no PCI address space or bus numbers for the functions"},
		{Name: "policy-mismatch", Meaning: "an object of an operator doesn't fit the node"},
		{Name: "card-unsupported", Meaning: "the operator doesn't know the card"},
		{Name: "card-without-rdma", Meaning: "the node has no RDMA card"},
		{Name: "drain-blocked", Meaning: "a node can't be drained"},
		{Name: "webhook-down", Meaning: "a webhook isn't reachable"},
		{Name: "dpu-mode", Meaning: "a BlueField in DPU mode"},
		{Name: "storage-in-use", Meaning: "storage over RDMA uses the modules"},
		{Name: "peermem-in-use", Meaning: "nvidia-peermem uses the modules"},
		{Name: "third-party-in-use", Meaning: "modules of others use ib_core"},
		{Name: "gpu-driver-in-use", Meaning: "the GPU's driver is in use"},
		{Name: "kernel-headers", Meaning: "headers of the running kernel are not available"},
		{Name: "entitlement", Meaning: "a container without subscription for packages"},
		{Name: "no-repository", Meaning: "a package repository isn't reachable"},
		{Name: "driver-kernel", Meaning: "the driver doesn't support the kernel"},
		{Name: "driver-restart", Meaning: "the driver's modules can't be replaced"},
		{Name: "driver-toolkit", Meaning: "OpenShift's driver toolkit did not build"},
		{Name: "mofed-host", Meaning: "the GPU operator waits for a pod with the driver that the host has"},
		{Name: "mofed-not-ready", Meaning: "the driver pod of the network operator isn't ready"},
		{Name: "mofed-missing", Meaning: "ib_core without peer memory interface"},
		{Name: "plugin-away", Meaning: "a device plugin isn't running"},
		{Name: "device-unhealthy", Meaning: "a device plugin reports devices as unhealthy"},
		{Name: "resource-in-use", Meaning: "other pods have the devices"},
		{Name: "resource-not-offered", Meaning: "no node offers the resource"},
		{Name: "topology-manager", Meaning: "no NUMA node has all devices of the pod"},
		{Name: "imex-on-host", Meaning: "the IMEX service of the host has the session"},
		{Name: "missing-workers", Meaning: "fewer pods of a job are placed than it expects"},
		{Name: "cdi-off", Meaning: "the runtime doesn't apply CDI"},
		{Name: "cdi-spec", Meaning: "a CDI specification is missing or stale"},
		{Name: "driver-not-loaded", Meaning: "the driver isn't installed or loaded"},
		{Name: "cgroup-version", Meaning: "control groups don't fit the container toolkit"},
		{Name: "cgroup-reload", Meaning: "a reload of systemd took a container's devices away"},
		{Name: "driver-in-image", Meaning: "the image contains libraries of the driver"},
		{Name: "runtime-mode", Meaning: "the container toolkit is in another mode"},
		{Name: "no-toolkit", Meaning: "the container toolkit isn't installed or configured"},
		{Name: "ssh-keys", Meaning: "a key of ssh is not accepted"},
		{Name: "sshd-missing", Meaning: "sshd isn't running"},
		{Name: "workers-not-ready", Meaning: "workers aren't ready when the launcher starts"},
		{Name: "enroot-old", Meaning: "Enroot's hook for RDMA doesn't fit the node"},
		{Name: "user-namespaces", Meaning: "user namespaces are off"},
		{Name: "nic-slot-taken", Meaning: "another network has the slot of a GPU's card"},
		{Name: "sysfs-hidden", Meaning: "a container does not see all of /sys"},
		{Name: "driver-image", Meaning: "a defect of a driver container's image"},
		{Name: "driver-slow", Meaning: "a driver is still being compiled"},
		{Name: "ib-subnet-manager", Meaning: "the manager of GUIDs and partition keys can't reach the subnet manager"},
		{Name: "multus-leftover", Meaning: "the configuration of a removed network plugin is left"},
		{Name: "adaptive-routing", Meaning: "adaptive routing reorders packets that a program expects in order"},
		{Name: "image", Meaning: "an image can't be fetched or read"},
		// defects
		{Name: "defect:nccl-mtu-negotiation", Meaning: "NCCL 2.20 to 2.29 doesn't agree on a path MTU"},
		{Name: "defect:nccl-aarch64-hang", Meaning: "NCCL before 2.29.3 loses proxy slots on aarch64"},
		{Name: "defect:nccl-gid-version-read", Meaning: "NCCL 2.23 to 2.25 fails on a sparse GID table"},
		{Name: "defect:nccl-registered-flag", Meaning: "NCCL erases the flag of registered buffers"},
		{Name: "defect:nccl-resiliency-gid", Meaning: "NCCL 2.30 recovers a port with the old GID index"},
		{Name: "defect:nccl-resiliency-cts", Meaning: "NCCL 2.28.9 to 2.30.7 retrieves unused requests"},
		{Name: "defect:nccl-gin-mtu", Meaning: "NCCL GIN (GDAKI) uses MTU 4096 on every port"},
		{Name: "defect:nccl-gin-grh", Meaning: "NCCL GIN (GDAKI) sends no GRH"},
		{Name: "defect:nccl-gin-traffic-class", Meaning: "NCCL GIN (GDAKI) doesn't inherit the traffic class"},
		{Name: "defect:nccl-e810-lid", Meaning: "NCCL before 2.12 takes an E810 for InfiniBand"},
		{Name: "defect:nccl-async-event", Meaning: "NCCL 2.23 to 2.27 doesn't know the GID event"},
		{Name: "defect:rccl-flush", Meaning: "RCCL drops of summer 2026 break the flush of GPU writes"},
		{Name: "defect:nvshmem-deepep-layout", Meaning: "NVSHMEM 3.5.19 or later with a DeepEP before its fix"},
		{Name: "defect:nvshmem-ah", Meaning: "NVSHMEM until 3.4.5 passes an uninitialised attribute"},
		{Name: "defect:sriov-cni-netlink-length", Meaning: "a length that newer kernels refuse"},
		{Name: "defect:nvshmem-bootstrap-order", Meaning: "NVSHMEM's bootstrap mixes up messages on busy nodes"},
		{Name: "defect:rxe-5.10", Meaning: "the rxe driver of Linux 5.10 reports protection errors"},
		{Name: "defect:openmpi-exp-query", Meaning: "Open MPI before 3.1.4 asks experimental verbs wrongly"},
		{Name: "defect:nfs-rdma-v4", Meaning: "NFS v4 over RDMA of some kernels overruns its buffers"},
		{Name: "defect:ibstat-rate", Meaning: "libibumad before release 16 fails on a port without a cable"},
		{Name: "defect:flashinfer-hang", Meaning: "a FlashInfer release hangs in a MoE kernel"},
		{Name: "defect:nccl-shared-memory-size", Meaning: "NCCL before 2.26.2 asks for too much shared memory"},
		{Name: "defect:nccl-cumem-host", Meaning: "NCCL 2.24 to 2.26.2 takes host memory by NUMA node"},
		{Name: "defect:nccl-uds-split", Meaning: "NCCL 2.20.3 binds the same Unix socket twice after a split"},
		{Name: "defect:nccl-fp8-algorithm", Meaning: "NCCL before 2.29.2 finds no algorithm for FP8"},
		{Name: "defect:libfabric-sync-memops", Meaning: "libfabric before EFA installer 1.29.1 with NCCL 2.19"},
	}
}

// slugOf returns the slug with that name.
func slugOf(name string) (Slug, bool) {
	for _, s := range Slugs() {
		if s.Name == name {
			return s, true
		}
	}
	return Slug{}, false
}

// SlugTable returns the table of all slugs with the cases that accept each, as Markdown.
func SlugTable(cases []Case) string {
	var b strings.Builder
	b.WriteString("| slug | meaning | accepted in | only as a candidate in |\n|---|---|---|---|\n")
	for _, s := range Slugs() {
		meaning := s.Meaning
		if s.Note {
			meaning += " (a remark)"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, meaning,
			idsWith(cases, func(c *Case) bool { return slices.Contains(c.Causes, s.Name) }),
			idsWith(cases, func(c *Case) bool { return slices.Contains(c.Candidates, s.Name) }))
	}
	return b.String()
}

func idsWith(cases []Case, match func(*Case) bool) string {
	var ids []string
	for i := range cases {
		if match(&cases[i]) {
			ids = append(ids, cases[i].ID)
		}
	}
	if len(ids) == 0 {
		return "–"
	}
	return strings.Join(ids, " ")
}
