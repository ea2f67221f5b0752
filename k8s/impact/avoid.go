package impact

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s"
)

// avoid adds the changes that avoid a reason of a PF. It tries each change, and adds it only if the
// reason disappears, the operator doesn't fail, and the PF needs no worse action than worst, the
// worst action of all of its reasons.
func (t *trial) avoid(p *pf, r *Reason, worst Action) {
	c := t.after[p.Address]
	if r.ID == ReasonRemoved {
		r.Avoid = append(r.Avoid, Avoid{Change: "keep a policy for the PF", Leaves: ActionNothing})
		return
	}
	if c == nil || r.Action == ActionNothing {
		return
	}
	for _, a := range t.proposals(p, c, r.ID) {
		leaves, policies, ok := t.with(p.Address, r.ID, a.apply)
		if ok && leaves.rank() <= worst.rank() {
			r.Avoid = append(r.Avoid, Avoid{Change: a.change, Leaves: leaves, policies: policies})
		}
	}
	slices.SortStableFunc(r.Avoid, func(a, b Avoid) int { return a.Leaves.rank() - b.Leaves.rank() })
}

// proposal is a change to the desired setting or to the present state of a card's ports.
type proposal struct {
	change string
	apply  func(t *trial, p *pf, c *config)
}

// with evaluates the node with a change to all ports of a card that have a policy. It returns the
// action that is still required, and the policies that the change affects.
func (t *trial) with(
	address string, id ReasonID, apply func(*trial, *pf, *config),
) (leaves Action, policies []string, ok bool) {
	alone := *t // other cards don't depend on this one
	alone.pfs = t.ports(address)
	try := alone
	try.pfs, try.after = slices.Clone(alone.pfs), maps.Clone(t.after)
	for i := range try.pfs {
		p := &try.pfs[i]
		c := try.after[p.Address]
		if c == nil || p.Address != address && id != ReasonFirmwareVFs && id != ReasonFirmwareSRIOV {
			continue
		}
		changed := c.clone()
		try.after[p.Address] = changed
		apply(&try, p, changed)
		if name := c.owner(); !slices.Contains(policies, name) &&
			!equalCards(map[string]*config{"": c}, map[string]*config{"": changed}) {
			policies = append(policies, name)
		}
	}
	try.changed = try.changes()
	var v *verdict
	failures := t.failures
	if try.firmwareOff != t.firmwareOff {
		v = t.withoutFirmware()
	} else if v = try.compare(); len(v.failures) > 0 {
		failures = len(alone.compare().failures)
	}
	gone := !slices.ContainsFunc(v.cards[address], func(r Reason) bool { return r.ID == id && !r.Open && r.Held == "" })
	return worstOf(v.cards[address]), policies, gone && len(v.failures) <= failures
}

// ports returns all PFs of the card with this address.
func (t *trial) ports(address string) []pf {
	var out []pf
	for i := range t.pfs {
		if port(t.pfs[i].Address) == port(address) {
			out = append(out, t.pfs[i])
		}
	}
	return out
}

// withoutFirmware evaluates the node as if the operator changed no firmware, once for all cards.
func (t *trial) withoutFirmware() *verdict {
	if t.firmwareLeft == nil {
		try := *t
		try.firmwareOff = true
		t.firmwareLeft = try.compare()
	}
	return t.firmwareLeft
}

// proposals returns the changes that may avoid a reason.
func (t *trial) proposals(p *pf, c *config, id ReasonID) []proposal {
	in := " in policy " + c.owner()
	switch id {
	case ReasonFirmwareVFs:
		return t.firmwareProposals(p, c)
	case ReasonFirmwareSRIOV:
		return []proposal{presetFirmware(t.most(p))}
	case ReasonVFCount:
		if !c.alone() {
			return nil
		}
		return []proposal{{
			fmt.Sprintf("numVfs: %d in policy %s", p.NumVFs, c.vfsFrom),
			func(_ *trial, p *pf, c *config) { c.setVFs(p.NumVFs) },
		}}
	case ReasonLinkType:
		return []proposal{{
			fmt.Sprintf("linkType: %s%s", p.LinkType, in), func(_ *trial, p *pf, c *config) { c.linkType = p.LinkType },
		}}
	case ReasonMTU:
		if !c.alone() {
			return nil
		}
		return []proposal{{
			fmt.Sprintf("mtu: %d or less in policy %s", p.MTU, c.mtuFrom),
			func(_ *trial, p *pf, c *config) { c.setMTU(p.MTU) },
		}}
	case ReasonESwitch:
		mode := modeOr(p.ESwitchMode)
		return []proposal{
			{fmt.Sprintf("eSwitchMode: %s%s", mode, in), func(_ *trial, _ *pf, c *config) { c.eswitch = mode }},
		}
	case ReasonVFDriver:
		if kind := p.deviceType(); kind != "" && len(c.groups) == 1 {
			return []proposal{{fmt.Sprintf("deviceType: %s%s", kind, in), func(_ *trial, _ *pf, c *config) {
				for i := range c.groups {
					c.groups[i].DeviceType = kind
				}
			}}}
		}
	}
	return nil
}

// alone reports whether a PF has a single policy, so that its values are those of the PF.
func (c *config) alone() bool { return len(c.applied) == 1 && len(c.groups) == 1 }

// alone reports whether each port of a card has a single policy.
func (t *trial) alone(p *pf) bool {
	for address, c := range t.after {
		if port(address) == port(p.Address) && !c.alone() {
			return false
		}
	}
	return true
}

// most returns the highest desired number of VFs of a card's ports.
func (t *trial) most(p *pf) int {
	most := 0
	for address, c := range t.after {
		if port(address) == port(p.Address) {
			most = max(most, c.vfs)
		}
	}
	return most
}

// firmwareProposals returns the changes that avoid a change of NUM_OF_VFS.
func (t *trial) firmwareProposals(p *pf, c *config) []proposal {
	want, total := t.most(p), 0
	for _, other := range t.ports(p.Address) {
		total = max(total, other.gives())
	}
	names := t.owners(p)
	var out []proposal
	if total > 0 && total <= k8s.MaxMellanoxVFs && t.alone(p) {
		out = append(out, proposal{
			fmt.Sprintf("numVfs: %d, as in the firmware, in %s", total, names),
			func(_ *trial, _ *pf, c *config) { c.setVFs(total) },
		})
	}
	if want <= total {
		change := "externallyManaged: true in " + names
		if p.NumVFs < c.vfs {
			change += fmt.Sprintf(", with %s created beforehand without the operator",
				english.Count(c.vfs, "VF"))
		}
		out = append(out,
			proposal{change, func(_ *trial, p *pf, c *config) { c.external, p.NumVFs = true, max(p.NumVFs, c.vfs) }},
			proposal{
				"disablePlugins: [mellanox] in the SriovOperatorConfig, for all nodes",
				func(t *trial, _ *pf, _ *config) { t.firmwareOff = true },
			})
	}
	return append(out, presetFirmware(want))
}

// presetFirmware is a change to the firmware beforehand, which takes effect with a reboot.
func presetFirmware(vfs int) proposal {
	return proposal{
		fmt.Sprintf("SRIOV_EN=1 NUM_OF_VFS=%d set with mstconfig beforehand, followed by a planned reboot", vfs),
		func(_ *trial, p *pf, _ *config) { p.preset(vfs) },
	}
}

// owners returns the policies that override the others on a card's ports, as text.
func (t *trial) owners(p *pf) string {
	var names []string
	for _, address := range slices.Sorted(maps.Keys(t.after)) {
		if name := t.after[address].owner(); port(address) == port(p.Address) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return "policy " + names[0]
	}
	return "policies " + strings.Join(names, " and ")
}

// setVFs changes the number of VFs, and the group that contains all of them.
func (c *config) setVFs(n int) {
	for i := range c.groups {
		if g := &c.groups[i]; g.First == 0 && g.Last == c.vfs-1 {
			g.Last = n - 1
		}
	}
	c.vfs = n
}

func (c *config) setMTU(n int) {
	c.mtu = n
	for i := range c.groups {
		c.groups[i].MTU = min(c.groups[i].MTU, n)
	}
}

// deviceType returns the present device type of the VFs, "" if they differ or it is unknown.
func (p *pf) deviceType() string {
	kind := ""
	for _, f := range p.functions {
		is := "netdevice"
		switch {
		case !f.known || f.driver == "":
			return ""
		case slices.Contains(dpdkDrivers(), f.driver):
			is = f.driver
		}
		if kind != "" && kind != is || is == "igb_uio" || is == "uio_pci_generic" {
			return ""
		}
		kind = is
	}
	return kind
}
