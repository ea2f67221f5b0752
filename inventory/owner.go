package inventory

import (
	"slices"
	"strings"
)

// acceleratorLink reports whether the ports of a device are the links of a Gaudi accelerator, which
// the driver habanalabs_ib shows as RDMA devices with 24 ports each. No verbs program can use them.
func (d *Device) acceleratorLink() bool { return d.PCI != nil && d.PCI.VendorID == vendorHabana }

// OthersReason returns the reason why this node or pod should not use a visible port, or
// "" if it may. In the shared namespace mode a pod sees all devices of the host, but may
// use only those with a character device or a network device in the pod. On a host, VFs
// whose PF is visible are for pods and virtual machines. Ports of an SMI device are for nobody.
func (s *Snapshot) OthersReason(d *Device, p *Port) string {
	if d.SMIOf != "" {
		return "subnet management of " + d.SMIOf + ", for no job"
	}
	if d.acceleratorLink() {
		return "link of a Gaudi accelerator: HCCL alone uses it"
	}
	if n := s.Netdev(p.Netdev); n != nil && n.Kind == kindRepresentor {
		return "port of " + n.Name + ", the representor of a virtual function"
	}
	if reason := s.unusableReason(d); reason != "" {
		return reason
	}
	if f := s.carrierOf(d); f != nil {
		return "no GID, as the uplink of a switch (switchdev mode): " + f.Name + " carries its RDMA traffic"
	}
	if d.VF == nil || d.VF.ParentDevice == "" {
		return ""
	}
	parent := s.Device(d.VF.ParentDevice)
	if parent == nil || s.unusableReason(parent) != "" || s.carrierOf(parent) == d {
		return "" // the PF is visible, but can't be used, as in a pod with the VF
	}
	return d.VF.kind() + " of " + d.VF.ParentDevice + ", for a pod or a virtual machine"
}

// carrierOf returns the first function of a PF that has GIDs if the PF itself, which is active, has
// none: in switchdev mode the PF is the uplink of the card's switch. It returns nil for other PFs.
func (s *Snapshot) carrierOf(d *Device) *Device {
	if d.VF != nil || d.Software != "" || len(d.Ports) == 0 || slices.ContainsFunc(d.Ports, func(p Port) bool {
		return p.LinkLayer != LinkLayerEthernet || !p.UpOrDeferred() || len(p.GIDs) > 0 || p.GIDTableSize == 0
	}) {
		return nil
	}
	for i := range s.Devices {
		if f := &s.Devices[i]; f.VF != nil && f.VF.ParentDevice == d.Name && s.hasAddress(f) {
			return f
		}
	}
	return nil
}

// unusableReason returns the reason why a device can't be used here although another one
// can: its character device or its network device is not in this container or network
// namespace. Otherwise it returns "".
func (s *Snapshot) unusableReason(d *Device) string {
	switch {
	case !d.UverbsNode() && s.Host.DevVisible &&
		slices.ContainsFunc(s.Devices, func(o Device) bool { return o.UverbsNode() }):
		return "its character device is not in this container"
	case s.hasNoAddress(d) && slices.ContainsFunc(s.Devices, func(o Device) bool { return s.hasAddress(&o) }):
		return "its network device is in another network namespace"
	}
	return ""
}

// UverbsNode reports whether the device has a uverbs file below /dev/infiniband.
func (d *Device) UverbsNode() bool {
	return slices.ContainsFunc(d.Chars,
		func(c CharDevice) bool { return strings.HasPrefix(c.Name, "uverbs") && c.Node })
}

// hasNoAddress reports whether d is a hardware RoCE device without a GID or network device here.
func (s *Snapshot) hasNoAddress(d *Device) bool {
	if d.Software != "" || len(d.Ports) == 0 {
		return false
	}
	return !slices.ContainsFunc(d.Ports, func(p Port) bool {
		return p.LinkLayer != LinkLayerEthernet || p.Transport == TransportIWARP || p.Transport == TransportERDMA ||
			len(p.GIDs) > 0 || s.Netdev(p.Netdev) != nil
	})
}

func (s *Snapshot) hasAddress(d *Device) bool {
	return slices.ContainsFunc(d.Ports,
		func(p Port) bool { return p.LinkLayer == LinkLayerEthernet && len(p.GIDs) > 0 })
}
