package host

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// LinkLayer is the link layer of a port, as named by the kernel.
type LinkLayer string

// The link layers; the zero value is Ethernet.
const (
	Ethernet   LinkLayer = "Ethernet"
	InfiniBand LinkLayer = "InfiniBand"
)

// Limits of a Spec, from the plan of PCI buses and IP addresses.
const (
	maxRails = 32
	maxNodes = 8192
	maxNICs  = 4
	maxVFs   = 62
	maxGIDs  = 1024
)

// Spec describes a node. The zero value is a node without RDMA and GPUs.
type Spec struct {
	Node   int    // number in its cluster, from 0
	Name   string // host name; "" is gpu-NN
	Kernel string // release; "" is 6.8.0-60-generic

	Rails     int       // number of compute cards, with one port each
	Card      Card      // zero: ConnectX7
	LinkLayer LinkLayer // of the rails
	Rate      int       // Gb/s of a rail; 0: the card's
	Firmware  string    // "": the card's
	MTU       int       // of the rails' network devices; 0: 9000, on InfiniBand 4092
	GIDs      int       // size of the GID tables; 0: 256, on InfiniBand 8
	Netdev    string    // format of a rail's network device; "": ens%dnp0, on InfiniBand ib%d
	IPv6      bool      // rails have global IPv6 addresses instead of IPv4
	VFs       int       // virtual functions of each rail, each with an RDMA device
	TotalVFs  int       // sriov_totalvfs; 0: 16
	// Prefix is the InfiniBand subnet prefix of the rails, "" for the default fe80:0000:0000:0000.
	Prefix string

	GPUs      int // number of GPUs; GPU i is next to rail i
	PerSwitch int // rails, each with its GPU, below one root port; 0: 1
	// Switches is the number of PCI Express switches between root port and card; 0 means 1.
	// With 2, the cards are below the inner switch and the GPUs below the outer one.
	Switches int

	NICs []NIC // other cards: management, storage

	Plant []Plant // faults
}

// NIC is a network card that isn't a rail.
type NIC struct {
	Card      Card
	Functions int       // number of ports, each a PCI function; 0: 1
	LinkLayer LinkLayer // of the ports
	Rate      int       // Gb/s; 0: the card's
	MTU       int       // 0: 1500
	Netdev    string    // format with the function's number: eno%dnp0
	NUMA      int       // node: 0 or 1
	// Network is the IPv4 network of the first function; the node's number is
	// added to its address. The other functions have no address and no link.
	Network netip.Prefix
	Gateway netip.Addr // of the default route; invalid: none
}

// Management returns a card without RDMA that has the default route.
func Management() NIC {
	return NIC{
		Card: SFN25(), Netdev: "eno%dnp0",
		Network: netip.MustParsePrefix("10.0.0.10/16"), Gateway: netip.MustParseAddr("10.0.0.1"),
	}
}

// Demo returns the node of `rdmactl demo node`: eight 400 Gb/s RoCE rails with a GPU each, a
// management card, and two faults that also occur on real nodes.
func Demo() Spec {
	return Spec{
		Rails: 8, GPUs: 8, NICs: []NIC{Management()},
		Plant: []Plant{{Kind: NoAddress, Rail: 2}, {Kind: SmallMTU, Rail: 5}},
	}
}

// About describes the node in one line: "node gpu-00: 8 x ConnectX-7 at 400 Gb/s (RoCE), 8 x H100".
func (s Spec) About() string {
	s = s.withDefaults()
	var parts []string
	if s.Rails > 0 {
		layer := "RoCE"
		if s.LinkLayer == InfiniBand {
			layer = string(InfiniBand)
		}
		parts = append(parts, fmt.Sprintf("%d x %s at %d Gb/s (%s)", s.Rails, s.Card.Model, s.Rate, layer))
	}
	if s.GPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d x H100", s.GPUs))
	}
	for _, n := range s.NICs {
		parts = append(parts, fmt.Sprintf("%s at %d Gb/s", n.Card.Model, cmp.Or(n.Rate, n.Card.Rate)))
	}
	return "node " + s.Name + ": " + cmp.Or(strings.Join(parts, ", "), "no cards and no GPUs")
}

// withDefaults replaces zero values with the defaults.
func (s Spec) withDefaults() Spec {
	def := func(v *int, value int) {
		if *v == 0 {
			*v = value
		}
	}
	word := func(v *string, value string) {
		if *v == "" {
			*v = value
		}
	}
	if s.Card == (Card{}) {
		s.Card = ConnectX7()
	}
	if s.LinkLayer == "" {
		s.LinkLayer = Ethernet
	}
	word(&s.Name, fmt.Sprintf("gpu-%02d", s.Node))
	word(&s.Kernel, "6.8.0-60-generic")
	word(&s.Firmware, s.Card.Firmware)
	word(&s.Prefix, "fe80:0000:0000:0000")
	def(&s.Rate, s.Card.Rate)
	def(&s.TotalVFs, 16)
	def(&s.PerSwitch, 1)
	def(&s.Switches, 1)
	if s.LinkLayer == InfiniBand {
		def(&s.MTU, 4092)
		def(&s.GIDs, 8)
		word(&s.Netdev, "ib%d")
	}
	def(&s.MTU, 9000)
	def(&s.GIDs, 256)
	word(&s.Netdev, "ens%dnp0")
	return s
}

// validate returns the errors of a Spec whose defaults are filled in.
func (s Spec) validate() error {
	var errs []error
	bound := func(name string, value, least, most int) {
		if value < least || value > most {
			errs = append(errs, fmt.Errorf("%s is %d, not in %d to %d", name, value, least, most))
		}
	}
	bound("Node", s.Node, 0, maxNodes-1)
	bound("Rails", s.Rails, 0, maxRails)
	bound("GPUs", s.GPUs, 0, maxRails)
	bound("GIDs", s.GIDs, 4, maxGIDs)
	bound("PerSwitch", s.PerSwitch, 1, 4)
	bound("Switches", s.Switches, 1, 2)
	bound("VFs", s.VFs, 0, min(s.TotalVFs, maxVFs))
	bound("NICs", len(s.NICs), 0, maxNICs)
	if s.LinkLayer == InfiniBand && firstLID+(s.Node+1)*s.Rails > nicLID {
		errs = append(errs,
			fmt.Errorf("an InfiniBand subnet has no LIDs left for node %d with %d rails", s.Node, s.Rails))
	}
	if err := checkFormat(s.Netdev); err != nil {
		errs = append(errs, err)
	}
	if strings.Count(s.Prefix, ":") != 3 || len(s.Prefix) != 19 {
		errs = append(errs, fmt.Errorf("prefix %q is not four groups of four digits", s.Prefix))
	}
	if rateText(s.Rate) == "" {
		errs = append(errs, fmt.Errorf("%d Gb/s is not a link rate", s.Rate))
	}
	for i, n := range s.NICs {
		bound(fmt.Sprintf("NICs[%d].Functions", i), n.Functions, 0, 8)
		bound(fmt.Sprintf("NICs[%d].NUMA", i), n.NUMA, 0, 1)
		if err := checkFormat(n.Netdev); err != nil {
			errs = append(errs, fmt.Errorf("NICs[%d]: %w", i, err))
		}
		if n.Network.IsValid() && !n.Network.Addr().Is4() {
			errs = append(errs, fmt.Errorf("NICs[%d]: network %v is not IPv4", i, n.Network))
		}
	}
	for _, p := range s.Plant {
		if err := p.validate(s); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// checkFormat checks that a format has exactly one %d, so that names are unique.
func checkFormat(format string) error {
	if strings.Count(format, "%") != 1 || strings.Count(format, "%d") != 1 || strings.Contains(format, "/") {
		return fmt.Errorf("format of network device names %q doesn't have exactly one %%d", format)
	}
	return nil
}

// rateText returns a rate as the kernel prints it for mlx5 (rate_show in
// drivers/infiniband/core/sysfs.c), or "" if it is not the rate of a width and generation.
func rateText(gb int) string {
	switch gb {
	case 10:
		return "10 Gb/sec (1X QDR)"
	case 25:
		return "25 Gb/sec (1X EDR)"
	case 40:
		return "40 Gb/sec (4X QDR)"
	case 50:
		return "50 Gb/sec (1X HDR)"
	case 100:
		return "100 Gb/sec (4X EDR)"
	case 200:
		return "200 Gb/sec (4X HDR)"
	case 400:
		return "400 Gb/sec (4X NDR)"
	case 800:
		return "800 Gb/sec (4X XDR)"
	case 1600:
		return "1600 Gb/sec (8X XDR)"
	}
	return ""
}
