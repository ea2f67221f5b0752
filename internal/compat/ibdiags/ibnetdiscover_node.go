package ibdiags

import (
	"fmt"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// quoted returns a node's identifier, with type and GUID: `"S-0002c90300000001"`.
func quoted(node *subnetNode) string {
	letter := "?"
	switch node.Info.NodeType {
	case mad.NodeTypeSwitch:
		letter = "S"
	case mad.NodeTypeCA:
		letter = "H"
	case mad.NodeTypeRouter:
		letter = "R"
	}
	return fmt.Sprintf("%q", fmt.Sprintf("%s-%016x", letter, guid64(node.GUID())))
}

// head prints the lines above a node's cables. The prefixes are those of the lines with identifiers
// and of the line of the node itself.
func (n *netdiscover) head(node *subnetNode, group bool, idPrefix, prefix string) {
	image := guid64(node.Info.SystemImageGUID)
	n.printf("\n%svendid=0x%x\n%sdevid=0x%x\n", idPrefix, node.Info.VendorID, idPrefix, node.Info.DeviceID)
	if image != 0 {
		n.printf("%ssysimgguid=0x%x", idPrefix, image)
	}
	inChassis := group && node.chassis != nil && node.chassis.number != 0
	if inChassis {
		n.printf("\t\t# Chassis %d", node.chassis.number)
	}
	if image != 0 || inChassis {
		n.printf("\n")
	}
	if !node.IsSwitch() {
		word := "ca"
		if node.Info.NodeType == mad.NodeTypeRouter {
			word = "rt"
		}
		n.printf("%s%sguid=0x%x\n", idPrefix, word, guid64(node.GUID()))
		n.detail(node, prefix)
		n.printf("\n")
		return
	}
	n.printf("%sswitchguid=0x%x(%x)", idPrefix, guid64(node.GUID()), guid64(node.Info.PortGUID))
	if group {
		n.printf("\t# ")
		if inChassis && node.slot.kind != 0 {
			n.printf("%s %s", node.slot.system, node.slot)
		}
	}
	n.printf("\n")
	n.detail(node, prefix)
	n.printf("\n")
}

// detail prints the line of the node itself.
func (n *netdiscover) detail(node *subnetNode, prefix string) {
	if node.IsSwitch() {
		port0 := "base"
		if node.Switch != nil && node.Switch.EnhancedPort0 {
			port0 = "enhanced"
		}
		n.printf("%sSwitch\t%d %s\t\t# \"%s\" %s port 0 lid %d lmc %d",
			prefix, node.Info.NumPorts, quoted(node), n.name(node), port0, node.lid, node.lmc)
		return
	}
	word := "Ca"
	if node.Info.NodeType == mad.NodeTypeRouter {
		word = "Rt"
	}
	n.printf("%s%s\t%d %s\t\t# \"%s\"", prefix, word, node.Info.NumPorts, quoted(node), node.Description)
}

// external returns the suffix of a port's number if the chassis has a different number.
func (n *netdiscover) external(p *subnetPort) string {
	if !n.group || p.external == 0 {
		return ""
	}
	return fmt.Sprintf("[ext %d]", p.external)
}

// cable prints a port that has a peer.
func (n *netdiscover) cable(p *subnetPort, prefix string) {
	q := p.remote
	n.printf("%s[%d]", prefix, p.number)
	if p.node.IsSwitch() {
		n.printf("%s\t%s[%d]%s", n.external(p), quoted(q.node), q.number, n.external(q))
		if !q.node.IsSwitch() {
			n.printf("(%x) ", q.guid)
		}
		n.printf("\t\t# \"%s\" lid %d ", n.name(q.node), q.base())
	} else {
		n.printf("(%x) \t%s[%d]%s", p.guid, quoted(q.node), q.number, n.external(q))
		if !q.node.IsSwitch() {
			n.printf(" (%x) ", q.guid)
		}
		n.printf("\t\t# lid %d lmc %d \"%s\" lid %d ", p.lid, p.lmc, n.name(q.node), q.base())
	}
	n.printf("%s%s", shortWidth(p.Info.LinkWidthActive), p.shortSpeed())
	if n.full {
		speed := p.Info.LinkSpeedActive
		if p.capable() == nil {
			speed = 0
		}
		n.printf(" s=%d w=%d v=%d", speed, p.Info.LinkWidthActive, p.Info.VLCap)
	}
	n.printf("\n")
}
