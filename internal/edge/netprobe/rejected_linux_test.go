package netprobe

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRejectionOf decodes what Linux 6.18 queued, read with Python's recvmsg, after a router with a
// route of type prohibit had dropped a datagram.
func TestRejectionOf(t *testing.T) {
	if unix.SizeofPtr != 8 {
		t.Skip("the control message was recorded on a machine of 64 bits")
	}
	data := "71000000 02 03 0d 00 00000000 00000000 0200 0000 0a000009 0000000000000000"
	control := unhex(t, "3000000000000000 00000000 0b000000"+data)
	want := Rejection{By: netip.MustParseAddr("10.0.0.9"), Type: 3, Code: 13}
	if got, err := rejectionOf(control); got == nil || *got != want || err != nil {
		t.Errorf("rejectionOf = %+v, %v, want %+v", got, err, want)
	}
	for name, change := range map[string]func(b []byte){
		"of the machine itself": func(b []byte) { b[16+4] = unix.SO_EE_ORIGIN_LOCAL },
		"of another level":      func(b []byte) { b[8] = unix.IPPROTO_IPV6 },
		"of another type":       func(b []byte) { b[12] = unix.IP_TTL },
	} {
		b := unhex(t, "3000000000000000 00000000 0b000000"+data)
		change(b)
		if got, err := rejectionOf(b); got != nil || err != nil {
			t.Errorf("rejectionOf an entry %s = %+v, %v, want none", name, got, err)
		}
	}
	if got, err := rejectionOf(control[:40]); got != nil || err == nil {
		t.Errorf("rejectionOf a part = %+v, %v, want an error", got, err)
	}
}
