package mad_test

import (
	"testing"

	"github.com/rdmakit/rdmakit/wire/mad"
)

func TestAttributeName(t *testing.T) {
	for _, test := range []struct {
		class mad.Class
		a     mad.Attribute
		want  string
	}{
		{mad.ClassSubnet, mad.AttributeNodeInfo, "NodeInfo"},
		{mad.ClassSubnetDirected, mad.AttributeSwitchInfo, "SwitchInfo"},
		{mad.ClassPerformance, mad.AttributePortCounters, "PortCounters"}, // SwitchInfo's number
		{mad.ClassSA, mad.AttributePathRecord, "PathRecord"},
		{mad.ClassSA, mad.AttributeSMInfo, "LinkRecord"},
		{mad.ClassSubnet, 0x1234, "attribute 0x1234"},
		{mad.ClassPing, mad.AttributeNodeInfo, "attribute 0x0011"},
	} {
		if got := test.a.Name(test.class); got != test.want {
			t.Errorf("Attribute(0x%x).Name(0x%x) = %q, want %q", uint16(test.a), uint8(test.class), got, test.want)
		}
	}
}
