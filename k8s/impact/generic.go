package impact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// trial is a node with the setting that is wanted of it: what judge looks at. The firmware's
// figures are separate, so that a change to them can be tried.
type trial struct {
	pfs         []pf
	before      map[string]*config // nil where it isn't known
	after       map[string]*config
	complete    bool
	firmwareOff bool
	failures    int // what the operator refuses as it is
	// changed tells that what is wanted of the node changes, as far as is known; system that it
	// does so besides the cards.
	changed, system bool
	// synced tells that the daemon was content with what it had.
	synced bool
	// firmwareLeft is what withoutFirmware found.
	firmwareLeft *verdict
}

// verdict is what is found of a node: reasons by the address of a card, and what the
// operator refuses.
type verdict struct {
	cards    map[string][]Reason
	failures []string
	notes    []string
	// stopped tells that the daemon gives up before it drains.
	stopped string
}

func (v *verdict) add(address string, r Reason) { v.cards[address] = append(v.cards[address], r) }

// actionOf returns what reasons add up to, as far as it is known.
func actionOf(reasons []Reason) Action {
	worst := ActionNothing
	for _, r := range reasons {
		if !r.Open && r.Held == "" {
			worst = worse(worst, r.Action)
		}
	}
	return worst
}

// worstOf returns what they may add up to.
func worstOf(reasons []Reason) Action {
	worst := ActionNothing
	for _, r := range reasons {
		if r.Held == "" {
			worst = worse(worst, r.Action)
		}
	}
	return worst
}

// judge compares what is wanted with what is there, as the generic and the mellanox plugin do.
func (t *trial) judge() *verdict {
	v := &verdict{cards: map[string][]Reason{}}
	for i := range t.pfs {
		p := &t.pfs[i]
		if c := t.after[p.Address]; c != nil {
			t.configured(v, p, c)
		} else {
			t.unconfigured(v, p)
		}
	}
	if !t.firmwareOff {
		t.firmware(v)
	}
	return v
}

// unconfigured is a PF that no policy is left for (pkg/plugins/generic, needToUpdateVFs).
func (t *trial) unconfigured(v *verdict, p *pf) {
	old := t.before[p.Address]
	switch {
	case p.ExternallyManaged, old != nil && old.external:
		return
	case old != nil:
		text := fmt.Sprintf("no policy is left for it (%s until now)", strings.Join(old.policies(), ", "))
		if p.NumVFs > 0 {
			text += fmt.Sprintf(": the operator removes its %s", english.Count(p.NumVFs, "VF"))
		}
		if p.mellanox() && !t.firmwareOff && t.most(p) == 0 {
			text += "; the firmware is set to no VFs and SR-IOV off for the next boot, after which a " +
				"policy costs a reboot again"
		}
		r := Reason{ID: ReasonRemoved, Action: ActionNothing, Text: text}
		if p.NumVFs > 0 {
			r.Action = ActionDrain
		}
		v.add(p.Address, r)
	case p.NumVFs > 0 && t.before == nil && t.complete:
		v.add(p.Address, Reason{
			ID: ReasonRemoved, Action: ActionDrain, Open: true,
			Text: fmt.Sprintf(
				"no policy selects it and it has %s: removed if the operator made them, which "+
					"its daemon alone remembers", english.Count(p.NumVFs, "VF")),
		})
	}
}

// configured is a PF with a policy (api/v1/helper.go, NeedToUpdateSriov). A PF without VFs is never
// a reason to drain.
func (t *trial) configured(v *verdict, p *pf, c *config) {
	t.refusals(v, p, c)
	if p.NumVFs == 0 {
		v.add(p.Address, Reason{
			ID: ReasonFirstVFs, Action: ActionNothing,
			Text: fmt.Sprintf("gets its first VFs, %d: a PF without VFs needs no drain", c.vfs),
		})
		return
	}
	drain := func(id ReasonID, format string, args ...any) {
		v.add(p.Address, Reason{ID: id, Action: ActionDrain, Text: fmt.Sprintf(format, args...)})
	}
	if c.mtu > p.MTU {
		if p.MTU == 0 {
			v.add(p.Address, Reason{
				ID: ReasonMTU, Action: ActionDrain, Open: true,
				Text: fmt.Sprintf("the wanted MTU is %d, and that of the PF isn't recorded", c.mtu),
			})
		} else {
			drain(ReasonMTU, "the MTU of the PF rises from %d to %d", p.MTU, c.mtu)
		}
	}
	if want := modeOr(c.eswitch); want != modeOr(p.ESwitchMode) {
		v.add(p.Address, Reason{
			ID: ReasonESwitch, Action: ActionDrain, Open: p.ESwitchMode == "" && !p.recorded,
			Text: fmt.Sprintf("the eSwitch mode changes from %s to %s%s",
				modeOr(p.ESwitchMode), want, unlessRecorded(p, p.ESwitchMode)),
		})
	}
	if c.vfs != p.NumVFs {
		drain(ReasonVFCount, "has %s and is to have %d", english.Count(p.NumVFs, "VF"), c.vfs)
	}
	if p.down {
		drain(ReasonAdminState, "the PF is set down, and the operator sets it up")
	}
	t.functions(v, p, c)
}

// unlessRecorded adds that a value is assumed.
func unlessRecorded(p *pf, value string) string {
	if value == "" && !p.recorded {
		return ", if it is legacy today: a snapshot doesn't tell"
	}
	return ""
}

// functions compares the VFs one by one. The first group that has a VF is the one that counts.
func (t *trial) functions(v *verdict, p *pf, c *config) {
	found := map[ReasonID][]int{}
	text := map[ReasonID]string{}
	open := map[ReasonID]bool{}
	note := func(id ReasonID, f vf, format string, args ...any) {
		found[id] = append(found[id], f.id)
		if text[id] == "" {
			text[id] = fmt.Sprintf(format, args...)
		}
		open[id] = open[id] || !f.known && id == ReasonVFDriver
	}
	functions := p.functions
	if len(functions) == 0 {
		for id := range min(p.NumVFs, 512) {
			functions = append(functions, vf{id: id})
		}
	}
	for _, f := range functions {
		i := slices.IndexFunc(c.groups, func(g Group) bool { return g.First <= f.id && f.id <= g.Last })
		if i >= 0 {
			compareVF(note, p, c, f, c.groups[i])
		}
	}
	for _, id := range []ReasonID{ReasonVFDriver, ReasonVFMTU, ReasonVFGUID, ReasonVDPA, ReasonExternal} {
		if len(found[id]) == 0 {
			continue
		}
		r := Reason{ID: id, Action: ActionDrain, Open: open[id], Text: fmt.Sprintf("%s %s", spans(found[id]), text[id])}
		if id == ReasonExternal && !t.changed && t.synced {
			r.Held = "what is wanted of the node doesn't change; it happens with the next change, and " +
				"when the daemon restarts"
		}
		v.add(p.Address, r)
	}
}

// dpdkDrivers are those that take a VF away from the kernel (pkg/vars/vars.go).
func dpdkDrivers() []string { return []string{"igb_uio", "vfio-pci", "uio_pci_generic"} }

func compareVF(note func(ReasonID, vf, string, ...any), p *pf, c *config, f vf, g Group) {
	netdevice := g.DeviceType == "" || g.DeviceType == "netdevice"
	switch {
	case f.known && f.driver == "":
		note(ReasonVFDriver, f, "without a driver")
	case !netdevice && f.driver != g.DeviceType:
		if f.known {
			note(ReasonVFDriver, f, "with driver %s, and %s is wanted", f.driver, g.DeviceType)
		} else {
			note(ReasonVFDriver, f, "for which %s is wanted, and whose driver isn't recorded", g.DeviceType)
		}
	case netdevice && slices.Contains(dpdkDrivers(), f.driver):
		note(ReasonVFDriver, f, "with driver %s, and network devices are wanted", f.driver)
	}
	if netdevice {
		if f.mtu != 0 && g.MTU != 0 && f.mtu != g.MTU {
			note(ReasonVFMTU, f, "with MTU %d, and %d is wanted", f.mtu, g.MTU)
		}
		if f.guid == zeroGUID && (p.LinkType == source.LinkIB || p.LinkType == source.LinkETH && g.RDMA) {
			note(ReasonVFGUID, f, "without a GUID, which the operator gives them")
		}
		if c.external {
			note(ReasonExternal, f,
				"of an externally managed PF, which the operator configures anew with each change to the node")
		}
	}
	if f.known && g.VdpaType != f.dpa {
		note(ReasonVDPA, f, "with vDPA type %s, and %s is wanted", orNone(f.dpa), orNone(g.VdpaType))
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// refusals tells what the operator will not do (pkg/host/internal/sriov, checkExternallyManagedPF,
// configSriovPFDevice). It finds out when it configures the PF, after the drain.
func (t *trial) refusals(v *verdict, p *pf, c *config) {
	fail := func(format string, args ...any) {
		v.failures = append(v.failures, fmt.Sprintf("%s: ", p)+fmt.Sprintf(format, args...))
	}
	switch {
	case c.external && c.vfs > p.NumVFs:
		fail("externally managed with %d of %d VFs: the operator makes none, and fails", p.NumVFs, c.vfs)
	case !c.external && c.vfs > p.TotalVFs && (!p.mellanox() || t.firmwareOff):
		fail("%d VFs are wanted, and sriov_totalvfs is %d: the operator fails", c.vfs, p.TotalVFs)
	}
	if !c.external {
		return
	}
	if want := modeOr(c.eswitch); want != modeOr(p.ESwitchMode) && (p.recorded || p.ESwitchMode != "") {
		fail("externally managed in eSwitch mode %s, and %s is wanted: the operator fails", modeOr(p.ESwitchMode), want)
	}
	if c.mtu > p.MTU && p.MTU > 0 {
		fail("externally managed with MTU %d, and %d is wanted: the operator fails", p.MTU, c.mtu)
	}
}

// spans writes numbers of VFs as people do: "VF 3", "VFs 0-3, 6".
func spans(ids []int) string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	var parts []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		part := fmt.Sprint(ids[i])
		if j > i {
			part = fmt.Sprintf("%d-%d", ids[i], ids[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	noun := "VFs "
	if len(ids) == 1 {
		noun = "VF "
	}
	return noun + strings.Join(parts, ", ")
}
