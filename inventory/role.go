package inventory

import (
	"cmp"
	"fmt"
	"slices"
)

// storageGbPerSecond is the minimum rate of a storage port. Other non-compute ports are
// management ports: management networks run at 1 to 25 Gb/s.
const storageGbPerSecond = 40

// assignRoles determines the role of each port and numbers the rails. The compute ports
// are the class of ports (link layer, transport and rate) with the most bandwidth near
// GPUs. Ports of the same card model are compute ports at any rate, since a rail may be
// down or have a reduced rate. A port with the default route or in a bond is not a
// compute port.
func assignRoles(snap *Snapshot) {
	rc := newRoleClassifier(snap)
	for d, p := range snap.Ports() {
		p.Role, p.RoleReason = rc.role(d, p)
	}
	assignRails(snap)
}

// portClass has the properties that all compute ports of a node share.
type portClass struct {
	layer     LinkLayer
	transport Transport
	rate      float64 // Gb/s
}

func (c portClass) String() string {
	return fmt.Sprintf("%s at %g Gb/s", c.transport, c.rate)
}

// roleClassifier determines the roles of the ports of a node.
type roleClassifier struct {
	snap    *Snapshot
	compute portClass // class of the compute ports; zero if it can't be determined
	near    bool      // compute ports have a GPU nearby
	models  map[PCIID]bool
	only    bool // no other port is eligible, so default routes and bonds don't exclude a port
}

func newRoleClassifier(snap *Snapshot) *roleClassifier {
	rc := &roleClassifier{snap: snap, models: map[PCIID]bool{}}
	if !rc.choose() {
		rc.only = true
		rc.choose()
	}
	return rc
}

// choose determines the class with the most bandwidth near GPUs, then in total. It reports
// whether there is one.
func (rc *roleClassifier) choose() bool {
	type score struct {
		near, total float64
		count       int
	}
	scores := map[portClass]*score{}
	for d, p := range rc.snap.Ports() {
		if !rc.eligible(d, p) || p.Rate == nil || !linkUp(p) {
			continue
		}
		c := classOf(p)
		if scores[c] == nil {
			scores[c] = &score{}
		}
		scores[c].total += p.Rate.GbPerSecond
		scores[c].count++
		if nearGPU(p) {
			scores[c].near += p.Rate.GbPerSecond
		}
	}
	best := portClass{}
	for c, s := range scores {
		b, ok := scores[best]
		if !ok || cmp.Or(cmp.Compare(s.near, b.near), cmp.Compare(s.total, b.total),
			cmp.Compare(layerRank(c.layer), layerRank(best.layer)), cmp.Compare(c.rate, best.rate),
			cmp.Compare(best.transport, c.transport)) > 0 {
			best = c
		}
	}
	if len(scores) == 0 {
		return false
	}
	rc.compute, rc.near = best, scores[best].near > 0
	for d, p := range rc.snap.Ports() {
		if rc.eligible(d, p) && linkUp(p) && classOf(p) == best && d.PCI != nil {
			rc.models[d.PCI.DeviceID] = true
		}
	}
	return true
}

// eligible reports whether a port is considered for the class of compute ports: it is
// hardware that this node may use, without default route and bond unless no other port is
// eligible.
func (rc *roleClassifier) eligible(d *Device, p *Port) bool {
	if d.Software != "" || rc.snap.OthersReason(d, p) != "" {
		return false
	}
	return rc.only || !rc.defaultRoute(p) && !rc.bonded(p)
}

func (rc *roleClassifier) role(d *Device, p *Port) (Role, string) {
	others := rc.snap.OthersReason(d, p)
	switch {
	case others != "":
		return RoleUnknown, others
	case d.Software != "" && rc.compute != (portClass{}):
		return RoleUnknown, d.Software + " is a software device, and the node has RDMA cards"
	case d.Software != "":
		return RoleCompute, "the node has only software RDMA devices (" + d.Software + ")"
	case rc.compute == (portClass{}):
		return RoleUnknown, "no port of the node has a link, so compute and storage can't be distinguished"
	case !rc.only && rc.defaultRoute(p):
		return RoleManagement, p.Netdev + " carries the default route"
	case !rc.only && rc.bonded(p):
		return RoleStorage, p.Netdev + " is in a bond, and the node has compute ports without a bond"
	}
	return rc.roleByClass(d, p)
}

func (rc *roleClassifier) roleByClass(d *Device, p *Port) (Role, string) {
	sameClass := linkUp(p) && classOf(p) == rc.compute
	spare, _ := rc.snap.SpareOf(d, p)
	sameModel := p.LinkLayer == rc.compute.layer && d.PCI != nil && rc.models[d.PCI.DeviceID]
	switch {
	case !sameClass && !sameModel:
		return rc.roleOfOther(p)
	case rc.near && !nearGPU(p):
		return RoleStorage, fmt.Sprintf("%s like the compute ports, but no GPU nearby (%s)",
			p.Transport, nearestGPUText(p))
	case sameClass && rc.near:
		return RoleCompute, fmt.Sprintf("%s with a GPU nearby (%s)", rc.compute, nearestGPUText(p))
	case sameClass:
		return RoleCompute, rc.compute.String() + ", the class with the most bandwidth"
	case !linkUp(p) && spare != nil:
		return RoleUnknown, fmt.Sprintf(
			"no link, but %s on the same card has one: probably the unused second port", spare.Name)
	case !linkUp(p):
		return RoleCompute, "same card model as the compute ports, without a link"
	case p.Rate == nil:
		return RoleCompute, "same card model as the compute ports; its rate could not be read"
	}
	if classOf(p).transport != rc.compute.transport {
		return RoleCompute, fmt.Sprintf("same card model as the compute ports, but with transport %s", p.Transport)
	}
	return RoleCompute, fmt.Sprintf("same card model as the compute ports, at %g instead of %g Gb/s",
		rateOf(p), rc.compute.rate)
}

// roleOfOther determines the role of a port that is not in the compute class.
func (rc *roleClassifier) roleOfOther(p *Port) (Role, string) {
	switch rate := rateOf(p); {
	case !linkUp(p):
		return RoleUnknown, "no link, and not the card model of the compute ports"
	case rate == 0:
		return RoleUnknown, "its rate could not be read"
	case rate >= storageGbPerSecond:
		return RoleStorage, fmt.Sprintf("%s, while compute ports have %s", classOf(p), rc.compute)
	default:
		return RoleManagement, fmt.Sprintf("%s, slow compared with the compute ports (%s)", classOf(p), rc.compute)
	}
}

func classOf(p *Port) portClass {
	t := p.Transport
	if t == TransportRoCE || t == TransportRoCEv1 {
		t = TransportRoCEv2 // the version depends on the addresses, not on the card
	}
	return portClass{layer: p.LinkLayer, transport: t, rate: rateOf(p)}
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

func nearGPU(p *Port) bool {
	return len(p.GPUs) > 0 && p.GPUs[0].Distance != PCIDistanceUnknown && p.GPUs[0].Distance <= PCIDistancePXB
}

func nearestGPUText(p *Port) string {
	if len(p.GPUs) == 0 {
		return "no GPU seen"
	}
	return fmt.Sprintf("GPU%d at %s", p.GPUs[0].GPU, p.GPUs[0].Distance)
}

// layerRank prefers InfiniBand if everything else is equal.
func layerRank(l LinkLayer) int {
	if l == LinkLayerInfiniBand {
		return 1
	}
	return 0
}

func (rc *roleClassifier) defaultRoute(p *Port) bool {
	n := rc.snap.Netdev(p.Netdev)
	if n == nil {
		return false
	}
	// The route may be on the device itself, on its bond, or on a VLAN device on it.
	for _, r := range rc.snap.Host.DefaultRoutes {
		if r.Netdev == n.Name || r.Netdev == n.Master && n.Master != "" {
			return true
		}
		if over := rc.snap.Netdev(r.Netdev); over != nil && over.Lower == n.Name {
			return true
		}
	}
	return false
}

func (rc *roleClassifier) bonded(p *Port) bool {
	n := rc.snap.Netdev(p.Netdev)
	if n == nil {
		return false
	}
	if n.Bond != nil {
		return true
	}
	m := rc.snap.Netdev(n.Master)
	return m != nil && m.Bond != nil
}

// assignRails numbers the compute ports.
func assignRails(snap *Snapshot) {
	type rail struct {
		d *Device
		p *Port
	}
	var rails []rail
	for d, p := range snap.Ports() {
		if p.Role == RoleCompute {
			rails = append(rails, rail{d, p})
		}
	}
	gpu := func(p *Port) int {
		if !nearGPU(p) {
			return len(snap.GPUs)
		}
		return p.GPUs[0].GPU
	}
	address := func(d *Device) string {
		if d.PCI == nil {
			return d.Name
		}
		return d.PCI.Address
	}
	slices.SortStableFunc(rails, func(a, b rail) int {
		return cmp.Or(cmp.Compare(gpu(a.p), gpu(b.p)), cmp.Compare(address(a.d), address(b.d)),
			cmp.Compare(a.p.Number, b.p.Number))
	})
	for i, r := range rails {
		r.p.Rail = &i
	}
}
