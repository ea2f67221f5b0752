package ibdiags

import (
	"testing"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestOneRuleForSpeeds compares the names of ibnetdiscover, which follow the C program's rules,
// with the rule of all other commands (mad.PortInfo.ActiveSpeed), for all speeds that a port with
// all capabilities can report.
func TestOneRuleForSpeeds(t *testing.T) {
	compared := map[string]int{}
	for _, base := range []uint8{0, 1, 2, 4} {
		for _, first := range []uint8{0, 1, 2, 4, 8} {
			for _, second := range []uint8{0, 1} {
				for _, ext := range []*mad.ExtendedPortInfo{nil, {}, {LinkSpeedActive: 1}} {
					info := mad.PortInfo{
						LinkSpeedActive: base, LinkSpeedExtActive: first, LinkSpeedExt2Active: second,
						PortState: mad.PortStateActive, PortPhysicalState: mad.PortPhysicalStateLinkUp,
						CapabilityMask: mad.CapabilityIsExtendedSpeedsSupported |
							mad.CapabilityIsCapabilityMask2Supported,
						CapabilityMask2: mad.Capability2IsExtendedSpeeds2Supported,
					}
					n := &subnetNode{Node: &fabric.Node{Info: mad.NodeInfo{NodeType: mad.NodeTypeCA}}}
					p := &subnetPort{Port: &fabric.Port{Known: true, Info: info, Mellanox: ext}, node: n}
					want := p.shortSpeed()
					got := p.Speed().String()
					if want == "???" {
						want = "unknown"
					}
					if got != want {
						t.Errorf("speeds %d, %d, %d, %+v: %s, ibnetdiscover prints %s",
							base, first, second, ext, got, want)
					}
					compared[want]++
				}
			}
		}
	}
	if len(compared) != 10 { // SDR to XDR, and unknown
		t.Errorf("compared %v, want all speeds", compared)
	}
}
