package inventory

import (
	"context"
	"errors"
	"net/netip"
)

// LiveSource answers what a running kernel tells beyond its file tree.
// A recorded [Live] is a LiveSource too.
type LiveSource interface {
	// Live asks once. It returns what succeeded plus joined errors.
	Live(ctx context.Context) (*Live, error)
}

// Live holds the answers of netlink and of attempts to open character devices.
// It is plain data, so that a bundle can carry it (live.json) and replay it.
type Live struct {
	NetnsMode NetnsMode    `json:"netnsMode,omitempty"` // nldev SYS_GET
	Devices   []LiveDevice `json:"devices,omitempty"`   // nldev GET and PORT_GET
	Links     []LiveLink   `json:"links,omitempty"`     // rtnetlink links with VFs and addresses
	Chars     []LiveChar   `json:"chars,omitempty"`     // character devices that were opened
	Problems  []Problem    `json:"problems,omitempty"`  // questions that the kernel refused
	// Error is what Live returned beside these answers when they were recorded.
	Error string `json:"error,omitempty"`
}

// LiveDevice is an RDMA device as nldev tells it.
type LiveDevice struct {
	Index    uint32     `json:"index"`              // the kernel's, as rdma dev shows it
	Name     string     `json:"name"`               // as in /sys/class/infiniband
	Protocol string     `json:"protocol,omitempty"` // ib, roce, iw, usnic
	Ports    []LivePort `json:"ports,omitempty"`    // by number
}

// LivePort is a port as nldev tells it.
type LivePort struct {
	Number int    `json:"number"`           // from 1
	Netdev string `json:"netdev,omitempty"` // name of its network device, "" for none
}

// LiveLink is a network device as rtnetlink tells it.
type LiveLink struct {
	Index int    `json:"index"` // ifindex
	Name  string `json:"name"`  // as in /sys/class/net
	// Vlan, bond, macvlan, … ; "" for hardware.
	Kind      string         `json:"kind,omitempty"`
	Lower     string         `json:"lower,omitempty"`     // device below (IFLA_LINK)
	Addresses []netip.Prefix `json:"addresses,omitempty"` // IP addresses with their prefix lengths
	VFs       []LiveVF       `json:"vfs,omitempty"`       // of a physical function
}

// LiveVF is what rtnetlink tells about a virtual function (IFLA_VFINFO_LIST).
type LiveVF struct {
	Index int `json:"index"` // from 0
	VFSettings
}

// LiveChar is the outcome of opening a character device below /dev/infiniband.
type LiveChar struct {
	Name  string `json:"name"`            // of the file: uverbs0
	Error string `json:"error,omitempty"` // "" when it opened
}

// Live implements [LiveSource] with the recorded answers, and the recorded error.
func (l *Live) Live(context.Context) (*Live, error) {
	if l.Error != "" {
		return l, errors.New(l.Error)
	}
	return l, nil
}
