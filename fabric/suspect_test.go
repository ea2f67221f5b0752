package fabric

import "testing"

// TestSuspectOf checks which direction the counters point at. Receivers count symbol errors and bad
// packets; both ends count that the link went down (specification section 16.1.3.5).
func TestSuspectOf(t *testing.T) {
	tests := []struct {
		a, b []string
		want Suspect
	}{
		{nil, nil, SuspectNone},
		{[]string{"SymbolErrorCounter"}, nil, SuspectBToA},
		{nil, []string{"PortRcvErrors"}, SuspectAToB},
		{[]string{"LocalLinkIntegrityErrors"}, []string{"LinkDownedCounter"}, SuspectBToA},
		{[]string{"ExcessiveBufferOverrunErrors"}, []string{"PortXmitDiscards"}, SuspectBToA},
		{[]string{"SymbolErrorCounter"}, []string{"PortRcvErrors"}, SuspectBoth},
		{[]string{"LinkDownedCounter"}, []string{"LinkDownedCounter"}, SuspectLink},
		{[]string{"LinkErrorRecoveryCounter", "PortRcvRemotePhysicalErrors"}, nil, SuspectLink},
		{[]string{"PortRcvRemotePhysicalErrors", "PortXmitDiscards"}, nil, SuspectOther},
		{[]string{"PortXmitDiscards"}, []string{"VL15Dropped"}, SuspectTraffic},
	}
	for _, tt := range tests {
		if got := SuspectOf(tt.a, tt.b); got != tt.want {
			t.Errorf("SuspectOf(%v, %v) = %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}
