package lint

import (
	"github.com/rdmakit/rdmakit/k8s"
)

func checkNumVFs(p *pass, pol *policy) {
	s := pol.Value.Spec
	at := path{"spec", "numVfs"}
	n := numVfs(pol)
	external := s.ExternallyManaged != nil && *s.ExternallyManaged
	switch {
	case s.NumVfs == nil || n < 0:
		return
	case n == 0:
		p.error(pol.Object, at, "0 VFs: the webhook rejects the policy, and without the webhook there is no resource")
		return
	case s.NicSelector.Vendor == k8s.VendorMellanox && n > k8s.MaxMellanoxVFs:
		p.error(pol.Object, at, "%d VFs, but the operator allows at most %d on NVIDIA cards", n, k8s.MaxMellanoxVFs)
		return
	}
	for _, c := range p.cards(pol) {
		_, firmware := c.PF.FirmwareVFs()
		fixed := firmware && p.mellanoxDisabled() && c.PF.TotalVFs > 0 // sriov-disabled reports 0
		switch {
		case external && c.PF.NumVFs < n:
			p.error(pol.Object, at, "the PF is externally managed and has only %d of the %d VFs",
				c.PF.NumVFs, n).onNode(c.Node.Name, "%s: %d VFs now", c, c.PF.NumVFs)
		case firmware && n > k8s.MaxMellanoxVFs:
			p.error(pol.Object, at, "%d VFs, but the operator allows at most %d on NVIDIA cards",
				n, k8s.MaxMellanoxVFs).onNode(c.Node.Name, "%s is 15b3:%s", c, c.PF.DeviceID)
		case fixed && n > c.PF.TotalVFs:
			p.error(pol.Object, at,
				"%d VFs, but the firmware has %d, and the plugin mellanox, which could change that, is disabled", n,
				c.PF.TotalVFs).onNode(c.Node.Name, "%s: sriov_totalvfs is %d", c, c.PF.TotalVFs)
		case !firmware && n > c.PF.TotalVFs:
			p.error(pol.Object, at, "%d VFs, but the card has at most %d", n, c.PF.TotalVFs).onNode(c.Node.Name,
				"%s: sriov_totalvfs is %d", c, c.PF.TotalVFs)
		default:
			continue
		}
		return
	}
}
