package impact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// trial is a node with its desired setting, the input of compare. Changes to both can be tried on a
// copy.
type trial struct {
	pfs         []pf
	before      map[string]*config // nil if unknown
	after       map[string]*config
	complete    bool
	firmwareOff bool
	failures    int // number of failures without further changes
	// changed reports whether the desired setting of the node changes, or may change; system
	// reports whether settings other than those of cards change.
	changed, system bool
	// synced reports whether the daemon has applied the present setting.
	synced bool
	// firmwareLeft is the result of withoutFirmware.
	firmwareLeft *verdict
}

// verdict is the result of compare: reasons by the address of a card, and failures of the operator.
type verdict struct {
	cards    map[string][]Reason
	failures []string
	notes    []string
	// stopped describes why the daemon fails before the drain, "" if it doesn't.
	stopped string
}

func (v *verdict) add(address string, r Reason) { v.cards[address] = append(v.cards[address], r) }

// actionOf returns the worst action of reasons, without those that are open.
func actionOf(reasons []Reason) Action {
	worst := ActionNothing
	for _, r := range reasons {
		if !r.Open && r.Held == "" {
			worst = worse(worst, r.Action)
		}
	}
	return worst
}

// worstOf returns the worst action of reasons, including those that are open.
func worstOf(reasons []Reason) Action {
	worst := ActionNothing
	for _, r := range reasons {
		if r.Held == "" {
			worst = worse(worst, r.Action)
		}
	}
	return worst
}

// compare compares the desired setting with the node, as the generic and the mellanox plugin do.
func (t *trial) compare() *verdict {
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

// unconfigured adds the reasons of a PF without a policy (pkg/plugins/generic, needToUpdateVFs).
func (t *trial) unconfigured(v *verdict, p *pf) {
	old := t.before[p.Address]
	switch {
	case p.ExternallyManaged, old != nil && old.external:
		return
	case old != nil:
		text := fmt.Sprintf("no policy selects the PF any more (previously %s)", strings.Join(old.policies(), ", "))
		if p.NumVFs > 0 {
			text += fmt.Sprintf(": the operator removes its %s", english.Count(p.NumVFs, "VF"))
		}
		if p.mellanox() && !t.firmwareOff && t.most(p) == 0 {
			text += "; the operator also turns SR-IOV off in the firmware for the next boot, after which a new " +
				"policy requires a reboot"
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
				"no policy selects the PF, but it has %s: the operator removes them if it created them, which only "+
					"its daemon knows", english.Count(p.NumVFs, "VF")),
		})
	}
}

// configured adds the reasons of a PF with a policy (api/v1/helper.go, NeedToUpdateSriov). A PF
// without VFs is never a reason to drain.
func (t *trial) configured(v *verdict, p *pf, c *config) {
	t.checkFailures(v, p, c)
	if p.NumVFs == 0 {
		v.add(p.Address, Reason{
			ID: ReasonFirstVFs, Action: ActionNothing,
			Text: fmt.Sprintf("the PF gets its first %s, which needs no drain", english.Count(c.vfs, "VF")),
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
				Text: fmt.Sprintf("the policies set MTU %d, and the present MTU of the PF is unknown", c.mtu),
			})
		} else {
			drain(ReasonMTU, "the MTU of the PF increases from %d to %d", p.MTU, c.mtu)
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
		drain(ReasonVFCount, "the number of VFs changes from %d to %d", p.NumVFs, c.vfs)
	}
	if p.down {
		drain(ReasonAdminState, "the PF is administratively down, and the operator sets it up")
	}
	t.functions(v, p, c)
}

// unlessRecorded returns the text that the present eSwitch mode is an assumption, "" if it is
// recorded.
func unlessRecorded(p *pf, value string) string {
	if value == "" && !p.recorded {
		return ", assuming that it is legacy now, which snapshots don't record"
	}
	return ""
}

// functions compares the VFs one by one with the first group that contains them.
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
			r.Held = heldText
		}
		v.add(p.Address, r)
	}
}

// heldText is Reason.Held if the desired setting of the node doesn't change.
const heldText = "the desired state of the node doesn't change, so the daemon does this only at the next change, " +
	"or when it restarts"

// dpdkDrivers returns the drivers that detach a VF from the kernel (pkg/vars/vars.go).
func dpdkDrivers() []string { return []string{"igb_uio", "vfio-pci", "uio_pci_generic"} }

func compareVF(note func(ReasonID, vf, string, ...any), p *pf, c *config, f vf, g Group) {
	netdevice := g.DeviceType == "" || g.DeviceType == "netdevice"
	switch {
	case f.known && f.driver == "":
		note(ReasonVFDriver, f, "without a driver")
	case !netdevice && f.driver != g.DeviceType:
		if f.known {
			note(ReasonVFDriver, f, "with driver %s instead of %s", f.driver, g.DeviceType)
		} else {
			note(ReasonVFDriver, f, "with an unknown driver, which the policy sets to %s", g.DeviceType)
		}
	case netdevice && slices.Contains(dpdkDrivers(), f.driver):
		note(ReasonVFDriver, f, "with driver %s instead of the network driver", f.driver)
	}
	if netdevice {
		if f.mtu != 0 && g.MTU != 0 && f.mtu != g.MTU {
			note(ReasonVFMTU, f, "with MTU %d instead of %d", f.mtu, g.MTU)
		}
		if f.guid == zeroGUID && (p.LinkType == source.LinkIB || p.LinkType == source.LinkETH && g.RDMA) {
			note(ReasonVFGUID, f, "without a GUID: the operator assigns one")
		}
		if c.external {
			note(ReasonExternal, f,
				"of an externally managed PF: the operator reconfigures them with each change to the node")
		}
	}
	if f.known && g.VdpaType != f.dpa {
		note(ReasonVDPA, f, "with vDPA type %s instead of %s", orNone(f.dpa), orNone(g.VdpaType))
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// checkFailures adds the settings with which the operator fails (pkg/host/internal/sriov,
// checkExternallyManagedPF, configSriovPFDevice). It fails when it configures the PF, after the
// drain.
func (t *trial) checkFailures(v *verdict, p *pf, c *config) {
	fail := func(format string, args ...any) {
		v.failures = append(v.failures, fmt.Sprintf("%s: ", p)+fmt.Sprintf(format, args...))
	}
	switch {
	case c.external && c.vfs > p.NumVFs:
		fail("externally managed with %d of %d VFs: the operator creates none and fails", p.NumVFs, c.vfs)
	case !c.external && c.vfs > p.TotalVFs && (!p.mellanox() || t.firmwareOff):
		fail("numVfs is %d, but sriov_totalvfs is %d: the operator fails", c.vfs, p.TotalVFs)
	}
	if !c.external {
		return
	}
	if want := modeOr(c.eswitch); want != modeOr(p.ESwitchMode) && (p.recorded || p.ESwitchMode != "") {
		fail("externally managed in eSwitch mode %s instead of %s: the operator fails", modeOr(p.ESwitchMode), want)
	}
	if c.mtu > p.MTU && p.MTU > 0 {
		fail("externally managed with MTU %d instead of %d: the operator fails", p.MTU, c.mtu)
	}
}

// spans returns numbers of VFs as text: "VF 3", "VFs 0-3, 6".
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
