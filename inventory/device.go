package inventory

import (
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Device is an RDMA device: an entry of /sys/class/infiniband.
type Device struct {
	// As the kernel numbers or udev renames it: mlx5_0.
	Name string `json:"name"`
	Path string `json:"path"` // absolute class path: /sys/class/infiniband/NAME
	// NodeType is node_type: adapter of InfiniBand or RoCE, of iWARP, …
	NodeType    NodeType `json:"nodeType"`
	Description string   `json:"description,omitempty"` // node_desc
	NodeGUID    *ib.GUID `json:"nodeGUID,omitempty"`    // node_guid
	// SystemGUID is sys_image_guid: equal on all ports of one card.
	SystemGUID *ib.GUID `json:"systemGUID,omitempty"`
	Firmware   string   `json:"firmware,omitempty"`   // fw_ver
	HWRevision string   `json:"hwRevision,omitempty"` // hw_rev
	HCAType    string   `json:"hcaType,omitempty"`    // hca_type
	BoardID    string   `json:"boardID,omitempty"`    // board_id (PSID)
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
	Address  string `json:"address"`  // 0000:18:00.0
	Path     string `json:"path"`     // absolute: /sys/bus/pci/devices/ADDRESS
	VendorID PCIID  `json:"vendorID"` // vendor
	DeviceID PCIID  `json:"deviceID"` // device
	// SubsystemVendor is subsystem_vendor: who made the card.
	SubsystemVendor PCIID `json:"subsystemVendor,omitempty"`
	// SubsystemDevice is subsystem_device: that vendor's model.
	SubsystemDevice PCIID `json:"subsystemDevice,omitempty"`
	// Class, 24 bits; 0x0207 on top for InfiniBand controllers.
	Class   PCIClass `json:"class"`
	Vendor  string   `json:"vendor,omitempty"`  // name from pci.ids, "" when unknown
	Product string   `json:"product,omitempty"` // name from pci.ids, "" when unknown
	Driver  string   `json:"driver,omitempty"`  // "" when unbound
	// NUMANode is numa_node; nil where the kernel has -1.
	NUMANode  *int   `json:"numaNode,omitempty"`
	LocalCPUs string `json:"localCPUs,omitempty"` // 0-55,112-167
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
	TotalVFs int  `json:"totalVFs"`      // sriov_totalvfs: at most, by firmware
	NumVFs   int  `json:"numVFs"`        // sriov_numvfs: now
	VFs      []VF `json:"vfs,omitempty"` // by index
}

// VF is a virtual function as its physical function sees it. The settings come
// from rtnetlink and are absent without it.
type VF struct {
	Index   int    `json:"index"`             // from 0
	Address string `json:"address,omitempty"` // virtfnN; "" when the link dangles (moved to a virtual machine)
	Device  string `json:"device,omitempty"`  // RDMA device, "" when none is visible here
	VFSettings
}

// VFSettings are what a physical function has set for a virtual function
// (IFLA_VFINFO_LIST); a field is absent when the driver doesn't tell.
type VFSettings struct {
	MAC       string `json:"mac,omitempty"`       // link-layer address; zeros: none was set
	LinkState string `json:"linkState,omitempty"` // auto, enable, disable
	// May set its own addresses and promiscuous mode.
	Trust *bool `json:"trust,omitempty"`
	// Packets from other addresses than its own are dropped.
	SpoofChk *bool `json:"spoofCheck,omitempty"`
	// Tag that the physical function adds; zero is none.
	VLAN     *int     `json:"vlan,omitempty"`
	NodeGUID *ib.GUID `json:"nodeGUID,omitempty"` // InfiniBand only
	PortGUID *ib.GUID `json:"portGUID,omitempty"` // InfiniBand only
}

// VFInfo tells whose virtual function, or sub-function, a device is.
type VFInfo struct {
	// SubFunction reports whether it has no PCI function of its own: it hangs on the
	// auxiliary bus below the PF (mlx5_core.sf.N).
	SubFunction   bool   `json:"subFunction,omitempty"`
	ParentAddress string `json:"parentAddress"`          // physfn; the PF's PCI address
	ParentDevice  string `json:"parentDevice,omitempty"` // RDMA device of the PF, "" when not visible (in a pod)
	Index         *int   `json:"index,omitempty"`        // nil when the PF is not visible
}

// Port is a port of an RDMA device (class/infiniband/DEV/ports/N).
type Port struct {
	Number    int       `json:"number"`    // from 1
	Path      string    `json:"path"`      // absolute: /sys/class/infiniband/DEV/ports/N
	State     PortState `json:"state"`     // state: logical, ACTIVE when usable
	PhysState PhysState `json:"physState"` // phys_state: of the cable and its training
	LinkLayer LinkLayer `json:"linkLayer"` // link_layer: InfiniBand or Ethernet
	// From node type, link layer and the types of the GIDs.
	Transport Transport `json:"transport"`
	Rate      *Rate     `json:"rate,omitempty"`    // rate; nil when it can't be read
	LID       *ib.LID   `json:"lid,omitempty"`     // lid; nil when it can't be read, 0 on Ethernet
	LMC       *int      `json:"lmc,omitempty"`     // lid_mask_count
	SMLID     *ib.LID   `json:"smLID,omitempty"`   // sm_lid: where the subnet manager is
	SMSL      *int      `json:"smSL,omitempty"`    // sm_sl: the service level to reach it with
	CapMask   *uint32   `json:"capMask,omitempty"` // cap_mask: capability bits of PortInfo
	PKeys     []PKey    `json:"pkeys,omitempty"`   // non-zero slots
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
	Width       int     `json:"width,omitempty"`      // lanes: 1, 2, 4, 8, 12; 0 when unknown
	Generation  string  `json:"generation,omitempty"` // SDR DDR QDR FDR10 FDR EDR HDR NDR XDR
}

// PKey is a filled slot of the partition key table.
type PKey struct {
	Index int     `json:"index"` // into the table
	PKey  ib.PKey `json:"pkey"`  // bit 15 set: full member
}

// GIDEntry is a filled slot of a port's GID table.
type GIDEntry struct {
	Index  int     `json:"index"`            // into the table, which verbs programs name
	GID    ib.GID  `json:"gid"`              // never zero: empty slots have no entry
	Type   GIDType `json:"type"`             // unknown when the kernel answered EINVAL
	Netdev string  `json:"netdev,omitempty"` // gid_attrs/ndevs/N, "" on InfiniBand
}

// Fabric tells which InfiniBand subnet a port is on.
type Fabric struct {
	SubnetPrefix ib.SubnetPrefix `json:"subnetPrefix"` // the upper half of the port's first GID
	SMLID        ib.LID          `json:"smLID"`        // 0: no subnet manager has been here
}

// GPUDistance is how far a GPU is from a port's card.
type GPUDistance struct {
	GPU      int         `json:"gpu"`      // GPU.Index
	Distance PCIDistance `json:"distance"` // what the way between both passes
}
