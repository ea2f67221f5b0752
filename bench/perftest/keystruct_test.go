package perftest

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// keyStruct is a key as perftest 4.5 sends it over rdma_cm; the one of 6.29 has eight bytes more
// after the first half.
const keyStruct = "00000007" + "00000010" + "00000011" + "00abcdef" + "00000345" + "00000000" + "00007f0a634cf000"

const keyStructGID = "00000000000000000000ffffc0000201" + "00000009" + "00000000"

func TestKeyStruct(t *testing.T) {
	want := Destination{
		LID: 7, OutReads: 16, QPN: 0x11, PSN: 0xabcdef, RKey: 0x345, VAddr: 0x7f0a634cf000,
		GID: ib.GID{10: 0xff, 0xff, 192, 0, 2, 1}, SRQN: 9,
	}
	for form, text := range map[KeyForm]string{
		KeyStruct: keyStruct + keyStructGID, KeyStructTail: keyStruct + strings.Repeat("00", 8) + keyStructGID,
	} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := form.Append(nil, &want); hex.EncodeToString(got) != text || form.Len() != len(raw) {
			t.Errorf("form %d: Append = %x, want %s", form, got, text)
		}
		var got Destination
		if n, err := form.Decode(append(raw, 1, 2), &got); err != nil || n != len(raw) {
			t.Errorf("form %d: Decode = %d, %v", form, n, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("form %d: %s", form, diff)
		}
		if _, err := form.Decode(raw[:len(raw)-1], &got); !errors.Is(err, ErrShort) {
			t.Errorf("form %d: Decode of less = %v", form, err)
		}
		for _, at := range []int{1, 8, 12} { // LID, QPN and PSN have fewer bits
			bad := append([]byte(nil), raw...)
			bad[at] = 1
			if _, err := form.Decode(bad, &got); !errors.Is(err, ErrKeyLine) {
				t.Errorf("form %d: Decode with byte %d = %v", form, at, err)
			}
		}
	}
}

// TestNoticeCM tests what a client over TCP gets from a server over rdma_cm.
func TestNoticeCM(t *testing.T) {
	var v Version
	notice := AppendNoticeCM(nil)
	if len(notice) != versionLen {
		t.Errorf("notice of %d bytes", len(notice))
	}
	if _, err := v.Decode(notice); !errors.Is(err, ErrNeedsCM) {
		t.Errorf("Decode = %v", err)
	}
}
