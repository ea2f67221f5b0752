package netprobe

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// unhex decodes the output of tcpdump -xx.
func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEcho(t *testing.T) {
	for _, size := range []int{28, 84, 85, 1500, 9000} {
		b := echo(0x1234, 7, size)
		if len(b) != size-ipHeader || b[0] != 8 || b[1] != 0 {
			t.Errorf("echo(%d) = %d bytes, type %d", size, len(b), b[0])
		}
		if sum := checksum(b); sum != 0 {
			t.Errorf("echo(%d): the checksum with its own is %#x, want 0", size, sum)
		}
		b[0] = 0
		if !isReply(b, 7, size) || isReply(b, 8, size) || isReply(b, 7, size+1) {
			t.Errorf("isReply of the answer to echo(%d) is wrong", size)
		}
	}
	if isReply([]byte{8, 0, 0, 0, 0, 0, 0, 7}, 7, 28) {
		t.Error("isReply accepts a request")
	}
	// RFC 1071, section 3: the sum of these bytes is ddf2.
	if got := checksum(unhex(t, "0001 f203 f4f5 f6f7")); got != ^uint16(0xddf2) {
		t.Errorf("checksum = %#x, want %#x", got, ^uint16(0xddf2))
	}
}

func TestARP(t *testing.T) {
	own, target := unhex(t, "020000000001"), []byte{10, 0, 0, 9}
	// As arping -D sends it: tcpdump says "Request who-has 10.0.0.9 tell 0.0.0.0, length 28".
	want := unhex(t, "ffffffffffff 0200 0000 0001 0806 0001 0800 0604 0001 0200 0000 0001 0000 0000 "+
		"0000 0000 0000 0a00 0009")
	if got := arpProbe(own, target); !bytes.Equal(got, want) {
		t.Errorf("arpProbe = %x, want %x", got, want)
	}
	// "Reply 10.0.0.9 is-at 02:00:00:00:00:09, length 28"
	reply := unhex(t, "0200 0000 0001 0200 0000 0009 0806 0001 0800 0604 0002 0200 0000 0009 0a00 0009 "+
		"0200 0000 0001 0000 0000")
	if mac, ok := arpOwner(reply, target); !ok || !bytes.Equal(mac, unhex(t, "020000000009")) {
		t.Errorf("arpOwner = %x, %v", mac, ok)
	}
	for name, b := range map[string][]byte{"own probe": want, "short": reply[:41], "of another": reply} {
		address := target
		if name == "of another" {
			address = []byte{10, 0, 0, 8}
		}
		if mac, ok := arpOwner(b, address); ok {
			t.Errorf("arpOwner of %s = %x, want none", name, mac)
		}
	}
}

func FuzzARPOwner(f *testing.F) {
	f.Add(arpProbe(make([]byte, 6), []byte{10, 0, 0, 1}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if mac, ok := arpOwner(b, []byte{10, 0, 0, 1}); ok && len(mac) != 6 {
			t.Errorf("arpOwner(%x) = %x", b, mac)
		}
		_ = isReply(b, 1, len(b)+ipHeader)
	})
}
