package mad_test

import (
	"testing"

	"github.com/rdmakit/rdmakit/wire/mad"
)

func TestStatus(t *testing.T) {
	tests := []struct {
		s    mad.Status
		text string
	}{
		{0, "status 0x0000"},
		{mad.StatusBusy, "status 0x0001, busy"},
		{mad.StatusUnsupportedMethodAttribute, "status 0x000c, method not supported for this attribute"},
		{
			mad.StatusInvalidField | mad.StatusRedirect,
			"status 0x001e, invalid value in attribute or modifier, redirected",
		},
		{0x0010, "status 0x0010, reserved code"},
		{mad.StatusSANoRecords, "status 0x0300"},
	}
	for _, tt := range tests {
		if got := tt.s.String(); got != tt.text {
			t.Errorf("Status(%#x) = %q, want %q", uint16(tt.s), got, tt.text)
		}
	}
	if s := mad.StatusSANoRecords | mad.StatusBusy |
		mad.StatusInvalidField; s.ClassSpecific() != mad.StatusSANoRecords || s.Code() != mad.StatusInvalidField {
		t.Errorf("ClassSpecific, Code of %#x = %#x, %#x", uint16(s), s.ClassSpecific(), s.Code())
	}
}

func TestResultLeavesTheDirectionOut(t *testing.T) {
	smp := mad.NewDirectedSMP(mad.MethodGet, mad.AttributeNodeInfo, 0, 1, &mad.Path{})
	smp.Status = mad.StatusInvalidField
	smp.SetReturning(true)
	if smp.Status != 0x801c || smp.Result() != mad.StatusInvalidField || !smp.IsReturning() {
		t.Errorf("Status, Result = %#x, %#x, want 0x801c, 0x1c", smp.Status, smp.Result())
	}
	if smp.SetReturning(false); smp.IsReturning() || smp.Status != mad.StatusInvalidField {
		t.Errorf("Status after SetReturning(false) = %#x, want 0x1c", smp.Status)
	}
	if h := (mad.Header{MgmtClass: mad.ClassSA, Status: 0x8000}); h.Result() != 0x8000 {
		t.Errorf("Result of the SA's 0x8000 = %#x, want all bits", h.Result())
	}
}

func TestIsResponse(t *testing.T) {
	for m, want := range map[mad.Method]bool{
		mad.MethodGet: false, mad.MethodGetResp: true, mad.MethodGetTableResp: true,
		mad.MethodTrap: false, mad.MethodTrapRepress: true, mad.MethodSend: false,
	} {
		if got := m.IsResponse(); got != want {
			t.Errorf("IsResponse of method %#x = %t, want %t", uint8(m), got, want)
		}
	}
}

func TestNames(t *testing.T) {
	tests := []struct{ got, want string }{
		{mad.NodeTypeRouter.String(), "Router"},
		{mad.NodeType(9).String(), "node type 9"},
		{mad.PortStateActive.String(), "Active"},
		{mad.PortState(9).String(), "?(9)"},
		{mad.PortPhysicalStatePhyTest.String(), "PhyTest"},
		{mad.PortPhysicalState(8).String(), "?(8)"},
		{mad.SMState(4).String(), "?(4)"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("String() = %q, want %q", tt.got, tt.want)
		}
	}
}

func TestNodeDescription(t *testing.T) {
	tests := []struct{ sent, want string }{
		{"", ""},
		{"node 7 mlx5_0", "node 7 mlx5_0"},
		{"cut\x00off", "cut"},
		{"\x1b[2Jevil\n\xff\u00e9", " [2Jevil    "},
	}
	for _, tt := range tests {
		var a mad.NodeDescription
		copy(a[:], tt.sent)
		before := a
		if got := a.String(); got != tt.want || a != before {
			t.Errorf("String() of %q = %q, want %q", tt.sent, got, tt.want)
		}
	}
	full := mad.NodeDescription{}
	for i := range full {
		full[i] = 'x'
	}
	if got := full.String(); len(got) != mad.NodeDescriptionLen {
		t.Errorf("String() of 64 letters has %d", len(got))
	}
}
