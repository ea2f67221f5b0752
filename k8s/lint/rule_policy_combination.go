package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// ipoibMTU is the most that a network device of InfiniBand takes in datagram mode, which is all
// that newer cards have: 4096 less the header.
const ipoibMTU = 4092

func checkSwitchdev(p *pass, pol *policy) {
	s := pol.Value.Spec
	switchdev := s.ESwitchMode == "switchdev"
	if switchdev && strings.EqualFold(s.LinkType, "ib") {
		p.error(pol.Object, path{"spec", "eSwitchMode"},
			"linkType is %s, but InfiniBand has no switchdev mode", s.LinkType)
	}
	if v := pol.Find("spec", "bridge"); !v.Empty() {
		switch {
		case !switchdev:
			p.error(pol.Object, path{"spec", "bridge"}, "a bridge requires eSwitchMode switchdev")
		case s.ExternallyManaged != nil && *s.ExternallyManaged:
			p.error(pol.Object, path{"spec", "bridge"}, "a bridge is not possible on an externally managed PF")
		}
	}
}

func checkVDPA(p *pass, pol *policy) {
	s := pol.Value.Spec
	if s.VdpaType == "" {
		return
	}
	if s.ESwitchMode != "switchdev" || s.DeviceType == "vfio-pci" {
		p.error(pol.Object, path{"spec", "vdpaType"}, "vdpaType needs deviceType netdevice and eSwitchMode switchdev")
	}
	if k8s.ValueOf(s.IsRdma) {
		p.error(pol.Object, path{"spec", "isRdma"},
			"the device plugin rejects a resource with both isRdma and vdpaType")
	}
	other := func(c card) bool { return c.PF.Vendor != "" && c.PF.Vendor != k8s.VendorMellanox }
	switch cards := p.cards(pol); {
	case s.NicSelector.Vendor != "" && s.NicSelector.Vendor != k8s.VendorMellanox:
		p.error(pol.Object, path{"spec", "vdpaType"}, "vdpaType requires cards of vendor 15b3, not %s",
			s.NicSelector.Vendor)
	case slices.ContainsFunc(cards, other):
		c := cards[slices.IndexFunc(cards, other)]
		p.error(pol.Object, path{"spec", "vdpaType"}, "vdpaType requires cards of vendor 15b3, but %s has vendor %s",
			c, c.PF.Vendor).onNode(c.Node.Name, "has the card")
	}
}

func checkIPoIBMTU(p *pass, pol *policy) {
	s := pol.Value.Spec
	if link, _ := p.linkOf(pol); link == source.LinkIB && s.MTU != nil && *s.MTU > ipoibMTU {
		p.warn(pol.Object, path{"spec", "mtu"},
			"mtu %d on InfiniBand: the operator fails, because IPoIB allows at most %d unless in connected mode",
			*s.MTU, ipoibMTU)
	}
}

func checkNetFilter(p *pass, pol *policy) {
	s := pol.Value.Spec
	n := s.NicSelector
	if n.NetFilter == "" {
		return
	}
	what := ""
	switch {
	case n.Vendor != "" || n.DeviceID != "" || len(n.RootDevices) > 0 || len(n.PfNames) > 0:
		what = "another selector"
	case s.ESwitchMode != "":
		what = "eSwitchMode"
	case s.Bridge != nil:
		what = "bridge"
	case s.LinkType != "" && !strings.EqualFold(s.LinkType, "eth"):
		what = "linkType " + s.LinkType
	}
	if what != "" {
		p.error(pol.Object, path{"spec", "nicSelector", "netFilter"}, "netFilter can't be combined with %s", what)
	}
}
