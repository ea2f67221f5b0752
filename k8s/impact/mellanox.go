package impact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s"
)

// nic is an NVIDIA card.
type nic struct {
	ports   []*pf // all ports that the daemon sees
	wanted  []*pf // the ports with a policy
	configs []*config
}

// firmware adds the reasons of cards whose firmware the operator sets (pkg/plugins/mellanox,
// pkg/vendors/mellanox). Without the output of mstconfig it uses sriov_totalvfs instead of
// NUM_OF_VFS and SRIOV_EN; 0 means that SR-IOV is off or NUM_OF_VFS is 0.
func (t *trial) firmware(v *verdict) {
	byPort := map[string]*nic{}
	var order []string
	for i := range t.pfs {
		p := &t.pfs[i]
		if !p.mellanox() {
			continue
		}
		key := port(p.Address)
		if byPort[key] == nil {
			byPort[key] = &nic{}
			order = append(order, key)
		}
		n := byPort[key]
		n.ports = append(n.ports, p)
		if c := t.after[p.Address]; c != nil {
			n.wanted, n.configs = append(n.wanted, p), append(n.configs, c)
		}
	}
	reboots, others := 0, 0
	for _, key := range order {
		n := byPort[key]
		if len(n.wanted) == 0 {
			continue
		}
		if t.firmwareOf(v, n) {
			reboots++
		} else {
			others++
		}
	}
	if reboots > 0 && others > 0 {
		v.notes = append(v.notes, fmt.Sprintf("%s a new firmware setting and %s: the daemon checks the cards in "+
			"no fixed order, and only the last one decides about the reboot, so the daemon may also change and reset "+
			"the firmware without rebooting the node", needs(reboots), doNot(others)))
	}
}

func needs(n int) string {
	if n == 1 {
		return "1 card needs"
	}
	return fmt.Sprintf("%d cards need", n)
}

func doNot(n int) string {
	if n == 1 {
		return "1 doesn't"
	}
	return fmt.Sprintf("%d don't", n)
}

// firmwareOf adds the reasons of a card. It reports whether the card requires a reboot.
func (t *trial) firmwareOf(v *verdict, n *nic) bool {
	vfs, from := 0, ""
	external := n.configs[0].external
	for i, c := range n.configs {
		if c.vfs > vfs {
			vfs, from = c.vfs, n.wanted[i].String()
		}
		if c.external != external {
			v.notes = append(v.notes, fmt.Sprintf(
				"%s and %s are ports of one card, and only one of them is externally managed: either port may "+
					"determine the firmware settings", n.wanted[0], n.wanted[i]))
			external = false // the operator may set the firmware
		}
	}
	before := len(v.failures)
	changes := t.linkTypes(v, n, external)
	if t.firmwareVFs(v, n, vfs, from, external) {
		changes = true
	}
	if external && len(v.failures) > before {
		v.stopped = stoppedText
		return false
	}
	return changes
}

// stoppedText is the reason why the operator doesn't drain a node.
const stoppedText = "the operator fails before the drain"

// reboot adds a reason to the ports of a card that have a policy.
func (n *nic) reboot(v *verdict, r Reason) {
	for _, p := range n.wanted {
		v.add(p.Address, r)
	}
}

// firmwareVFs corresponds to HandleTotalVfs and HandleEnableSriov: the operator sets the firmware
// to the highest numVfs of the card's ports. The firmware of an externally managed card must have
// enough VFs.
func (t *trial) firmwareVFs(v *verdict, n *nic, vfs int, from string, external bool) bool {
	total, by := n.wanted[0].gives(), "(by sriov_totalvfs)"
	for _, p := range n.ports {
		total = max(total, p.gives())
	}
	if n.wanted[0].settings() != nil {
		by = "(by its settings)"
	}
	why := "the policy sets " + fmt.Sprint(vfs)
	if len(n.wanted) > 1 {
		why = fmt.Sprintf("the policies set %d for %s, and all ports of a card have the same number", vfs, from)
	}
	if vfs > k8s.MaxMellanoxVFs {
		v.notes = append(v.notes,
			fmt.Sprintf("%s: numVfs is %d, but the webhook, if it is on, rejects more than %d",
				n.wanted[0], vfs, k8s.MaxMellanoxVFs))
	}
	switch {
	case external && vfs > total:
		v.failures = append(v.failures,
			fmt.Sprintf("%s: externally managed; numVfs is %d, but the firmware has %d VFs %s: the operator fails",
				n.wanted[0], vfs, total, by))
		return false
	case external:
		return false
	case vfs == total:
		n.nextBoot(v, vfs)
		return false
	case total == 0:
		n.reboot(v, t.hold(Reason{
			ID: ReasonFirmwareSRIOV, Action: ActionReboot,
			Text: fmt.Sprintf("%s, and %s: the operator sets SRIOV_EN and NUM_OF_VFS", n.noVFs(), why),
		}))
		return true
	}
	n.reboot(v, t.hold(Reason{
		ID: ReasonFirmwareVFs, Action: ActionReboot,
		Text: fmt.Sprintf("the firmware has %s %s, but %s: the operator sets NUM_OF_VFS to exactly %d%s",
			english.Count(total, "VF"), by, why, vfs, n.alreadySet(vfs)),
	}))
	return true
}

// noVFs describes why a card has no VFs.
func (n *nic) noVFs() string {
	s := n.wanted[0].settings()
	switch {
	case s == nil:
		return "sriov_totalvfs is 0, so SR-IOV is off or NUM_OF_VFS is 0 in the firmware"
	case !s.SRIOV:
		return fmt.Sprintf("SRIOV_EN is False in the firmware (NUM_OF_VFS %d)", s.NumOfVFs)
	}
	return "NUM_OF_VFS is 0 in the firmware"
}

// alreadySet returns the text that the firmware has the right setting for the next boot. The
// operator still drains and reboots the node.
func (n *nic) alreadySet(vfs int) string {
	if f := n.wanted[0].Firmware; f != nil && f.Next.SRIOV && f.Next.NumOfVFs == vfs {
		return " (already set for the next boot: a reboot beforehand avoids this)"
	}
	return ""
}

// nextBoot adds a note about a setting that the next boot would change and that the operator resets
// without a reboot (HandleTotalVfs, changeWithoutReboot).
func (n *nic) nextBoot(v *verdict, vfs int) {
	f := n.wanted[0].Firmware
	if f == nil || f.Current == nil || f.Next.SRIOV && f.Next.NumOfVFs == vfs {
		return
	}
	v.notes = append(v.notes, fmt.Sprintf(
		"%s: the firmware has %d VFs, as in the policy, but SRIOV_EN=%t NUM_OF_VFS=%d for the next boot: the operator "+
			"undoes this setting without a reboot", n.wanted[0], vfs, f.Next.SRIOV, f.Next.NumOfVFs))
}

// fixedLink reports whether the firmware has no setting for the port's link type, with which the
// operator fails (isLinkTypeRequireChange).
func (p *pf) fixedLink() bool {
	s := p.settings()
	i := strings.IndexByte("01", p.Address[len(p.Address)-1])
	return s != nil && p.Firmware.Whole && i >= 0 && s.LinkTypes[i] == ""
}

// hold marks a reason that the daemon doesn't detect now: it compares only when the desired setting
// of the node changes.
func (t *trial) hold(r Reason) Reason {
	if !t.changed && t.synced {
		r.Held = heldText
	}
	return r
}

// linkTypes corresponds to HandleLinkType.
func (t *trial) linkTypes(v *verdict, n *nic, external bool) bool {
	changes := false
	for i, c := range n.configs {
		p := n.wanted[i]
		if c.linkType == "" || strings.EqualFold(c.linkType, p.LinkType) ||
			!slices.Contains([]string{"0", "1"}, p.Address[len(port(p.Address)):]) {
			continue
		}
		want := strings.ToUpper(c.linkType)
		switch {
		case p.LinkType == "":
			v.add(p.Address, t.hold(Reason{
				ID: ReasonLinkType, Action: ActionReboot, Open: true,
				Text: fmt.Sprintf("the policy sets link type %s, and the present link type is unknown", want),
			}))
			continue
		case external:
			v.failures = append(v.failures, fmt.Sprintf(
				"%s: externally managed with link type %s instead of %s: the operator fails", p, p.LinkType, want))
			continue
		case p.fixedLink():
			v.failures = append(v.failures,
				fmt.Sprintf("%s: the policy sets link type %s, but the card supports only %s: the operator fails",
					p, want, p.LinkType))
			v.stopped = stoppedText
			continue
		}
		changes = true
		unless := " (the operator fails if the card supports only one)"
		if s := p.settings(); s != nil && s.LinkTypes != [2]string{} {
			unless = ""
		}
		v.add(p.Address, t.hold(Reason{
			ID: ReasonLinkType, Action: ActionReboot,
			Text: fmt.Sprintf("the link type changes from %s to %s in the firmware%s", p.LinkType, want, unless),
		}))
	}
	return changes
}
