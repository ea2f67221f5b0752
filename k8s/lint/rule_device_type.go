package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func deviceType() Rule {
	return Rule{
		ID: "device-type", Title: "VFs without RDMA in pods", Severity: SeverityError,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			The device plugin mounts /dev/infiniband/uverbsN into pods only with isRdma: true and
			deviceType netdevice. Otherwise a pod gets a network device only, and NCCL falls back to
			TCP without an error. With linkType IB the webhook sets isRdma, but the webhook is off
			by default. vfio-pci unbinds the VF from the RDMA driver; the webhook rejects it
			together with isRdma, the CRD doesn't.`),
		Remedy:  "set isRdma: true and leave deviceType at netdevice, or set isRdma: false if RDMA isn't wanted",
		Wrong:   "  deviceType: vfio-pci\n  isRdma: true",
		Right:   "  deviceType: netdevice\n  isRdma: true",
		Sources: []string{srcWebhook, srcPlugin, srcAPIServer},
		check: func(p *pass) {
			for _, pol := range p.policies {
				checkDeviceType(p, pol)
			}
		},
	}
}

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
