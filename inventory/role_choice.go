package inventory

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/english"
)

// choose finds the family of the compute ports.
func (c *classifier) choose() {
	c.selectPorts()
	c.compute = c.best()
	if c.compute == nil && !c.routeAlone() {
		return
	}
	if c.compute == nil {
		c.only = true
		c.selectPorts()
		if c.compute = c.best(); c.compute == nil {
			return
		}
	}
	if c.doubt = c.doubtOf(c.compute); c.doubt != "" {
		c.compute = nil
		return
	}
	for _, f := range c.compute.ports {
		// A rail without a link is still the rail of its GPU.
		if !f.selected && (!isDown(f) || c.uncabled(f)) {
			continue
		}
		c.near = c.near || f.near
		for _, g := range f.p.GPUs {
			if isNearDistance(g.Distance) {
				c.covered[g.GPU] = true
			}
		}
	}
}

// selectPorts selects the ports with a link and a rate, or all with a link if no rate of the family
// was recorded, but not those with the default route unless they are rails too. It sets the rates
// of the families.
func (c *classifier) selectPorts() {
	for _, fam := range c.families {
		rated := fam.count(func(f *portFacts) bool { return f.up && f.p.Rate != nil }) > 0
		for _, f := range fam.ports {
			f.selected = f.up && (f.p.Rate != nil || !rated) && (c.only || !f.route || fam.railWithRoute(f))
		}
		fam.rate = fam.usualRate()
	}
}

// railWithRoute reports whether a port with the default route is one of several ports of a family
// that all have GPUs nearby: then the route was put on a rail.
func (f *family) railWithRoute(p *portFacts) bool {
	const several = 3
	alike := f.count(func(o *portFacts) bool { return o.up && o.near })
	return p.near && alike >= several && alike == f.count(isUp)
}

// usualRate returns the rate of most selected ports, the highest if several rates are as frequent.
func (f *family) usualRate() float64 {
	count := map[float64]int{}
	best := 0.0
	for _, p := range f.ports {
		if p.selected {
			count[rateOf(p.p)]++
		}
	}
	for rate, n := range count {
		if n > count[best] || n == count[best] && rate > best {
			best = rate
		}
	}
	return best
}

// best returns the family with the most bandwidth near GPUs, then in total; nil without a family
// that has a selected port.
func (c *classifier) best() *family {
	var best *family
	for _, f := range c.families {
		if f.count(isSelected) > 0 && (best == nil || f.compare(best) > 0) {
			best = f
		}
	}
	return best
}

func (f *family) compare(o *family) int {
	near, total := f.bandwidth()
	otherNear, otherTotal := o.bandwidth()
	return cmp.Or(cmp.Compare(near, otherNear), cmp.Compare(total, otherTotal),
		cmp.Compare(f.count(isSelectedNear), o.count(isSelectedNear)),
		cmp.Compare(f.count(isSelected), o.count(isSelected)),
		cmp.Compare(rank(f.layer == LinkLayerInfiniBand), rank(o.layer == LinkLayerInfiniBand)),
		cmp.Compare(f.rate, o.rate), cmp.Compare(o.transport, f.transport), cmp.Compare(o.board, f.board))
}

func (f *family) bandwidth() (near, total float64) {
	for _, p := range f.ports {
		if p.selected {
			total += rateOf(p.p)
			if p.near {
				near += rateOf(p.p)
			}
		}
	}
	return near, total
}

// routeAlone reports whether ports with the default route are the only ones there are. If there are
// others, without a link or with a role from the configuration, it sets the doubt: they were meant
// for jobs, or nothing is.
func (c *classifier) routeAlone() bool {
	var down, route []string
	configured := false
	for i := range c.ports {
		switch f := &c.ports[i]; {
		case f.d.Software != "" || f.others != "" || f.p.Transport == TransportUSNIC:
		case f.up && f.route:
			route = append(route, f.p.Netdev)
		case f.setting != nil:
			configured = true
		case isDown(f):
			down = append(down, portName(f))
		}
	}
	switch {
	case len(route) == 0:
		return true
	case len(down) > 0:
		c.doubt = "no link on " + list(down) + ", and " + list(route) + " carries the default route"
	case configured:
		c.doubt = "the configuration gives the other ports their roles, and " + list(route) +
			" carries the default route"
	}
	return c.doubt == ""
}

// doubtOf returns why the best family may not be the one for jobs, "" if nothing speaks against it.
func (c *classifier) doubtOf(best *family) string {
	for _, fam := range c.families {
		near := fam.count(isDownNear)
		if fam.count(isUp) == 0 && near > best.count(isSelectedNear) && fam.count(isDown) > 1 {
			var down []string
			for _, f := range fam.ports {
				if isDownNear(f) {
					down = append(down, portName(f))
				}
			}
			return "the ports near GPUs (" + list(down) + ") have no link"
		}
	}
	if best.count(isSelectedNear) > 0 {
		return ""
	}
	for _, fam := range c.families {
		if !c.snap.Host.PCIVisible && fam != best && fam.layer == best.layer && fam.board != best.board &&
			fam.count(isSelected) > best.count(isSelected) && fam.rate < best.rate {
			return fmt.Sprintf("%s at %g Gb/s and %d of another board at %g Gb/s, and no PCI tree to tell which "+
				"are near GPUs", english.Count(best.count(isSelected), "port"), best.rate, fam.count(isSelected),
				fam.rate)
		}
	}
	return ""
}

func portName(f *portFacts) string { return fmt.Sprintf("%s:%d", f.d.Name, f.p.Number) }

// list names up to four ports.
func list(names []string) string {
	const shown = 4
	return english.List(names, shown)
}

// complete reports whether every GPU has a port of the compute family nearby.
func (c *classifier) complete() bool {
	return len(c.snap.GPUs) > 0 && len(c.covered) == len(c.snap.GPUs)
}

// uncovered reports whether a GPU near a port has no port of the compute family nearby.
func (c *classifier) uncovered(p *Port) bool {
	return slices.ContainsFunc(p.GPUs, func(g GPUDistance) bool {
		return isNearDistance(g.Distance) && !c.covered[g.GPU]
	})
}

// assignRails numbers the compute ports by the PCI addresses of their GPUs, or their own if no GPU
// is near, so that names and ports without a link don't change the numbers.
func assignRails(snap *Snapshot) {
	type rail struct {
		place, address string
		p              *Port
	}
	gpus := map[int]string{}
	for _, g := range snap.GPUs {
		gpus[g.Index] = g.PCI.Address
	}
	var rails []rail
	for d, p := range snap.Ports() {
		if p.Role != RoleCompute {
			continue
		}
		r := rail{p: p}
		if d.PCI != nil {
			r.address = d.PCI.Address
		}
		if r.place = r.address; nearGPU(p) {
			r.place = gpus[p.GPUs[0].GPU]
		}
		rails = append(rails, r)
	}
	slices.SortStableFunc(rails, func(a, b rail) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.address, b.address),
			cmp.Compare(a.p.Number, b.p.Number))
	})
	for i, r := range rails {
		r.p.Rail = &i
	}
}
