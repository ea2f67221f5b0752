package prm_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/prm"
)

// capture writes a capture file with a datagram in a packet to QP 1: a frame of a capture of
// package mad, whose message is replaced.
func capture(t *testing.T, message []byte) string {
	t.Helper()
	const file, record, offset = 24, 16, 14 + 20 + 8 + 12 + 8
	b, err := os.ReadFile("../mad/testdata/cm/messages.pcap")
	if err != nil {
		t.Fatal(err)
	}
	frame := int(binary.LittleEndian.Uint32(b[file+8:]))
	b = b[:file+record+frame]
	copy(b[file+record+offset:], message)
	name := filepath.Join(t.TempDir(), "request.pcap")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestTshark: tshark decodes the header of the requests. It doesn't know the rest of this class.
func TestTshark(t *testing.T) {
	register := prm.NewAccessRegister(prm.RegisterPDDR, 1, 0x1122334455667788, 0x99aabbcc)
	info := prm.NewGeneralInfo(0, 7)
	for _, tt := range []struct {
		message []byte
		want    map[string]string
	}{
		{register.Append(nil), map[string]string{
			"mgmtclass": "0x0a", "method": "0x01", "transactionid": "0x0000000099aabbcc", "attributeid": "0x0051",
			"attributemodifier": "0x00005031",
		}},
		{info.Append(nil), map[string]string{
			"mgmtclass": "0x0a", "method": "0x01", "transactionid": "0x0000000000000007", "attributeid": "0x0017",
			"attributemodifier": "0x00000000",
		}},
	} {
		tt.want["baseversion"], tt.want["classversion"], tt.want["status"] = "0x01", "0x01", "0x0000"
		var names []string
		for name := range tt.want {
			names = append(names, "infiniband.mad."+name)
		}
		if len(tt.message) != mad.Len {
			t.Fatalf("%d bytes", len(tt.message))
		}
		frames, err := tshark.Values(t.Context(), capture(t, tt.message), names...)
		if err != nil || len(frames) != 1 {
			t.Fatalf("tshark: %d frames, %v", len(frames), err)
		}
		for name, want := range tt.want {
			if got := frames[0]["infiniband.mad."+name]; got != want {
				t.Errorf("tshark prints %s = %q, want %q", name, got, want)
			}
		}
	}
}
