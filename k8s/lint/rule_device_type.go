package lint

import (
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkDeviceType(p *pass, pol *policy) {
	s := pol.Value.Spec
	rdma := s.IsRdma != nil && *s.IsRdma
	link, why := p.linkOf(pol)
	webhook, _ := p.webhook()
	switch {
	case s.DeviceType == "vfio-pci" && rdma:
		p.error(pol.Object, path{"spec", "deviceType"},
			"isRdma is true, but deviceType vfio-pci unbinds the VF from the RDMA driver")
	case s.DeviceType == "vfio-pci" || rdma || pol.Find("spec", "isRdma") != nil && link != source.LinkIB:
	case link == source.LinkIB && pol.Find("spec", "isRdma") != nil:
		p.warn(pol.Object, path{"spec", "isRdma"},
			"isRdma is false on InfiniBand (%s): pods can use IPoIB only", why)
	case link == source.LinkIB && webhook && s.LinkType != "": // the webhook sets isRdma
	case link == source.LinkIB:
		p.warn(pol.Object, path{"spec"},
			"isRdma is absent, and only the operator's webhook would set it to true").fix("isRdma: true")
	case s.NicSelector.Vendor == k8s.VendorMellanox && s.DeviceType != "vfio-pci":
		p.warn(pol.Object, path{"spec"}, "isRdma is absent and defaults to false: pods get no /dev/infiniband").fix(
			"isRdma: true")
	}
}
