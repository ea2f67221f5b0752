package inventory

import (
	"slices"
	"strings"
)

// OthersReason tells why a port that can be seen here is for somebody else, and
// "" when it is this node's or this pod's own. A pod in the shared namespace mode
// sees every device of the host, but only those with a character device or a
// network device here are its own; on a host the VFs beside their PF are meant for pods.
func (s *Snapshot) OthersReason(d *Device, p *Port) string {
	if n := s.Netdev(p.Netdev); n != nil && n.Kind == kindRepresentor {
		return "port of the representor " + n.Name + ", the switch side of a virtual function"
	}
	if reason := s.elsewhere(d); reason != "" {
		return reason
	}
	if d.VF == nil || d.VF.ParentDevice == "" {
		return ""
	}
	if parent := s.Device(d.VF.ParentDevice); parent == nil || s.elsewhere(parent) != "" {
		return "" // a pod that was given the VF sees the PF and can't use it
	}
	return d.VF.kind() + " of " + d.VF.ParentDevice + ": meant for a pod or a virtual machine"
}

// elsewhere tells why a device can't be used from here while another can: no
// character device was given, or its network devices are in other namespaces.
func (s *Snapshot) elsewhere(d *Device) string {
	switch {
	case !d.UverbsNode() && s.Host.DevVisible &&
		slices.ContainsFunc(s.Devices, func(o Device) bool { return o.UverbsNode() }):
		return "no character device of it was given to this container"
	case s.unaddressed(d) && slices.ContainsFunc(s.Devices, func(o Device) bool { return s.addressed(&o) }):
		return "its network device is in another network namespace"
	}
	return ""
}

// UverbsNode reports that a uverbs device of it exists below /dev/infiniband.
func (d *Device) UverbsNode() bool {
	return slices.ContainsFunc(d.Chars,
		func(c CharDevice) bool { return strings.HasPrefix(c.Name, "uverbs") && c.Node })
}

// unaddressed reports a hardware RoCE device without any GID or network device here.
func (s *Snapshot) unaddressed(d *Device) bool {
	if d.Software != "" || len(d.Ports) == 0 {
		return false
	}
	return !slices.ContainsFunc(d.Ports, func(p Port) bool {
		return p.LinkLayer != LinkLayerEthernet || p.Transport == TransportIWARP || len(p.GIDs) > 0 ||
			s.Netdev(p.Netdev) != nil
	})
}

func (s *Snapshot) addressed(d *Device) bool {
	return slices.ContainsFunc(d.Ports,
		func(p Port) bool { return p.LinkLayer == LinkLayerEthernet && len(p.GIDs) > 0 })
}
