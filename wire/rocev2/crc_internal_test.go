package rocev2

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

func TestUpdateHeaders(t *testing.T) {
	if want := crc32.ChecksumIEEE(bytes.Repeat([]byte{0xff}, 8)); maskedLRH != want {
		t.Errorf("maskedLRH = %#x, want %#x", maskedLRH, want)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := 0; n <= prefixLen; n += 4 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		start := r.Uint32()
		if got, want := updateHeaders(start, b), crc32.Update(start, crc32.IEEETable, b); got != want {
			t.Errorf("updateHeaders(%#x, %x) = %#x, want %#x", start, b, got, want)
		}
	}
}
