package inventory

import (
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Device is an RDMA device: an entry of /sys/class/infiniband.
type Device struct {
	// As assigned by the kernel or udev: mlx5_0.
	Name string `json:"name"`
	Path string `json:"path"` // absolute class path: /sys/class/infiniband/NAME
	// NodeType is node_type: channel adapter (InfiniBand, RoCE), RNIC (iWARP) etc.
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
	// Parent is the network device of a software device; "" if the kernel doesn't report it.
	Parent string  `json:"parent,omitempty"`
	PCI    *PCI    `json:"pci,omitempty"`   // nil for a software device
	SRIOV  *SRIOV  `json:"sriov,omitempty"` // nil if the function doesn't support VFs
	VF     *VFInfo `json:"vf,omitempty"`    // nil unless the device is a VF or sub-function
	// SMIOf names the device whose planes this one manages: the card is multi-plane (XDR), and this
	// device has ports for subnet management only, without uverbs. "" for other devices.
	SMIOf string `json:"smiOf,omitempty"`
	Ports []Port `json:"ports"`
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
	// SubsystemVendor is subsystem_vendor: the manufacturer of the card.
	SubsystemVendor PCIID `json:"subsystemVendor,omitempty"`
	// SubsystemDevice is subsystem_device: the model of that manufacturer.
	SubsystemDevice PCIID `json:"subsystemDevice,omitempty"`
	// Class, 24 bits; the upper 16 bits are 0x0207 for InfiniBand controllers.
	Class   PCIClass `json:"class"`
	Vendor  string   `json:"vendor,omitempty"`  // name from pci.ids, "" when unknown
	Product string   `json:"product,omitempty"` // name from pci.ids, "" when unknown
	Driver  string   `json:"driver,omitempty"`  // "" when unbound
	// NUMANode is numa_node; nil if the kernel reports -1.
	NUMANode  *int   `json:"numaNode,omitempty"`
	LocalCPUs string `json:"localCPUs,omitempty"` // 0-55,112-167
	// Link speeds and widths; nil if the function doesn't report them (VFs, old kernels).
	Link    *PCILink `json:"link,omitempty"`
	LinkMax *PCILink `json:"linkMax,omitempty"`
	// Chain is the path from the root complex to the function's parent: host bridge
	// ("pci0000:10"), then addresses of bridges.
	Chain []string `json:"chain,omitempty"`
}

// PCILink is the speed of a PCI Express link.
type PCILink struct {
	GTPerSecond float64 `json:"gtPerSecond"` // gigatransfers per second and lane: 2.5, 5, 8, 16, 32, 64
	Width       int     `json:"width"`       // lanes
}

// SRIOV describes the virtual functions of a physical function.
type SRIOV struct {
	TotalVFs int  `json:"totalVFs"`      // sriov_totalvfs: maximum number, set in the firmware
	NumVFs   int  `json:"numVFs"`        // sriov_numvfs: current number
	VFs      []VF `json:"vfs,omitempty"` // by index
}

// VF is a virtual function as reported by its physical function. The settings come
// from rtnetlink and are absent without it.
type VF struct {
	Index   int    `json:"index"`             // from 0
	Address string `json:"address,omitempty"` // virtfnN; "" if the link is broken (VF moved to a virtual machine)
	Device  string `json:"device,omitempty"`  // RDMA device, "" if none is visible here
	VFSettings
}

// VFSettings are the settings of a virtual function in its physical function
// (IFLA_VFINFO_LIST); a field is absent if the driver doesn't report it.
type VFSettings struct {
	MAC       string `json:"mac,omitempty"`       // link-layer address; all zeros if none is set
	LinkState string `json:"linkState,omitempty"` // auto, enable, disable
	// The VF may set its own addresses and promiscuous mode.
	Trust *bool `json:"trust,omitempty"`
	// Packets with a source address that isn't the VF's are dropped.
	SpoofChk *bool `json:"spoofCheck,omitempty"`
	// Tag that the physical function adds; zero means none.
	VLAN     *int     `json:"vlan,omitempty"`
	NodeGUID *ib.GUID `json:"nodeGUID,omitempty"` // InfiniBand only
	PortGUID *ib.GUID `json:"portGUID,omitempty"` // InfiniBand only
}

// VFInfo identifies the physical function of a virtual function or sub-function.
type VFInfo struct {
	// SubFunction reports whether the device is a sub-function: it has no PCI function, but is
	// on the auxiliary bus of the PF (mlx5_core.sf.N).
	SubFunction   bool   `json:"subFunction,omitempty"`
	ParentAddress string `json:"parentAddress"`          // physfn; the PF's PCI address
	ParentDevice  string `json:"parentDevice,omitempty"` // RDMA device of the PF, "" if not visible (in a pod)
	Index         *int   `json:"index,omitempty"`        // nil if the PF is not visible
}

// Port is a port of an RDMA device (class/infiniband/DEV/ports/N).
type Port struct {
	Number    int       `json:"number"`    // from 1
	Path      string    `json:"path"`      // absolute: /sys/class/infiniband/DEV/ports/N
	State     PortState `json:"state"`     // state: logical port state, ACTIVE if usable
	PhysState PhysState `json:"physState"` // phys_state: physical port state (link training)
	LinkLayer LinkLayer `json:"linkLayer"` // link_layer: InfiniBand or Ethernet
	// LinkLayerOfClass reports whether link_layer was not recorded and LinkLayer is that of the PCI
	// class of the card.
	LinkLayerOfClass bool `json:"linkLayerOfClass,omitempty"`
	// From node type, link layer and the types of the GIDs.
	Transport Transport `json:"transport"`
	Rate      *Rate     `json:"rate,omitempty"`    // rate; nil if it can't be read
	LID       *ib.LID   `json:"lid,omitempty"`     // lid; nil if it can't be read, 0 on Ethernet
	LMC       *int      `json:"lmc,omitempty"`     // lid_mask_count
	SMLID     *ib.LID   `json:"smLID,omitempty"`   // sm_lid: LID of the subnet manager
	SMSL      *int      `json:"smSL,omitempty"`    // sm_sl: service level for packets to the subnet manager
	CapMask   *uint32   `json:"capMask,omitempty"` // cap_mask: capability bits of PortInfo
	// HasSMI is has_smi: whether the port sends and receives subnet management packets. On a
	// multi-plane card only the ports of the SMI device do. nil on kernels without the file.
	HasSMI *bool  `json:"hasSMI,omitempty"`
	PKeys  []PKey `json:"pkeys,omitempty"` // non-zero entries
	// GIDs are the non-empty entries of the GID table. GIDTableSize is the number of all
	// entries, so every index below it that is not in GIDs is a gap.
	GIDs         []GIDEntry `json:"gids,omitempty"`
	GIDTableSize int        `json:"gidTableSize"`
	// Netdev is the network device of the port: that of the first GID, or the one with the
	// same PCI function and port number. "" if none is visible.
	Netdev string `json:"netdev,omitempty"`
	// ActiveMTU is derived from the network device on Ethernet (iboe_get_mtu); 0 if unknown,
	// as on InfiniBand, where only the device itself reports it.
	ActiveMTU ib.MTU `json:"activeMTU,omitempty"`
	// Fabric is nil on Ethernet.
	Fabric     *Fabric `json:"fabric,omitempty"`
	Role       Role    `json:"role"`
	RoleReason string  `json:"roleReason"`
	RoleRule   string  `json:"roleRule,omitempty"` // name of the rule, one of [RoleRules]
	// Rail is the number of a compute port, from 0, in the order of the nearest GPUs, then of
	// the PCI addresses; nil for other roles.
	Rail *int `json:"rail,omitempty"`
	// LinkDowned is counters/link_downed of a compute port: how often its link failed since the
	// driver was loaded or the counter was reset. It ends at 255. nil for other roles, and if it
	// could not be read.
	LinkDowned *uint64 `json:"linkDowned,omitempty"`
	// GPUs are the distances to all GPUs, nearest first, then by GPU index.
	GPUs []GPUDistance `json:"gpus,omitempty"`
}

// Rate is the signalling rate of a port.
type Rate struct {
	GbPerSecond float64 `json:"gbPerSecond"`          // of all lanes together, in 10^9 bits per second
	Width       int     `json:"width,omitempty"`      // lanes: 1, 2, 4, 8, 12; 0 if unknown
	Generation  string  `json:"generation,omitempty"` // SDR DDR QDR FDR10 FDR EDR HDR NDR XDR
}

// PKey is a non-zero entry of the partition key table.
type PKey struct {
	Index int     `json:"index"` // into the table
	PKey  ib.PKey `json:"pkey"`  // bit 15 set: full membership
}

// GIDEntry is a non-empty entry of a port's GID table.
type GIDEntry struct {
	Index  int     `json:"index"`            // GID index in the table, as used by verbs programs
	GID    ib.GID  `json:"gid"`              // never zero: empty entries are omitted
	Type   GIDType `json:"type"`             // unknown if the kernel returned EINVAL
	Netdev string  `json:"netdev,omitempty"` // gid_attrs/ndevs/N, "" on InfiniBand
}

// Fabric identifies the InfiniBand subnet of a port.
type Fabric struct {
	SubnetPrefix ib.SubnetPrefix `json:"subnetPrefix"` // the upper half of the port's first GID
	SMLID        ib.LID          `json:"smLID"`        // 0: no subnet manager has configured the port
}

// GPUDistance is the distance of a GPU from a port's card.
type GPUDistance struct {
	GPU      int         `json:"gpu"`      // GPU.Index
	Distance PCIDistance `json:"distance"` // kind of the path between GPU and card
}
