package inventory

import (
	"cmp"
	"fmt"
	"slices"
)

// storageGbPerSecond is the rate from which a port that isn't for compute is
// taken for storage rather than management: management networks run at 1 to 25 Gb/s.
const storageGbPerSecond = 40

// assignRoles judges what each port is for and numbers the rails. The rule: the
// class of ports (link layer and rate) that offers the most bandwidth near GPUs is
// compute; ports of the same card model belong to it at any rate, for a rail
// may be down or down-trained; what carries the default route or a bond does not.
func assignRoles(snap *Snapshot) {
	j := newJudge(snap)
	for d, p := range snap.Ports() {
		p.Role, p.RoleReason = j.role(d, p)
	}
	assignRails(snap)
}

// portClass is what compute ports of a node have in common.
type portClass struct {
	layer     LinkLayer
	transport Transport
	rate      float64 // Gb/s
}

func (c portClass) String() string {
	return fmt.Sprintf("%s at %g Gb/s", c.transport, c.rate)
}

// judge holds what is known of the node before ports are judged one by one.
type judge struct {
	snap    *Snapshot
	compute portClass // zero when the node has no port to choose by
	near    bool      // compute ports are those with a GPU near
	models  map[PCIID]bool
	only    bool // nothing else is left, so a default route or bond is no obstacle
}

func newJudge(snap *Snapshot) *judge {
	j := &judge{snap: snap, models: map[PCIID]bool{}}
	if !j.choose() {
		j.only = true
		j.choose()
	}
	return j
}

// choose picks the class with the most bandwidth, ports near GPUs first.
func (j *judge) choose() bool {
	type score struct {
		near, total float64
		count       int
	}
	scores := map[portClass]*score{}
	for d, p := range j.snap.Ports() {
		if !j.eligible(d, p) || p.Rate == nil || !linkUp(p) {
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
	j.compute, j.near = best, scores[best].near > 0
	for d, p := range j.snap.Ports() {
		if j.eligible(d, p) && linkUp(p) && classOf(p) == best && d.PCI != nil {
			j.models[d.PCI.DeviceID] = true
		}
	}
	return true
}

// eligible ports may define what compute is: hardware that is this node's own,
// and not the carrier of the default route or a bond unless nothing else is left.
func (j *judge) eligible(d *Device, p *Port) bool {
	if d.Software != "" || j.snap.OthersReason(d, p) != "" {
		return false
	}
	return j.only || !j.defaultRoute(p) && !j.bonded(p)
}

func (j *judge) role(d *Device, p *Port) (Role, string) {
	others := j.snap.OthersReason(d, p)
	switch {
	case others != "":
		return RoleUnknown, others
	case d.Software != "" && j.compute != (portClass{}):
		return RoleUnknown, d.Software + " is software beside real cards"
	case d.Software != "":
		return RoleCompute, "the only RDMA here is software (" + d.Software + ")"
	case j.compute == (portClass{}):
		return RoleUnknown, "no port of the node has a link, so nothing tells compute from storage"
	case !j.only && j.defaultRoute(p):
		return RoleManagement, p.Netdev + " carries the default route"
	case !j.only && j.bonded(p):
		return RoleStorage, p.Netdev + " is bonded, and unbonded compute ports are here"
	}
	return j.roleByClass(d, p)
}

func (j *judge) roleByClass(d *Device, p *Port) (Role, string) {
	sameClass := linkUp(p) && classOf(p) == j.compute
	spare, _ := j.snap.SpareOf(d, p)
	sameModel := p.LinkLayer == j.compute.layer && d.PCI != nil && j.models[d.PCI.DeviceID]
	switch {
	case !sameClass && !sameModel:
		return j.roleOfOther(p)
	case j.near && !nearGPU(p):
		return RoleStorage, fmt.Sprintf("%s as the compute ports, but no GPU is near (%s)", p.Transport, nearestText(p))
	case sameClass && j.near:
		return RoleCompute, fmt.Sprintf("%s with a GPU near (%s)", j.compute, nearestText(p))
	case sameClass:
		return RoleCompute, j.compute.String() + ", the class with the most bandwidth"
	case !linkUp(p) && spare != nil:
		return RoleUnknown, fmt.Sprintf(
			"no link, and %s on the same card has one: it looks like the unused second port", spare.Name)
	case !linkUp(p):
		return RoleCompute, "the same card as the compute ports, without a link"
	case p.Rate == nil:
		return RoleCompute, "the same card as the compute ports; its rate could not be read"
	}
	if classOf(p).transport != j.compute.transport {
		return RoleCompute, fmt.Sprintf("the same card as the compute ports, though it speaks %s", p.Transport)
	}
	return RoleCompute, fmt.Sprintf("the same card as the compute ports, at %g instead of %g Gb/s",
		rateOf(p), j.compute.rate)
}

// roleOfOther judges a port that is not of the compute class.
func (j *judge) roleOfOther(p *Port) (Role, string) {
	switch rate := rateOf(p); {
	case !linkUp(p):
		return RoleUnknown, "no link, and another card than the compute ports"
	case rate == 0:
		return RoleUnknown, "its rate could not be read"
	case rate >= storageGbPerSecond:
		return RoleStorage, fmt.Sprintf("%s beside compute ports of %s", classOf(p), j.compute)
	default:
		return RoleManagement, fmt.Sprintf("%s is slow beside compute ports of %s", classOf(p), j.compute)
	}
}

func classOf(p *Port) portClass {
	t := p.Transport
	if t == TransportRoCE || t == TransportRoCEv1 {
		t = TransportRoCEv2 // the version is a matter of addresses, not of the card
	}
	return portClass{layer: p.LinkLayer, transport: t, rate: rateOf(p)}
}

func rateOf(p *Port) float64 {
	if p.Rate == nil {
		return 0
	}
	return p.Rate.GbPerSecond
}

// linkUp reports that the rate of a port means something: a port without a link shows 1X SDR or its
// last rate.
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

func nearestText(p *Port) string {
	if len(p.GPUs) == 0 {
		return "no GPU seen"
	}
	return fmt.Sprintf("GPU%d at %s", p.GPUs[0].GPU, p.GPUs[0].Distance)
}

// layerRank prefers InfiniBand where all else is equal.
func layerRank(l LinkLayer) int {
	if l == LinkLayerInfiniBand {
		return 1
	}
	return 0
}

func (j *judge) defaultRoute(p *Port) bool {
	n := j.snap.Netdev(p.Netdev)
	if n == nil {
		return false
	}
	// The route may be on the device itself, on the bond above, or on a VLAN over it.
	for _, r := range j.snap.Host.DefaultRoutes {
		if r.Netdev == n.Name || r.Netdev == n.Master && n.Master != "" {
			return true
		}
		if over := j.snap.Netdev(r.Netdev); over != nil && over.Lower == n.Name {
			return true
		}
	}
	return false
}

func (j *judge) bonded(p *Port) bool {
	n := j.snap.Netdev(p.Netdev)
	if n == nil {
		return false
	}
	if n.Bond != nil {
		return true
	}
	m := j.snap.Netdev(n.Master)
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
