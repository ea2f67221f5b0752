package sysfs

// Names of the kernel's files and folders, relative to the root of a node.
const (
	ClassInfiniBand      = "sys/class/infiniband"       // RDMA devices, of any transport
	ClassInfiniBandVerbs = "sys/class/infiniband_verbs" // uverbs devices
	ClassInfiniBandMAD   = "sys/class/infiniband_mad"   // umad and issm devices
	ClassNet             = "sys/class/net"              // network devices
	BusPCIDevices        = "sys/bus/pci/devices"        // PCI functions
	ModuleDir            = "sys/module"                 // kernel modules, loaded or built in
	NUMANodes            = "sys/devices/system/node"    // online, node0/cpulist
	Dev                  = "dev"                        // device files
	DevInfiniBand        = "dev/infiniband"             // device files of RDMA
	ProcHostname         = "proc/sys/kernel/hostname"   // host name
	ProcOSRelease        = "proc/sys/kernel/osrelease"  // kernel release, as uname -r
	ProcModules          = "proc/modules"               // loaded modules
	ProcSelfLimits       = "proc/self/limits"           // resource limits of this process
	ProcSelfStatus       = "proc/self/status"           // capabilities etc. of this process
	ProcBootID           = "proc/sys/kernel/random/boot_id"
	ProcSelfNetNS        = "proc/self/ns/net"          // network namespace of this process, a symbolic link
	ProcSelfCgroup       = "proc/self/cgroup"          // control groups of this process
	ProcNetRoute         = "proc/net/route"            // routes of IPv4
	ProcNetIPv6Route     = "proc/net/ipv6_route"       // routes of IPv6
	ProcNetUDP           = "proc/net/udp"              // sockets of UDP over IPv4
	ProcNetUDP6          = "proc/net/udp6"             // sockets of UDP over IPv6
	Proc                 = "proc"                      // processes
	ConfigRDMACM         = "sys/kernel/config/rdma_cm" // settings of rdma_cm by device and port
	ProcIPv4Conf         = "proc/sys/net/ipv4/conf"    // settings of network devices, and all/
	ProcNeighIPv4        = "proc/sys/net/ipv4/neigh/default"
	ProcReceiveBuffer    = "proc/sys/net/core/rmem_max" // largest receive buffer of a socket
	ProcSendBuffer       = "proc/sys/net/core/wmem_max" // largest send buffer of a socket
	ProcTCPReceive       = "proc/sys/net/ipv4/tcp_rmem" // receive buffers of TCP: least, default, most
	ProcIPTablesNames    = "proc/net/ip_tables_names"   // tables of iptables without nf_tables
	DebugMlx5            = "sys/kernel/debug/mlx5"      // state of mlx5 functions, by PCI address
	ConfigBnxtRe         = "sys/kernel/config/bnxt_re"  // settings of Broadcom's bnxt_re by device and port
	Hosts                = "etc/hosts"                  // addresses of names, hosts(5)
	NSSwitch             = "etc/nsswitch.conf"          // where names are looked up, nsswitch.conf(5)
	EtcNCCL              = "etc/nccl.conf"              // NCCL's variables for all jobs of the host
	EtcUCX               = "etc/ucx/ucx.conf"           // UCX's variables for all jobs of the host
)

// Files of the machine that decide whether its devices reach each other and how fast.
const (
	ProcCPUInfo    = "proc/cpuinfo"                                         // flags of the CPUs
	ProcUptime     = "proc/uptime"                                          // seconds since boot
	ProcNVIDIA     = "proc/driver/nvidia"                                   // version, gpus/*/information
	DMI            = "sys/devices/virtual/dmi/id"                           // sys_vendor, product_name
	HypervisorType = "sys/hypervisor/type"                                  // "xen"
	MemoryPeers    = "sys/kernel/mm/memory_peers"                           // clients of peer memory
	HugePageMode   = "sys/kernel/mm/transparent_hugepage/enabled"           // [always] madvise never
	ClockSource    = "sys/devices/system/clocksource/clocksource0"          // current_, available_clocksource
	CPUGovernor    = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor" // performance, powersave, …
	CPUIdleStates  = "sys/devices/system/cpu/cpu0/cpuidle/state*"           // a pattern: latency, disable
	NUMABalancing  = "proc/sys/kernel/numa_balancing"                       // moves pages between nodes
	CgroupRoot     = "sys/fs/cgroup"                                        // control groups, version 2
	SystemdConfig  = "etc/systemd/system.conf"                              // settings of systemd
	SecurityLimits = "etc/security/limits.conf"                             // limits of logins (pam_limits)
)

// Files that container runtimes create.
const (
	DockerEnv    = ".dockerenv"        // Docker
	ContainerEnv = "run/.containerenv" // Podman and other users of its libraries
	// Usually /var/run is an absolute link to /run, which a Root doesn't follow.
	KubernetesServiceAccount = "var/run/secrets/kubernetes.io/serviceaccount"
	// Kubernetes, if /var/run is a link
	KubernetesServiceAccountRun = "run/secrets/kubernetes.io/serviceaccount"
)

// LibraryDirs are the folders in which distributions install libibverbs.
var LibraryDirs = []string{
	"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib",
	"usr/local/lib", "lib/x86_64-linux-gnu", "lib64", "lib",
}

// MachineFiles describe hardware and settings of a machine besides its RDMA devices. None
// of them identifies the machine: serial numbers are in other files of the same folders.
var MachineFiles = []string{
	"sys/devices/system/node/online", "sys/devices/system/cpu/online", "sys/hypervisor/type",
	"sys/devices/virtual/dmi/id/sys_vendor", "sys/devices/virtual/dmi/id/product_name",
	"sys/devices/virtual/dmi/id/bios_version", "sys/kernel/mm/transparent_hugepage/enabled",
	"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
}
