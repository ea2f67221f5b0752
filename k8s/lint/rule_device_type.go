package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func deviceType() Rule {
	return Rule{
		ID: "device-type", Title: "VFs that pods get without RDMA", Severity: SeverityError,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			The device plugin mounts /dev/infiniband/uverbsN into pods only with isRdma: true and
			deviceType netdevice. Without it a pod gets a network device and NCCL falls back to TCP
			without an error. With linkType IB the webhook turns isRdma on, where it runs, which it
			does not by default. vfio-pci takes the VF away from the RDMA driver; the webhook
			refuses it together with isRdma, the CRD doesn't.`),
		Remedy:  "set isRdma: true and leave deviceType at netdevice; without RDMA on purpose say isRdma: false",
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
			"vfio-pci takes the VF away from the RDMA driver, and isRdma is true")
	case s.DeviceType == "vfio-pci" || rdma || pol.Find("spec", "isRdma") != nil && link != source.LinkIB:
	case link == source.LinkIB && pol.Find("spec", "isRdma") != nil:
		p.warn(pol.Object, path{"spec", "isRdma"},
			"isRdma is false on InfiniBand (%s): pods can do nothing but IPoIB", why)
	case link == source.LinkIB && webhook && s.LinkType != "": // which turns it on
	case link == source.LinkIB:
		p.warn(pol.Object, path{"spec"},
			"isRdma is absent: it becomes true only where the operator's webhook runs").fix("isRdma: true")
	case s.NicSelector.Vendor == k8s.VendorMellanox && s.DeviceType != "vfio-pci":
		p.warn(pol.Object, path{"spec"}, "isRdma is absent, which means false: pods get no /dev/infiniband").fix(
			"isRdma: true")
	}
}
