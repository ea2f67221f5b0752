package inventory

import "slices"

// Unseen lists what the source of the snapshot could not tell, so that nobody takes silence for
// health: kinds of data that are absent from a recording, hidden in a container, or not given by
// this kernel. The list is empty on a host that was read as a whole.
func (s *Snapshot) Unseen() []string {
	var out []string
	add := func(missing bool, what string) {
		if missing {
			out = append(out, what)
		}
	}
	h := &s.Host
	add(!h.PCIVisible, "PCI devices and GPUs (no /sys/bus/pci)")
	add(len(s.Devices) > 0 && len(h.Modules) == 0, "kernel modules (no /sys/module)")
	add(len(s.Devices) > 0 && !h.DevVisible, "whether programs can open the devices (no /dev)")
	add(len(s.Devices) > 0 && !s.UverbsKnown(), "verbs devices (no /sys/class/infiniband_verbs)")
	add(slices.ContainsFunc(s.Devices, func(d Device) bool { return d.NodeType == NodeTypeUnknown }),
		"the types of devices (no node_type)")
	add(s.anyPort(func(p *Port) bool { return p.LinkLayerOfClass }),
		"link layers (no link_layer; taken from the PCI class)")
	add(s.anyPort(func(p *Port) bool { return p.State == PortStateActive && p.Rate == nil }), "rates (no rate)")
	add(s.anyPort((*Port).FirstGIDOnly), "addresses (only the first entry of GID tables)")
	add(h.Memlock == nil, "the limit of locked memory (no /proc/self/limits)")
	add(s.hasRoCE() && !s.hasGIDTable(), "addresses (no GID tables)")
	add(len(s.Devices) > 0 && h.NetnsMode == NetnsModeUnknown, "answers of the kernel (netlink)")
	add(!h.Userspace.Searched, "libraries (no /usr/lib)")
	return out
}

func (s *Snapshot) anyPort(is func(*Port) bool) bool {
	for _, p := range s.Ports() {
		if is(p) {
			return true
		}
	}
	return false
}

func (s *Snapshot) hasRoCE() bool {
	return s.anyPort(func(p *Port) bool { return transportClass(p) == TransportRoCEv2 })
}

func (s *Snapshot) hasGIDTable() bool {
	return slices.ContainsFunc(s.Devices, func(d Device) bool {
		return slices.ContainsFunc(d.Ports, func(p Port) bool { return p.GIDTableSize > 0 })
	})
}
