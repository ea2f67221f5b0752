package pciname

import (
	"os"
	"path/filepath"
	"testing"
)

func TestName(t *testing.T) {
	ids := filepath.Join(t.TempDir(), "pci.ids")
	text := "# test\n15b3  Mellanox Technologies\n\t1021  Test Card 7\n\t\t15b3 0041  Sub\n\nC 02  Network controller\n\t00  Ethernet controller\n"
	if err := os.WriteFile(ids, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	db := New(ids)
	tests := []struct {
		vendor, device  uint16
		wantV, wantName string
	}{
		{0x15b3, 0x1021, "NVIDIA", "Test Card 7"},
		{0x15b3, 0xffff, "NVIDIA", ""},
		{0xfffe, 0x0001, "", ""},
	}
	for _, tt := range tests {
		v, n := db.Name(tt.vendor, tt.device)
		if v != tt.wantV || n != tt.wantName {
			t.Errorf("Name(%#x, %#x) = %q, %q, want %q, %q", tt.vendor, tt.device, v, n, tt.wantV, tt.wantName)
		}
	}
}

// The embedded copy or the system's database must know the card that most clusters have.
func TestDefaultDatabase(t *testing.T) {
	if _, n := New("").Name(0x15b3, 0x1021); n != "MT2910 Family [ConnectX-7]" {
		t.Errorf("Name(15b3:1021) = %q, want the ConnectX-7", n)
	}
}

func TestCheck(t *testing.T) {
	if err := Check(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("Check of a missing file: want an error")
	}
}

// A damaged database must degrade to ids.
func FuzzName(f *testing.F) {
	f.Add([]byte("15b3  Mellanox\n\t1021  X\n"))
	f.Add([]byte("\t\t\tzz\n\x00\xff"))
	f.Add([]byte("C 02 x\n\t"))
	f.Add([]byte("15b3\n\t1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		ids := filepath.Join(t.TempDir(), "pci.ids")
		if err := os.WriteFile(ids, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if v, _ := New(ids).Name(0x15b3, 0x1021); v != "NVIDIA" {
			t.Errorf("Name over %q lost the vendor: %q", text, v)
		}
	})
}
