package lint

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkSelectorCards(p *pass) {
	for _, pol := range p.policies {
		if !pol.Value.Spec.NicSelector.Empty() && pol.Value.Spec.NicSelector.NetFilter == "" {
			checkSelectorCard(p, pol)
		}
	}
}

func checkSelectorCard(p *pass, pol *policy) {
	nodes := p.candidates(pol)
	nodes = slices.DeleteFunc(nodes, func(n *source.Node) bool { return !n.CardsKnown })
	var without []*source.Node
	for _, n := range nodes {
		if !slices.ContainsFunc(n.PFs, func(pf source.PF) bool { _, _, ok := pf.Matches(pol.Value.Spec); return ok }) {
			without = append(without, n)
		}
	}
	at := path{"spec", "nicSelector"}
	switch {
	case len(nodes) == 0 || len(without) == 0:
		return
	case len(without) < len(nodes):
		maybe := func(n *source.Node) bool { _, maybe := n.Selected(pol.Value.Spec.NodeSelector); return maybe }
		nodes, without = slices.DeleteFunc(nodes, maybe), slices.DeleteFunc(without, maybe)
		if len(without) == 0 {
			return // the policy may not select such a node
		}
		f := p.note(pol.Object, at, "%d of the %d selected nodes %s no matching card",
			len(without), len(nodes), map[bool]string{true: "has", false: "have"}[len(without) == 1])
		f.onNode(without[0].Name, "%s", whyNot(pol, without[0]))
		return
	}
	f := p.error(pol.Object, at, "nicSelector matches no card of the selected nodes")
	for _, n := range without[:min(2, len(without))] {
		f.onNode(n.Name, "%s", whyNot(pol, n))
	}
	if at, name := nearName(pol, without); name != "" {
		f.place(pol.At(at...)).fix("%q", name)
	}
}

// whyNot returns the first field of the selector that leaves no card of a node.
func whyNot(pol *policy, n *source.Node) string {
	s := pol.Value.Spec.NicSelector
	steps := []struct {
		name string
		fits func(source.PF) bool
		set  bool
	}{
		{"vendor " + s.Vendor, func(pf source.PF) bool { return pf.Vendor == s.Vendor }, s.Vendor != ""},
		{"deviceID " + s.DeviceID, func(pf source.PF) bool { return pf.DeviceID == s.DeviceID }, s.DeviceID != ""},
		{
			"rootDevices", func(pf source.PF) bool { return slices.Contains(s.RootDevices, pf.Address) },
			len(s.RootDevices) > 0,
		},
		{"pfNames", func(pf source.PF) bool {
			return slices.ContainsFunc(s.PfNames, func(t string) bool { return pf.Named(source.PFNameOf(t)) })
		}, len(s.PfNames) > 0},
		{"a network device", func(pf source.PF) bool { return pf.Netdev != "" }, true},
	}
	left := n.PFs
	if len(left) == 0 {
		return "no card that supports VFs"
	}
	for _, step := range steps {
		if !step.set {
			continue
		}
		var next []source.PF
		for _, pf := range left {
			if step.fits(pf) {
				next = append(next, pf)
			}
		}
		if len(next) == 0 {
			pf := left[0]
			return fmt.Sprintf("none of %s has %s; the first is %s %s:%s, network device %q",
				english.Count(len(left), "card"), step.name, pf.Address, pf.Vendor, pf.DeviceID, pf.Netdev)
		}
		left = next
	}
	return "no card matches"
}

// nearName returns an entry of pfNames and a network device with a similar name.
func nearName(pol *policy, nodes []*source.Node) (path, string) {
	for i, text := range pol.Value.Spec.NicSelector.PfNames {
		n, err := source.ParsePFName(text)
		if err != nil {
			continue
		}
		for _, node := range nodes {
			for _, pf := range node.PFs {
				// Newer kernels append the port (np0), so the name can change with an update.
				if pf.Netdev == n.Name+"np0" || pf.Netdev == n.Name+"np1" || pf.Netdev+"np0" == n.Name ||
					pf.Netdev+"np1" == n.Name {
					return path{"spec", "nicSelector", "pfNames", i}, pf.Netdev
				}
			}
		}
	}
	return nil, ""
}
