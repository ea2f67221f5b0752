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
		{mad.ClassSA, mad.AttributeMCMemberRecord, "MCMemberRecord"},
		{mad.ClassSubnet, 0x1234, "attribute 0x1234"},
		{mad.ClassPing, mad.AttributeNodeInfo, "attribute 0x0011"},
	} {
		if got := test.a.Name(test.class); got != test.want {
			t.Errorf("Attribute(0x%x).Name(0x%x) = %q, want %q", uint16(test.a), uint8(test.class), got, test.want)
		}
	}
}

func TestRMPPNames(t *testing.T) {
	for status, want := range map[mad.RMPPStatus]string{
		0: "status 0, normal", 1: "status 1, resources exhausted", 2: "status 2, reserved", 117: "status 117, reserved",
		mad.RMPPStatusTotalTime:   "status 118, total transaction time too long",
		mad.RMPPStatusRetries:     "status 126, too many retries",
		mad.RMPPStatusUnspecified: "status 127, unspecified error",
		128:                       "status 128, specific to the vendor",
		192:                       "status 192, specific to the management class",
	} {
		if got := status.String(); got != want {
			t.Errorf("RMPPStatus(%d) = %q, want %q", uint8(status), got, want)
		}
	}
	if got := mad.RMPPAbort.String(); got != "ABORT" {
		t.Errorf("RMPPAbort = %q", got)
	}
}

func TestServiceName(t *testing.T) {
	var r mad.ServiceRecord
	copy(r.ServiceName[:], "DAPL\x00rest")
	if got := r.Name(); got != "DAPL" {
		t.Errorf("Name() = %q", got)
	}
}
