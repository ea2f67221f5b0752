package lint

func checkLinkState(p *pass, n *network) {
	if n.Spec.LinkState == "disable" {
		p.warn(n.Object, path{"spec", "linkState"}, "the link of every VF on this network is down")
	}
}
