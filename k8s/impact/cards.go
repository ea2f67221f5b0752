package impact

import (
	"cmp"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// pf is a PF as the daemon sees it, by its own list or by a snapshot.
type pf struct {
	source.PF
	down        bool
	functions   []vf
	recorded    bool // by the operator's daemon, not by a snapshot
	unsupported bool
}

// vf is a VF; what is "" or 0 is not known.
type vf struct {
	id, mtu           int
	driver, guid, dpa string
	known             bool // driver "" means that there is none
}

// zeroGUID is that of a VF that nobody has given one (pkg/consts/constants.go,
// UninitializedNodeGUID).
const zeroGUID = "0000:0000:0000:0000"

// cardsOf returns the PFs of a node: those of its state, which are the daemon's own list, or else
// those of a snapshot.
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
			continue // a snapshot alone knows it
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

// mellanox reports a card whose firmware the operator sets.
func (p *pf) mellanox() bool { return p.Vendor == k8s.VendorMellanox }

// settings returns the firmware's, nil where nothing tells those in force.
func (p *pf) settings() *source.FirmwareSettings {
	if p.Firmware == nil {
		return nil
	}
	return p.Firmware.Current
}

// gives returns how many VFs the firmware gives; where nothing tells its settings, sriov_totalvfs
// stands for them.
func (p *pf) gives() int {
	n, _ := p.FirmwareVFs()
	return n
}

// preset sets the firmware.
func (p *pf) preset(vfs int) {
	p.TotalVFs = vfs
	if s := p.settings(); s != nil {
		now := *s
		now.SRIOV, now.NumOfVFs = vfs > 0, vfs
		p.Firmware = &source.Firmware{Current: &now, Next: now, Whole: p.Firmware.Whole}
	}
}

// modeOr returns the eSwitch mode; one that isn't told is legacy, as it is for the operator.
func modeOr(s string) string {
	if s == "" {
		return "legacy"
	}
	return s
}

// String names the PF by its network device where it has one.
func (p *pf) String() string {
	if p.Netdev != "" {
		return p.Netdev
	}
	return p.Address
}

// port returns the address without its function, by which the operator finds the ports of one card.
func port(address string) string { return address[:max(0, len(address)-1)] }
