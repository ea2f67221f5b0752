package host

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// LinkLayer is the link layer of a port, in the kernel's words.
type LinkLayer string

// The link layers; the zero value counts as Ethernet.
const (
	Ethernet   LinkLayer = "Ethernet"
	InfiniBand LinkLayer = "InfiniBand"
)

// Bounds of a Spec: what the plan of PCI buses and IP addresses has room for.
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

	Rails     int       // cards for compute, one port each
	Card      Card      // zero: ConnectX7
	LinkLayer LinkLayer // of the rails
	Rate      int       // Gb/s of a rail; 0: the card's
	Firmware  string    // ""; the card's
	MTU       int       // of the rails' network devices; 0: 9000, on InfiniBand 4092
	GIDs      int       // size of the GID tables; 0: 256, on InfiniBand 8
	Netdev    string    // format of a rail's network device; "": ens%dnp0, on InfiniBand ib%d
	IPv6      bool      // rails have global IPv6 addresses instead of IPv4
	VFs       int       // virtual functions of each rail, with RDMA devices of their own
	TotalVFs  int       // sriov_totalvfs; 0: 16
	// Prefix is the InfiniBand subnet prefix of the rails, "" for the default fe80:0000:0000:0000.
	Prefix string

	GPUs      int // GPU i sits beside rail i
	PerSwitch int // rails, each with its GPU, below one root port; 0: 1
	// Switches counts the PCI Express switches between root port and card: 0
	// counts as 1. With 2 the cards hang on the inner switch and the GPUs on the outer.
	Switches int

	NICs []NIC // cards that are no rails: management, storage

	Plant []Plant // faults
}

// NIC is a network card beside the rails.
type NIC struct {
	Card      Card
	Functions int       // ports, each a PCI function of its own; 0: 1
	LinkLayer LinkLayer // of the ports
	Rate      int       // Gb/s; 0: the card's
	MTU       int       // 0: 1500
	Netdev    string    // format with the function's number: eno%dnp0
	NUMA      int       // node: 0 or 1
	// Network is the IPv4 network of the first function; the node's number is
	// added to its address. Further functions have none and no link.
	Network netip.Prefix
	Gateway netip.Addr // of the default route; invalid: none
}

// Management returns a card without RDMA that carries the default route.
func Management() NIC {
	return NIC{
		Card: SFN25(), Netdev: "eno%dnp0",
		Network: netip.MustParsePrefix("10.0.0.10/16"), Gateway: netip.MustParseAddr("10.0.0.1"),
	}
}

// Demo returns the node of `rdmactl demo`: eight 400 Gb/s RoCE rails with a GPU
// each, a management card, and two faults that real nodes suffer.
func Demo() Spec {
	return Spec{
		Rails: 8, GPUs: 8, NICs: []NIC{Management()},
		Plant: []Plant{{Kind: NoAddress, Rail: 2}, {Kind: SmallMTU, Rail: 5}},
	}
}

// About says in one line what the node is: "node gpu-00: 8 x ConnectX-7 at 400 Gb/s (RoCE), 8
// x H100".
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

// withDefaults fills in what the zero value stands for.
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

// validate reports all that New could not build, on a Spec with its defaults.
func (s Spec) validate() error {
	var errs []error
	bound := func(name string, value, least, most int) {
		if value < least || value > most {
			errs = append(errs, fmt.Errorf("%s is %d, not %d to %d", name, value, least, most))
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
		errs = append(errs, fmt.Errorf("no link runs at %d Gb/s", s.Rate))
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

// checkFormat demands one %d, so that no two devices share a name.
func checkFormat(format string) error {
	if strings.Count(format, "%") != 1 || strings.Count(format, "%d") != 1 || strings.Contains(format, "/") {
		return fmt.Errorf("name of network devices %q has not exactly one %%d", format)
	}
	return nil
}

// rateText returns a rate as the kernel prints it for mlx5 (rate_show in
// drivers/infiniband/core/sysfs.c), "" when no width and generation give it.
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
