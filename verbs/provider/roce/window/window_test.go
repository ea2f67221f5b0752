package window

import (
	"testing"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestLimit checks the window by buffer and path MTU.
func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		buffer int
		mtu    ib.MTU
		want   int
	}{
		{0, ib.MTU4096, 256},
		{8 << 20, ib.MTU4096, 256},
		{212992, ib.MTU4096, 78},
		{212992, ib.MTU1024, 256},
		{4096, ib.MTU4096, 8},
	} {
		if got := Limit(tt.buffer, tt.mtu); got != tt.want {
			t.Errorf("Limit(%d, %d) = %d, want %d", tt.buffer, tt.mtu, got, tt.want)
		}
	}
}

// TestBuffer checks that Buffer is the least size that doesn't limit the window.
func TestBuffer(t *testing.T) {
	if got := Buffer(ib.MTU4096); got != 699051 {
		t.Errorf("Buffer(4096) = %d, want 699051", got)
	}
	for mtu := ib.MTU256; mtu <= ib.MTU4096; mtu *= 2 {
		size := Buffer(mtu)
		if got := Limit(size, mtu); got != Most {
			t.Errorf("Limit(Buffer(%d)) = %d, want %d", mtu, got, Most)
		}
		if got := Limit(size-1, mtu); got >= Most {
			t.Errorf("Limit(Buffer(%d)-1) = %d, want less than %d", mtu, got, Most)
		}
	}
}
