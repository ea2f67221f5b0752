package protocol_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

// TestParseInvitation checks texts that are none.
func TestParseInvitation(t *testing.T) {
	good := protocol.Invitation{Addr: "[2001:db8::1]:7700", Secret: "x.y"}
	got, err := protocol.ParseInvitation(good.String())
	if err != nil || got != good {
		t.Errorf("ParseInvitation(%s) = %+v, %v", good, got, err)
	}
	for _, s := range []string{
		"", "host:1", "host:1#", "host:1#abc", "host:1#abc.def", "host#" + strings.Split(good.String(), "#")[1],
		strings.TrimSuffix(good.String(), "x.y"),
	} {
		if _, err := protocol.ParseInvitation(s); !errors.Is(err, protocol.ErrInvitation) {
			t.Errorf("ParseInvitation(%q) = %v, want %v", s, err, protocol.ErrInvitation)
		}
	}
}

// FuzzParseInvitation checks that what is accepted says the same when it is printed and read again.
func FuzzParseInvitation(f *testing.F) {
	f.Add("192.0.2.1:7700#OFCcMbQBCVZDefAFmfG_QiCOSAMGIOEr2XL-WMABRBA.UTFI3FYYEKSZ6MZMPBJRUIICJ2")
	f.Add("[2001:db8::1]:7700#AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA.x.y#z")
	f.Add("host:1#.")
	f.Fuzz(func(t *testing.T, text string) {
		i, err := protocol.ParseInvitation(text)
		if err != nil {
			if !errors.Is(err, protocol.ErrInvitation) {
				t.Errorf("ParseInvitation(%q): %v", text, err)
			}
			return
		}
		if again, err := protocol.ParseInvitation(i.String()); err != nil || again != i {
			t.Errorf("ParseInvitation(%q) = %+v, and again %+v, %v", text, i, again, err)
		}
	})
}
