package inventory

import (
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Device is an RDMA device: an entry of /sys/class/infiniband.
type Device struct {
	Name        string   `json:"name"`
	Path        string   `json:"path"` // absolute class path: /sys/class/infiniband/NAME
	NodeType    NodeType `json:"nodeType"`
	Description string   `json:"description,omitempty"` // node_desc
	NodeGUID    *ib.GUID `json:"nodeGUID,omitempty"`
	SystemGUID  *ib.GUID `json:"systemGUID,omitempty"` // sys_image_guid: equal on all ports of one card
	Firmware    string   `json:"firmware,omitempty"`   // fw_ver
	HWRevision  string   `json:"hwRevision,omitempty"` // hw_rev
	HCAType     string   `json:"hcaType,omitempty"`    // hca_type
	BoardID     string   `json:"boardID,omitempty"`    // board_id (PSID)
	// Driver is the kernel driver of the PCI function (mlx5_core), or the
	// software driver (rxe, siw).
	Driver string `json:"driver,omitempty"`
	// Software is "rxe" or "siw" for a device without hardware, "" otherwise.
	Software string `json:"software,omitempty"`
	// Parent is the network device under a software device; "" when the kernel doesn't tell.
	Parent string  `json:"parent,omitempty"`
	PCI    *PCI    `json:"pci,omitempty"`   // nil for a software device
	SRIOV  *SRIOV  `json:"sriov,omitempty"` // nil when the function can't have VFs
	VF     *VFInfo `json:"vf,omitempty"`    // nil unless the device is a VF or sub-function
	Ports  []Port  `json:"ports"`
	// Chars are its uverbs, umad and issm devices.
	Chars []CharDevice `json:"chars,omitempty"`
	// Index is the kernel's device index, nil without nldev.
	Index *uint32 `json:"index,omitempty"`
}

// PCI is a PCI function (/sys/bus/pci/devices/ADDRESS).
type PCI struct {
	Address         string   `json:"address"` // 0000:18:00.0
	Path            string   `json:"path"`    // absolute: /sys/bus/pci/devices/ADDRESS
	VendorID        PCIID    `json:"vendorID"`
	DeviceID        PCIID    `json:"deviceID"`
	SubsystemVendor PCIID    `json:"subsystemVendor,omitempty"`
	SubsystemDevice PCIID    `json:"subsystemDevice,omitempty"`
	Class           PCIClass `json:"class"`
	Vendor          string   `json:"vendor,omitempty"`  // name from pci.ids, "" when unknown
	Product         string   `json:"product,omitempty"` // name from pci.ids, "" when unknown
	Driver          string   `json:"driver,omitempty"`  // "" when unbound
	NUMANode        *int     `json:"numaNode,omitempty"`
	LocalCPUs       string   `json:"localCPUs,omitempty"` // 0-55,112-167
	// Link speeds and widths; nil when the function doesn't tell (VFs, old kernels).
	Link    *PCILink `json:"link,omitempty"`
	LinkMax *PCILink `json:"linkMax,omitempty"`
	// Chain is the way from the root complex down to the function's parent:
	// host bridge ("pci0000:10"), then bridge addresses.
	Chain []string `json:"chain,omitempty"`
}

// PCILink is the speed of a PCI Express link.
type PCILink struct {
	GTPerSecond float64 `json:"gtPerSecond"` // giga-transfers a second and lane: 2.5, 5, 8, 16, 32, 64
	Width       int     `json:"width"`       // lanes
}

// SRIOV is what a physical function says about its virtual functions.
type SRIOV struct {
	TotalVFs int  `json:"totalVFs"` // sriov_totalvfs: at most, by firmware
	NumVFs   int  `json:"numVFs"`   // sriov_numvfs: now
	VFs      []VF `json:"vfs,omitempty"`
}

// VF is a virtual function as its physical function sees it. The settings come
// from rtnetlink and are absent without it.
type VF struct {
	Index   int    `json:"index"`
	Address string `json:"address,omitempty"` // virtfnN; "" when the link dangles (moved to a virtual machine)
	Device  string `json:"device,omitempty"`  // RDMA device, "" when none is visible here
	VFSettings
}

// VFSettings are what a physical function has set for a virtual function
// (IFLA_VFINFO_LIST); a field is absent when the driver doesn't tell.
type VFSettings struct {
	MAC       string   `json:"mac,omitempty"`
	LinkState string   `json:"linkState,omitempty"` // auto, enable, disable
	Trust     *bool    `json:"trust,omitempty"`
	SpoofChk  *bool    `json:"spoofCheck,omitempty"`
	VLAN      *int     `json:"vlan,omitempty"`
	NodeGUID  *ib.GUID `json:"nodeGUID,omitempty"`
	PortGUID  *ib.GUID `json:"portGUID,omitempty"`
}

// VFInfo tells whose virtual function, or sub-function, a device is.
type VFInfo struct {
	// SubFunction tells that it has no PCI function of its own: it hangs on the
	// auxiliary bus below the PF (mlx5_core.sf.N).
	SubFunction   bool   `json:"subFunction,omitempty"`
	ParentAddress string `json:"parentAddress"`          // physfn; the PF's PCI address
	ParentDevice  string `json:"parentDevice,omitempty"` // RDMA device of the PF, "" when not visible (in a pod)
	Index         *int   `json:"index,omitempty"`        // nil when the PF is not visible
}

// Port is a port of an RDMA device (class/infiniband/DEV/ports/N).
type Port struct {
	Number    int       `json:"number"`
	Path      string    `json:"path"` // absolute: /sys/class/infiniband/DEV/ports/N
	State     PortState `json:"state"`
	PhysState PhysState `json:"physState"`
	LinkLayer LinkLayer `json:"linkLayer"`
	Transport Transport `json:"transport"`
	Rate      *Rate     `json:"rate,omitempty"`
	LID       *ib.LID   `json:"lid,omitempty"`
	LMC       *int      `json:"lmc,omitempty"` // lid_mask_count
	SMLID     *ib.LID   `json:"smLID,omitempty"`
	SMSL      *int      `json:"smSL,omitempty"`
	CapMask   *uint32   `json:"capMask,omitempty"`
	PKeys     []PKey    `json:"pkeys,omitempty"` // non-zero slots
	// GIDs are the filled slots of the table; GIDTableSize counts all slots, so
	// every index below it that is not in GIDs is a gap.
	GIDs         []GIDEntry `json:"gids,omitempty"`
	GIDTableSize int        `json:"gidTableSize"`
	// Netdev is the network device of the port: that of the first GID, or the
	// one that shares function and port number. "" when none is visible.
	Netdev string `json:"netdev,omitempty"`
	// ActiveMTU is derived from the network device on Ethernet (iboe_get_mtu);
	// 0 when unknown, as on InfiniBand, where only the device itself tells.
	ActiveMTU ib.MTU `json:"activeMTU,omitempty"`
	// Fabric is nil on Ethernet.
	Fabric     *Fabric `json:"fabric,omitempty"`
	Role       Role    `json:"role"`
	RoleReason string  `json:"roleReason"`
	// Rail counts the compute ports from 0 in the order of their nearest GPUs,
	// then of their PCI addresses; nil for other roles.
	Rail *int `json:"rail,omitempty"`
	// GPUs tells the distance to each GPU, nearest first, then by GPU index.
	GPUs []GPUDistance `json:"gpus,omitempty"`
}

// Rate is the signalling rate of a port.
type Rate struct {
	GbPerSecond float64 `json:"gbPerSecond"`          // of all lanes together, in 10^9 bits a second
	Width       int     `json:"width,omitempty"`      // lanes: 1, 2, 4, 8, 12; 0 when not told
	Generation  string  `json:"generation,omitempty"` // SDR DDR QDR FDR10 FDR EDR HDR NDR XDR
}

// PKey is a filled slot of the partition key table.
type PKey struct {
	Index int     `json:"index"`
	PKey  ib.PKey `json:"pkey"`
}

// GIDEntry is a filled slot of a port's GID table.
type GIDEntry struct {
	Index  int     `json:"index"`
	GID    ib.GID  `json:"gid"`
	Type   GIDType `json:"type"`             // unknown when the kernel answered EINVAL
	Netdev string  `json:"netdev,omitempty"` // gid_attrs/ndevs/N, "" on InfiniBand
}

// Fabric tells which InfiniBand subnet a port is on.
type Fabric struct {
	SubnetPrefix ib.SubnetPrefix `json:"subnetPrefix"`
	SMLID        ib.LID          `json:"smLID"` // 0: no subnet manager has been here
}

// GPUDistance is how far a GPU is from a port's card.
type GPUDistance struct {
	GPU      int         `json:"gpu"` // GPU.Index
	Distance PCIDistance `json:"distance"`
}
