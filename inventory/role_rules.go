package inventory

import (
	"fmt"
	"slices"
)

// RoleRule is a rule that determines the role of a port. Its name is in [Port.RoleRule].
type RoleRule struct {
	Name string `json:"name"`
	When string `json:"when"` // the condition, if no rule above applies
	Role Role   `json:"role"`
}

// RoleRules returns the rules in the order in which they are applied.
func RoleRules() []RoleRule {
	rules := make([]RoleRule, 0, len(roleRules))
	for _, r := range roleRules {
		rules = append(rules, RoleRule{r.name, r.when, r.role})
	}
	return rules
}

// roleRule has reason return why the rule applies to a port, "" if it doesn't.
type roleRule struct {
	name   string
	role   Role // "" for that of the setting
	when   string
	reason func(c *classifier, f *portFacts) string
}

func (r roleRule) judge(c *classifier, f *portFacts) (role Role, reason string, ok bool) {
	if reason = r.reason(c, f); reason == "" {
		return "", "", false
	}
	if role = r.role; r.name == ruleConfigured {
		role = f.setting.Role
	}
	return role, reason, true
}

const ruleConfigured = "configured"

// RuleOtherLinkLayer is the name of the rule for ports like the compute ports, but of another link
// layer.
const RuleOtherLinkLayer = "other-link-layer"

// RuleAcceleratorLink is the name of the rule for links of an accelerator, which no verbs program
// can use.
const RuleAcceleratorLink = "accelerator-link"

// roleRules end with one that applies to every port.
var roleRules = []roleRule{
	{"smi", RoleUnused, "the device manages the planes of another one (type SMI) and has no uverbs", reasonSMI},
	{RuleAcceleratorLink, RoleUnused, "a link of a Gaudi accelerator, which only HCCL uses", reasonAcceleratorLink},
	{"elsewhere", RoleUnknown, "a pod, a virtual machine or another network namespace uses the port", func(
		_ *classifier, f *portFacts,
	) string {
		return f.others
	}},
	{ruleConfigured, "", "the setting roles names the port", reasonConfigured},
	{"software", RoleUnknown, "a software device on a node with RDMA cards", reasonSoftwareBeside},
	{"software-only", RoleCompute, "the node has only software devices", reasonSoftware},
	{"usnic", RoleUnused, "usNIC, which has no RDMA", reasonUSNIC},
	{"accelerator-fabric", RoleManagement, "the accelerators have RDMA ports of their own, which the host " +
		"does not see, and this port carries the default route", reasonAcceleratorRoute},
	{"accelerator-fabric", RoleUncertain, "the accelerators have RDMA ports of their own", reasonAccelerator},
	{"default-route", RoleManagement, "the default route is on the port, on its bond or on a VLAN on it, and " +
		"the port is not one of three or more equal ports that all have GPUs nearby", reasonRoute},
	{"fabric-down", RoleUncertain, "the ports that were meant for jobs have no link, or nothing tells which they " +
		"are", reasonDoubt},
	{"no-link-anywhere", RoleUnknown, "no port of the node has a link", reasonNoLink},
	{"spare-port", RoleUnused, "no link, and another port of the card has one", reasonSpare},
	{"not-cabled", RoleUncertain, "no link, like most ports of the compute ports' board, of which there are more " +
		"than GPUs, or no GPU is near any", reasonNotCabled},
	{
		"near-gpu", RoleCompute, "the board, link layer, transport and rate of the compute ports, and a GPU nearby",
		reasonNear,
	},
	{"most-bandwidth", RoleCompute, "the same, and no GPU is near any port", reasonMost},
	{"other-subnet", RoleStorage, "the same, no GPU nearby, and another InfiniBand subnet than the ports " +
		"near GPUs", reasonSubnet},
	{
		"same-board", RoleCompute, "the same, no GPU nearby, and GPUs without a port of their own remain",
		reasonSameBoard,
	},
	{"surplus", RoleStorage, "the same, no GPU nearby, and every GPU has a port nearby", reasonSurplus},
	{"no-link", RoleCompute, "the board of the compute ports without a link, where a rail can be; or the same PCI " +
		"device, near a GPU without a compute port", reasonDown},
	{
		"other-rate", RoleCompute, "as for no-link, but with a link, at another rate or with another transport",
		reasonRate,
	},
	{
		"covers-gpu", RoleCompute, "another board (or a bond) at the same rate, near a GPU without a compute port",
		reasonCovers,
	},
	{"other-board", RoleUncertain, "another board at the same rate: a DPU or a card for storage", reasonBoard},
	{"same-rate", RoleCompute, "another board at the same rate, and no GPU is near any port", reasonSameRate},
	{
		RuleOtherLinkLayer, RoleUncertain, "the board and rate of the compute ports, and another link layer",
		reasonLinkLayer,
	},
	{"down-other", RoleUnused, "no link, and another board than the compute ports", reasonDownOther},
	{"rate-unknown", RoleUnknown, "its rate could not be read", reasonNoRate},
	{"fast", RoleStorage, "any other port of 40 Gb/s or more", reasonFast},
	{"slow", RoleManagement, "any other port", reasonSlow},
}

func reasonSMI(_ *classifier, f *portFacts) string {
	if f.d.SMIOf == "" {
		return ""
	}
	return f.others
}

func reasonAcceleratorLink(_ *classifier, f *portFacts) string {
	if !f.d.acceleratorLink() {
		return ""
	}
	return f.others
}

func reasonConfigured(_ *classifier, f *portFacts) string {
	if f.setting == nil {
		return ""
	}
	return "the configuration says so (roles: " + f.setting.Pattern + ")"
}

// hardware reports whether a port of a card has a link.
func (c *classifier) hardware() bool {
	return slices.ContainsFunc(c.ports, func(f portFacts) bool { return f.d.Software == "" && f.d.SMIOf == "" && f.up })
}

func reasonSoftwareBeside(c *classifier, f *portFacts) string {
	if f.d.Software == "" || !c.hardware() {
		return ""
	}
	return f.d.Software + " is a software device, and the node has RDMA cards"
}

func reasonSoftware(_ *classifier, f *portFacts) string {
	if f.d.Software == "" {
		return ""
	}
	return "the node has only software RDMA devices (" + f.d.Software + ")"
}

func reasonUSNIC(_ *classifier, f *portFacts) string {
	if f.p.Transport != TransportUSNIC {
		return ""
	}
	return "usNIC sends and receives UDP: it has no RDMA, and no library for collectives uses it"
}

// reasonAccelerator is about Ascend NPUs, whose RoCE ports only hccn_tool sees.
func reasonAccelerator(c *classifier, f *portFacts) string {
	for _, g := range c.snap.GPUs {
		if g.PCI.VendorID == vendorHuawei {
			return "Ascend NPUs have RoCE ports of their own (hccn_tool shows them), so jobs may not need this one"
		}
	}
	return ""
}

func reasonAcceleratorRoute(c *classifier, f *portFacts) string {
	if why := reasonAccelerator(c, f); why != "" && f.route {
		return f.p.Netdev + " carries the default route, and " + why
	}
	return ""
}

func reasonRoute(c *classifier, f *portFacts) string {
	if !f.route || c.only || f.family != nil && f.family == c.compute && f.selected {
		return ""
	}
	return f.p.Netdev + " carries the default route"
}

func reasonDoubt(c *classifier, _ *portFacts) string {
	if c.doubt == "" {
		return ""
	}
	remedy := "name the compute ports in the setting \"roles\""
	if slices.ContainsFunc(c.ports, func(f portFacts) bool { return f.family != nil && isDown(&f) }) {
		remedy = "repair the links, or " + remedy
	}
	return c.doubt + "; " + remedy
}

func reasonNoLink(c *classifier, _ *portFacts) string {
	if c.compute != nil {
		return ""
	}
	return "no port of the node has a link, so compute and storage can't be distinguished"
}

func reasonSpare(_ *classifier, f *portFacts) string {
	if f.up || f.sibling == "" {
		return ""
	}
	return fmt.Sprintf("no link, but %s on the same card has one: probably the unused second port", f.sibling)
}

// uncabled reports whether a port has no link, like most ports of the compute family, of which
// there are more than GPUs, or near none of which is a GPU that would say how many rails the node
// has. If the board is not known either, half of the ports are enough.
func (c *classifier) uncabled(f *portFacts) bool {
	fam, gpus := c.compute, len(c.snap.GPUs)
	if f.family != fam || !isDown(f) {
		return false
	}
	down, up := fam.count(isDown), fam.count(isUp)
	if fam.count(isNear) == 0 && fam.board == "" && fam.count(isPortDown) >= up {
		return f.p.State == PortStateDown
	}
	return down > up && (gpus > 0 && len(fam.ports) > gpus || fam.count(isNear) == 0 && fam.count(isPortDown) > up)
}

func reasonNotCabled(c *classifier, f *portFacts) string {
	if !c.uncabled(f) {
		return ""
	}
	fam := c.compute
	return fmt.Sprintf("no link, like %d of the %d ports of this board: a cable is missing, or only %d are meant to "+
		"be used", fam.count(isDown), len(fam.ports), fam.count(isUp))
}

// equal reports whether a port with a link has everything that the compute ports have in common.
func (c *classifier) equal(f *portFacts) bool {
	return f.family == c.compute && f.up && rateOf(f.p) == c.compute.rate
}

func reasonNear(c *classifier, f *portFacts) string {
	if !c.equal(f) || !f.near {
		return ""
	}
	return fmt.Sprintf("%s with a GPU nearby (%s)", c.compute, nearestGPUText(f.p))
}

func reasonMost(c *classifier, f *portFacts) string {
	if !c.equal(f) || c.near {
		return ""
	}
	return c.compute.String() + ", the ports with the most bandwidth"
}

// reasonSubnet compares a port far from GPUs with those near them.
func reasonSubnet(c *classifier, f *portFacts) string {
	if !c.equal(f) || f.p.Fabric == nil {
		return ""
	}
	others := c.compute.count(func(o *portFacts) bool {
		return o.near && o.up && o.p.Fabric != nil && o.p.Fabric.SubnetPrefix != f.p.Fabric.SubnetPrefix
	})
	if others == 0 || others != c.compute.count(func(o *portFacts) bool { return o.near && o.up }) {
		return ""
	}
	return fmt.Sprintf("%s like the compute ports, but in another subnet and no GPU nearby (%s)",
		c.compute, nearestGPUText(f.p))
}

func reasonSameBoard(c *classifier, f *portFacts) string {
	if !c.equal(f) || c.complete() {
		return ""
	}
	return fmt.Sprintf("%s on the same board as the compute ports near GPUs, and GPUs without a port remain (%s)",
		c.compute, nearestGPUText(f.p))
}

func reasonSurplus(c *classifier, f *portFacts) string {
	if !c.equal(f) {
		return ""
	}
	return fmt.Sprintf("%s like the compute ports, but no GPU nearby (%s), and every GPU has a compute port",
		c.compute.transport, nearestGPUText(f.p))
}

// kin reports whether a port is on the board and link layer of the compute ports, in a place where
// a rail can be.
func (c *classifier) kin(f *portFacts) bool {
	return f.family != nil && f.family.board == c.compute.board && f.family.layer == c.compute.layer &&
		f.family.bonded == c.compute.bonded && (f.near || !c.near || !f.up && !c.complete())
}

func reasonDown(c *classifier, f *portFacts) string {
	switch {
	case f.up:
		return ""
	case c.kin(f):
		return "same board as the compute ports, without a link"
	case c.fills(f):
		return fmt.Sprintf("same card model as the compute ports, near a GPU that has none (%s), without a link",
			nearestGPUText(f.p))
	}
	return ""
}

// fills reports whether a port is on another board, but of the same PCI device as the compute
// ports, and near a GPU without one.
func (c *classifier) fills(f *portFacts) bool {
	one, other := f.d.PCI, c.compute.ports[0].d.PCI
	return f.family != nil && f.family.layer == c.compute.layer && f.near && c.uncovered(f.p) &&
		one != nil && other != nil && one.VendorID == other.VendorID && one.DeviceID == other.DeviceID
}

func reasonRate(c *classifier, f *portFacts) string {
	same := "same board as the compute ports"
	switch {
	case !f.up:
		return ""
	case c.kin(f):
	case c.fills(f) && rateOf(f.p) != c.compute.rate:
		same = fmt.Sprintf("same card model as the compute ports, near a GPU that has none (%s)", nearestGPUText(f.p))
	default:
		return ""
	}
	switch {
	case f.p.Rate == nil:
		return same + "; its rate could not be read"
	case f.family.transport != c.compute.transport:
		return fmt.Sprintf("%s, but with transport %s", same, f.p.Transport)
	}
	return fmt.Sprintf("%s, at %g instead of %g Gb/s", same, rateOf(f.p), c.compute.rate)
}

// alike reports whether a port of another family could be a compute port too.
func (c *classifier) alike(f *portFacts) bool {
	return f.up && f.family != nil && f.family.layer == c.compute.layer && f.family.transport == c.compute.transport &&
		rateOf(f.p) == c.compute.rate
}

func reasonCovers(c *classifier, f *portFacts) string {
	if !c.alike(f) || !f.near || !c.uncovered(f.p) {
		return ""
	}
	return fmt.Sprintf("%s with a GPU nearby that has no other compute port (%s)", c.compute, nearestGPUText(f.p))
}

func reasonBoard(c *classifier, f *portFacts) string {
	if !c.alike(f) || !f.near && (c.near || !c.outnumbered(f)) {
		return ""
	}
	what := "another board"
	if f.family.board == c.compute.board {
		what = map[bool]string{true: "in a bond", false: "not in a bond"}[f.family.bonded]
	}
	why := nearestGPUText(f.p)
	if f.near {
		why = fmt.Sprintf("GPU%d has a compute port of its own", f.p.GPUs[0].GPU)
	}
	return fmt.Sprintf("%s like the compute ports, but %s (%s against %s), and %s: a DPU or storage? The setting "+
		"\"roles\" decides", c.compute, what, f.family.board, c.compute.board, why)
}

// outnumbered reports whether there are at least twice as many compute ports as ports of
// f's family.
func (c *classifier) outnumbered(f *portFacts) bool {
	return 2*f.family.count(isUp) <= c.compute.count(isUp)
}

func reasonSameRate(c *classifier, f *portFacts) string {
	if !c.alike(f) || c.near {
		return ""
	}
	return c.compute.String() + ", as the ports with the most bandwidth"
}

func reasonLinkLayer(c *classifier, f *portFacts) string {
	if f.family == nil || !f.up || f.family.board != c.compute.board || f.family.layer == c.compute.layer ||
		rateOf(f.p) != c.compute.rate || f.p.Rate == nil {
		return ""
	}
	return fmt.Sprintf("%s on the board of the compute ports, which are %s: set to the wrong link layer (mlxconfig "+
		"LINK_TYPE), or for storage? The setting \"roles\" decides", f.p.LinkLayer, c.compute.layer)
}

func reasonDownOther(_ *classifier, f *portFacts) string {
	if f.up {
		return ""
	}
	return "no link, and not the board of the compute ports"
}

func reasonNoRate(_ *classifier, f *portFacts) string {
	if rateOf(f.p) > 0 {
		return ""
	}
	return "its rate could not be read"
}

func reasonFast(c *classifier, f *portFacts) string {
	if rateOf(f.p) < storageGbPerSecond {
		return ""
	}
	return fmt.Sprintf("%s, unlike the compute ports (%s)", classText(f.p), c.compute)
}

func reasonSlow(c *classifier, f *portFacts) string {
	return fmt.Sprintf("%s, slow compared with the compute ports (%s)", classText(f.p), c.compute)
}

func classText(p *Port) string { return atRate(transportClass(p), rateOf(p)) }
