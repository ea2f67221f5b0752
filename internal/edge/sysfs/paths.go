package sysfs

// Names of the kernel's files and folders, relative to the root of a node.
const (
	ClassInfiniBand      = "sys/class/infiniband"
	ClassInfiniBandVerbs = "sys/class/infiniband_verbs"
	ClassInfiniBandMAD   = "sys/class/infiniband_mad"
	ClassNet             = "sys/class/net"
	BusPCIDevices        = "sys/bus/pci/devices"
	ModuleDir            = "sys/module"
	Dev                  = "dev"
	DevInfiniBand        = "dev/infiniband"
	ProcHostname         = "proc/sys/kernel/hostname"
	ProcOSRelease        = "proc/sys/kernel/osrelease"
	ProcModules          = "proc/modules"
	ProcSelfLimits       = "proc/self/limits"
	ProcSelfStatus       = "proc/self/status"
	ProcSelfCgroup       = "proc/self/cgroup"
	ProcNetRoute         = "proc/net/route"
	ProcNetIPv6Route     = "proc/net/ipv6_route"
	ProcNetUDP           = "proc/net/udp"
	ProcNetUDP6          = "proc/net/udp6"
	Proc                 = "proc"
)

// Marks that container runtimes leave.
const (
	DockerEnv    = ".dockerenv"
	ContainerEnv = "run/.containerenv"
	// Mostly /var/run is a link to /run, and an absolute one, which no root follows.
	KubernetesServiceAccount    = "var/run/secrets/kubernetes.io/serviceaccount"
	KubernetesServiceAccountRun = "run/secrets/kubernetes.io/serviceaccount"
)

// LibraryDirs are the folders where distributions keep libibverbs.
var LibraryDirs = []string{
	"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib",
	"usr/local/lib", "lib/x86_64-linux-gnu", "lib64", "lib",
}

// MachineFiles tell how a machine is made and set up, beside its RDMA devices. None
// names the machine: serial numbers are other files of the same folders.
var MachineFiles = []string{
	"sys/devices/system/node/online", "sys/devices/system/cpu/online", "sys/hypervisor/type",
	"sys/devices/virtual/dmi/id/sys_vendor", "sys/devices/virtual/dmi/id/product_name", "sys/devices/virtual/dmi/id/bios_version",
	"sys/kernel/mm/transparent_hugepage/enabled",
	"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
}
