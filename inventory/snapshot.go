package inventory

import (
	"fmt"
	"time"
)

// Schema is the version of the JSON form of a [Snapshot]. A field may be added
// within a version; one that is removed or changes its meaning makes a new one.
// docs/schema.md describes it.
const Schema = "rdmakit.inventory/v1"

// Snapshot is what one node is, as far as it could be read. It is plain data:
// it marshals to JSON, compares with go-cmp, and never changes by itself. Lists
// are sorted (devices and netdevs by name in natural order, functions by
// address), so equal nodes give equal snapshots.
type Snapshot struct {
	Schema  string    `json:"schema"`         // name and version of this form
	Taken   time.Time `json:"taken,omitzero"` // absent when the scan had no clock
	Host    Host      `json:"host"`           // the machine, its kernel and limits
	Devices []Device  `json:"devices"`        // RDMA devices, hardware and software
	Netdevs []Netdev  `json:"netdevs"`        // network devices
	GPUs    []GPU     `json:"gpus"`           // GPUs and accelerators
	// Cards holds every PCI function that could be an RDMA card, with or
	// without a driver, an RDMA module or a device of its own.
	Cards []Card `json:"cards"`
	// Problems lists what could not be read; it holds the same as the error of Scan.
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is a path that existed and could not be read or understood.
type Problem struct {
	Path  string `json:"path"`  // absolute path on the node
	Error string `json:"error"` // the cause, without the path
}

// Host is what concerns the node as a whole.
type Host struct {
	Name   string `json:"name,omitempty"`   // /proc/sys/kernel/hostname
	Kernel string `json:"kernel,omitempty"` // /proc/sys/kernel/osrelease
	// Container is nil on a bare host or virtual machine.
	Container *Container `json:"container,omitempty"`
	Modules   []Module   `json:"modules,omitempty"` // those that matter to RDMA and GPUs
	Memlock   *Memlock   `json:"memlock,omitempty"` // nil: /proc/self/limits was not there
	// NetnsMode is unknown when no live netlink answer was at hand.
	NetnsMode     NetnsMode      `json:"netnsMode,omitempty"`
	DefaultRoutes []DefaultRoute `json:"defaultRoutes,omitempty"` // by metric, lowest first
	Userspace     Userspace      `json:"userspace"`
	// RDMACM is the character device of librdmacm; nil without one.
	RDMACM *CharDevice `json:"rdmaCM,omitempty"`
	// DevInfiniBand reports whether the directory /dev/infiniband exists; it says
	// nothing unless DevVisible tells that there is a /dev to look in.
	DevInfiniBand bool `json:"devInfiniBand"`
	DevVisible    bool `json:"devVisible"`
	// PCIVisible reports whether /sys/bus/pci/devices has entries.
	PCIVisible bool `json:"pciVisible"`
}

// Container tells that the node is seen from inside a container.
type Container struct {
	Runtime    string `json:"runtime,omitempty"` // docker, podman, containerd, lxc … or "" when only the fact is known
	Kubernetes bool   `json:"kubernetes"`        // a service account is mounted, or the control group says so
	Evidence   string `json:"evidence"`          // path = value that shows it
}

// Module is a kernel module that is loaded or built in (/sys/module, /proc/modules).
type Module struct {
	Name    string `json:"name"`              // mlx5_ib
	Version string `json:"version,omitempty"` // /sys/module/NAME/version; in-tree modules mostly have none
}

// Memlock is the limit of locked memory of the scanning process, which a
// process that it starts inherits (/proc/self/limits).
type Memlock struct {
	Soft Limit `json:"soft"` // that counts
	Hard Limit `json:"hard"` // to which a process may raise it
	// IPCLock reports whether CAP_IPC_LOCK is effective, which lifts the limit; nil
	// when /proc/self/status was not there.
	IPCLock *bool `json:"ipcLock,omitempty"`
}

// Limit is a resource limit in bytes.
type Limit struct {
	Bytes     uint64 `json:"bytes"`     // 0 when unlimited
	Unlimited bool   `json:"unlimited"` // Bytes does not count then
}

// String returns a limit as people say it: unlimited, 64 KiB, 8 MiB, 1.9 GiB.
func (l Limit) String() string {
	if l.Unlimited {
		return "unlimited"
	}
	units := [...]string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	unit := 0
	for unit < len(units)-1 && l.Bytes>>(10*(unit+1)) > 0 {
		unit++
	}
	whole, rest := l.Bytes>>(10*unit), l.Bytes&(1<<(10*unit)-1)
	if rest == 0 || unit == 0 {
		return fmt.Sprintf("%d %s", whole, units[unit])
	}
	// Never more than there is: a limit just below 1 GiB isn't 1 GiB.
	return fmt.Sprintf("%d.%d %s", whole, rest>>(10*(unit-1))*10>>10, units[unit])
}

// DefaultRoute is a default route of the main table (/proc/net/route, /proc/net/ipv6_route).
type DefaultRoute struct {
	Family  string `json:"family"`            // "ipv4" or "ipv6"
	Netdev  string `json:"netdev"`            // the device that packets leave by
	Gateway string `json:"gateway,omitempty"` // address of the router, "" for none
	Metric  uint32 `json:"metric"`            // the route with the lowest counts
}

// Userspace is what verbs programs need beside the kernel.
type Userspace struct {
	Libibverbs string `json:"libibverbs,omitempty"` // path of the library, "" when none was found
	Librdmacm  string `json:"librdmacm,omitempty"`  // path of the library, "" when none was found
	// Names of provider libraries: mlx5, rxe, siw …
	Providers []string `json:"providers,omitempty"`
	// Searched reports whether library folders existed to be looked in. A recorded
	// tree mostly has none, and then absence says nothing.
	Searched bool `json:"searched"`
}

// CharDevice is a character device of the RDMA stack.
type CharDevice struct {
	Name string `json:"name"`           // uverbs0, umad0, issm0, rdma_cm
	Path string `json:"path"`           // /dev/infiniband/uverbs0
	Node bool   `json:"node"`           // the path exists
	ABI  *int   `json:"abi,omitempty"`  // class/infiniband_verbs/uverbsN/abi_version
	Port int    `json:"port,omitempty"` // umad and issm only
	// OpenError is why opening failed; "" when it opened or was not tried
	// (Opened tells which).
	OpenError string `json:"openError,omitempty"`
	Opened    *bool  `json:"opened,omitempty"` // nil: not tried
}
