package inventory

import (
	"fmt"
	"slices"
)

// storageGbPerSecond is the minimum rate of a storage port. Other ports that are not compute ports
// are management ports: management networks run at 1 to 25 Gb/s.
const storageGbPerSecond = 40

// AssignRoles determines the role of each port, with the rule and the reason, and numbers the
// rails. [Scan] does it; call it again to apply the settings of a site to a stored snapshot.
//
// Ports of one board, link layer and transport are a family. The compute ports are those of the
// family with the most bandwidth near GPUs, and what belongs to it; [RoleRules] lists the rules.
func AssignRoles(snap *Snapshot, site []RoleSetting) {
	c := newClassifier(snap, site)
	for i := range c.ports {
		f := &c.ports[i]
		f.p.Role, f.p.RoleReason, f.p.RoleRule, f.p.Rail = RoleUnknown, "", "", nil
		for _, rule := range roleRules {
			if role, reason, ok := rule.judge(c, f); ok {
				f.p.Role, f.p.RoleReason, f.p.RoleRule = role, reason, rule.name
				break
			}
		}
	}
	assignRails(snap)
}

// portFacts is what the rules compare.
type portFacts struct {
	d        *Device
	p        *Port
	family   *family // nil if the port is no candidate for collectives
	up       bool    // it has a link, so its rate is valid
	near     bool    // a GPU is below the same PCI switch
	route    bool    // it carries the default route
	setting  *RoleSetting
	others   string // why this node or pod must not use it
	sibling  string // the device with a link on the same card if this is probably its unused second port
	selected bool   // it counts for the choice of the compute family
}

// family is the ports of one board, link layer and transport, bonded or not. They serve the same
// purpose unless something tells them apart.
type family struct {
	familyKey
	ports []*portFacts
	rate  float64 // of most of its selected ports, Gb/s; 0 without one
}

type familyKey struct {
	board     string
	layer     LinkLayer
	transport Transport
	bonded    bool
}

func (f *family) String() string { return atRate(f.transport, f.rate) }

// atRate describes ports: "InfiniBand at 400 Gb/s".
func atRate(t Transport, rate float64) string {
	name := string(t)
	if t == TransportUnknown {
		name = "unknown transport"
	}
	if rate == 0 {
		return name + " at an unknown rate"
	}
	return fmt.Sprintf("%s at %g Gb/s", name, rate)
}

// count returns the number of ports for which is reports true.
func (f *family) count(is func(*portFacts) bool) int {
	n := 0
	for _, p := range f.ports {
		if is(p) {
			n++
		}
	}
	return n
}

func isUp(f *portFacts) bool       { return f.up }
func isDown(f *portFacts) bool     { return !f.up && f.sibling == "" }
func isPortDown(f *portFacts) bool { return isDown(f) && f.p.State == PortStateDown }
func isNear(f *portFacts) bool     { return f.near }
func isDownNear(f *portFacts) bool { return isDown(f) && f.near }

func isSelected(f *portFacts) bool { return f.selected }

func isSelectedNear(f *portFacts) bool { return f.selected && f.near }

// classifier determines the roles of the ports of a node.
type classifier struct {
	snap     *Snapshot
	ports    []portFacts
	families []*family
	compute  *family      // the family of the compute ports, nil if there is none
	near     bool         // compute ports have a GPU nearby
	covered  map[int]bool // the GPUs near a port of the compute family
	only     bool         // there are no other ports than those with the default route
	// doubt is why no family was chosen although ports have a link; "" otherwise.
	doubt string
}

func newClassifier(snap *Snapshot, site []RoleSetting) *classifier {
	c := &classifier{snap: snap, covered: map[int]bool{}}
	for d, p := range snap.Ports() {
		f := portFacts{d: d, p: p, up: linkUp(p), near: nearGPU(p), others: snap.OthersReason(d, p)}
		f.setting = settingOf(site, snap, d, p)
		f.route = snap.DefaultRouteOf(p) != nil
		if spare, _ := snap.SpareOf(d, p); spare != nil {
			f.sibling = spare.Name
		}
		c.ports = append(c.ports, f)
	}
	for i := range c.ports {
		if f := &c.ports[i]; f.candidate() {
			c.join(f)
		}
	}
	c.choose()
	return c
}

// candidate reports whether a port is hardware that could carry the collectives of this node.
func (f *portFacts) candidate() bool {
	return f.d.Software == "" && f.d.SMIOf == "" && f.others == "" && f.p.Transport != TransportUSNIC &&
		(f.setting == nil || f.setting.Role == RoleCompute)
}

func (c *classifier) join(f *portFacts) {
	key := familyKey{boardOf(f.d), f.p.LinkLayer, transportClass(f.p), bonded(c.snap, f.p)}
	i := slices.IndexFunc(c.families, func(o *family) bool { return o.familyKey == key })
	if i < 0 {
		i = len(c.families)
		c.families = append(c.families, &family{familyKey: key})
	}
	f.family = c.families[i]
	f.family.ports = append(f.family.ports, f)
}

// boardOf returns what distinguishes boards: the board id (PSID) if it is known, as the same PCI
// device is a network card on one board and a DPU on another.
func boardOf(d *Device) string {
	switch {
	case d.BoardID != "":
		return d.BoardID
	case d.PCI != nil:
		return fmt.Sprintf("%v:%v %v:%v", d.PCI.VendorID, d.PCI.DeviceID, d.PCI.SubsystemVendor, d.PCI.SubsystemDevice)
	}
	return d.HCAType
}

// transportClass is the transport without the version of RoCE, which depends on the addresses and
// not on the card.
func transportClass(p *Port) Transport {
	if p.Transport == TransportRoCE || p.Transport == TransportRoCEv1 {
		return TransportRoCEv2
	}
	return p.Transport
}

func rateOf(p *Port) float64 {
	if p.Rate == nil {
		return 0
	}
	return p.Rate.GbPerSecond
}

// linkUp reports whether the port has a link, so that its rate is valid: a port without a link
// reports 1X SDR or its last rate.
func linkUp(p *Port) bool {
	switch p.PhysState {
	case PhysStateLinkUp:
		return true
	case PhysStateUnknown:
		return p.State >= PortStateInit
	}
	return false
}

func nearGPU(p *Port) bool { return len(p.GPUs) > 0 && isNearDistance(p.GPUs[0].Distance) }

func isNearDistance(d PCIDistance) bool { return d != PCIDistanceUnknown && d <= PCIDistancePXB }

func nearestGPUText(p *Port) string {
	if len(p.GPUs) == 0 {
		return "no GPU seen"
	}
	return fmt.Sprintf("GPU%d at %s", p.GPUs[0].GPU, p.GPUs[0].Distance)
}

// DefaultRouteOf returns the default route that the port's network device carries, or its bond, or
// a VLAN device on one of them: that with the lowest metric. It returns nil for none.
func (s *Snapshot) DefaultRouteOf(p *Port) *DefaultRoute {
	n := s.Netdev(p.Netdev)
	if n == nil {
		return nil
	}
	own := func(name string) bool { return name != "" && (name == n.Name || name == n.Master) }
	i := slices.IndexFunc(s.Host.DefaultRoutes, func(r DefaultRoute) bool {
		over := s.Netdev(r.Netdev)
		return own(r.Netdev) || over != nil && own(over.Lower)
	})
	if i < 0 {
		return nil
	}
	return &s.Host.DefaultRoutes[i]
}

func bonded(s *Snapshot, p *Port) bool {
	n := s.Netdev(p.Netdev)
	return n != nil && (n.Bond != nil || s.bondOf(*n) != nil)
}
