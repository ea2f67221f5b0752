package impact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s"
)

// nic is a card of NVIDIA's with its ports that have a policy.
type nic struct {
	ports   []*pf // all that the daemon sees
	wanted  []*pf // those with a policy
	configs []*config
}

// firmware judges the cards whose firmware the operator sets (pkg/plugins/mellanox,
// pkg/vendors/mellanox). Where no output of mstconfig tells NUM_OF_VFS and SRIOV_EN, sriov_totalvfs
// stands for them; 0 means that SR-IOV is off, or that no VFs are set.
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
		v.notes = append(v.notes, fmt.Sprintf("%s a new firmware setting and %s: the daemon goes by the card that it "+
			"looks at last, in no fixed order, so it may also set and reset the firmware without a reboot of the node",
			needs(reboots), doNot(others)))
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

// firmwareOf judges a card and reports that it reboots the node.
func (t *trial) firmwareOf(v *verdict, n *nic) bool {
	vfs, from := 0, ""
	external := n.configs[0].external
	for i, c := range n.configs {
		if c.vfs > vfs {
			vfs, from = c.vfs, n.wanted[i].String()
		}
		if c.external != external {
			v.notes = append(v.notes, fmt.Sprintf(
				"%s and %s are ports of one card, and one of them is externally managed: which of them counts for "+
					"the firmware is left to chance", n.wanted[0], n.wanted[i]))
			external = false // then it may be set
		}
	}
	before := len(v.failures)
	changes := t.linkTypes(v, n, external)
	if t.firmwareVFs(v, n, vfs, from, external) {
		changes = true
	}
	if external && len(v.failures) > before {
		v.stopped = "the operator fails on the node before it drains"
		return false
	}
	return changes
}

// reboot adds a reason to the ports of a card that have a policy.
func (n *nic) reboot(v *verdict, r Reason) {
	for _, p := range n.wanted {
		v.add(p.Address, r)
	}
}

// firmwareVFs is HandleTotalVfs and HandleEnableSriov: the firmware gives each port as many VFs as
// the port with the most wants, exactly; for one that is externally managed it must give enough.
func (t *trial) firmwareVFs(v *verdict, n *nic, vfs int, from string, external bool) bool {
	total, by := n.wanted[0].gives(), "by sriov_totalvfs"
	for _, p := range n.ports {
		total = max(total, p.gives())
	}
	if n.wanted[0].settings() != nil {
		by = "by its settings"
	}
	why := "the policy wants " + fmt.Sprint(vfs)
	if len(n.wanted) > 1 {
		why = fmt.Sprintf("the policies want %d for %s, and the ports of a card have the same", vfs, from)
	}
	if vfs > k8s.MaxMellanoxVFs {
		v.notes = append(v.notes,
			fmt.Sprintf("%s: %d VFs are wanted: the webhook, where it is on, refuses more than %d",
				n.wanted[0], vfs, k8s.MaxMellanoxVFs))
	}
	switch {
	case external && vfs > total:
		v.failures = append(v.failures,
			fmt.Sprintf("%s: externally managed, %d VFs are wanted, and the firmware gives %d %s: the operator fails",
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
		Text: fmt.Sprintf("the firmware gives %s %s, and %s: the operator sets NUM_OF_VFS to exactly that%s",
			english.Count(total, "VF"), by, why, n.alreadySet(vfs)),
	}))
	return true
}

// noVFs says why a card gives no VFs.
func (n *nic) noVFs() string {
	s := n.wanted[0].settings()
	switch {
	case s == nil:
		return "sriov_totalvfs is 0, so SR-IOV is off in the firmware or gives no VFs"
	case !s.SRIOV:
		return fmt.Sprintf("SRIOV_EN is False in the firmware (NUM_OF_VFS %d)", s.NumOfVFs)
	}
	return "NUM_OF_VFS is 0 in the firmware"
}

// alreadySet adds that the setting for the next boot is right: the operator drains and reboots all
// the same.
func (n *nic) alreadySet(vfs int) string {
	if f := n.wanted[0].Firmware; f != nil && f.Next.SRIOV && f.Next.NumOfVFs == vfs {
		return " (it is set for the next boot: any reboot beforehand does)"
	}
	return ""
}

// nextBoot notes a setting that the next boot would change, and the operator sets back without a
// reboot (HandleTotalVfs, changeWithoutReboot).
func (n *nic) nextBoot(v *verdict, vfs int) {
	f := n.wanted[0].Firmware
	if f == nil || f.Current == nil || f.Next.SRIOV && f.Next.NumOfVFs == vfs {
		return
	}
	v.notes = append(v.notes, fmt.Sprintf(
		"%s: the firmware gives %d VFs, as wanted, and is set to SRIOV_EN=%t NUM_OF_VFS=%d for the next boot: the "+
			"operator sets it back, without a reboot", n.wanted[0], vfs, f.Next.SRIOV, f.Next.NumOfVFs))
}

// fixedLink reports a port whose link type the firmware has no setting for, so that the operator
// fails (isLinkTypeRequireChange).
func (p *pf) fixedLink() bool {
	s := p.settings()
	i := strings.IndexByte("01", p.Address[len(p.Address)-1])
	return s != nil && p.Firmware.Whole && i >= 0 && s.LinkTypes[i] == ""
}

// hold marks what the daemon would do only if it looked: it does so when what is wanted of the
// node changes.
func (t *trial) hold(r Reason) Reason {
	if !t.changed && t.synced {
		r.Held = "what is wanted of the node doesn't change; it happens with the next change, and " +
			"when the daemon restarts"
	}
	return r
}

// linkTypes is HandleLinkType.
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
				Text: fmt.Sprintf("link type %s is wanted, and that of the PF isn't recorded", want),
			}))
			continue
		case external:
			v.failures = append(v.failures, fmt.Sprintf(
				"%s: externally managed with link type %s, and %s is wanted: the operator fails", p, p.LinkType, want))
			continue
		case p.fixedLink():
			v.failures = append(v.failures,
				fmt.Sprintf("%s: link type %s is wanted, and the firmware of the card has %s alone: the operator fails",
					p, want, p.LinkType))
			v.stopped = "the operator fails on the node before it drains"
			continue
		}
		changes = true
		unless := " (a card that has only one fails instead)"
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
