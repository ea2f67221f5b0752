package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func policyCombination() Rule {
	return Rule{
		ID: "policy-combination", Title: "settings of a policy that exclude each other", Severity: SeverityError,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			The webhook refuses switchdev with InfiniBand, vdpaType unless on NVIDIA's cards with
			netdevice and switchdev, a bridge unless with switchdev and not externallyManaged, and
			netFilter with any other selector, eSwitchMode, bridge, or a linkType other than eth.
			The CRD admits all of it, and the webhook is off by default. The device plugin refuses a
			resource with both vdpaType and isRdma, which the webhook admits. On InfiniBand the
			network device takes an mtu of 4092 at most, or 65520 in connected mode.`),
		Remedy:  "remove one of the two settings",
		Wrong:   "  linkType: ib\n  eSwitchMode: switchdev",
		Right:   "  linkType: eth\n  eSwitchMode: switchdev",
		Sources: []string{srcWebhook, srcPlugin, srcCRD, srcKernelIPoIB},
		check: func(p *pass) {
			for _, pol := range p.policies {
				checkCombination(p, pol)
			}
		},
	}
}

// ipoibMTU is the most that a network device of InfiniBand takes in datagram mode, which is all
// that newer cards have: 4096 less the header.
const ipoibMTU = 4092

func checkCombination(p *pass, pol *policy) {
	s := pol.Value.Spec
	switchdev := s.ESwitchMode == "switchdev"
	if switchdev && strings.EqualFold(s.LinkType, "ib") {
		p.error(pol.Object, path{"spec", "eSwitchMode"},
			"switchdev does not exist on InfiniBand, and linkType is %s", s.LinkType)
	}
	if s.VdpaType != "" && (!switchdev || s.DeviceType == "vfio-pci") {
		p.error(pol.Object, path{"spec", "vdpaType"}, "vdpaType needs deviceType netdevice and eSwitchMode switchdev")
	}
	if s.VdpaType != "" && k8s.ValueOf(s.IsRdma) {
		p.error(pol.Object, path{"spec", "isRdma"},
			"isRdma excludes vdpaType: the device plugin refuses a resource with both")
	}
	other := func(c card) bool { return c.PF.Vendor != "" && c.PF.Vendor != k8s.VendorMellanox }
	switch cards := p.cards(pol); {
	case s.VdpaType == "":
	case s.NicSelector.Vendor != "" && s.NicSelector.Vendor != k8s.VendorMellanox:
		p.error(pol.Object, path{"spec", "vdpaType"}, "vdpaType is for cards of vendor 15b3, and these are of %s",
			s.NicSelector.Vendor)
	case slices.ContainsFunc(cards, other):
		c := cards[slices.IndexFunc(cards, other)]
		p.error(pol.Object, path{"spec", "vdpaType"}, "vdpaType is for cards of vendor 15b3, and %s is of %s",
			c, c.PF.Vendor).onNode(c.Node.Name, "has the card")
	}
	if link, _ := p.linkOf(pol); link == source.LinkIB && s.MTU != nil && *s.MTU > ipoibMTU {
		p.warn(pol.Object, path{"spec", "mtu"},
			"mtu %d on InfiniBand: IPoIB takes %d at most unless in connected mode, and otherwise the operator fails",
			*s.MTU, ipoibMTU).
			Remedy = "leave mtu out: RDMA doesn't depend on it on InfiniBand"
	}
	if v := pol.Find("spec", "bridge"); !v.Empty() {
		switch {
		case !switchdev:
			p.error(pol.Object, path{"spec", "bridge"}, "a bridge needs eSwitchMode switchdev")
		case s.ExternallyManaged != nil && *s.ExternallyManaged:
			p.error(pol.Object, path{"spec", "bridge"}, "a bridge can't be made on a PF that is externally managed")
		}
	}
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
		p.error(pol.Object, path{"spec", "nicSelector", "netFilter"}, "netFilter excludes %s", what)
	}
}
