package inventory

import (
	"cmp"
	"slices"
)

// Candidate is a network device without an RDMA device that could be used for
// user-space RDMA (RoCE v2 over UDP, or iWARP over TCP).
type Candidate struct {
	Netdev    string `json:"netdev"`              // name of the network device
	Bus       Bus    `json:"bus"`                 // bus of the device
	SpeedMbps *int   `json:"speedMbps,omitempty"` // nil if the device doesn't report it
	Up        bool   `json:"up"`                  // it is up and not a member of a bond
	Bond      string `json:"bond,omitempty"`      // the bond that it is a member of, to use instead
	Note      string `json:"note,omitempty"`      // why it is a poor choice, "" for none
}

// skippedKinds are kinds of virtual devices that connect to containers, virtual
// machines or tunnels, not directly to another node.
var skippedKinds = []string{
	"bridge", "veth", "tun", "tap", "dummy", "ifb", "wireguard", "vxlan", "geneve", "ipip", "gre", "sit", "nlmon",
	"vrf", kindRepresentor,
}

// Candidates lists the network devices that could be used for user-space RDMA, the
// best first: up before down, faster before slower, PCI before other buses.
func (s *Snapshot) Candidates() []Candidate {
	var out []Candidate
	for _, n := range s.Netdevs {
		if n.RDMADevice != "" || n.Type != ARPHRDEther || slices.Contains(skippedKinds, n.Kind) {
			continue
		}
		if n.Bus == BusVirtual && n.Kind != "bond" && n.Kind != "vlan" && n.Kind != "macvlan" && n.Kind != "ipvlan" {
			continue
		}
		bond := s.bondOf(n)
		if bond != nil && bond.RDMADevice != "" {
			continue // the members share the RDMA device of the bond
		}
		c := Candidate{
			Netdev: n.Name, Bus: n.Bus, SpeedMbps: n.SpeedMbps, Up: n.Usable() && bond == nil, Note: candidateNote(n),
		}
		if bond != nil {
			c.Bond = bond.Name
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(rank(b.Up), rank(a.Up)), cmp.Compare(deref(b.SpeedMbps), deref(a.SpeedMbps)),
			cmp.Compare(rank(b.Bus == BusPCI), rank(a.Bus == BusPCI)))
	})
	return out
}

func candidateNote(n Netdev) string {
	switch {
	case n.Kind == "wlan":
		return "wireless: loses and reorders packets"
	case n.Driver == driverSlingshot:
		return "HPE Slingshot: libfabric's provider cxi instead of verbs"
	case n.Bus == BusUSB:
		return "USB adapter"
	case n.Bus == BusThunderbolt:
		return "Thunderbolt, point to point"
	case n.Bus == BusVirtio:
		return "paravirtual"
	}
	return ""
}

// bondOf returns the bond that a device is a member of, nil for none.
func (s *Snapshot) bondOf(n Netdev) *Netdev {
	if m := s.Netdev(n.Master); m != nil && m.Bond != nil {
		return m
	}
	return nil
}

// Usable reports whether the device is administratively up and not known to have no
// carrier.
func (n *Netdev) Usable() bool {
	return n.AdminUp && n.OperState != "down" && n.OperState != "lowerlayerdown" && (n.Carrier == nil || *n.Carrier)
}

// TCPNetdev returns the network device that TCP should use if there is no RDMA: that
// of the default route, otherwise the best candidate; "" if there is none.
func (s *Snapshot) TCPNetdev() string {
	for _, family := range []string{"ipv4", "ipv6"} { // launchers want IPv4 first
		for _, r := range s.Host.DefaultRoutes {
			if r.Family == family {
				return r.Netdev
			}
		}
	}
	for _, c := range s.Candidates() {
		if c.Up {
			return c.Netdev
		}
	}
	rail := ""
	for _, n := range s.Netdevs {
		switch {
		case !n.Usable() || n.Type != ARPHRDEther ||
			slices.Contains([]string{"bridge", "dummy", "tun", kindRepresentor}, n.Kind):
		case n.RDMADevice == "":
			return n.Name // in a pod, one end of a veth pair
		case rail == "":
			rail = n.Name
		}
	}
	return rail
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}
