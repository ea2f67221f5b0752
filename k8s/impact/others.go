package impact

import "slices"

// addAlso sets Also of each change to a policy: a policy usually applies to many nodes, and a
// change that avoids the reboot of one node may reboot others.
func (r *Report) addAlso() {
	applies := map[string][]string{}      // nodes by policy
	wants := map[string]map[string]bool{} // nodes by change
	known := map[string][]string{}        // results, by change
	for i := range r.Nodes {
		n := &r.Nodes[i]
		for _, c := range n.Cards {
			for _, a := range c.Policies {
				if list := applies[a.Policy]; len(list) == 0 || list[len(list)-1] != n.Name {
					applies[a.Policy] = append(list, n.Name)
				}
			}
		}
		n.avoids(func(a *Avoid) {
			if wants[a.Change] == nil {
				wants[a.Change] = map[string]bool{}
			}
			wants[a.Change][n.Name] = true
		})
	}
	for i := range r.Nodes {
		r.Nodes[i].avoids(func(a *Avoid) {
			also, done := known[a.Change]
			if !done {
				for _, name := range a.policies {
					also = append(also, applies[name]...)
				}
				slices.Sort(also)
				also = slices.DeleteFunc(slices.Compact(also), func(name string) bool { return wants[a.Change][name] })
				known[a.Change] = also
			}
			a.Also = also
		})
	}
}

// avoids calls f for each Avoid of the node's cards.
func (n *Node) avoids(f func(*Avoid)) {
	for _, c := range n.Cards {
		for _, r := range c.Reasons {
			for i := range r.Avoid {
				f(&r.Avoid[i])
			}
		}
	}
}
