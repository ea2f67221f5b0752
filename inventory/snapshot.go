package inventory

import (
	"fmt"
	"time"
)

// Schema is the version of the JSON form of a [Snapshot]. New fields may be added within
// a version; removing a field or changing its meaning requires a new one. docs/schema.md
// describes it.
const Schema = "rdmakit.inventory/v1"

// Snapshot is the state of one node, as far as it could be read. It is plain data that can
// be marshaled to JSON and compared with go-cmp. Lists are sorted (devices and network
// devices by name in natural order, functions by address), so equal nodes give equal
// snapshots.
type Snapshot struct {
	Schema  string    `json:"schema"`         // name and version of this form
	Taken   time.Time `json:"taken,omitzero"` // absent if the scan had no clock
	Host    Host      `json:"host"`           // the machine, its kernel and limits
	Devices []Device  `json:"devices"`        // RDMA devices, hardware and software
	Netdevs []Netdev  `json:"netdevs"`        // network devices
	GPUs    []GPU     `json:"gpus"`           // GPUs and accelerators
	// Cards are all PCI functions that could be RDMA cards, with or without a driver, an RDMA
	// module or an RDMA device.
	Cards []Card `json:"cards"`
	// Problems are the errors of what could not be read, the same as in the error of Scan.
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is an existing path that could not be read or parsed.
type Problem struct {
	Path  string `json:"path"`  // absolute path on the node
	Error string `json:"error"` // the cause, without the path
}

// Host is the data about the node as a whole.
type Host struct {
	Name   string `json:"name,omitempty"`   // /proc/sys/kernel/hostname
	Kernel string `json:"kernel,omitempty"` // /proc/sys/kernel/osrelease
	// Container is nil on a bare host or virtual machine.
	Container *Container `json:"container,omitempty"`
	Modules   []Module   `json:"modules,omitempty"` // kernel modules of RDMA and GPUs
	Memlock   *Memlock   `json:"memlock,omitempty"` // nil if /proc/self/limits didn't exist
	// NetnsMode is unknown if there was no result of a netlink query.
	NetnsMode     NetnsMode      `json:"netnsMode,omitempty"`
	DefaultRoutes []DefaultRoute `json:"defaultRoutes,omitempty"` // by metric, lowest first
	Userspace     Userspace      `json:"userspace"`
	// RDMACM is the character device of librdmacm; nil if there is none.
	RDMACM *CharDevice `json:"rdmaCM,omitempty"`
	// DevInfiniBand reports whether the directory /dev/infiniband exists; it is valid only if
	// DevVisible reports that /dev exists.
	DevInfiniBand bool `json:"devInfiniBand"`
	DevVisible    bool `json:"devVisible"`
	// VerbsVisible reports whether /sys/class/infiniband_verbs exists: without entries, no program
	// can open an RDMA device.
	VerbsVisible bool `json:"verbsVisible,omitempty"`
	// PCIVisible reports whether /sys/bus/pci/devices has entries.
	PCIVisible bool `json:"pciVisible"`
}

// Container describes the container in which the node was scanned.
type Container struct {
	Runtime    string `json:"runtime,omitempty"` // docker, podman, containerd, lxc … or "" if unknown
	Kubernetes bool   `json:"kubernetes"`        // a service account is mounted, or the control group is of Kubernetes
	Evidence   string `json:"evidence"`          // path = value that shows it
}

// Module is a kernel module that is loaded or built in (/sys/module, /proc/modules).
type Module struct {
	Name    string `json:"name"`              // mlx5_ib
	Version string `json:"version,omitempty"` // /sys/module/NAME/version; most in-tree modules have none
}

// Memlock is the limit of locked memory of the scanning process, which the processes
// that it starts inherit (/proc/self/limits).
type Memlock struct {
	Soft Limit `json:"soft"` // effective limit
	Hard Limit `json:"hard"` // maximum to which a process may raise it
	// IPCLock reports whether CAP_IPC_LOCK is effective, which removes the limit; nil if
	// /proc/self/status didn't exist.
	IPCLock *bool `json:"ipcLock,omitempty"`
}

// Limit is a resource limit in bytes.
type Limit struct {
	Bytes     uint64 `json:"bytes"`     // 0 if unlimited
	Unlimited bool   `json:"unlimited"` // there is no limit, and Bytes is not valid
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
	Netdev  string `json:"netdev"`            // output network device
	Gateway string `json:"gateway,omitempty"` // address of the router, "" for none
	Metric  uint32 `json:"metric"`            // the route with the lowest metric is used
}

// Userspace has the user-space libraries that verbs programs need.
type Userspace struct {
	Libibverbs string `json:"libibverbs,omitempty"` // path of the library, "" if not found
	Librdmacm  string `json:"librdmacm,omitempty"`  // path of the library, "" if not found
	// Names of provider libraries: mlx5, rxe, siw …
	Providers []string `json:"providers,omitempty"`
	// Searched reports whether there were library folders to search. Most recorded trees have
	// none; then it is unknown whether the libraries are installed.
	Searched bool `json:"searched"`
}

// CharDevice is a character device of the RDMA stack.
type CharDevice struct {
	Name string `json:"name"`           // uverbs0, umad0, issm0, rdma_cm
	Path string `json:"path"`           // /dev/infiniband/uverbs0
	Node bool   `json:"node"`           // reports whether the path exists
	ABI  *int   `json:"abi,omitempty"`  // class/infiniband_verbs/uverbsN/abi_version
	Port int    `json:"port,omitempty"` // umad and issm only
	// OpenError is the error of opening the device; "" if it was opened or not tried
	// (see Opened).
	OpenError string `json:"openError,omitempty"`
	Opened    *bool  `json:"opened,omitempty"` // nil: not tried
}
