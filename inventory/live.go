package inventory

import (
	"context"
	"errors"
	"net/netip"
)

// PathRDMASystem is the path of a [Problem] about the settings of the RDMA subsystem (rdma system).
const PathRDMASystem = "rdma system"

// LiveSource provides data of a running kernel that is not in its file tree.
// A recorded [Live] is a LiveSource too.
type LiveSource interface {
	// Live queries the data once. It returns what succeeded and the joined errors.
	Live(ctx context.Context) (*Live, error)
}

// Live has the results of netlink queries and of attempts to open character devices.
// It is plain data, so that it can be stored in a bundle (live.json) and used later.
type Live struct {
	NetnsMode NetnsMode    `json:"netnsMode,omitempty"` // nldev SYS_GET
	Devices   []LiveDevice `json:"devices,omitempty"`   // nldev GET and PORT_GET
	Links     []LiveLink   `json:"links,omitempty"`     // rtnetlink links with VFs and addresses
	Chars     []LiveChar   `json:"chars,omitempty"`     // results of opening character devices
	Problems  []Problem    `json:"problems,omitempty"`  // queries that the kernel rejected
	// Error is the error that Live returned together with these results when they were recorded.
	Error string `json:"error,omitempty"`
}

// LiveDevice is an RDMA device as reported by nldev.
type LiveDevice struct {
	Index    uint32     `json:"index"`              // device index of the kernel, as rdma dev shows it
	Name     string     `json:"name"`               // as in /sys/class/infiniband
	Protocol string     `json:"protocol,omitempty"` // ib, roce, iw, usnic
	Ports    []LivePort `json:"ports,omitempty"`    // by number
	// SMIOf is the parent of a sub-device of type SMI (kernel 6.11); "" for other devices.
	SMIOf string `json:"smiOf,omitempty"`
}

// LivePort is a port as reported by nldev.
type LivePort struct {
	Number int    `json:"number"`           // from 1
	Netdev string `json:"netdev,omitempty"` // name of its network device, "" for none
}

// LiveLink is a network device as reported by rtnetlink.
type LiveLink struct {
	Index int    `json:"index"` // ifindex
	Name  string `json:"name"`  // as in /sys/class/net
	// Vlan, bond, macvlan, … ; "" for hardware.
	Kind      string         `json:"kind,omitempty"`
	Lower     string         `json:"lower,omitempty"`     // device below (IFLA_LINK)
	Addresses []netip.Prefix `json:"addresses,omitempty"` // IP addresses with their prefix lengths
	VFs       []LiveVF       `json:"vfs,omitempty"`       // of a physical function
}

// LiveVF is a virtual function as reported by rtnetlink (IFLA_VFINFO_LIST).
type LiveVF struct {
	Index int `json:"index"` // from 0
	VFSettings
}

// LiveChar is the result of opening a character device below /dev/infiniband.
type LiveChar struct {
	Name  string `json:"name"`            // of the file: uverbs0
	Error string `json:"error,omitempty"` // "" if it could be opened
}

// Live implements [LiveSource] with the recorded results and the recorded error.
func (l *Live) Live(context.Context) (*Live, error) {
	if l.Error != "" {
		return l, errors.New(l.Error)
	}
	return l, nil
}
