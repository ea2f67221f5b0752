package umad

import "slices"

// Pair is the two ports that management datagrams of one port of a card go through: those of subnet
// management (SMPs, queue pair 0) and all others (GMPs, queue pair 1). They are the same port
// except on a multi-plane card (XDR): it has two RDMA devices on one PCI function, one for jobs and
// one with a port for each plane. C twin: struct umad_ca_pair of libibumad.
type Pair struct{ SMI, GSI Port }

// IsMultiPlane reports whether SMPs and GMPs go through different devices. LID-routed SMPs are not
// valid in the fabric of such a card.
func (p Pair) IsMultiPlane() bool { return p.SMI.Device != p.GSI.Device }

func (p Port) isInfiniBand() bool { return p.LinkLayer == "InfiniBand" }

// WhyNoQP0 returns the reason why a port can't send SMPs: "it is Ethernet", "IsSMDisabled",
// "has_smi is 0"; empty if it can.
func (p Port) WhyNoQP0() string {
	switch {
	case p.LinkLayer == "Ethernet":
		return "it is Ethernet"
	case p.SMDisabled:
		return "IsSMDisabled"
	case p.HasSMI != nil && !*p.HasSMI:
		return "has_smi is 0"
	}
	return ""
}

// SetParents sets the ports' Parent from the kernel's answer (nldev): the parent of each device of
// type SMI by the device's name.
func SetParents(ports []Port, parents map[string]string) {
	for i := range ports {
		ports[i].Parent = parents[ports[i].Device]
	}
}

// PairOf returns the pair of a port. If its card has an SMI device, SMPs go through the first port
// of that device, preferably an active one; if it belongs to an SMI device, GMPs go through the
// first port of the other device, preferably an active one. Otherwise both are the port itself.
func PairOf(ports []Port, p Port) Pair {
	pair := Pair{SMI: p, GSI: p}
	if smi, ok := first(ports, func(o Port) bool { return o.isSMIOf(p) }); ok {
		pair.SMI = smi
	} else if gsi, ok := first(ports, p.isSMIOf); ok {
		pair.GSI = gsi
	}
	return pair
}

// first returns the first port that fits, preferably an active one.
func first(ports []Port, fits func(Port) bool) (Port, bool) {
	i := slices.IndexFunc(ports, func(p Port) bool { return p.Active && fits(p) })
	if i < 0 {
		i = slices.IndexFunc(ports, fits)
	}
	if i < 0 {
		return Port{}, false
	}
	return ports[i], true
}

// isSMIOf reports whether p is a port of the SMI device of main's card. The kernel's answer takes
// precedence; on kernels without it, an SMI device shares the PCI function of a device without
// queue pair 0.
func (p Port) isSMIOf(main Port) bool {
	if !p.isInfiniBand() || !main.isInfiniBand() || p.Device == main.Device {
		return false
	}
	if p.Parent != "" || main.Parent != "" {
		return p.Parent == main.Device
	}
	return p.Function != "" && p.Function == main.Function && p.WhyNoQP0() == "" && main.WhyNoQP0() != ""
}
