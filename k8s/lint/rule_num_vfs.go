package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

func numVFs() Rule {
	return Rule{
		ID: "num-vfs", Title: "a number of VFs that the card or the operator doesn't give", Severity: SeverityError,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			The CRD admits any number. The webhook refuses 0, more than sriov_totalvfs on Intel's
			cards and more than 128 on NVIDIA's, whose firmware the operator sets to exactly numVfs,
			with a reboot, unless the plugin mellanox is disabled. A PF that is managed by others
			must have the VFs already.`),
		Remedy:  "ask for 1 to 128 VFs, and no more than the card has",
		Wrong:   "  numVfs: 500",
		Right:   "  numVfs: 16",
		Sources: []string{srcWebhook, srcMellanox},
		check: func(p *pass) {
			for _, pol := range p.policies {
				checkNumVFs(p, pol)
			}
		},
	}
}

func checkNumVFs(p *pass, pol *policy) {
	s := pol.Value.Spec
	at := path{"spec", "numVfs"}
	n := numVfs(pol)
	external := s.ExternallyManaged != nil && *s.ExternallyManaged
	switch {
	case s.NumVfs == nil || n < 0:
		return
	case n == 0:
		p.error(pol.Object, at, "0 VFs: the webhook refuses it, and without it the policy makes no resource")
		return
	case s.NicSelector.Vendor == k8s.VendorMellanox && n > k8s.MaxMellanoxVFs:
		p.error(pol.Object, at, "%d VFs, and the operator gives NVIDIA's cards %d at most", n, k8s.MaxMellanoxVFs)
		return
	}
	for _, c := range p.cards(pol) {
		_, firmware := c.PF.FirmwareVFs()
		fixed := firmware && p.mellanoxDisabled() && c.PF.TotalVFs > 0 // with 0 sriov-disabled tells
		switch {
		case external && c.PF.NumVFs < n:
			p.error(pol.Object, at, "the PF is externally managed and has %d VFs of the %d", c.PF.NumVFs, n).onNode(
				c.Node.Name, "%s: %d VFs now", c, c.PF.NumVFs)
		case firmware && n > k8s.MaxMellanoxVFs:
			p.error(pol.Object, at, "%d VFs, and the operator gives NVIDIA's cards %d at most",
				n, k8s.MaxMellanoxVFs).onNode(c.Node.Name, "%s is 15b3:%s", c, c.PF.DeviceID)
		case fixed && n > c.PF.TotalVFs:
			p.error(pol.Object, at,
				"%d VFs, the firmware gives %d, and the plugin mellanox, which would change that, is disabled", n,
				c.PF.TotalVFs).onNode(c.Node.Name, "%s: sriov_totalvfs is %d", c, c.PF.TotalVFs)
		case !firmware && n > c.PF.TotalVFs:
			p.error(pol.Object, at, "%d VFs, and the card gives %d at most", n, c.PF.TotalVFs).onNode(c.Node.Name,
				"%s: sriov_totalvfs is %d", c, c.PF.TotalVFs)
		default:
			continue
		}
		return
	}
}
