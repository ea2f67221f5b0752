package inventory

import (
	"net/netip"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// ARP hardware types of network devices (include/uapi/linux/if_arp.h).
const (
	ARPHRDEther      = 1   // Ethernet
	ARPHRDInfiniBand = 32  // IPoIB
	ARPHRDLoopback   = 772 // lo
)

// Netdev is a network device (/sys/class/net/NAME).
type Netdev struct {
	Name    string `json:"name"`              // eth0, ib0, ens1f0np0
	Path    string `json:"path"`              // absolute: /sys/class/net/NAME
	Index   int    `json:"index,omitempty"`   // ifindex
	Type    int    `json:"type"`              // ARPHRD: 1 Ethernet, 32 InfiniBand, 772 loopback
	Address string `json:"address,omitempty"` // link-layer address, colon-separated bytes
	// IPoIB is the decoded 20-byte address of an IPoIB device, nil otherwise.
	IPoIB     *IPoIBAddress `json:"ipoib,omitempty"`
	MTU       int           `json:"mtu,omitempty"`
	SpeedMbps *int          `json:"speedMbps,omitempty"` // nil if down or unknown
	OperState string        `json:"operState,omitempty"` // up, down, unknown, lowerlayerdown …
	AdminUp   bool          `json:"adminUp"`             // IFF_UP of flags
	// AdminUnknown reports that no file tells whether the device is administratively up: it has no
	// link, and its flags were not recorded.
	AdminUnknown bool   `json:"adminUnknown,omitempty"`
	Carrier      *bool  `json:"carrier,omitempty"` // nil while the device is administratively down
	Bus          Bus    `json:"bus"`
	Driver       string `json:"driver,omitempty"`
	PCI          string `json:"pci,omitempty"` // PCI address
	// Vendor and Product are the names of the card from pci.ids; "" if unknown.
	Vendor  string `json:"vendor,omitempty"`
	Product string `json:"product,omitempty"`
	DevPort *int   `json:"devPort,omitempty"` // port of the card, from 0
	DevID   *int   `json:"devID,omitempty"`
	Master  string `json:"master,omitempty"` // bond or bridge that the device is a member of
	Bond    *Bond  `json:"bond,omitempty"`   // nil unless the device is a bond
	Lower   string `json:"lower,omitempty"`  // lower device of a VLAN or macvlan
	// Kind is vlan, bond, bridge, macvlan … (from rtnetlink or DEVTYPE), or
	// "representor" for the representor of a VF or sub-function.
	Kind string `json:"kind,omitempty"`
	// Addresses come from rtnetlink or, without rtnetlink, from the GID table (then
	// without the prefix length: as /32 or /128).
	Addresses    []netip.Prefix `json:"addresses,omitempty"`
	DefaultRoute bool           `json:"defaultRoute"`
	// RDMADevice and RDMAPort identify the RDMA port that uses the device; "" and 0 if there is
	// none.
	RDMADevice string `json:"rdmaDevice,omitempty"`
	RDMAPort   int    `json:"rdmaPort,omitempty"`
}

// Bond is a bonding device.
type Bond struct {
	Mode   string   `json:"mode"`   // 802.3ad, active-backup …
	Slaves []string `json:"slaves"` // names of the member devices
}

// Connectors returns the names of the devices with a connector that carry the traffic of n: the
// members of a bond, otherwise n itself.
func (n *Netdev) Connectors() []string {
	if n.Bond != nil {
		return n.Bond.Slaves
	}
	return []string{n.Name}
}

// IPoIBAddress is the 20-byte link-layer address of an IPoIB device (RFC 4391
// section 9.1.1): a reserved byte (flags of the connected mode), a 24-bit queue
// pair number, and the GID of the port.
type IPoIBAddress struct {
	Flags        uint8           `json:"flags"`        // 0x80: connected mode over RC
	QPN          ib.QPN          `json:"qpn"`          // of the device's queue pair
	SubnetPrefix ib.SubnetPrefix `json:"subnetPrefix"` // the upper half of the port's GID
	// GUID of the port or VF, not of the node.
	PortGUID ib.GUID `json:"portGUID"`
}

// GPU is a PCI function of a GPU or accelerator.
type GPU struct {
	Index int `json:"index"` // in the order of PCI addresses, as with CUDA_DEVICE_ORDER=PCI_BUS_ID
	PCI   PCI `json:"pci"`   // the function
}

// Card is a PCI function that is, or may be, an RDMA card.
type Card struct {
	PCI     PCI      `json:"pci"`               // the function
	SRIOV   *SRIOV   `json:"sriov,omitempty"`   // nil if the function doesn't support VFs
	VF      *VFInfo  `json:"vf,omitempty"`      // nil unless the function is a VF
	Devices []string `json:"devices,omitempty"` // RDMA devices of the function
	Netdevs []string `json:"netdevs,omitempty"` // network devices of the function
	// Module is the kernel module that creates its RDMA devices; "" if unknown.
	Module string `json:"module,omitempty"`
}
