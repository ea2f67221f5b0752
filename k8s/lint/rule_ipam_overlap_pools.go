package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// poolUse is a pool of nv-ipam and a network that uses it.
type poolUse struct {
	nvRef
	pool *nvPool
}

// poolUses returns the pools with a subnet and the networks that use them, up to a limit.
func (p *pass) poolUses() []poolUse {
	var out []poolUse
	index := p.indexPools(p.nvPools())
	for _, ref := range p.nvRefs() {
		for _, name := range ref.names {
			for _, pool := range index.byName[name] {
				if pool.poolType == ref.poolType && pool.subnet.IsValid() && p.together(pool.Object, ref.Object) {
					out = append(out, poolUse{ref, pool})
				}
			}
		}
		if len(out) >= maxRanges {
			break
		}
	}
	return out
}

// checkPoolRanges reports ranges of networks that overlap with a pool of nv-ipam for another rail
// of the same pods or namespace.
func checkPoolRanges(p *pass, refs []ipamRef) {
	uses := p.poolUses()
	if len(uses) == 0 {
		return
	}
	users := p.findUsers()
	for _, ref := range refs {
		checkPoolRange(p, uses, users, ref)
	}
}

func checkPoolRange(p *pass, uses []poolUse, users networkUsers, ref ipamRef) {
	for _, s := range ref.spans {
		i := slices.IndexFunc(uses, func(use poolUse) bool {
			return use.pool.subnet.Overlaps(s.Prefix) && use.otherRail(ref) && !use.pool.leavesOut(s) &&
				users.common(use.Object, ref.Object)
		})
		if i >= 0 {
			reportPoolRange(p, uses[i], ref, s)
			return
		}
	}
}

// otherRail reports whether a network is known to be of another rail than the one that uses the
// pool.
func (u poolUse) otherRail(ref ipamRef) bool {
	if u.resource != ref.resource {
		return true
	}
	master := nvMaster(u.Object)
	return u.resource == "" && master != "" && ref.master != "" && master != ref.master
}

// leavesOut reports whether an exclusion of the pool covers a range.
func (p *nvPool) leavesOut(s span) bool {
	return slices.ContainsFunc(p.exclusions[:min(len(p.exclusions), maxRanges)], func(r k8s.AddressRange) bool {
		first, last, ok := addressesOf(r)
		return ok && first.Compare(s.First) <= 0 && s.Last.Compare(last) <= 0
	})
}

// reportPoolRange reports the network with the range, or the one with the pool if only that is to
// be checked.
func reportPoolRange(p *pass, use poolUse, ref ipamRef, s span) {
	report := p.warn
	if use.pool.subnet != s.Prefix.Masked() {
		report = p.error
	}
	subnet := use.pool.At("spec", use.pool.field)
	if p.checked[ref.Object] {
		f := report(ref.Object, ref.at, "%s overlaps with %s of %s, which %s uses, another network", s.Prefix,
			use.pool.subnet, use.pool.Object, use.Object).place(ref.rangeAt(s.of)).because(subnet, "the pool")
		f.Value = s.Prefix.String()
		p.apart(f, ref.Object, use.Object)
		return
	}
	f := report(use.Object, use.at, "%s of %s overlaps with %s of %s, another network", use.pool.subnet,
		use.pool.Object, s.Prefix, ref.Object).because(subnet, "the pool").because(ref.rangeAt(s.of), "the other range")
	p.apart(f, ref.Object, use.Object)
}

// networkUsers are the namespaces of networks, and the pods that attach them.
type networkUsers struct {
	namespace map[*manifest.Object]string
	pods      map[*manifest.Object]map[*pod]bool
}

func (m *model) findUsers() networkUsers {
	u := networkUsers{namespace: map[*manifest.Object]string{}, pods: map[*manifest.Object]map[*pod]bool{}}
	for _, list := range m.byName {
		for _, a := range list {
			u.namespace[a.Object] = a.namespace
		}
	}
	for _, of := range m.pods {
		for _, a := range of.attachments() {
			t, ok := m.resolve(of, a)
			if !ok {
				continue
			}
			if u.pods[t.Object] == nil {
				u.pods[t.Object] = map[*pod]bool{}
			}
			u.pods[t.Object][of] = true
		}
	}
	return u
}

// common reports whether two networks are for the same namespace, or a pod attaches both.
func (u networkUsers) common(a, b *manifest.Object) bool {
	if u.namespace[a] == u.namespace[b] {
		return true
	}
	for of := range u.pods[a] {
		if u.pods[b][of] {
			return true
		}
	}
	return false
}
