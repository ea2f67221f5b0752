package impact

import (
	"cmp"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// pf is a PF as the daemon sees it, from a SriovNetworkNodeState or a snapshot.
type pf struct {
	source.PF
	down        bool
	functions   []vf
	recorded    bool // in a SriovNetworkNodeState, not only in a snapshot
	unsupported bool
}

// vf is a VF. Fields that are "" or 0 are unknown.
type vf struct {
	id, mtu           int
	driver, guid, dpa string
	known             bool // if set, driver "" means that the VF has no driver
}

// zeroGUID is the GUID of a VF without an assigned GUID (pkg/consts/constants.go,
// UninitializedNodeGUID).
const zeroGUID = "0000:0000:0000:0000"

// cardsOf returns the PFs of a node: those of its SriovNetworkNodeState, which the daemon lists, or
// those of a snapshot if there is no state.
func cardsOf(n *source.Node) []pf {
	var out []pf
	if n.State == nil {
		for _, p := range n.PFs {
			_, listed := k8s.NICByPF(p.DeviceID)
			c := pf{PF: p, unsupported: p.Vendor == k8s.VendorMellanox && !listed}
			for i, guid := range p.VFGUIDs {
				c.functions = append(c.functions, vf{id: i, guid: guid})
			}
			out = append(out, c)
		}
		return out
	}
	listed := map[string]*k8s.Interface{}
	for i := range n.State.Status.Interfaces {
		card := &n.State.Status.Interfaces[i]
		listed[strings.ToLower(card.PciAddress)] = cmp.Or(listed[strings.ToLower(card.PciAddress)], card)
	}
	for _, p := range n.PFs {
		card := listed[p.Address]
		if card == nil {
			continue // it is in a snapshot only
		}
		c := pf{PF: p, down: card.LinkAdminState == "down", recorded: true}
		for _, f := range card.VFs {
			c.functions = append(c.functions,
				vf{id: f.VfID, mtu: f.Mtu, driver: f.Driver, guid: f.GUID, dpa: f.VdpaType, known: true})
		}
		out = append(out, c)
	}
	return out
}

// mellanox reports whether the operator sets the firmware of the card.
func (p *pf) mellanox() bool { return p.Vendor == k8s.VendorMellanox }

// settings returns the firmware settings in effect, nil if they are unknown.
func (p *pf) settings() *source.FirmwareSettings {
	if p.Firmware == nil {
		return nil
	}
	return p.Firmware.Current
}

// gives returns the number of VFs in the firmware, or sriov_totalvfs if the firmware's settings are
// unknown.
func (p *pf) gives() int {
	n, _ := p.FirmwareVFs()
	return n
}

// preset sets the number of VFs in the firmware.
func (p *pf) preset(vfs int) {
	p.TotalVFs = vfs
	if s := p.settings(); s != nil {
		now := *s
		now.SRIOV, now.NumOfVFs = vfs > 0, vfs
		p.Firmware = &source.Firmware{Current: &now, Next: now, Whole: p.Firmware.Whole}
	}
}

// modeOr returns the eSwitch mode. An absent mode means legacy, as in the operator.
func modeOr(s string) string {
	if s == "" {
		return "legacy"
	}
	return s
}

// String returns the PF's network device, or its address if it has none.
func (p *pf) String() string {
	if p.Netdev != "" {
		return p.Netdev
	}
	return p.Address
}

// port returns the address without the function, which is the same for all ports of a card.
func port(address string) string { return address[:max(0, len(address)-1)] }
