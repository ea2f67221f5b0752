package ibsim

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPacketLayout checks struct sim_request byte by byte.
func TestPacketLayout(t *testing.T) {
	p := Packet{DLID: 0x1234, SLID: 0x5678, DQP: 1, SQP: 2, Status: StatusTimeout}
	p.MAD[0], p.MAD[MADLen-1] = 0xaa, 0xbb
	b := p.appendTo(nil)
	want := make([]byte, packetLen)
	binary.BigEndian.PutUint16(want[0:], 0x1234)
	binary.BigEndian.PutUint16(want[4:], 0x5678)
	want[11], want[15], want[19], want[30] = 1, 2, StatusTimeout, 1
	want[32], want[packetLen-1] = 0xaa, 0xbb
	if diff := cmp.Diff(want, b); diff != "" {
		t.Errorf("packet (-want +got):\n%s", diff)
	}
	var got Packet
	if err := got.decode(want); err != nil || got.Length != MADLen {
		t.Errorf("decode: length %d, %v", got.Length, err)
	}
	p.Local = Local{PKeyIndex: 0x305, SL: 10, GRH: true}
	binary.NativeEndian.PutUint16(want[2:], 0x8000|10<<11|0x305) // the upper half of the slot, in host order
	if diff := cmp.Diff(want, p.appendTo(nil)); diff != "" {
		t.Errorf("packet with a local part (-want +got):\n%s", diff)
	}
	if err := got.decode(want); err != nil || got.Local != p.Local || got.DLID != p.DLID {
		t.Errorf("decode: %+v, %v", got, err)
	}
	for _, n := range []int{0, packetLen - 1, packetLen + 1} {
		if err := new(Packet).decode(make([]byte, n)); !errors.Is(err, ErrShort) {
			t.Errorf("decode of %d bytes = %v, want ErrShort", n, err)
		}
	}
}

func FuzzFrames(f *testing.F) {
	p := Packet{DLID: LIDPermissive, SLID: LIDPermissive}
	f.Add(p.appendTo(nil))
	hello := connectMessage(7, "host0", true)
	f.Add(hello.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, again Packet
		if p.decode(b) == nil {
			p.Length = max(1, p.Length) // 0 is written as 256
			if err := again.decode(p.appendTo(nil)); err != nil || again != p {
				t.Errorf("decode(append(p)) = %+v, %v, want %+v", again, err, p)
			}
		}
		var c, same control
		if c.decode(b) == nil {
			c.connected()
			if err := same.decode(c.append(nil)); err != nil || same != c {
				t.Errorf("decode(append(c)) = %+v, %v, want %+v", same, err, c)
			}
		}
	})
}
